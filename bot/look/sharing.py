"""Finds other open proposals that a look must know: of the same commit or the same packages."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from bot.forges.port import Forge
from bot.keys import ProposalKey
from bot.look.states import HeadBranch, HeadState
from bot.store.port import LookProposals
from lifecycle.facts.commits import MOST_SHARED
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha

LookAlone = Callable[[HeadBranch, int], Awaitable[Facts]]
"""Reads the facts of one proposal by its head branch and number, without those that share it."""


class Overlaps:
    """Finds what the proposals of one repository share.

    Args:
        repository_id: Which repository.
        forge: Its forge.
        proposals: The index of open proposals; the forge is the truth.
    """

    def __init__(self, repository_id: RepositoryId, forge: Forge, proposals: LookProposals) -> None:
        self._repository_id = repository_id
        self._forge = forge
        self._proposals = proposals

    async def same_packages(
        self, proposals: Iterable[Proposal]
    ) -> tuple[tuple[Proposal, ...], frozenset[ProposalKey]]:
        """Name the other open proposals of the same packages, and tell whom that is news for."""
        me, found, news = self._repository_id, [], set()
        for p in proposals:
            packages = [] if p.place.closed else [t.package for t in p.content.touched]
            others = await self._proposals.keep_touching(
                me, p.place.number, p.place.base_ref, packages
            )
            news |= {ProposalKey(me, head, branch) for head, branch in others.news}
            touched = tuple(
                replace(t, also=others.also.get(t.package, ())) for t in p.content.touched
            )
            found.append(replace(p, content=replace(p.content, touched=touched)))
        return tuple(found), frozenset(news)

    async def same_commit(
        self, head: HeadBranch, state: HeadState, look: LookAlone
    ) -> tuple[tuple[Facts, ...] | None, frozenset[ProposalKey]]:
        """Open proposals of other head branches at the same commit, and whom that is news for.

        A check belongs to a commit, so they pass or wait together. The index knows all that were
        looked at; before a merge turns the check green, the forge told of all (`at_head`). None
        where there are too many: what one look takes must not grow with what strangers open
        (ADR 21).
        """
        me, commit = self._repository_id, state.open_head
        mine = [each.pull.number for each in state.relevant if each.pull.open]
        sharing = await self._proposals.keep_open(
            me, head.repository or 0, head.ref, mine, commit or ""
        )
        news = frozenset(ProposalKey(me, at, ref) for _, at, ref in sharing.news)
        numbers = set(sharing.now)
        if len(numbers) > MOST_SHARED:
            numbers = await self._still_open(numbers, commit)
        numbers |= {pull.number for pull in state.at_head}
        numbers -= set(mine)
        if len(numbers) > MOST_SHARED:
            return None, news
        others = []
        for number in sorted(numbers):
            pull = await self._forge.proposal(number)
            if not pull.open or pull.head != commit:
                await self._proposals.drop_open(me, number)
                continue
            if number not in sharing.now:
                at, ref = pull.head_repository or 0, pull.head_ref
                await self._proposals.add_open(me, at, ref, number, pull.head)
            others.append(await look(HeadBranch(pull.head_repository, pull.head_ref), number))
        return tuple(others), news

    async def _still_open(self, numbers: Iterable[int], head: Sha | None) -> set[int]:
        """LookProposals of the index that are open at a commit, by one list and not one by one."""
        found = {p.number for p in await self._forge.open_proposals() if p.head == head}
        for number in set(numbers) - found:
            await self._proposals.drop_open(self._repository_id, number)
        return found
