"""The difference of two states of a file as a unified patch, and as suggestions at its lines.

Only what a reader sees whole and can copy is shown: text in UTF-8, lines that end in a line feed,
no characters that nobody sees, and not too large. Secrets are for the caller to leave out.
"""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MOST_BYTES: Final = 200_000
"""Bytes of a file that is compared by lines: more is compared by the command that renders it."""

CONTEXT: Final = 3
"""Lines that a patch shows around a change, as git's; remarks may stand at these as well."""

MOST_LINES: Final = 40
"""Lines of one suggestion; more is read better in the patch."""

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xa0\xad\u061c\u1680\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffd\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
"""What nobody sees, or what does not survive being copied."""

_ODD_PATH = re.compile(r'["\\\n\t]|^\s|\s$')


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Other text for some lines of a file.

    Attributes:
        path: The file.
        first: Its first line that is replaced, from 1.
        last: Its last one.
        text: What to write there, each line with its end; "" to delete them.
    """

    path: str
    first: int
    last: int
    text: str


def patch(path: str, old: bytes | None, new: bytes | None) -> str | None:
    """Return the patch that `git apply` takes; None where it cannot be shown whole.

    Args:
        path: The file, from the top of the repository.
        old: What stands there; None for nothing.
        new: What is to stand there, likewise.
    """
    before, after = _lines(old), _lines(new)
    if before is None or after is None or _ODD_PATH.search(path) or _UNSEEN.search(path):
        return None
    end = "\t" if " " in path else ""
    head = [f"diff --git a/{path} b/{path}\n"]
    if old is None:
        head.append("new file mode 100644\n")
    if new is None:
        head.append("deleted file mode 100644\n")
    here, there = f"a/{path}{end}", f"b/{path}{end}"
    found = difflib.unified_diff(
        before,
        after,
        "/dev/null" if old is None else here,
        "/dev/null" if new is None else there,
        n=CONTEXT,
    )
    return "".join([*head, *(_whole(line) for line in found)])


def suggestions(path: str, base: bytes | None, old: bytes, new: bytes) -> list[Suggestion]:
    """Return the changes that fit as suggestions at lines that a proposal shows.

    Args:
        path: The file, from the top of the repository.
        base: What stood there before the proposal; None for nothing.
        old: What the proposal makes of it.
        new: What is to stand there.
    """
    lines, wanted, before = _lines(old), _lines(new), _lines(base)
    if not lines or wanted is None or before is None or _UNSEEN.search(path):
        return []
    shown = list(_shown(before, lines))
    found = []
    for first, last, text in _edits(lines, wanted):
        together = any(begin <= first and last <= end for begin, end in shown)
        whole = all(line.endswith("\n") for line in (*lines[first - 1 : last], *text))
        if together and whole and max(last - first + 1, len(text)) <= MOST_LINES:
            found.append(Suggestion(path, first, last, "".join(text)))
    return found


def _lines(data: bytes | None) -> list[str] | None:
    """The lines of a text, with their ends; None where it cannot be shown."""
    if data is None:
        return []
    if len(data) > MOST_BYTES:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    if _UNSEEN.search(text):
        return None
    # `splitlines` ends lines at more than people and git do.
    return [f"{line}\n" for line in text.split("\n")[:-1]] + (
        [last] if (last := text.rpartition("\n")[2]) else []
    )


def _whole(line: str) -> str:
    """A line of a patch; git marks one that has no end."""
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _shown(before: list[str], after: list[str]) -> Iterator[tuple[int, int]]:
    """First and last line, from 1, of each part of a file that a proposal shows."""
    for group in difflib.SequenceMatcher(None, before, after).get_grouped_opcodes(CONTEXT):
        yield group[0][3] + 1, group[-1][4]


def _edits(old: list[str], new: list[str]) -> Iterator[tuple[int, int, list[str]]]:
    """First and last line, from 1, that are replaced, and by what.

    Lines that are put in replace the one before them: a remark stands at a line.
    """
    for kind, i, until, j, to in difflib.SequenceMatcher(None, old, new).get_opcodes():
        if kind == "equal":
            continue
        text = new[j:to]
        if i < until:
            yield i + 1, until, text
        elif i > 0:
            yield i, i, [old[i - 1], *text]
        else:
            yield 1, 1, [*text, old[0]]
