"""Layers of an image, laid over one another in a folder that nothing can be led out of.

Rules
- A layer is not trusted: names, links, kinds and sizes are looked at before anything is made.
- A name is taken apart as text; one that climbs above the root refuses the image. Links that
  are in the way are followed as inside the image, with its root as theirs.
- Files, folders, symbolic links and hard links are made; devices, pipes and sockets are not.
- Owners, times of folders, extended attributes and the bits for set-user-id are dropped. All
  may read, nobody but the owner may write.
- A whiteout hides what lower layers brought, not what its own layer brings.
- What is unpacked is bounded in bytes, in entries, in length of names, and in what a header
  may take to read: tarfile reads headers into memory whole.
- So are the steps along paths and through folders: to hide folders over and over takes hours and
  no room. What streams may take is `packed`'s to say.
- It stops when the caller is no longer waiting for it.

Source: OCI image specification 1.1, "Image Layer Filesystem Changeset".
"""

import os
import posixpath
import shutil
import stat
import tarfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, cast

import zstandard

from fnrunner.contract.run import MIB
from fnrunner.images.packed import LayerError, Limited, Sent, StoppedError, plain

__all__ = ["LayerError", "StoppedError", "Tree", "UnpackLimits"]

_HIDE: Final = ".wh."
_HIDE_LOWER: Final = ".wh..wh..opq"
_OTHERS: Final = ".wh..wh."  # what aufs kept for itself
_LONGEST_PATH: Final = 4096
_LONGEST_PART: Final = 255
_LINKS: Final = 40  # symbolic links in one path, as Linux has it
_BLOCK: Final = 4096  # what an entry takes on disk at least
_DEEPEST: Final = 128  # folders within folders; Python removes them by recursion
_PIECE: Final = 256 * 1024
_BUFFER: Final = 64 * 1024
_MORE: Final = "Make it smaller, or ask an operator to raise the limit"
_LOOK: Final = 64  # steps between two looks whether anybody waits


@dataclass(frozen=True, slots=True)
class UnpackLimits:
    """How much an image may take unpacked.

    Attributes:
        size_bytes: All its files together, in blocks of 4096 bytes, and one block more for each.
        entries: Files, folders and links, those hidden again by higher layers included.
        sent_bytes: All its layers together, as they are sent.
        steps: Along paths and through folders; some ten for each entry are usual.
    """

    size_bytes: int = 2048 * MIB
    entries: int = 200_000
    sent_bytes: int = 1024 * MIB
    steps: int = 10_000_000


class _Own:
    """What a layer brings, and the folders that it stands in."""

    def __init__(self) -> None:
        self._paths: set[str] = set()

    def add(self, path: str) -> None:
        while path not in self._paths:
            self._paths.add(path)
            path = path.rpartition("/")[0]

    def __contains__(self, path: str) -> bool:
        return path in self._paths


class Tree:
    """A root folder that layers are laid into, lowest first; nobody else writes there meanwhile."""

    def __init__(
        self, root: Path, room: UnpackLimits, stopped: Callable[[], bool] = lambda: False
    ) -> None:
        """Begin with an empty folder.

        Args:
            root: The folder; it exists.
            room: How much may be put into it.
            stopped: Says that the caller is no longer waiting for it; asked often.
        """
        self._root = os.path.realpath(root)
        self._room = room
        self._stopped = stopped
        self._steps = 0
        self._sent = Sent(room.sent_bytes, stopped)
        self.size_bytes = 0
        self.entries = 0

    def add(self, layer: IO[bytes]) -> None:
        """Lay a layer over what is there.

        Args:
            layer: A tar archive, as it is or compressed by gzip or zstd; read from where it is.

        Raises:
            LayerError: It is broken, or not safe, or there is no room.
            StoppedError: Nobody waits for it any more.
        """
        try:
            most = self._room.size_bytes + self._room.entries * _BLOCK
            with plain(layer, self._sent, 2 * self._room.entries) as stream:
                self._lay(Limited(stream, most, self._sent))
        except (tarfile.TarError, EOFError, zlib.error, zstandard.ZstdError) as e:
            raise LayerError(f"a layer is not a complete archive: {e}") from e
        except RecursionError as error:
            raise LayerError("a layer has endless headers") from error
        except (UnicodeError, ValueError) as error:
            raise LayerError(f"a layer has a header that cannot be read: {error}") from error

    def folder(self, path: str) -> None:
        """Make sure that a folder is there, as seen inside; what is in its way stays."""
        with suppress(LayerError):  # the program will be told when it is started there
            self._parent(posixpath.normpath("/" + path).strip("/"))

    def _lay(self, stream: "Limited") -> None:
        own = _Own()
        plain = cast(IO[bytes], stream)  # of a stream, tarfile only reads
        with stream.header():  # opening reads the first one
            archive = tarfile.open(fileobj=plain, mode="r|", bufsize=_BUFFER, errorlevel=2)  # noqa: SIM115 - closed below
        with archive:
            while True:
                with stream.header():
                    entry = archive.next()
                if entry is None:
                    return
                self._count()
                self._entry(archive, entry, own)

    def _entry(self, archive: tarfile.TarFile, entry: tarfile.TarInfo, own: _Own) -> None:
        name = _name(entry.name)
        if entry.size < 0:
            raise LayerError(f"a layer has {entry.name!r} with a size below zero")
        if not name:
            return  # the root itself
        above, _, last = name.rpartition("/")
        if last == _HIDE_LOWER:
            self._hide_in(self._resolved(above), own)
        elif last.startswith(_OTHERS):
            return
        elif last.startswith(_HIDE):
            hidden = last[len(_HIDE) :]
            if hidden in ("", ".", ".."):
                raise LayerError(f"a layer hides {entry.name!r}, which lies outside of the image")
            self._hide(posixpath.join(self._resolved(above), hidden), own)
        else:
            self._make(archive, entry, self._parent(above), last, own)

    def _make(
        self,
        archive: tarfile.TarFile,
        entry: tarfile.TarInfo,
        parent: str,
        last: str,
        own: _Own,
    ) -> None:
        path = posixpath.join(parent, last)
        if entry.isdir():
            _clear(path, keep_folder=True)
            if not os.path.isdir(path):
                _make_folder(path)
        elif entry.isreg():
            _clear(path)
            self._write(archive, entry, path)
        elif entry.issym():
            _clear(path)
            os.symlink(_target(entry), path)
        elif entry.islnk():
            self._link(entry, path)
        else:
            return  # a device, a pipe
        own.add(path)

    def _write(self, archive: tarfile.TarFile, entry: tarfile.TarInfo, path: str) -> None:
        self._take(entry.size)
        content = archive.extractfile(entry)
        mode = 0o755 if entry.mode & 0o111 else 0o644
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, mode)
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)  # whatever our umask
            left = entry.size
            while left and content is not None:
                piece = content.read(min(_PIECE, left))
                if not piece:
                    raise LayerError("a layer is not a complete archive: it ends within a file")
                file.write(piece)
                left -= len(piece)
        # Programs look at times, such as Python for its compiled files.
        changed = int(min(max(entry.mtime, 0), 2**33))
        os.utime(path, (changed, changed))

    def _link(self, entry: tarfile.TarInfo, path: str) -> None:
        name = _name(entry.linkname)
        above, _, last = name.rpartition("/")
        target = posixpath.join(self._resolved(above), last)
        if not name or not os.path.lexists(target) or stat.S_ISDIR(os.lstat(target).st_mode):
            raise LayerError(
                f"a layer links {entry.name!r} to {entry.linkname!r}, which is not a file in"
                " the image"
            )
        if target == path:
            return
        _clear(path)
        os.link(target, path, follow_symlinks=False)

    def _parent(self, above: str) -> str:
        """Return the real folder for an entry, made where layers left it out."""
        real = self._root
        for part in self._resolved(above)[len(self._root) :].split("/")[1:]:
            real = posixpath.join(real, part)
            if not os.path.lexists(real):
                self._count()
                _make_folder(real)
            elif not os.path.isdir(real):
                raise LayerError(f"a layer puts something below {above!r}, which is not a folder")
        return real

    def _resolved(self, name: str) -> str:
        """Return where a name lies, links followed with the image's root as theirs.

        Source: openat2(2), RESOLVE_IN_ROOT, which Python does not offer.
        """
        real: list[str] = []
        left = [part for part in reversed(name.split("/")) if part]
        links = 0
        while left:
            self._step()
            part = left.pop()
            if part in ("", "."):
                continue
            if part == "..":
                real[-1:] = []
                continue
            path = posixpath.join(self._root, *real, part)
            if not os.path.islink(path):
                real.append(part)
                continue
            links += 1
            if links > _LINKS:
                raise LayerError(f"a layer has a loop of links at {name!r}")
            target = os.readlink(path)
            if target.startswith("/"):
                real = []
            left.extend(reversed(target.split("/")))
        if len(real) > _DEEPEST:
            raise LayerError(f"a layer has more than {_DEEPEST} nested folders")
        return "/".join((self._root, *real))

    def _hide_in(self, folder: str, own: _Own) -> None:
        if os.path.isdir(folder):
            for each in os.listdir(folder):
                self._step()
                self._hide(posixpath.join(folder, each), own)

    def _hide(self, path: str, own: _Own) -> None:
        """Remove what lower layers brought, and keep what this one did."""
        if path not in own:
            _clear(path)
        elif os.path.isdir(path) and not os.path.islink(path):
            self._hide_in(path, own)

    def _step(self) -> None:
        """Count a step along a path or through a folder, and see whether anybody waits."""
        self._steps += 1
        if self._steps > self._room.steps:
            raise LayerError("it takes more steps to unpack than any image needs")
        if self._steps % _LOOK == 0 and self._stopped():
            raise StoppedError

    def _count(self) -> None:
        self._step()
        self.entries += 1
        if self.entries > self._room.entries:
            raise LayerError(
                f"it has more than the {self._room.entries} files that are allowed", _MORE
            )
        self._take(_BLOCK)

    def _take(self, size: int) -> None:
        self.size_bytes += -(-size // _BLOCK) * _BLOCK
        if self.size_bytes > self._room.size_bytes:
            allowed = self._room.size_bytes / MIB
            raise LayerError(
                f"it takes more than the {allowed:g} MiB that are allowed, unpacked", _MORE
            )


def _name(text: str) -> str:
    """Return a name in a layer as a path below the root, "" for the root itself."""
    if "\0" in text:
        raise LayerError(f"a layer has the name {text!r}, which no file can have")
    name = posixpath.normpath(text.lstrip("/") or ".")
    if name == ".." or name.startswith("../"):
        raise LayerError(f"a layer has the name {text!r}, which lies outside of the image")
    long = len(os.fsencode(name)) > _LONGEST_PATH
    if long or any(len(os.fsencode(part)) > _LONGEST_PART for part in name.split("/")):
        raise LayerError(f"a layer has a name that is too long: {text[:64]!r}…")
    return "" if name == "." else name


def _target(entry: tarfile.TarInfo) -> str:
    """Return where a symbolic link points: anywhere, since it is followed inside only."""
    if not entry.linkname or "\0" in entry.linkname or len(entry.linkname) > _LONGEST_PATH - 1:
        raise LayerError(f"a layer has a link {entry.name!r} that leads nowhere")
    return entry.linkname


def _make_folder(path: str) -> None:
    os.mkdir(path)
    os.chmod(path, 0o755)  # noqa: S103 - whatever our umask, another user reads it


def _clear(path: str, *, keep_folder: bool = False) -> None:
    """Remove what is at a path, itself and not what it may point to."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISDIR(mode):
        os.unlink(path)
    elif not keep_folder:
        shutil.rmtree(path)
