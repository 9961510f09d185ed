"""An index for looks without a database: it answers like one that was lost, and keeps nothing."""

from collections.abc import Iterable, Mapping, Sequence

from bot.store.values import CLAIM, CLAIMS_KEPT, CommitSharers, MergeRefusal, Revision, Touching
from lifecycle.events import Log
from lifecycle.facts.commits import PushRefusal
from lifecycle.facts.conversation import Written
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha


class NoRevisions:
    """Implements `LookRevisions`."""

    async def queued(self, repository_id: RepositoryId, base: str, number: int) -> bool:
        """Nothing is in line."""
        del repository_id, base, number
        return False

    async def keep_revision(
        self, repository_id: RepositoryId, package: str, number: int, revision: Revision
    ) -> None:
        """Nothing is kept: tags and records tell it again."""

    async def revisions(
        self, repository_id: RepositoryId, packages: Iterable[str]
    ) -> dict[str, dict[int, Revision]]:
        """None is known beside tags and records."""
        del repository_id, packages
        return {}

    async def tips(self, repository_id: RepositoryId, base: str) -> tuple[Sha, ...]:
        """Nobody looked before."""
        del repository_id, base
        return ()


class NoProposals:
    """Implements `LookProposals`."""

    async def remembered(
        self, repository_id: RepositoryId, number: int
    ) -> tuple[Log, dict[int, Written]]:
        """Nothing: the comments tell."""
        del repository_id, number
        return frozenset(), {}

    async def settled(self, repository_id: RepositoryId, proposals: Mapping[int, bool]) -> set[int]:
        """None is known to want nothing."""
        del repository_id, proposals
        return set()

    async def refusal(
        self, repository_id: RepositoryId, number: int, head: str, base: str
    ) -> MergeRefusal | None:
        """The forge was asked for nothing."""
        del repository_id, number, head, base
        return None

    async def push_refusal(
        self, repository_id: RepositoryId, ref: str, sha: str
    ) -> PushRefusal | None:
        """Nothing was pushed."""
        del repository_id, ref, sha
        return None

    async def keep_open(
        self,
        repository_id: RepositoryId,
        head_repository: int,
        branch: str,
        numbers: Sequence[int],
        sha: str,
    ) -> CommitSharers:
        """Nobody is known to share it: the forge tells."""
        del repository_id, head_repository, branch, numbers, sha
        return CommitSharers((), frozenset())

    async def drop_open(
        self, repository_id: RepositoryId, number: int
    ) -> frozenset[tuple[int, int, str]]:
        """Nothing is kept."""
        del repository_id, number
        return frozenset()

    async def keep_touching(
        self, repository_id: RepositoryId, number: int, base: str, packages: Sequence[str]
    ) -> Touching:
        """Nobody is known to change the same packages."""
        del repository_id, number, base, packages
        return Touching({})


class NoDashboards:
    """Implements `DashboardNumbers`."""

    async def dashboard(self, repository_id: RepositoryId) -> int | None:
        """Nobody knows: it is found among the issues."""
        del repository_id
        return None

    async def keep_dashboard(self, repository_id: RepositoryId, number: int) -> None:
        """Nothing is kept."""


class NoClaims:
    """Implements `Claims`: nobody gets one, so that nothing is made."""

    async def take(self, repository_id: RepositoryId, place: str, seconds: float = CLAIM) -> bool:
        """Refuse it."""
        del repository_id, place, seconds
        return False

    async def have(self, repository_id: RepositoryId, place: str, holder: str) -> bool:
        """Refuse it."""
        del repository_id, place, holder
        return False

    async def holder(self, repository_id: RepositoryId, place: str) -> str:
        """Nobody."""
        del repository_id, place
        return ""

    async def hold(self, repository_id: RepositoryId, place: str) -> None:
        """There is none."""

    async def give_back(self, repository_id: RepositoryId, place: str) -> None:
        """There is none."""

    async def forget(self, seconds: float = CLAIMS_KEPT) -> None:
        """There is none."""


class NoIndex:
    """Implements `LookIndex`."""

    def __init__(self) -> None:
        self.revisions = NoRevisions()
        self.proposals = NoProposals()
