"""What people see while the bot cannot look at their proposal: one line in its check, said once."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import structlog

from bot import keys
from bot.clock import SYSTEM, Clock
from bot.forges.budget import RequestPurpose, asking
from bot.forges.port import ForgeBusyError, ForgeUnreadableError, ListedProposal
from bot.git.port import GitBusyError, ObjectTooLargeError
from bot.loop import branches
from bot.loop.repository import ServedRepository, head_of
from bot.loop.serving import Serving
from bot.store.port import Store
from lifecycle import checks, wording
from lifecycle.actions import SetCheck
from lifecycle.facts.checks import PUBLISH, CheckRun
from lifecycle.identity import RepositoryId
from lifecycle.kinds import Urgency
from lifecycle.names import Sha

log = structlog.get_logger()

PASSING = (ForgeBusyError, GitBusyError)
"""What passes by itself: nobody is told of it."""


def passes(error: Exception) -> bool:
    """Tell whether an error passes by itself; an answer that cannot be read may stay so."""
    return isinstance(error, PASSING) and not isinstance(error, ForgeUnreadableError)


WORTH_TELLING = 60.0
"""Seconds for which a look must be put off: what is shorter is over before somebody asks."""

TRIES = 1
"""Looks that must have failed before: a failure that the next look mends is not worth a word."""


def incident_of(key: keys.Key) -> str:
    """What people can name and the log holds: the same for each failure of one key."""
    return hashlib.sha256(str(key).encode()).hexdigest()[:10]


class SomeFailedError(Exception):
    """Some of several proposals failed; the others were done.

    Attributes:
        failed: Number to what went wrong.
    """

    def __init__(self, failed: Mapping[int, Exception]) -> None:
        super().__init__(
            "; ".join(f"proposal {number}: {error}" for number, error in failed.items())
        )
        self.failed = failed


class Trouble:
    """Shows people that the bot cannot look at their proposals.

    Args:
        serving: Finds their repositories.
        store: Who waits to be published.
        clock: When it was said.
    """

    def __init__(self, serving: Serving, store: Store, *, clock: Clock = SYSTEM) -> None:
        self._serving = serving
        self._store = store
        self._clock = clock
        self._told: dict[str, datetime] = {}

    async def show(self, key: keys.Key, incident: str, error: Exception) -> None:
        """Say in the checks of the proposals that a key is about that it fails.

        Said once at each head; the next look that succeeds replaces it.
        """
        said = str(error) if isinstance(error, ObjectTooLargeError) else ""
        now = self._clock.now()
        told = await self._tell(
            key, error, lambda head, run: checks.trouble(head, run, incident, now, said)
        )
        if told:
            log.info("shown to people", incident=incident, numbers=told)

    async def show_limit(self, key: keys.Key, error: ForgeBusyError) -> None:
        """Say in the checks of the proposals that the forge grants nothing more for a while.

        As urgent as an answer: what is left to that is less than what a look leaves. A limit that
        is used up further is shown to nobody, since nothing may be asked.
        """
        until = self._clock.now() + timedelta(seconds=error.after)
        if error.after < WORTH_TELLING or self._limited(key, until):
            return
        with asking(RequestPurpose(keys.place_of(str(key)), Urgency.FIRST, f"{key} told")):
            await self._tell(key, error, lambda head, run: checks.limited(head, run, until))

    def _limited(self, key: keys.Key, until: datetime) -> bool:
        """Whether it was told already; kept for as long as it is true."""
        now = self._clock.now()
        self._told = {k: t for k, t in self._told.items() if t > now}
        known = str(key) in self._told
        self._told.setdefault(str(key), until)
        return known

    async def _tell(
        self,
        key: keys.Key,
        error: Exception,
        shown: Callable[[Sha, CheckRun | None], SetCheck | None],
    ) -> list[int]:
        """Show something in the place of `porchbot/publish`; returns where that was done."""
        if isinstance(key, keys.OfApp):
            return []
        served = await self._serving.of(key.repository)
        if await self._observes(served):
            return []
        told = []
        for pull in await self._pulls(served, key, error):
            runs = [r for r in await served.forge.checks(pull.head) if r.ours and r.name == PUBLISH]
            check = shown(pull.head, runs[0] if runs else None)
            if check is not None and await self._may_make(key.repository, check):
                await served.forge.set_check(wording.check(check, served.forge.terms))
                told.append(pull.number)
        return told

    async def _observes(self, served: ServedRepository) -> bool:
        """Whether nothing is to be written: a check in progress would stop people's merges."""
        if self._serving.observes:
            return True
        branch = served.repository.default_branch
        try:
            return await served.offload(branches.observes, served.mirror, branch)
        except (GitBusyError, ObjectTooLargeError):
            return False  # that may be what is to be told

    async def _may_make(self, repository: RepositoryId, check: SetCheck) -> bool:
        """A new run is claimed first, as in `bot.perform`."""
        writes = check.writes
        return writes.makes_after is None or await self._store.claims.take(repository, writes.claim)

    async def _pulls(
        self, served: ServedRepository, key: keys.InRepository, error: Exception
    ) -> Sequence[ListedProposal]:
        """The proposals that a key is about; none for one that the operator is told of."""
        forge = served.forge
        match key:
            case keys.ProposalKey():
                return await served.open_of(head_of(key))
            case keys.PullKey(_, number):
                return (await forge.proposal(number),)
            case keys.BaseKey(repository, branch):
                numbers: Iterable[int] = await self._store.revisions.asked_publish(
                    repository, branch
                )
                if isinstance(error, SomeFailedError):
                    failed = error.failed.items()
                    numbers = [n for n, e in failed if not passes(e)]
                return [await forge.proposal(number) for number in numbers]
            case keys.CommitKey() | keys.GroupKey() | keys.RepositoryKey() | keys.DashboardKey():
                return ()
            case keys.VariantsKey() | keys.ImpactKey():
                return ()
