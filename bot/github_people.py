"""Who made commits, read from GitHub's answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from lifecycle.authors import MadeBy, coauthors
from lifecycle.names import Sha

_FORGE = "web-flow"
"""The account that stands for GitHub's own pages as a committer."""


def made_by(listed: Sequence[Mapping[str, Any]]) -> tuple[MadeBy, ...]:
    """Who made each of the commits of a pull request."""
    accounts = {
        str(data["commit"][role]["email"]).lower(): str(data[role]["login"])
        for data in listed
        for role in ("author", "committer")
        if data[role] and data["commit"][role]
    }
    return tuple(
        MadeBy(
            sha=Sha(data["sha"]),
            author=_login(data["author"]),
            committer=_committer(data),
            coauthors=coauthors(str(data["commit"]["message"]), accounts),
        )
        for data in listed
    )


def _login(account: Mapping[str, Any] | None) -> str | None:
    # An account that is there without a login is {} in some answers.
    return str(account["login"]) if account else None


def _committer(data: Mapping[str, Any]) -> str | None:
    """The committer's login; "" for the forge, whose address is `noreply@` its host."""
    login = _login(data["committer"])
    address = str((data["commit"]["committer"] or {}).get("email", ""))
    if login == _FORGE or (login is None and address.partition("@")[0] == "noreply"):
        return ""
    return login
