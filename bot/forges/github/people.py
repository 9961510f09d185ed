"""Who made commits, read from GitHub's answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from bot.forges.coauthors import coauthors, is_forge
from lifecycle.access import WORKFLOWS, Role
from lifecycle.facts.commits import MadeBy
from lifecycle.names import Sha

_FORGE = "web-flow"
"""The account that stands for GitHub's own pages as a committer."""

ANYBODYS = frozenset({f"{WORKFLOWS}[bot]"})
"""Accounts that push for whoever can write a workflow: who that was, nobody can tell."""

_PERMISSIONS: Mapping[str, Role] = {str(role): role for role in Role}
_REFINED: Mapping[tuple[Role, str], Role] = {
    (Role.READ, "triage"): Role.TRIAGE,
    (Role.WRITE, "maintain"): Role.MAINTAIN,
}
"""Triage is told as read, and maintain as write; the name beside it tells them apart."""


def made_by(listed: Sequence[Mapping[str, Any]]) -> tuple[MadeBy, ...]:
    """Who made each of the commits of a pull request."""
    accounts = {
        str(data["commit"][role]["email"]).lower(): (str(data[role]["login"]), _number(data[role]))
        for data in listed
        for role in ("author", "committer")
        if data[role] and data["commit"][role]
    }
    return tuple(_made_by(data, accounts) for data in listed)


def _made_by(data: Mapping[str, Any], accounts: Mapping[str, tuple[str, int]]) -> MadeBy:
    committer = _committer(data)
    others = coauthors(str(data["commit"]["message"]), accounts)
    roles = ("author", "committer") if committer else ("author",)
    return MadeBy(
        sha=Sha(data["sha"]),
        author=_login(data["author"]),
        committer=committer,
        coauthors=frozenset(login for login, _ in others),
        accounts=frozenset(number for _, number in others)
        | {_number(data[role]) for role in roles},
    )


def role_of(data: Mapping[str, Any], account: int) -> Role:
    """The role that an answer about a login tells.

    None when that is another account by now, and none for a machine, which approves nothing.

    Args:
        data: GitHub's answer.
        account: Whose role was asked for; 0 where that is not known.
    """
    if account and _number(data.get("user")) not in (0, account):
        return Role.NONE
    if (data.get("user") or {}).get("type") == "Bot":
        return Role.NONE
    base = _PERMISSIONS.get(str(data["permission"]).lower(), Role.NONE)
    # The exact role where its name refines the permission: an organisation's own may be called
    # anything.
    return _REFINED.get((base, str(data.get("role_name") or "").lower()), base)


def _number(account: Mapping[str, Any] | None) -> int:
    """The number of an account, which stays when its login changes; 0 where it is not told."""
    return int(account.get("id") or 0) if account else 0


def _login(account: Mapping[str, Any] | None) -> str | None:
    # An account that is there without a login is {} in some answers.
    return str(account["login"]) if account else None


def _committer(data: Mapping[str, Any]) -> str | None:
    """The committer's login; "" for the forge, whose address is `noreply@` its host."""
    login = _login(data["committer"])
    address = str((data["commit"]["committer"] or {}).get("email", ""))
    if login == _FORGE or (login is None and is_forge(address)):
        return ""
    return login
