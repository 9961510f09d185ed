"""What stands in the store of images: its metadata, files, folders and locks."""

import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

TOUCH: Final = 60.0
"""Seconds: an image used again sooner keeps its place in the order."""


class ImageStoreError(Exception):
    """The folder cannot be used; an operator must change something."""

    def __init__(self, folder: Path, problem: str, fix: str) -> None:
        super().__init__(f"{folder}: {problem}. {fix}.")
        self.problem = f"the folder of images {folder} {problem}"
        self.fix = fix


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageMetadata:
    """Metadata of a stored image.

    Attributes:
        image: Digest of the image's own manifest, which an index may have led to.
        argv: Its program and arguments.
        environment: Its variables, "NAME=value", in order.
        folder: Its working directory.
        user: Who it wants to be.
        size_bytes: What it takes on disk.
    """

    image: str
    argv: tuple[str, ...]
    environment: tuple[str, ...] = ()
    folder: str = "/"
    user: str = ""
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ResolvedName:
    """The digest that a name resolved to, and when.

    Attributes:
        digest: Of the manifest.
        age: How long ago it was asked, in seconds; below zero if the clock was set back.
    """

    digest: str
    age: float


def seal(root: Path) -> str:
    """Return a digest over what files there are, and their kinds, sizes, times and links."""
    digest = hashlib.sha256()
    if not root.is_dir():
        return ""
    left = [os.fspath(root)]
    while left:
        folder = left.pop()
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                found = entry.stat(follow_symlinks=False)
                line = [os.path.relpath(entry.path, root), stat.S_IFMT(found.st_mode)]
                if entry.is_symlink():
                    line.append(os.readlink(entry.path))
                elif entry.is_dir(follow_symlinks=False):
                    left.append(entry.path)
                else:
                    line += [found.st_size, found.st_mtime_ns, stat.S_IMODE(found.st_mode)]
                digest.update(json.dumps(line).encode())
    return digest.hexdigest()


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, open for all to read."""
    missing = []
    each = folder
    while not each.exists():
        missing.append(each)
        each = each.parent
    for each in reversed(missing):
        try:
            each.mkdir(0o755)
            each.chmod(0o755)
        except FileExistsError:
            continue


def check_readable(folder: Path) -> None:
    """Raise ImageStoreError unless every user may enter a folder."""
    real = folder.resolve()
    for each in (real, *real.parents):
        if not each.stat().st_mode & stat.S_IXOTH:
            raise ImageStoreError(
                folder,
                f"lies in {each}, which other users cannot enter: root's sandbox runs as"
                " another user",
                "Choose a folder that everyone can enter, such as /var/cache/porchbot/images",
            )


def locked(lock: int, kind: int) -> bool:
    """Try to take a lock, and tell whether that worked."""
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sole(path: Path) -> int:
    """Return a new lock, held alone; one that is swept away before it is held is made again."""
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if path.stat().st_ino == os.fstat(lock).st_ino:
                return lock
        os.close(lock)


def touch(path: Path, now: float) -> None:
    """Note that an image was used now."""
    try:
        if abs(now - path.stat().st_mtime) < TOUCH:
            return
    except FileNotFoundError:
        path.touch()
    os.utime(path, (now, now))


def mark(path: Path, text: str) -> None:
    """Write a small file, unless it is there."""
    if not path.exists():
        path.write_text(text)


def read_json(path: Path) -> dict[str, Any]:
    """Return the mapping in a file; an empty one if it cannot be read."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def sync(folder: Path) -> None:
    """Write the entries of a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def size_bytes(entry: Path) -> int:
    """Return the size of a stored image, as its metadata has it."""
    size = read_json(entry / "about.json").get("size_bytes")
    return size if isinstance(size, int) else 0


def check_wanted(cancelled: Callable[[], bool]) -> None:
    """Raise InterruptedError once nobody waits any more."""
    if cancelled():
        raise InterruptedError


def name_key(name: str) -> str:
    """Return what stands for a name in the names of files."""
    return hashlib.sha256(name.encode()).hexdigest()
