"""One repository that is served: where it is, what looks at it, and who takes turns in it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from bot import keys
from bot.clock import Clock, Offload
from bot.dashboard import Dashboard
from bot.forges.port import Forge, ListedProposal, Repository
from bot.freezes import Freezes
from bot.git.port import Mirror
from bot.look.assemble import Looker
from bot.look.dashboard import DashboardLooker
from bot.look.groups import GroupLooker
from bot.look.states import HeadBranch, of_head
from bot.loop.echoes import Echoes
from bot.loop.merged import MergedList
from bot.loop.shared_commits import SharedCommits
from bot.perform import Performer
from bot.recent import Recent
from bot.store.values import Adoption
from lifecycle.identity import RepositoryId

PUBLISHING_WAIT = 1.0
"""Seconds that a sweep is put off while packages are published."""

MOST_PUT_OFF = 15
"""How often in a row: a repository that is always publishing is swept as well."""

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
        groups: Reads what merge queues are about to merge.
        performer: Carries out actions.
        merged: Its merged proposals.
        dashboard: Its dashboard issue.
        talk: Reads what people say there.
        freezes: What is frozen in it.
        clock: For waiting, and for how old things are.
        offload: Where its mirror is read.
        echoes: What was done last.
        shared_commits: Commits that several proposals share: looks at them go one by one.
        asked: When the forge was asked last where it is, by the monotonic clock.
        unlabelled: Pull requests on which the forge refused our labels, and why: they do without
            while this process runs.
    """

    repository: Repository
    adoption: Adoption
    forge: Forge
    mirror: Mirror
    looker: Looker
    groups: GroupLooker
    performer: Performer
    merged: MergedList
    dashboard: Dashboard
    talk: DashboardLooker
    freezes: Freezes
    clock: Clock
    offload: Offload
    echoes: Echoes = field(init=False)
    asked: float = field(init=False)
    shared_commits: SharedCommits = field(default_factory=SharedCommits)
    unlabelled: Recent[int, str] = field(default_factory=lambda: Recent(MOST_BRANCHES))
    # Looks at one head take turns in this process: the second would only do what the first does.
    _locks: WeakValueDictionary[HeadBranch, asyncio.Lock] = field(
        default_factory=WeakValueDictionary
    )
    _publishing: set[str] = field(default_factory=set)
    _put_off: int = 0
    _branches: Recent[int, keys.ProposalKey] = field(default_factory=lambda: Recent(MOST_BRANCHES))

    def __post_init__(self) -> None:
        self.echoes = Echoes(self.clock)
        self.asked = self.clock.monotonic()

    @property
    def id(self) -> RepositoryId:
        """Which repository."""
        return self.repository.id

    def lock(self, head: HeadBranch) -> asyncio.Lock:
        """Held during a look at a head."""
        return self._locks.setdefault(head, asyncio.Lock())

    @contextmanager
    def publishes(self, branch: str) -> Iterator[None]:
        """Publishing on a base branch goes on inside the block."""
        self._publishing.add(branch)
        try:
            yield
        finally:
            self._publishing.discard(branch)

    def lets_publishing_go_first(self) -> bool:
        """Tell whether a sweep is to wait: people wait for a tag, nobody for a sweep."""
        self._put_off = self._put_off + 1 if self._publishing else 0
        if self._put_off > MOST_PUT_OFF:
            self._put_off = 0
        return self._put_off > 0

    async def open_of(self, head: HeadBranch) -> tuple[ListedProposal, ...]:
        """The open pull requests of a head branch."""
        if head.repository == self.id.number:
            return of_head(await self.forge.open_proposals_of(head.ref), head)
        return of_head(await self.forge.open_proposals(), head)

    async def branch_of(self, number: int) -> keys.ProposalKey:
        """The head branch of a pull request; it changes only where its fork is deleted.

        A look at the one that was remembered wakes the one that it has by then.
        """
        key = self._branches.get(number)
        if key is None:
            key = self.key_of(await self.forge.proposal(number))
            self._branches.put(number, key)
        return key

    def key_of(self, pull: ListedProposal) -> keys.ProposalKey:
        """The key of a pull request's head branch; a fork that is gone has number 0."""
        return keys.ProposalKey(self.id, pull.head_repository or 0, pull.head_ref)


def head_of(key: keys.ProposalKey) -> HeadBranch:
    """The head branch that a key names; without a repository when the fork is gone."""
    return HeadBranch(key.head_repository or None, key.branch)
