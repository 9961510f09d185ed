"""The keys of merge groups: what a merge queue is about to merge is rendered and validated."""

from collections.abc import Sequence

from bot import keys
from bot.look.groups import LookedGroup, NoGroup
from bot.look.states import HeadBranch
from bot.loop.echoes import Echoes
from bot.loop.repository import ServedRepository
from bot.loop.serving import Serving
from bot.loop.settle import Rest, Settling
from bot.outcomes import ActionOutcome, Report
from bot.store.hints import NOTHING, Hint
from lifecycle import groups
from lifecycle.actions import Action
from lifecycle.kinds import OF_PROPOSAL

AGAIN = 30.0
"""Seconds until a group is looked at again that waits for what nobody tells of."""


class GroupHandler:
    """Handles the keys of merge groups.

    Args:
        serving: Finds their repositories.
        settling: Brings them to rest.
    """

    def __init__(self, serving: Serving, settling: Settling) -> None:
        self._serving = serving
        self._settling = settling

    async def handle(self, key: keys.GroupKey, hint: Hint) -> float | None:
        """Bring a merge group to rest.

        Returns:
            Seconds after which to look again; None when it has settled.
        """
        served = await self._serving.of(key.repository)
        async with served.lock(HeadBranch(key.repository.number, key.branch)):
            return await self._settling.settle(GroupReconciler(served, key, hint))


class GroupReconciler:
    """One merge group while it is brought to rest.

    Args:
        served: Its repository.
        key: Its branch.
        hint: What woke it.
    """

    looks = OF_PROPOSAL

    def __init__(self, served: ServedRepository, key: keys.GroupKey, hint: Hint) -> None:
        self._served = served
        self._branch = key.branch
        self._rerun = bool(hint.rerun)
        self.hint = hint
        self.key = self.waiting = str(key)

    @property
    def echoes(self) -> Echoes:
        """What was done last in the repository."""
        return self._served.echoes

    async def look(self, since: float) -> LookedGroup | Rest:  # noqa: ARG002 - git is read after the queue
        """Read the group; what is none yet is looked at again where something says that it is one.

        An event, for some seconds: anybody can push a branch of such a name. The queue itself, for
        as long as it has the proposal.
        """
        looked = await self._served.groups.look(
            self._branch, self._served.adoption, rerun=self._rerun
        )
        if isinstance(looked, NoGroup):
            wait = self.echoes.wait(self.waiting) if self.hint.heads else None
            return Rest(AGAIN if wait is None and looked.queued else wait)
        if looked.doubtful and (wait := self.echoes.wait(self.waiting)) is not None:
            return Rest(wait)
        self._rerun = False
        return looked

    def decide(self, looked: LookedGroup) -> Sequence[Action]:
        """The checks that do not show yet what it comes to."""
        return groups.decide(looked.facts, looked.group)

    async def perform(
        self, actions: Sequence[Action], looked: LookedGroup, report: Report
    ) -> ActionOutcome | Rest:
        """Write the checks."""
        return await self._served.performer.perform(actions, looked.looked, report, NOTHING)

    async def rest(self, looked: LookedGroup) -> Rest:
        """Look again where time may change something."""
        self.echoes.news(self.waiting)
        return Rest(AGAIN if groups.waits(looked.group) else None)
