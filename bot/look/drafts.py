"""Works out the drafts that somebody asks for, and how their branches stand.

What a request comes to is made from the branch as it is: nothing is left where that has it already.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from bot.clock import Clock, Offload
from bot.forges.port import Forge, Repository
from bot.git.port import BRANCHES, Scope
from bot.ledger_paths import LEDGER, package_ledger
from bot.look import draft_branches, rules
from bot.look.away import Away, AwayError
from bot.look.drafted_from import DraftUpstreams, Origin, of_variants
from bot.look.fetching import Fetcher
from bot.look.reader import MirrorReader
from bot.look.rendered import rendered, scratch
from bot.look.upgrades import as_fetched
from bot.render.port import DraftSides, Renderer
from bot.store.port import LookProposals
from bot.upstream.port import Upstreams
from cadlib.errors import PackageError
from cadlib.package.files import Entry, upwards
from lifecycle import names
from lifecycle.facts.commits import PushRefusal
from lifecycle.facts.drafts import ON_DRAFT, DraftKind, DraftRequest, DraftState
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.update import PackageMerge
from lifecycle.facts.upgrades import Upgrades
from lifecycle.facts.whole import Whole
from lifecycle.ledger import LedgerEntry, ListedState, ProposedState, held
from lifecycle.ledger_files import written
from lifecycle.messages import making as texts
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy, Policy

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What all packages of one request are made by.

    Attributes:
        reader: Reads git.
        policy: The rules of the repository.
        elsewhere: Where packages come from, for whoever asks.
        upgrades: Upgrades and their conflicts, as far as something is asked of them.
        base: The branch that they are published on.
        since: By the monotonic clock; what was fetched after that will do.
    """

    reader: MirrorReader
    policy: Policy
    elsewhere: DraftUpstreams
    upgrades: Upgrades
    base: Sha
    since: float


class Drafts:
    """Reads what the drafts come to that somebody asks for in one repository.

    Args:
        repository: Which one.
        forge: Where their pull requests are.
        fetcher: Fetches their branches.
        renderer: Makes and renders their files.
        proposals: Why pushes were refused.
        offload: Where git is read.
        upstreams: Where packages come from; None where they come from nowhere.
        clock: When upstreams that cannot be read are tried again.
    """

    def __init__(
        self,
        repository: Repository,
        forge: Forge,
        fetcher: Fetcher,
        renderer: Renderer,
        proposals: LookProposals,
        offload: Offload,
        upstreams: Upstreams | None,
        clock: Clock,
    ) -> None:
        self._repository = repository
        self._upstreams = upstreams
        self._forge = forge
        self._fetcher = fetcher
        self._renderer = renderer
        self._proposals = proposals
        self._offload = offload
        self._away = Away(clock)

    async def read(
        self,
        reader: MirrorReader,
        proposal: Proposal,
        head_ref: str,
        asked: Mapping[DraftRequest, datetime],
        since: float,
    ) -> dict[DraftRequest, DraftState]:
        """Work out what is asked for under a pull request, or on the dashboard issue.

        Args:
            reader: Reads git.
            proposal: Where it is asked for; `lookups.whole` is told.
            head_ref: Its head branch; "" for the dashboard issue.
            asked: What is asked for, and since when.
            since: By the monotonic clock; what was fetched after that will do.
        """
        found: dict[DraftRequest, DraftState] = {}
        whole = proposal.lookups.whole
        self._away.asked(proposal.place.number, asked)
        if whole is None:
            return found
        for request in self._away.room(proposal.place.number, asked):
            found[request] = await self._one(
                reader, proposal, whole, head_ref, request, asked[request], since
            )
        return found

    async def _one(
        self,
        reader: MirrorReader,
        proposal: Proposal,
        whole: Whole,
        head_ref: str,
        request: DraftRequest,
        asked_at: datetime,
        since: float,
    ) -> DraftState:
        place = proposal.place
        base_ref = (
            place.base_ref
            if request.on_draft
            else whole.branch_of(request.package, reader.default_branch)
        )
        branch = head_ref if request.on_draft else draft_branches.named(request, whole)
        nowhere = DraftState(
            request=request, base_ref=base_ref, there=ProposedState(branch=branch), start=Sha("")
        )
        if not base_ref:
            return _failed(nowhere, texts.unmanaged(request.package))
        for other in request.others:
            if whole.branch_of(other, reader.default_branch) != base_ref:
                return _failed(nowhere, texts.other_branch(request.package, other))
        around = () if request.on_draft else tuple(filter(None, upwards(branch.rpartition("/")[0])))
        await self._fetcher.fetch(Scope(frozenset({base_ref, branch, *around})), since)
        other = await self._offload(draft_branches.in_the_way, reader.git, branch, around)
        if other:
            return _failed(nowhere, texts.in_the_way(branch, other))
        base = await self._offload(reader.git.ref, names.branch_ref(base_ref))
        if base is None:
            return _failed(nowhere, texts.no_base(base_ref))
        there = await self._branch_state(reader, branch, base)
        on = there.tip if request.on_draft or there.number else base
        state = replace(nowhere, there=there, start=Sha(on))
        if not there.free and not there.number and not request.on_draft:
            return state  # it may not be written to, whatever that would be
        changes = request.kind in ON_DRAFT  # what is not there yet is begun, and once only
        if there.number and not changes:
            return state
        policy = whole.policy if isinstance(whole.policy, Policy) else Policy()
        by = _Asked(
            reader=reader,
            policy=policy,
            elsewhere=DraftUpstreams(self._upstreams, self._repository, request.asker, policy),
            upgrades=proposal.upgrades,
            base=base,
            since=since,
        )
        number = place.number
        if wait := self._away.waits(number, request):
            return replace(state, waits=wait)
        try:
            came = await self._together(by, state)
        except AwayError as error:
            wait = self._away.failed(number, request, asked_at)
            said, tries = str(error), wait.tries
            log.warning("upstream of a draft away", branch=branch, error=said, tries=tries)
            return replace(state, waits=wait)
        self._away.came(number, request)
        return came

    async def _together(self, by: _Asked, state: DraftState) -> DraftState:
        """The state with the files of all packages of the request; what one lacks, all lack."""
        whole, found = state.request, PackageMerge()
        came = list[DraftState]()
        for request in whole.alone:
            one = replace(state, request=request)
            try:
                one = await self._made(by, one)
            except PackageError as error:
                one = _failed(one, texts.problem(error))
            if problem := one.made.problem:
                named = texts.about(request.package, problem) if whole.others else problem
                return _failed(replace(one, request=whole), named)
            files = {**found.files, **one.made.files}
            conflicts = (*found.conflicts, *one.made.conflicts)
            more = found.more + one.made.more
            found = replace(one.made, files=files, conflicts=conflicts, more=more)
            came.append(one)
        versions = {each.version for each in came}
        state = replace(
            came[0],
            request=whole,
            made=found,
            version=came[0].version if len(versions) == 1 else "",
            beside=tuple((each.request.package, each.upstream) for each in came[1:]),
        )
        return replace(state, pushed=await self._offload(_has, by.reader, state))

    async def _branch_state(self, reader: MirrorReader, branch: str, base: Sha) -> ProposedState:
        me, ref = reader.repository_id, names.branch_ref(branch)
        tip, free, done = await self._offload(draft_branches.tip, reader, ref, base)
        pulls = await self._forge.proposals_of(branch) if tip else ()
        # What was forbidden at the tip, or at the base where there is no branch yet.
        refused = PushRefusal("")
        for at in (tip, base):
            if at and not refused.reason:
                refused = await self._proposals.push_refusal(me, ref, Sha(at)) or refused
        pull = next((p for p in pulls if draft_branches.proposes(p, me.number, branch)), None)
        return ProposedState(
            branch=branch,
            tip=tip,
            free=free,
            done=done,
            number=pull.number if pull else 0,
            ended=draft_branches.ended(pulls, me.number, branch, tip),
            title=pull.title if pull else "",
            refused=refused.reason,
            asked=refused.asked,
        )

    async def _made(self, by: _Asked, state: DraftState) -> DraftState:
        """The state with the files that the request comes to, rendered."""
        reader, git, request = by.reader, by.reader.git, state.request
        revision, version = "", ""
        listed = await self._offload(_ledger, reader, by.base, request)
        if isinstance(listed, str):
            return _failed(state, listed)
        if request.kind in (DraftKind.EDIT, DraftKind.ROLLBACK) and request.revision:
            version = f"v{request.revision}"
            await self._fetcher.learn(reader.tags, {request.package}, by.since)
            commit = await self._offload(reader.tags.commit, request.package, request.revision)
            revision = await self._offload(git.package, commit or "", request.package)
            if not revision:
                return _failed(state, texts.no_revision(request.package, request.revision))
            known = reader.tags.used.get(request.package, {}).get(request.revision)
            if known is not None and known.target != commit:
                return _failed(state, texts.tag_moved(request.package, request.revision))
        here = await self._offload(git.tree, state.start, request.package)
        origin = await by.elsewhere.origin(git, state.start, request)
        if request.kind is DraftKind.UPGRADE and not request.on_draft:
            there = await self._of_variant(by, request.package, origin.ref)
            if there:
                return _failed(state, texts.variant_upgrades(there, origin.version))
        if request.kind is DraftKind.RESOLVE:
            asked = by.upgrades.conflicts[request.revision - 1]
            inside = asked.upgrade.conflicts.index(asked.conflict) + 1
            request = replace(request, revision=inside, strategy=asked.upgrade.strategy)
            revision, origin = asked.upgrade.before, Origin(upstream=as_fetched(asked.upgrade))
        sides = DraftSides(
            here=here,
            revision=revision,
            upstream=origin.upstream,
            ref=origin.ref,
            context=request.package if by.policy.deployment else None,
            conflicts=by.policy.upstream_use.conflicts,
            allow=by.policy.allow,
        )
        made = await self._renderer.drafted(git, request, sides, by.elsewhere.fetch)
        made = replace(made, files={**made.files, **listed})
        state = replace(
            state,
            made=made,
            version=version or origin.version,
            ledger=next(iter(listed), ""),
            upstream=origin.location,
        )
        if made.problem:
            return state
        if made.files:
            files = await rendered(
                reader,
                self._renderer,
                self._offload,
                files=made.files,
                start=state.start,
                package=request.package,
                base=by.base,
                base_ref=state.base_ref,
            )
            state = replace(state, made=replace(made, files=files))
        pushed = await self._offload(_has, reader, state)
        return replace(state, pushed=pushed)

    async def _of_variant(self, by: _Asked, package: str, ref: str) -> str:
        """The branch of an open pull request by which a variant brings it to a ref; "" for none."""
        await self._fetcher.fetch(BRANCHES, by.since)
        repository = by.reader.repository_id.number
        for branch in await self._offload(of_variants, by.reader.git, package, ref):
            for pull in await self._forge.proposals_of(branch):
                if draft_branches.proposes(pull, repository, branch):
                    return branch
        return ""


def _failed(state: DraftState, problem: str) -> DraftState:
    return replace(state, made=PackageMerge(problem=problem))


def _ledger(
    reader: MirrorReader, base: Sha, request: DraftRequest
) -> dict[str, Entry | None] | str:
    """The changed file of the ledger, as it is on the base branch; or what is wrong."""
    package = request.package
    entries = rules.listed(reader.file, base, package)
    path = package_ledger(package) or LEDGER
    if isinstance(entries, BrokenPolicy):
        return texts.ledger_broken(path)
    hold = held(entries)
    moves = (DraftKind.UPGRADE, DraftKind.REBASE)
    if request.kind in moves and hold is not None:
        return texts.held(package, hold[0], hold[1].reason)
    if request.kind in (DraftKind.EDIT, DraftKind.ROLLBACK):
        there = entries.get(request.revision)
        if there is not None and there.state is ListedState.WITHDRAWN:
            return texts.withdrawn(package, request.revision, there.reason)
    if request.kind not in (DraftKind.ROLLBACK, DraftKind.RESUME):
        return {}
    if request.kind is DraftKind.RESUME and hold is None:
        return texts.not_held(package)
    # By hand, several may be held: what is left would hold the package all the same.
    holds = [number for number, each in entries.items() if each.state is ListedState.HELD]
    wanted: dict[int, LedgerEntry | None] = {n: None for n in holds if n != request.revision}
    if request.kind is DraftKind.ROLLBACK and request.revision not in holds:
        reason = request.reason or texts.NO_REASON
        wanted[request.revision] = LedgerEntry(ListedState.HELD, reason)
    if not wanted:
        return {}
    file = reader.file(base, path)
    if isinstance(file, BrokenPolicy):
        return texts.ledger_broken(path)
    data = written(file, package, wanted)
    return texts.ledger_broken(path) if data is None else {path: Entry(data)}


def _has(reader: MirrorReader, state: DraftState) -> bool:
    """Whether the branch has exactly what is wanted, in a commit of ours on the same one."""
    tip = state.there.tip
    if not tip or not reader.made_by_us(tip):
        return False
    commit = reader.git.commit(tip)
    if commit.parents[0] != state.start:
        return False
    return commit.tree == reader.git.commit(scratch(reader.git, state.start, state.made.files)).tree
