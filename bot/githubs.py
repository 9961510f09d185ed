"""The GitHubs that are served: GitHub.com, an Enterprise Server, a ghe.com, or several of them.

The first has the plain variables and the name `github`. Any other one has a name of the operator's,
which stands in its variables, in the address of its webhooks, and in all that the bot keeps of it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bot import apps, places
from bot.apps import GITHUB_TOKEN, KnownApp
from bot.variables import GITHUB_API
from bot.vault import Vault, VaultError
from lifecycle.identity import GITHUB, is_forge

NAMES: Final = "PORCHBOT_GITHUB_NAMES"

KEY_VARIABLES: Final = ("PRIVATE_KEY", "PRIVATE_KEY_FILE")
"""Those of the App's key, in place of the secret store's."""

_ACCOUNT = re.compile(r"([A-Za-z0-9][A-Za-z0-9_-]{0,38}):([1-9][0-9]{0,17})")

_PLAIN: Final = "PORCHBOT_GITHUB_"
_WITHOUT: Final = frozenset({"WEBHOOK_SECRETS", "WEBHOOK_SECRETS_FILE", "WEBHOOK_URL"})
"""What has no `GITHUB_` in its plain variable: it is older than the second GitHub."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubInstance:
    """One GitHub that is served; the fields of `bot.settings.Settings` that are its own.

    Attributes:
        name: Of the instance: `github` for the first.
        github_app_id: Number or client id of the App; "" for a machine user.
        private_key: The App's, in PEM.
        github_token: Of a machine user; "" for an App.
        github_repositories: Which a machine user serves; none for all that it may write to.
        former_accounts: Machine users that the App has replaced: login and number.
        older_apps: Served as well, until they are removed; newest first.
        older_keys: PEM: records that these keys signed still count.
        webhook_secrets: Several, for rotation; at least one.
        github_api_url: Where its REST API answers.
        github_ca: File of certificate authorities; "" for the system's.
        webhook_url: Where its webhooks go; "" where nobody said.
        hidden: Secrets that must not be logged and are used by nobody here.
    """

    name: str
    github_app_id: str = ""
    private_key: str = field(default="", repr=False)
    github_token: str = field(default="", repr=False)
    github_repositories: tuple[str, ...] = ()
    former_accounts: tuple[tuple[str, int], ...] = ()
    older_apps: tuple[KnownApp, ...] = ()
    older_keys: tuple[str, ...] = field(default=(), repr=False)
    webhook_secrets: tuple[bytes, ...] = field(default=(), repr=False)
    github_api_url: str = GITHUB_API
    github_ca: str = ""
    webhook_url: str = ""
    hidden: tuple[str, ...] = field(default=(), repr=False)


def configured(
    environ: Mapping[str, str],
    store: Vault | None,
    known: Iterable[KnownApp],
    gitlabs: Iterable[str],
    problems: list[str],
) -> tuple[GitHubInstance, ...]:
    """The GitHubs that the variables and the secret store name, the first of them `github`.

    Args:
        environ: The environment.
        store: The secret store; None where there is none.
        known: Its Apps, newest first.
        gitlabs: Names of the GitLabs that are served. Where there is no other forge at all, what
            the first GitHub lacks is a problem.
        problems: Is given what is wrong, each as a sentence with what to do.

    Returns:
        By name, the first one before the others; some lack what is told as a problem.
    """
    listed, taken = list(known), set(gitlabs)
    names = [word.strip() for word in environ.get(NAMES, "").split(",") if word.strip()]
    names += sorted({app.forge for app in listed} - {GITHUB, *names})
    found: list[GitHubInstance] = []
    if GITHUB in names:
        problems.append(f"{NAMES}: {unusable(GITHUB)}")
    for name in dict.fromkeys((GITHUB, *names)):
        mine = [app for app in listed if app.forge == name]
        read = _Reading(environ, store, mine, name)
        if name != GITHUB and (problem := unusable(name, taken)):
            problems.append(f"{NAMES}: {problem}")
        elif name != GITHUB or read.is_named or not (taken or names):
            found.append(read.instance())
            problems += map(read.spelled, read.problems)
    homes: dict[str, str] = {}
    for each in found:
        other = homes.setdefault(places.github_home(each.github_api_url), each.name)
        if other != each.name:
            problems.append(
                f"The GitHubs {other} and {each.name} have the same address, {each.github_api_url}."
                " Keep one of them: two would both serve its repositories."
            )
    return tuple(found)


def variable(kind: str, name: str = GITHUB) -> str:
    """The variable of a GitHub.

    Args:
        kind: The end of it, such as `APP_ID`.
        name: Of the GitHub.
    """
    if name != GITHUB:
        return f"{_PLAIN}{name.upper().replace('-', '_')}_{kind}"
    return f"PORCHBOT_{kind}" if kind in _WITHOUT else f"{_PLAIN}{kind}"


def unusable(name: str, gitlabs: Iterable[str] = ()) -> str:
    """Why a further GitHub cannot be named so; "" where it can.

    Args:
        name: The name.
        gitlabs: Names of the GitLabs that are served.
    """
    if name in gitlabs:
        return f"a GitLab is named {name!r} already. Give this GitHub another name."
    if is_forge(name) and name not in (GITHUB, "gitlab"):
        return ""
    return (
        f"a further GitHub cannot be named {name!r}. Give up to 31 small letters, digits and '-',"
        f" beginning with a letter, and neither {GITHUB!r}, which is the first one, nor 'gitlab'."
    )


class _Reading:
    """Reads the variables of one GitHub and gathers what is wrong, in the plain variables' words.

    Args:
        environ: The environment.
        store: The secret store.
        known: Its Apps of this GitHub, newest first.
        name: Of this GitHub.
    """

    def __init__(
        self, environ: Mapping[str, str], store: Vault | None, known: list[KnownApp], name: str
    ) -> None:
        self.problems: list[str] = []
        self._environ = environ
        self._store = store
        self._name = name
        self._apps = self._at_home(known)
        self._token = self._machine_user()

    def _at_home(self, known: list[KnownApp]) -> list[KnownApp]:
        """The Apps at the address of this GitHub.

        One of another address is another's, whatever its number, its name and its key are.
        """
        given = self._given("API_URL") or (known[0].api_url if known else "")
        here = places.github_home(given)
        return [app for app in known if places.github_home(app.api_url) == here]

    def spelled(self, problem: str) -> str:
        """A problem with the names that the variables have here."""
        if self._name == GITHUB:
            return problem
        own = variable("", self._name)
        return re.sub(r"PORCHBOT_(?:GITHUB_)?([A-Z_]+)", rf"{own}\1", problem).replace(
            "`porchbot setup`", f"`porchbot setup --as {self._name}`"
        )

    @property
    def is_named(self) -> bool:
        """Whether any variable or secret is of this GitHub: then all that it needs has to be."""
        given = any(map(self._given, ("APP_ID", *KEY_VARIABLES)))
        return bool(self._token or self._apps or given)

    def instance(self) -> GitHubInstance:
        """This GitHub."""
        number, key = self._app_id(), self._key()
        return GitHubInstance(
            name=self._name,
            github_token=self._token,
            github_repositories=self._listed("REPOSITORIES"),
            github_app_id=number,
            private_key=key,
            former_accounts=self._former_accounts(),
            older_apps=self._older_apps(),
            older_keys=self._older_keys(key),
            webhook_secrets=self._secrets(),
            github_api_url=self._api_url(),
            github_ca=self._given("CA"),
            webhook_url=self._given("WEBHOOK_URL"),
            hidden=tuple(each.client_secret for each in self._apps),
        )

    def _given(self, kind: str) -> str:
        return self._environ.get(variable(kind, self._name), "").strip()

    def _listed(self, kind: str) -> tuple[str, ...]:
        """Words with commas between them."""
        return tuple(word.strip() for word in self._given(kind).split(",") if word.strip())

    def _machine_user(self) -> str:
        """A machine user's token; "" where the bot is an App."""
        path = self._given("TOKEN_FILE")
        token = self._file("PORCHBOT_GITHUB_TOKEN_FILE", path) if path else self._given("TOKEN")
        token = (token or self._stored(GITHUB_TOKEN)).strip()
        if token and self._given("APP_ID"):
            self.problems.append(
                "PORCHBOT_GITHUB_TOKEN and PORCHBOT_GITHUB_APP_ID are both set. Unset one of them:"
                " the bot is either an App or a machine user."
            )
        return token

    def _app_id(self) -> str:
        """The App's number or client id: the variable's, or that of the newest App we know."""
        if self._token:
            return ""
        if self._apps and not self._given("APP_ID"):
            return str(self._apps[0].id)
        also = ", or for GitLab `porchbot setup gitlab`" if self._name == GITHUB else ""
        fix = f"Set it to the App ID, or run `porchbot setup`{also}"
        return self._needed("APP_ID", "PORCHBOT_GITHUB_APP_ID", fix)

    def _key(self) -> str:
        """The App's private key."""
        if self._token:
            return ""
        if text := self._environ.get(variable("PRIVATE_KEY", self._name), ""):
            return self._pem("PORCHBOT_GITHUB_PRIVATE_KEY", text)
        name, fix = "PORCHBOT_GITHUB_PRIVATE_KEY_FILE", "the PEM file that you downloaded"
        if self._apps and not self._given("PRIVATE_KEY_FILE"):
            return self._apps[0].private_key
        path = self._needed("PRIVATE_KEY_FILE", name, f"Set it to {fix} from GitHub")
        return self._pem(name, self._file(name, path)) if path else ""

    def _former_accounts(self) -> tuple[tuple[str, int], ...]:
        found = []
        for word in self._listed("FORMER_ACCOUNTS"):
            if parts := _ACCOUNT.fullmatch(word):
                found.append((parts[1], int(parts[2])))
            else:
                self.problems.append(
                    f"PORCHBOT_GITHUB_FORMER_ACCOUNTS has {word!r}. Write the login and the number"
                    " of each account, such as robot:583231; GitHub's API tells the number."
                )
        return tuple(found)

    def _older_keys(self, key: str) -> tuple[str, ...]:
        """Keys that were replaced by `key`, and those of Apps that were replaced.

        A variable's key takes the place of all that is stored of the same App: who answers a theft
        by setting it must not go on with the stolen key.
        """
        name = "PORCHBOT_GITHUB_OLDER_KEY_FILES"
        paths = self._listed("OLDER_KEY_FILES")
        given = tuple(self._pem(name, self._file(name, path)) for path in paths)
        counted = self._replaced() if any(map(self._given, KEY_VARIABLES)) else self._apps
        stored = (each for app in counted for each in (app.private_key, *app.older_keys))
        return tuple(dict.fromkeys((*given, *(each for each in stored if each != key))))

    def _older_apps(self) -> tuple[KnownApp, ...]:
        """Apps that are served as well."""
        return tuple(self._replaced())

    def _replaced(self) -> list[KnownApp]:
        """The Apps of the secret store that the bot is not."""
        named = self._given("APP_ID")
        if not named and not self._token:
            return self._apps[1:]
        return [app for app in self._apps if named not in (str(app.id), app.client_id)]

    def _secrets(self) -> tuple[bytes, ...]:
        """The webhook's secrets: without one anybody could wake us with anything."""
        name = "PORCHBOT_WEBHOOK_SECRETS"
        if path := self._given("WEBHOOK_SECRETS_FILE"):
            given = self._file(f"{name}_FILE", path).splitlines()
        else:
            given = self._given("WEBHOOK_SECRETS").split(",")
        given += self._stored(apps.WEBHOOK_SECRETS).splitlines()
        given += [each.webhook_secret for each in self._apps]
        found = tuple(dict.fromkeys(s.strip().encode() for s in given if s.strip()))
        if not found:
            self.problems.append(f"{name} is not set. Set it to the App's webhook secret.")
        return found

    @property
    def _known_api_url(self) -> str:
        """Where the App of the secret store is registered; GitHub.com's where there is none."""
        return self._apps[0].api_url if self._apps else GITHUB_API

    def _api_url(self) -> str:
        value = self._given("API_URL") or self._known_api_url
        if self._name != GITHUB and not self._given("API_URL") and not self._apps:
            self.problems.append(
                "PORCHBOT_GITHUB_API_URL is not set. Set it to the address of this GitHub's API,"
                " such as https://github.corp/api/v3."
            )
        elif not places.is_web(value):
            self.problems.append(
                f"PORCHBOT_GITHUB_API_URL is {places.shown(value)}. Give an address such as"
                f" {self._known_api_url}."
            )
        return places.github_api(value)

    def _needed(self, kind: str, name: str, fix: str) -> str:
        """A variable that must be there."""
        value = self._given(kind)
        if not value:
            self.problems.append(f"{name} is not set. {fix}.")
        return value

    def _stored(self, name: str) -> str:
        """A secret of the store; "" where there is none."""
        try:
            return self._store.get(apps.stored_name(name, self._name)) if self._store else ""
        except VaultError as error:
            self.problems.append(str(error))
            return ""

    def _file(self, name: str, path: str) -> str:
        try:
            return Path(path).read_text()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            self.problems.append(
                f"{name}: cannot read {path} ({why}). Name a file that the bot can read."
            )
            return ""

    def _pem(self, name: str, text: str) -> str:
        if text and "-----BEGIN" not in text:
            self.problems.append(
                f"{name} is not a PEM file. Use the file that you downloaded from GitHub."
            )
        return text
