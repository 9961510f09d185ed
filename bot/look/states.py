"""What forge and database tell of one head branch and its pull requests, as values for one look."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bot.forges.port import Context, Conversation, ListedProposal, RequiredCheck
from lifecycle.events import Log
from lifecycle.facts.checks import OURS, CheckRun, CheckState
from lifecycle.facts.conversation import Comment, Discussion, Review, Written
from lifecycle.names import Sha


@dataclass(frozen=True, slots=True)
class HeadBranch:
    """The head branch that a look is about.

    Attributes:
        repository: Number of the repository that holds it; None for a fork that is gone.
        ref: Its name.
    """

    repository: int | None
    ref: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PullState:
    """What the forge tells of one pull request, and what the database remembers of it.

    Attributes:
        pull: Which one.
        conversation: As the forge tells it.
        comments: Its comments, with hidden records and visible text apart.
        required: Checks that the base branch requires.
        reviews: Approving reviews that it requires; 0 where they are not missing, or not told.
        queued: It is in line for publishing.
        kept: Events that the database remembers.
        written: Comments that we wrote, as the database knows them, by their numbers.
    """

    pull: ListedProposal
    conversation: Conversation
    comments: tuple[Comment, ...]
    required: tuple[RequiredCheck, ...]
    reviews: int = 0
    queued: bool
    kept: Log
    written: Mapping[int, Written]

    @property
    def missing(self) -> tuple[int, ...]:
        """Numbers of comments that we wrote and the forge does not show, sorted."""
        return tuple(sorted(self.written.keys() - {c.id for c in self.comments}))

    @property
    def not_shown(self) -> list[str]:
        """What the forge should show: comments of ours, and the same head wherever it is asked."""
        missed = [f"comment {number}" for number in self.missing]
        if self.pull.open and self.conversation.head != self.pull.head:
            missed.append(f"head {self.pull.head}")
        return missed

    @property
    def head_mark(self) -> str:
        """Digest of the head branch's changes; "" when the forge does not tell of them."""
        changes = self.conversation.changes
        if changes is None or self.conversation.head != self.pull.head:
            return ""
        told = [[change.at.isoformat(), change.after] for change in changes]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]

    def talk(self, reviews: tuple[Review, ...]) -> Discussion:
        """What was said on it, with reviews as git shows what they looked at."""
        return Discussion(
            comments=tuple(c for c in self.comments if not c.ours),
            answers=tuple(c for c in self.comments if c.ours),
            reviews=reviews,
            review_texts=self.conversation.review_texts,
            suggested=self.conversation.suggested,
            kept=self.kept,
            written=self.written,
            missing=self.missing,
            decision=self.conversation.decision,
            reviews_required=self.reviews,
            readied=self.conversation.readied,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadState:
    """What the forge tells of one head branch.

    Attributes:
        pulls: All its pull requests.
        elsewhere: Pull requests that were named, and are of another head branch by now: a fork
            that is deleted takes its name along.
        relevant: Those that may want something, by number.
        open_head: Head of the first open one; None when none is open.
        checks: Check runs at `open_head`.
        statuses: Commit statuses at `open_head`; None when nobody asked for them yet.
        rerun: Somebody pressed Re-run.
        at_head: Open pull requests at `open_head`, of whatever branch, where a merge may follow.
    """

    pulls: tuple[ListedProposal, ...]
    relevant: tuple[PullState, ...]
    open_head: Sha | None
    checks: tuple[CheckRun, ...]
    statuses: Mapping[Context, CheckState] | None
    rerun: bool
    elsewhere: tuple[ListedProposal, ...] = ()
    at_head: tuple[ListedProposal, ...] = ()

    def ended(self, tip: Sha | None) -> bool:
        """Tell whether the newest pull request was closed unmerged, or merged as the branch stands.

        What was squashed or rebased is in no commit of the base branch.

        Args:
            tip: Where the branch stands; None where it is gone.
        """
        newest = max(self.pulls, key=lambda p: p.number, default=None)
        return newest is not None and not newest.open and not (newest.merged and newest.head != tip)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOfCommit:
    """What a look was told of a commit, and of another head branch there that it reads as well.

    Attributes:
        pulls: Open pull requests of that branch.
        checks: Check runs at the commit.
        required: Base branch to the checks that it requires, as far as they were asked for.
    """

    pulls: tuple[ListedProposal, ...]
    checks: tuple[CheckRun, ...]
    required: dict[str, tuple[RequiredCheck, ...]]


def of_head(pulls: Iterable[ListedProposal], head: HeadBranch) -> tuple[ListedProposal, ...]:
    """Pull requests of one head branch: forges ignore filters, and forks share names."""
    return tuple(
        p for p in pulls if p.head_ref == head.ref and p.head_repository == head.repository
    )


def shown(*listed: Iterable[CheckRun]) -> dict[str, CheckRun]:
    """Our checks; and what stands in the place of one, which somebody else put there."""
    runs = [run for each in listed for run in each if run.ours or run.name in OURS]
    return {run.name: run for run in sorted(runs, key=lambda run: run.ours)}
