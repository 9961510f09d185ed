"""Upgrades worked out ahead of packages that are behind: what would conflict, for the dashboard.

A few at each look, in a worker of the renderer, and nothing is written. What came of one is kept by
the package's tree and both states of its upstream, with the commit that the newest tag names, so
that a look without news merges nothing. What stood in the way is tried again, ever less often. Only
upstreams are read that the dashboard may tell of.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from bot.forges.port import ForgeBusyError, ForgeRefusedError, Repository
from bot.git.port import GitBusyError, History, ObjectTooLargeError
from bot.loop.repository import ServedRepository
from bot.recent import Recent
from bot.render.port import DraftSides, FetchPackage
from bot.upstream.places import ServedPackage
from bot.upstream.served import ServedUpstreams
from cadlib.errors import PackageError, Place
from cadlib.update.upstream import Fetch, Fetched
from lifecycle import names
from lifecycle.facts.drafts import DraftKind, DraftRequest
from lifecycle.facts.overview import ListedBehind
from lifecycle.facts.update import PackageMerge
from lifecycle.messages import upstreams as texts
from lifecycle.upstreams.errors import UpstreamError
from lifecycle.upstreams.graph import UpgradeStatus
from lifecycle.upstreams.locations import locate

log = structlog.get_logger()

MOST_MERGED: Final = 25
"""Upgrades that are worked out at one look: the rest at later ones."""

SECONDS: Final = 20.0
"""After which none is begun: the issue waits for them."""

PACE: Final = 300.0
"""Seconds until those are worked out that were left."""

FIRST_AGAIN: Final = 1800.0
"""Seconds after which one is tried again that took too long, or that something stood in the way of:
the machine was busy, or a file is there by now. Then after twice as long, and so on."""

LAST_AGAIN: Final = 86_400.0
"""The longest of these, in seconds."""

MOST_KEPT: Final = 20_000
"""Of which is kept what came of them, of all repositories: some hundred bytes each."""

_AWAY = (
    ForgeBusyError,
    ForgeRefusedError,
    GitBusyError,
    ObjectTooLargeError,
)

_Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Behind:
    """A package that is behind.

    Attributes:
        listed: As it is told of.
        update: How far it is behind what.
        branch: The branch that it is on.
    """

    listed: ListedBehind
    update: UpgradeStatus
    branch: str


@dataclass(frozen=True, slots=True)
class _Kept:
    """What came of an upgrade.

    Attributes:
        made: That.
        due: When it is tried again, in monotonic seconds; None for never.
        wait: Seconds that it waited for that.
    """

    made: PackageMerge
    due: float | None = None
    wait: float = 0.0


class DryMerges:
    """Works out upgrades, and keeps what came of them.

    Args:
        around: The repositories that are served.
    """

    def __init__(self, around: ServedUpstreams) -> None:
        self._around = around
        self._kept: Recent[_Key, _Kept] = Recent(MOST_KEPT)

    async def told(
        self,
        served: ServedRepository,
        behind: Sequence[Behind],
        readable: Mapping[str, Repository],
    ) -> tuple[tuple[ListedBehind, ...], float | None]:
        """Return what is told of packages that are behind, and when there may be more to tell.

        Args:
            served: Their repository.
            behind: The packages.
            readable: Location of each repository that may be told of; no other is read.

        Returns:
            What is told, in the order of the packages, and after how many seconds to ask again;
            None where nothing is left.
        """
        clock = served.clock
        until, merged, again = clock.monotonic() + SECONDS, 0, list[float]()
        with await served.offload(served.mirror.open) as git:
            tagged = await self._tagged(behind, readable)
            keys = await served.offload(_keys, str(served.repository.id), git, behind, tagged)
            pairs = list(zip(behind, keys, strict=True))
            # What was tried once comes after all others.
            for each, key in sorted(pairs, key=lambda pair: self._kept.get(pair[1]) is not None):
                known, now = self._kept.get(key), clock.monotonic()
                if known is not None and (known.due is None or now < known.due):
                    again += [] if known.due is None else [known.due - now]
                elif merged >= MOST_MERGED or now > until:
                    again.append(PACE)
                else:
                    merged += 1
                    kept = await self._tried(served, git, each, key, readable)
                    again += [kept.wait] if kept and kept.wait else []
        found = [(each, self._kept.get(key)) for each, key in pairs]
        told = (_told(each.listed, kept.made if kept else None) for each, kept in found)
        return tuple(told), min(again, default=None)

    async def _tagged(
        self, behind: Sequence[Behind], readable: Mapping[str, Repository]
    ) -> Mapping[tuple[str, str], str]:
        """Places of upstreams and their newest tags to the commits that these name."""
        wanted = defaultdict[str, set[str]](set)
        for each in behind:
            wanted[each.update.upstream.package.place].add(_newest(each))
        found: dict[tuple[str, str], str] = {}
        for place, tags in wanted.items():
            repository = readable.get(place)
            if repository is not None:
                commits = await self._around.commits(repository, tags)
                found |= {(place, tag): commit for tag, commit in commits.items()}
        return found

    async def _tried(
        self,
        served: ServedRepository,
        git: History,
        behind: Behind,
        key: _Key,
        readable: Mapping[str, Repository],
    ) -> _Kept | None:
        """Work one out, and keep what came of it; None where nobody can tell now."""
        before = self._kept.get(key)
        made = await self._merged(served, git, behind, key[1], readable)
        if made is None:
            return None
        kept = _Kept(made)
        if made.problem:
            wait = min(LAST_AGAIN, 2 * before.wait if before else FIRST_AGAIN)
            kept = _Kept(made, served.clock.monotonic() + wait, wait)
        self._kept.put(key, kept)
        return kept

    async def _merged(
        self,
        served: ServedRepository,
        git: History,
        behind: Behind,
        here: str,
        readable: Mapping[str, Repository],
    ) -> PackageMerge | None:
        """What an upgrade to the newest revision comes to; None where nobody can tell now."""
        package = behind.update.package.path
        request = DraftRequest(kind=DraftKind.UPGRADE, package=package)
        sides = DraftSides(here=here, ref=names.tag_name(_newest(behind)))
        try:
            async with asyncio.timeout(SECONDS):
                made = await served.looker.renderer.drafted(
                    git, request, sides, self._fetching(readable)
                )
        except _AWAY as error:
            log.info("upgrade not worked out", package=package, reason=str(error))
            return None
        except TimeoutError:
            log.warning("upgrade not worked out", package=package, reason=texts.TOO_LONG)
            return PackageMerge(problem=texts.TOO_LONG)
        # The files are not used: what is kept is small.
        return replace(made, files={}, conflicts=made.conflicts[:1], more=_more(made))

    def _fetching(self, readable: Mapping[str, Repository]) -> FetchPackage:
        """Gives packages of the repositories that may be told of."""

        async def fetch(wanted: Fetch) -> Fetched:
            repository = readable.get(str(locate(wanted.repo)))
            if repository is None:
                raise PackageError(Place(), *texts.not_told_of(wanted.repo))
            directory = wanted.directory.strip("/").removeprefix("./").removesuffix(".")
            try:
                came = await self._around.fetch(ServedPackage(repository, directory), wanted.ref)
            except UpstreamError as error:
                raise PackageError(Place(), error.problem, error.fix) from error
            return Fetched(files=came.files, commit=came.commit, ref=came.ref.ref)

        return fetch


def _newest(behind: Behind) -> str:
    """The tag of the newest revision of an upstream, in full spelling."""
    return names.tag(behind.update.upstream.package.path, behind.update.newer[-1])


def _keys(
    reader: str,
    git: History,
    behind: Sequence[Behind],
    tagged: Mapping[tuple[str, str], str],
) -> list[_Key]:
    """What upgrades follow from: the package, what it was made from, and what is newest.

    The repository that it is told in is a part of it: another one may not read the same.
    """
    tips = {each.branch: git.ref(names.branch_ref(each.branch)) or "" for each in behind}
    found = list[_Key]()
    for each in behind:
        package, upstream = each.update.package.path, each.update.upstream
        here = git.package(tips[each.branch], package) if tips[each.branch] else ""
        newest = _newest(each), tagged.get((upstream.package.place, _newest(each)), "")
        found.append((reader, here, str(upstream.package), upstream.ref, upstream.commit, *newest))
    return found


def _more(made: PackageMerge) -> int:
    return max(0, len(made.conflicts) - 1) + made.more


def _told(listed: ListedBehind, made: PackageMerge | None) -> ListedBehind:
    if made is None or made.problem:
        return listed
    first = made.conflicts[0] if made.conflicts else None
    return replace(
        listed,
        conflicts=len(made.conflicts) + made.more,
        conflict=": ".join(filter(None, (first.path, first.field))) if first else "",
    )
