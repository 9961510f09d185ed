"""Two changed texts merged line by line, as version control does.

It knows nothing of YAML: it brings along what values do not tell, comments on lines of
their own and blank lines, and whoever calls it reads the result and compares.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

# Pairs of equal lines among those that changed. Comparing takes that many steps for each
# stretch of equal lines; texts made for it take a fiftieth of a second with these.
_MOST_PAIRS = 5_000


class _Hunk(NamedTuple):
    """Lines of the base, from `start` to `end` (exclusive), and what stands there now."""

    start: int
    end: int
    lines: Sequence[str]


def merged_lines(base: str, ours: str, theirs: str) -> str | None:
    """Return a text with the changes of both sides.

    Args:
        base: The text that both sides began with.
        ours: The one whose new lines come first where both added some at one place.
        theirs: The other.

    Returns:
        The text; None if both changed the same lines, each in its own way, or if there
        are too many equal lines to compare.
    """
    lines = base.split("\n")
    left, right = _hunks(lines, ours.split("\n")), _hunks(lines, theirs.split("\n"))
    if left is None or right is None:
        return None
    merged: list[str] = []
    at = 0
    last: _Hunk | None = None
    for hunk in sorted([*left, *right], key=lambda each: each[:2]):  # stable: ours first
        if hunk == last:
            continue
        if hunk.start < at:
            return None
        merged += lines[at : hunk.start]
        merged += hunk.lines
        at, last = hunk.end, hunk
    return "\n".join(merged + lines[at:])


def _hunks(base: Sequence[str], changed: Sequence[str]) -> list[_Hunk] | None:
    before = _common(base, changed)
    after = _common(base[before:][::-1], changed[before:][::-1])
    old, new = base[before : len(base) - after], changed[before : len(changed) - after]
    counts = Counter(new)
    if sum(counts[line] for line in old) > _MOST_PAIRS:
        return None
    return list(_changes(old, new, before))


def _changes(old: Sequence[str], new: Sequence[str], offset: int) -> Iterator[_Hunk]:
    for kind, start, end, first, last in SequenceMatcher(None, old, new, False).get_opcodes():
        if kind != "equal":
            yield _Hunk(start + offset, end + offset, new[first:last])


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """Return how many lines are equal at the beginning."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((n for n, (ours, theirs) in pairs if ours != theirs), min(len(left), len(right)))
