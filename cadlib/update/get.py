"""Getting a package: a new local one from a package in a repository, complete.

Rules
- The Kptfile is upstream's own text with the local name, the upstream and its lock put in.
  Upstream's namespace, its own upstream and what rendering left in it stay behind.
- Packages inside that are no more than an address (`upstream` without `upstreamLock`) are
  fetched too, and so are those inside of them.
- Nothing is added to any resource.

Source: kptdev/kpt, pkg/lib/util/get/get.go and fetch/fetch.go.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace

from cadlib.errors import PackageError, Place
from cadlib.kptfile import edit as kptfile_edit
from cadlib.kptfile import text as kptfile_text
from cadlib.kptfile.reader import API_VERSION, GitRef
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.merge import kptfile as kptfile_merge
from cadlib.merge.policy import ConflictPolicy
from cadlib.package import files as packages
from cadlib.package import ignore
from cadlib.package.files import KPTFILE, Entry
from cadlib.update.upstream import (
    STRATEGIES,
    Answer,
    Fetched,
    ProgressMessage,
    Step,
    fetch,
    is_unfetched,
    read_kptfile,
)
from cadlib.yaml import Value, emit
from cadlib.yaml import read as read_yaml


@dataclass(frozen=True, slots=True)
class Got:
    """A package that was fetched.

    Attributes:
        files: All its files, by path.
        packages: How many packages were fetched for it.
    """

    files: dict[str, Entry]
    packages: int


def get(
    upstream: GitRef, *, name: str, strategy: str = STRATEGIES[0], limits: PackageLimits = DEFAULT
) -> Generator[Step, Answer, Got]:
    """Fetch a package and all that belongs to it.

    Args:
        upstream: Where it is.
        name: What it is called here: the name of its folder.
        strategy: How it shall be updated later, one of `STRATEGIES`.
        limits: How much it may hold.

    Yields:
        `Fetch`, to be answered with a `Fetched`; `ProgressMessage`, to be shown.

    Raises:
        PackageError: Something is missing in the address, what came is no package, or a
            package is part of itself.
    """
    check(upstream, name=name)
    yield ProgressMessage(f'Package "{name}":')
    came = yield from _fetch(upstream, limits)
    files = dict(came.files)
    found = replace(upstream, ref=came.ref, commit=came.commit)
    data = _new_kptfile(files.get(KPTFILE), name)
    data = kptfile_edit.set_upstream(data, replace(upstream, commit=""), strategy)
    files[KPTFILE] = Entry(kptfile_edit.set_lock(data, found))
    count = 1
    fetched = {"": {upstream}}
    pending = _inside(files, "")
    while pending:
        package = pending.pop()
        wanted = _unfetched(files, package)
        chain = fetched[packages.owner_of(packages.folder(package), fetched) or ""]
        if wanted is not None:
            check(wanted, package, name=name)
            if wanted in chain:
                raise _endless(package, wanted)
            chain = chain | {wanted}
            yield ProgressMessage(f'\nPackage "{packages.join(name, package)}":')
            files |= yield from _fill(files, package, wanted, limits)
            count += 1
        fetched[package] = chain
        pending += _inside(files, package)
    yield ProgressMessage(f"\nFetched {count} package(s).")
    return Got(dict(sorted(files.items())), count)


def _fetch(wanted: GitRef, limits: PackageLimits) -> Generator[Step, Answer, Fetched]:
    yield ProgressMessage(f"Fetching {wanted.repo}@{wanted.ref}")
    came = yield from fetch(wanted, limits)
    yield ProgressMessage(f'Adding package "{wanted.directory.lstrip("/")}".')
    return came


def _fill(
    files: Mapping[str, Entry], package: str, wanted: GitRef, limits: PackageLimits
) -> Generator[Step, Answer, dict[str, Entry]]:
    """Fetch a package that is only an address so far; return its files, from the root."""
    came = yield from _fetch(wanted, limits)
    path = packages.join(package, KPTFILE)
    filled = {packages.join(package, each): entry for each, entry in came.files.items()}
    theirs = filled.get(path)
    data = files[path].data
    if theirs is not None:
        data, _ = kptfile_merge.merge(
            None, data, theirs.data, update_upstream=False, policy=ConflictPolicy.UPSTREAM
        )
    found = replace(wanted, ref=came.ref, commit=came.commit)
    filled[path] = replace(files[path], data=kptfile_edit.set_lock(data, found))
    return filled


def _inside(files: Mapping[str, Entry], package: str) -> list[str]:
    """Return the packages directly inside a package, the first one last."""
    return list(reversed(packages.subpackages(ignore.find(files, plain=True))[package]))


def _unfetched(files: Mapping[str, Entry], package: str) -> GitRef | None:
    kptfile = read_kptfile(files, package)
    return kptfile.upstream if kptfile is not None and is_unfetched(kptfile) else None


def _new_kptfile(theirs: Entry | None, name: str) -> bytes:
    """Return upstream's Kptfile as that of a new package, without an upstream yet."""
    if theirs is None:
        new: Value = {"apiVersion": API_VERSION, "kind": KPTFILE, "metadata": {"name": name}}
        return emit(new).encode()
    value = kptfile_text.document(read_yaml(theirs.data, path=KPTFILE))[1].value
    left_out = ("upstream", "upstreamLock", "status")
    kept = value.items() if isinstance(value, dict) else ()
    wanted: dict[str, Value] = {key: each for key, each in kept if key not in left_out}
    metadata = wanted.get("metadata")
    inner = metadata.items() if isinstance(metadata, dict) else ()
    kept_inside = {key: each for key, each in inner if key != "namespace"}
    wanted["metadata"] = {**kept_inside, "name": name}
    return kptfile_text.write(theirs.data, wanted)


def check(wanted: GitRef, package: str = "", *, name: str) -> None:
    """Refuse an incomplete upstream address, with kpt's message.

    Args:
        wanted: The address.
        package: In whose Kptfile it stands; "" for one that a person gave.
        name: What the package is called here.

    Raises:
        PackageError: Something is missing; says what.
    """
    missing = [field for field in ("repo", "ref", "directory") if not getattr(wanted, field)]
    if len(missing) == 3:
        missing = ["git repo information"]
    elif not name and missing in ([], ["directory"]):
        missing = ["destination"]  # where kpt asks for it
    for field in missing[:1]:
        raise PackageError(
            Place(packages.join(package, KPTFILE), field="upstream.git"),
            f"must specify {field}",
            "Say where the package comes from, and where it goes",
        )


def _endless(package: str, wanted: GitRef) -> PackageError:
    return PackageError(
        Place(packages.join(package, KPTFILE), field="upstream"),
        f"the package is fetched from {wanted.repo}{wanted.directory}@{wanted.ref}, which itself"
        " contains this package",
        "Remove the cycle upstream",
    )
