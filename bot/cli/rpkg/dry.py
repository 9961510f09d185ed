"""Upgrades worked out ahead on this machine: what would conflict, and nothing is written."""

from collections.abc import Callable, Sequence

from bot.cli import progress
from bot.cli.rpkg.sources import SourceRepository
from cadlib.errors import PackageError, Place
from cadlib.limits import DEFAULT
from cadlib.package.files import Files
from cadlib.update.upstream import Fetch, Fetched
from lifecycle import names
from lifecycle.drafting.make import DraftInputs, make
from lifecycle.facts.drafts import DraftKind, DraftRequest
from lifecycle.facts.update import PackageMerge
from lifecycle.messages import making
from lifecycle.messages import upstreams as texts
from lifecycle.upstreams.graph import UpgradeStatus
from lifecycle.upstreams.locations import locate

FetchHere = Callable[[Fetch], Fetched]
"""Gives a package that an upgrade needs; `PackageError` where it cannot."""


def upgraded(package: str, here: Files, ref: str, fetch: FetchHere) -> PackageMerge:
    """Return a package as an upgrade would leave it.

    Args:
        package: Its path.
        here: Its files.
        ref: The ref to go to.
        fetch: Gives both states of the upstream.
    """
    request = DraftRequest(kind=DraftKind.UPGRADE, package=package)
    steps = make(request, DraftInputs(here=here, ref=ref))
    try:
        step = next(steps)
        while True:
            if not isinstance(step, Fetch):
                raise TypeError("an upgrade runs no function")
            try:
                came = fetch(step)
            except PackageError as error:
                step = steps.throw(error)
            else:
                step = steps.send(came)
    except StopIteration as ended:
        made: PackageMerge = ended.value
        return made


def conflicts(
    found: Sequence[SourceRepository], updates: Sequence[UpgradeStatus]
) -> dict[UpgradeStatus, str]:
    """Return what an upgrade to the newest revision of each package's upstream would come to.

    Args:
        found: The repositories that are read.
        updates: How far the packages are behind.

    Returns:
        A few words for each that is behind; two packages with the same states are merged once.
    """
    known: dict[tuple[str, ...], str] = {}
    behind = [each for each in updates if each.newer]
    told: dict[UpgradeStatus, str] = {}
    for count, each in enumerate(behind, start=1):
        progress.at(f"merging {count} of {len(behind)}: {each.package.path or 'the root package'}")
        told[each] = _conflicts(found, each, known)
    return told


def _conflicts(
    found: Sequence[SourceRepository], update: UpgradeStatus, known: dict[tuple[str, ...], str]
) -> str:
    by_place = {each.place: each for each in found}
    home, there = by_place[update.package.place], by_place.get(update.upstream.package.place)
    here = home.trees.tree(home.commit, update.package.path)
    if there is None or not here:
        return making.DRY_UNKNOWN
    path = update.upstream.package.path
    tag = names.tag(path, update.newer[-1])
    states = (there.trees.tree(at, path) for at in (update.upstream.commit, there.tags[tag]) if at)
    key = (here, *states)
    if key not in known:
        files = home.trees.files(here, DEFAULT)
        made = upgraded(update.package.path, files, names.tag_name(tag), _fetching(by_place))
        known[key] = making.dry(made)
    return known[key]


def _fetching(by_place: dict[str, SourceRepository]) -> FetchHere:
    """Gives packages of the repositories that are read, and of no others."""

    def fetch(wanted: Fetch) -> Fetched:
        source = by_place.get(str(locate(wanted.repo)))
        if source is None:
            raise PackageError(Place(), *texts.not_read(wanted.repo))
        directory = wanted.directory.strip("/").removeprefix("./").removesuffix(".")
        scoped = (f"{directory}/{wanted.ref}".lstrip("/"), wanted.ref)
        tags = (source.tags.get(names.tag_ref(each)) for each in scoped)
        commit = next(filter(None, tags), wanted.ref)
        tree = source.trees.tree(commit, directory)
        if not tree:
            raise PackageError(Place(), *texts.not_read(f"{wanted.repo} at {wanted.ref}"))
        return Fetched(source.trees.files(tree, DEFAULT), wanted.ref, commit)

    return fetch
