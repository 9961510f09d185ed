"""The timeline of issues and pull requests, shared by REST and GraphQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from bot.sandbox.git.objects import Commit
from bot.sandbox.records.repository import Comment, Pull, Review, Thread
from bot.sandbox.records.talk import TimelineEvent
from bot.sandbox.rules.state import ForgeState

PAGES_ONLY = ("opened", "pushed")
"""Events that only the forge's own pages show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineItem:
    """One entry: an event, a comment, a review or a commit of the head.

    Attributes:
        kind: GitHub's REST name, such as `head_ref_force_pushed`, `commented` or `committed`.
        at: When; for a commit, its committer's time.
        what: The thing itself. The end of a merged pull request is told twice by one event:
            `merged` and `closed`.
    """

    kind: str
    at: datetime
    what: TimelineEvent | Comment | Review | Commit


def items(state: ForgeState, thread: Thread) -> list[TimelineItem]:
    """Everything that the timeline holds, oldest first."""
    found = [*_events(thread), *_said(thread)]
    if isinstance(thread, Pull):
        found += [
            TimelineItem(kind="committed", at=commit.committer.when, what=commit)
            for commit in state.pulls.commits(thread)
        ]
    return sorted(found, key=lambda item: item.at)


def _events(thread: Thread) -> Iterator[TimelineItem]:
    for event in thread.events:
        if event.kind in PAGES_ONLY:
            continue
        yield TimelineItem(kind=event.kind, at=event.at, what=event)
        if event.kind == "merged":
            yield TimelineItem(kind="closed", at=event.at, what=event)


def _said(thread: Thread) -> Iterator[TimelineItem]:
    said: list[tuple[str, Comment | Review]] = [("commented", c) for c in thread.comments]
    if isinstance(thread, Pull):
        said += [("reviewed", r) for r in thread.reviews]
    for kind, one in sorted(said, key=lambda pair: pair[1].id):
        at = one.created_at if isinstance(one, Comment) else one.submitted_at
        yield TimelineItem(kind=kind, at=at, what=one)
