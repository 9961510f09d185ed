"""Entries of a flow collection in another order, with what stands between them.

Rules:
- An entry takes along its text, the comment behind it on its line, and the comment lines
  above it; a comment behind the opening bracket is the collection's.
- Blanks, line ends and columns belong to the place, and stay.
- A comma behind the last entry stays, or stays missing.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from cadlib.yaml.blocks import Plan

_BETWEEN = re.compile(r"(?:\s*,)?(?P<note>[ \t]+#[^\r\n]*)?(?P<before>.*)", re.DOTALL)
_OPENING = re.compile(r"[ \t]*#[^\r\n]*")
_COMMENTS = re.compile(r"#[^\r\n]*")


@dataclass(frozen=True, slots=True)
class _Piece:
    """What stands around one entry: blanks and comment lines before, a comment behind."""

    before: str
    note: str


def rearranged(
    text: str,
    inside: tuple[int, int],
    spans: list[tuple[int, int]],
    plan: Plan,
    moved: Callable[[int], str],
) -> str:
    """Return the new text between the brackets of a flow collection.

    Args:
        text: The file's text.
        inside: The span between the brackets.
        spans: The span of each entry there is, one at least.
        plan: The entries wanted, one at least; new ones as text.
        moved: Returns the text of an entry that was there, edited.

    Raises:
        ValueError: A comma stands where this cannot follow it (behind a comment's line).
    """
    opening = _OPENING.match(text, *inside)
    begin = opening.end() if opening else inside[0]
    pieces, tail, comma = _pieces(text, (begin, inside[1]), spans)
    parts = [text[inside[0] : begin]]
    note = ""
    for place, each in enumerate(plan):
        blank = _blank(pieces, place)
        if isinstance(each, int):
            piece = pieces[each]
            follows = place > 0 and plan[place - 1] == each - 1
            before = piece.before if follows or "#" in piece.before else blank
            parts += (_apart(note, before, pieces), moved(each))
            note = piece.note
        else:
            parts += (_apart(note, blank, pieces), each)
            note = ""
        parts.append("," if place + 1 < len(plan) else comma)
        parts.append(note)
    return "".join((*parts, _apart(note, tail, pieces)))


def _pieces(
    text: str, inside: tuple[int, int], spans: list[tuple[int, int]]
) -> tuple[list[_Piece], str, str]:
    """Return what stands around each entry, before the closing bracket, and the last comma."""
    before = text[inside[0] : spans[0][0]]
    pieces: list[_Piece] = []
    ends = [*(start for start, _ in spans[1:]), inside[1]]
    for (_, end), following in zip(spans, ends, strict=True):
        match = _BETWEEN.fullmatch(text, end, following)
        assert match is not None  # noqa: S101 - the pattern matches everything
        if "," in _COMMENTS.sub("", match["before"]):
            raise ValueError("a comma is on the line after the comment of the previous entry")
        pieces.append(_Piece(before, match["note"] or ""))
        before = match["before"]
    last = _COMMENTS.sub("", text[spans[-1][1] : inside[1]])
    return pieces, before, "," if "," in last else ""


def _blank(pieces: list[_Piece], place: int) -> str:
    """Return the blanks in front of a place, without comments."""
    if place and len(pieces) == 1:
        return pieces[0].before if "\n" in pieces[0].before else " "
    before = pieces[min(place, len(pieces) - 1)].before
    return before[: before.index("\n") + 1] + _margin(before) if "#" in before else before


def _apart(note: str, before: str, pieces: list[_Piece]) -> str:
    """Return blanks that begin with a new line if a comment stands before them."""
    if not note or before.lstrip(" \t").startswith(("\n", "\r")):
        return before
    return "\n" + next((_margin(piece.before) for piece in pieces if "\n" in piece.before), " ")


def _margin(before: str) -> str:
    return before[before.rindex("\n") + 1 :] if "\n" in before else before
