"""The command `ls-refs` of git's protocol 2, answered from the files of a bare repository.

Each fetch begins with it, and starting git for it takes longer than all the rest. Only what is
asked by name of branches and tags is answered here; HEAD, refs of pull requests, symbolic refs and
what is spelled in another way are left to git.

Source: https://git-scm.com/docs/protocol-v2 ("ls-refs")
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bot.sandbox import refnames

HEADERS = (
    (b"expires", b"Fri, 01 Jan 1980 00:00:00 GMT"),
    (b"pragma", b"no-cache"),
    (b"cache-control", b"no-cache, max-age=0, must-revalidate"),
    (b"content-type", b"application/x-git-upload-pack-result"),
)
"""As git's own backend sends them."""

_SHA = re.compile(rb"[0-9a-f]{40}\n?")
_PLACES = (f"{refnames.HEADS}/".encode(), f"{refnames.TAGS}/".encode())
_ASTRAY = re.compile(rb"/\.|//|\0")
"""What leads to another folder, or to none."""

_ALLOWED = (b"object-format=sha1", b"agent=")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        prefixes: How names begin; there is one at least.
        peel: Say which objects tags are about.
    """

    prefixes: tuple[bytes, ...]
    peel: bool


def read(body: bytes) -> Question | None:
    """Read a question; None for one that git answers."""
    lines = _packets(body)
    if lines is None or lines[:1] != [b"command=ls-refs"] or b"" not in lines:
        return None
    delimiter = lines.index(b"")
    said, asked = lines[1:delimiter], lines[delimiter + 1 :]
    prefixes = [line.removeprefix(b"ref-prefix ") for line in asked if b" " in line]
    others = {line for line in asked if b" " not in line}
    known = all(line.startswith(_ALLOWED) for line in said) and others <= {
        b"peel", b"symrefs", b"unborn",
    }  # fmt: skip
    if not known or not prefixes or not all(map(_named, prefixes)):
        return None
    return Question(tuple(prefixes), b"peel" in others)


def _named(prefix: bytes) -> bool:
    """Whether only branches or only tags begin so."""
    return prefix.startswith(_PLACES) and not _ASTRAY.search(prefix)


def _packets(body: bytes) -> list[bytes] | None:
    """Lines up to the only flush, which must be the end; "" for a delimiter. None for others."""
    found, at = [], 0
    while (length := body[at : at + 4]) != b"0000":
        size = int(length, 16) if re.fullmatch(rb"[0-9a-f]{4}", length) else 0
        if (size < 5 and length != b"0001") or at + size > len(body):
            return None
        found.append(body[at + 4 : at + size].removesuffix(b"\n"))
        at += max(4, size)
    return found if at + 4 == len(body) else None


class RefList:
    """Branches and tags of one repository.

    Args:
        path: The bare repository.
        peeled: Gives the object behind a tag's; "" for any other.
    """

    def __init__(self, path: Path, peeled: Callable[[str], str]) -> None:
        self._path = path
        self._peel = peeled
        self._peeled: dict[bytes, bytes] = {}
        self._stamp: tuple[int, int, int] | None = None
        self._packed: tuple[list[bytes], dict[bytes, bytes]] = ([], {})

    def answer(self, question: Question) -> bytes | None:
        """Answer as git does, refs sorted by name; None where git must.

        Threads may share it.
        """
        found: dict[bytes, bytes] = {}
        # Loose refs before the packed ones: what is packed meanwhile is there.
        for prefix in question.prefixes:
            for name, sha in self._loose(prefix):
                if not _SHA.fullmatch(sha):
                    return None  # a symbolic ref, or one that is broken
                found[name] = sha[:40]
        names, packed = self._read_packed()
        for prefix in question.prefixes:
            for name in _from(names, prefix):
                found.setdefault(name, packed[name])
        lines = [self._line(name, found[name], question.peel) for name in sorted(found)]
        return b"".join(lines) + b"0000"

    def _line(self, name: bytes, sha: bytes, peel: bool) -> bytes:
        behind = b""
        if peel:
            if sha not in self._peeled:
                self._peeled[sha] = self._peel(sha.decode()).encode()
            behind = self._peeled[sha]
        more = b" peeled:" + behind if behind else b""
        content = b"%s %s%s\n" % (sha, name, more)
        return b"%04x%s" % (len(content) + 4, content)

    def _loose(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Names and content of the files of refs that begin so."""
        root = os.fsencode(self._path)
        for folder, folders, files in os.walk(os.path.join(root, prefix.rpartition(b"/")[0])):
            here = folder[len(root) + 1 :].rstrip(b"/") + b"/"
            if not here.startswith(prefix):
                folders[:] = [each for each in folders if (here + each).startswith(prefix)]
            for name in (here + file for file in files):
                if name.startswith(prefix) and not name.endswith(b".lock"):
                    try:
                        yield name, Path(os.fsdecode(os.path.join(root, name))).read_bytes()
                    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                        continue  # packed or deleted meanwhile

    def _read_packed(self) -> tuple[list[bytes], dict[bytes, bytes]]:
        """Sorted names of packed refs, and their objects; read again when the file is another."""
        file = self._path / "packed-refs"
        try:
            found = file.stat()
            stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
            if stamp != self._stamp:
                lines = file.read_bytes().split(b"\n")
                pairs = (line.split(b" ", 1) for line in lines if line and line[:1] not in b"#^")
                refs = {name: sha for sha, name in pairs if name.startswith(_PLACES)}
                self._packed, self._stamp = (sorted(refs), refs), stamp
        except FileNotFoundError:
            self._packed, self._stamp = ([], {}), None
        return self._packed


def _from(names: list[bytes], prefix: bytes) -> Iterator[bytes]:
    """Names that begin so, of sorted ones."""
    for at in range(bisect_left(names, prefix), len(names)):
        if not names[at].startswith(prefix):
            return
        yield names[at]
