"""How revisions stand that somebody wants withdrawn or deprecated."""

from collections.abc import Sequence

from bot.clock import Offload
from bot.forges.port import Forge
from bot.git.port import Scope
from bot.ledger_paths import LEDGER, package_ledger
from bot.look import owners, rules, upstreams
from bot.look.draft_branches import ended, proposes
from bot.look.fetching import Fetcher
from bot.look.reader import Basis, MirrorReader
from bot.store.port import LookProposals
from lifecycle import names
from lifecycle.facts.commits import PushRefusal
from lifecycle.facts.drafts import tokens
from lifecycle.ledger import Entries, ProposedState, RemovalState, RevisionState, both
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy


class RevisionReader:
    """Reads how revisions of one repository stand.

    Args:
        forge: Where proposals are.
        fetcher: Fetches tags and branches.
        proposals: Why pushes were refused.
        offload: Where git is read.
    """

    def __init__(
        self, forge: Forge, fetcher: Fetcher, proposals: LookProposals, offload: Offload
    ) -> None:
        self._forge = forge
        self._fetcher = fetcher
        self._proposals = proposals
        self._offload = offload

    async def read(
        self,
        reader: MirrorReader,
        asked: Sequence[tuple[str, int]],
        base_ref: str,
        at: Sha,
        since: float,
    ) -> dict[tuple[str, int], RevisionState]:
        """Read how some revisions stand; nothing where there is no branch to list them on.

        Args:
            reader: Reads git.
            asked: Package and number of each.
            base_ref: Base branch of the pull request where they are named.
            at: The commit whose rules hold there.
            since: By the monotonic clock; what was fetched after that will do.
        """
        if not asked:
            return {}
        published = await self._offload(lambda: reader.rules(at, base_ref).published)
        on = base_ref if published else reader.default_branch
        await self._fetcher.learn(reader.tags, {package for package, _ in asked}, since)
        made = {branch for each in asked for branch in _branches(*each)}
        await self._fetcher.fetch(Scope(frozenset({on, *made})), since)
        tip = await self._offload(reader.git.ref, names.branch_ref(on))
        if tip is None:
            return {}
        others = await self._offload(reader.others, on, Basis(rules=tip, base=tip))
        bases = (tip, *others.values())
        found = {}
        for package, number in asked:
            proposed = [
                await self._proposed(reader, branch, bases) for branch in _branches(package, number)
            ]
            state = await self._offload(_state, reader, (package, number), on, tip, proposed)
            found[package, number] = state
        return found

    async def _proposed(
        self, reader: MirrorReader, branch: str, bases: Sequence[Sha]
    ) -> ProposedState:
        me, ref, base = reader.repository_id, names.branch_ref(branch), bases[0]
        tip, free, done = await self._offload(_tip, reader, ref, bases)
        pulls = await self._forge.proposals_of(branch) if tip else ()
        refused = await self._proposals.push_refusal(me, ref, base) or PushRefusal("")
        return ProposedState(
            branch=branch,
            tip=tip,
            free=free,
            done=done,
            number=next((p.number for p in pulls if proposes(p, me.number, branch)), 0),
            ended=ended(pulls, me.number, branch, tip),
            refused=refused.reason,
            asked=refused.asked,
        )


def packages(reader: MirrorReader, removed: Sequence[str], head: Sha) -> dict[str, RemovalState]:
    """Read what there is of packages that are to go with all their revisions.

    Args:
        reader: Reads git; its tags know the packages.
        removed: Their paths.
        head: The proposal's head.
    """
    found = {}
    for package in removed:
        path = package_ledger(package) or LEDGER
        file, entries = reader.file(head, path), rules.listed(reader.file, head, package)
        broken = isinstance(file, BrokenPolicy) or isinstance(entries, BrokenPolicy)
        found[package] = RemovalState(
            package=package,
            path=path,
            tags=reader.tags.objects(package),
            entries={} if isinstance(entries, BrokenPolicy) else entries,
            file=None if isinstance(file, BrokenPolicy) else file,
            broken=broken,
        )
    return found


def _branches(package: str, number: int) -> tuple[str, str]:
    return names.withdrawal_branch(package, number), names.deprecation_branch(package, number)


def _tip(reader: MirrorReader, ref: str, bases: Sequence[Sha]) -> tuple[str, bool, frozenset[str]]:
    """What a branch names, whether nothing of others is lost when it moves, and what we did there.

    Porch's branch of this name stands at the revision, which the base branch holds. A commit of
    ours may stand on somebody else's, as a rendering does: only on a base branch it is all there.
    """
    tip = reader.git.ref(ref)
    if tip is None:
        return "", True, frozenset()
    below, done = tip, frozenset[str]()
    if reader.made_by_us(tip):
        commit = reader.git.commit(tip)
        below, done = commit.parents[0], tokens(commit.message)
    return tip, any(reader.git.contains(base, below) for base in bases), done


def _state(
    reader: MirrorReader,
    revision: tuple[str, int],
    base_ref: str,
    base: Sha,
    proposed: Sequence[ProposedState],
) -> RevisionState:
    package, number = revision
    basis = Basis(rules=base, base=base)
    path = package_ledger(package) or LEDGER
    file, policy = reader.file(base, path), reader.rules(base, base_ref).policy
    on_base = upstreams.users_of(reader.git, base, reader.address, [revision])[revision]
    others = reader.others(base_ref, basis)
    elsewhere = upstreams.users_elsewhere(reader.git, others, reader.address, [revision])[revision]
    entries: Entries = {}
    broken = isinstance(file, BrokenPolicy)
    for at in reader.ledgers(base_ref, basis):
        there = rules.listed(reader.file, at, package)
        if isinstance(there, BrokenPolicy):
            broken = True
        else:
            entries = both(entries, there)
    tag, _ = reader.tags.standing(package, number)
    kptfile = f"{package}/Kptfile".lstrip("/")
    return RevisionState(
        package=package,
        revision=number,
        base_ref=base_ref,
        base=base,
        path=path,
        tag=tag,
        known=bool(tag) or number in reader.tags.used.get(package, {}),
        entry=entries.get(number),
        used_by=(*on_base, *elsewhere),
        file=None if isinstance(file, BrokenPolicy) else file,
        broken=broken,
        owned=owners.of(reader, base_ref, basis, policy, [package], (), [kptfile]).get(package, ()),
        withdraws=proposed[0],
        deprecates=proposed[1],
    )
