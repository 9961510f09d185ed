"""Where packages are that a head is tried on, and what an upgrade of theirs is given."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bot.clock import Offload
from bot.git.port import History
from bot.look.impact_plan import Plan, RulesTrial, States, UpgradeTrial
from bot.store.values import UpstreamUser
from cadlib.errors import PackageError
from cadlib.errors import Place as FilePlace
from cadlib.limits import DEFAULT
from cadlib.update.upstream import Fetch, Fetched
from lifecycle.facts.impact import PackageImpact
from lifecycle.identity import RepositoryId
from lifecycle.messages import impact as texts
from lifecycle.names import Sha
from lifecycle.policy import Policy
from lifecycle.upstreams.locations import locate


@dataclass(slots=True)
class Place:
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


def locked(
    users: Sequence[UpstreamUser], here: RepositoryId, plan: Plan
) -> tuple[UpstreamUser, ...]:
    """Packages with a lock, on all branches that are published from; not those that are changed."""

    def is_changed(user: UpstreamUser) -> bool:
        there = user.repository.id == here and user.branch == plan.base_ref
        return there and user.use.package in plan.changed

    return tuple(each for each in users if each.use.locked and not is_changed(each))


def unjudged(
    each: RulesTrial | UpgradeTrial, where: Place | str, here: RepositoryId, base_ref: str
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


def state_of(git: States, trial: UpgradeTrial, head: str, wanted: Fetch) -> str:
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
        raise PackageError(FilePlace(), *texts.elsewhere(wanted.repo))
    tree = states[wanted.ref]
    if directory != use.directory:
        tree = git.tree(wanted.ref, directory)
    if not tree:
        raise PackageError(FilePlace(), *texts.elsewhere(wanted.repo))
    return tree
