"""Discussions of a merge request as its pages show them: with the lines that they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.sandbox.gitlab.rules import threads
from bot.sandbox.pages.markup import DiffLine, Side, shown_diff
from bot.sandbox.records.merge_requests import MergeRequest, Note, Position
from bot.sandbox.rules.state import ForgeState

LINES_BEFORE = 4
"""Lines that are shown before the one that a thread is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownThread:
    """A discussion.

    Attributes:
        notes: What was said, oldest first; at least one.
        place: File and line, such as "net/core/router.yaml:25"; "" where it is about no line.
        lines: The lines of the difference that it is about, the last one above all.
        outdated: That line is gone since.
    """

    notes: Sequence[Note]
    place: str
    lines: Sequence[DiffLine]
    outdated: bool

    @property
    def first(self) -> Note:
        """What began it."""
        return self.notes[0]

    @property
    def resolved(self) -> bool:
        """Whether somebody resolved it."""
        return self.first.resolvable and threads.is_resolved(self.notes)


def shown(state: ForgeState, mr: MergeRequest) -> Mapping[str, ShownThread]:
    """The discussions of a merge request, by their ids."""
    found: dict[str, ShownThread] = {}
    patches: dict[tuple[str, str, str], Sequence[DiffLine]] = {}
    git = state.git(mr.repo)
    for notes in threads.discussions(mr):
        at, lines = notes[0].position, list[DiffLine]()
        if at is not None:
            key = (at.base_sha, at.head_sha, at.new_path)
            if key not in patches:
                files = git.diff(at.base_sha, at.head_sha)
                patch = next((file.patch for file in files if file.path == at.new_path), None)
                patches[key] = shown_diff(at.new_path, patch).lines
            lines = _around(patches[key], at)
        found[notes[0].discussion] = ShownThread(
            notes=notes,
            place=f"{at.new_path}:{at.new_line or at.old_line}" if at else "",
            lines=lines,
            outdated=at is not None and at.head_sha != mr.head_sha,
        )
    return found


def at_lines(
    found: Mapping[str, ShownThread],
) -> Mapping[tuple[str, int | None], list[ShownThread]]:
    """Those at lines of the newest difference, by file and line; None stands for removed lines."""
    by_place: dict[tuple[str, int | None], list[ShownThread]] = {}
    for thread in found.values():
        at = thread.first.position
        if at is not None and not thread.outdated:
            by_place.setdefault((at.new_path, at.new_line), []).append(thread)
    return by_place


def _around(lines: Sequence[DiffLine], at: Position) -> list[DiffLine]:
    """The line of a position and some before it, of one hunk."""
    for index, line in enumerate(lines):
        if line.side is not Side.HUNK and (line.new, line.old) == (at.new_line, at.old_line):
            before = list(lines[max(0, index - LINES_BEFORE) : index + 1])
            hunks = [number for number, each in enumerate(before) if each.side is Side.HUNK]
            return before[hunks[-1] + 1 :] if hunks else before
    return []
