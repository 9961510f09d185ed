"""Asks the forge about one head branch: its pull requests, conversations, checks and merge rules.

Calls that do not wait for one another run at the same time (docs/design.md, "Forge calls": a look
that changes nothing makes at most eight requests for a proposal with one approver).
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from bot import metrics
from bot.clock import Offload
from bot.forges.port import Context, Conversation, Forge, ListedProposal, Repository, RequiredCheck
from bot.look import required
from bot.look.reader import Basis
from bot.look.states import HeadBranch, HeadState, KnownOfCommit, PullState, of_head
from bot.store.port import LookIndex
from bot.store.values import TAGS, MergeRefusal
from lifecycle import records
from lifecycle.commands import parse as commands
from lifecycle.facts.checks import OURS, AwaitedCheck, CheckRun, CheckState
from lifecycle.facts.commits import PushRefusal
from lifecycle.facts.conversation import Comment, ReviewDecision, ReviewText
from lifecycle.facts.merging import MergeFailure, MergeObstacle, MergeWait, Merging
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy, Policy
from lifecycle.records import Record
from lifecycle.terms import Terms

Said = TypeVar("Said", Comment, ReviewText)


@dataclass(frozen=True, slots=True)
class MergeLook:
    """What was found out about a merge.

    Attributes:
        merging: As facts.
        said: Digest of what was said that it may wait for; None when not all of it was asked.
        left: Seconds until the forge may be asked again; None where nothing waits for time.
    """

    merging: Merging
    said: str | None = None
    left: float | None = None


class HeadStateReader:
    """Asks the forge about the head branches of one repository.

    Args:
        repository: Which one.
        forge: Its forge.
        store: What is remembered of its proposals.
        record_keys: Keys that hidden records may be made with, newest first.
        instance: Name of this bot in its markers: the summary of another one is not ours.
        offload: Where comments are read: whoever writes them can make this take a while.
    """

    def __init__(
        self,
        repository: Repository,
        forge: Forge,
        store: LookIndex,
        record_keys: Sequence[bytes],
        instance: str,
        offload: Offload,
    ) -> None:
        self._repository = repository
        self._forge = forge
        self._store = store
        self._keys = record_keys
        self._instance = instance
        self._offload = offload

    async def ask(
        self,
        head: HeadBranch,
        numbers: frozenset[int],
        *,
        rerun: bool,
        publishing: bool,
        known: KnownOfCommit | None = None,
    ) -> HeadState:
        """Ask what the forge tells of a head branch; nothing here waits for git.

        Args:
            head: The branch.
            numbers: Pull requests to ask about even if they are closed and settled.
            rerun: Somebody pressed Re-run.
            publishing: A merge may follow: commit statuses at the head, and all pull requests
                there, are asked for as well.
            known: What a look at another head branch was told of this one and of its commit, and
                need not be asked again.
        """
        with metrics.STEP_SECONDS.labels("ask").time():
            listed = None if known is None else (known.pulls, ())
            pulls, elsewhere = listed or await self._pulls(head, numbers)
            relevant = await self._relevant(pulls, numbers)
            open_head = next((p.head for p in relevant if p.open), None)
            checks, (statuses, at_head), states = await asyncio.gather(
                self.checks(open_head, known),
                self._of_others(open_head if publishing else None),
                asyncio.gather(*(self._pull_state(pull, known) for pull in relevant)),
            )
        return HeadState(
            pulls=pulls,
            elsewhere=elsewhere,
            relevant=tuple(states),
            open_head=open_head,
            checks=checks,
            statuses=statuses,
            rerun=rerun,
            at_head=at_head,
        )

    async def checks(
        self, head: Sha | None, known: KnownOfCommit | None = None
    ) -> tuple[CheckRun, ...]:
        """Return the check runs at a commit."""
        if known is not None:
            return known.checks
        return await self._forge.checks(head) if head else ()

    async def push_refused(self, ref: str, tip: Sha | None) -> PushRefusal | None:
        """Return why a rule forbids us to move a branch from where it is; None where it may."""
        me = self._repository.id
        return await self._store.proposals.push_refusal(me, ref, tip) if tip else None

    async def unshown(self, head: Sha | None) -> frozenset[str]:
        """Return our checks that the forge takes no more of at a commit; only statuses can fill."""
        if head is None or self._forge.checks_hold_text:
            return frozenset()
        me, ours = self._repository.id, sorted(OURS)
        asked = (self._store.proposals.push_refusal(me, name, head) for name in ours)
        found = await asyncio.gather(*asked)
        return frozenset(name for name, full in zip(ours, found, strict=True) if full)

    async def merging(
        self, state: PullState, basis: Basis, head: HeadState, policy: Policy | BrokenPolicy
    ) -> MergeLook:
        """Tell how the checks of others stand, and why the forge did not merge."""
        me, pull = self._repository.id, state.pull
        outside = await self._outside(state, head, policy)
        said_of = state.conversation
        merging = Merging(
            queued=state.queued,
            in_queue=said_of.in_queue,
            enqueued=said_of.enqueued,
            outside=outside,
        )
        if pull.open and not pull.draft:
            merging = replace(merging, enforced=required.enforces(state.required))
        if basis.merge is not None:
            tags = await self._store.proposals.refusal(me, pull.number, basis.merge, TAGS)
            return MergeLook(replace(merging, wait=_wait(tags)))
        if not pull.open:
            return MergeLook(merging)
        others = required.of_others(state.required)
        refusal = await self._store.proposals.refusal(me, pull.number, pull.head, basis.base or "")
        statuses = head.statuses
        if statuses is None and (refusal or required.needs_statuses(others, head.checks)):
            statuses = await self._forge.statuses(pull.head)
        if statuses is not None:
            statuses = {**statuses, **self._forge.standing(pull.number)}
        merging = replace(
            merging, required=required.check_states(others, head.checks, statuses or {})
        )
        if statuses is None:
            return MergeLook(merging)
        said = required.said(state.conversation.reviews, state.kept, head.checks, statuses)
        if _in_queue(refusal, merging):
            inside = replace(merging, in_queue=True, enqueued=True)
            return MergeLook(inside, said, refusal.left or None if refusal else None)
        if refusal is None or not await self._stands(refusal, pull, said):
            return MergeLook(merging, said)
        return MergeLook(replace(merging, wait=_wait(refusal)), said, refusal.left or None)

    async def _outside(
        self, state: PullState, head: HeadState, policy: Policy | BrokenPolicy
    ) -> tuple[AwaitedCheck, ...]:
        """How the checks stand that the configuration waits for, at the head of the proposal.

        After a merge too: what it waits for before the tag was reported at that head.
        """
        pull = state.pull
        wanted = policy.checks if isinstance(policy, Policy) else ()
        if not wanted or (pull.open and pull.draft) or not (pull.open or pull.merged):
            return ()
        # Both are asked for: a status may fail beside a run of the same name that passed.
        makers = await self._forge.statuses_by(pull.head)
        runs = head.checks if pull.open else await self.checks(pull.head)
        return required.outside(wanted, runs, makers)

    async def _stands(self, refusal: MergeRefusal, pull: ListedProposal, said: str) -> bool:
        """Tell whether another try would be too early, or end alike."""
        if refusal.left == 0 and refusal.obstacle is not MergeObstacle.LEFT_QUEUE:
            return False
        if refusal.obstacle.failure is MergeFailure.TRANSIENT:
            return True
        rules = await self._forge.rules(pull.base_ref)
        return refusal.inputs == required.merge_inputs(said, rules)

    async def _pull_state(self, pull: ListedProposal, known: KnownOfCommit | None) -> PullState:
        """The conversation about one pull request, and what its base asks for."""
        said, checks, queued, (kept, written) = await asyncio.gather(
            self._forge.conversation(pull.number),
            self._required(pull, known),
            self._store.revisions.queued(self._repository.id, pull.base_ref, pull.number),
            self._store.proposals.remembered(self._repository.id, pull.number),
        )
        lacks = pull.open and not pull.draft and said.decision is ReviewDecision.REQUIRED
        return PullState(
            pull=pull,
            reviews=await self._forge.required_reviews(pull.base_ref) if lacks else 0,
            conversation=await self._offload(_read_reviews, said, self._forge.terms),
            comments=await self._offload(
                self._read_comments, said.comments, pull.number, frozenset(written)
            ),
            required=checks,
            queued=queued,
            kept=kept,
            written=written,
        )

    async def _pulls(
        self, head: HeadBranch, numbers: frozenset[int]
    ) -> tuple[tuple[ListedProposal, ...], tuple[ListedProposal, ...]]:
        """Pull requests of the branch, checked (trap 2), and named ones that are of another."""
        if head.repository == self._repository.id.number:
            listed = of_head(await self._forge.proposals_of(head.ref), head)
            # Only without an open one does it matter what became of the others.
            found = tuple(pull for pull in listed if pull.open) or listed
        else:
            found = await self._forge.open_proposals()
        missing = numbers - {p.number for p in found}
        more = await asyncio.gather(*(self._forge.proposal(n) for n in sorted(missing)))
        mine = of_head((*found, *more), head)
        known = {p.number for p in mine}
        return mine, tuple(p for p in (*found, *more) if p.number in numbers - known)

    async def _relevant(
        self, pulls: Iterable[ListedProposal], numbers: frozenset[int]
    ) -> tuple[ListedProposal, ...]:
        """Open ones, and closed ones that may still want something."""
        closed = [p for p in pulls if not p.open]
        settled = await self._store.proposals.settled(
            self._repository.id, {p.number: p.merged for p in closed if p.number not in numbers}
        )
        return tuple(
            sorted(
                (p for p in pulls if p.open or p.number not in settled),
                key=lambda p: p.number,
            )
        )

    async def _of_others(
        self, head: Sha | None
    ) -> tuple[Mapping[Context, CheckState] | None, tuple[ListedProposal, ...]]:
        """Commit statuses at a commit, and the open pull requests that have it as their head."""
        if head is None:
            return None, ()
        statuses, pulls = await asyncio.gather(
            self._forge.statuses(head), self._forge.proposals_at(head)
        )
        return statuses, tuple(pull for pull in pulls if pull.open)

    async def _required(
        self, pull: ListedProposal, known: KnownOfCommit | None
    ) -> tuple[RequiredCheck, ...]:
        """Checks that the base branch requires; only asked once it is proposed."""
        if pull.draft or not pull.open:
            return ()
        if known is not None and pull.base_ref in known.required:
            return known.required[pull.base_ref]
        required = await self._forge.required_checks(pull.base_ref)
        if known is not None:
            known.required[pull.base_ref] = required
        return required

    def _read_comments(
        self, comments: Iterable[Comment], number: int, written: frozenset[int]
    ) -> tuple[Comment, ...]:
        """Read records and commands of the comments under a pull request."""
        read = tuple(self._read_records(comment, number, written) for comment in comments)
        return tuple(each if each.ours else told(each, self._forge.terms) for each in read)

    def _read_records(self, comment: Comment, number: int, written: frozenset[int]) -> Comment:
        """The hidden records of our own comments, made for here; text of others has none.

        Source: docs/design.md, "Records and events".
        """
        if not comment.ours:
            return comment
        if self._of_another_bot(comment, written):
            return replace(comment, ours=False, altered=False)
        found, body = _recorded(comment.body, tuple(self._keys), self._repository.id, number)
        return replace(
            comment,
            records=found,
            summary=records.is_summary(comment.body, self._instance),
            body=body,
        )

    def _of_another_bot(self, comment: Comment, written: frozenset[int]) -> bool:
        """Whether our App wrote it as another bot than this one, which neither reads nor mends it.

        What we wrote has our record or marker, or is known to the database. Where a person edited
        it, ours may have lost them. Then it is another bot's only if it still shows that bot's
        marker or record, and only by a database that knows what we wrote here: else somebody could
        take an answer of ours out of sight.

        Args:
            comment: By our own account.
            written: Numbers of those that the database knows to be ours.
        """
        known = comment.id in written or records.is_summary(comment.body, self._instance)
        if known or records.read(comment.body, self._keys):
            return False
        return not comment.altered or (bool(written) and records.carries_any(comment.body))


@lru_cache(maxsize=256)  # each look reads all of our comments again, and few have changed
def _recorded(
    body: str, keys: tuple[bytes, ...], repository_id: RepositoryId, number: int
) -> tuple[tuple[Record, ...], str]:
    """The records of a comment of ours that were made for a proposal, and its text without them."""
    return records.read_about(body, keys, repository_id, number), records.visible(body)


def _wait(refusal: MergeRefusal | None) -> MergeWait | None:
    """A refusal as a fact."""
    if refusal is None:
        return None
    given_up = refusal.left is None or refusal.obstacle is MergeObstacle.LEFT_QUEUE
    return MergeWait(refusal.obstacle, refusal.reason, given_up=given_up)


def _in_queue(refusal: MergeRefusal | None, merging: Merging) -> bool:
    """Whether what we put into the merge queue is there: shown so, or too young to be shown."""
    if refusal is None or refusal.obstacle is not MergeObstacle.LEFT_QUEUE:
        return False
    return merging.in_queue or bool(refusal.left)


def told(comment: Said, terms: Terms) -> Said:
    """What somebody said, read for commands, which is remembered for the decision."""
    body = terms.addressed(comment.body)
    commands.parse(body)
    return comment if body == comment.body else replace(comment, body=body)


def _read_reviews(said: Conversation, terms: Terms) -> Conversation:
    """The conversation with the texts of its reviews read for commands."""
    if not said.review_texts:
        return said
    return replace(said, review_texts=tuple(told(text, terms) for text in said.review_texts))
