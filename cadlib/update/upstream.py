"""Values between `get` or `update` and its driver: fetches, fetched packages, progress.

`get` and `update` are generators. They yield a `Fetch` where they need a package from a
repository and are sent a `Fetched` for it, or why there is none is thrown into them; they yield a
`ProgressMessage` where there is something to tell a person, and are sent None. Who drives them has
the network, the disk and the terminal.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from cadlib.errors import PackageError, Place
from cadlib.kptfile import reader as kptfiles
from cadlib.kptfile.reader import GitRef, Kptfile
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.package import files as packages
from cadlib.package import ignore
from cadlib.package.files import KPTFILE, Files

Y = TypeVar("Y")
A = TypeVar("A")
T = TypeVar("T")

STRATEGIES = ("resource-merge", "fast-forward", "force-delete-replace", "copy-merge")
"""How an update merges; the first is taken where a Kptfile names none."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """A request to fetch a package.

    Attributes:
        repo: Address of a git repository, as a Kptfile or a person writes it.
        directory: Folder in it; "/" or "" for the whole repository.
        ref: Branch, tag or commit; tags are looked for with the directory in front first.
    """

    repo: str
    directory: str
    ref: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """A fetched package.

    Attributes:
        files: Its files, relative to the folder that was asked for.
        commit: The commit they are of, in full; of an annotated tag, what it points to.
        ref: The ref that was found, such as "net/v1" where "v1" was asked for.
    """

    files: Files
    commit: str
    ref: str


@dataclass(frozen=True, slots=True)
class ProgressMessage:
    """A progress message without line feed; kpt's wording where kpt has one."""

    text: str


Step: TypeAlias = Fetch | ProgressMessage
Answer: TypeAlias = Fetched | None


class GoneError(PackageError):
    """What is to be fetched is not there, and does not come by trying again."""


class OriginGoneError(GoneError):
    """What a package was made from is gone, and its strategy needs it."""


def resume(steps: Generator[Y, A, T], answer: A | PackageError) -> Y:
    """Send an answer to steps, or throw in why there is none; return what they yield next."""
    return steps.throw(answer) if isinstance(answer, PackageError) else steps.send(answer)


def fetch(wanted: GitRef, limits: PackageLimits = DEFAULT) -> Generator[Step, Answer, Fetched]:
    """Fetch a package; return it without files that no package may contain.

    Args:
        wanted: From where; a commit in it is not looked at, only the ref.
        limits: How much it may hold.

    Raises:
        PackageError: What came is no package that can be kept.
    """
    came = yield Fetch(wanted.repo, wanted.directory, wanted.ref)
    if came is None:
        raise TypeError("a Fetch is answered with a Fetched")
    left_out = packages.unkept(came.files)
    for path, why in left_out.items():
        yield ProgressMessage(f"[Warn] Ignoring {why} {path!r}")
    files = {path: entry for path, entry in came.files.items() if path not in left_out}
    for finding in packages.unsafe(files, limits):
        raise PackageError(_place(wanted, finding.place), finding.message, finding.fix)
    try:
        remote_packages(files)  # reads each Kptfile
        read_kptfile(files)
    except PackageError as error:
        raise PackageError(_place(wanted, error.place), error.problem, error.fix) from error
    return Fetched(files, came.commit, came.ref)


def _place(wanted: GitRef, place: Place) -> Place:
    """Return a place in a package that was fetched, told from one in the local package."""
    package = "/".join(part for part in (wanted.repo, wanted.directory.strip("/")) if part)
    return Place(f"{package}@{wanted.ref}/{place.path}", place.line, place.field)


def read_kptfile(files: Files, package: str = "") -> Kptfile | None:
    """Return the Kptfile of a package in a tree; None if there is none."""
    path = packages.join(package, KPTFILE)
    entry = files.get(path)
    return None if entry is None else kptfiles.read(entry.data, path)


def remote_packages(*trees: Files) -> frozenset[str]:
    """Return the packages below the root that have an upstream in one of the trees."""
    return frozenset(
        each
        for tree in trees
        for each in ignore.find(tree, plain=True)
        if each and _has_upstream(tree, each)
    )


def _has_upstream(files: Files, package: str) -> bool:
    kptfile = read_kptfile(files, package)
    return kptfile is not None and kptfile.upstream is not None


def is_unfetched(kptfile: Kptfile | None) -> bool:
    """Tell whether a package names an upstream that was never fetched."""
    return kptfile is not None and kptfile.upstream is not None and kptfile.upstream_lock is None
