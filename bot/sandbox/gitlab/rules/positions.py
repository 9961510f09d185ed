"""Places of notes in a diff: which lines it shows, their codes, and where a line went.

Source: https://docs.gitlab.com/api/discussions/#create-a-thread-in-the-merge-request-diff
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from bot.sandbox.errors import GitError
from bot.sandbox.git.diffs import FileDiff
from bot.sandbox.git.protocol import Git
from bot.sandbox.records.merge_requests import DiffVersion, Position

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def line_code(files: Sequence[FileDiff], position: Position) -> str | None:
    """The code of a line that a diff shows; None where the position names none.

    An added line has only a new number, a removed one only an old one, an unchanged one both.
    """
    for file in files:
        if position.new_path != file.path:
            continue
        for old, new, mark in lines(file.patch or ""):
            if (position.old_line, position.new_line) == _named(old, new, mark):
                digest = hashlib.sha1(file.path.encode(), usedforsecurity=False).hexdigest()
                return f"{digest}_{old}_{new}"
    return None


def lines(patch: str) -> Iterator[tuple[int, int, str]]:
    """Lines that a patch shows: old and new number, and ` `, `+` or `-`.

    An added line has the old number that comes next, a removed one the new number.
    """
    old = new = 0
    for line in patch.split("\n"):
        head = _HUNK.match(line)
        if head is not None:
            old, new = int(head[1]), int(head[2])
        elif line[:1] in ("+", "-", " ") and old + new:
            yield old, new, line[0]
            old += line[0] != "+"
            new += line[0] != "-"


def traced(git: Git, position: Position, version: DiffVersion) -> Position | None:
    """Where a position stands in a newer diff; None where its line was changed or taken away."""
    if position.new_line is None:
        return None
    before = _content(git, position.head_sha, position.new_path)
    after = _content(git, version.head_sha, position.new_path)
    for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        offset = position.new_line - 1 - block.a
        if 0 <= offset < block.size:
            moved = block.b - block.a
            return replace(
                position,
                base_sha=version.base_sha,
                start_sha=version.start_sha,
                head_sha=version.head_sha,
                new_line=position.new_line + moved,
            )
    return None


def _named(old: int, new: int, mark: str) -> tuple[int | None, int | None]:
    return (None if mark == "+" else old, None if mark == "-" else new)


def _content(git: Git, commit: str, path: str) -> list[bytes]:
    sha = git.commit(commit).tree
    for part in path.split("/"):
        found = next((entry for entry in git.tree(sha) if entry.name == part), None)
        if found is None:
            return []
        sha = found.sha
    try:
        return git.blob(sha).splitlines()
    except GitError:
        return []  # a folder now
