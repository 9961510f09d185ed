"""Finds other open proposals that a look must know: of the same commit or the same packages."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from bot.clock import Clock
from bot.forges.port import Forge, ListedProposal
from bot.keys import ProposalKey
from bot.look.states import HeadBranch, HeadState, KnownOfCommit
from bot.store.port import LookProposals
from lifecycle.facts.commits import MOST_SHARED
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha

LookAlone = Callable[[Mapping[HeadBranch, KnownOfCommit]], Awaitable[list[Facts]]]
"""Reads the facts of other head branches, each without those that share its commit."""

Wake = Callable[[Collection[ProposalKey]], Awaitable[None]]
"""Wakes head branches for which something is news."""


async def nobody(keys: Collection[ProposalKey]) -> None:
    """Wake none: a look that writes nothing has the index know nothing."""
    del keys


@dataclass(frozen=True, slots=True)
class Reading:
    """What a look read of the open proposals of one head branch.

    Attributes:
        commit: Their head.
        began: When that began, by the monotonic clock.
        facts: What was read, without what shares the commit.
    """

    commit: Sha
    began: float
    facts: Facts


@dataclass(slots=True)
class SharedReadings:
    """What looks that go on read of proposals of one commit, so that each is not read for each.

    Attributes:
        since: By the monotonic clock; what began to be read after that serves the look that has it.
        before: The commit that its branch was last found to share; None for none.
        of: Number of a proposal to what was read of it last.
        used: The look that has it was told something that another one read.
    """

    since: float
    before: Sha | None = None
    of: dict[int, Reading] = field(default_factory=dict)
    used: bool = False

    def get(self, number: int, commit: Sha | None) -> Facts | None:
        """What will do for a proposal of a commit; None where it has to be read."""
        found = self.of.get(number)
        if found is None or found.commit != commit or found.began < self.since:
            return None
        self.used = True
        return found.facts

    def put(self, numbers: Iterable[int], reading: Reading) -> None:
        """Keep what was read of proposals."""
        self.of |= dict.fromkeys(numbers, reading)


class Overlaps:
    """Finds what the proposals of one repository share.

    Whom it is news for is woken as soon as the index knows: a look that breaks after that, or is
    none that says so, finds nothing new when it is done again.

    Args:
        repository_id: Which repository.
        forge: Its forge.
        proposals: The index of open proposals; the forge is the truth.
        clock: When something was read.
        wake: Wakes those for whom it is news.
    """

    def __init__(
        self,
        repository_id: RepositoryId,
        forge: Forge,
        proposals: LookProposals,
        clock: Clock,
        wake: Wake,
    ) -> None:
        self._wake = wake
        self._repository_id = repository_id
        self._forge = forge
        self._proposals = proposals
        self._clock = clock

    async def same_packages(self, proposals: Iterable[Proposal]) -> tuple[Proposal, ...]:
        """Name the other open proposals of the same packages, and wake those it is news for."""
        me, found = self._repository_id, []
        for p in proposals:
            packages = [] if p.place.closed else [t.package for t in p.content.touched]
            others = await self._proposals.keep_touching(
                me, p.place.number, p.place.base_ref, packages
            )
            await self._wake([ProposalKey(me, head, branch) for head, branch in others.news])
            touched = tuple(
                replace(t, also=others.also.get(t.package, ())) for t in p.content.touched
            )
            found.append(replace(p, content=replace(p.content, touched=touched)))
        return tuple(found)

    async def same_commit(
        self,
        head: HeadBranch,
        state: HeadState,
        look: LookAlone,
        kept: SharedReadings | None,
        fetched: float,
    ) -> tuple[Facts, ...] | None:
        """Open proposals of other head branches at the same commit; wakes those it is news for.

        A check belongs to a commit, so they pass or wait together. The index knows all that were
        looked at; before a merge turns the check green, the forge told of all (`at_head`). None
        where there are too many: what one look takes must not grow with what strangers open
        (ADR 21).

        Args:
            head: The branch that is looked at.
            state: What the forge told of it.
            look: Reads the others.
            kept: What other looks read of these; None to read all.
            fetched: By the monotonic clock; git is read as it was fetched after that.
        """
        me, commit = self._repository_id, state.open_head
        mine = [each.pull.number for each in state.relevant if each.pull.open]
        moved = kept is not None and kept.before not in {commit, None}
        if commit is None or not moved:
            at_head = state.at_head
        else:
            # Whoever shared a commit may share the next, and the index hears of that one by one.
            at_head = await self._forge.proposals_at(commit)
        sharing = await self._proposals.keep_open(
            me, head.repository or 0, head.ref, mine, commit or ""
        )
        here = {ProposalKey(me, head.repository or 0, head.ref)}
        if moved:
            # Whoever came along, and was not looked at here yet, is woken by its own push.
            here |= {_key(me, pull) for pull in at_head if pull.number not in sharing.now}
        await self._tell(sharing.news, here)
        numbers = set(sharing.now)
        if len(numbers) > MOST_SHARED:
            numbers = await self._still_open(numbers, commit, here)
        numbers |= {pull.number for pull in at_head if pull.open}
        numbers -= set(mine)
        unknown = numbers - {*sharing.now}
        if len(numbers) > MOST_SHARED:
            await self._keep(at_head, unknown, here)
            return None
        kept = SharedReadings(self._clock.monotonic()) if kept is None else kept
        known = {n: facts for n in numbers if (facts := kept.get(n, commit)) is not None}
        began = min(fetched, self._clock.monotonic())
        pulls: dict[HeadBranch, list[ListedProposal]] = {}
        for number in sorted(numbers - known.keys()):
            pull = await self._forge.proposal(number)
            if not pull.open or pull.head != commit:
                await self._drop(number, here)
                continue
            there = HeadBranch(pull.head_repository, pull.head_ref)
            pulls.setdefault(there, []).append(pull)
        told_of = {pull.number for each in pulls.values() for pull in each}
        await self._keep(at_head, unknown & told_of, here)
        required = {
            each.pull.base_ref: each.required
            for each in state.relevant
            if each.pull.open and not each.pull.draft
        }
        told = {
            there: KnownOfCommit(pulls=tuple(each), checks=state.checks, required=required)
            for there, each in pulls.items()
        }
        found = await look(told) if told else []
        for each, facts in zip(pulls.values(), found, strict=True):
            of = [pull.number for pull in each]
            known |= dict.fromkeys(of, facts)
            kept.put(of, Reading(Sha(commit or ""), began, facts))
        # Those of one branch were read together.
        once = {id(known[number]): known[number] for number in sorted(known)}
        return tuple(once.values())

    async def _keep(
        self,
        at_head: Iterable[ListedProposal],
        came: Collection[int],
        here: AbstractSet[ProposalKey],
    ) -> None:
        """Have the index know who came to a commit: no later look asks the forge for them.

        As their own looks would, which find nothing new then: who was left behind is told by this
        one. Of a crowd as many are kept as make one.
        """
        me = self._repository_id
        branches: dict[ProposalKey, list[ListedProposal]] = {}
        for pull in at_head:
            if pull.open:
                branches.setdefault(_key(me, pull), []).append(pull)
        new = [key for key, pulls in branches.items() if any(p.number in came for p in pulls)]
        for key in new[: MOST_SHARED + 1]:
            numbers, commit = [p.number for p in branches[key]], branches[key][0].head
            found = await self._proposals.keep_open(
                me, key.head_repository, key.branch, numbers, commit
            )
            await self._tell(found.news, here)

    async def _still_open(
        self, numbers: Iterable[int], head: Sha | None, here: AbstractSet[ProposalKey]
    ) -> set[int]:
        """LookProposals of the index that are open at a commit, by one list and not one by one."""
        found = {p.number for p in await self._forge.open_proposals() if p.head == head}
        for number in set(numbers) - found:
            await self._drop(number, here)
        return found

    async def _drop(self, number: int, here: AbstractSet[ProposalKey]) -> None:
        """Have the index forget one that is closed or elsewhere: its own look finds no change."""
        await self._tell(await self._proposals.drop_open(self._repository_id, number), here)

    async def _tell(
        self, news: Iterable[tuple[int, int, str]], here: AbstractSet[ProposalKey]
    ) -> None:
        """Wake those for whom something is news, but for those here."""
        me = self._repository_id
        await self._wake({ProposalKey(me, at, ref) for _, at, ref in news} - here)


def _key(repository_id: RepositoryId, pull: ListedProposal) -> ProposalKey:
    """The key of a proposal's head branch."""
    return ProposalKey(repository_id, pull.head_repository or 0, pull.head_ref)
