"""Objects of a git repository, read through one `git cat-file` process."""

import os
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cadlib.errors import PackageError, Place
from cadlib.limits import FOLDERS, MIB, Limits
from cadlib.package.files import REGULAR, SUBMODULE, Entry

_TREE = "40000"
_PIPE = 4096
"""Bytes that every pipe takes at once, so that writing them waits for nobody."""


@dataclass(frozen=True, slots=True)
class Object:
    """One object: its id in hexadecimal, its kind ("commit", "tree", "blob", "tag"), its data."""

    sha: str
    kind: str
    data: bytes


class Objects:
    """Reads objects; the process is started when the first one is asked for.

    Args:
        path: Folder of the repository: bare, or with `.git` in it.
        env: Environment of the process.
    """

    def __init__(self, path: Path, env: Mapping[str, str]) -> None:
        self._path = path
        # The repository is this folder: without it, git would look in the folders above.
        self._env = {**env, "GIT_CEILING_DIRECTORIES": str(path.absolute().parent)}
        self._process: subprocess.Popen[bytes] | None = None
        self._blobs: dict[str, bytes] = {}  # two versions of a package have most files in common

    def close(self) -> None:
        """End the process; the next object starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def commit(self, name: str) -> str:
        """Return the commit that a ref or an id stands for, tags followed; "" if none does."""
        found = self._read([f"{name}^{{commit}}"])[0]
        return found.sha if found else ""

    def folder(self, commit: str, directory: str) -> str | None:
        """Return the id of the tree of a folder in a commit; None if it is not there."""
        found = self._read([f"{commit}^{{tree}}"])[0]
        for part in directory.split("/") if directory else []:
            entries = _entries(found) if found else ()
            sha = next((sha for mode, name, sha in entries if (mode, name) == (_TREE, part)), "")
            found = self._read([sha])[0] if sha else None
        return found.sha if found else None

    def entries(self, tree: str) -> tuple[tuple[str, int, str], ...]:
        """Return id, mode and name of what a tree holds.

        Raises:
            PackageError: It is not there.
        """
        found = self._read([tree])[0]
        if found is None:
            raise self._damaged(tree)
        return tuple((sha, int(mode, 8), name) for mode, name, sha in _entries(found))

    def regular(self, commit: str, path: str) -> bytes | None:
        """Return a regular file of a commit or tree; None where there is none."""
        folder, _, wanted = path.rpartition("/")
        tree = self.folder(commit, folder)
        for sha, mode, name in self.entries(tree) if tree else ():
            if name == wanted and mode & 0o170000 == 0o100000:
                found = self._read([sha])[0]
                return found.data if found else None
        return None

    def files(self, tree: str, limits: Limits) -> dict[str, Entry]:
        """Return all files below a tree, by path relative to it, sorted.

        Raises:
            PackageError: There is more in it than `limits` allow.
        """
        listed = self._listed(tree, limits)
        wanted = {sha for mode, _, sha in listed if mode != SUBMODULE}
        missing = sorted(wanted - self._blobs.keys())
        left = limits.package_bytes - sum(len(self._blobs.get(sha, b"")) for sha in wanted)
        for sha, found in zip(missing, self._stream(missing), strict=True):
            if found is None:
                raise self._damaged(sha)
            left -= len(found.data)
            if left < 0:
                raise self._too_much(f"more than {limits.package_bytes // MIB} MiB")
            self._blobs[sha] = found.data
        entries = {path: Entry(self._blobs.get(sha, b""), mode) for mode, path, sha in listed}
        return dict(sorted(entries.items()))

    def _listed(self, tree: str, limits: Limits) -> list[tuple[str, str, str]]:
        """Return mode, path and id of the files below a tree."""
        listed: list[tuple[str, str, str]] = []
        level = [("", tree)]
        for _ in range(FOLDERS):
            below: list[tuple[str, str]] = []
            for (prefix, sha), found in zip(
                level, self._stream([sha for _, sha in level]), strict=True
            ):
                if found is None:
                    raise self._damaged(sha)
                for mode, name, inner in _entries(found):
                    if mode == _TREE:
                        below.append((f"{prefix}{name}/", inner))
                    else:
                        listed.append((_mode(mode), prefix + name, inner))
                if len(listed) + len(below) > limits.files:
                    raise self._too_much(f"more than {limits.files} files")
            if not below:
                return listed
            level = below
        raise self._too_much(f"more than {FOLDERS} folders within one another")

    def _read(self, names: Sequence[str]) -> list[Object | None]:
        return list(self._stream(names))

    def _stream(self, names: Sequence[str]) -> Iterator[Object | None]:
        """Yield the objects of these names in order, None for one that is not there."""
        if not names:
            return
        stdin, stdout = self._pipes()
        asked = "".join(f"{name}\n" for name in names).encode(errors="surrogateescape")
        if len(asked) <= _PIPE:
            self._write(stdin, asked)
            yield from (self._answer(stdout) for _ in names)
            return
        writer = threading.Thread(target=self._write, args=(stdin, asked), daemon=True)
        writer.start()  # git answers before it has read everything
        yield from (self._answer(stdout) for _ in names)
        writer.join()

    def _write(self, stdin: IO[bytes], asked: bytes) -> None:
        try:
            stdin.write(asked)
            stdin.flush()
        except BrokenPipeError:
            return  # git has ended; why, is told where its answer is missing

    def _answer(self, stdout: IO[bytes]) -> Object | None:
        head = stdout.readline()
        if not head:
            raise self._ended()
        sha, kind, size = [*head.decode(errors="replace").split(), "", ""][:3]
        if not size.isdecimal():
            return None  # "NAME missing", or "NAME ambiguous"
        data = stdout.read(int(size))
        stdout.read(1)
        return Object(sha, kind, data)

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None or self._process.poll() is not None:
            try:
                self._process = subprocess.Popen(
                    ["git", "cat-file", "--batch"],  # noqa: S607 (the user's git)
                    cwd=self._path,
                    env=self._env,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
            except FileNotFoundError as error:
                place = Place(os.fspath(self._path))
                raise PackageError(place, "git is not installed", "Install git") from error
        return self._process.stdin, self._process.stdout  # type: ignore[return-value]

    def _ended(self) -> PackageError:
        """Say why git ended, which it does where it does not take the folder for a repository."""
        process, self._process = self._process, None
        said = process.communicate()[1].decode(errors="replace").strip() if process else ""
        return PackageError(
            Place(os.fspath(self._path)),
            f"git cannot read the repository: {said}",
            "Check that it is a git repository, and yours",
        )

    def _damaged(self, sha: str) -> PackageError:
        return PackageError(
            Place(os.fspath(self._path)),
            f"the repository is damaged or incomplete: {sha} is missing",
            "Repair it with `git fsck`, or clone it anew",
        )

    def _too_much(self, what: str) -> PackageError:
        return PackageError(
            Place(os.fspath(self._path)),
            f"the package holds {what}",
            "Name a smaller folder of the repository",
        )


def _entries(tree: Object) -> Iterator[tuple[str, str, str]]:
    """Yield mode, name and id of the entries of a tree."""
    width = len(tree.sha) // 2  # 20 bytes, or 32 in a repository with SHA-256
    data, position = tree.data, 0
    while position < len(data):
        end = data.index(b"\0", position)
        mode, _, name = data[position:end].partition(b" ")
        position = end + 1 + width
        yield mode.decode(), os.fsdecode(name), data[end + 1 : position].hex()


def _mode(mode: str) -> str:
    """Return the mode as packages have it: git once wrote 100664 as well."""
    return REGULAR if mode == "100664" else mode
