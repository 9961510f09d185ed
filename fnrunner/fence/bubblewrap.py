"""The bubblewrap command line: what a sandboxed program sees of the machine.

Rules
- Options go through a file in memory, so that no other user can read a function's environment
  among this machine's processes; bubblewrap itself gets an empty environment.
- The root is read-only. Writable are `/tmp` and `/dev/shm`, in memory, each with a size.
- `/dev` has what functions use, and no terminals: the kernel keeps buffers for each that is opened,
  and counts them nowhere. Where nobody counts memory that belongs to no process, `/dev/zero` is
  `/dev/full`, which reads the same and cannot be mapped.
- A root folder without plain folders `proc`, `dev` and `tmp` is shown entry by entry: nothing is
  ever made in it, and a link of these names in an image leads nowhere.
- Where the sandbox's user is another than ours, that user must be able to reach what is shown.

Source: bwrap(1).
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

OURS: Final = frozenset(("proc", "dev", "tmp"))
"""Folders of the root that every sandbox has of its own."""

SHM_BYTES: Final = 1024 * 1024
"""Size of `/dev/shm`; `/tmp` is the place for files."""

NOBODY: Final = 65534
"""User and group inside, as kpt runs functions (`--user nobody`)."""

NEEDED: Final = frozenset(
    (
        "--size",
        "--perms",
        "--clearenv",
        "--args",
        "--info-fd",
        "--block-fd",
        "--remount-ro",
        "--seccomp",
    )
)
"""Options that a bubblewrap must know to be of use."""

# What programs of this machine need to be loaded. Nothing else in /etc: it holds secrets.
_HOST: Final = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
_HOST_FILES: Final = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime")
_DEVICES: Final = ("null", "zero", "full", "random", "urandom")
_STREAMS: Final = {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}
_NETWORK_FILES: Final = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")
_CERTIFICATES: Final = ("/etc/ssl", "/etc/pki", "/etc/ca-certificates")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program to run in a sandbox.

    Attributes:
        argv: The program and its arguments, as seen inside.
        root: Folder that is its read-only root (an unpacked image). None shows what programs
            of this machine need to be loaded: `/usr`, `/bin`, `/lib…` and the loader's files.
        environment: Its variables, these and `PWD` only.
        folder: Working directory inside.
        binds: Files and folders shown read-only at their own paths; for programs without a
            root of their own.
        network: It may use the network of this machine, loopback included.
    """

    argv: tuple[str, ...]
    root: Path | None = None
    environment: Mapping[str, str]
    folder: str = "/"
    binds: tuple[Path, ...] = ()
    network: bool = False


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """An installed bubblewrap.

    Attributes:
        path: The program.
        options: All options it knows, such as "--ro-bind-fd".
        unseen: Nobody counts memory that belongs to no process, so that there shall be none.
    """

    path: str
    options: frozenset[str]
    unseen: bool = False

    def arguments(self, program: Program, temporary_bytes: int) -> list[str]:
        """Return the options for a program, without the program itself.

        Args:
            program: What is to run.
            temporary_bytes: Size of its `/tmp`.

        Raises:
            OSError: Its root cannot be read.
            ValueError: A variable cannot be set, or an argument holds a zero byte.
        """
        arguments = [
            *("--unshare-all", "--unshare-user", "--die-with-parent", "--new-session"),
            *("--cap-drop", "ALL", "--uid", str(NOBODY), "--gid", str(NOBODY)),
            *("--hostname", "function"),
        ]
        if program.network:
            arguments.append("--share-net")
        if "--disable-userns" in self.options:
            arguments.append("--disable-userns")
        arguments += _root(program)
        arguments += (
            *("--proc", "/proc"),
            *self._devices(),
            *("--perms", "1777", "--size", str(SHM_BYTES), "--tmpfs", "/dev/shm"),  # noqa: S108 - not ours
            *("--remount-ro", "/dev"),
            *("--perms", "1777", "--size", str(temporary_bytes), "--tmpfs", "/tmp"),  # noqa: S108 - not ours
        )
        for path in program.binds:
            arguments += _bind(path, str(path))
        arguments += ("--remount-ro", "/", "--chdir", program.folder, "--clearenv")
        for name, value in sorted(program.environment.items()):
            if not name or "=" in name:
                raise ValueError(f"{name!r} is not a valid name for an environment variable")
            arguments += ("--setenv", name, value)
        if any("\0" in argument for argument in (*arguments, *program.argv)):
            raise ValueError("an argument or a variable holds a zero byte")
        return arguments

    def _devices(self) -> Iterator[str]:
        yield from ("--size", str(SHM_BYTES), "--tmpfs", "/dev")
        for name in _DEVICES:
            shown = "full" if self.unseen and name == "zero" else name
            yield from ("--dev-bind", f"/dev/{shown}", f"/dev/{name}")
        for name, number in _STREAMS.items():
            yield from ("--symlink", f"/proc/self/fd{number}", f"/dev/{name}")


def closed(program: Program) -> Path | None:
    """Return a folder or file that keeps other users from what a program is shown, if any."""
    for shown in (program.root, *program.binds):
        if shown is None:
            continue
        real = shown.resolve()
        for each in (*reversed(real.parents), real):
            if not each.stat().st_mode & stat.S_IXOTH and each.is_dir():
                return each
    return None


def _root(program: Program) -> list[str]:
    if program.root is None:
        return [*_host(), *(_network(_CERTIFICATES) if program.network else ())]
    root = program.root.absolute()
    if not program.network and all(_is_folder(root / name) for name in OURS):
        return _bind(root, "/")
    arguments = list(_entries(root, "", OURS))
    if program.network:
        if _is_folder(root / "etc"):
            skipped = frozenset(Path(file).name for file in _NETWORK_FILES)
            arguments = list(_entries(root, "", OURS | {"etc"}))
            arguments += _entries(root / "etc", "/etc", skipped)
        arguments += _network()
    return arguments


def _host() -> Iterator[str]:
    for name in _HOST:
        yield from _entry(Path("/", name), f"/{name}")
    for file in _HOST_FILES:
        if Path(file).exists():
            yield from _bind(Path(file), file)


def _network(more: tuple[str, ...] = ()) -> Iterator[str]:
    for file in (*_NETWORK_FILES, *more):
        if Path(file).exists():
            yield from _bind(Path(file), file)


def _entries(folder: Path, shown: str, skipped: frozenset[str]) -> Iterator[str]:
    for name in sorted(os.listdir(folder)):
        if name not in skipped:
            yield from _entry(folder / name, f"{shown}/{name}")


def _entry(path: Path, shown: str) -> Iterator[str]:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        yield from ("--symlink", os.readlink(path), shown)
    elif stat.S_ISDIR(mode) or stat.S_ISREG(mode):
        yield from _bind(path, shown)


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _bind(path: Path, shown: str) -> list[str]:
    return ["--ro-bind", str(path), shown]
