"""Where packages are that a head is tried on, and what an upgrade of theirs is given."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final

from bot.clock import Clock, Offload
from bot.git.port import History
from bot.look.impact_plan import CommitTrees, RulesTrial, UpgradeTrial
from bot.store.values import ServedName
from cadlib.errors import PackageError, Place
from cadlib.limits import DEFAULT
from cadlib.update.upstream import Fetch, Fetched
from lifecycle.facts.impact import PackageImpact
from lifecycle.identity import RepositoryId
from lifecycle.messages import impact as texts
from lifecycle.names import Sha
from lifecycle.policy import Policy
from lifecycle.upstreams.locations import locate

MOST_REPOSITORIES: Final = 30
"""Other repositories that one head is tried on; packages in more are only counted."""

MOST_ASKED: Final = 100
"""Other repositories of which is asked, for one head, whether it may be tried there: one to three
requests each."""

CLOSED: Final = 3600.0
"""Seconds for which a repository where it may not be tried is not asked about again."""


@dataclass(slots=True)
class TrialSite:
    """Where packages are that are tried: their trees, and the rules there."""

    git: History
    tip: Sha
    policy: Policy
    name: str


class Opened:
    """Mirrors of other repositories that were opened, closed at the end."""

    def __init__(self) -> None:
        self.histories: list[History] = []
        self.lock = asyncio.Lock()

    async def __aenter__(self) -> "Opened":
        return self

    async def __aexit__(self, *_: object) -> None:
        for each in self.histories:
            each.close()


@dataclass(frozen=True, slots=True)
class TrialPermissions:
    """Other repositories, by whether a head may be tried there.

    Attributes:
        readable: It may.
        closed: It may not. Of what is in neither nobody knows: there are too many.
    """

    readable: frozenset[ServedName]
    closed: frozenset[ServedName]


class TrialSites:
    """Tells in which other repositories the heads of one may be tried.

    Args:
        may: Gives something for a repository where they may.
        clock: For how long an answer counts.
    """

    def __init__(self, may: Callable[[ServedName], Awaitable[object]], clock: Clock) -> None:
        self._may = may
        self._clock = clock
        self._closed: dict[RepositoryId, float] = {}

    def forget(self) -> None:
        """Ask anew about all."""
        self._closed.clear()

    async def seen(self, names: Iterable[ServedName]) -> TrialPermissions:
        """Ask about repositories, until there are enough where it may be tried.

        Those that are closed take nobody's place; they are remembered, so that each head comes
        further than the one before.

        Args:
            names: The repositories, in the order in which they are asked about.
        """
        there = dict.fromkeys(names)
        readable: set[ServedName] = set()
        now, asked = self._clock.monotonic(), 0
        self._closed = {id_: at for id_, at in self._closed.items() if at > now - CLOSED}
        for each in there:
            if each.id in self._closed:
                continue
            if asked >= MOST_ASKED or len(readable) >= MOST_REPOSITORIES:
                break
            asked += 1
            if await self._may(each):
                readable.add(each)
            else:
                self._closed[each.id] = now
        closed = frozenset(each for each in there if each.id in self._closed)
        return TrialPermissions(frozenset(readable), closed)


def unjudged(
    each: RulesTrial | UpgradeTrial, where: TrialSite | str, here: RepositoryId, base_ref: str
) -> PackageImpact:
    """Return a package before it is tried.

    Args:
        each: What is to be tried.
        where: Where the package is; or why that cannot be read.
        here: The repository of the head.
        base_ref: The branch that the head is to be merged into.
    """
    if isinstance(each, RulesTrial):
        return PackageImpact(package=each.package, merges=each.merges)
    user = each.user
    name = user.repository.full_name if isinstance(where, str) else where.name
    mine = user.repository.id == here
    return PackageImpact(
        package=user.use.package,
        repository="" if mine else name,
        branch=user.branch if mine and user.branch != base_ref else "",
        upstream=each.upstream,
    )


def key_of(policy: Policy) -> str:
    """What a verdict follows from in rules."""
    said = [(f.name, f.fix) for f in (*policy.mutators, *policy.validators)]
    return f"{policy.digest} {said}"


def fetching(
    git: History, trial: UpgradeTrial, head: Sha, offload: Offload
) -> Callable[[Fetch], Awaitable[Fetched]]:
    """Gives the two states of the upstream out of the mirror of its repository, and nothing else.

    What else a package was made from stays as it is: it is not what is tried.
    """

    async def fetch(wanted: Fetch) -> Fetched:
        tree = await offload(state_of, git, trial, head, wanted)
        return Fetched(await offload(git.files, tree, DEFAULT), wanted.ref, wanted.ref)

    return fetch


def state_of(git: CommitTrees, trial: UpgradeTrial, head: str, wanted: Fetch) -> str:
    """Return the tree that an upgrade on trial is given.

    Args:
        git: Where the upstream is.
        trial: The upgrade.
        head: The commit or tree that has the new state.
        wanted: What it asks for.

    Raises:
        PackageError: It is neither of the two states of the upstream.
    """
    use = trial.user.use
    states = {use.commit: trial.before, head: trial.after}
    location, directory = locate(wanted.repo), wanted.directory.strip("/")
    directory = "" if directory == "." else directory.removeprefix("./")
    if str(location) != use.place or wanted.ref not in states:
        raise PackageError(Place(), *texts.elsewhere(wanted.repo))
    tree = states[wanted.ref]
    if directory != use.directory:
        tree = git.tree(wanted.ref, directory)
    if not tree:
        raise PackageError(Place(), *texts.elsewhere(wanted.repo))
    return tree
