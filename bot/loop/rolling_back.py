"""What the dashboard offers to roll back: packages whose newest revision should not be used.

That is so where it is deprecated itself, or where what it was made from is withdrawn or deprecated.
The revision to go back to is the newest one before it that neither concerns: what was published
before the bad one came in, as `porchbot rpkg rollback --to last-without` finds it. What a revision
was made from is asked for like what the newest one was: each repository once, and not for long.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from bot.forges.port import ForgeBusyError, ForgeRefusedError, Repository
from bot.git.port import GitBusyError, History, MissingObjectError
from bot.look import locks
from bot.look.marks import upstream_of
from bot.loop.repository import ServedRepository
from bot.store.port import Store
from bot.store.values import UpstreamUser
from bot.upstream.served import ServedUpstreams
from lifecycle import names
from lifecycle.facts.overview import ListedPackage
from lifecycle.ledger import Entries, ListedState
from lifecycle.messages.upstreams import listed_upstream
from lifecycle.names import Sha
from lifecycle.upstreams.graph import Package, Upstream
from lifecycle.upstreams.locations import locate

log = structlog.get_logger()

MOST_ASKED: Final = 100
"""Packages of upstreams whose ledger is read for one dashboard, of the newest packages first."""

SECONDS: Final = 20.0
"""After which no more forges are asked: the issue waits for them."""

MOST_BACK: Final = 20
"""Revisions of a package that are read to find the one to go back to."""

_AWAY = (ForgeBusyError, ForgeRefusedError, GitBusyError)
_SPOKEN_AGAINST = frozenset({ListedState.WITHDRAWN, ListedState.DEPRECATED})

_State = tuple[Package, int]
"""A release of an upstream, however its tag is written and wherever it is now."""


@dataclass(frozen=True, slots=True)
class _Before:
    """A revision that a package may go back to.

    Attributes:
        number: Its number.
        made: The release that it was made from; None for nothing, or what is no release.
    """

    number: int
    made: _State | None


class _Ledgers:
    """What ledgers of upstreams say, read once for one dashboard.

    Args:
        served: The repository of the dashboard.
        around: The repositories that are served.
    """

    def __init__(self, served: ServedRepository, around: ServedUpstreams) -> None:
        self._served = served
        self._around = around
        self._until = served.clock.monotonic() + SECONDS
        self._there: dict[str, Repository | None] = {}
        self._known: dict[Package, Entries] = {}

    async def ask(self, states: Iterable[_State | None]) -> None:
        """Read what is said of these states, as far as there is time."""
        wanted = dict.fromkeys(each[0] for each in states if each)
        new = [each for each in wanted if each not in self._known]
        by_place: dict[str, list[str]] = defaultdict(list)
        for each in new[: max(0, MOST_ASKED - len(self._known))]:
            by_place[each.place].append(each.path)
        for place, paths in by_place.items():
            left = self._until - self._served.clock.monotonic()
            if left <= 0:
                log.warning("upstreams not asked: no time is left", place=place)
                return
            try:
                async with asyncio.timeout(left):
                    said = await self._of(place, paths)
            except (*_AWAY, TimeoutError) as error:
                log.info("upstream not asked", place=place, error=str(error))
                continue
            self._known |= {Package(place, path): said.get(path, {}) for path in paths}

    def against(self, state: _State | None) -> str:
        """Why a state should not be used, for people; "" where nothing is known against it."""
        entry = self._known.get(state[0], {}).get(state[1]) if state else None
        if state is None or entry is None or entry.state not in _SPOKEN_AGAINST:
            return ""
        there, name = self._there[state[0].place], names.shown(state[0].path, state[1])
        here = there is None or there.id == self._served.id
        return listed_upstream(
            name if here or there is None else f"{there.full_name}//{name}", entry.state
        )

    def is_good(self, state: _State | None) -> bool:
        """Whether a state was asked about, and nothing speaks against it."""
        return state is None or (state[0] in self._known and not self.against(state))

    async def _of(self, place: str, paths: Sequence[str]) -> Mapping[str, Entries]:
        """What the ledger of a repository says; nothing where this one may not be told of it."""
        if place not in self._there:
            location = locate(place)
            here = location is not None and location == locate(self._served.repository.clone_url)
            there = None
            if location is not None:
                there = self._served.repository if here else await self._around.at(location)
            to = self._served.repository
            if there is not None and not await self._around.may_read(there, to, None):
                there = None
            self._there[place] = there
        there = self._there[place]
        return {} if there is None else await self._around.ledger(there, paths)


async def offered(
    served: ServedRepository,
    store: Store,
    around: ServedUpstreams,
    packages: Sequence[ListedPackage],
) -> tuple[ListedPackage, ...]:
    """Return packages with the revision that a rollback of each would go to, where one is due.

    Only on the default branch, where a command without a branch goes. An upstream elsewhere is told
    of only where the dashboard may (`discovering`).

    Args:
        served: Their repository.
        store: The index.
        around: The repositories that are served.
        packages: All packages, as they are listed.
    """
    default = served.repository.default_branch
    uses = [u for u in await store.upstreams.uses(served.id) if u.branch == default]
    made = _made_from(uses)
    ledgers = _Ledgers(served, around)
    in_use = sorted(set(made.values()), key=_newest, reverse=True)
    await ledgers.ask(in_use)
    why = {p.package: _why(p, made.get(p.package), ledgers) for p in packages if _is_here(p)}
    due = [each for each in packages if why.get(each.package) and _is_here(each)]
    if not due:
        return tuple(packages)
    published: dict[str, dict[int, str]] = defaultdict(dict)
    async for package, number, revision in store.revisions.all_revisions(served.id):
        published[package][number] = revision.target
    before = await served.offload(_read, served, due, published)
    await ledgers.ask(each.made for some in before.values() for each in some)
    back = {
        package: next((each.number for each in some if ledgers.is_good(each.made)), 0)
        for package, some in before.items()
    }
    return tuple(
        replace(each, back=(back[each.package], why[each.package]))
        if _is_here(each) and back.get(each.package)
        else each
        for each in packages
    )


def _made_from(uses: Sequence[UpstreamUser]) -> dict[str, _State]:
    by_package: dict[str, list[UpstreamUser]] = defaultdict(list)
    for each in uses:
        by_package[each.use.package].append(each)
    found = {p: _state(upstream_of(u.use for u in some)) for p, some in by_package.items()}
    return {package: state for package, state in found.items() if state}


def _state(upstream: Upstream | None) -> _State | None:
    number = upstream.revision if upstream else None
    return (upstream.package, number) if upstream and number else None


def _newest(state: _State) -> tuple[int, Package]:
    return state[1], state[0]


def _is_here(package: ListedPackage) -> bool:
    return not package.branch and not package.held and package.revision > 0


def _why(package: ListedPackage, made: _State | None, ledgers: _Ledgers) -> str:
    """Why the newest revision of a package should not be used; "" where nothing is known."""
    if package.revision in package.deprecated:
        return f"v{package.revision} is deprecated"
    return ledgers.against(made)


def _read(
    served: ServedRepository,
    due: Sequence[ListedPackage],
    published: Mapping[str, Mapping[int, str]],
) -> dict[str, list[_Before]]:
    """The revisions that packages may go back to, falling, with what each was made from."""
    with served.mirror.open() as git:
        return {p.package: _before(git, p, published.get(p.package, {})) for p in due}


def _before(git: History, package: ListedPackage, published: Mapping[int, str]) -> list[_Before]:
    found = []
    for number in usable_before(package, published)[:MOST_BACK]:
        if not git.has(published[number]):
            continue
        try:
            uses = locks.of_package(git, Sha(published[number]), package.package)
        except MissingObjectError:
            continue
        found.append(_Before(number, _state(upstream_of(uses))))
    return found


def usable_before(package: ListedPackage, published: Collection[int]) -> list[int]:
    """Return the revisions that a rollback may go to as far as the ledger tells, falling.

    Args:
        package: The package, at its newest revision in use.
        published: Numbers of its revisions that have a tag, withdrawn ones among them.
    """
    against = package.gone.union(package.deprecated)
    return sorted((n for n in published if n < package.revision and n not in against), reverse=True)
