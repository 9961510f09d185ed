"""The keys of variants: the packages that rules want in a repository are made and kept in step.

The rules are those of the default branches: the repository's own, and those of the repositories
that it lists under `variants_from`. So nobody's rules write where nobody asked for them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from bot import keys
from bot.forges.port import ForgeBusyError
from bot.git.port import BRANCHES
from bot.look import variant_history, variant_rules
from bot.look.variant_history import FormerVariant
from bot.look.variant_rules import RepositoryObjects, RuleBook, Topics
from bot.loop import variant_waits
from bot.loop.repository import ServedRepository
from bot.loop.serving import Serving
from bot.loop.settle import Settling
from bot.loop.timed import sooner
from bot.loop.variant_books import Ruling, VariantBooks
from bot.loop.variant_circles import Downstreams
from bot.loop.variant_look import VariantPass, WantedDownstream
from bot.loop.variant_package import VariantReconciler
from bot.loop.variant_telling import rules_of
from bot.loop.variant_upstreams import ServedRecords
from bot.loop.variant_waits import VariantTelling
from bot.loop.variant_writers import RuleWriters
from bot.loop.work import LookAgain
from bot.recent import Recent
from bot.store.hints import BY_NEIGHBOUR, NOTHING, Hint
from bot.store.port import Store
from bot.store.values import StoreError
from cadlib.errors import PackageError
from lifecycle.identity import RepositoryId
from lifecycle.messages.variant_waits import TROUBLE
from lifecycle.names import Sha
from lifecycle.upstreams.errors import UpstreamError
from lifecycle.upstreams.locations import locate
from lifecycle.variants import naming
from lifecycle.variants.problems import Problem
from lifecycle.variants.values import Downstream

log = structlog.get_logger()

MOST_BEGUN: Final = 20
"""Drafts that one look begins: a forge counts what is created."""

PACE: Final = 60.0
"""Seconds until it goes on with the rest."""

EARLY: Final = 1.0
"""Seconds by which the queue's clock may be before ours in that time."""

MOST_REMEMBERED: Final = 1_000
"""Repositories of which it is remembered what their rules wanted before."""

WRITES_KEPT: Final = 30.0
"""Seconds for which a look goes by where a repository is, and which branch is its default one: by
the rules there drafts are pushed there. One look follows another while a set is made."""

Former = dict[Downstream, FormerVariant]
"""Places to the rules that wanted packages there before."""


@dataclass(frozen=True, slots=True)
class _Rules:
    """The rules of one repository, and what they wanted before; nothing where that is not known."""

    book: RuleBook
    former: Former = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Stop:
    """Where a look stopped.

    Attributes:
        place: The first package that it did not look at.
        until: When to go on there, by the monotonic clock: what comes earlier was woken.
    """

    place: Downstream
    until: float


_State = tuple[Sha, tuple[RepositoryObjects, ...], Topics]
"""What rules are read of: the commit, those of other repositories, and topics."""


class VariantsHandler:
    """Handles the keys of variants.

    Args:
        serving: Finds repositories.
        settling: Brings packages to rest.
        store: The database.
        books: Reads the rules.
    """

    def __init__(
        self, serving: Serving, settling: Settling, store: Store, books: VariantBooks
    ) -> None:
        self._serving = serving
        self._settling = settling
        self._store = store
        self._books = books
        self._writers = RuleWriters()
        self._told: Recent[RepositoryId, _State] = Recent(MOST_REMEMBERED)
        self._former: Recent[RepositoryId, tuple[Sha, Former]] = Recent(MOST_REMEMBERED)
        self._next: Recent[RepositoryId, _Stop] = Recent(MOST_REMEMBERED)

    async def handle(self, key: keys.VariantsKey, hint: Hint) -> float | LookAgain | None:
        """Bring the packages that rules want in a repository to rest, and those that they wanted.

        What was woken looks at all of them; one that goes on by itself goes on where it stopped,
        and looks at all of them in the end.

        Returns:
            Seconds after which to go on; None when nothing is left.

        Raises:
            Exception: What went wrong first with a package, once all others were looked at.
        """
        served = await self._serving.of(key.repository, kept=WRITES_KEPT)
        upstreams, began = self._serving.upstreams, served.clock.monotonic()
        await served.looker.fetcher.fetch(BRANCHES, served.clock.monotonic())
        found = await rules_of(served)
        telling = VariantTelling()
        if found is None or upstreams is None or self._serving.observes:
            return None
        tip, policy = found
        mine = Ruling(served, tip, policy)
        own = await self._rules(mine, served)
        await self._wake_others(served, own, tip)
        others = await self._books.others(served, policy.variants.sources)
        rules = [own, *[await self._rules(each, served) for each in others.there]]
        for each, those in zip(others.there, rules[1:], strict=True):
            await variant_waits.let_in(
                self._store, each.served, served.repository.full_name, those.book.kept_back
            )
        wanted, problems = self._wanted(served, rules, all_read=others.complete)
        telling.rules(problems)
        again = self._books.stale(mine, began)
        if not wanted:
            await variant_waits.keep(self._store, served, telling, whole=True)
            return again
        opened = await served.forge.open_proposals()
        going = VariantPass(
            served=served,
            tip=tip,
            policy=policy,
            upstreams=upstreams,
            pulls={p.head_ref: p for p in opened if p.head_repository == served.id.number},
            records=ServedRecords(self._serving),
            downstreams=Downstreams(self._store.upstreams, served.id.forge, _host(served)),
            rulings={each.served.repository.full_name: each for each in (mine, *others.there)},
            writers=self._writers,
        )
        left = self._left(served, wanted, hint)
        whole = len(left) == len(wanted)
        await _foresee(going, await served.offload(_new, going, left))
        try:
            while left and going.begun < MOST_BEGUN:
                again = sooner(again, await self._one(going, left[0], key, hint, telling))
                del left[0]
        except ForgeBusyError:
            await self._keep(served, telling, left, going, whole=False)
            raise
        await self._keep(served, telling, left, going, whole=whole and not left)
        if left or not whole:
            return LookAgain(PACE, hint)
        for error in going.failed:
            raise error
        return again

    def _left(
        self, served: ServedRepository, wanted: Sequence[WantedDownstream], hint: Hint
    ) -> list[WantedDownstream]:
        """The packages to look at: from where the last look stopped, unless something woke it."""
        stop = self._next.get(served.id)
        self._next.drop(served.id)
        if stop is None or hint != NOTHING or served.clock.monotonic() < stop.until:
            return list(wanted)
        places = [each.variant.spec.downstream for each in wanted]
        return list(wanted[places.index(stop.place) :] if stop.place in places else wanted)

    async def _keep(
        self,
        served: ServedRepository,
        telling: VariantTelling,
        left: Sequence[WantedDownstream],
        going: VariantPass,
        *,
        whole: bool,
    ) -> None:
        """Keep what people are to be told, with how much is left to do, and where to go on."""
        if left:
            until = served.clock.monotonic() + PACE - EARLY
            self._next.put(served.id, _Stop(left[0].variant.spec.downstream, until))
        telling.later(left, going.pulls)
        await variant_waits.keep(self._store, served, telling, whole=whole)

    def _wanted(
        self, served: ServedRepository, rules: Sequence[_Rules], *, all_read: bool
    ) -> tuple[list[WantedDownstream], list[Problem]]:
        """The packages of a repository that rules want, then those that they want no more.

        Those only while all rules are known that may want a package: what cannot be read may want
        it still, and it may have moved from one's to another's. What is wrong with rules comes
        beside them.
        """
        here = served.repository.full_name
        books = [each.book for each in rules]
        found, problems = variant_rules.together(books, here)
        wrong = [*books[0].problems, *problems]
        for problem in wrong:
            log.warning("variant", repository=here, problem=str(problem))
        wanted = [WantedDownstream.of(book, each) for book, each in found]
        if not all_read or not all(each.complete for each in books):
            return wanted, wrong
        still = {each.place(variant) for each in books for variant in each.variants}
        gone = [
            WantedDownstream(variant=was.variant, file=was.file, branch=was.branch, book=None)
            for each in rules
            for place, was in sorted(each.former.items(), key=lambda each: each[0])
            if place.repo == here.lower() and place not in still
        ]
        return wanted + gone, wrong

    async def _rules(self, ruling: Ruling, here: ServedRepository) -> _Rules:
        """The rules of a repository, and what they wanted before, for packages here."""
        served, tip = ruling.served, ruling.tip
        book = await self._books.allowed(await self._books.book(ruling), here)
        known = self._former.get(served.id)
        before: Former = {}
        if known is None or known[0] != tip:
            before = await served.offload(_before, served, tip, known[0] if known else "")
        still = {book.place(each) for each in book.variants}
        former = {**(known[1] if known else {}), **before}
        former = {place: each for place, each in former.items() if place not in still}
        self._former.put(served.id, (tip, former))
        return _Rules(book, former)

    async def _wake_others(self, served: ServedRepository, own: _Rules, tip: Sha) -> None:
        """Ask for looks at the other repositories that our rules want packages in, once a tip.

        Those too that they wanted any in before. Two repositories whose rules reach each other
        would wake each other without end.
        """
        state = tip, own.book.outside, own.book.topics
        if self._told.get(served.id) == state:
            return
        self._told.put(served.id, state)
        reached = own.book.reaches | {each.repo for each in own.former}
        reached -= {served.repository.full_name.lower(), ""}
        for each in await self._store.repositories.named(served.id.forge, sorted(reached)):
            await self._store.queue.wake(keys.VariantsKey(each.id), BY_NEIGHBOUR)
        wanted = own.book.reaches & reached
        await variant_waits.keep_shut(self._store, self._serving, served, wanted)

    async def _one(
        self,
        going: VariantPass,
        wanted: WantedDownstream,
        key: keys.VariantsKey,
        hint: Hint,
        telling: VariantTelling,
    ) -> float | None:
        """Bring one package to rest; what cannot be done with it keeps no other back."""
        package, variant = wanted.variant.spec.downstream.package, wanted.variant.name
        proposals = self._store.proposals
        try:
            one = VariantReconciler(going, wanted, proposals, str(key), hint)
            again = await self._settling.settle(one)
            telling.package(wanted, one)
            telling.crowded(wanted, going.crowded.get(package, 0))
            telling.passed_over(wanted, going.passed_over.get(package, ""))
            return again
        except (PackageError, UpstreamError) as error:
            log.warning(
                "variant not made",
                repository=going.served.repository.full_name,
                package=package,
                variant=variant,
                reason=str(error),
            )
            telling.failed(wanted, str(error))
        except Exception as error:
            rest = isinstance(error, ForgeBusyError) and error.after
            if rest or isinstance(error, StoreError):
                raise  # that would break for any of them
            log.exception("variant failed", package=package, variant=variant)
            going.failed.append(error)
            telling.failed(wanted, TROUBLE)
        return None


async def _foresee(going: VariantPass, packages: Sequence[str]) -> None:
    """Learn in one request each what a look at each of some new packages would ask for itself."""
    if len(packages) > 1:
        await going.served.looker.fetcher.foresee(packages)
        first = [naming.draft_branch(each, f"{naming.WORKSPACE}1") for each in packages]
        going.new |= await going.served.forge.unproposed(first)


def _new(going: VariantPass, wanted: Sequence[WantedDownstream]) -> list[str]:
    """The packages that are not there yet, nor in an open pull request; the first of them."""
    begun = {branch.rpartition("/")[0] for branch in going.pulls}
    found = list[str]()
    with going.served.mirror.open() as git:
        for each in wanted:
            path = each.variant.spec.downstream.package
            folder = naming.draft_branch(path, "").rstrip("/")
            if each.book is not None and folder not in begun and not git.package(going.tip, path):
                found.append(path)
                if len(found) == MOST_BEGUN:
                    break
    return found


def _host(served: ServedRepository) -> str:
    location = locate(served.repository.clone_url)
    return "" if location is None else location.host


def _before(served: ServedRepository, tip: Sha, after: str) -> Former:
    with served.mirror.open() as git:
        if after and not git.has(after):
            after = ""
        return variant_history.wanted_before(git, tip, after, served.repository.full_name)
