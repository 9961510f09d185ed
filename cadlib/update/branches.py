"""Three-way merge of one package that two branches changed, by resource and field.

Rules
- Neither side is an upstream: what each changed counts alike, and what both changed, each in its
  own way, is a conflict. No strategy of a Kptfile, which is about upstreams, is asked.
- Kptfiles and the other files of resources are merged here, those of subpackages too, each with
  those of its own package. Any other file is for git to merge; only what git would decide without
  asking, because one side took the file away, is told as a conflict.

Source: docs/design.md, "Merge order".
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from cadlib.merge import kptfile, resources
from cadlib.merge.conflicts import ABSENT, Conflict
from cadlib.merge.policy import ConflictPolicy
from cadlib.package import files as packages
from cadlib.package.files import EXECUTABLE, KPTFILE, REGULAR, Entry, Files
from cadlib.package.ignore import find
from cadlib.update.files import merge_files
from cadlib.yaml import Value

_FILES = (REGULAR, EXECUTABLE)


@dataclass(frozen=True, slots=True)
class MergedBranches:
    """What the merge of a package comes to; paths are relative to it.

    Attributes:
        files: What was merged here, by path: None for a file that goes. It stands in the place of
            what git makes of these files.
        conflicts: What both sides changed. With one of them `files` are not to be used.
    """

    files: Mapping[str, Entry | None] = field(default_factory=dict)
    conflicts: tuple[Conflict, ...] = ()


def merge_branches(base: Files, ours: Files, theirs: Files) -> MergedBranches:
    """Merge one package.

    Args:
        base: As it was where the branches parted.
        ours: As it is on the branch that is written to, whose texts and comments stay.
        theirs: As it is on the other branch.

    Raises:
        PackageError: A file that both sides changed cannot be read.
    """
    found_in = (find(tree, plain=True) for tree in (base, ours, theirs))
    every = frozenset({"", *(each for tree in found_in for each in tree)})
    changed = [
        path for path in sorted({*base, *ours, *theirs}) if not _alike(path, base, ours, theirs)
    ]
    crds = tuple(resources.definitions(theirs, ours))
    files: dict[str, Entry | None] = {}
    conflicts: list[Conflict] = []
    for package in sorted(
        {packages.owner_of(packages.folder(path), every) or "" for path in changed}
    ):
        sides = [_own(tree, package, every) for tree in (base, ours, theirs)]
        found = _merge_one(sides[0], sides[1], sides[2], crds)
        files |= {packages.join(package, path): each for path, each in found.files.items()}
        conflicts += (
            replace(each, path=packages.join(package, each.path)) for each in found.conflicts
        )
    return MergedBranches(files, tuple(conflicts))


def _merge_one(base: Files, ours: Files, theirs: Files, crds: Collection[Value]) -> MergedBranches:
    """Merge one package without those in it."""
    paths = sorted({*base, *ours, *theirs})
    read = {path for path in paths if _has_resources(path, base, ours, theirs)}
    files: dict[str, Entry | None] = {}
    conflicts: list[Conflict] = []
    if KPTFILE in read:
        merged = _kptfile(base.get(KPTFILE), ours.get(KPTFILE), theirs.get(KPTFILE))
        files, conflicts = {**merged.files}, [*merged.conflicts]
    read.discard(KPTFILE)
    found = resources.merge_resources(
        *(
            {path: each for path, each in side.items() if path in read}
            for side in (base, ours, theirs)
        ),
        policy=ConflictPolicy.FAIL,
        crds=crds,
    )
    files |= {path: found.files.get(path) for path in sorted(read | found.files.keys())}
    conflicts += found.conflicts
    others = [
        {path: each for path, each in side.items() if path not in read and path != KPTFILE}
        for side in (base, ours, theirs)
    ]
    _, both = merge_files(*others)
    # Where all three have the file git merges its lines, or says that it cannot.
    conflicts += (each for each in both if not all(each.path in side for side in others))
    return MergedBranches(files, tuple(conflicts))


def _kptfile(base: Entry | None, ours: Entry | None, theirs: Entry | None) -> MergedBranches:
    if ours == theirs or base == theirs:
        return MergedBranches({KPTFILE: ours})
    if base == ours:
        return MergedBranches({KPTFILE: theirs})
    if base is None or ours is None or theirs is None:
        _, conflicts = merge_files(
            *({KPTFILE: each} if each is not None else {} for each in (base, ours, theirs))
        )
        return MergedBranches({}, conflicts)
    data, conflicts = kptfile.merge_branches(base.data, ours.data, theirs.data)
    mode = theirs.mode if ours.mode == base.mode else ours.mode
    return MergedBranches({KPTFILE: Entry(data, mode)}, conflicts)


def removed(ours: bool, package: str = KPTFILE) -> Conflict:
    """Return the conflict for a package that one side removed and the other changed.

    Args:
        ours: Our side removed it.
        package: Path of its Kptfile.
    """
    here, there = (ABSENT, "a package with changes") if ours else ("a package with changes", ABSENT)
    return Conflict(
        path=package,
        base="a package",
        ours=here,
        theirs=there,
        chosen="upstream",
        reason=(
            "the package was removed here and changed there"
            if ours
            else "the package was changed here and removed there"
        ),
    )


def _has_resources(path: str, *sides: Files) -> bool:
    """Whether a file holds resources on each side that has it; a link holds none."""
    if path != KPTFILE and not path.endswith((".yaml", ".yml")):
        return False
    return all(side[path].mode in _FILES for side in sides if path in side)


def _alike(path: str, *sides: Files) -> bool:
    first, *rest = (side.get(path) for side in sides)
    return all(each == first for each in rest)


def _own(files: Files, package: str, every: Collection[str]) -> dict[str, Entry]:
    """The files of a package without those of packages in it, relative to it."""
    return {
        packages.relative(package, path): entry
        for path, entry in files.items()
        if packages.owner_of(packages.folder(path), every) == package
    }
