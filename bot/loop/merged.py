"""Which merged proposals of a base branch may still want something, however many there were.

The forge lists them last changed first. Those from before the moment up to which all were settled
need not be asked for again; without that moment they are asked for back to the installation.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from bot.forges.port import Forge, ListedProposal
from bot.store.port import Proposals
from lifecycle.identity import RepositoryId

OVERLAP = timedelta(minutes=10)
"""How much older than that moment one may be and still be listed: lists of forges are late."""


class MergedList:
    """Lists the merged proposals of one repository.

    Args:
        repository_id: Which repository.
        installed_at: When the App was installed; what was merged before is not ours to publish.
        forge: Its forge.
        proposals: Which are settled, and up to when all are.
    """

    def __init__(
        self,
        repository_id: RepositoryId,
        installed_at: datetime,
        forge: Forge,
        proposals: Proposals,
    ) -> None:
        self._repository_id = repository_id
        self._installed_at = installed_at
        self._forge = forge
        self._proposals = proposals

    async def waiting(self, base: str, asked: Collection[int]) -> list[ListedProposal]:
        """Merged proposals that are not settled, and those that are in line.

        Args:
            base: The base branch.
            asked: Numbers of those in line.
        """
        settled_until = await self._proposals.settled_until(self._repository_id, base)
        since = max(self._installed_at, (settled_until or self._installed_at) - OVERLAP)
        merged = await self._forge.merged_proposals(base, since)
        settled = await self._proposals.settled(
            self._repository_id, {p.number: True for p in merged}
        )
        # Since the installation, not since adoption: the date of the latter is lost with the
        # database, and a look tells by our records what was merged after the baseline.
        unsettled = {
            p.number: p.updated_at
            for p in merged
            if p.number not in settled and p.merged_at and p.merged_at >= self._installed_at
        }
        until = min(unsettled.values(), default=None) or max(
            (p.updated_at for p in merged), default=None
        )
        if until is not None and until != settled_until:
            await self._proposals.settle_until(self._repository_id, base, until)
        return [p for p in merged if p.number in unsettled or p.number in asked]
