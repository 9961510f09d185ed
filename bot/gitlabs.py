"""The GitLab instances that the bot serves: of the environment, and of the secret store.

What `porchbot setup gitlab` stores is read by the settings, as Apps are. An instance that the
environment names takes the place of the stored one of that name. Its name is the first part of
every key and record of it, so two instances never share one, and a name stays with its instance.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from bot import places
from bot.vault import Vault, VaultError
from lifecycle.identity import GITHUB, is_forge

STORED: Final = "gitlab.instances"
"""Name of the entry in the secret store."""

MAKING: Final = "gitlab.making"
"""Name of the entry in the secret store with the marks of tokens that are being made."""

FIRST: Final = "gitlab"
"""Name of an instance that nobody named."""

NAMES: Final = "PORCHBOT_GITLAB_NAMES"

_KINDS: Final = ("URL", "TOKEN", "TOKEN_FILE", "WEBHOOK_SECRETS", "WEBHOOK_SECRETS_FILE")
GIVEN: Final = (
    *_KINDS,
    "SIGNING_TOKENS",
    "SIGNING_TOKENS_FILE",
    "CA",
    "WEBHOOK_URL",
    "MOVED_FROM",
    "PROJECTS",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GitLabInstance:
    """One GitLab, with the bot's secrets there.

    Attributes:
        name: The forge's name in keys, records and addresses.
        url: Where it is, such as "https://gitlab.com".
        token: The bot's: of a service account, a project or group, or a machine user.
        webhook_secrets: What the secrets of its webhooks are made of; newest first. One from before
            they had secrets of their own has one of these itself.
        signing_tokens: What signs deliveries of webhooks from before, where GitLab signs; newest
            first.
        ca: PEM file of certificate authorities; "" for the system's.
        webhook_url: Where its webhooks are to go; "" where nobody said.
        moved_from: Where the same instance was before; "" where it has not moved.
        projects: Full paths of the projects and groups that are served; none for every project
            that made the bot a member.
        group_hooks: Full paths of groups that got a webhook for all their projects; None where we
            did not set the webhooks up, or that was not noted.
        stored: The token is in the secret store, where it can be replaced before it expires.
    """

    name: str
    url: str
    token: str = field(repr=False)
    webhook_secrets: tuple[str, ...] = field(repr=False)
    signing_tokens: tuple[str, ...] = field(default=(), repr=False)
    ca: str = ""
    webhook_url: str = ""
    moved_from: str = ""
    projects: tuple[str, ...] = ()
    group_hooks: tuple[str, ...] | None = None
    stored: bool = False

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be logged."""
        return (self.token, *self.webhook_secrets, *self.signing_tokens)


def stored(vault: Vault) -> tuple[GitLabInstance, ...]:
    """The instances of the secret store, in the order in which they were set up.

    Raises:
        VaultError: They cannot be read.
    """
    return _parsed(vault, vault.get(STORED))


def keep(vault: Vault, instance: GitLabInstance) -> None:
    """Store an instance, in place of the one of its name."""

    def changed(text: str) -> str:
        others = [each for each in _parsed(vault, text) if each.name != instance.name]
        return _written([*others, instance])

    vault.change(STORED, changed)


def forget(vault: Vault, name: str) -> bool:
    """Remove an instance from the secret store; tells whether it was there."""
    known = name in {each.name for each in stored(vault)}
    vault.change(STORED, lambda text: _written([e for e in _parsed(vault, text) if e.name != name]))
    return known


@dataclass(frozen=True, slots=True)
class Marked:
    """A token that is being made, and can be found by its description.

    Attributes:
        path: Where GitLab lists it; "" where an earlier version did not note that.
        mark: Its description.
        of: Number of the account whose tokens are to be listed there; 0 for all.
    """

    path: str
    mark: str = ""
    of: int = 0


class Making:
    """The token that is being made for an instance, noted until it is kept.

    GitLab tells a token once, so one that was made by a run that ended before it kept it is
    nobody's: the next run finds it by its mark, where it was made.

    Args:
        vault: The secret store.
        name: Of the instance.
    """

    def __init__(self, vault: Vault, name: str) -> None:
        self._vault = vault
        self._name = name

    @property
    def marked(self) -> Marked | None:
        """That token; None for none."""
        return _marks(self._vault, self._vault.get(MAKING)).get(self._name)

    def begin(self, marked: Marked | None) -> None:
        """Note a token that is made next; None once it is kept, or there is none."""

        def changed(text: str) -> str:
            others = {k: v for k, v in _marks(self._vault, text).items() if k != self._name}
            known = others | ({self._name: marked} if marked else {})
            return json.dumps({name: asdict(each) for name, each in known.items()})

        if self.marked != marked:
            self._vault.change(MAKING, changed)


def _marks(vault: Vault, text: str) -> dict[str, Marked]:
    try:
        known = (json.loads(text) if text else {}).items()
        return {str(k): Marked("", v) if isinstance(v, str) else Marked(**v) for k, v in known}
    except (ValueError, AttributeError, TypeError) as error:
        raise VaultError(
            f"{vault.file}: the entry {MAKING} is of another version. Run `porchbot setup gitlab`"
            " again with the version that wrote it."
        ) from error


def rotate(vault: Vault, name: str, exchange: Callable[[str], str]) -> str:
    """Exchange the token of a stored instance; nobody else does so at the same time.

    GitLab revokes the whole family of a token that is exchanged a second time: only the token that
    the store has now is handed on, and nobody else's is meanwhile. The store itself is not locked
    while GitLab is asked: others need not wait for its answer.

    Args:
        vault: The secret store.
        name: Of the instance.
        exchange: Is given the token, and returns the one that takes its place; the same to keep it.

    Returns:
        The token that the store has now.

    Raises:
        VaultError: The store cannot be read or written, or has no such instance.

    Source:
        https://docs.gitlab.com/api/personal_access_tokens/#automatic-reuse-detection
    """
    with vault.alone(f"{STORED}.{name}"):
        before = _token(vault, name, stored(vault))
        after = exchange(before)
        if after != before:
            vault.change(STORED, lambda text: _exchanged(vault, text, name, before, after))
        return _token(vault, name, stored(vault))


def _token(vault: Vault, name: str, known: Sequence[GitLabInstance]) -> str:
    for each in known:
        if each.name == name:
            return each.token
    raise VaultError(
        f"{vault.file}: it has no GitLab named {name}. Run `porchbot setup gitlab` again."
    )


def _exchanged(vault: Vault, text: str, name: str, before: str, after: str) -> str:
    """The instances with one token in place of another; one that was stored meanwhile stays."""
    return _written(
        [
            replace(each, token=after) if (each.name, each.token) == (name, before) else each
            for each in _parsed(vault, text)
        ]
    )


def _parsed(vault: Vault, text: str) -> tuple[GitLabInstance, ...]:
    try:
        rows: list[dict[str, Any]] = json.loads(text) if text else []
        return tuple(_read(row) for row in rows)
    except (ValueError, TypeError, AttributeError) as error:
        raise VaultError(
            f"{vault.file}: the entry {STORED} is of another version. Run `porchbot setup gitlab`"
            " again."
        ) from error


def _read(row: Mapping[str, Any]) -> GitLabInstance:
    lists = {name: tuple(value) for name, value in row.items() if isinstance(value, list)}
    values: dict[str, Any] = {**row, **lists, "stored": True, "url": places.spelled(row["url"])}
    return GitLabInstance(**values)


def _written(instances: Sequence[GitLabInstance]) -> str:
    rows = [asdict(each) for each in instances]
    for row in rows:
        del row["stored"]
    return json.dumps(rows) if rows else ""


def configured(
    environ: Mapping[str, str], known: Sequence[GitLabInstance], problems: list[str]
) -> tuple[GitLabInstance, ...]:
    """The instances of the environment, then those of the secret store.

    Args:
        environ: The environment.
        known: Those of the secret store.
        problems: Is given what is wrong, each as a sentence with what to do.

    Returns:
        Sorted by name; none of those that cannot be used.
    """
    found = {each.name: each for each in known}
    for name, prefix in _named(environ, problems).items():
        mine = _Variables(environ, prefix, problems)
        if (instance := mine.instance(name, found.get(name))) is not None:
            found[name] = instance
    homes: dict[str, str] = {}
    for each in found.values():
        other = homes.setdefault(places.gitlab_home(each.url), each.name)
        if other != each.name:
            problems.append(
                f"The GitLabs {other} and {each.name} have the same address, {each.url}. Keep one"
                " of them: two would both serve its projects."
            )
    return tuple(found[name] for name in sorted(found))


def _named(environ: Mapping[str, str], problems: list[str]) -> dict[str, str]:
    """Names of instances to the beginnings of their variables."""
    names = [word.strip() for word in environ.get(NAMES, "").split(",") if word.strip()]
    alone = sorted(f"PORCHBOT_GITLAB_{kind}" for kind in GIVEN)
    given = [each for each in alone if environ.get(each, "").strip()]
    if not names:
        return {FIRST: "PORCHBOT_GITLAB_"} if given else {}
    found: dict[str, str] = {}
    for name in names:
        if problem := unusable(name):
            problems.append(f"{NAMES}: {problem}")
        else:
            found[name] = f"PORCHBOT_GITLAB_{name.upper().replace('-', '_')}_"
    mine = {f"{prefix}{kind}" for prefix in found.values() for kind in GIVEN}
    if others := [each for each in given if each not in mine]:
        problems.append(
            f"{NAMES} and {others[0]} are both set. Put the name of the instance into the variable,"
            f" such as PORCHBOT_GITLAB_{names[0].upper().replace('-', '_')}_URL."
        )
    if len(set(found.values())) != len(found):
        problems.append(f"{NAMES} has two names whose variables are the same. Rename one of them.")
    return found


def secrets_variable(environ: Mapping[str, str], name: str) -> str:
    """The variable that holds an instance's webhook secrets, whatever is stored; "" for none."""
    prefix = _named(environ, []).get(name)
    kinds = ("WEBHOOK_SECRETS", "WEBHOOK_SECRETS_FILE") if prefix else ()
    return next((f"{prefix}{kind}" for kind in kinds if environ.get(f"{prefix}{kind}")), "")


def numbered(number: int, forge: str, served: Collection[str] = (FIRST,)) -> str:
    """Return a proposal's number as people write it, where no more is known than its forge's name.

    Args:
        number: It; a negative one is that of an issue.
        forge: The first part of its key.
        served: Names of the GitLabs that are known.
    """
    return f"{'!' if forge in served and number > 0 else '#'}{abs(number)}"


def unusable(name: str) -> str:
    """Why an instance cannot be named so; "" where it can."""
    if is_forge(name) and name != GITHUB:
        return ""
    return (
        f"an instance cannot be named {name!r}. Give up to 31 small letters, digits and '-',"
        f" beginning with a letter, and not {GITHUB!r}."
    )


def _listed(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


class _Variables:
    """The variables of one instance."""

    def __init__(self, environ: Mapping[str, str], prefix: str, problems: list[str]) -> None:
        self._environ = environ
        self._prefix = prefix
        self._problems = problems

    def instance(self, name: str, known: GitLabInstance | None) -> GitLabInstance | None:
        """The instance; what no variable says is as the store has it.

        A token and secrets of the store go to no other address than theirs.
        """
        url = places.spelled(self._value("URL") or (known.url if known else ""))
        if not places.is_web(url):
            self._problems.append(
                f"{self._prefix}URL is {places.shown(url)}. Give the address of the GitLab, such as"
                " https://gitlab.com."
                if url
                else f"{self._prefix}URL is not set. Set it to the address of the GitLab, such as"
                " https://gitlab.com."
            )
            return None
        kept = known if known and known.url == url else None
        token = self._secret("TOKEN").strip()
        secrets = self._several("WEBHOOK_SECRETS") or (kept.webhook_secrets if kept else ())
        signing = self._several("SIGNING_TOKENS") or (kept.signing_tokens if kept else ())
        if not token and not kept:
            self._problems.append(
                f"{self._prefix}TOKEN is not set. Set it to the bot's token at {url}, or run"
                " `porchbot setup gitlab`."
            )
        if not secrets and not signing:
            self._problems.append(
                f"{self._prefix}WEBHOOK_SECRETS is not set. Set it to the secret token of the"
                f" webhooks at {url}, or run `porchbot setup gitlab`."
            )
        return GitLabInstance(
            name=name,
            url=url,
            token=token or (kept.token if kept else ""),
            webhook_secrets=secrets,
            signing_tokens=signing,
            ca=self._value("CA") or (kept.ca if kept else ""),
            webhook_url=self._value("WEBHOOK_URL") or (kept.webhook_url if kept else ""),
            moved_from=places.spelled(self._value("MOVED_FROM")),
            projects=_listed(self._value("PROJECTS")) or (kept.projects if kept else ()),
            group_hooks=kept.group_hooks if kept else None,
            stored=not token and kept is not None,
        )

    def _value(self, kind: str) -> str:
        return self._environ.get(f"{self._prefix}{kind}", "").strip()

    def _several(self, kind: str) -> tuple[str, ...]:
        """Separated by commas; a line each in a file."""
        text = self._secret(kind)
        words = text.splitlines() if self._value(f"{kind}_FILE") else text.split(",")
        return tuple(dict.fromkeys(word.strip() for word in words if word.strip()))

    def _secret(self, kind: str) -> str:
        """A variable, or the file that another names."""
        path = self._value(f"{kind}_FILE")
        if not path:
            return self._environ.get(f"{self._prefix}{kind}", "")
        try:
            return Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not text"
            self._problems.append(
                f"{self._prefix}{kind}_FILE: cannot read {path} ({why}). Name a file that the bot"
                " can read."
            )
            return ""
