"""Looks at one package of a variant: the rule, its upstream, the package and its drafts."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self

from bot.config import CONFIG
from bot.forges.port import ListedProposal, Repository
from bot.git.port import Scope
from bot.look.variant_rules import RuleBook
from bot.look.variant_trails import trail
from bot.loop import variant_facts
from bot.loop.repository import ServedRepository
from bot.loop.variant_books import Ruling
from bot.loop.variant_circles import Downstreams
from bot.loop.variant_drafts import VariantTask
from bot.loop.variant_upstreams import PublishedUpstreams, UpstreamCame
from bot.loop.variant_writers import RuleWriters
from bot.upstream.port import FetchedUpstream, Upstreams
from cadlib.errors import PackageError, Place
from lifecycle import names
from lifecycle.messages import upstreams as upstream_texts
from lifecycle.messages import variants as texts
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy, Policy
from lifecycle.upstreams.errors import UpstreamError, UpstreamFault
from lifecycle.upstreams.graph import Package
from lifecycle.upstreams.locations import locate
from lifecycle.upstreams.references import LATEST, RevisionReference
from lifecycle.variants import naming
from lifecycle.variants.carrying import DownstreamContext
from lifecycle.variants.facts import DraftFacts, VariantFacts
from lifecycle.variants.objects import KubeObjectIndex
from lifecycle.variants.trailer import Trail
from lifecycle.variants.upstreams import means_draft
from lifecycle.variants.values import Variant, VariantUpstream

MOST_PROBED: Final = 50
"""The newest drafts of a package that are asked for without an open pull request: those whose
branches are there, and as many where these are gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedDownstream:
    """A package that some rule wants, or wanted.

    Attributes:
        variant: The rule.
        file: Where that stands, for people.
        branch: The branch that the package is published from; "" for the default branch.
        book: The rules that it is one of; None where it is there no more.
    """

    variant: Variant
    file: str
    branch: str
    book: RuleBook | None

    @classmethod
    def of(cls, book: RuleBook, variant: Variant) -> Self:
        """A package that one of the rules of a repository wants."""
        file = f"{book.repository}:{variant.origin.path}"
        return cls(variant=variant, file=file, branch=book.branch(variant), book=book)


@dataclass(slots=True, kw_only=True)
class VariantPass:
    """What one look at all packages of a repository knows.

    Attributes:
        served: The repository.
        tip: Its default branch.
        policy: The rules there.
        upstreams: Where packages come from.
        pulls: Its open pull requests, by head branch.
        begun: Pull requests that were opened.
        failed: What went wrong with packages, none of which keeps another back.
        downstreams: What was made from which package.
        rulings: The repositories whose rules count, by full name.
        writers: Finds out who changed a rule.
        before: Branches that are read at a commit: of what is merged, its base right before.
        fetched: Upstreams that were fetched, by the branch whose rules allow them.
        homes: Where they are, likewise.
        published: The numbers of what was published from drafts that rules name, None for nothing:
            likewise.
        crowded: Packages to how many branches of drafts were left out, of which there are too many.
        passed_over: Packages to why newer tags of their upstream are not followed.
        new: Branches that nothing was ever proposed from, as the forge said; each counts once.
        records: Which revisions of upstreams were published.
    """

    served: ServedRepository
    tip: Sha
    policy: Policy
    upstreams: Upstreams
    pulls: dict[str, ListedProposal]
    downstreams: Downstreams
    records: PublishedUpstreams
    rulings: Mapping[str, Ruling] = field(default_factory=dict)
    writers: RuleWriters = field(default_factory=RuleWriters)
    before: Mapping[str, Sha] = field(default_factory=dict)
    begun: int = 0
    failed: list[Exception] = field(default_factory=list)
    fetched: dict[tuple[str, RevisionReference], FetchedUpstream] = field(default_factory=dict)
    homes: dict[tuple[str, RevisionReference], Repository] = field(default_factory=dict)
    published: dict[tuple[str, RevisionReference], int | None] = field(default_factory=dict)
    crowded: dict[str, int] = field(default_factory=dict)
    passed_over: dict[str, str] = field(default_factory=dict)
    new: set[str] = field(default_factory=set)


class VariantLook:
    """Reads what is known of packages of variants.

    Args:
        going: What this look at the repository knows.
    """

    def __init__(self, going: VariantPass) -> None:
        self._pass = going
        self._served = going.served

    async def read(self, wanted: WantedDownstream) -> tuple[VariantTask, VariantFacts]:
        """Read one package.

        Raises:
            PackageError: It cannot be read.
        """
        variant, served = wanted.variant, self._served
        path = variant.spec.downstream.package
        base_ref, tip, policy = await self._base(wanted.branch)
        here = await served.offload(_here, served, tip, path)
        if wanted.book is not None and variant_facts.is_nobodys(here):
            fetcher, scope = served.looker.fetcher, Scope(packages=frozenset({path}))
            await fetcher.fetch(scope, served.clock.monotonic())
            here = replace(here, workspace=await served.offload(_made_in, served, path))
        objects = KubeObjectIndex(()) if wanted.book is None else wanted.book.objects
        came = UpstreamCame()
        if wanted.book is not None:
            came = await self._upstream(variant, wanted.book, base_ref, policy)
        one_of = next(iter(came.fetched.values()), None)
        drafts, numbers = await self._drafts(variant, tip)
        published = await served.offload(
            lambda: variant_facts.published(
                here, variant, objects, one_of, here.locked or 0, removed=wanted.book is None
            )
        )
        revisions = list(came.revisions)
        locked = variant_facts.locked(here, published)
        if revisions and locked and locked.number not in {each.number for each in revisions}:
            revisions.append(locked)
        facts = VariantFacts(
            variant=variant,
            removed=wanted.book is None,
            revisions=tuple(revisions),
            missing=came.missing,
            published=published,
            present=here.present,
            drafts=drafts,
            held=here.held,
            sources=variant_facts.sources(variant, objects.values(variant.namespace)),
        )
        around = DownstreamContext(
            variant=variant,
            file=wanted.file,
            base_ref=base_ref,
            tip=here.tip,
            numbers=numbers,
        )
        return VariantTask(
            around=around, objects=objects, here=here, policy=policy, fetched=came.fetched
        ), facts

    async def _base(self, branch: str) -> tuple[str, Sha, Policy]:
        """The branch that a package is published from, where it is, and its rules.

        Raises:
            PackageError: Nothing is published from there, or its rules cannot be read.
        """
        served, policy = self._served, self._pass.policy
        default = served.repository.default_branch
        if branch in ("", default):
            return default, self._pass.tip, policy
        at = self._pass.before.get(branch)
        tip, rules = await served.offload(_rules, served, branch, at)
        if branch not in policy.branches or tip is None or not isinstance(rules, Policy):
            raise PackageError(Place(CONFIG), *texts.not_published_from(branch))
        return branch, tip, rules

    async def _upstream(
        self, variant: Variant, book: RuleBook, base_ref: str, policy: Policy
    ) -> UpstreamCame:
        """The revisions of its upstream that a rule may mean, or why there are none."""
        spec, came = variant.spec.upstream, UpstreamCame()
        source = book.full_name(spec.repo)
        try:
            named = await self._named(spec, source, base_ref, policy)
            for each in dict.fromkeys([named, LATEST] if variant.follow else [named]):
                wanted = RevisionReference(source, spec.package, each)
                if each == LATEST:
                    one = await self._published(variant, wanted, base_ref, policy)
                else:
                    one = await self._fetch(wanted, base_ref, policy)
                workspace = spec.workspace if each == named and means_draft(spec) else ""
                revision = variant_facts.revision(one, workspace)
                if revision is not None and one.commit not in came.fetched:
                    came.fetched[one.commit] = one
                    came.revisions.append(revision)
        except UpstreamError as error:
            came.missing = str(error)
        return came

    async def _published(
        self, variant: Variant, wanted: RevisionReference, base_ref: str, policy: Policy
    ) -> FetchedUpstream:
        """The newest revision of an upstream that was published there; tags of others stop nobody.

        Raises:
            UpstreamError: There is none, or all were tagged by somebody; or nobody can tell.
        """
        key, package = (base_ref, wanted), variant.spec.upstream.package
        if key not in self._pass.homes:
            self._pass.homes[key] = await self._pass.upstreams.home(
                wanted, into=self._served.repository, policy=policy
            )
        found = await self._pass.records.newest(self._pass.homes[key], package)
        if why := found.why(wanted):
            self._pass.passed_over[variant.spec.downstream.package] = why
        ref = f"v{found.to_follow(wanted)}"
        return found.judged(await self._fetch(replace(wanted, ref=ref), base_ref, policy), wanted)

    async def _named(
        self, spec: VariantUpstream, source: str, base_ref: str, policy: Policy
    ) -> str:
        """The ref of the revision that a rule names; that of the newest where it names none.

        Raises:
            UpstreamError: Nothing was published from the draft that it names.
        """
        if spec.revision > 0:
            return f"v{spec.revision}"
        if not means_draft(spec):
            return LATEST
        wanted = RevisionReference(source, spec.package, spec.workspace)
        key = base_ref, wanted
        if key not in self._pass.published:
            self._pass.published[key] = await self._pass.upstreams.published_from(
                wanted, into=self._served.repository, policy=policy
            )
        number = self._pass.published[key]
        if number is None:
            raise UpstreamError(
                UpstreamFault.MISSING,
                *upstream_texts.no_draft(spec.workspace, f"{source}//{spec.package}"),
            )
        return f"v{number}"

    async def with_circle(self, facts: VariantFacts, wanted: WantedDownstream) -> VariantFacts:
        """Facts with the circle that making it would go on with."""
        spec, served = facts.variant.spec, self._served
        here = locate(served.repository.clone_url)
        name = "" if wanted.book is None else wanted.book.full_name(spec.upstream.repo)
        if here is None or not name:
            return facts
        upstream = Package(f"{here.host}/{name.lower()}", spec.upstream.package)
        downstream = Package(f"{here}", spec.downstream.package)
        found = await self._pass.downstreams.circle(downstream, upstream)
        return replace(facts, circle=tuple(map(str, found)))

    async def _fetch(
        self, wanted: RevisionReference, base_ref: str, policy: Policy
    ) -> FetchedUpstream:
        """An upstream as the rules of a branch allow it, fetched once in a look."""
        known = self._pass.fetched.get((base_ref, wanted))
        if known is None:
            known = await self._pass.upstreams.fetch(
                wanted, into=self._served.repository, caller=None, policy=policy
            )
            self._pass.fetched[base_ref, wanted] = known
        return known

    async def _drafts(
        self, variant: Variant, base: Sha
    ) -> tuple[tuple[DraftFacts, ...], Mapping[str, int]]:
        """The drafts of a package whose branches are there, and their open pull requests."""
        served, found, numbers = self._served, list[DraftFacts](), dict[str, int]()
        trails = await served.offload(_trails, served, base, variant)
        old = older(branch for branch in trails if branch not in self._pass.pulls)
        self._pass.crowded[variant.spec.downstream.package] = len(old)
        for branch, (tip, said) in trails.items():
            if branch in old:
                continue
            pull = self._pass.pulls.get(branch)
            if pull is None:
                pulls = await served.forge.proposals_of(branch)
                pull = max(pulls, key=lambda each: each.number, default=None)
            if pull is not None and pull.merged:
                continue
            if pull is not None and pull.open:
                numbers[branch] = pull.number
            found.append(variant_facts.draft(branch, tip, said, pull))
        return tuple(found), numbers

    async def with_closed(self, facts: VariantFacts) -> VariantFacts:
        """Facts with the drafts whose branches are gone: what a person closed stays closed."""
        served, path = self._served, facts.variant.spec.downstream.package
        used = {each.workspace for each in facts.drafts}
        drafts = list(facts.drafts)
        asked: dict[int, ListedProposal | None] = {}

        async def newest(number: int) -> ListedProposal | None:
            """The newest pull request of a workspace; None for none."""
            if number not in asked:
                branch = naming.draft_branch(path, f"{naming.WORKSPACE}{number}")
                new = branch in self._pass.new
                self._pass.new.discard(branch)
                pulls = () if new else await served.forge.proposals_of(branch)
                asked[number] = max(pulls, key=lambda each: each.number, default=None)
            return asked[number]

        last = await last_number(naming.last_number(used), newest)
        for number in range(max(1, last - MOST_PROBED + 1), last + 1):
            workspace = f"{naming.WORKSPACE}{number}"
            branch = naming.draft_branch(path, workspace)
            pull = None if workspace in used else await newest(number)
            used.add(workspace)
            if pull is None:
                continue
            if not pull.merged:
                with served.mirror.open() as git:
                    await served.looker.fetcher.fetch_head(git, pull)
                said = await served.offload(_trail, served, pull.head, self._pass.tip)
                drafts.append(variant_facts.draft(branch, pull.head, said, pull, gone=True))
        return replace(facts, drafts=tuple(drafts), workspaces=frozenset(used))


def older(branches: Iterable[str]) -> frozenset[str]:
    """The branches of drafts of a package but for the newest: anybody may push many."""
    newest = sorted(branches, key=lambda e: naming.last_number([e.rpartition("/")[2]]))
    return frozenset(newest[:-MOST_PROBED])


async def last_number(known: int, newest: Callable[[int], Awaitable[ListedProposal | None]]) -> int:
    """The last workspace that has or had a pull request; they are numbered without gaps."""
    step = 1
    while await newest(known + step):
        step *= 2
    there, free = known + step // 2, known + step
    while free - there > 1:
        middle = (there + free) // 2
        if await newest(middle):
            there = middle
        else:
            free = middle
    return there


def _here(served: ServedRepository, tip: Sha, path: str) -> variant_facts.Here:
    with served.mirror.open() as git:
        return variant_facts.package(served.looker.reader(git, served.adoption), tip, path)


def _made_in(served: ServedRepository, path: str) -> str:
    with served.mirror.open() as git:
        return variant_facts.released_by_porch(git, path)


def _rules(
    served: ServedRepository, branch: str, at: Sha | None
) -> tuple[Sha | None, Policy | BrokenPolicy | None]:
    """Where a branch is, or was, and its rules there."""
    with served.mirror.open() as git:
        tip = at or git.ref(names.branch_ref(branch))
        if tip is None:
            return None, None
        return tip, served.looker.reader(git, served.adoption).rules(tip, branch).policy


def _trails(served: ServedRepository, tip: Sha, variant: Variant) -> dict[str, tuple[Sha, Trail]]:
    with served.mirror.open() as git:
        reader = served.looker.reader(git, served.adoption)
        path, adopts = variant.spec.downstream.package, variant.spec.adopts
        return variant_facts.drafts_of(reader, tip, path, ours=variant.name, adopts=adopts)


def _trail(served: ServedRepository, at: Sha, tip: Sha) -> Trail:
    with served.mirror.open() as git:
        return trail(served.looker.reader(git, served.adoption), at, tip)
