"""Labels, assignees and reviewers of merge requests and issues, and what closes issues.

Source: https://docs.gitlab.com/api/labels/; patterns that close issues:
https://docs.gitlab.com/user/project/issues/managing_issues/#default-closing-pattern
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from bot.sandbox.gitlab import levels
from bot.sandbox.gitlab.errors import conflict, missing
from bot.sandbox.gitlab.rules import threads
from bot.sandbox.records.accounts import User
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.merge_requests import LabelEvent, MergeRequest, ReviewerState
from bot.sandbox.records.repository import Repository, Thread
from bot.sandbox.records.talk import Label
from bot.sandbox.rules.context import Context

CLOSING = re.compile(
    r"\b(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing))[: ]+#(\d+)", re.I
)
_COLOR = "#6699cc"  # what GitLab gives a label that is made by naming it
_PEOPLE_OF_NOTES = {"assignees": "assigned to", "reviewers": "requested review from"}


def create(
    state: Context, repo: Repository, name: str, color: str, description: str | None
) -> Label:
    """Make a label; 409 for a name that is taken."""
    if name.lower() in repo.labels:
        raise conflict("Label already exists")
    made = Label(state.next_id(), name, color, description)
    repo.labels[name.lower()] = made
    return made


def label(repo: Repository, name: str) -> Label:
    """A label by its name or number; 404 where there is none."""
    found = repo.labels.get(name.lower())
    if found is None and name.isdigit():
        found = next((one for one in repo.labels.values() if one.id == int(name)), None)
    if found is None:
        raise missing("Label")
    return found


def rename(repo: Repository, found: Label, name: str) -> None:
    """Give a label another name; 409 for one that is taken."""
    if repo.labels.get(name.lower(), found) is not found:
        raise conflict("Label already exists")
    del repo.labels[found.name.lower()]
    found.name, repo.labels[name.lower()] = name, found


def delete(repo: Repository, found: Label) -> None:
    """Take a label away, off every issue and merge request too."""
    del repo.labels[found.name.lower()]
    for thread in repo.threads:
        if found in thread.labels:
            thread.labels.remove(found)


def change(
    state: Context,
    thread: Thread,
    user: User,
    *,
    exactly: Sequence[str] | None = None,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
) -> dict[str, Any] | None:
    """Put labels on and take them off; a name that the project lacks becomes a label.

    Returns:
        What changed, as payloads tell; None for nothing.
    """
    repo, before = thread.repo, list(thread.labels)
    gone = {name.lower() for name in remove}
    kept = [one for one in before if exactly is None and one.name.lower() not in gone]
    for name in [n.strip() for n in [*(exactly or ()), *add] if n.strip()]:
        found = repo.labels.get(name.lower()) or create(state, repo, name, _COLOR, None)
        if found not in kept:
            kept.append(found)
    if set(kept) == set(before):
        return None
    thread.labels = sorted(kept, key=lambda one: one.name)
    if isinstance(thread, MergeRequest):
        thread.label_events += [
            LabelEvent(id=state.next_id(), user=user, at=state.now(), label=one, action=action)
            for action, ones in (("add", kept), ("remove", before))
            for one in ones
            if (one in before) != (one in kept)
        ]
    return {"previous": before, "current": list(thread.labels)}


def people(state: Context, repo: Repository, wanted: Iterable[int]) -> list[User]:
    """Members by their numbers; who is none is passed over, as GitLab does."""
    by_id = {user.id: user for user in state.data.users.values()}
    found = [by_id[n] for n in wanted if n in by_id]
    return [user for user in found if levels.level(state, repo, user) >= AccessLevel.GUEST]


def set_people(
    state: Context, thread: Thread, user: User, role: str, wanted: Sequence[User]
) -> dict[str, Any] | None:
    """Make the assignees or reviewers exactly these; several at once, as Premium has it.

    Args:
        state: The forge.
        thread: Of whom.
        user: Who does it.
        role: `assignees` or `reviewers`.
        wanted: Who they shall be.
    """
    field = "requested_reviewers" if role == "reviewers" else "assignees"
    before: list[User] = list(getattr(thread, field))
    if set(before) == set(wanted):
        return None
    setattr(thread, field, list(wanted))
    fresh = [one for one in wanted if one not in before]
    if isinstance(thread, MergeRequest) and role == "reviewers":
        for one in fresh:
            thread.reviews_by.setdefault(one.id, ReviewerState("unreviewed", state.now()))
    if fresh:
        names = " and ".join(f"@{one.login}" for one in fresh)
        threads.system(state, thread, user, f"{_PEOPLE_OF_NOTES[role]} {names}", "assignee")
    return {"previous": before, "current": list(wanted)}
