"""Looks at what people say on the dashboard issue of a repository."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.dashboard import Dashboard
from bot.forges.port import Issue
from bot.git.port import Scope
from bot.look.asking import told
from bot.look.assemble import Looked, Looker
from bot.look.box_states import NOTHING_TICKED, TickedBoxes, states
from bot.look.open_drafts import OpenDraftReader
from bot.store.hints import Press
from bot.store.values import Adoption
from lifecycle import box_waves, boxes, records
from lifecycle.access import Person
from lifecycle.boxes import DRAFTING, Tick
from lifecycle.events import CommentAnswered, Log
from lifecycle.facts.boxes import BegunBox, BoxWaves
from lifecycle.facts.conversation import Comment, Discussion
from lifecycle.facts.drafts import MOST_DRAFTS
from lifecycle.facts.head import Facts
from lifecycle.facts.lookups import Lookups
from lifecycle.facts.packages import Content
from lifecycle.facts.proposal import Participants, Proposal, ProposalPlace, Rules, Times
from lifecycle.facts.whole import Whole
from lifecycle.messages.boxes import going_on
from lifecycle.names import Sha

LATE = timedelta(minutes=10)
"""How much later than others a forge may show a comment: so far back it is read again."""

MOST_OURS = 100
"""Comments of ours that are kept of an issue, those that were written last."""


@dataclass(frozen=True, slots=True)
class ReadTalk:
    """What is kept of what was said on an issue, once all of it has its answer.

    Attributes:
        number: Of the issue.
        since: What was written before that need not be read again; None where all has to be.
        ours: The comments of ours that were written last: answers, and what became of boxes.
    """

    number: int
    since: datetime | None
    ours: tuple[Comment, ...]


def read_talk(number: int, comments: Sequence[Comment]) -> ReadTalk:
    """Return what is kept of an issue.

    Args:
        number: Of the issue.
        comments: What was said on it, as far as it was read.
    """
    by_time = sorted(comments, key=lambda comment: comment.edited_at or comment.at)
    last = by_time[-1] if by_time else None
    since = (last.edited_at or last.at) - LATE if last else None
    return ReadTalk(number, since, tuple([c for c in by_time if c.ours][-MOST_OURS:]))


class DashboardLooker:
    """Looks at the dashboard issue of one repository.

    Once everything on it has its answer, only what is written or edited after that is read.

    Args:
        looker: Looks at its proposals.
        dashboard: The issue.

    Attributes:
        number: Number of the issue when it was looked at last; 0 where there was none.
        boxes: How far boxes that make drafts were then.
        more: More boxes may be answered at once than were.
    """

    def __init__(self, looker: Looker, dashboard: Dashboard) -> None:
        self._looker = looker
        self._dashboard = dashboard
        self._read_last: ReadTalk | None = None
        self._answered: ReadTalk | None = None
        self.number = 0
        self.boxes = BoxWaves()
        self.more = False
        self._unconfirmed = frozenset[int]()

    def rested(self) -> None:
        """Everything that was read last has its answer."""
        self._answered = self._read_last

    def forget(self) -> None:
        """Read everything again: what was read is not there any more."""
        self._answered = None

    async def look(
        self,
        adoption: Adoption,
        since: float,
        ticked: TickedBoxes = NOTHING_TICKED,
    ) -> Looked | None:
        """Read what was said there; None where nobody but the bot said anything, or no issue is.

        Args:
            adoption: What the repository was when the bot first saw it.
            since: By the monotonic clock; git as it was fetched after that will do.
            ticked: Boxes that were ticked; of those without an answer some are answered now.
        """
        issue = await self._dashboard.find()
        self.number = 0 if issue is None else issue.number
        self.boxes, self.more = BoxWaves(), False
        if issue is None:
            return None
        comments = await self._said(issue.number)
        begun = self._begun(issue.number, comments)
        if all(comment.ours for comment in comments) and not ticked.presses and not begun:
            self.rested()
            return None
        kept, written = await self._looker.store.proposals.remembered(
            self._looker.repository.id, issue.number
        )
        begun = self._begun(issue.number, comments, [each.record for each in written.values()])
        self._unconfirmed = ticked.unconfirmed
        batch = await self._chosen(_unanswered(ticked.presses, kept), begun, ticked)
        return await self._looker.extended.fetched(
            lambda: self._look(issue, comments, adoption, since, batch)
        )

    def _begun(
        self, number: int, comments: Sequence[Comment], known: Sequence[records.Record] = ()
    ) -> tuple[BegunBox, ...]:
        """What our comment about boxes said last was begun: as it is now, or is known to have."""
        ours = [self._recorded(c, number) for c in comments if c.ours]
        shown = [record for comment in ours for record in comment.records]
        return box_waves.read(box_waves.latest([*shown, *known]))

    async def _chosen(
        self, ticked: Sequence[Press], begun: Sequence[BegunBox], known: TickedBoxes
    ) -> tuple[Press, ...]:
        """The boxes that are answered now: of those that make drafts one wave, of others a few."""
        standing = await states(self._looker.forge, begun)
        now = box_waves.noted(standing, self._looker.clock.now())
        ticks = [(each, Tick.of(each.button)) for each in ticked]
        drafting = [
            (press, tick)
            for press, tick in ticks
            if tick.word in DRAFTING and self._person(press).id and self._is_ours(tick)
        ]
        waves = box_waves.next_wave(
            [tick.command for _, tick in drafting], now, known.graph, known.home
        )
        self.boxes = replace(waves, unseen=self._unseen(ticks, waves))
        answered = {*waves.start, *waves.left_out}
        later = {press for press, tick in drafting if tick.command not in answered}
        found = [press for press, _ in ticks if press not in later]
        self.more = len(found) > MOST_DRAFTS
        return tuple(found[:MOST_DRAFTS])

    def _unseen(self, ticks: Sequence[tuple[Press, Tick]], waves: BoxWaves) -> frozenset[int]:
        """The boxes to go on that said something else than the one that stands there by now."""
        line = next(going_on(waves), "").removeprefix("[ ] ").removesuffix(boxes.UNSEALED)
        digest = boxes.digest_of(self._looker.forge.terms.said(line))
        return frozenset(
            press.number
            for press, tick in ticks
            if line and tick.word == boxes.GO_ON and tick.digest != digest
        )

    def _is_ours(self, tick: Tick) -> bool:
        return boxes.is_ours(tick, self._looker.keys, self._looker.repository.id)

    async def _said(self, number: int) -> tuple[Comment, ...]:
        before = self._answered if self._answered and self._answered.number == number else None
        since = before.since if before else None
        read = await self._looker.forge.issue_comments(number, since)
        found = {comment.id: comment for comment in read}
        known = {comment.id: comment for comment in before.ours} if before else {}
        comments = tuple(each for _, each in sorted((known | found).items()))
        self._read_last = read_talk(number, comments)
        return comments

    async def waiting(self, ticked: Sequence[Press]) -> tuple[Press, ...]:
        """Return the boxes that have no answer yet, in the same order.

        Args:
            ticked: Boxes that were ticked.
        """
        issue = await self._dashboard.find() if ticked else None
        if issue is None:
            return ()
        looker = self._looker
        kept, _ = await looker.store.proposals.remembered(looker.repository.id, issue.number)
        # Anybody may carry a record of ours into an issue of theirs: its boxes are none.
        here = (each for each in ticked if Tick.of(each.button).issue in (0, issue.number))
        return _unanswered([*here], kept)

    async def _look(
        self,
        issue: Issue,
        comments: Sequence[Comment],
        adoption: Adoption,
        since: float,
        ticked: Sequence[Press],
    ) -> Looked:
        looker = self._looker
        me, default, read = looker.repository, looker.repository.default_branch, since
        (kept, written), (frozen, unread), _ = await asyncio.gather(
            looker.store.proposals.remembered(me.id, issue.number),
            looker.freezes.known(),
            looker.fetcher.fetch(Scope(frozenset({default})), since),
        )
        credentials = await looker.forge.git_credentials()
        said, answers = await looker.offload(self._read, comments, issue.number)
        pressed = self._pressed(ticked, kept)
        known = tuple(e for e in pressed if e.author.id and not (e.altered or e.boxed))
        talk = Discussion(
            comments=said,
            answers=answers,
            kept=kept,
            written=written,
            pressed=known,
            boxes=self.boxes,
        )
        with await looker.offload(looker.mirror.open, credentials, since) as git:
            reader = looker.reader(git, adoption)
            whole = await looker.offload(reader.whole)
            found = await looker.proposals.after_trials(reader, self._issue(issue, talk, whole))
            found = await looker.people.asking(found)
            found = await looker.proposals.drafted(reader, found, "", since)
            found = await self._open_drafts().read(reader, found, since)
        # Where nobody knows who it was, or what was ticked, there is nothing to ask: it is said.
        found = replace(found, talk=replace(found.talk, pressed=pressed))
        facts = Facts(
            repository=me.full_name,
            repository_id=me.id,
            head_ref="",
            head=None,
            same_repository=True,
            default_ref=default,
            proposals=(found,),
            freezes=frozen,
            freezes_unread=unread,
            terms=looker.forge.terms,
        )
        seen, nothing = frozenset(comment.id for comment in comments), frozenset[int]()
        return Looked(facts, read, seen, nothing, {}, {}, nothing)

    def _open_drafts(self) -> OpenDraftReader:
        looker = self._looker
        return OpenDraftReader(
            looker.repository,
            looker.forge,
            looker.fetcher,
            looker.renderer,
            looker.store.proposals,
            looker.offload,
        )

    def _issue(self, issue: Issue, talk: Discussion, whole: Whole) -> Proposal:
        """The issue as a proposal that changes nothing, as far as it is known."""
        looker = self._looker
        me, default = looker.repository, looker.repository.default_branch
        return Proposal(
            place=ProposalPlace(
                number=issue.number,
                title=issue.title,
                draft=False,
                merged=False,
                closed=True,
                head=Sha(""),
                base_ref=default,
                base=Sha(""),
                issue=True,
            ),
            times=Times(installed_at=me.installed_at, looked_at=looker.clock.now()),
            people=Participants(author=Person(0, "", bot=True), organization=me.owner),
            content=Content(touched=()),
            talk=talk,
            rules=Rules(policy=whole.policy),
            lookups=Lookups(whole=whole),
        )

    def _read(
        self, comments: Sequence[Comment], number: int
    ) -> tuple[tuple[Comment, ...], tuple[Comment, ...]]:
        """What people said, and our own answers with their records."""
        terms = self._looker.forge.terms
        said = tuple(told(comment, terms) for comment in comments if not comment.ours)
        return said, tuple(self._recorded(c, number) for c in comments if c.ours)

    def _pressed(self, ticked: Sequence[Press], kept: Log) -> tuple[Comment, ...]:
        """The boxes without an answer, as commands that nobody wrote; altered where we did not."""
        ticks = {each.number: Tick.of(each.button) for each in ticked}
        at = self._looker.repository.installed_at  # when does not matter: none of them approves
        return tuple(
            Comment(
                id=each.number,
                author=self._person(each),
                body=f"/{ticks[each.number].command}",
                at=at,
                altered=not self._is_ours(ticks[each.number]),
                button=True,
                boxed=bool(ticks[each.number].proposal),
            )
            for each in _unanswered(ticked, kept)
        )

    def _person(self, press: Press) -> Person:
        """Who ticked a box; nobody where that is not known, or the forge does not confirm it."""
        known = press.person and press.number not in self._unconfirmed
        return Person(press.person, press.login, False) if known else Person(0, "", False)

    def _recorded(self, comment: Comment, number: int) -> Comment:
        """One of our comments, with its records."""
        found = records.read_about(
            comment.body, self._looker.keys, self._looker.repository.id, number
        )
        return replace(comment, records=found, body=records.visible(comment.body))


def _unanswered(ticked: Sequence[Press], kept: Log) -> tuple[Press, ...]:
    done = {each.comment for each in kept if isinstance(each, CommentAnswered)}
    return tuple(each for each in ticked if each.number not in done)
