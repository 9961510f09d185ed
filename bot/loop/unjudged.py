"""What waits for functions that could not be run: it is looked at again when they can be."""

from bot import keys
from bot.loop.work import LONGEST
from bot.recent import Recent
from bot.store.hints import RUNNER, Hint
from bot.store.port import Store
from lifecycle.facts.proposal import Proposal, Stage

RUNNER_WAIT = 15.0
"""Seconds before functions that could not be run are tried again, doubled each time: runners come
back, and a hundred proposals must not use up the forge's rate limit meanwhile."""

MOST_UNJUDGED = 10_000
"""Keys that are woken when functions can be run again; others wait for their time."""


class Unjudged:
    """Keys of what waits for functions that could not be run, and how often each was looked at.

    Args:
        store: Where they are woken.

    Attributes:
        returns: How often the runner came back.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tries: Recent[str, int] = Recent(MOST_UNJUDGED)
        self.returns = 0

    def wait(self, key: keys.Key) -> float:
        """Seconds until a key is looked at again unasked."""
        tries = self._tries.get(str(key)) or 0
        self._tries.put(str(key), tries + 1)
        return min(LONGEST, RUNNER_WAIT * 2.0 ** min(tries, 10))

    def judged(self, key: keys.Key) -> None:
        """Nothing of a key waits any more."""
        self._tries.drop(str(key))

    async def runner_is_back(self) -> None:
        """Look at once at what a function could not be run on."""
        self.returns += 1
        waiting = self._tries.keys()
        hint = Hint(by=frozenset({RUNNER}))
        await self._store.queue.wake_all({keys.parse(name): hint for name in waiting})
        for name in waiting:
            self._tries.drop(name)


def is_unjudged(proposal: Proposal) -> bool:
    """A function could not be run on what may still be published; a runner heals by itself."""
    if proposal.stage in {Stage.PUBLISHED, Stage.CLOSED}:
        return False
    return any(verdict.broken for verdict in proposal.verdicts)
