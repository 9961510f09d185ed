"""What the dashboard offers to roll back: packages whose newest revision should not be used.

That is so where it is deprecated itself, or where what it was made from is withdrawn or deprecated.
The revision to go back to is the newest one before it that neither concerns: what was published
before the bad one came in, as `porchbot rpkg rollback --to last-without` finds it.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

import structlog

from bot.forges.port import ForgeBusyError, ForgeRefusedError
from bot.git.port import GitBusyError, History, MissingObjectError
from bot.look import locks
from bot.look.marks import upstream_of
from bot.loop.repository import ServedRepository
from bot.store.port import Store
from bot.store.values import UpstreamUser
from bot.upstream.served import ServedUpstreams
from lifecycle import names
from lifecycle.facts.overview import ListedPackage
from lifecycle.ledger import ListedState
from lifecycle.messages.upstreams import listed_upstream
from lifecycle.names import Sha
from lifecycle.upstreams.graph import Upstream
from lifecycle.upstreams.locations import locate

log = structlog.get_logger()

MOST_ASKED: Final = 100
"""States of upstreams whose ledger is read for one dashboard."""

MOST_BACK: Final = 20
"""Revisions of a package that are read to find the one to go back to."""

_AWAY = (ForgeBusyError, ForgeRefusedError, GitBusyError)
_SPOKEN_AGAINST = frozenset({ListedState.WITHDRAWN, ListedState.DEPRECATED})


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
    bad = await _bad(served, around, list(made.values()))
    due = {p.package: made[p.package] for p in packages if _is_due(p, made.get(p.package), bad)}
    if not due and not any(p.revision in p.deprecated for p in packages):
        return tuple(packages)
    published: dict[str, dict[int, str]] = defaultdict(dict)
    async for package, number, revision in store.revisions.all_revisions(served.id):
        published[package][number] = revision.target
    return await served.offload(_offered, served, packages, due, bad, published)


def _made_from(uses: Sequence[UpstreamUser]) -> dict[str, Upstream]:
    by_package: dict[str, list[UpstreamUser]] = defaultdict(list)
    for each in uses:
        by_package[each.use.package].append(each)
    found = {p: upstream_of(each.use for each in some) for p, some in by_package.items()}
    return {package: upstream for package, upstream in found.items() if upstream is not None}


def _is_due(package: ListedPackage, made: Upstream | None, bad: Mapping[Upstream, str]) -> bool:
    here = not package.branch and not package.held and package.revision > 0
    return here and made is not None and _state(made) in bad


def _state(upstream: Upstream) -> Upstream:
    """Which state of it, wherever its tag is now."""
    return replace(upstream, commit="")


async def _bad(
    served: ServedRepository, around: ServedUpstreams, made: Sequence[Upstream]
) -> dict[Upstream, str]:
    """The states of upstreams that ledgers speak against, to why, for people."""
    states = sorted(
        {_state(each) for each in made if each.revision},
        key=lambda each: (each.package, each.revision or 0),
        reverse=True,
    )
    found: dict[Upstream, str] = {}
    for each in states[:MOST_ASKED]:
        try:
            why = await _why(served, around, each)
        except _AWAY as error:
            log.info("upstream not asked", place=each.package.place, error=str(error))
            continue
        if why:
            found[each] = why
    return found


async def _why(served: ServedRepository, around: ServedUpstreams, upstream: Upstream) -> str:
    location = locate(upstream.package.place)
    here = location is not None and location == locate(served.repository.clone_url)
    there = served.repository if here else await around.at(location) if location else None
    if there is None or not upstream.revision:
        return ""
    if not await around.may_read(there, served.repository, None):
        return ""
    path = upstream.package.path
    entry = await around.ledger_entry(there, path, upstream.revision)
    if entry is None or entry.state not in _SPOKEN_AGAINST:
        return ""
    name = names.shown(path, upstream.revision)
    return listed_upstream(name if here else f"{there.full_name}//{name}", entry.state)


def _offered(
    served: ServedRepository,
    packages: Sequence[ListedPackage],
    due: Mapping[str, Upstream],
    bad: Mapping[Upstream, str],
    published: Mapping[str, Mapping[int, str]],
) -> tuple[ListedPackage, ...]:
    with served.mirror.open() as git:
        return tuple(
            _with_back(git, each, due, bad, published.get(each.package, {})) for each in packages
        )


def _with_back(
    git: History,
    package: ListedPackage,
    due: Mapping[str, Upstream],
    bad: Mapping[Upstream, str],
    published: Mapping[int, str],
) -> ListedPackage:
    if package.branch or package.held:
        return package
    upstream = due.get(package.package)
    own = package.revision in package.deprecated
    if upstream is None and not own:
        return package
    usable = usable_before(package, published)[:MOST_BACK]
    back = next((n for n in usable if _is_good(git, published[n], package.package, bad)), 0)
    if not back:
        return package
    why = f"v{package.revision} is deprecated" if own else bad[_state(upstream)] if upstream else ""
    return replace(package, back=(back, why))


def usable_before(package: ListedPackage, published: Collection[int]) -> list[int]:
    """Return the revisions that a rollback may go to as far as the ledger tells, falling.

    Args:
        package: The package, at its newest revision in use.
        published: Numbers of its revisions that have a tag, withdrawn ones among them.
    """
    against = package.gone.union(package.deprecated)
    return sorted((n for n in published if n < package.revision and n not in against), reverse=True)


def _is_good(git: History, commit: str, package: str, bad: Collection[Upstream]) -> bool:
    """Whether nothing speaks against what a revision was made from; one that is gone is none."""
    if not git.has(commit):
        return False
    try:
        made = upstream_of(locks.of_package(git, Sha(commit), package))
    except MissingObjectError:
        return False
    return made is None or _state(made) not in bad
