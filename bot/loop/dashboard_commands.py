"""What people ask for on the dashboard issue: answered as under a pull request."""

from collections.abc import Sequence

import structlog

from bot import keys
from bot.forges.port import ForgeMissingError, ForgeRefusedError
from bot.look.assemble import Looked
from bot.loop.echoes import Echoes
from bot.loop.repository import ServedRepository
from bot.loop.serving import Serving
from bot.loop.settle import Rest, Settling
from bot.outcomes import ActionOutcome, Report
from bot.store.hints import NOTHING, Hint, Press
from lifecycle import dashboard
from lifecycle.actions import Action
from lifecycle.facts.drafts import MOST_DRAFTS
from lifecycle.kinds import OF_PROPOSAL

log = structlog.get_logger()

NEXT_BATCH = 2.0
"""Seconds until the next boxes are answered, where more were ticked than are answered at once."""


class DashboardCommands:
    """Answers on the dashboard issues.

    Args:
        serving: Finds their repositories.
        settling: Brings them to rest.
    """

    def __init__(self, serving: Serving, settling: Settling) -> None:
        self._serving = serving
        self._settling = settling

    async def handle(self, key: keys.DashboardKey, hint: Hint) -> float | None:
        """Answer what was asked since.

        Returns:
            Seconds after which to look again; None when everything is answered.
        """
        served = await self._serving.of(key.repository)
        if not served.repository.has_issues:
            return None
        waiting = await served.talk.waiting(tuple(sorted(map(Press.of, hint.pressed))))
        batch = waiting[:MOST_DRAFTS]
        after = await self._settling.settle(DashboardReconciler(served, key, hint, batch))
        # What else was ticked comes later, so that no other key waits for all of it.
        return NEXT_BATCH if after is None and len(waiting) > len(batch) else after


class DashboardReconciler:
    """One dashboard issue while its comments are answered.

    Args:
        served: Its repository.
        key: Its key.
        hint: What woke it.
        ticked: Boxes that were ticked and are answered now.
    """

    looks = OF_PROPOSAL

    def __init__(
        self,
        served: ServedRepository,
        key: keys.DashboardKey,
        hint: Hint,
        ticked: Sequence[Press] = (),
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
        looked = await self._served.talk.look(self._served.adoption, since, self._ticked)
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
            self._served.talk.rested()
            return Rest(None)
        return Rest(self.echoes.wait(self.waiting))
