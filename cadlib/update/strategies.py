"""The four ways to bring a package up to its upstream: three trees in, one out.

A package is merged together with the subpackages that have no upstream of their own. Those
that have one are left as they are: `cadlib.update.packages` brings each of them up by itself.

Rules
- In which package a file lies is asked of all three trees together, so that a folder that
  became a package, or ceased to be one, is still merged with what it was before.
- The upstream of the root package is the user's: what a blueprint says about its own
  upstream stays in the blueprint. That of a subpackage comes with the subpackage.

Source: kptdev/kpt, pkg/lib/update: resource-merge.go, fastforward.go, replace.go,
copy-merge.go.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial

from cadlib.errors import PackageError, Place
from cadlib.kptfile import edit as kptfile_edit
from cadlib.merge import kptfile as kptfile_merge
from cadlib.merge import resources as merge_resources
from cadlib.merge.conflicts import ABSENT, Conflict
from cadlib.merge.policy import ConflictPolicy
from cadlib.package import files as packages
from cadlib.package.files import KPTFILE, SYMLINK, Entry, Files
from cadlib.package.ignore import find
from cadlib.update.compare import changed
from cadlib.update.files import merge_files
from cadlib.update.upstream import (
    STRATEGIES,
    GoneError,
    OriginGoneError,
    read_kptfile,
    remote_packages,
)
from cadlib.yaml import Value

_NOTHING = b"apiVersion: kpt.dev/v1\nkind: Kptfile\n"
"""What stands for the Kptfile of an upstream that has none: it says nothing."""


@dataclass(frozen=True, slots=True)
class ThreeWayFiles:
    """A package three times; paths are relative to it.

    Attributes:
        origin: Upstream when the local package was last brought up to it.
        local: The package at hand.
        updated: Upstream now.
    """

    origin: Files
    local: Files
    updated: Files

    def map(self, change: Callable[[Files], Files]) -> "ThreeWayFiles":
        """Return the three trees, each changed alike."""
        return ThreeWayFiles(change(self.origin), change(self.local), change(self.updated))


@dataclass(frozen=True, slots=True)
class MergedPackage:
    """The merged package and its conflicts.

    Attributes:
        files: All its files, relative to it.
        conflicts: Where both sides had changed the same; paths relative to the package.
    """

    files: dict[str, Entry]
    conflicts: tuple[Conflict, ...] = ()

    def below(self, package: str) -> "MergedPackage":
        """Return the same with paths relative to what `package` is relative to."""
        return MergedPackage(
            {packages.join(package, path): entry for path, entry in self.files.items()},
            tuple(replace(each, path=packages.join(package, each.path)) for each in self.conflicts),
        )

    def instead_of(self, package: str, files: Files) -> "MergedPackage":
        """Return `files` with these in the place of what is in the folder `package`."""
        moved = self.below(package)
        others = {path: each for path, each in files.items() if not packages.within(path, package)}
        return MergedPackage(others | moved.files, moved.conflicts)


def merge_package(
    trees: ThreeWayFiles, strategy: str, *, root: bool, policy: ConflictPolicy
) -> MergedPackage:
    """Bring a package up to its upstream.

    Args:
        trees: The package; `local` has a Kptfile unless there is no package yet.
        strategy: One of `STRATEGIES`.
        root: Whether the trees were fetched for this very package, so that its upstream
            is the local one's own, and not one that came with a package around it.
        policy: What counts where both sides changed the same.

    Raises:
        PackageError: The strategy is unknown or does not allow it, or a file is broken.
    """
    match strategy:
        case "resource-merge":
            return _resource_merge(trees, root, policy)
        case "fast-forward":
            return _fast_forward(trees, root, policy)
        case "force-delete-replace":
            return _replace(trees, root, policy)
        case "copy-merge":
            return _copy_merge(trees, root, policy)
        case _:
            raise unknown_strategy(strategy)


def unknown_strategy(name: str) -> PackageError:
    """Return what is wrong with a strategy that is none."""
    return PackageError(
        Place(KPTFILE, field="upstream.updateStrategy"),
        f"unrecognized update strategy {name}",
        f"Write one of {', '.join(STRATEGIES)}",
    )


def assumed_origin(strategy: str, local: Files, updated: Files, gone: GoneError) -> Files:
    """Return what stands for an origin that is gone, with strategies that can do without it.

    What is here counts as unchanged where all of it is replaced, and as somebody's own where files
    are copied over it, as the Kptfile always does: its inventory and its functions stay. A
    subpackage with an upstream that both sides have was there before, and so was what is in it.

    Args:
        strategy: One of `STRATEGIES`.
        local: The package.
        updated: Upstream now.
        gone: Says so.

    Raises:
        OriginGoneError: The strategy cannot do without it.
    """
    if strategy not in ("force-delete-replace", "copy-merge"):
        raise OriginGoneError(
            gone.place,
            gone.problem,
            "Update with --strategy force-delete-replace, which takes upstream as it is, or with"
            " --strategy copy-merge, which keeps the files that upstream does not have; or write"
            " the commit there that comes nearest to it into `upstreamLock.git` of the Kptfile",
        )
    remote = remote_packages(local, updated)
    both = [p for p in local if packages.name(p) == KPTFILE and p in updated and _in_any(p, remote)]
    origin = {path: local[path] for path in both}
    return origin if strategy == "copy-merge" else without(local, [*remote, KPTFILE]) | origin


def merge_kptfile(trees: ThreeWayFiles, *, root: bool, policy: ConflictPolicy) -> MergedPackage:
    """Merge the Kptfile at the root of the trees alone; no other file changes."""
    origin, local, updated = (
        each.get(KPTFILE) for each in (trees.origin, trees.local, trees.updated)
    )
    if local is None:
        taken = updated if origin is None else None  # one that was deleted stays deleted
        return MergedPackage({KPTFILE: taken, **trees.local} if taken else dict(trees.local))
    if origin is None and updated is None:
        return MergedPackage(dict(trees.local))
    data, conflicts = kptfile_merge.merge(
        origin.data if origin else None,
        local.data,
        updated.data if updated else _NOTHING,
        update_upstream=not root,
        policy=policy,
    )
    entry = local if data == local.data else Entry(data, local.mode)
    return MergedPackage({**trees.local, KPTFILE: entry}, conflicts)


# --- resource-merge ----------------------------------------------------------------------


def _resource_merge(trees: ThreeWayFiles, root: bool, policy: ConflictPolicy) -> MergedPackage:
    if not root and is_repointed(trees):
        return MergedPackage(dict(trees.local))
    remote = remote_packages(trees.origin, trees.local, trees.updated)
    every = _packages(trees)
    files = {path: entry for path, entry in trees.local.items() if _in_any(path, remote)}
    conflicts: list[Conflict] = []
    gone: set[str] = set()
    for package in sorted(each for each in every if not _in_any(each, remote)):
        known, here = (_is_there(package, tree) for tree in (trees.origin, trees.local))
        if _in_any(package, gone) or (package and known and not here):
            gone.add(package)  # deleted here, and all that is new in it stays away
            continue
        merged = _merge_one(
            trees.map(partial(_own, package=package, every=every)),
            package,
            known,
            root=root and not package,
            policy=policy,
            # What one part of a package defines is used in others.
            crds=merge_resources.definitions(trees.updated, trees.local) if len(every) > 1 else (),
        ).below(package)
        files |= merged.files
        conflicts += merged.conflicts
    return MergedPackage(files, tuple(conflicts))


def _merge_one(
    trees: ThreeWayFiles,
    package: str,
    known: bool,
    *,
    root: bool,
    policy: ConflictPolicy,
    crds: Iterable[Value],
) -> MergedPackage:
    """Merge the files of one package.

    Args:
        trees: The package, without those in it.
        package: Its path, for messages.
        known: Whether its folder is in the origin, if only for a package in it.
        root: As for `merge_package`.
        policy: As for `merge_package`.
        crds: CustomResourceDefinitions of all packages.
    """
    origin, local, updated = trees.origin, trees.local, trees.updated
    if package:
        if local and updated and not known:
            raise added_in_both(package)
        if not origin and not (local and updated):
            return MergedPackage(dict(local or updated))
        if local and not updated:
            return (
                MergedPackage(dict(local), (gone_upstream(),))
                if changed(origin, local)
                else MergedPackage({})
            )
    kptfile = merge_kptfile(trees, root=root, policy=policy)
    resources = merge_resources.merge_resources(
        _with_resources(origin),
        _with_resources(local),
        _with_resources(updated),
        policy=policy,
        crds=crds,
    )
    others, conflicts = merge_files(whole_files(origin), whole_files(local), whole_files(updated))
    files = {path: entry for path, entry in kptfile.files.items() if path == KPTFILE}
    files |= resources.files | others
    return MergedPackage(files, (*kptfile.conflicts, *resources.conflicts, *conflicts))


def added_in_both(package: str) -> PackageError:
    """Return the conflict for a package that both sides added at one path."""
    return PackageError(
        Place(packages.join(package, KPTFILE)),
        f'subpackage "{package}" added in both upstream and local',
        "Move the local one to another folder, update, and bring over what you need",
    )


def gone_upstream() -> Conflict:
    """Return the conflict for a changed package that upstream deleted; it is kept."""
    return Conflict(
        path=KPTFILE,
        base="a package",
        ours="a package with changes",
        theirs=ABSENT,
        chosen="local",
        reason="the package was changed here and deleted upstream",
    )


def is_repointed(trees: ThreeWayFiles) -> bool:
    """Tell whether the local package's upstream was changed since it was fetched."""
    origin, local = read_kptfile(trees.origin), read_kptfile(trees.local)
    if origin is None or local is None or None in (origin.upstream, local.upstream):
        return False
    return origin.upstream != local.upstream


def _with_resources(files: Files) -> dict[str, Entry]:
    return {path: entry for path, entry in files.items() if _has_resources(path, entry)}


def whole_files(files: Files) -> dict[str, Entry]:
    """Return the files that are merged as a whole: all but resources and the Kptfile."""
    return {
        path: entry
        for path, entry in files.items()
        if path != KPTFILE and not _has_resources(path, entry)
    }


def _has_resources(path: str, entry: Entry) -> bool:
    return path.endswith((".yaml", ".yml")) and entry.mode != SYMLINK


# --- fast-forward and force-delete-replace -----------------------------------------------


def _fast_forward(trees: ThreeWayFiles, root: bool, policy: ConflictPolicy) -> MergedPackage:
    remote = remote_packages(trees.origin, trees.local, trees.updated)
    origin, local = (without(tree, remote) for tree in (trees.origin, trees.local))
    modified = changed(origin, local)
    if modified:
        raise PackageError(
            Place(),
            f"local package files have been modified: [{' '.join(modified)}].\n"
            "  use a different update --strategy",
            "Use resource-merge to keep these changes, or force-delete-replace to drop them",
        )
    merged = _replace(trees, root, policy)
    kptfile = merged.files.get(KPTFILE)
    if kptfile is not None:
        data = kptfile_edit.clear_status(kptfile.data)
        merged.files[KPTFILE] = Entry(data, kptfile.mode)
    return merged


def _replace(trees: ThreeWayFiles, root: bool, policy: ConflictPolicy) -> MergedPackage:
    remote = remote_packages(trees.origin, trees.local, trees.updated)
    files = {path: entry for path, entry in trees.local.items() if _in_any(path, remote)}
    files |= without(trees.updated, remote)
    if not root and KPTFILE in files:
        return MergedPackage(files)
    kptfile = merge_kptfile(trees, root=root, policy=policy)
    files.pop(KPTFILE, None)
    files |= {path: entry for path, entry in kptfile.files.items() if path == KPTFILE}
    return MergedPackage(files, kptfile.conflicts)


# --- copy-merge --------------------------------------------------------------------------


def _copy_merge(trees: ThreeWayFiles, root: bool, policy: ConflictPolicy) -> MergedPackage:
    remote = remote_packages(trees.origin, trees.local, trees.updated)
    own = trees.map(partial(without, remote=remote))
    origin, local, updated = own.origin, own.local, own.updated
    kptfile = merge_kptfile(trees, root=root, policy=policy)
    files = dict(kptfile.files)
    _, found = merge_files(origin, local, updated, whole="copy-merge takes as a whole")
    both = [each for each in found if each.path != KPTFILE]
    kept = {each.path for each in both if policy is ConflictPolicy.LOCAL}
    for path in {*origin, *updated} - {KPTFILE} - kept:
        files.pop(path, None)
        if path in updated:
            files[path] = updated[path]
    conflicts = tuple(replace(e, chosen="upstream") for e in both if e.path not in kept)
    conflicts += tuple(each for each in both if each.path in kept)
    return MergedPackage(files, kptfile.conflicts + conflicts)


# --- trees -------------------------------------------------------------------------------


def _packages(trees: ThreeWayFiles) -> frozenset[str]:
    """Return the packages of all three trees; the root is one, with a Kptfile or without."""
    found = (find(tree, plain=True) for tree in (trees.origin, trees.local, trees.updated))
    return frozenset(each for tree in found for each in tree)


def _is_there(package: str, files: Files) -> bool:
    return any(packages.within(path, package) for path in files)


def _own(files: Files, package: str, every: Collection[str]) -> dict[str, Entry]:
    """Return the files of a package without those of its subpackages, relative to it."""
    return {
        packages.relative(package, path): entry
        for path, entry in files.items()
        if packages.owner_of(packages.folder(path), every) == package
    }


def without(files: Files, remote: Collection[str]) -> dict[str, Entry]:
    """Return the files that lie in none of these packages."""
    return {path: entry for path, entry in files.items() if not _in_any(path, remote)}


def _in_any(path: str, folders: Collection[str]) -> bool:
    return packages.owner_of(path, folders) is not None
