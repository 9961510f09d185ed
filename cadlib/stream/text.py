r"""Taking the text of one resource out of a larger text, and putting it into another.

Rules:
- Texts are moved whole, with their comments; only how far they are indented changes.
- The comment lines right above a resource in a list, in the column of its dash, belong to
  it; so do those below it that are indented further than the dash.
- Line ends become "\n", as in kpt.
"""

import re

from cadlib.yaml.parse import Stream
from cadlib.yaml.patch import Patch, head
from cadlib.yaml.tree import (
    Alias,
    Document,
    Map,
    Node,
    Scalar,
    Seq,
    SourceText,
    content_start,
    is_block,
)

_BREAKS = r"\r\n\x85\u2028\u2029"  # of YAML 1.1
# What was gone past stays so: else each part of an anchor is tried as one of its own.
_DASH = re.compile(rf"(?:[&!]\S*|[ \t\ufeff{_BREAKS}]|#[^{_BREAKS}]*)*+-")


def document_texts(stream: Stream) -> list[str]:
    """Return the text of each document that holds a value, without markers and directives.

    What stands between the end of one document and the marker of the next, such as a
    licence at the top of the file, comes before the text of the next.
    """
    found, since = [], 0
    for document in stream.documents:
        if not document.empty:
            found.append(_document_text(document, since))
        since = document.end
    return found


def _document_text(document: Document, since: int) -> str:
    text = document.source.text
    if not document.explicit:
        return _unix(_without_end(text[since : document.end]))
    marker = document.start
    while not text.startswith("---", marker):  # directives
        marker = text.index("\n", marker) + 1
    end = text.find("\n", marker)
    end = len(text) if end < 0 else end
    rest = text[marker + 3 : end].strip()
    if rest and not rest.startswith("#"):  # the value begins there
        end = marker + 2
    before = text[since : document.start].lstrip("\r\n")
    if before and not before.endswith("\n"):  # behind "..." there may be a comment
        before += "\n"
    return _unix(before + _without_end(text[end + 1 : document.end]))


def _without_end(text: str) -> str:
    """Return a document's text without its "..."."""
    return text.rstrip().removesuffix("...") if text.rstrip().endswith("\n...") else text


def item_texts(source: SourceText, items: Seq) -> list[str]:
    """Return the text of each item of a list, as a text of its own that begins in column 0."""
    if items.flow:
        return [_slice(source, item) for item in items.items]
    patch = Patch(source)
    marks = dashes(patch.text, items)
    margin = patch.column(marks[0])
    starts = [head(patch, patch.line_start(mark)) for mark in marks]
    ends = [*starts[1:], trailing(patch, patch.after(items.end), margin)]
    found = []
    for item, mark, start, end in zip(items.items, marks, starts, ends, strict=True):
        text = f"{patch.text[start:mark]} {patch.text[mark + 1 : end]}"
        inner = patch.column(first_child(patch.text, item)) if is_block(item) else margin + 2
        found.append(_unix(_dedented(text, inner)))
    return found


def dashes(text: str, items: Seq) -> list[int]:
    """Return where the dashes of a list in block style stand; there may be comments behind."""
    found = []
    position = content_start(text, items)
    for item in items.items:
        match = _DASH.match(text, position)
        assert match is not None  # noqa: S101 - the parser has seen it
        found.append(match.end() - 1)
        position = max(item.end, match.end())
    return found


def first_child(text: str, node: Node) -> int:
    """Return where the first key or dash of a collection in block style stands."""
    if isinstance(node, Map):
        return node.keys[0].start
    assert isinstance(node, Seq)  # noqa: S101 - only collections are in block style
    return dashes(text, node)[0]


def value_text(source: SourceText, key: Scalar | Alias, value: Node) -> str:
    """Return the text of a key's value, as a text of its own that begins in column 0."""
    if not is_block(value):
        return _slice(source, value)
    patch = Patch(source)
    margin = patch.column(first_child(patch.text, value))
    end = trailing(patch, patch.after(value.end), patch.column(key.start))
    return _unix(_dedented(patch.text[patch.after(key.end) : end], margin))


def _slice(source: SourceText, node: Node) -> str:
    start = source.line_start(node.start)
    text = source.text[node.start : node.end]
    return _unix(_dedented(text, node.start - start)) + "\n"


def trailing(patch: Patch, position: int, margin: int) -> int:
    """Return where the comment lines below a node end that are indented beyond `margin`."""
    end = position
    while position < len(patch.text):
        after = patch.after(position + 1) if patch.text[position] != "\n" else position + 1
        line = patch.text[position:after]
        stripped = line.strip()
        if stripped and not (stripped[0] == "#" and len(line) - len(line.lstrip(" ")) > margin):
            break
        end = after if stripped else end
        position = after
    return end


def _dedented(text: str, columns: int) -> str:
    margin = " " * columns
    lines = text.split("\n")
    return "\n".join(
        line[columns:] if line.startswith(margin) else line.lstrip(" ") for line in lines
    )


def as_item(text: str, indent: int = 0) -> str:
    """Return a text as an item of a list whose dashes stand in a column, comments above it."""
    pad = " " * indent
    lines = text.split("\n")
    first = next(
        (number for number, line in enumerate(lines) if line.strip() and line.lstrip()[0] != "#"), 0
    )
    above = [pad + line.strip() for line in lines[:first] if line.strip()]
    below = [f"{pad}  {line}" if line else "" for line in lines[first + 1 :]]
    return "\n".join([*above, f"{pad}- {lines[first]}", *below])


def indented(text: str, columns: int) -> str:
    """Return a text with each line that is not empty further in; blanks may be content."""
    pad = " " * columns
    return "\n".join(pad + line if line else "" for line in text.split("\n"))


def closed(document: Document) -> str:
    """Return the text of a file's only document, ended by one line break.

    Blank lines at its end go, unless they are content (`|+`); a block scalar at its end
    that had no line break keeps its value.
    """
    text = document.source.text
    last = _last(document.root)
    if isinstance(last, Scalar) and last.style in ("|", ">"):
        if text.endswith("\n") or not text:
            return text if last.raw.endswith("\n\n") else text.rstrip("\n") + "\n"
        header = content_start(text, last) + 1
        kept = text[header : text.find("\n", header)].split("#")[0]
        if "-" not in kept and last.end == len(text):
            return f"{text[:header]}-{text[header:].replace('+', '', '+' in kept)}\n"
    return text.rstrip() + "\n"


def _last(node: Node) -> Node:
    while isinstance(node, Map | Seq) and not node.flow:
        inner = node.values if isinstance(node, Map) else node.items
        if not inner:  # a template's keys are none that are known
            break
        node = inner[-1]
    return node


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
