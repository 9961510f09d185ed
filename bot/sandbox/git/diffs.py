"""Reads `git diff-tree --raw -z --numstat -p` into files with their counts and patch."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

_WORDS = {"A": "added", "D": "removed", "M": "modified", "T": "changed", "R": "renamed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """One file that differs; `patch` is None for a binary file, and starts at the first `@@`.

    `sha` is the new file's object, or the old one's where it was removed.
    """

    path: str
    old_path: str | None
    status: str
    sha: str
    additions: int
    deletions: int
    patch: str | None


def parse(raw: bytes) -> tuple[FileDiff, ...]:
    """Parse git's output; files in git's order.

    Git writes three parts one after the other: raw records, counts, patches; the first two
    with NUL, the third as text, in which the files come in the same order.
    """
    if not raw:
        return ()
    fields = raw.split(b"\0")
    files: list[tuple[str, str, str | None, str]] = []
    at = 0
    while at < len(fields) and fields[at].startswith(b":"):
        meta = fields[at].decode().split(" ")
        letter, removed = meta[4][:1], meta[4][:1] == "D"
        sha = meta[2] if removed else meta[3]
        first = fields[at + 1].decode(errors="replace")
        if letter in "RC":
            files.append((letter, fields[at + 2].decode(errors="replace"), first, sha))
            at += 3
        else:
            files.append((letter, first, None, sha))
            at += 2
    counts, at = _counts(fields, at, len(files))
    texts = iter(_patches(b"\0".join(fields[at:])))
    # A change of kind (file to link) is written as a removal and an addition.
    patches = [(next(texts), next(texts))[1] if f[0] == "T" else next(texts) for f in files]
    return tuple(
        FileDiff(
            path=path,
            old_path=old,
            status=_WORDS.get(letter, "changed"),
            sha=sha,
            additions=added,
            deletions=gone,
            patch=patch,
        )
        for (letter, path, old, sha), (added, gone), patch in zip(
            files, counts, patches, strict=True
        )
    )


def _counts(fields: list[bytes], at: int, files: int) -> tuple[list[tuple[int, int]], int]:
    counts: list[tuple[int, int]] = []
    while len(counts) < files:
        added, gone, path = fields[at].split(b"\t", 2)
        counts.append((0 if added == b"-" else int(added), 0 if gone == b"-" else int(gone)))
        at += 1 if path else 3  # a rename's two names are fields of their own
    return counts, at


def _patches(text: bytes) -> list[str | None]:
    lines = text.removeprefix(b"\0").decode(errors="replace").split("\n")
    starts = [n for n, line in enumerate(lines) if line.startswith("diff --git ")]
    patches: list[str | None] = []
    for start, end in zip(starts, [*islice(starts, 1, None), len(lines)], strict=True):
        body = lines[start:end]
        hunk = next((n for n, line in enumerate(body) if line.startswith("@@ ")), None)
        if hunk is not None:
            patches.append("\n".join(body[hunk:]).removesuffix("\n"))
        else:
            binary = any(line.startswith("Binary files ") for line in body)
            patches.append(None if binary else "")
    return patches
