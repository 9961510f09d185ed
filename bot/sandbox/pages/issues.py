"""What the pages of issues and releases show, and what the forms of an issue do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bot.sandbox.errors import RefusedError, not_found
from bot.sandbox.pages.asked import PageRequest
from bot.sandbox.records.accounts import Role, User
from bot.sandbox.records.repository import Issue, Release, Repository
from bot.sandbox.rules.state import ForgeState

_FREE, _HIDDEN = "- [ ] ", re.compile(r"<!--.*?-->|`")


def listed(asked: PageRequest) -> Mapping[str, Any]:
    """The issues of a repository, open or closed, the newest first."""
    repo = asked.repo
    asked.state.issues.enabled(repo)
    shown = "closed" if asked.request.query_params.get("state") == "closed" else "open"
    found = sorted(repo.issues.values(), key=lambda issue: -issue.number)
    return {
        "repo": repo,
        "shown": shown,
        "issues": [issue for issue in found if issue.state == shown],
        "open_count": sum(issue.state == "open" for issue in found),
        "closed_count": sum(issue.state == "closed" for issue in found),
    }


def one(asked: PageRequest) -> Mapping[str, Any]:
    """One issue, and what the viewer may do with it."""
    issue = _found(asked)
    return {
        "repo": issue.repo,
        "issue": issue,
        "may_comment": asked.user is not None,  # who reads may write
        "may_change": _may_change(asked.state, issue, asked.user),
        "boxes": _boxes(issue.body or ""),
    }


def act(asked: PageRequest, form: Mapping[str, str]) -> str:
    """Comment on an issue, tick a box in it, close it or reopen it; return where to go on.

    Raises:
        RefusedError: 403 where the viewer may not, 404 for anything else.
    """
    issue, user = _found(asked), asked.user
    here = f"/{issue.repo.full_name}/issues/{issue.number}"
    if user is None:
        raise not_found()
    match asked.request.path_params["act"]:
        case "comment":
            body = form.get("body", "").replace("\r\n", "\n").strip()
            made = asked.state.talk.comment(issue, user, body)
            return f"{here}#issuecomment-{made.id}"
        case "close" | "reopen" as word:
            if not _may_change(asked.state, issue, user):
                raise RefusedError(403, f"{user.login} may not do this here.")
            asked.state.issues.edit(issue, user, state="closed" if word == "close" else "open")
            return here
        case "tick":
            asked.state.issues.edit(issue, user, body=_ticked(issue.body or "", form))
            return here
        case _:
            raise not_found()


def _boxes(text: str) -> list[tuple[str, str]]:
    """The boxes of a text that nobody ticked: each whole line, and the words beside it."""
    found = [each.rstrip("\r") for each in text.split("\n") if each.startswith(_FREE)]
    return [(each, _HIDDEN.sub("", each.removeprefix(_FREE))) for each in found]


def _ticked(text: str, form: Mapping[str, str]) -> str:
    """A text with one box ticked; one that is there no more stays as it is."""
    line = form.get("line", "")
    lines = [each.rstrip("\r") for each in text.split("\n")]
    if line.startswith(_FREE) and line in lines:
        lines[lines.index(line)] = f"- [x] {line.removeprefix(_FREE)}"
    return "\n".join(lines)


def releases(repo: Repository) -> Sequence[Release]:
    """The releases of a repository, without drafts, the newest first."""
    found = [each for each in repo.releases.values() if not each.draft]
    return sorted(found, key=lambda each: -each.id)


def _found(asked: PageRequest) -> Issue:
    found = asked.state.issues.find(asked.repo, asked.request.path_params["number"])
    if not isinstance(found, Issue):
        raise not_found()
    return found


def _may_change(state: ForgeState, issue: Issue, user: User | None) -> bool:
    return user is not None and (issue.user is user or state.role(issue.repo, user) >= Role.TRIAGE)
