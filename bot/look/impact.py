"""Tries a head out on packages that it does not touch: other rules, and upgrades to what it makes.

Rules:

1. Bounded in number and time, whatever is pushed how often: see the constants.
2. Packages of other repositories are tried and named where everybody can read these, and where
   this one is public or gives them its packages: their rules and functions see what is tried. Of
   the others there is a number alone: what an upgrade comes to would tell what is in them.
3. What was worked out is kept by trees and rules, so that a further push costs little.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Protocol

import structlog

from bot.clock import Clock, Offload
from bot.forges.port import ForgeBusyError, ForgeRefusedError, Repository
from bot.git.port import GitBusyError, GitRefusedError, Mirror, ObjectTooLargeError, Scope
from bot.look import impact_places as places
from bot.look import impact_plan as plans
from bot.look.assemble import Looker
from bot.look.impact_places import Opened, TrialSite, TrialSites
from bot.look.impact_plan import ImpactPlan, RulesTrial, UpgradeTrial
from bot.look.impact_variants import ALONE, OtherRepositories, VariantTrials
from bot.look.rendered import scratch
from bot.overtaken import unless_overtaken
from bot.render.port import DraftSides, Renderer
from bot.store.values import Adoption, ServedName, UpstreamUser
from bot.tasks import together
from lifecycle import impact, names
from lifecycle.facts.drafts import DraftKind, DraftRequest
from lifecycle.facts.impact import Impact, PackageImpact
from lifecycle.facts.verdicts import Verdict
from lifecycle.messages import impact as texts
from lifecycle.names import Sha
from lifecycle.policy import Policy
from lifecycle.upstreams.locations import locate

log = structlog.get_logger()

WAVE: Final = 15.0
"""Seconds until it is told how far it came."""

SECONDS: Final = 120.0
"""For one head; what is not tried by then is counted."""

TOGETHER: Final = 2
"""Packages that are tried at the same time: whoever pushes has workers left."""

MOST_AN_HOUR: Final = 30
"""Heads of one repository that are tried in an hour, whoever pushes how often: at most an hour of
the two workers, and mostly what is kept answers."""

MOST_AGAIN: Final = 20
"""Of these, where it is only the base that moved: new heads have the others."""

HOUR: Final = 3600.0

MOST_KEPT: Final = 10_000
"""Packages of which is kept what came of them: a kilobyte each where something did."""

FEW: Final = 100
"""Packages of other repositories that are tried before the rules are: most often that is all."""

_UNREADABLE: Final = (
    ForgeBusyError,
    ForgeRefusedError,
    GitBusyError,
    GitRefusedError,
    ObjectTooLargeError,
)
"""What keeps one other repository from being read."""


class UpstreamIndex(Protocol):
    """Tells which packages have which upstreams."""

    async def users(self, place: str) -> Sequence[UpstreamUser]:
        """Who says that its upstream is in a repository; as `bot.store.port.UpstreamUses`."""


@dataclass(frozen=True, slots=True)
class Other:
    """Another repository that packages are in.

    Attributes:
        looker: Looks at it.
        adoption: What it was when the bot first saw it.
    """

    looker: Looker
    adoption: Adoption


Others = Callable[[ServedName], Awaitable[Other | None]]
"""Gives another repository that everybody can read and that may have what is tried; else None."""


@dataclass(slots=True)
class Trial:
    """A head while it is tried.

    Attributes:
        plan: What is to be tried.
        impact: What came of it so far.
        until: By the monotonic clock, when no more is begun.
        waiting: What is left to try.
    """

    plan: ImpactPlan
    impact: Impact
    until: float
    waiting: deque[RulesTrial | UpgradeTrial] = field(default_factory=deque)


class ImpactReader:
    """Tries heads of one repository.

    Args:
        looker: Looks at it.
        users: Who uses packages of it.
        others: Other repositories.
        around: What rules for variants get from others, and which of them may be named.
    """

    def __init__(
        self,
        looker: Looker,
        users: UpstreamIndex,
        others: Others,
        around: OtherRepositories = ALONE,
    ) -> None:
        self._looker = looker
        self._users = users
        self._others = others
        self._renderer: Renderer = looker.renderer
        self._repository: Repository = looker.repository
        self._mirror: Mirror = looker.mirror
        self._clock: Clock = looker.clock
        self._offload: Offload = looker.offload
        self._begun: deque[float] = deque()
        self._kept: dict[tuple[object, ...], PackageImpact] = {}
        self._downstreams = TrialSites(others, looker.clock)
        self._variants = VariantTrials(around, looker.offload)

    def wait(self, *, again: bool = False) -> float | None:
        """Seconds until another head may be tried; None for now.

        Args:
            again: It was tried, and its base moved since.
        """
        now = self._clock.monotonic()
        while self._begun and self._begun[0] <= now - HOUR:
            self._begun.popleft()
        more = len(self._begun) - (MOST_AGAIN if again else MOST_AN_HOUR)
        return None if more < 0 else self._begun[more] + HOUR - now

    def forget(self) -> None:
        """Drop what is kept: somebody pressed Re-run."""
        self._kept.clear()
        self._downstreams.forget()
        self._variants.forget()

    async def begin(
        self, head: Sha, base_ref: str, adoption: Adoption, *, waited_for: bool = False
    ) -> Trial | None:
        """Find out what a head is to be tried on; None where there is nothing.

        Args:
            head: The commit; git has it.
            base_ref: The branch that it is to be merged into.
            adoption: What the repository was when the bot first saw it.
            waited_for: Something waits for it: that there is nothing to try is shown as well.
        """
        self._begun.append(self._clock.monotonic())  # to find out that there is nothing costs too
        return await self._looker.extended.fetched(
            lambda: self._begin(head, base_ref, adoption, waited_for)
        )

    async def _begin(
        self, head: Sha, base_ref: str, adoption: Adoption, waited_for: bool
    ) -> Trial | None:
        location = locate(self._repository.clone_url)
        with await self._offload(self._mirror.open) as git:
            reader = self._looker.reader(git, adoption)
            plan = await self._offload(plans.read, reader, head, base_ref)
            if plan is None:
                return None
            users: Sequence[UpstreamUser] = ()
            if plan.changed and location is not None:
                users = await self._users.users(str(location))
            here = self._repository.id
            made = await self._offload(plans.upgrades, git, here, plan, users)
            name = self._repository.full_name
            variants = await self._variants.tried(git, plan, name, self._tagged)
        if not (plan.rules or made.trials or waited_for) and variants.nothing:
            return None
        mine = [each for each in made.trials if each.user.repository.id == here]
        others = [each for each in made.trials if each.user.repository.id != here]
        seen = await self._downstreams.seen(each.user.repository for each in others)
        theirs = [each for each in others if each.user.repository in seen.readable]
        unseen = sum(each.user.repository in seen.closed for each in others)
        # What decides here is crowded out by nobody else; what is few is told soon.
        waiting: list[RulesTrial | UpgradeTrial] = []
        waiting += [*mine, *theirs[:FEW], *plan.rules, *theirs[FEW:]]
        rest = len(others) - len(theirs) - unseen
        more = max(0, len(waiting) - plans.MOST_TRIED)
        return Trial(
            plan=plan,
            impact=Impact(
                base_ref=base_ref,
                base=plan.base,
                rules=bool(plan.rules),
                upstreams=made.sources,
                total=len(waiting) - more,
                not_run=plan.not_run,
                allows=plan.allows,
                unseen=unseen,
                more=more + made.more + rest,
                elsewhere=len(theirs) + made.elsewhere + rest,
                ended=not waiting,
                variants=variants,
            ),
            until=self._clock.monotonic() + SECONDS,
            waiting=deque(waiting[: plans.MOST_TRIED]),
        )

    async def _tagged(self, packages: Collection[str]) -> Collection[str]:
        """The tags of some packages, by full name, as they are now."""
        scope = Scope(packages=frozenset(packages))
        await self._looker.fetcher.fetch(scope, self._clock.monotonic())
        with await self._offload(self._mirror.open) as git:
            folders = (names.tag_ref(each) if each else names.TAGS for each in packages)
            return await self._offload(git.refs, *folders)

    async def wave(self, trial: Trial) -> None:
        """Go on with a trial for a while; its impact has ended when nothing is left.

        Args:
            trial: It.
        """
        until = min(self._clock.monotonic() + WAVE, trial.until)
        plan = trial.plan
        with await self._offload(self._mirror.open) as git:
            here = TrialSite(git, plan.base, plan.now, "")
            known: dict[tuple[str, str], TrialSite | str] = {}
            async with Opened() as opened:

                async def lane() -> None:
                    while trial.waiting and self._clock.monotonic() < until:
                        each = trial.waiting.popleft()
                        where = await self._where(each, here, plan.base_ref, known, opened)
                        one = await self._one(trial, each, here, where)
                        trial.impact = impact.add(trial.impact, one)

                lanes = [lane() for _ in range(TOGETHER)]
                await unless_overtaken(together(lanes))
        if not trial.waiting or self._clock.monotonic() >= trial.until:
            trial.waiting.clear()
            trial.impact = impact.ended(trial.impact)

    async def _where(
        self,
        each: RulesTrial | UpgradeTrial,
        here: TrialSite,
        base_ref: str,
        known: dict[tuple[str, str], TrialSite | str],
        opened: Opened,
    ) -> TrialSite | str:
        """Where a package is; or why that cannot be read."""
        if isinstance(each, RulesTrial) or (
            (each.user.repository.id, each.user.branch) == (self._repository.id, base_ref)
        ):
            return here
        key = str(each.user.repository.id), each.user.branch
        async with opened.lock:
            if key not in known:
                known[key] = await self._other(each.user, opened)
        return known[key]

    async def _other(self, user: UpstreamUser, opened: Opened) -> TrialSite | str:
        try:
            other = await self._others(user.repository)
            if other is None:
                return texts.UNREADABLE
            looker, name = other.looker, other.looker.repository.full_name
            scope = Scope(frozenset({user.branch, looker.repository.default_branch}))
            await looker.fetcher.fetch(scope, self._clock.monotonic())

            async def read() -> TrialSite | str:
                git = await self._offload(looker.mirror.open)
                opened.histories.append(git)
                tip = git.ref(names.branch_ref(user.branch))
                reader = looker.reader(git, other.adoption)
                policy = reader.rules(tip, user.branch).policy if tip else None
                if tip is None or not isinstance(policy, Policy):
                    return texts.UNREADABLE
                return TrialSite(git, tip, policy, name)

            return await looker.extended.fetched(read)
        except _UNREADABLE as error:
            log.info("not tried there", repository=str(user.repository.id), reason=str(error))
            return texts.UNREADABLE

    async def _one(
        self, trial: Trial, each: RulesTrial | UpgradeTrial, here: TrialSite, where: TrialSite | str
    ) -> PackageImpact:
        place = places.unjudged(each, where, self._repository.id, trial.plan.base_ref)
        if isinstance(where, str):
            return replace(place, problem=where)
        try:
            async with asyncio.timeout(max(1.0, trial.until - self._clock.monotonic())) as time_is:
                if isinstance(each, RulesTrial):
                    return await self._by_rules(trial.plan, each, here)
                return await self._by_upgrade(trial.plan, each, place, here, where)
        except TimeoutError:
            if not time_is.expired():
                raise
            return replace(place, problem=texts.TOO_SLOW)
        except _UNREADABLE as error:
            log.info("a package was not tried", package=place.package, reason=str(error))
            return replace(place, problem=texts.UNREADABLE)

    async def _by_rules(self, plan: ImpactPlan, each: RulesTrial, here: TrialSite) -> PackageImpact:
        if plan.tried is None or texts.NOT_PUBLISHED in each.merges:
            return PackageImpact(package=each.package, merges=each.merges)
        key = (each.package, each.tree, *map(places.key_of, (plan.held, plan.tried)))
        known = self._kept.get(key)
        if known is None:
            render = partial(self._renderer.verdict, tried=True)
            before, after = [
                await render(here.git, each.package, each.tree, each.tree, policy)
                for policy in (plan.held, plan.tried)
            ]
            known = impact.by_rules(before, after, ())
            self._keep(key, known, before, after)
        return replace(known, merges=each.merges)

    async def _by_upgrade(
        self,
        plan: ImpactPlan,
        each: UpgradeTrial,
        place: PackageImpact,
        here: TrialSite,
        there: TrialSite,
    ) -> PackageImpact:
        """An upgrade worked out and thrown away, in the repository of the package."""
        package, git = place.package, there.git
        tree = await self._offload(git.package, there.tip, package)
        if not tree:
            return place  # it is gone by now
        if not each.before:
            return replace(place, problem=texts.NO_UPSTREAM)
        key = (
            place.repository,
            place.branch,
            package,
            tree,
            each.before,
            each.after,
            (plan.head, places.key_of(there.policy)),  # the head stands in the lock
        )
        known = self._kept.get(key)
        if known is not None:
            return known
        fetch = places.fetching(here.git, each, plan.head, self._offload)
        made = await self._renderer.drafted(
            git,
            DraftRequest(kind=DraftKind.UPGRADE, package=package),
            DraftSides(here=tree, ref=plan.head),
            fetch,
        )
        if made.problem:
            return replace(place, problem=made.problem)

        tried = await self._offload(scratch, git, there.tip, made.files)
        after_tree = await self._offload(git.package, tried, package)
        render = partial(self._renderer.verdict, tried=True)
        before = await render(git, package, tree, tree, there.policy)
        after = await render(git, package, after_tree, tree, there.policy)
        found = impact.by_upgrade(place, before, after, made.conflicts, made.more)
        self._keep(key, found, before, after)
        return found

    def _keep(self, key: tuple[object, ...], found: PackageImpact, *verdicts: Verdict) -> None:
        """Keep what follows from trees and rules alone: an image may mean something else soon."""
        if found.problem or any(f.moves for v in verdicts for f in v.versions.values()):
            return
        while len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = found
