"""What the dashboard tells of upstreams: which packages are behind, and which can be cloned.

It is told to all who may read the repository. So an upstream in another repository is told of only
where that is public, or gives its packages to this one without a person (`upstreams.share`).
"""

from collections.abc import Mapping, Sequence

import structlog

from bot import config
from bot.forges.port import ForgeBusyError, ForgeRefusedError, Repository
from bot.git.port import GitBusyError
from bot.loop.dry_merges import Behind, DryMerges
from bot.loop.repository import ServedRepository
from bot.store.port import Store
from bot.store.values import UpstreamUser
from bot.upstream.served import ServedUpstreams
from lifecycle import names
from lifecycle.facts.overview import ListedBehind, ListedUpstream
from lifecycle.policy import Policy
from lifecycle.upstreams import graph as graphs
from lifecycle.upstreams.graph import Graph, Package, Upstream
from lifecycle.upstreams.locations import locate
from lifecycle.upstreams.use import default_repository

log = structlog.get_logger()

MOST_UPSTREAMS = 20
"""Repositories that one dashboard asks for releases: each takes two requests or three."""

MOST_CLONEABLE = 200
"""Packages that are listed."""

_AWAY = (ForgeBusyError, ForgeRefusedError, GitBusyError)


async def behind(
    served: ServedRepository, store: Store, around: ServedUpstreams, merges: DryMerges
) -> tuple[tuple[ListedBehind, ...], float | None]:
    """Return the packages of a repository that are behind their upstream, by branch and package.

    Args:
        served: The repository.
        store: The index.
        around: The repositories that are served.
        merges: Works out what upgrades would come to.

    Returns:
        The packages, and after how many seconds to ask again what upgrades of some would come to;
        None where nothing is left.
    """
    home = locate(served.repository.clone_url)
    users = await store.upstreams.uses(served.id)
    if home is None or not users:
        return (), None
    found: list[Behind] = []
    releases: dict[Package, tuple[int, ...]] = {}
    called: dict[str, Repository | None] = {}
    for branch in sorted({each.branch for each in users}):
        graph = graph_of(str(home), [each for each in users if each.branch == branch])
        wanted = [each.package for each in graph.upstreams.values() if each]
        for place in dict.fromkeys(each.place for each in wanted):
            if place not in called and len(called) < MOST_UPSTREAMS:
                at, there = await _releases(served, around, str(home), place, wanted)
                called[place] = at
                releases |= {Package(place, path): some for path, some in there.items()}
        for update in graphs.updates(graph, releases):
            if update.newer and update.upstream.revision:
                place, upstream = update.upstream.package.place, update.upstream.package.path
                at = called[place]
                listed = ListedBehind(
                    package=update.package.path,
                    branch="" if branch == served.repository.default_branch else branch,
                    upstream=f"{at.full_name}//{upstream}"
                    if at and place != str(home)
                    else upstream,
                    revision=update.upstream.revision,
                    newer=update.newer,
                )
                found.append(Behind(listed, update, branch))
    readable = {place: at for place, at in called.items() if at is not None}
    return await merges.told(served, found, readable)


async def cloneable(
    served: ServedRepository, store: Store, around: ServedUpstreams
) -> tuple[ListedUpstream, ...]:
    """Return the packages of the default upstream that can be cloned, by name.

    Args:
        served: The repository.
        store: The index.
        around: The repositories that are served.
    """
    default = await served.offload(_default, served)
    if not default or default.lower() == served.repository.full_name.lower():
        return ()
    newest: dict[str, int] = {}
    try:
        there = await around.named(served.id.forge, [default])
        shown = [e for e in there if await around.may_read(e, served.repository, None)]
    except _AWAY as error:
        log.info("upstream not asked", place=default, error=str(error))
        return ()
    for each in shown:
        async for package, number, _ in store.revisions.all_revisions(each.id):
            newest[package] = max(number, newest.get(package, 0))
    return tuple(
        ListedUpstream(f"{default}//{names.shown(package, number)}")
        for package, number in sorted(newest.items())[:MOST_CLONEABLE]
    )


def graph_of(home: str, users: Sequence[UpstreamUser]) -> Graph:
    """Return the packages that say where they come from; what the lock says counts.

    Args:
        home: Their repository, as locations are spelled.
        users: What they say, on one branch.
    """
    found: dict[Package, Upstream | None] = {}
    for each in users:
        use = each.use
        if use.locked or Package(home, use.package) not in found:
            upstream = Upstream(Package(use.place, use.directory), use.ref, use.commit)
            found[Package(home, use.package)] = upstream
    return Graph(found)


async def _releases(
    served: ServedRepository,
    around: ServedUpstreams,
    home: str,
    place: str,
    wanted: Sequence[Package],
) -> tuple[Repository | None, Mapping[str, tuple[int, ...]]]:
    """An upstream's repository, and the releases of its packages.

    Nothing where it may not be told of, or cannot be asked now.
    """
    try:
        repository: Repository | None = served.repository
        if place != home:
            location = locate(place)
            repository = await around.at(location) if location else None
        if repository is None or not await around.may_read(repository, served.repository, None):
            return None, {}
        packages = sorted({each.path for each in wanted if each.place == place})
        found = await around.releases(repository, packages)
    except _AWAY as error:
        log.info("upstream not asked", place=place, error=str(error))
        return None, {}
    return repository, found


def _default(served: ServedRepository) -> str:
    with served.mirror.open() as git:
        tip = git.ref(names.branch_ref(served.repository.default_branch))
        policy = config.read(config.fetch(git.blob, tip, config.CONFIG)) if tip else None
    return default_repository(policy) if isinstance(policy, Policy) else ""
