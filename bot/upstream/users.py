"""Who uses packages of a repository in other repositories, as far as somebody may know.

A user is named where everybody may read its repository. Where not everybody may read what is used,
those are named as well that all who ask may read; of the others there is only a number.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import structlog

from bot.forges.port import ForgeBusyError, ForgeRefusedError, Repository
from bot.git.port import GitBusyError, ObjectTooLargeError
from bot.store.port import UpstreamUses
from bot.store.values import ServedName, UpstreamUse, UpstreamUser
from bot.upstream.served import ServedUpstreams
from lifecycle import names
from lifecycle.access import Person
from lifecycle.ledger import LedgerEntry
from lifecycle.upstreams.graph import Package, Upstream
from lifecycle.upstreams.locations import Location, locate

log = structlog.get_logger()

MOST_ASKED = 30
"""Repositories of users that one question asks about; users in others are only counted."""


@dataclass(frozen=True, slots=True)
class ElsewhereUsers:
    """Who uses something in other repositories.

    Attributes:
        named: Such as "acme/clusters: net/edge", sorted.
        unseen: How many packages more.
    """

    named: tuple[str, ...] = ()
    unseen: int = 0


class UpstreamUsers:
    """Asks who uses packages.

    Args:
        served: The repositories that are served.
        uses: The index.
    """

    def __init__(self, served: ServedUpstreams, uses: UpstreamUses) -> None:
        self._served = served
        self._uses = uses

    async def of(
        self,
        repository: Repository,
        packages: Collection[str],
        revisions: Collection[tuple[str, int]],
        askers: Sequence[Person],
    ) -> tuple[dict[str, ElsewhereUsers], dict[tuple[str, int], ElsewhereUsers]]:
        """Return who uses packages and revisions, in other repositories alone.

        Args:
            repository: Where they are.
            packages: Paths of packages; whoever uses what is inside them or around them counts.
            revisions: Packages and numbers; whoever names the tag counts.
            askers: Who asks; nobody where only what everybody may read is to be named.
        """
        location = locate(repository.clone_url)
        if location is None or not (packages or revisions):
            return {}, {}
        found = await self._uses.users(str(location))
        others = [each for each in found if each.repository.id != repository.id]
        by_package = {
            package: [u for u in others if _within(u.use.directory, package)]
            for package in packages
        }
        by_revision = {
            revision: [u for u in others if names_revision(u.use, revision)]
            for revision in revisions
        }
        users = [u for some in (*by_package.values(), *by_revision.values()) for u in some]
        seen = await self._seen(repository, users, askers)
        return (
            {package: _told(some, seen) for package, some in by_package.items()},
            {revision: _told(some, seen) for revision, some in by_revision.items()},
        )

    async def has(self, repository: Repository, packages: Collection[str]) -> bool:
        """Tell whether anything anywhere was made from one of some packages of a repository."""
        location = locate(repository.clone_url)
        return location is not None and await self._uses.used(str(location), packages)

    async def listed(
        self, repository: Repository, uses: Sequence[UpstreamUse], askers: Sequence[Person]
    ) -> tuple[tuple[UpstreamUse, LedgerEntry], ...]:
        """Return which upstreams in other repositories are withdrawn or deprecated there.

        Args:
            repository: Whose packages have these upstreams.
            uses: What they say.
            askers: As for `of`.
        """
        home, found = locate(repository.clone_url), []
        known: dict[Location, Repository | None] = {}  # lock and upstream are mostly of one place
        for use in uses:
            location, path = locate(use.place), use.directory
            revision = Upstream(Package(use.place, path), use.ref).revision
            if location is None or location == home or revision is None:
                continue
            if location not in known:
                known[location] = await self._shown(location, repository, askers)
            there = known[location]
            if there is None:
                continue
            entry = await self._entry(there, path, revision)
            if entry is not None:
                found.append((use, entry))
        return tuple(found)

    async def _entry(self, there: Repository, path: str, revision: int) -> LedgerEntry | None:
        """What a repository's ledger says of a revision; None where that cannot be read now."""
        try:
            return (await self._served.ledger(there, [path]))[path].get(revision)
        except (GitBusyError, ObjectTooLargeError) as error:
            log.info("ledger of an upstream not read", repository=str(there.id), error=str(error))
            return None

    async def _shown(
        self, location: Location, to: Repository, askers: Sequence[Person]
    ) -> Repository | None:
        """The repository at a location, where it may be named; its forge must say so now."""
        try:
            there = await self._served.at(location)
            seen = there is not None and await self._served.is_shown(there, to, askers)
        except (ForgeBusyError, ForgeRefusedError) as error:
            log.info("upstream not asked", place=str(location), error=str(error))
            return None
        return there if seen else None

    async def _seen(
        self, repository: Repository, users: Sequence[UpstreamUser], askers: Sequence[Person]
    ) -> set[ServedName]:
        """The repositories of users that may be named."""
        there = list(dict.fromkeys(each.repository for each in users))
        return {
            each
            for each in there[:MOST_ASKED]
            if await self._served.may_be_named(each, repository, askers)
        }


def names_revision(use: UpstreamUse, revision: tuple[str, int]) -> bool:
    """Tell whether an upstream is a revision, by the tag that it names."""
    package, number = revision
    tag = names.spelled(package, number)
    short = use.directory == package and use.ref == f"v{number}"
    return short or names.tag_name(use.ref) == tag


def _within(folder: str, package: str) -> bool:
    return not package or not folder or f"{folder}/".startswith(f"{package}/")


def _told(users: Sequence[UpstreamUser], seen: set[ServedName]) -> ElsewhereUsers:
    packages = {(each.repository, each.use.package) for each in users}
    named = {f"{at.full_name}: {package or '.'}" for at, package in packages if at in seen}
    return ElsewhereUsers(tuple(sorted(named)), sum(1 for at, _ in packages if at not in seen))
