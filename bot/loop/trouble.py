"""What people see while the bot cannot look at their proposal: one line in its check, said once."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import structlog

from bot import keys
from bot.clock import SYSTEM, Clock
from bot.forges.port import ForgeBusyError, ListedProposal
from bot.git.port import GitBusyError, MissingObjectError, ObjectTooLargeError
from bot.loop.repository import ServedRepository, head_of
from bot.loop.serving import Serving
from bot.store.port import Store
from lifecycle import checks
from lifecycle.facts.checks import PUBLISH

log = structlog.get_logger()

PASSING = (ForgeBusyError, GitBusyError, MissingObjectError)
"""What passes by itself: nobody is told of it."""

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
        super().__init__("; ".join(f"#{number}: {error}" for number, error in failed.items()))
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

    async def show(self, key: keys.Key, incident: str, error: Exception) -> None:
        """Say in the checks of the proposals that a key is about that it fails.

        Said once at each head; the next look that succeeds replaces it.
        """
        if isinstance(key, keys.OfApp):
            return
        served = await self._serving.of(key.repository)
        forge = served.forge
        said = str(error) if isinstance(error, ObjectTooLargeError) else ""
        told = []
        for pull in await self._pulls(served, key, error):
            runs = [r for r in await forge.checks(pull.head) if r.ours and r.name == PUBLISH]
            run = runs[0] if runs else None
            check = checks.trouble(pull.head, run, incident, self._clock.now(), said)
            if check is not None:
                await forge.set_check(check)
                told.append(pull.number)
        if told:
            log.info("shown to people", incident=incident, numbers=told)

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
                    numbers = [n for n, e in failed if not isinstance(e, PASSING)]
                return [await forge.proposal(number) for number in numbers]
            case keys.CommitKey() | keys.RepositoryKey():
                return ()
