"""Refs of a bare repository on disk, read without starting git, and what changed in them.

Packed refs are read once for each change of their file; what a push changes stands beside them as
files of its own, so that taking notice of it does not grow with the refs that were there.

Source: https://git-scm.com/docs/git-pack-refs
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from bot.sandbox import refnames
from bot.sandbox.records.refs import ZERO, RefChange

_SHA = re.compile(r"[0-9a-f]{40}")
_PLACES = (refnames.HEADS, refnames.TAGS)


class DiskRefs:
    """Branches and tags of one repository.

    Args:
        path: The bare repository.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._packed: dict[str, str] = {}
        self._stamp: tuple[int, int, int] | None = None
        self._known: set[str] | None = None  # refs outside of the packed ones that may change

    def all(self) -> dict[str, str]:
        """Every branch and tag: full name to object."""
        loose = dict(self._loose())  # first: what is packed meanwhile is found there
        self._read_packed()
        return self._packed | loose

    def touched(self, refs: Iterable[str]) -> None:
        """Remember refs that are about to change."""
        if self._known is not None:
            self._known.update(refs)

    def changes(
        self, known: Mapping[str, str], moved: Iterable[str] | None = None
    ) -> list[RefChange]:
        """How the refs differ from what somebody knows, who was told of all changes before.

        Args:
            known: Full name to object.
            moved: The only refs that can have changed, whose files alone are read; None where
                any may: then every ref is looked for that is a file of its own.
        """
        asked = None if moved is None else set(moved)
        # Before the packed ones: what is packed meanwhile is found there.
        loose = dict(self._loose() if asked is None else self._read(asked))
        before = self._known
        looked: Iterable[str]
        if self._read_packed() or before is None:
            if asked is not None:
                loose = dict(self._loose())
            looked = {*known, *self._packed, *loose}
            self._known = set(loose)
        elif asked is not None:
            looked = asked
            before.update(loose)
        else:
            looked = before | loose.keys()
            self._known = set(loose)
        return self._differing(known, looked, loose)

    def _differing(
        self, known: Mapping[str, str], looked: Iterable[str], loose: Mapping[str, str]
    ) -> list[RefChange]:
        now = ((ref, loose.get(ref) or self._packed.get(ref, ZERO)) for ref in sorted(looked))
        return [
            RefChange(ref=ref, before=known.get(ref, ZERO), after=sha)
            for ref, sha in now
            if known.get(ref, ZERO) != sha
        ]

    def _read_packed(self) -> bool:
        """Read the packed refs if their file is another one than before; whether it is."""
        try:
            found = (self._path / "packed-refs").stat()
            stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
        except FileNotFoundError:
            stamp = (0, 0, 0)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        text = (
            (self._path / "packed-refs").read_text("utf-8", "surrogateescape") if any(stamp) else ""
        )
        pairs = (line.split(" ", 1) for line in text.split("\n") if line and line[0] not in "#^")
        self._packed = {ref: sha for sha, ref in pairs if ref.startswith(_PLACES)}
        return True

    def _loose(self) -> Iterator[tuple[str, str]]:
        """Every ref that is a file of its own."""
        listed = (
            Path(folder, file).relative_to(self._path).as_posix()
            for place in _PLACES
            for folder, _, files in os.walk(self._path / place)
            for file in files
            if not file.endswith(".lock")
        )
        return self._read(listed)

    def _read(self, refs: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Those of some refs that are files of their own."""
        for ref in refs:
            try:
                sha = (self._path / ref).read_text().strip()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                continue  # packed or deleted; a folder of refs may stand there, or a ref above it
            if _SHA.fullmatch(sha):
                yield ref, sha
