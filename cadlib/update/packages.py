"""Bringing a package up to a newer version of its upstream, subpackages included.

Everything happens in memory: either the whole update comes out, or an error and nothing.

Rules
- The package is merged with what its upstream was when it was last fetched (the lock) and
  what it is now. Then each subpackage that has an upstream of its own is brought up to that.
- Where what it was is gone, a strategy that takes upstream's files as they are goes on without.
- Such a subpackage follows the ref of the root package if it comes from the same repository,
  was at the same ref, and lies in the root package's folder there.

Source: kptdev/kpt, pkg/lib/update/update.go.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace

from cadlib.errors import PackageError, Place
from cadlib.kptfile import edit as kptfile_edit
from cadlib.kptfile.reader import GitRef, Kptfile
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.merge.conflicts import Conflict
from cadlib.merge.policy import ConflictPolicy
from cadlib.package import files as packages
from cadlib.package.files import KPTFILE, Entry, Files
from cadlib.update.merge import below, changes, merge_trees, no_origin, outermost, placed_in
from cadlib.update.strategies import ThreeWayFiles, assumed_origin
from cadlib.update.upstream import (
    STRATEGIES,
    Answer,
    Fetch,
    Fetched,
    GoneError,
    ProgressMessage,
    Step,
    fetch,
    read_kptfile,
    remote_packages,
)

__all__ = ["Fetch", "Fetched", "ProgressMessage", "Updated", "update"]


@dataclass(frozen=True, slots=True)
class Updated:
    """How an update ended.

    Attributes:
        changes: What to write: files by path, None for one to remove; only what differs.
        conflicts: Where both sides had changed the same, and what was chosen.
        packages: How many packages were brought up to their upstream.
        theirs: What came from upstream, by its path in the package.
    """

    changes: Mapping[str, Entry | None]
    conflicts: tuple[Conflict, ...]
    packages: int
    theirs: Files


def update(
    local: Files,
    *,
    name: str,
    ref: str = "",
    strategy: str = "",
    policy: ConflictPolicy = ConflictPolicy.UPSTREAM,
    limits: PackageLimits = DEFAULT,
) -> Generator[Step, Answer, Updated]:
    """Bring a package up to its upstream.

    Args:
        local: The package, subpackages included.
        name: Name of its folder, for messages.
        ref: Branch, tag or commit to go to, and to follow from now on; "" for the stored one.
        strategy: One of `STRATEGIES`, and the one to use from now on; "" for the stored one.
        policy: What counts where both sides changed the same.
        limits: How much a package may hold.

    Yields:
        `Fetch`, to be answered with a `Fetched`; `ProgressMessage`, to be shown.

    Raises:
        PackageError: The package has no upstream, the strategy does not allow it, a file is
            broken, or both sides added a package at one place.
    """
    run = _Run(local, name, policy, limits)
    kptfile = run.kptfile("")
    if kptfile.upstream is None:
        raise PackageError(
            Place(KPTFILE, field="upstream"),
            "package must have an upstream reference",
            "Get it with `pkg get`, or write `upstream` into the Kptfile",
        )
    before = kptfile.upstream
    run.set_ref("", ref, strategy)
    pending = [""]
    while pending:
        package = pending.pop()
        yield from run.bring_up(package)
        inside = run.remotes_in(package)
        for each in inside:
            if _follows(run.kptfile(each), before):
                run.set_ref(each, ref, strategy)
        pending += reversed(inside)
        run.count += 1
    return Updated(changes(local, run.files), tuple(run.conflicts), run.count, run.theirs)


def _follows(kptfile: Kptfile, root: GitRef) -> bool:
    upstream = kptfile.upstream
    return (
        upstream is not None
        and (upstream.repo, upstream.ref) == (root.repo, root.ref)
        and packages.within(upstream.directory.strip("/"), root.directory.strip("/"))
    )


class _Run:
    """One update: the package as it is so far, and what was found on the way."""

    def __init__(
        self, local: Files, name: str, policy: ConflictPolicy, limits: PackageLimits
    ) -> None:
        self.files = dict(local)
        self.conflicts: list[Conflict] = []
        self.theirs: dict[str, Entry] = {}
        self.count = 0
        self._name = name
        self._policy = policy
        self._limits = limits

    def kptfile(self, package: str) -> Kptfile:
        """Return the Kptfile of a local package."""
        found = read_kptfile(self.files, package)
        if found is None:
            raise PackageError(
                Place(packages.join(package, KPTFILE)),
                f'No Kptfile found at "{self._name}"',
                "Name the folder of a package",
            )
        return found

    def set_ref(self, package: str, ref: str, strategy: str) -> None:
        """Change where a package comes from, and how it merges; "" changes nothing."""
        kptfile = self.kptfile(package)
        if kptfile.upstream is None or not (ref or strategy):
            return
        upstream = replace(kptfile.upstream, ref=ref or kptfile.upstream.ref)
        wanted = strategy or kptfile.update_strategy or STRATEGIES[0]
        self._edit(package, lambda data: kptfile_edit.set_upstream(data, upstream, wanted))

    def remotes_in(self, package: str) -> list[str]:
        """Return the packages with an upstream below a package, none of them in another."""
        return outermost(remote_packages(self.files), package)

    def bring_up(self, package: str) -> Generator[Step, Answer, None]:
        """Bring one package up to its own upstream, and note in its lock what that was."""
        kptfile = self.kptfile(package)
        upstream = kptfile.upstream
        if upstream is None:
            raise TypeError(f"{package} has no upstream")
        shown = f"{self._name}/{package}" if package else self._name
        yield ProgressMessage(f'{"" if not package else chr(10)}Package "{shown}":')
        yield ProgressMessage(f"Fetching upstream from {upstream.repo}@{upstream.ref}")
        updated = yield from fetch(upstream, self._limits)
        self.theirs |= {packages.join(package, path): e for path, e in updated.files.items()}
        origin: Files = {}
        lock = kptfile.upstream_lock
        if lock is not None:
            yield ProgressMessage(f"Fetching origin from {upstream.repo}@{upstream.ref}")
            wanted = replace(lock, ref=lock.commit or lock.ref)
            try:
                origin = (yield from fetch(wanted, self._limits)).files
            except GoneError as error:
                strategy = kptfile.update_strategy or STRATEGIES[0]
                origin = assumed_origin(strategy, below(self.files, package), updated.files, error)
        elif kptfile.generic_lock is not None:
            with placed_in(package):
                raise no_origin("upstreamLock.generic")
        trees = ThreeWayFiles(origin, below(self.files, package), updated.files)
        with placed_in(package):
            outcome = merge_trees(trees, name=packages.name(shown), policy=self._policy)
        for line in outcome.said:
            yield ProgressMessage(line)
        whole = outcome.merged.instead_of(package, self.files)
        self.files = whole.files
        self.conflicts += whole.conflicts
        found = replace(upstream, ref=updated.ref, commit=updated.commit)
        self._edit(package, lambda data: kptfile_edit.set_lock(data, found))

    def _edit(self, package: str, change: Callable[[bytes], bytes]) -> None:
        path = packages.join(package, KPTFILE)
        self.files[path] = replace(self.files[path], data=change(self.files[path].data))
