"""The keys of head branches: a draft or proposal is looked at until nothing is left to do."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from bot import keys
from bot.look import field_origins
from bot.look.assemble import Looked
from bot.look.crowds import judged
from bot.look.rendering import Begun
from bot.look.sharing import SharedReadings
from bot.loop import branches, waits
from bot.loop.dashboards import tell
from bot.loop.echoes import Echoes
from bot.loop.impacts import Impacts
from bot.loop.pressed import Counting, PressFilter
from bot.loop.repository import ServedRepository, head_of
from bot.loop.serving import Serving
from bot.loop.settle import BUSY_WAIT, PredictedLook, Rest, Settling
from bot.loop.shared_commits import SharedCommit
from bot.loop.timed import may_be_told, seconds, sooner
from bot.loop.unjudged import Unjudged, is_unjudged
from bot.loop.work import LookAgain
from bot.outcomes import DONE, ActionOutcome, Report
from bot.store.hints import BY_NEIGHBOUR, NOTHING, Hint
from bot.store.port import Store
from bot.store.values import Wait
from lifecycle import observing, showing, timing
from lifecycle.actions import Action, AskPublish, Forget, SetCheck, SetLabels
from lifecycle.decide import conclude, decide
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.kinds import OF_PROPOSAL
from lifecycle.names import Sha


class ProposalHandler:
    """Handles the keys of head branches.

    Args:
        serving: Finds their repositories.
        settling: Brings them to rest.
        store: The database.
        unjudged: What waits for functions that could not be run.
        impacts: Asks for what heads would do to other packages.
        pressed: Which buttons of checks count.
    """

    def __init__(
        self,
        serving: Serving,
        settling: Settling,
        store: Store,
        unjudged: Unjudged,
        impacts: Impacts,
        pressed: PressFilter,
    ) -> None:
        self._serving = serving
        self._pressed = pressed
        self._settling = settling
        self._store = store
        self._unjudged = unjudged
        self._impacts = impacts

    async def handle(self, key: keys.ProposalKey, hint: Hint) -> LookAgain | None:
        """Bring a head branch to rest.

        Returns:
            When to look again; None when it has settled.
        """
        served = await self._serving.of(key.repository)
        taken = served.clock.monotonic()
        async with (
            # In this order: publishing waits for the branch, and not for all looks at its commit.
            served.shared_commits.exclusive(head_of(key)) as shared,
            served.lock(head_of(key)),
        ):
            if hint.rerun - {each for _, each in shared.reruns}:
                served.echoes.forget()
            reconciler = ProposalReconciler(
                served,
                self._store,
                self._unjudged,
                self._impacts,
                self._pressed,
                key,
                hint,
                shared,
                taken,
            )
            try:
                after = await self._settling.settle(reconciler)
                return None if after is None else LookAgain(after, reconciler.spent)
            finally:
                await reconciler.begun.end()


class ProposalReconciler:
    """One head branch while it is brought to rest.

    Args:
        served: Its repository.
        store: The database.
        unjudged: What waits for functions that could not be run.
        impacts: Asks for what the head would do to other packages.
        pressed: Which buttons of checks count.
        key: The branch.
        hint: What the events that woke it said exists.
        shared: What looks at the same commit have in common.
        taken: When its look began, by the monotonic clock.
    """

    looks = OF_PROPOSAL

    def __init__(
        self,
        served: ServedRepository,
        store: Store,
        unjudged: Unjudged,
        impacts: Impacts,
        pressed: PressFilter,
        key: keys.ProposalKey,
        hint: Hint,
        shared: SharedCommit,
        taken: float,
    ) -> None:
        self._shared = shared
        self._others_since = taken
        self._served = served
        self._store = store
        self._unjudged = unjudged
        self._impacts = impacts
        self._pressed = pressed
        self._counting = Counting()
        self._readings = SharedReadings(taken)
        self._branch = key
        self._rerun = bool(hint.rerun)
        self._returns = unjudged.returns
        self._waits: Mapping[int, tuple[Wait, ...]] = {}
        self._showed = False
        self.begun = Begun(served.clock)
        self.spent = NOTHING
        self.hint = hint
        self.key = self.waiting = str(key)

    @property
    def echoes(self) -> Echoes:
        """What was done last in the repository."""
        return self._served.echoes

    async def look(self, since: float) -> Looked | Rest:
        """Read the facts.

        The first time renderings are not waited for, where that is to be shown. What set a field
        that somebody asks about is found last: nothing else is done later for that.
        """
        looked = await self._look(since)
        if isinstance(looked, Looked) and looked.facts.pending and not await self._wants(looked):
            looked = await self._look(since)
        if isinstance(looked, Looked) and self._readings.used and await self._shows(looked):
            # A check is shown by what was read of all in this look: it lets all of them through.
            self._read_all()
            self._rerun = looked.facts.rerun  # nothing was written yet for who pressed it
            looked = await self._look(since)
        if not isinstance(looked, Looked) or not field_origins.asked(looked.facts):
            return looked
        if await self._wants(looked):
            return looked  # the next look finds that, and nothing else, left to do
        served = self._served
        facts = await field_origins.traced(served.looker, looked.facts, served.adoption)
        return replace(looked, facts=facts)

    async def _wants(self, looked: Looked) -> bool:
        """Whether anything is left to do."""
        facts = looked.facts
        return bool(await judged(self._served.offload, facts.proposals, decide, facts))

    async def _shows(self, looked: Looked) -> bool:
        """Whether a check is to be written."""
        facts = looked.facts
        actions = await judged(self._served.offload, facts.proposals, decide, facts)
        return any(isinstance(each, SetCheck) for each in actions)

    def _reruns(self, facts: Facts) -> set[tuple[Sha | None, str]]:
        """What was pressed, with the commit that its checks are written anew at."""
        return {(facts.head, each) for each in self.hint.rerun}

    def _read_all(self) -> None:
        """From now on, let nothing do that another look read of the proposals before."""
        self._others_since = self._served.clock.monotonic()

    async def _look(self, since: float) -> Looked | Rest:
        # What is merged and waits for a thaw, an hour or somebody's check is settled otherwise.
        parked = await self._store.waits.parked(self._served.id, timing.KINDS, self.key)
        numbers = self.hint.numbers | {each.number for each in parked}
        self._counting = await self._pressed.counting(self._served, self._branch, self.hint.pressed)
        before = self._served.shared_commits.commit_of(head_of(self._branch))
        self._readings = SharedReadings(self._others_since, before, self._shared.readings)
        if before is not None:  # with git of before, what is read now would serve no other look
            since = max(since, self._others_since)
        looked = await self._served.looker.look(
            head_of(self._branch),
            self._served.adoption,
            numbers,
            rerun=self._rerun,
            heads=self.hint.heads,
            since=since,
            begun=None if self._showed else self.begun,
            pressed=self._counting.presses,
            kept=self._readings,
        )
        if not looked.facts.pending:
            self._served.shared_commits.learn(head_of(self._branch), looked.facts, self._shared)
        if self._shared.reruns.issuperset(self._reruns(looked.facts)):
            # Another proposal's look did it for all.
            looked = replace(looked, facts=replace(looked.facts, rerun=False))
        self._showed = True
        for pull in looked.elsewhere:
            there = replace(self.hint, numbers=frozenset({pull.number}))
            await self._store.queue.wake(self._served.key_of(pull), there)
        if looked.again is not None:
            return Rest(looked.again)
        self._rerun = False
        if not looked.facts.pending:
            await self.begun.end()
        if branch := looked.facts.queued:  # what a look showed there before it was known
            group = keys.GroupKey(self._served.id, branch)
            await self._store.queue.wake(group, BY_NEIGHBOUR)
        return looked

    def decide(self, looked: Looked) -> Sequence[Action]:
        """All that is to be done, but publishing."""
        decision = conclude(looked.facts)
        self._waits = {n: waits.of_gates(gates) for n, gates in decision.waits.items()}
        unlabelled = self._served.unlabelled
        return [
            action
            for action in decision.actions
            if not (isinstance(action, SetLabels) and unlabelled.get(action.number))
        ]

    async def perform(
        self, actions: Sequence[Action], looked: Looked, report: Report
    ) -> ActionOutcome | Rest | PredictedLook[Looked]:
        """Carry out actions; once publishing is asked for, the base's look takes over."""
        # Not whose comments woke this key: a key that waits keeps them, also those done with since.
        who = Hint(by=self.hint.by)
        outcome = await self._served.performer.perform(actions, looked, report, who)
        if any(isinstance(each, SetCheck) for each in actions):
            self._read_all()  # what others came to meanwhile must be seen once it is written
            if outcome is ActionOutcome.DONE and looked.facts.rerun:
                self._shared.reruns |= self._reruns(looked.facts)
        for each in actions:
            if isinstance(each, SetLabels) and (why := report.of(each).why):
                self._served.unlabelled.put(each.number, why)
        if any(isinstance(each, Forget) for each in actions):
            await self._impacts.again(self._served, looked.facts)
        await tell(self._store.queue, self._served.repository)
        asked = [action for action in actions if isinstance(action, AskPublish)]
        if outcome is ActionOutcome.DONE and asked:
            terms = self._served.forge.terms
            in_line = {each.number: (waits.in_line(each.base_ref, terms),) for each in asked}
            await self._keep_waits({**self._waits, **in_line}, looked.facts)
            # The base's look wakes this key when it is done.
            return self._waits_for_log(await self._hint_shown(looked))
        then = showing.shown(looked.facts, actions)
        as_meant = all(report.of(each) == DONE for each in actions)
        if then is None or outcome is not ActionOutcome.DONE or not as_meant:
            return outcome
        return PredictedLook(replace(looked, facts=then))

    async def rest(self, looked: Looked) -> Rest:
        """Wait for functions, for what the forge tells late, and for what the hint said exists."""
        return self._waits_for_log(await self._rest(looked))

    def _waits_for_log(self, rest: Rest) -> Rest:
        """Rest no longer than buttons wait for the forge's log to tell of them."""
        # What was pressed is answered: to wait for an hour must not do it again at each wake.
        done = self.hint.pressed - self._counting.waiting
        self.spent = Hint(rerun=self.hint.rerun, pressed=done)
        return Rest(sooner(rest.after, self._counting.again))

    async def _rest(self, looked: Looked) -> Rest:
        await self._close(looked.facts)
        await self._impacts.tell(self._served, looked.facts, self.hint)
        await self._keep_waits(self._waits, looked.facts)
        if any(map(is_unjudged, looked.facts.proposals)):
            if self._returns != self._unjudged.returns:
                return Rest(BUSY_WAIT)  # the runner came back while we looked
            return Rest(self._unjudged.wait(self._branch))
        self._unjudged.judged(self._branch)
        if looked.late:
            return Rest(self.echoes.wait_on(self.waiting))
        shown = await self._hint_shown(looked)
        timed = seconds(looked.facts, self._served.clock.now(), self._waits, self.key)
        return Rest(sooner(shown.after, timed))

    async def _keep_waits(self, found: Mapping[int, tuple[Wait, ...]], facts: Facts) -> None:
        # While all is only observed nothing is said of what was merged before: it goes on later.
        judged = () if facts.watched else facts.proposals
        merged = [p.place.number for p in judged if p.place.merged]
        await self._store.waits.keep(self._served.id, self.key, found, merged)

    async def _hint_shown(self, looked: Looked) -> Rest:
        """Look again while the forge does not show what the hint said exists."""
        hint, served = self.hint, self._served
        heads_there = await served.offload(branches.has_all, served.mirror, hint.heads)
        newest = max(looked.seen_comments, default=0)
        comments_there = all(c in looked.seen_comments or c < newest for c in hint.comments)
        if heads_there and comments_there and hint.reviews <= looked.seen_reviews:
            self.echoes.news(self.waiting)
            return Rest(min(looked.retries.values(), default=None))
        return Rest(self.echoes.wait(self.waiting))

    async def _close(self, facts: Facts) -> None:
        """Closed proposals with nothing left to do are not looked at again unless named.

        What waits for the end of a trial is not over; what was merged in it is.
        """
        for proposal in facts.proposals:
            if facts.watched and not observing.observed(proposal):
                continue
            if is_over(proposal, self._served.clock.now()):
                await self._store.proposals.settle(
                    self._served.id, proposal.place.number, merged=proposal.place.merged
                )


def is_over(proposal: Proposal, now: datetime) -> bool:
    """Whether a proposal is closed, and neither time nor another look changes what it comes to.

    One in line is being published, maybe by another replica: what follows is left for the look
    after that.
    """
    return (
        proposal.place.closed
        and not proposal.merging.queued
        and not is_unjudged(proposal)
        and not may_be_told(proposal, now)
    )
