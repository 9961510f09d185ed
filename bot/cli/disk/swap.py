"""Atomic changes to a package on disk: a process that is killed leaves the old or the new one.

Where the system can exchange two folders in one step (Linux), the new package is made beside
the old one, of links to the files that stay, and takes its place when it is complete. That is
not done to the folder that somebody stands in, who would be left in a deleted one, nor to a
folder with a `.git` in it.

Everywhere else files are replaced one by one, each whole at any moment, the Kptfiles last. A
package whose update was killed then still names the version it had: the same update again
finds some changes made already, and finishes.
"""

import os
import shutil
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from bot.cli.disk import folder
from cadlib.package.files import EXECUTABLE, KPTFILE, SYMLINK, Entry, name

_Changes: TypeAlias = Mapping[str, Entry | bytes | None]

_EXCHANGE = 2  # RENAME_EXCHANGE, from linux/fs.h
_HERE = -100  # AT_FDCWD, from fcntl.h


def write(root: Path, changes: Mapping[str, Entry | None]) -> None:
    """Write changed files below a folder.

    Args:
        root: The folder; made if it is not there.
        changes: By path relative to it; None to remove a file.

    Raises:
        PackageError: One of them cannot be written.
    """
    wanted = {path: _with_its_mode(root / path, entry) for path, entry in changes.items()}
    if not changes or (_exchangeable(root) and _exchange(root, wanted)):
        return
    kptfiles = {path: new for path, new in wanted.items() if name(path) == KPTFILE}
    folder.write(root, {path: new for path, new in wanted.items() if path not in kptfiles})
    folder.write(root, kptfiles)


def _with_its_mode(path: Path, entry: Entry | None) -> Entry | bytes | None:
    """Return only the bytes for a file that may keep its mode: one for its owner stays so."""
    if entry is None or not path.is_file() or path.is_symlink() or entry.mode == SYMLINK:
        return entry
    executable = bool(path.stat().st_mode & stat.S_IXUSR)
    return entry.data if executable == (entry.mode == EXECUTABLE) else entry


def _exchangeable(root: Path) -> bool:
    if not sys.platform.startswith("linux") or root.is_symlink() or not root.is_dir():
        return False
    inside = Path.cwd().is_relative_to(root.resolve())
    return not inside and not (root / ".git").exists() and not os.path.ismount(root)


def _exchange(root: Path, changes: _Changes) -> bool:
    """Make the changed package beside the old one and exchange them; say if that was possible."""
    beside = root.with_name(f".{root.name}.porchbot-update")
    try:
        _remove(beside)  # of an update that was killed
        _link(str(root), str(beside), changes, "")
        folder.write(beside, {path: new for path, new in changes.items() if new is not None})
        return _rename(root, beside)
    except OSError:
        return False  # no such folder may be made, or no links: one file after the other, then
    finally:
        _remove(beside)


def _remove(root: Path) -> None:
    """Remove a folder, also where folders in it are read-only, as those of the package are."""
    for each, _, _ in os.walk(root):
        with suppress(OSError):
            os.chmod(each, 0o700)
    shutil.rmtree(root, ignore_errors=True)


def _link(source: str, target: str, changes: _Changes, prefix: str) -> None:
    """Make a folder with the files of another that do not go; a folder left empty is not."""
    os.mkdir(target)
    kept = 0
    with os.scandir(source) as found:
        for each in found:
            path = prefix + each.name
            place = f"{target}/{each.name}"
            if each.is_dir(follow_symlinks=False):
                _link(each.path, place, changes, f"{path}/")
                kept += os.path.lexists(place)
            elif changes.get(path, b"") is not None:
                os.link(each.path, place, follow_symlinks=False)
                kept += 1
    if prefix and not kept and _had_files(source):
        os.rmdir(target)
        return
    shutil.copystat(source, target)
    old, new = os.stat(source), os.stat(target)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        os.chown(target, old.st_uid, old.st_gid)


def _had_files(path: str) -> bool:
    with os.scandir(path) as found:
        return next(found, None) is not None


def _rename(one: Path, other: Path) -> bool:
    import ctypes  # not needed by any other command

    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 is None:
        return False
    failed: int = renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)
    return not failed
