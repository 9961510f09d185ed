"""Unpacked images in a folder, by digest: whole or not there, shared by processes, bounded.

    images/sha256/HEX/root, about.json    one image, unpacked; HEX is the digest asked for
    images/tags/HEX.json                  what a name meant lately; HEX is of the name
    images/locks/HEX                      held shared while the image runs, alone to change it
    images/locks/HEX-HEX                  held by who makes it from a repository
    images/aside/…                        what is being made, or removed

Rules
- An image is made aside and moved to its place in one step, so that a crash at any moment leaves
  nothing that is taken for whole; what it leaves aside, the next one removes.
- `about.json` holds a seal over the kinds, sizes, times and links of all files. It is looked at
  when a process first uses an image; what a crash of the machine cut short, or somebody changed,
  is then brought again.
- Which repositories had an image is kept: the same digest under another name is asked for once,
  so that nobody runs an image by a name that it does not have.
- Images used longest ago go first, never one that is held; also by another process.
"""

import fcntl
import json
import logging
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from fnrunner.contract.run import MIB
from fnrunner.images.folders import (
    TOUCH,
    ImageMetadata,
    ImageStoreError,
    ResolvedName,
    check_readable,
    check_wanted,
    locked,
    make_folder,
    mark,
    name_key,
    read_json,
    seal,
    size_bytes,
    sole,
    sync,
    touch,
)

_log = logging.getLogger(__name__)

_FORM: Final = 1  # of about.json; another number means another layout
_POLL: Final = 0.02  # seconds between two looks at a lock that another process holds
_MEANT: Final = 7 * 86_400.0  # seconds that a name is known for without its image


class Lease:
    """An image that stays while this is held."""

    def __init__(self, root: Path, about: ImageMetadata, lock: int) -> None:
        self.root = root
        self.about = about
        self._lock = lock

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def release(self) -> None:
        """Let it go; the second time does nothing."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


Make = Callable[[Path], ImageMetadata]
"""Fills an empty folder with the files of an image. Its errors are the caller's."""


class ImageStore:
    """A folder of unpacked images."""

    def __init__(
        self,
        folder: Path,
        size_bytes: int = 10 * 1024 * MIB,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open it; it is made when it is not there.

        Args:
            folder: Where.
            size_bytes: How much the images may take together. The image just brought stays in
                any case.
            clock: Seconds since 1970.

        Raises:
            ImageStoreError: It cannot be written, or the sandbox's user could not read it.
        """
        self._folder = folder
        self._size = size_bytes
        self._clock = clock
        self._seen: set[str] = set()
        try:
            self._ready()
        except OSError as error:
            raise ImageStoreError(
                folder, f"cannot be written: {error.strerror}", "Choose another folder"
            ) from error
        if os.geteuid() == 0:  # the sandbox then becomes another user, who reads what is here
            check_readable(folder)

    def looked_at(self, digest: str) -> bool:
        """Tell whether an image was looked at before, so that `lease` takes no time."""
        return digest in self._seen

    def lease(self, digest: str, repository: str = "") -> Lease | None:
        """Return an image that is here, or None.

        Args:
            digest: "sha256:…" as asked for.
            repository: Full name without tag; None is returned where the image was never
                brought from there. "" for any.
        """
        entry = self._entry(digest)
        if not entry.exists():  # a lock would stay behind for whatever digests packages name
            return None
        try:
            lock = self._open_lock(digest)
        except ImageStoreError:  # `add` tells
            return None
        if not locked(lock, fcntl.LOCK_SH):
            os.close(lock)  # somebody brings it, or removes it
            return None
        about = self._about(entry, digest)
        if about is None or (repository and not (entry / "from" / name_key(repository)).exists()):
            os.close(lock)
            return None
        touch(entry / "used", self._clock())
        return Lease(entry / "root", about, lock)

    def had(self, digest: str, repository: str) -> bool:
        """Tell whether an image that is here was brought from a repository, by its full name."""
        return (self._entry(digest) / "from" / name_key(repository)).exists()

    def add(self, digest: str, repository: str, make: Make, cancelled: Callable[[], bool]) -> Lease:
        """Return an image, made where it is not here; only one of all processes makes it.

        Args:
            digest: "sha256:…" as asked for.
            repository: Where it comes from: full name without tag.
            make: Fills a folder.
            cancelled: Says that nobody waits any longer.

        Raises:
            InterruptedError: Nobody waits any longer.
            ImageStoreError: The disk is full, or cannot be written.
        """
        lock = self._open_lock(digest)
        entry = self._entry(digest)
        try:
            about = self._held(entry, digest, lock)
            if about is None:
                with self._sole_maker(digest, repository, cancelled):
                    about = self._held(entry, digest, lock)
                    if about is None:
                        about = self._got(entry, digest, lock, make, cancelled)
            mark(entry / "from" / name_key(repository), repository)
            touch(entry / "used", self._clock())
        except OSError as error:
            os.close(lock)
            if isinstance(error, InterruptedError):
                raise
            raise self._unusable(error) from error
        except BaseException:
            os.close(lock)
            raise
        try:
            self.trim()
        except (OSError, ImageStoreError) as error:  # what was brought is there all the same
            _log.warning("the image folder %s cannot be cleaned up: %s", self._folder, error)
        return Lease(entry / "root", about, lock)

    def _held(self, entry: Path, digest: str, lock: int) -> ImageMetadata | None:
        """Return an image that is whole, held shared; None, and nothing held, where it is not."""
        if not locked(lock, fcntl.LOCK_SH):
            return None
        about = self._about(entry, digest)
        if about is None:
            fcntl.flock(lock, fcntl.LOCK_UN)  # or two who wait would wait for one another
        return about

    @contextmanager
    def _sole_maker(
        self, digest: str, repository: str, cancelled: Callable[[], bool]
    ) -> Iterator[None]:
        """Be the only one of all processes who makes an image from a repository.

        Another repository may bring the same image meanwhile: this one may never end.
        """
        lock = self._open_lock(f"{digest}-{name_key(repository)}")
        try:
            while not locked(lock, fcntl.LOCK_EX):
                check_wanted(cancelled)
                time.sleep(_POLL)
            yield
        finally:
            os.close(lock)

    def _got(
        self, entry: Path, digest: str, lock: int, make: Make, cancelled: Callable[[], bool]
    ) -> ImageMetadata:
        """Make an image, and return it held shared; or the one that somebody else made first."""
        with self._aside() as aside:
            made = self._made(aside, digest, make)
            while True:
                about = self._held(entry, digest, lock)
                if about is not None:
                    return about
                check_wanted(cancelled)
                if made and locked(lock, fcntl.LOCK_EX):
                    if self._about(entry, digest) is None:
                        self._moved(aside, entry, digest)
                        made = False
                    fcntl.flock(lock, fcntl.LOCK_UN)
                elif not made:
                    raise InterruptedError  # it was removed at once; whoever asks makes it again
                else:
                    time.sleep(_POLL)

    def known(self, image: str) -> ResolvedName | None:
        """Return what a name meant when it was last asked for, or None."""
        found = read_json(self._folder / "tags" / f"{name_key(image)}.json")
        digest, when = found.get("digest"), found.get("when")
        if found.get("image") != image or not isinstance(digest, str):
            return None
        return ResolvedName(digest, self._clock() - when) if isinstance(when, float) else None

    def remember(self, image: str, digest: str) -> None:
        """Keep what a name means now; where that cannot be written it is asked again."""
        path = self._folder / "tags" / f"{name_key(image)}.json"
        try:
            self._ready()
            self._write(path, {"image": image, "digest": digest, "when": self._clock()})
        except OSError as error:
            _log.warning("the digest of %s cannot be stored in %s: %s", image, self._folder, error)

    def trim(self) -> None:
        """Remove images beyond the size, those used longest ago first, and leavings."""
        self._sweep()
        entries = [(used, entry, size_bytes(entry)) for used, entry in self._entries()]
        held = sum(size for _, _, size in entries)
        for _, entry, size in sorted(entries):
            if held <= self._size:
                return
            if self.remove(f"sha256:{entry.name}"):
                held -= size

    def remove(self, digest: str) -> bool:
        """Remove an image, unless it is held; return whether it is gone."""
        lock = self._open_lock(digest)
        try:
            if not locked(lock, fcntl.LOCK_EX):
                return False
            entry = self._entry(digest)
            if entry.exists():
                with self._aside() as aside:
                    os.rename(entry, aside / "old")
            return True
        finally:
            os.close(lock)

    def _made(self, aside: Path, digest: str, make: Make) -> bool:
        """Make an image in a folder of its own; return that it is there."""
        new = aside / "new"
        for name in ("", "root", "from"):
            (new / name).mkdir()
            (new / name).chmod(0o755)  # whatever our umask
        about = make(new / "root")
        self._write(
            new / "about.json",
            {"form": _FORM, "digest": digest, "seal": seal(new / "root"), **asdict(about)},
        )
        return True

    def _moved(self, aside: Path, entry: Path, digest: str) -> None:
        """Move an image to its place, over one that is not whole."""
        if entry.exists():
            os.rename(entry, aside / "old")
        os.rename(aside / "new", entry)
        sync(entry.parent)
        self._seen.add(digest)

    def _about(self, entry: Path, digest: str) -> ImageMetadata | None:
        """Return what is kept about an image that is whole, or None."""
        found = read_json(entry / "about.json")
        if found.get("form") != _FORM or found.get("digest") != digest:
            return None
        if digest not in self._seen or not (entry / "root").is_dir():
            if seal(entry / "root") != found.get("seal"):
                _log.warning("%s was changed after it was unpacked: it is pulled again", entry)
                return None
            self._seen.add(digest)
        try:
            return ImageMetadata(
                image=str(found["image"]),
                argv=tuple(found["argv"]),
                environment=tuple(found["environment"]),
                folder=str(found["folder"]),
                user=str(found["user"]),
                size_bytes=int(found["size_bytes"]),
            )
        except (KeyError, TypeError, ValueError):
            return None

    def _entry(self, digest: str) -> Path:
        return self._folder / "sha256" / digest.partition(":")[2]

    def _entries(self) -> Iterator[tuple[float, Path]]:
        for entry in (self._folder / "sha256").iterdir():
            try:
                yield (entry / "used").stat().st_mtime, entry
            except FileNotFoundError:
                yield 0.0, entry

    def _open_lock(self, digest: str) -> int:
        path = self._folder / "locks" / digest.partition(":")[2]
        try:
            self._ready()
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unusable(error) from error

    def _ready(self) -> None:
        """Make the folders that are not there: whoever wants room may empty a cache at any time."""
        for name in ("sha256", "tags", "locks", "aside"):
            make_folder(self._folder / name)

    def _unusable(self, error: OSError) -> ImageStoreError:
        problem = f"cannot be written: {error.strerror or error}"
        return ImageStoreError(self._folder, problem, "Free disk space")

    @contextmanager
    def _aside(self) -> Iterator[Path]:
        """Give a folder that is removed at the end, by somebody else if we are killed."""
        path = self._folder / "aside" / secrets.token_hex(8)
        lock = sole(path.with_suffix(".lock"))
        try:
            path.mkdir(0o755)
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
            path.with_suffix(".lock").unlink(missing_ok=True)
            os.close(lock)

    def _sweep(self) -> None:
        """Remove what killed processes left aside, and what names meant whose images are gone."""
        for each in (self._folder / "tags").iterdir():
            with suppress(FileNotFoundError):  # another process tidies, too
                old = self._clock() - each.stat().st_mtime > _MEANT
                if old and not self._entry(str(read_json(each).get("digest", ":none"))).exists():
                    each.unlink()
        for each in (self._folder / "aside").glob("*.json"):
            with suppress(FileNotFoundError):  # its writer has moved it to its place
                if time.time() - each.stat().st_mtime > TOUCH:  # written within a moment
                    each.unlink()
        for each in (self._folder / "aside").glob("*.lock"):
            try:
                lock = os.open(each, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            if locked(lock, fcntl.LOCK_EX):
                shutil.rmtree(each.with_suffix(""), ignore_errors=True)
                each.unlink(missing_ok=True)
            os.close(lock)

    def _write(self, path: Path, value: Mapping[str, Any]) -> None:
        """Write a file that is whole or not there, also after a crash of the machine."""
        aside = self._folder / "aside" / f"{secrets.token_hex(8)}.json"
        try:
            with aside.open("xb") as file:
                file.write(json.dumps(value).encode())
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, path)
        finally:
            aside.unlink(missing_ok=True)
