"""One repository that is served: where it is, what looks at it, and who takes turns in it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from bot import keys, tasks
from bot.clock import Clock, Offload
from bot.forges.port import Forge, PullRequest, Repository
from bot.git.port import Mirror
from bot.look.assemble import Looker
from bot.look.states import Head
from bot.loop.echoes import Echoes
from bot.loop.merged import MergedList
from bot.loop.recent import Recent
from bot.perform import Performer
from bot.store.values import Adoption
from lifecycle.identity import RepositoryId

PUBLISHING_WAIT = 1.0
"""Most seconds that a sweep lets publishing go first: people wait for a tag, nobody for a sweep."""

MOST_BRANCHES = 2_000
"""Pull requests of a repository whose head branch is remembered."""


@dataclass(slots=True)
class ServedRepository:
    """Everything about one repository.

    Attributes:
        repository: As the forge names it now.
        adoption: What it was when the bot first saw it.
        forge: Its forge.
        mirror: Its mirror.
        looker: Reads facts.
        performer: Carries out actions.
        merged: Its merged proposals.
        clock: For waiting, and for how old things are.
        offload: Where its mirror is read.
        echoes: What was done last.
    """

    repository: Repository
    adoption: Adoption
    forge: Forge
    mirror: Mirror
    looker: Looker
    performer: Performer
    merged: MergedList
    clock: Clock
    offload: Offload
    echoes: Echoes = field(default_factory=Echoes)
    # Looks at one head take turns in this process: the second would only do what the first does.
    _locks: WeakValueDictionary[Head, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    _publishing: set[str] = field(default_factory=set)
    _calm: asyncio.Event = field(default_factory=asyncio.Event)
    _branches: Recent[int, keys.ProposalKey] = field(default_factory=lambda: Recent(MOST_BRANCHES))

    @property
    def id(self) -> RepositoryId:
        """Which repository."""
        return self.repository.id

    def lock(self, head: Head) -> asyncio.Lock:
        """Held during a look at a head."""
        return self._locks.setdefault(head, asyncio.Lock())

    @contextmanager
    def publishes(self, branch: str) -> Iterator[None]:
        """Publishing on a base branch goes on inside the block."""
        self._publishing.add(branch)
        self._calm.clear()
        try:
            yield
        finally:
            self._publishing.discard(branch)
            if not self._publishing:
                self._calm.set()

    async def calms(self) -> None:
        """Wait for publishing to end, but not for long."""
        if self._publishing:
            await tasks.wait_for(self._calm, PUBLISHING_WAIT, self.clock)

    async def branch_of(self, number: int) -> keys.ProposalKey:
        """The head branch of a pull request, which never changes."""
        key = self._branches.get(number)
        if key is None:
            key = self.key_of(await self.forge.proposal(number))
            self._branches.put(number, key)
        return key

    def key_of(self, pull: PullRequest) -> keys.ProposalKey:
        """The key of a pull request's head branch; a fork that is gone has number 0."""
        return keys.ProposalKey(self.id, pull.head_repository or 0, pull.head_ref)


def head_of(key: keys.ProposalKey) -> Head:
    """The head branch that a key names; without a repository when the fork is gone."""
    return Head(key.head_repository or None, key.branch)
