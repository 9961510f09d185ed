"""Where the comments of a file stand, and its text without them."""

import re
from bisect import bisect_right
from collections.abc import Iterator

from cadlib.yaml import Stream
from cadlib.yaml.tree import Alias, Map, Node, Scalar, Seq

_COMMENT = re.compile(r"(?:^|(?<=[ \t\n]))#[^\r\n]*")


def spans(stream: Stream) -> list[tuple[int, int]]:
    """Return where the comments of a file stand, each from its "#" to the end of the line."""
    text = stream.source.text
    scalars = sorted(
        span
        for document in stream.documents
        if not document.empty
        for span in (
            [(document.start, document.end)]  # of a template nothing is known
            if document.template
            else _scalars(document.root, text)
        )
    )
    begins = [start for start, _ in scalars]
    found = []
    for match in _COMMENT.finditer(text):
        before = bisect_right(begins, match.start()) - 1
        if before < 0 or scalars[before][1] <= match.start():
            found.append(match.span())
    return found


def without_comments(stream: Stream) -> str:
    """Return a file's text without its comments; lines that held nothing else go."""
    text = stream.source.text
    kept: list[str] = []
    done = 0
    for start, end in spans(stream):
        before = text[done:start].rstrip(" \t")
        after = end
        if not before.rstrip(" \t") or before.endswith("\n"):
            after += text.startswith("\r", after)
            after += text.startswith("\n", after)
        kept.append(before)
        done = after
    return "".join([*kept, text[done:]])


def _scalars(node: Node, text: str) -> Iterator[tuple[int, int]]:
    """Yield where scalars stand, in which a "#" is text; of a block scalar, its lines."""
    match node:
        case Map():
            for key, value in zip(node.keys, node.values, strict=True):
                yield from _scalars(key, text)
                yield from _scalars(value, text)
        case Seq():
            for each in node.items:
                yield from _scalars(each, text)
        case Scalar():
            start = node.start
            if node.style in ("|", ">"):
                start = text.find("\n", start) % (node.end + 1)
            yield start, node.end
        case Alias():
            return
