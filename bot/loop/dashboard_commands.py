"""What people ask for on the dashboard issue: answered as under a pull request."""

from collections.abc import Sequence
from dataclasses import replace

import structlog

from bot import keys
from bot.forges.port import ForgeMissingError, ForgeRefusedError
from bot.look.assemble import Looked
from bot.look.box_states import NOTHING_TICKED, TickedBoxes
from bot.loop.box_passing import passed_on
from bot.loop.discovering import graph_of
from bot.loop.echoes import Echoes
from bot.loop.repository import ServedRepository
from bot.loop.serving import Serving
from bot.loop.settle import Rest, Settling
from bot.outcomes import ActionOutcome, Report
from bot.store.hints import NOTHING, Hint, Press
from bot.store.port import Store
from lifecycle import dashboard
from lifecycle.actions import Action
from lifecycle.due import due
from lifecycle.kinds import OF_PROPOSAL
from lifecycle.upstreams.locations import locate

log = structlog.get_logger()

NEXT_BATCH = 2.0
"""Seconds until the next boxes are answered, where more were ticked than are answered at once."""

LATER = 600.0
"""Seconds after which boxes that wait for others are looked at even if nothing woke them: whatever
becomes of a proposal of the repository does so at once."""


class DashboardCommands:
    """Answers on the dashboard issues.

    Args:
        serving: Finds their repositories.
        settling: Brings them to rest.
        store: The database.
    """

    def __init__(self, serving: Serving, settling: Settling, store: Store) -> None:
        self._serving = serving
        self._settling = settling
        self._store = store

    async def handle(self, key: keys.DashboardKey, hint: Hint) -> float | None:
        """Answer what was asked since.

        Returns:
            Seconds after which to look again; None when everything is answered.
        """
        served = await self._serving.of(key.repository)
        if not served.repository.has_issues:
            return None
        waiting = await served.talk.waiting(tuple(sorted(map(Press.of, hint.pressed))))
        ticked, left = await passed_on(served, self._store.queue, self._store.claims, waiting)
        if waiting:
            ticked = await self._with_graph(served, ticked)
        after = await self._settling.settle(DashboardReconciler(served, key, hint, ticked))
        if after is not None:
            return after
        # What else was ticked comes later, so that no other key waits for all of it.
        if served.talk.more or left:
            return NEXT_BATCH
        return LATER if served.talk.boxes.waiting else None

    async def _with_graph(self, served: ServedRepository, ticked: TickedBoxes) -> TickedBoxes:
        """With what was made from what on the default branch, which boxes are about."""
        home = locate(served.repository.clone_url)
        if home is None:
            return ticked
        default = served.repository.default_branch
        uses = [u for u in await self._store.upstreams.uses(served.id) if u.branch == default]
        return replace(ticked, graph=graph_of(str(home), uses), home=str(home))


class DashboardReconciler:
    """One dashboard issue while its comments are answered.

    Args:
        served: Its repository.
        key: Its key.
        hint: What woke it.
        ticked: Boxes that were ticked and have no answer.
    """

    looks = OF_PROPOSAL

    def __init__(
        self,
        served: ServedRepository,
        key: keys.DashboardKey,
        hint: Hint,
        ticked: TickedBoxes = NOTHING_TICKED,
    ) -> None:
        self._served = served
        self._ticked = ticked
        self.hint = hint
        self.key = self.waiting = str(key)

    @property
    def echoes(self) -> Echoes:
        """What was done last in the repository."""
        return self._served.echoes

    async def look(self, since: float) -> Looked | Rest:
        """Read what was said."""
        served = self._served
        looked = await served.talk.look(served.adoption, since, self._ticked)
        if looked is None:
            return Rest(self.echoes.wait(self.waiting) if self._expected else None)
        return looked

    @property
    def _expected(self) -> int:
        """The newest comment that events told of; 0 for none on this issue.

        Anybody may carry a record of ours into an issue of theirs, and comment there.
        """
        elsewhere = self.hint.numbers and abs(self._served.talk.number) not in self.hint.numbers
        return 0 if elsewhere else max(self.hint.comments, default=0)

    def decide(self, looked: Looked) -> Sequence[Action]:
        """The answers that are missing."""
        return dashboard.decide(looked.facts)

    async def perform(
        self, actions: Sequence[Action], looked: Looked, report: Report
    ) -> ActionOutcome | Rest:
        """Answer; where the forge lets nobody answer, as on a locked issue, it counts as answered.

        What was asked for would be done again and again otherwise, and undo what was asked since.
        """
        for action in actions:
            try:
                came = await self._served.performer.perform([action], looked, report, NOTHING)
            except ForgeMissingError:  # a fresh token sees nothing for a moment, or it is deleted
                self._served.talk.forget()
                raise
            except ForgeRefusedError as error:
                log.warning("not answered on the dashboard", key=self.key, error=str(error))
                continue
            if came is not ActionOutcome.DONE:
                return came
        return ActionOutcome.DONE

    async def rest(self, looked: Looked) -> Rest:
        """Wait for the comments that events told of."""
        if self._expected <= max(looked.seen_comments, default=0):
            self.echoes.news(self.waiting)
            if again := due(looked.facts):  # what waits has no answer yet, and is read once more
                return Rest(max(0.0, (again - self._served.clock.now()).total_seconds()))
            self._served.talk.rested()
            return Rest(None)
        return Rest(self.echoes.wait(self.waiting))
