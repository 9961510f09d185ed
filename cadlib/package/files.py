"""Packages in a tree of files: finding them, owners of paths, checks of paths and sizes.

A package is a folder with a `Kptfile`; a file belongs to the nearest package above
it. Paths are relative, with "/" between their parts; "" is the folder itself.

Rules
- Nothing outside the package is reached: no symlink, no path leads out of it.
- What cannot be kept the same everywhere (git, Linux, macOS, Windows) is pointed out.
- A folder named like a revision (`v5`) is no package: git could not hold the release
  tags `net/v5` (revision 5 of `net`) and `net/v5/v1` side by side.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from cadlib.errors import Place
from cadlib.findings import Finding, Severity, order
from cadlib.limits import (
    DEFAULT,
    FOLDERS,
    LINK_STEPS,
    MIB,
    PATH_BYTES,
    SEGMENT_BYTES,
    PackageLimits,
)

KPTFILE = "Kptfile"
IGNORE_FILE = ".krmignore"

REGULAR = "100644"
EXECUTABLE = "100755"
SYMLINK = "120000"
SUBMODULE = "160000"

# Linux follows at most 40 symlinks in one path (path_resolution(7)).
_MOST_LINKS = 40
_REVISION = re.compile(r"v[0-9]+\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Each node of YAML stands beside one of these, or is alone in its document.
_MARKS = b":-,?[{"
_RESOURCE_ENDINGS = (".yaml", ".yml", ".json")
_FILE_MODES = (REGULAR, EXECUTABLE, "100664")  # git wrote the last one before 2005


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a package, as git holds it.

    Attributes:
        data: Its bytes; the target for a symlink; anything for a submodule.
        mode: git's mode: "100644", "100755", "120000" (symlink), "160000" (submodule).
    """

    data: bytes
    mode: str = REGULAR


Files = Mapping[str, Entry]
"""A package: its files by path relative to its root, subpackages included."""


def find(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the folders that hold a `Kptfile`, sorted; "" for the root of the tree."""
    found = {folder(path) for path in paths if name(path) == KPTFILE and ".git" not in _parts(path)}
    return tuple(sorted(found))


def owner_of(path: str, packages: Collection[str]) -> str | None:
    """Return the innermost of `packages` that holds `path`, or None if none does.

    Args:
        path: A file or folder. A package's own path is held by the package.
        packages: Paths of packages; fastest as a set.
    """
    return next((above for above in upwards(path) if above in packages), None)


def subpackages(packages: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    """Return for each package those directly inside it (in no other one between), sorted."""
    every = frozenset(packages)
    inside: dict[str, list[str]] = {each: [] for each in sorted(every)}
    for each in sorted(every - {""}):
        above = owner_of(folder(each), every)
        if above is not None:
            inside[above].append(each)
    return {each: tuple(below) for each, below in inside.items()}


def within(path: str, package: str) -> bool:
    """Tell whether `path` is `package` itself or lies in it."""
    return not package or path == package or path.startswith(f"{package}/")


def folder(path: str) -> str:
    """Return the folder that `path` lies in, "" at the root."""
    return path.rpartition("/")[0]


def name(path: str) -> str:
    """Return the last part of `path`."""
    return path.rpartition("/")[2]


def join(package: str, path: str) -> str:
    """Return the path of a file in `package`, with `package` in front."""
    return f"{package}/{path}" if package else path


def relative(package: str, path: str) -> str:
    """Return a path inside `package` relative to `package`."""
    return path.removeprefix(f"{package}/") if package else path


def is_resource_file(path: str) -> bool:
    """Tell whether kpt reads resources from a file of this name."""
    return path.endswith(_RESOURCE_ENDINGS) or name(path) == KPTFILE


def refused(packages: Iterable[str]) -> tuple[Finding, ...]:
    """Return an error for each package whose folder is named like a revision.

    Args:
        packages: Paths relative to the repository, as from `find`.
    """
    return tuple(
        Finding(
            message=f"a folder named like a revision, {name(each)!r}, cannot be a package",
            severity=Severity.ERROR,
            place=Place(join(each, KPTFILE)),
            fix="Rename the folder: release tags of this form belong to the folder above it",
        )
        for each in sorted(packages)
        if _REVISION.match(name(each))
    )


def problems(
    files: Files, limits: PackageLimits = DEFAULT, *, inside: Iterable[str] | None = None
) -> tuple[Finding, ...]:
    """Return what is wrong with the files of a package, before any is parsed.

    Args:
        files: The package, subpackages included.
        limits: How much it may hold. Where it holds more, only that is said.
        inside: Its subpackages; None for every folder with a Kptfile.

    Returns:
        Findings by file. Those of severity error make the package unfit to render.
    """
    unsound = unsafe(files, limits)
    if unsound:  # the rest follows paths, which is only safe among sound ones
        return unsound
    found = list(_clashes(files))
    links = _Links(files)
    for path, entry in files.items():
        if entry.mode not in _FILE_MODES or len(entry.data) > limits.file_bytes:
            found += _entry_problems(path, entry, links, limits)
    found += refused(each for each in (find(files) if inside is None else inside) if each)
    return tuple(sorted(found, key=order))


def unsafe(files: Files, limits: PackageLimits = DEFAULT) -> tuple[Finding, ...]:
    """Return the errors for files that are too many, too large, or have unsafe paths."""
    too_much = tuple(_amounts(files, limits))
    if too_much:
        return too_much
    found = [finding for path in files for finding in path_problems(path)]
    return tuple(sorted(found, key=order))


def unkept(files: Files) -> Mapping[str, str]:
    """Return the symlinks and submodules, which no package may contain, by path.

    Symlinks that stay inside the package may be kept.
    """
    links = _Links(files)
    return {
        path: "symlink" if entry.mode == SYMLINK else "submodule"
        for path, entry in files.items()
        if entry.mode == SUBMODULE or (entry.mode == SYMLINK and links.problem(path))
    }


def links(files: Files) -> Mapping[str, str]:
    """Return where the symlinks of a package lead, by path; those that are refused are left out."""
    follow = _Links(files)
    found = {path: follow.end(path) for path, entry in files.items() if entry.mode == SYMLINK}
    return {path: target for path, (target, problem) in found.items() if not problem}


def marks(text: bytes) -> int:
    """Return how many characters separate nodes of YAML: each stands for two nodes at most."""
    return len(text) - len(text.translate(None, _MARKS))


def _amounts(files: Files, limits: PackageLimits) -> Iterator[Finding]:
    if len(files) > limits.files:
        yield _error(
            Place(KPTFILE),
            f"the package holds {len(files)} files, more than {limits.files}",
            "Split it into smaller packages, or move what is not configuration elsewhere",
        )
    size = sum(len(entry.data) for entry in files.values())
    if size > limits.package_bytes:
        yield _error(
            Place(KPTFILE),
            f"the files of the package have {_mib(size)}, more than {_mib(limits.package_bytes)}",
            "Split it into smaller packages, or move what is not configuration elsewhere",
        )
        return  # they are not put together
    text = b"".join(entry.data for path, entry in files.items() if is_resource_file(path))
    found = marks(text)
    if found > limits.package_marks:
        yield _error(
            Place(KPTFILE),
            f"the YAML files of the package hold {found} characters that separate nodes"
            f" ({_MARKS.decode()}), more than {limits.package_marks}",
            "Split it into smaller packages",
        )


@lru_cache(maxsize=16_384)  # a push changes few paths
def path_problems(path: str) -> tuple[Finding, ...]:
    """Return what is wrong with a path by itself, as errors."""
    return tuple(_path_problems(path))


def _path_problems(path: str) -> Iterator[Finding]:
    parts = _parts(path)
    shown = Place(path.encode("utf-8", "backslashreplace").decode())
    if path.startswith("/"):
        yield _error(shown, "the path is absolute", "Give it relative to the package")
    elif not all(parts):
        yield _error(shown, "the path has an empty part", "Write one slash between its parts")
    if ".." in parts or "." in parts:
        yield _error(
            shown, "the path has a part '.' or '..'", "Give the path within the package without it"
        )
    if any(part.lower() == ".git" for part in parts):
        yield _error(
            shown, "the path has a part '.git', which git refuses", "Rename or remove that folder"
        )
    if _CONTROL.search(path):
        yield _error(
            Place(_CONTROL.sub("?", shown.path)),
            "the path has a control character in it (shown as '?')",
            "Rename the file",
        )
    if any("\ud800" <= character <= "\udfff" for character in path):
        yield _error(shown, "the name of the file is not UTF-8", "Rename the file")
    elif any(len(part.encode()) > SEGMENT_BYTES for part in parts):
        yield _error(
            shown,
            f"a part of the path is longer than {SEGMENT_BYTES} bytes",
            "Shorten the name: most file systems cannot hold it",
        )
    elif len(parts) > FOLDERS or len(path.encode()) > PATH_BYTES:
        yield _error(
            Place(f"{path[:SEGMENT_BYTES]}..."),
            f"the path has {len(parts)} parts, {len(path.encode())} bytes; more than {FOLDERS}"
            f" parts or {PATH_BYTES} bytes are refused",
            "Put the file into fewer folders",
        )


def _clashes(files: Files) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    taken: dict[str, str | None] = {}  # by folder, which many files share: a file in its place
    for path in sorted(files):
        parent = folder(path)
        if parent not in taken:
            taken[parent] = next((each for each in upwards(parent) if each in files), None)
        above = taken[parent]
        if above:
            yield _error(
                Place(path),
                f"{above!r} is a file and a folder at once",
                "Rename one of the two",
            )
        other = seen.setdefault(path.casefold(), path)
        if other != path:
            yield Finding(
                message=f"the name differs from {other!r} in capital letters only",
                severity=Severity.WARNING,
                place=Place(path),
                fix="Rename one of the two: macOS and Windows keep only one of them",
            )


def _entry_problems(
    path: str, entry: Entry, links: "_Links", limits: PackageLimits
) -> Iterator[Finding]:
    match entry.mode:
        case mode if mode in _FILE_MODES:
            if is_resource_file(path) and len(entry.data) > limits.file_bytes:
                yield _error(
                    Place(path),
                    f"the file has {_mib(len(entry.data))}, more than {_mib(limits.file_bytes)}",
                    "Split it into several files",
                )
        case "120000":
            problem = links.problem(path)
            if problem:
                yield _error(
                    Place(path), problem, "Replace the symlink with the file it should point to"
                )
        case "160000":
            yield _error(
                Place(path),
                "this is a submodule: its files are not part of this repository",
                "Copy its files into the package and remove the submodule",
            )
        case other:
            yield _error(
                Place(path), f"git mode {other!r} is not a file, symlink or submodule", "Remove it"
            )


class _Links:
    """Follows symlinks as a file system does, those on the way included."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._steps = LINK_STEPS

    def problem(self, path: str) -> str:
        """Return why a symlink is refused; "" if it is not."""
        return self.end(path)[1]

    def end(self, path: str) -> tuple[str, str]:
        """Return where a symlink leads, and why it is refused; "" if it is not."""
        at: list[str] = []
        left = path.split("/")[::-1]
        links = 0
        while left:
            part = left.pop()
            self._steps -= 1
            if self._steps < 0:
                return "", "the symlinks of this package form a loop"
            if part == ".." and not at:
                return "", _leads_out(self._files[path])
            if part == "..":
                at.pop()
            elif part not in ("", "."):
                at.append(part)
                entry = self._files.get("/".join(at))
                if entry is None or entry.mode != SYMLINK:
                    continue
                if len(entry.data) > PATH_BYTES:
                    return "", f"the target of the symlink has more than {PATH_BYTES} bytes"
                if entry.data.startswith(b"/"):
                    return "", _leads_out(entry)
                links += 1
                if links > _MOST_LINKS:
                    return "", "the symlink leads back to itself"
                at.pop()
                left += _parts(_target(entry))[::-1]
        return "/".join(at), ""


def _leads_out(link: Entry) -> str:
    return f"the symlink points outside the package, at {_target(link)!r}"


def _target(entry: Entry) -> str:
    return entry.data.decode("utf-8", "backslashreplace")


def upwards(path: str) -> Iterator[str]:
    """Return `path` and each folder above it, innermost first, the root ("") last."""
    while path:
        yield path
        path = folder(path)
    yield ""


def _parts(path: str) -> list[str]:
    return path.split("/")


def _mib(size: int) -> str:
    return f"{size / MIB:.1f} MiB"


def _error(place: Place, problem: str, fix: str) -> Finding:
    return Finding(message=problem, severity=Severity.ERROR, place=place, fix=fix)
