"""A default branch that nobody but the bot merges into, on every tier: by a deploy key in its rule.

Below Premium the rule of a branch names roles and deploy keys, and no accounts. A deploy key in it
lets in the account that added it, also where that merges by the API or pushes over HTTP
(`ProtectedRefDeployKeyAccess#check_access`). So the bot adds one itself, whose private half nobody
keeps. That a GitLab goes by it is not taken for granted: the rule is tried for a branch that is
not there, and put back where the bot is not let in (ADR 0082).

Source: https://docs.gitlab.com/api/protected_branches/#example-with-deploy-key-access,
https://docs.gitlab.com/api/deploy_keys/
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any, Final
from urllib.parse import quote

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from bot.forges.gitlab.http import Clients, ask, failure, send
from bot.forges.gitlab.setting_projects import MAINTAINER, ProjectOrGroup, entries
from bot.forges.port import ForgeBusyError, ForgeRefusedError

TITLE: Final = "porchbot merges"
"""How titles of bots' deploy keys begin; whose it is follows (`_title`)."""

Rule = Mapping[str, Any]
"""A protected branch, as GitLab tells of it."""

_NAMED: Final = ("deploy_key_id", "user_id", "group_id")
"""Fields of an entry that name whom it is for; it may tell a role beside them."""

_TRIED: Final = "porchbot-tries/deploy-key"
"""Branch that is not there, for which a rule is tried."""

_NOT_KNOWN: Final = {400, 422}
"""Statuses of an API that does not know what it is asked for."""

_NOT_TAKEN: Final = (
    "By its API this GitLab takes no deploy key there (Free does from 18.10 on). Under Settings >"
    " Repository > Protected branches, let the deploy key {title!r} push and merge, and 'No one'"
    " merge; then run this again."
)
_NOT_LET_IN: Final = (
    "This GitLab lets a deploy key in by SSH alone, and not its owner, who merges by the API."
)


def only_key(rules: Iterable[Rule], branch: str) -> int | None:
    """Number of the deploy key that alone is let into a branch, to push and to merge.

    Args:
        rules: Protected branches of the project.
        branch: Its name.

    Returns:
        None where anybody else is let in, or nobody, or no rule holds.
    """
    found = [entry for rule in holding(rules, branch) for entry in let_in(rule)]
    return found[0].get("deploy_key_id") if len(found) == 1 else None


def holding(rules: Iterable[Rule], branch: str) -> list[Rule]:
    """The rules that hold for a branch: whom one of them lets in is in."""
    return [rule for rule in rules if fnmatchcase(branch, str(rule["name"]))]


def let_in(rule: Rule) -> list[Mapping[str, Any]]:
    """Entries of a rule that let somebody push or merge: a role, or who is named."""
    listed = [e for act in ("push", "merge") for e in rule.get(f"{act}_access_levels") or ()]
    return [each for each in listed if _named(each) or each.get("access_level") != 0]


class KeySetup:
    """Leaves default branches to deploy keys of the bot's.

    Args:
        owner: Asks with the owner's token.
        bot: Asks with the bot's, who is a Maintainer.
        say: Is told each thing that is, was or would be made.
        dry_run: Ask only.
    """

    def __init__(
        self, owner: Clients, bot: Clients, say: Callable[[str], None], *, dry_run: bool
    ) -> None:
        self._owner = owner
        self._bot = bot
        self._say = say
        self._dry_run = dry_run

    def project(self, project: ProjectOrGroup) -> None:
        """Let nobody but the bot push and merge to a default branch that is protected.

        Raises:
            ForgeBusyError, ForgeRefusedError: GitLab said no to what every owner may.
        """
        branch = str(project.about.get("default_branch") or "")
        if not branch:
            return
        what = f"the protected branch {branch} of {project.name}"
        rules = self._rules(project)
        if only_key(rules, branch) is not None and self._may_push(project, branch):
            self._say(f"Kept: {what}, to which only the bot's deploy key pushes and merges.")
            return
        own = _own(rules, branch)
        others = [r["name"] for r in holding(rules, branch) if r is not own and let_in(r)]
        if others:
            self._say(f"Left: {what}. The rule {others[0]} lets others in too: remove it first.")
            return
        if self._dry_run:
            self._say(f"Would have changed: {what}: only the bot's deploy key pushes and merges.")
            return
        key, title = self._new_key(project)
        if not self._takes_keys(project, key):
            self._say(f"Left: {what} as it was. {_NOT_TAKEN.format(title=title)}")
            return
        before = _own(self._rules(project), branch)  # without a key of ours from before
        try:
            self._replace(project, before, _alone(before, key))
            let = only_key(self._rules(project), branch) == key and self._may_push(project, branch)
        except (ForgeBusyError, ForgeRefusedError):
            with suppress(ForgeBusyError, ForgeRefusedError):  # the first one tells more
                self._replace(project, before, _as_before(before))
            raise
        if let:
            self._say(f"Changed: {what}: only the bot's deploy key pushes and merges.")
            return
        self._replace(project, before, _as_before(before))
        self._remove_key(project, key)
        self._say(f"Left: {what} as it was. {_NOT_LET_IN}")

    def _rules(self, project: ProjectOrGroup) -> list[Rule]:
        wanted = f"read the protected branches of {project.name}"
        return list(entries(self._owner, wanted, f"{project.path}/protected_branches"))

    def _may_push(self, project: ProjectOrGroup, branch: str) -> bool:
        """Whether GitLab lets the bot into a branch: it asks the same where the bot merges."""
        at = f"{project.path}/repository/branches/{quote(branch, safe='')}"
        found = send(self._bot, "read whether the bot may push", "GET", at)
        return found.data.get("can_push") is True

    def _new_key(self, project: ProjectOrGroup) -> tuple[int, str]:
        """Add a deploy key in the place of those from before; its number and title."""
        account = int(send(self._bot, "read who the bot is", "GET", "/user").data["id"])
        at = f"{project.path}/deploy_keys"
        for each in list(entries(self._owner, "read the deploy keys", at)):
            number, title = each["id"], str(each["title"])
            if title == _title(account, each["key"]):
                self._remove_key(project, number)
            elif title.startswith(TITLE):
                self._say(_left(project.name, number, title))
        public = Ed25519PrivateKey.generate().public_key()
        line = public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
        title = _title(account, line)
        body = {"title": title, "key": line, "can_push": True}
        return int(send(self._bot, "add a deploy key", "POST", at, body=body).data["id"]), title

    def _remove_key(self, project: ProjectOrGroup, key: int) -> None:
        at = f"{project.path}/deploy_keys/{key}"
        send(self._owner, "remove a deploy key", "DELETE", at)

    def _takes_keys(self, project: ProjectOrGroup, key: int) -> bool:
        """Whether the API takes a deploy key in a rule; tried where it protects no branch."""
        wanted, path = "try a deploy key in a rule", f"{project.path}/protected_branches"
        self._unprotect(project, _TRIED)  # a run that was killed left it
        try:
            made = ask(self._owner, wanted, "POST", path, body=_alone({"name": _TRIED}, key))
            if not made.ok and made.status not in _NOT_KNOWN:
                raise failure(wanted, made)
            return made.ok and only_key([made.data], _TRIED) == key
        finally:
            self._unprotect(project, _TRIED)

    def _replace(self, project: ProjectOrGroup, before: Rule, body: Mapping[str, object]) -> None:
        """Protect a branch anew: below Premium nothing else changes who is let in."""
        self._unprotect(project, before["name"])
        path = f"{project.path}/protected_branches"
        send(self._owner, f"protect {before['name']}", "POST", path, body=body)

    def _unprotect(self, project: ProjectOrGroup, name: str) -> None:
        path = f"{project.path}/protected_branches/{quote(name, safe='')}"
        gone = ask(self._owner, f"unprotect {name}", "DELETE", path)
        if not gone.ok and gone.status != 404:
            raise failure(f"unprotect {name}", gone)


def _title(account: int, line: str) -> str:
    """The title of a key that the bot made: GitLab does not tell who added a deploy key.

    Args:
        account: Number of the bot's account.
        line: The public key, as OpenSSH writes it; what follows it, as GitLab adds, does not count.
    """
    mark = hashlib.sha256(f"{account} {line.split()[1]}".encode()).hexdigest()[:12]
    return f"{TITLE} {mark}"


def _left(project: str, number: int, title: str) -> str:
    return (
        f"Left: the deploy key {title!r} (number {number}) of {project}, which this bot did not"
        " make as it is. Remove it if nobody needs it."
    )


def _own(rules: Iterable[Rule], branch: str) -> Rule:
    """The project's rule of exactly this name; one that lets Maintainers in where it is gone."""
    own = (rule for rule in rules if rule["name"] == branch and not rule.get("inherited"))
    maintainers = [{"access_level": MAINTAINER}]
    levels = {"push_access_levels": maintainers, "merge_access_levels": maintainers}
    return next(own, {"name": branch, **levels})


def _alone(before: Rule, key: int) -> dict[str, object]:
    """A rule that lets a deploy key in, and nobody else; the rest is as it was."""
    return _kept(before) | {"allowed_to_push": [{"deploy_key_id": key}], "merge_access_level": 0}


def _as_before(before: Rule) -> dict[str, object]:
    """The rule as it was, as it is asked for."""
    return _kept(before) | _levels(before, "push") | _levels(before, "merge")


def _kept(rule: Rule) -> dict[str, object]:
    """What a rule says beside who is let in."""
    kept = ("name", "allow_force_push", "code_owner_approval_required")
    who = _levels(rule, "unprotect") if rule.get("unprotect_access_levels") else {}
    return {name: rule[name] for name in kept if name in rule} | who


def _levels(rule: Rule, act: str) -> dict[str, object]:
    """Whom a rule lets do something, as it is asked for; nobody where it lists none."""
    listed = rule.get(f"{act}_access_levels") or ()
    roles = [each["access_level"] for each in listed if not _named(each)]
    named = [_named(each) for each in listed if _named(each)]
    body: dict[str, object] = {}
    if roles or not named:
        body[f"{act}_access_level"] = roles[0] if roles else 0
    if more := [*named, *({"access_level": role} for role in roles[1:])]:
        body[f"allowed_to_{act}"] = more
    return body


def _named(entry: Mapping[str, Any]) -> dict[str, object]:
    """Whom an entry names, as it is asked for; empty for a role."""
    return {name: entry[name] for name in _NAMED if entry.get(name)}
