"""The loop that brings any kind of key to rest: look, decide, perform, until nothing is left to do.

A kind of key is a `Reconciler`. What they have in common stands here: how often to look again, when
the forge shows an older state than what was just done, what is counted, and what is written down.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

import structlog

from bot import metrics, tracing
from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.look.crowds import judged
from bot.loop import audited
from bot.loop.echoes import Echoes
from bot.outcomes import ActionOutcome, Report
from bot.store.hints import BY_SWEEP, PUBLISHING, Hint
from bot.store.port import Audit
from bot.store.values import StoreError
from lifecycle.actions import Action, Merge, SetCheck
from lifecycle.facts.head import Facts
from lifecycle.kinds import OF_BASE, Look

log = structlog.get_logger()

MOST_ROUNDS = 12
"""Rounds of one look; the longest honest chain (draft, render, propose, tidy) takes six."""

UNSETTLED_WAIT = 60.0
"""Seconds until what did not settle in so many rounds is looked at again."""

FRESH = 5.0
"""Seconds that git as it was fetched serves the further rounds of one look."""

PROPOSALS = "proposals"
"""What is counted as repaired by the sweep of open proposals; `PUBLISHING`: merged, not tagged or
not tidied up."""

BUSY_WAIT = 1.0
"""Seconds before a merge is tried again after "Base branch was modified"."""


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing is left to do now.

    Attributes:
        after: Seconds after which to look again; None when only something new can change that.
    """

    after: float | None = None


class HasFacts(Protocol):
    """What a look found."""

    @property
    def facts(self) -> Facts:
        """What was decided on."""


L = TypeVar("L", bound=HasFacts)


@dataclass(frozen=True, slots=True)
class PredictedLook(Generic[L]):
    """What was done has one outcome, which need not be read: the decision goes on from there.

    Attributes:
        looked: What a look would find.
    """

    looked: L


class Reconciler(Protocol[L]):
    """One key of some kind while it is brought to rest."""

    @property
    def key(self) -> str:
        """The key that its actions are written down under."""

    @property
    def waiting(self) -> str:
        """What its waits are counted under: looks that share one wait together."""

    @property
    def looks(self) -> Set[Look]:
        """Which actions it may carry out, by the look that they belong to."""

    @property
    def hint(self) -> Hint:
        """What woke it, as far as that is known."""

    @property
    def echoes(self) -> Echoes:
        """What was done last in its repository."""

    async def look(self, since: float) -> L | Rest:
        """Read the facts.

        Args:
            since: By the monotonic clock; git as it was fetched after that will do.

        Returns:
            What was found, or when to look again where nothing can be decided on that.
        """

    def decide(self, looked: L) -> Sequence[Action]:
        """Actions in order; empty when nothing is left to do."""

    async def perform(
        self, actions: Sequence[Action], looked: L, report: Report
    ) -> ActionOutcome | Rest | PredictedLook[L]:
        """Carry out actions.

        Returns:
            How that went, `Rest` where others go on with what is left, or what is so by that.
        """

    async def rest(self, looked: L, /) -> Rest:
        """Nothing is left to do: say whether time alone may change that."""


class Settling:
    """Brings keys to rest.

    Args:
        audit: Where it is written down what was done.
        clock: How old what was fetched is.
        offload: Where facts are digested, and decided on where much was said.
    """

    def __init__(
        self, audit: Audit, *, clock: Clock = SYSTEM, offload: Offload = in_thread
    ) -> None:
        self._audit = audit
        self._clock = clock
        self._offload = offload

    async def settle(self, reconciler: Reconciler[L], since: float | None = None) -> float | None:
        """Look, decide and perform until nothing is left to do.

        Args:
            reconciler: What to bring to rest.
            since: By the monotonic clock; git as it was fetched after that will do for the first
                look. None: fetch now.

        Returns:
            Seconds after which to look again; None when it has settled.
        """
        echoes = reconciler.echoes
        since = self._clock.monotonic() if since is None else since
        known: L | None = None
        for _ in range(MOST_ROUNDS):
            if known is None:
                looked_at = self._clock.monotonic()
                with tracing.span("read the facts"):
                    looked = await reconciler.look(since)
                if isinstance(looked, Rest):
                    return looked.after
            else:
                looked = known
            with tracing.span("decide"):
                said = looked.facts.proposals
                decided = await judged(self._offload, said, reconciler.decide, looked)
                actions = _allowed(decided, reconciler)
            if not actions:
                metrics.DECISIONS.labels("settled").inc()
                return (await reconciler.rest(looked)).after
            if echoes.is_stale(actions, looked_at):
                metrics.DECISIONS.labels("stale").inc()
                return _when_stale(echoes, reconciler.waiting)
            echoes.news(reconciler.waiting)
            came = await self._perform(reconciler, actions, looked)
            if isinstance(came, Rest):
                return came.after
            if came is ActionOutcome.WAIT:
                return BUSY_WAIT
            known = came.looked if isinstance(came, PredictedLook) else None
            outcome = ActionOutcome.DONE if isinstance(came, PredictedLook) else came
            since = self._fetched_since(since, outcome, actions)
        log.error("does not settle", key=reconciler.key)
        return UNSETTLED_WAIT

    async def _perform(
        self, reconciler: Reconciler[L], actions: Sequence[Action], looked: L
    ) -> ActionOutcome | Rest | PredictedLook[L]:
        """Carry out actions; written down before that, and what came of them also where one breaks.

        What cannot be written down is not done; of a process that is killed, the entry stays.
        """
        report = Report()
        told = await self._offload(audited.decided, actions, looked.facts, reconciler.hint)
        began = await self._audit.begin(reconciler.key, audited.began(actions, told))
        ended = partial(self._write_down, reconciler, actions, told, report, began)
        try:
            came = await reconciler.perform(actions, looked, report)
        except BaseException:
            metrics.DECISIONS.labels("broke").inc()
            try:
                await ended()
            except StoreError as error:  # what broke the look is what has to be told
                log.warning("actions not written down", key=reconciler.key, error=str(error))
            raise
        await ended()
        outcome = came if isinstance(came, ActionOutcome) else ActionOutcome.DONE
        metrics.DECISIONS.labels(outcome.name.lower()).inc()
        return came

    async def _write_down(
        self,
        reconciler: Reconciler[L],
        actions: Sequence[Action],
        told: Sequence[audited.Detail],
        report: Report,
        began: int,
    ) -> None:
        done = [a for a in actions if report.of(a).outcome is ActionOutcome.DONE]
        reconciler.echoes.did(done)  # also beside one that broke: it may not show yet either
        if done and reconciler.hint == BY_SWEEP:  # no event had told
            metrics.REPAIRS.labels(PUBLISHING if reconciler.looks is OF_BASE else PROPOSALS).inc()
        for action in actions:
            outcome = report.of(action).outcome
            metrics.ACTIONS.labels(action.KIND.name, outcome.name.lower()).inc()
        if any(isinstance(action, SetCheck) for action in done):
            metrics.check_written(self._clock.monotonic())
        await self._audit.add(reconciler.key, audited.ended(actions, told, report, began))

    def _fetched_since(
        self, since: float, outcome: ActionOutcome, actions: Sequence[Action]
    ) -> float:
        """When git must have been fetched for the next round: what we push the mirror has already.

        A merge is made by the forge, and what was refused shows that somebody else was faster.
        """
        merged = any(isinstance(action, Merge) for action in actions)
        now = self._clock.monotonic()
        return (
            since if outcome is ActionOutcome.DONE and not merged and now - since < FRESH else now
        )


def _allowed(actions: Sequence[Action], reconciler: Reconciler[L]) -> Sequence[Action]:
    """Drop what belongs to another look: a proposal's own never merges, whatever was decided."""
    foreign = [action for action in actions if action.KIND.look not in reconciler.looks]
    if not foreign:
        return actions
    names = [action.KIND.name for action in foreign]
    log.error("decided for another look; not done", key=reconciler.key, actions=names)
    return [action for action in actions if action.KIND.look in reconciler.looks]


def _when_stale(echoes: Echoes, key: str) -> float:
    """Look again after 1, 2, 4, 8 s; then believe what is shown."""
    wait = echoes.wait(key)
    if wait is None:
        echoes.forget()
        return 0.0
    return wait
