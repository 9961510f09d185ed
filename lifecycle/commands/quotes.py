"""What GitLab shows as a quote or as code, and other parsers of Markdown as plain text.

A quote of several lines stands between lines of `>>>`, and an alert between one of
`>>> [!note] Title` and one of `>>>`. What stands between lines of `---`, `+++` or `;;;` at the
beginning of a text is its front matter, which is shown as code; a line of `...` ends it as well.

Where one ends is read only where every version of GitLab reads it alike. Elsewhere, as where such a
line stands in a list, in code or in front matter, all that follows is doubtful.

Source: https://docs.gitlab.com/user/markdown/#multiline-blockquote, and "Alerts" and "Front matter"
there
"""

import re
from collections.abc import Sequence

_QUOTE = re.compile(r" {0,3}>{3,}[ \t]*(?:\[!.*)?")
_FRONT = re.compile(r"\A(?:[^\n]*coding:[^\n]*\n)?\s*(---|\+\+\+|;;;)")
_NESTS = re.compile(r"```|~~~|<")
"""What may hold a line of `>>>` that begins nothing, and ends nothing."""


def shown_otherwise(text: str) -> tuple[range, ...]:
    """The lines that GitLab shows otherwise, by their numbers from 0.

    Args:
        text: A comment; its lines end in newlines only.
    """
    lines = text.split("\n")
    front = _front(text, lines)
    plain = not front and _NESTS.search(text) is None
    return (*front, *(_quotes(lines, plain=plain) if ">>>" in text else ()))


def _front(text: str, lines: Sequence[str]) -> tuple[range, ...]:
    found = _FRONT.match(text)
    if found is None:
        return ()
    begins = text.count("\n", 0, found.start(1))
    ends = [
        next((i for i in range(begins + 1, len(lines)) if lines[i].rstrip() == end), 0)
        for end in (found[1], "...")
    ]
    # GitLab makes a fence of code of it, which one inside ends.
    end = len(lines) - 1 if "```" in text else max(ends)
    return (range(begins, end + 1),) if any(ends) else ()


def _quotes(lines: Sequence[str], *, plain: bool) -> tuple[range, ...]:
    marks = [number for number, line in enumerate(lines) if _QUOTE.fullmatch(line)]
    if plain and all(lines[mark].rstrip(" \t") == ">>>" for mark in marks):
        ends = [*marks[1::2], len(lines) - 1]
        return tuple(range(begin, end + 1) for begin, end in zip(marks[::2], ends, strict=False))
    return (range(marks[0], len(lines)),) if marks else ()
