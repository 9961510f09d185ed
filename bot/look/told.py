"""What the forge tells of one head branch and its proposals, as values, for one look."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from bot.forges.port import Conversation, PullRequest, RequiredCheck
from lifecycle.events import Log
from lifecycle.facts import CheckRun, Comment, Required, Written
from lifecycle.names import Sha


@dataclass(frozen=True, slots=True)
class Talk:
    """What the forge says about one pull request, and what the database remembers of it.

    Attributes:
        said: As the forge tells it.
        comments: Of these, with records and visible text apart.
        required: Names of checks that the base requires.
        queued: It is in line for publishing.
        kept: Events.
        written: Comments that we wrote.
    """

    said: Conversation
    comments: tuple[Comment, ...]
    required: tuple[RequiredCheck, ...]
    queued: bool
    kept: Log
    written: Mapping[int, Written]

    @property
    def missing(self) -> tuple[int, ...]:
        """Comments that we wrote and the forge does not show."""
        return tuple(sorted(self.written.keys() - {c.id for c in self.comments}))


@dataclass(frozen=True, slots=True)
class Stand:
    """What the forge asks of one pull request beside our own gates.

    Attributes:
        required: The required checks of others.
        refusal: Why it refused to merge; "" when it did not, or may be asked again.
        ended: Digest of what others have reported; None when nobody asked for all of it.
    """

    required: tuple[Required, ...] = ()
    refusal: str = ""
    ended: str | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What the forge says about one head branch.

    Attributes:
        pulls: All its pull requests.
        talks: Those that may want something, oldest first, each with its conversation.
        shown: Head of the first open one; None when none is open.
        checks: Check runs at `shown`.
        statuses: Commit statuses at `shown`; None when nobody asked for them yet.
        rerun: Somebody pressed Re-run.
    """

    pulls: tuple[PullRequest, ...]
    talks: tuple[tuple[PullRequest, Talk], ...]
    shown: Sha | None
    checks: tuple[CheckRun, ...]
    statuses: Mapping[str, str] | None
    rerun: bool

    @property
    def abandoned(self) -> bool:
        """The newest pull request of the branch was closed without being merged."""
        newest = max(self.pulls, key=lambda p: p.number, default=None)
        return newest is not None and newest.state != "open" and not newest.merged


def missed(pull: PullRequest, talk: Talk) -> list[str]:
    """What the forge should show and does not: what we wrote, and one head wherever it is asked."""
    missed = [f"comment {number}" for number in talk.missing]
    if pull.state == "open" and talk.said.head != pull.head:
        missed.append(f"head {pull.head}")
    return missed


def mark(said: Conversation) -> str:
    """Digest of the changes of the head branch that the forge tells of; "" when it does not."""
    if said.changes is None:
        return ""
    told = [[change.at.isoformat(), change.after] for change in said.changes]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]
