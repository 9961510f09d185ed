"""What was published of packages that others are made from: one rule for all who ask (ADR 78)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from bot.git.port import GitBusyError, History
from bot.look.tags import Tags
from bot.store.port import Store
from bot.store.values import Revision
from lifecycle.identity import RepositoryId


@dataclass(frozen=True, slots=True)
class PublishedTags:
    """Implements `bot.upstream.port.Published`: the index first, then records, then the baseline.

    Attributes:
        home: The repository.
        keys: Keys that records may be made with, newest first.
        used: Package to the numbers that were published, as the index knows them.
        baseline: As `Adoption.tags`.
    """

    home: RepositoryId
    keys: Sequence[bytes]
    used: Mapping[str, Mapping[int, Revision]]
    baseline: Mapping[str, str] | None

    def numbers(self, git: History, package: str) -> frozenset[int]:
        """The revisions that are tagged as they were published."""
        return self._tags(git).were_published(package)

    def replaced(self, git: History, package: str) -> frozenset[int]:
        """The revisions that were published, and whose tags name something else by now."""
        return self._tags(git).replaced(package)

    def _tags(self, git: History) -> Tags:
        return Tags(git, self.home, self.keys, self.used, self.baseline)


class IndexedPublications:
    """Implements `bot.upstream.port.Publications`, by the index and what stood at adoption.

    Args:
        store: What each repository was when the bot came, and the index of what was published.
        keys: Each forge's keys that records may be made with, newest first.
    """

    def __init__(self, store: Store, keys: Mapping[str, Sequence[bytes]]) -> None:
        self._store = store
        self._keys = keys

    async def of(self, home: RepositoryId, packages: Collection[str]) -> PublishedTags:
        """What was published of some packages of a repository that is served.

        Raises:
            GitBusyError: What its tags named when the bot came is not completed yet (ADR 78).
        """
        found = await self._store.repositories.baseline(home, packages)
        if found is not None and found.names_only:
            raise GitBusyError("what its tags named when porchbot came is still to be read")
        used = await self._store.revisions.revisions(home, packages)
        baseline = None if found is None else found.tags
        return PublishedTags(home, self._keys.get(home.forge, ()), used, baseline)
