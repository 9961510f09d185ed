"""Reads package folders into memory, and writes changed files crash-safely.

Rules:
- `.git` is no part of a package. Symlinks are read as links, never followed.
- At any moment each file is the old one or the new one, whole, whenever this process is killed.
  So a file is written beside its place and then moved there; but where its new text is no
  shorter and fits into one page, into the file itself: the kernel copies a page or does not, and
  that takes a seventh of the time. A file with several names (hard links) is never written into.
- What is removed goes last, and folders left empty with it.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from bot.cli import halves, progress
from cadlib.errors import PackageError, Place
from cadlib.package.files import EXECUTABLE, REGULAR, SYMLINK, Entry

_MANY = 200
"""Files from which a second process pays: making and moving one takes 100 µs, a process 5 ms."""

_PAGE = 4096
"""Bytes that every kernel copies into a file in one step: the smallest page there is."""

_FIX = "Make it readable, or remove it"


def read(root: Path) -> dict[str, Entry]:
    """Return the files below a folder, by path relative to it, sorted.

    Raises:
        PackageError: One of them cannot be read, or is neither a file nor a symlink.
    """
    return dict(sorted(_read(os.fspath(root), "")))


def _read(folder: str, prefix: str) -> Iterator[tuple[str, Entry]]:
    try:
        with os.scandir(folder) as found:
            for each in found:
                path = prefix + each.name
                if each.name == ".git":
                    continue
                if each.is_symlink():
                    yield path, Entry(os.fsencode(os.readlink(each.path)), SYMLINK)
                elif each.is_dir():
                    yield from _read(each.path, f"{path}/")
                elif each.is_file():
                    yield path, _entry(each.path)
                else:
                    raise PackageError(Place(path), "it is neither a file nor a symlink", _FIX)
    except OSError as error:
        place = Place(prefix + os.path.relpath(error.filename or folder, folder))
        raise PackageError(place, f"cannot be read: {error.strerror}", _FIX) from error


def _entry(path: str) -> Entry:
    with open(path, "rb", buffering=0) as file:
        executable = os.fstat(file.fileno()).st_mode & stat.S_IXUSR
        data = file.read()
    return Entry(data, EXECUTABLE if executable else REGULAR)


def write(root: Path, changes: Mapping[str, Entry | bytes | None]) -> None:
    """Write changed files below a folder.

    Args:
        root: The folder; made if it is not there.
        changes: By path relative to it: a file with its mode; new bytes for a file that keeps
            the mode it has; None to remove it.

    Raises:
        PackageError: One of them cannot be written. What was written before stays.
    """
    progress.at(f"writing {len(changes)} files")
    base = os.fspath(root)
    os.makedirs(base, exist_ok=True)
    new = [(path, each) for path, each in changes.items() if each is not None]
    half = len(new) // 2 if len(new) >= _MANY else 0
    if half:
        halves.both(partial(_write, base), new[:half], new[half:])
    else:
        _write(base, new)
    for path in (path for path, each in changes.items() if each is None):
        try:
            _remove(base, path)
        except OSError as error:
            raise _unwritten(path, error) from error


def _write(base: str, files: Sequence[tuple[str, Entry | bytes]]) -> bytes:
    """Write files; the result means nothing."""
    made: set[str] = set()
    for path, new in files:
        place = os.path.join(base, path)
        parent = os.path.dirname(place)
        try:
            if parent not in made:
                os.makedirs(parent, exist_ok=True)
                made.add(parent)
            _replace(place, new)
        except OSError as error:
            raise _unwritten(path, error) from error
    return b""


def _unwritten(path: str, error: OSError) -> PackageError:
    return PackageError(
        Place(path),
        f"cannot be written: {error.strerror}",
        "Make room for it, or let it be written",
    )


def _replace(place: str, new: Entry | bytes) -> None:
    if not isinstance(new, Entry) and len(new) <= _PAGE and _overwrite(place, new):
        return
    beside = f"{place}.porchbot-new"
    try:
        if isinstance(new, Entry) and new.mode == SYMLINK:
            if os.path.lexists(beside):
                os.unlink(beside)
            os.symlink(os.fsdecode(new.data), beside)
        else:
            with open(beside, "wb") as file:
                file.write(new.data if isinstance(new, Entry) else new)
                _liken(file.fileno(), place, new)
        os.replace(beside, place)
    except OSError:
        with suppress(OSError):
            os.unlink(beside)
        raise


def _overwrite(place: str, data: bytes) -> bool:
    """Write a text of one page into its file, where that cannot leave half of it; say if so."""
    try:
        file = os.open(place, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False  # there is none, it is a symlink, or it may be replaced only
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1 or found.st_size > len(data):
            return False
        return os.write(file, data) == len(data)
    finally:
        os.close(file)


def _liken(file: int, place: str, new: Entry | bytes) -> None:
    """Give a file the owner of the one in whose place it comes, and that one's mode or its own."""
    try:
        was = os.lstat(place)
    except FileNotFoundError:
        was = None
    if was is not None and (was.st_uid, was.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):  # only root may give files away
            os.fchown(file, was.st_uid, was.st_gid)
    if isinstance(new, Entry):
        if new.mode == EXECUTABLE:
            os.fchmod(file, 0o755)
    elif was is not None:
        os.fchmod(file, stat.S_IMODE(was.st_mode))


def _remove(base: str, path: str) -> None:
    place = os.path.join(base, path)
    os.unlink(place)
    folder = os.path.dirname(path)
    while folder:
        try:
            os.rmdir(os.path.join(base, folder))
        except OSError:
            return  # it is not empty
        folder = os.path.dirname(folder)
