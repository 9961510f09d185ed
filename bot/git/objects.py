"""Objects of a git repository, read through one `git cat-file` process."""

import re
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

Entries = tuple[tuple[str, int, str], ...]
"""The entries of one tree: id, mode, name."""

Allow = Callable[[str, int], None]
"""Given an object's id and size before its data is read; raises when that is too much."""

_PIPE = 4096
"""Bytes that every pipe takes at once, so that writing them waits for nobody."""

_PART = 65_536


class GitEndedError(Exception):
    """Git ended instead of answering: the folder is no repository to it, or an object is broken."""


@dataclass(frozen=True, slots=True)
class GitObject:
    """One object.

    Attributes:
        sha: Its id in hexadecimal.
        kind: "commit", "tree", "blob" or "tag".
        data: What it holds, or the beginning of that.
        size: Bytes of all that it holds.
    """

    sha: str
    kind: str
    data: bytes
    size: int


_HEAD = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) ([a-z]+) ([0-9]+)\n")


class ObjectReader:
    """Reads objects; the process is started when the first one is asked for.

    Threads may share it: one answer is read at a time, since bytes of two would be mixed.

    Args:
        folder: Of the repository: bare, or with `.git` in it.
        env: Environment of the process.
    """

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._folder = folder
        # The repository is this folder: without it, git would look in the folders above.
        self._env = {**env, "GIT_CEILING_DIRECTORIES": str(folder.absolute().parent)}
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """End the process; the next object starts another."""
        with self._lock:
            self._end()

    def read(self, name: str, most: int | None = None) -> GitObject | None:
        """Return the object that an id or an expression stands for; None where there is none.

        Args:
            name: As `git rev-parse` takes it.
            most: Bytes of its data that are kept; None for all.

        Raises:
            GitEndedError: Git ended.
        """
        if "\n" in name:  # would be two questions
            return None
        [found] = self.stream([name], most)
        return found

    def stream(
        self,
        names: Sequence[str],
        most: int | None = None,
        allow: Allow | None = None,
    ) -> Generator[GitObject | None, None, None]:
        """Yield the objects of these names in order, None for one that is not there.

        Args:
            names: None of them with a line feed.
            most: Bytes of each one's data that are kept; None for all.
            allow: What may be read; None for anything.

        Raises:
            GitEndedError: Git ended.
        """
        if not names:
            return
        asked = "".join(f"{name}\n" for name in names).encode(errors="surrogateescape")
        with self._lock:
            left = len(names)
            try:
                stdin, stdout = self._pipes()
                writer = None
                if len(asked) <= _PIPE:
                    _write(stdin, asked)
                else:
                    writer = threading.Thread(target=_write, args=(stdin, asked), daemon=True)
                    writer.start()  # git answers before it has read everything
                for _ in names:
                    found = self._answer(stdout, most, allow)
                    left -= 1
                    yield found
                if writer is not None:
                    writer.join()
            finally:
                if left:  # what was asked and not read would be the next answer
                    self._end()

    def _answer(self, stdout: IO[bytes], most: int | None, allow: Allow | None) -> GitObject | None:
        head = stdout.readline()
        if not head:
            raise self._ended()
        said = _HEAD.fullmatch(head)
        if said is None:
            return None  # "NAME missing", or "NAME ambiguous": a name may have words in it
        sha, kind, size = said[1].decode(), said[2].decode(), int(said[3])
        if allow is not None:
            allow(sha, size)
        data = stdout.read(size if most is None else min(size, most))
        left = size - len(data) + 1  # git writes all of it and a line feed; nothing keeps them
        while left > 0:
            part = stdout.read(min(left, _PART))
            if not part:
                raise self._ended()
            left -= len(part)
        return GitObject(sha, kind, data, size)

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = subprocess.Popen(
                ["git", "cat-file", "--batch"],  # noqa: S607 (the git of whoever runs us)
                cwd=self._folder,
                env=self._env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        return self._process.stdin, self._process.stdout  # type: ignore[return-value]

    def _end(self) -> bytes:
        """End the process; gives what it complained of."""
        process, self._process = self._process, None
        if process is None:
            return b""
        process.kill()
        return process.communicate()[1]

    def _ended(self) -> GitEndedError:
        if self._process is not None:
            self._process.wait()  # so that its last words are there
        return GitEndedError(self._end().decode(errors="replace").strip())


_MODES = {mode: int(mode, 8) for mode in (b"100644", b"100755", b"120000", b"40000", b"160000")}
"""Modes of entries as git writes them, to their one number."""


def parse_tree(data: bytes, width: int = 20) -> Entries:
    """Read the entries of a tree object; names need not be UTF-8.

    Names and ids are shared by all trees that have them: those of a thousand packages have the same
    names, and most of the ids of the state before.

    Args:
        data: What it holds.
        width: Bytes of an id: 20, or 32 in a repository with SHA-256.
    """
    entries, position = [], 0
    while position < len(data):
        end = data.index(b"\0", position)
        mode, _, name = data[position:end].partition(b" ")
        position = end + 1 + width
        text = name.decode("utf-8", "surrogateescape")
        sha = sys.intern(data[end + 1 : position].hex())
        entries.append((sha, _MODES.get(mode) or int(mode, 8), sys.intern(text)))
    return tuple(entries)


def _write(stdin: IO[bytes], asked: bytes) -> None:
    try:
        stdin.write(asked)
        stdin.flush()
    except (BrokenPipeError, ValueError):
        return  # git has ended; why, is told where its answer is missing
