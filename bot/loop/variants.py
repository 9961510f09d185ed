"""The keys of variants: the packages that rules want in a repository are made and kept in step.

The rules are those of the default branches: the repository's own, and those of the repositories
that it lists under `variants_from`. So nobody's rules write where nobody asked for them.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import structlog

from bot import keys
from bot.forges.port import ForgeBusyError, ForgeMissingError, Forges, ListedProposal
from bot.git.port import BRANCHES, GitBusyError, Scope, Signature
from bot.look import variant_rules
from bot.look.variant_rules import RuleBook
from bot.loop import variant_facts
from bot.loop.repository import ServedRepository
from bot.loop.serving import NotServedError, Serving
from bot.loop.variant_drafts import Task, VariantDrafts
from bot.store.port import Queue, Store
from bot.store.values import StoreError
from bot.upstream.port import FetchedUpstream, Upstreams
from cadlib.errors import PackageError
from lifecycle import names
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha
from lifecycle.policy import Policy
from lifecycle.upstreams.errors import UpstreamError
from lifecycle.upstreams.references import LATEST, RevisionReference
from lifecycle.variants import naming
from lifecycle.variants.actions import CreateDraft
from lifecycle.variants.decision import Decision, decide
from lifecycle.variants.facts import DraftFacts, VariantFacts
from lifecycle.variants.upstreams import UpstreamRevision
from lifecycle.variants.values import Variant

log = structlog.get_logger()

MOST_BEGUN: Final = 20
"""Drafts that one look begins: a forge counts what is created."""

PACE: Final = 60.0
"""Seconds until it goes on with the rest."""

MOST_PROBED: Final = 50
"""The newest drafts of a package that are asked for where their branches are gone."""

_UNKNOWN: Final = (ForgeBusyError, ForgeMissingError, GitBusyError, NotServedError)


async def tell(queue: Queue, served: ServedRepository) -> None:
    """Ask for a look at the variants of a repository, where it may have any.

    Where its rules cannot be read now, that look finds out: whoever tells has done its own work.
    """
    try:
        found = await _rules_of(served)
    except ForgeBusyError as error:
        log.info("rules not read", repository=served.repository.full_name, reason=str(error))
        await queue.wake(keys.VariantsKey(served.id))
        return
    if found is not None and (found[1].variants.files or found[1].variants.sources):
        await queue.wake(keys.VariantsKey(served.id))


async def _rules_of(served: ServedRepository) -> tuple[Sha, Policy] | None:
    """The same as `_own_rules`, once all that the rules extend was fetched."""
    return await served.looker.extended.fetched(lambda: served.offload(_own_rules, served))


def _own_rules(served: ServedRepository) -> tuple[Sha, Policy] | None:
    """The default branch and its rules; None where there are none, or the bot only observes."""
    default = served.repository.default_branch
    with served.mirror.open() as git:
        tip = git.ref(names.branch_ref(default))
        if tip is None:
            return None
        policy = served.looker.reader(git, served.adoption).rules(tip, default).policy
    return (tip, policy) if isinstance(policy, Policy) and not policy.observe else None


@dataclass(slots=True)
class _Look:
    """What one look at a repository knows.

    Attributes:
        served: The repository.
        tip: Its default branch.
        policy: The rules there.
        drafts: Makes drafts.
        pulls: Its open pull requests, by head branch.
        begun: Drafts that it has begun.
        failed: What went wrong with packages, none of which keeps another back.
    """

    served: ServedRepository
    tip: Sha
    policy: Policy
    drafts: VariantDrafts
    pulls: Mapping[str, ListedProposal]
    begun: int = 0
    failed: list[Exception] = field(default_factory=list)
    fetched: dict[tuple[str, str, str], FetchedUpstream] = field(default_factory=dict)


class VariantsHandler:
    """Handles the keys of variants.

    Args:
        serving: Finds repositories.
        forges: Whose App we are.
        store: The database.
    """

    def __init__(self, serving: Serving, forges: Forges, store: Store) -> None:
        self._serving = serving
        self._forges = forges
        self._store = store
        self._told: dict[RepositoryId, Sha] = {}

    async def handle(self, key: keys.VariantsKey) -> float | None:
        """Bring the packages that rules want in a repository to rest.

        Returns:
            Seconds after which to go on; None when nothing is left.

        Raises:
            Exception: What went wrong first with a package, once all others were looked at.
        """
        served = await self._serving.of(key.repository)
        upstreams = self._serving.upstreams
        await served.looker.fetcher.fetch(BRANCHES, served.clock.monotonic())
        found = await _rules_of(served)
        if found is None or upstreams is None or self._serving.observes:
            return None
        tip, policy = found
        own = await served.offload(_book, served, tip, policy)
        await self._wake_others(served, own, tip)
        books = [own, *await self._others(served, policy.variants.sources)]
        wanted, problems = variant_rules.together(books, served.repository.full_name)
        for problem in (*own.problems, *problems):
            log.warning("variant", repository=served.repository.full_name, problem=str(problem))
        if not wanted:
            return None
        me = await self._forges.identity()
        who = Signature(me.login, me.address)
        opened = await served.forge.open_proposals()
        look = _Look(
            served=served,
            tip=tip,
            policy=policy,
            drafts=VariantDrafts(served, self._store.queue, upstreams, who),
            pulls={p.head_ref: p for p in opened if p.head_repository == served.id.number},
        )
        for book, variant in wanted:
            await self._one(look, book, variant, upstreams)
            if look.begun >= MOST_BEGUN:
                return PACE
        for error in look.failed:
            raise error
        return None

    async def _others(self, served: ServedRepository, named: Sequence[str]) -> list[RuleBook]:
        """The rules of other repositories that may want packages here."""
        books = []
        for each in await self._store.repositories.named(served.id.forge, named):
            if each.id == served.id:
                continue
            try:
                other = await self._serving.of(each.id)
                branch = other.repository.default_branch
                scope = Scope(frozenset({branch}))
                await other.looker.fetcher.fetch(scope, served.clock.monotonic())
                found = await _rules_of(other)
            except _UNKNOWN as error:
                log.info("rules not read", repository=each.full_name, reason=str(error))
                continue
            if found is not None:
                books.append(await other.offload(_book, other, *found))
        return books

    async def _wake_others(self, served: ServedRepository, own: RuleBook, tip: Sha) -> None:
        """Ask for looks at the other repositories that our rules want packages in, once a tip.

        Two repositories whose rules reach each other would wake each other without end.
        """
        if self._told.get(served.id) == tip:
            return
        self._told[served.id] = tip
        reached = own.reaches - {served.repository.full_name.lower(), ""}
        for each in await self._store.repositories.named(served.id.forge, sorted(reached)):
            await self._store.queue.wake(keys.VariantsKey(each.id))

    # --- one package ---

    async def _one(
        self, look: _Look, book: RuleBook, variant: Variant, upstreams: Upstreams
    ) -> None:
        """Bring one package to rest; what cannot be done with it keeps no other back."""
        spec, served = variant.spec, look.served
        try:
            task, facts = await self._read(look, book, variant, upstreams)
            decided = decide(facts)
            if any(isinstance(each, CreateDraft) for each in decided.actions):
                facts = await self._with_closed(look, facts)
                decided = decide(facts)
            await self._perform(look, task, decided)
        except (PackageError, UpstreamError) as error:
            log.warning(
                "variant not made",
                repository=served.repository.full_name,
                package=spec.downstream.package,
                variant=variant.name,
                reason=str(error),
            )
        except Exception as error:
            rest = isinstance(error, ForgeBusyError) and error.after
            if rest or isinstance(error, StoreError):
                raise  # that would break for any of them
            log.exception("variant failed", package=spec.downstream.package, variant=variant.name)
            look.failed.append(error)

    async def _perform(self, look: _Look, task: Task, decided: Decision) -> None:
        for action in decided.actions:
            if not await look.drafts.perform(action, task):
                log.info("variant: not done", action=type(action).__name__, variant=decided.state)
                continue
            look.begun += isinstance(action, CreateDraft)

    async def _read(
        self, look: _Look, book: RuleBook, variant: Variant, upstreams: Upstreams
    ) -> tuple[Task, VariantFacts]:
        spec, served = variant.spec, look.served
        path = spec.downstream.package
        here = await served.offload(_here, served, look.tip, path)
        named = f"v{spec.upstream.revision}" if spec.upstream.revision > 0 else LATEST
        refs = dict.fromkeys([named, LATEST] if variant.follow else [named])
        source = book.full_name(spec.upstream.repo)
        fetched: dict[str, FetchedUpstream] = {}
        revisions: list[UpstreamRevision] = []
        missing: UpstreamError | None = None
        for ref in refs:
            try:
                one = await self._fetch(look, upstreams, source, spec.upstream.package, ref)
            except UpstreamError as error:
                missing = error
                continue
            found = variant_facts.revision(one)
            if found is not None:
                fetched[one.commit] = one
                revisions.append(found)
        if missing is not None:
            log.info("upstream of a variant", variant=variant.name, reason=str(missing))
        one_of = next(iter(fetched.values()), None)
        drafts, numbers = await self._drafts(look, path)
        objects = book.objects
        published = await served.offload(
            variant_facts.published, here, variant, objects, one_of, here.locked or 0
        )
        locked = variant_facts.locked(here, published)
        if revisions and locked and locked.number not in {each.number for each in revisions}:
            revisions.append(locked)
        facts = VariantFacts(
            variant=variant,
            revisions=tuple(revisions),
            published=published,
            present=here.present,
            drafts=drafts,
            held=here.held,
            sources=variant_facts.sources(variant, objects.values(variant.namespace)),
        )
        task = Task(
            variant=variant,
            file=f"{book.repository}:{variant.origin.path}",
            objects=objects,
            here=here,
            base_ref=served.repository.default_branch,
            policy=look.policy,
            fetched=fetched,
            numbers=numbers,
        )
        return task, facts

    async def _fetch(
        self, look: _Look, upstreams: Upstreams, source: str, package: str, ref: str
    ) -> FetchedUpstream:
        """An upstream, fetched once in a look."""
        known = look.fetched.get((source, package, ref))
        if known is None:
            known = await upstreams.fetch(
                RevisionReference(source, package, ref),
                into=look.served.repository,
                caller=None,
                policy=look.policy,
            )
            look.fetched[source, package, ref] = known
        return known

    async def _drafts(
        self, look: _Look, path: str
    ) -> tuple[tuple[DraftFacts, ...], dict[str, int]]:
        """The drafts of a package whose branches are there."""
        served, found, numbers = look.served, list[DraftFacts](), dict[str, int]()
        for branch, (tip, trail) in (await served.offload(_trails, served, look.tip, path)).items():
            pull = look.pulls.get(branch)
            if pull is None:
                pulls = await served.forge.proposals_of(branch)
                pull = max(pulls, key=lambda each: each.number, default=None)
            if pull is not None and pull.merged:
                continue
            if pull is not None and pull.open:
                numbers[branch] = pull.number
            found.append(variant_facts.draft(branch, tip, trail, pull))
        return tuple(found), numbers

    async def _with_closed(self, look: _Look, facts: VariantFacts) -> VariantFacts:
        """Facts with the drafts whose branches are gone: what a person closed stays closed."""
        served, path = look.served, facts.variant.spec.downstream.package
        used = {each.workspace for each in facts.drafts}
        drafts = list(facts.drafts)
        asked: dict[int, ListedProposal | None] = {}

        async def newest(number: int) -> ListedProposal | None:
            """The newest pull request of a workspace; None for none."""
            if number not in asked:
                branch = naming.draft_branch(path, f"{naming.WORKSPACE}{number}")
                pulls = await served.forge.proposals_of(branch)
                asked[number] = max(pulls, key=lambda each: each.number, default=None)
            return asked[number]

        last = await _last(naming.last_number(used), newest)
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
                trail = await served.offload(_trail, served, pull.head, look.tip)
                drafts.append(variant_facts.draft(branch, pull.head, trail, pull, gone=True))
        return replace(facts, drafts=tuple(drafts), workspaces=frozenset(used))


async def _last(known: int, newest: Callable[[int], Awaitable[ListedProposal | None]]) -> int:
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


def _book(served: ServedRepository, tip: Sha, policy: Policy) -> RuleBook:
    with served.mirror.open() as git:
        return variant_rules.read(git, tip, served.repository.full_name, policy.variants)


def _here(served: ServedRepository, tip: Sha, path: str) -> variant_facts.Here:
    with served.mirror.open() as git:
        return variant_facts.package(served.looker.reader(git, served.adoption), tip, path)


def _trails(
    served: ServedRepository, tip: Sha, path: str
) -> dict[str, tuple[Sha, variant_facts.Trail]]:
    with served.mirror.open() as git:
        reader = served.looker.reader(git, served.adoption)
        there = variant_facts.branches_of(git, path)
        return {branch: (at, variant_facts.trail(reader, at, tip)) for branch, at in there.items()}


def _trail(served: ServedRepository, at: Sha, tip: Sha) -> variant_facts.Trail:
    with served.mirror.open() as git:
        return variant_facts.trail(served.looker.reader(git, served.adoption), at, tip)
