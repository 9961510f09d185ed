"""What GitLab shows as a quote or as code, and other parsers of Markdown as plain text.

A quote of several lines stands between lines of `>>>`. What stands between lines of `---`, `+++` or
`;;;` at the beginning of a text is its front matter, which is shown as code.

Source: https://docs.gitlab.com/user/markdown/#multiline-blockquote, and "Front matter" there
"""

import re
from collections.abc import Iterator

_QUOTE = re.compile(r"^ {0,3}(>{3,})[ \t]*$", re.MULTILINE)
_FRONT = re.compile(r"\A(?:[^\n]*coding:[^\n]*\n)?\s*(---|\+\+\+|;;;)")
_NESTS = re.compile(r"```|~~~|<")
"""What may hold a line of `>>>` that begins nothing, and ends nothing."""


def shown_otherwise(text: str) -> tuple[range, ...]:
    """The lines that GitLab shows otherwise, by their numbers from 0.

    Args:
        text: A comment; its lines end in newlines only.
    """
    return (*_front(text), *(_quotes(text) if _QUOTE.search(text) else ()))


def _front(text: str) -> Iterator[range]:
    found = _FRONT.match(text)
    if found is None:
        return
    begins = text.count("\n", 0, found.start(1))
    for number, line in enumerate(text.split("\n")):
        if number > begins and line.rstrip() == found[1]:
            yield range(begins, number + 1)
            return


def _quotes(text: str) -> Iterator[range]:
    begun, length = 0, 0
    for number, line in enumerate(text.split("\n")):
        found = _QUOTE.match(line)
        if found is None:
            continue
        if not length:
            begun, length = number, len(found[1])
        elif len(found[1]) >= length and not _NESTS.search(text):
            yield range(begun, number + 1)
            length = 0
    if length:
        yield range(begun, text.count("\n") + 1)
