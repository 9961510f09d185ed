"""Reads what the Kptfiles of a commit say of their upstreams, those of subpackages too.

Only Kptfiles that differ from what was read before are read: of 5,000 packages mostly one.
"""

from collections.abc import Mapping
from typing import Protocol

from bot.git.port import Difference
from bot.store.values import UpstreamUse
from cadlib.errors import PackageError
from cadlib.kptfile import reader
from cadlib.kptfile.values import GitRef, Kptfile
from cadlib.package.files import KPTFILE
from lifecycle.upstreams.locations import locate

MOST_BYTES = 256 * 1024
"""Of a Kptfile: a hundred times the largest real one."""

MOST_TEXT = 1000
"""Characters of each part of an upstream; what is longer names nothing that anybody has."""


class DifferenceReader(Protocol):
    """What is asked of git; `History` is one."""

    def difference(self, before: str, after: str) -> Difference:
        """What differs between two commits; "" for nothing at all."""

    def blob(self, commit: str, path: str, most: int) -> bytes | None:
        """The first bytes of a file at a commit; None for none, or where it is no regular file."""


def changed(
    git: DifferenceReader, before: str, after: str
) -> Mapping[str, tuple[UpstreamUse, ...]]:
    """Return what Kptfiles say that differ between two commits, by package.

    Args:
        git: Where the trees are.
        before: What was read; "" for nothing at all.
        after: What is to be read.

    Returns:
        Package to its upstream and its lock; empty for one that has none, or is gone.
    """
    found = {}
    for path, there in git.difference(before, after).files.items():
        folder, _, name = path.rpartition("/")
        if name == KPTFILE and _plain(folder):
            found[folder] = of_package(git, after, folder) if there else ()
    return found


def of_package(git: DifferenceReader, commit: str, package: str) -> tuple[UpstreamUse, ...]:
    """Return what the Kptfile of a package says: its upstream, then its lock."""
    path = f"{package}/{KPTFILE}".lstrip("/")
    data = git.blob(commit, path, MOST_BYTES + 1)
    if data is None or len(data) > MOST_BYTES or b"upstream" not in data:
        return ()
    try:
        kptfile = reader.read(data, path)
    except PackageError:
        return ()  # it is no package that anybody could bring up to date
    return said_by(package, kptfile)


def said_by(package: str, kptfile: Kptfile) -> tuple[UpstreamUse, ...]:
    """Return what a Kptfile says: its upstream, then its lock."""
    sides = ((kptfile.upstream, False), (kptfile.upstream_lock, True))
    uses = (_use(package, ref, locked=locked) for ref, locked in sides if ref)
    return tuple(each for each in uses if each)


def _use(package: str, ref: GitRef, *, locked: bool) -> UpstreamUse | None:
    location = locate(ref.repo)
    parts = (ref.repo, ref.directory, ref.ref, ref.commit)
    if location is None or max(map(len, parts[:3])) > MOST_TEXT or not all(map(_plain, parts)):
        return None
    folder = ref.directory.strip("/").removeprefix("./")
    return UpstreamUse(
        package=package,
        place=str(location),
        directory="" if folder == "." else folder,
        ref=ref.ref,
        commit=ref.commit[:64],
        locked=locked,
    )


def _plain(text: str) -> bool:
    """Whether a text is kept as it is: git has names that are no UTF-8, YAML has NUL."""
    return "\0" not in text and text.encode("utf-8", "replace").decode() == text
