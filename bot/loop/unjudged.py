"""What waits for functions that could not be run: it is looked at again when they can be."""

from bot import keys
from bot.store.port import Store
from lifecycle.facts import Proposal, Stage

RUNNER_WAIT = 15.0
"""Seconds before functions that could not be run are tried again, doubled each time: runners come
back, and a hundred proposals must not use up the forge's rate limit meanwhile."""


class Unjudged:
    """Keys of what waits for functions that could not be run, and how often each was looked at.

    Args:
        store: Where they are woken.

    Attributes:
        returns: How often the runner came back.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tries: dict[str, int] = {}
        self.returns = 0

    def wait(self, key: keys.Key, longest: float) -> float:
        """Seconds until a key is looked at again unasked."""
        self._tries[str(key)] = tries = self._tries.get(str(key), -1) + 1
        return min(longest, RUNNER_WAIT * 2.0 ** min(tries, 10))

    def judged(self, key: keys.Key) -> None:
        """Nothing of a key waits any more."""
        self._tries.pop(str(key), None)

    async def runner_is_back(self) -> None:
        """Look at once at what a function could not be run on."""
        self.returns += 1
        waiting = tuple(self._tries)
        await self._store.queue.wake_all({keys.parse(name): {} for name in waiting})
        for name in waiting:
            self._tries.pop(name, None)


def is_unjudged(proposal: Proposal) -> bool:
    """A function could not be run on what may still be published; a runner heals by itself."""
    if proposal.stage in {Stage.PUBLISHED, Stage.CLOSED}:
        return False
    return any(verdict.broken for verdict in proposal.verdicts)
