"""Merging a package and the packages in it that came along with it, by kpt's table.

What becomes of a subpackage with an upstream of its own hangs on which of the three trees
have it (O the origin, L the local one, U the updated one):

    O L U
    - x x   an error: there is no common origin
    - - x   added
    - x -   kept
    x - x   stays deleted, with all that is new in it
    x x -   deleted if nobody changed it, else kept, as a conflict
    x x x   merged; if U has no more than its address, only the Kptfile is

Source: kptdev/kpt, pkg/lib/update/update.go.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from cadlib.errors import PackageError, Place
from cadlib.kptfile.reader import GitRef
from cadlib.merge.conflicts import ABSENT, Conflict, Side
from cadlib.merge.policy import ConflictPolicy
from cadlib.package import files as packages
from cadlib.package.files import KPTFILE, Entry, Files
from cadlib.package.ignore import find
from cadlib.update.compare import changed
from cadlib.update.strategies import (
    MergedPackage,
    ThreeWayFiles,
    added_in_both,
    gone_upstream,
    is_repointed,
    merge_kptfile,
    merge_package,
    without,
)
from cadlib.update.upstream import STRATEGIES, is_unfetched, read_kptfile, remote_packages


@dataclass(frozen=True, slots=True)
class MergedTrees:
    """A package and its subpackages, merged.

    Attributes:
        merged: Its files and the conflicts.
        said: What was done with each package, in kpt's words.
    """

    merged: MergedPackage
    said: tuple[str, ...]


def merge_trees(
    trees: ThreeWayFiles, *, name: str, strategy: str = "", policy: ConflictPolicy
) -> MergedTrees:
    """Merge a package with what its upstream was and is.

    Args:
        trees: The package three times.
        name: What it is called in messages.
        strategy: How the package itself is merged; "" for what its Kptfile says. Packages
            in it are merged as their own Kptfiles say.
        policy: What counts where both sides changed the same.

    Raises:
        PackageError: It cannot be merged so; says why.
    """
    run = _Run(trees, name, strategy, policy)
    pending = [""]
    while pending:
        package = pending.pop()
        if run.merge(package):
            pending += reversed(outermost(run.remotes(), package))
    return MergedTrees(MergedPackage(run.files, tuple(run.conflicts)), tuple(run.said))


def outermost(every: frozenset[str], package: str) -> list[str]:
    """Return those of these packages that lie in `package` and in no other between, sorted."""
    around = every | {package}
    return [
        each
        for each in sorted(every - {package})
        if packages.owner_of(packages.folder(each), around) == package
    ]


@dataclass(slots=True)
class _Run:
    """One merge: the trees, and what came of it so far."""

    trees: ThreeWayFiles
    name: str
    strategy: str
    policy: ConflictPolicy
    files: dict[str, Entry] = field(init=False)
    conflicts: list[Conflict] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.files = dict(self.trees.local)

    def remotes(self) -> frozenset[str]:
        """Return the packages inside that have an upstream in one of the trees, as they are."""
        return remote_packages(self.trees.origin, self.trees.updated, self.files)

    def merge(self, package: str) -> bool:
        """Merge one package; return whether packages in it are to be looked at."""
        part = ThreeWayFiles(
            below(self.trees.origin, package),
            below(self.files, package),
            below(self.trees.updated, package),
        )
        merged = self._part(part, package)
        if merged is None:
            return False
        whole = merged.instead_of(package, self.files)
        self.files = whole.files
        self.conflicts += whole.conflicts
        _check_folders(self.files)
        return True

    def _part(self, trees: ThreeWayFiles, package: str) -> MergedPackage | None:
        """Decide what becomes of one package; None if it is not there and shall not come."""
        name = packages.name(package) or self.name
        sides = (trees.origin, trees.local, trees.updated)
        match [not package or KPTFILE in each for each in sides]:
            case [False, True, True] if not _copies(trees.local):
                raise added_in_both(package)
            case [False, False, True]:
                self.said.append(f'Adding package "{name}" from upstream.')
                own = without(trees.updated, remote_packages(trees.updated))
                return MergedPackage({**trees.local, **own})
            case [True, False, True]:
                self.said.append(
                    f'Ignoring package "{name}" in upstream since it is deleted from local.'
                )
                return None
            case [True, True, False]:
                return self._gone(trees, name)
            case [_, True, True]:
                with placed_in(package):
                    return self._three(trees, package, name)
            case _:
                return MergedPackage(dict(trees.local))

    def _gone(self, trees: ThreeWayFiles, name: str) -> MergedPackage:
        if _is_untouched(trees):
            self.said.append(
                f'Deleting package "{name}" from local since it is removed in upstream.'
            )
            return MergedPackage({})
        self.said.append(
            f'Package "{name}" deleted from upstream, but keeping local since it has changes.'
        )
        return MergedPackage(dict(trees.local), (gone_upstream(),))

    def _three(self, trees: ThreeWayFiles, package: str, name: str) -> MergedPackage:
        if package:
            if is_unfetched(read_kptfile(trees.updated)):
                repointed = _repointed(trees, self.policy)
                keep = self.policy is ConflictPolicy.LOCAL and bool(repointed)
                merged = merge_kptfile(trees, root=keep, policy=self.policy)
                return MergedPackage(merged.files, (*repointed, *merged.conflicts))
            if is_unfetched(read_kptfile(trees.origin)):
                raise no_origin("upstreamLock")
        kptfile = read_kptfile(trees.local)
        strategy = "" if package else self.strategy
        strategy = strategy or (kptfile.update_strategy if kptfile else "") or STRATEGIES[0]
        self.said.append(f'Updating package "{name}" with strategy "{strategy}".')
        return merge_package(trees, strategy, root=not package, policy=self.policy)


def _repointed(trees: ThreeWayFiles, policy: ConflictPolicy) -> tuple[Conflict, ...]:
    """Tell that a package was given another upstream here, if upstream does not name the same."""
    addresses = [
        _address(_upstream(each, "")) for each in (trees.origin, trees.local, trees.updated)
    ]
    base, ours, theirs = addresses
    if not is_repointed(trees) or ours == theirs:
        return ()
    return (
        Conflict(
            path=KPTFILE,
            field="upstream",
            base=base,
            ours=ours,
            theirs=theirs,
            chosen=policy.side,
            reason="the package was given another upstream here",
        ),
    )


def _address(upstream: GitRef | None) -> Side:
    return ABSENT if upstream is None else f"{upstream.repo}{upstream.directory}@{upstream.ref}"


def no_origin(place: str) -> PackageError:
    """Return the conflict for a package whose origin is unknown."""
    return PackageError(
        Place(KPTFILE, field=place),
        "no origin available for package",
        "Delete the package here and fetch it again",
    )


@contextmanager
def placed_in(package: str) -> Iterator[None]:
    """Let errors that are told of a package name files as the package around it does."""
    try:
        yield
    except PackageError as error:
        if not package:
            raise
        place = replace(error.place, path=packages.join(package, error.place.path))
        raise PackageError(place, error.problem, error.fix) from error


def _is_untouched(trees: ThreeWayFiles) -> bool:
    """Tell whether a package is as it was fetched, and comes from where it came from."""
    return not changed(trees.origin, trees.local) and all(
        _upstream(trees.origin, each) == _upstream(trees.local, each) for each in find(trees.local)
    )


def _copies(files: Files) -> bool:
    """Tell whether a package takes what upstream has over what is here, whoever made that."""
    kptfile = read_kptfile(files)
    return kptfile is not None and kptfile.update_strategy == "copy-merge"


def _upstream(files: Files, package: str) -> GitRef | None:
    kptfile = read_kptfile(files, package)
    return kptfile.upstream if kptfile else None


def below(files: Files, package: str) -> dict[str, Entry]:
    """Return the files of a folder of a tree, relative to it."""
    if not package:
        return dict(files)
    return {
        packages.relative(package, path): entry
        for path, entry in files.items()
        if packages.within(path, package)
    }


def changes(before: Files, after: Files) -> dict[str, Entry | None]:
    """Return the changes that turn one tree into another; None for a file to remove."""
    paths = sorted({*before, *after})
    return {path: after.get(path) for path in paths if before.get(path) != after.get(path)}


def _check_folders(files: Files) -> None:
    """Refuse a merge that would need a file and a folder of one name."""
    for path in files:
        above = next(
            (each for each in packages.upwards(packages.folder(path)) if each in files), ""
        )
        if above:
            raise PackageError(
                Place(path),
                f"{above!r} is a file on one side and a folder on the other",
                "Rename the local one, update, and bring the two together",
            )
