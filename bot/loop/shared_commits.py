"""Looks at proposals of one commit go one by one in a process.

Its checks are those of all of them: looks at the same time would write them by turns, and each
would read all others. Who comes second finds the checks written, and what the first one read.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from bot.look.sharing import Reading
from bot.look.states import HeadBranch
from bot.overtaken import LONG, LOOK
from bot.recent import Recent
from bot.tasks import end
from lifecycle.facts.commits import MOST_SHARED
from lifecycle.facts.head import Facts
from lifecycle.names import Sha

MOST_BRANCHES = 2_000
"""Head branches of a repository of which it is remembered that they share their commit."""


@dataclass(eq=False)
class SharedCommit:
    """What the looks at one commit have in common, while any of them waits or goes on.

    Attributes:
        lock: Held by the one that goes on.
        readings: Number of a proposal to what was read of it last.
        looks: How many wait or go on.
        reruns: Commits with deliveries of Re-run by which their checks were written anew: a branch
            may have moved on from the commit that somebody pressed it at.
    """

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    readings: dict[int, Reading] = field(default_factory=dict)
    looks: int = 0
    reruns: set[tuple[Sha | None, str]] = field(default_factory=set)


class SharedCommits:
    """Those of one repository; a shortcut, lost with the process."""

    def __init__(self) -> None:
        self._commit_of: Recent[HeadBranch, Sha] = Recent(MOST_BRANCHES)
        self._shared: WeakValueDictionary[Sha, SharedCommit] = WeakValueDictionary()

    def learn(self, head: HeadBranch, facts: Facts, shared: SharedCommit) -> None:
        """Remember whether a head branch shares its commit, as a look found that held it."""
        if facts.head is not None and (facts.others or facts.crowded):
            self._commit_of.put(head, facts.head)
            self._shared.setdefault(facts.head, shared)
        else:
            self._commit_of.drop(head)

    def commit_of(self, head: HeadBranch) -> Sha | None:
        """The commit that a head branch was last found to share; None for none."""
        return self._commit_of.get(head)

    @asynccontextmanager
    async def exclusive(self, head: HeadBranch) -> AsyncIterator[SharedCommit]:
        """Wait until no other look at the commit goes on, where a branch was found to share one.

        By the commit that it had: branches that share one and are pushed together share the next.
        """
        commit = self.commit_of(head)
        shared = (
            SharedCommit() if commit is None else self._shared.setdefault(commit, SharedCommit())
        )
        shared.looks += 1
        leaving = asyncio.create_task(_leave(shared)) if shared.lock.locked() else None
        try:
            async with shared.lock:
                if leaving is not None:
                    leaving.cancel()
                yield shared
        finally:
            shared.looks -= 1
            if leaving is not None:
                await end([leaving])


async def _leave(shared: SharedCommit) -> None:
    """Give the place of a look that waits to another one.

    At once, for one at the same commit may have it: of all that wait by then each proposal is read
    once. Of a crowd, which reads nobody, it is done where the wait takes long.
    """
    look = LOOK.get(None)
    if look is None:
        return
    if shared.looks > MOST_SHARED + 1:
        await look.clock.sleep(LONG)
    look.leave()
