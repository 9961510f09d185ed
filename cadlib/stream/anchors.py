"""Anchors, aliases and merge keys written out, as edits of the text around them.

Rules:
- An alias becomes a copy of the text it stands for, comments included; inside braces and
  brackets, its value on one line.
- A merge key goes; the keys it brought in follow those of its own mapping, and keys that are
  there already win, then those of the mapping that is named first.
- Two merge keys in one mapping are refused, as in kyaml.

Source: kyaml `RNode.DeAnchor`.
"""

import re
from collections.abc import Iterator, Sequence

from cadlib.errors import PackageError, Place
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.stream.text import first_child
from cadlib.yaml import emit, read
from cadlib.yaml.emit import flow
from cadlib.yaml.layout import column, style_of
from cadlib.yaml.parse import Stream
from cadlib.yaml.patch import Patch
from cadlib.yaml.scalars import inline
from cadlib.yaml.tree import (
    Alias,
    Map,
    Node,
    Scalar,
    Seq,
    SourceText,
    is_block,
    is_merge,
    key_text,
    same,
)

Edit = tuple[int, int, str]
_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*\s+)*")
_ANCHOR = re.compile(r"&[^\s,\[\]{}]+[ \t]*")


def has_anchors(node: Node) -> bool:
    """Tell whether a node, or one below it, is an alias or has an anchor."""
    if isinstance(node, Alias) or node.anchor is not None:
        return True
    if isinstance(node, Map):
        return any(map(has_anchors, node.keys)) or any(map(has_anchors, node.values))
    return isinstance(node, Seq) and any(map(has_anchors, node.items))


def de_anchored(stream: Stream, limits: PackageLimits = DEFAULT) -> Stream:
    """Return a file with its anchors, aliases and merge keys written out.

    Args:
        stream: The file.
        limits: `file_bytes` bounds what may be written, so that a large text with many
            aliases is refused before it is made.

    Raises:
        PackageError: A mapping has two merge keys ("duplicate merge key"), the text would
            be too large, or it cannot be written out.
    """
    edits: list[Edit] = []
    for document in stream.documents:
        if not document.empty and not document.template:
            writer = _Writer(stream.source, style_of(document).compact, limits.file_bytes)
            edits += writer.edits(document.root, flow=False)
    if not edits:
        return stream
    patch = Patch(stream.source)
    for start, end, text in edits:
        patch.replace(start, end, text)
    written = read(patch.apply().encode(), path=stream.source.path, limits=limits)
    if len(written.documents) != len(stream.documents) or not all(
        same(new.value, old.value)
        for new, old in zip(written.documents, stream.documents, strict=True)
    ):
        raise PackageError(
            Place(stream.source.path),
            "its anchors cannot be expanded",
            "Replace the aliases with their values by hand",
        )
    return written


class _Writer:
    """Makes the edits for one document."""

    __slots__ = ("_compact", "_left", "_patch", "_source", "_text")

    def __init__(self, source: SourceText, compact: bool, most: int) -> None:
        self._source = source
        self._patch = Patch(source)
        self._text = self._patch.text
        self._compact = compact
        self._left = most

    def edits(self, node: Node, *, flow: bool) -> Iterator[Edit]:
        """Yield the edits inside a node that is no alias; children handle their aliases."""
        if isinstance(node, Scalar | Map | Seq) and node.anchor is not None:
            yield self._without_anchor(node)
        if isinstance(node, Map):
            yield from self._map(node, flow or node.flow)
        elif isinstance(node, Seq):
            for item in node.items:
                yield from self._child(item, None, flow or node.flow)

    def _without_anchor(self, node: Node) -> Edit:
        """Return the edit that takes an anchor away; a value that is nothing else is null."""
        found = _ANCHOR.search(self._text, node.start)
        assert found is not None  # noqa: S101 - the parser has seen it
        start, end = found.span()
        if isinstance(node, Scalar) and node.style == "" and not node.raw:
            return start, node.end, "null"
        if self._text[end : end + 1] in ("\r", "\n", ""):
            while self._text[start - 1] in " \t":
                start -= 1
        return start, end, ""

    def _child(self, node: Node, parent: int | None, flow: bool) -> Iterator[Edit]:
        """Yield the edits for a value below a key in column `parent`, or for an item."""
        if isinstance(node, Alias):
            yield from self._alias(node, parent, flow)
        else:
            yield from self.edits(node, flow=flow)

    def _alias(self, node: Alias, parent: int | None, in_flow: bool) -> Iterator[Edit]:
        target = node.target
        while isinstance(target, Alias):
            target = target.target
        self._count(target.end - target.start)
        if in_flow or (isinstance(target, Map | Seq) and not is_block(target)):
            yield node.start, node.end, flow(node.value, inside=in_flow)
        elif isinstance(target, Scalar):
            indent = self._patch.column(node.start) if parent is None else parent + 2
            yield node.start, node.end, self._scalar(target, indent)
        elif parent is None:
            pad = "\n" + " " * self._patch.column(node.start)
            yield node.start, node.end, pad.join(self._lines(target))
        else:
            indent = parent if isinstance(target, Seq) and self._compact else parent + 2
            start = node.start
            while self._text[start - 1] in " \t":
                start -= 1
            yield start, node.end, ""
            end = self._patch.line_end(node.end)
            pad = "\n" + " " * indent
            yield end, end, "".join(pad + line if line else "\n" for line in self._lines(target))

    def _count(self, characters: int) -> None:
        """Count what an alias adds."""
        self._left -= characters
        if self._left < 0:
            raise PackageError(
                Place(self._source.path),
                "with its aliases expanded, the file is too large",
                "Use fewer aliases, or replace them with their values",
            )

    def _scalar(self, target: Scalar, indent: int) -> str:
        if target.style in ("|", ">"):
            # Written anew below a key, for its indentation; the key is cut off again.
            lines = emit({"k": target.value}).removeprefix("k:").strip("\n").split("\n")
            pad = "\n" + " " * (indent - 2)
            return pad.join(line if line.strip() else "" for line in lines).strip(" ")
        if target.style == "" and not target.raw:
            return "null"
        properties = _PROPERTIES.match(self._text, target.start)
        start = properties.end() if properties else target.start
        return self._text[start : target.end]

    def _lines(self, node: Node) -> list[str]:
        """Return the lines of a block collection, written out, from column 0."""
        return self._window(first_child(self._text, node), node, self.edits(node, flow=False))

    def _window(self, start: int, last: Node, edits: Iterator[Edit]) -> list[str]:
        margin = " " * self._patch.column(start)
        end = max(self._patch.line_end(last.end), last.end)
        inner = sorted(edit for edit in edits if edit[0] >= start)  # not its own anchor
        text = _applied(self._text, start, end, inner)
        return [
            line.removeprefix(margin) if number else line
            for number, line in enumerate(text.rstrip("\n").split("\n"))
        ]

    def _map(self, node: Map, flow_: bool) -> Iterator[Edit]:
        merges = [position for position, key in enumerate(node.keys) if is_merge(key)]
        if len(merges) > 1:
            line = self._source.line(node.keys[merges[1]].start)
            raise PackageError(
                Place(self._source.path, line),
                "duplicate merge key",
                "Name both in one list: <<: [*a, *b]",
            )
        if merges and flow_:
            yield node.start, node.end, flow(node.value, inside=True)
            return
        for position, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            if position in merges:
                continue
            if isinstance(key, Alias):
                yield key.start, key.end, inline(key_text(key), flow=flow_)
            parent = None if flow_ else self._patch.column(node.keys[0].start)
            yield from self._child(value, parent, flow_)
        if merges:
            yield from self._merge(node, merges[0])

    def _merge(self, node: Map, position: int) -> Iterator[Edit]:
        pad = " " * column(self._source, node)
        own = {key_text(key) for key in node.keys if not is_merge(key)}
        lines = [
            line
            for key in node.value
            if key not in own
            for line in self._entry(node.values[position], key)
        ]
        key, value = node.keys[position], node.values[position]
        if len(node.keys) == 1:
            text = f"\n{pad}".join(lines) or "{}"
            yield key.start, self._patch.line_end(value.end), text
            return
        start = self._patch.line_start(key.start)
        if self._text[start : key.start].strip():  # behind a dash
            yield key.start, node.keys[position + 1].start, ""
        else:
            yield start, self._patch.after(value.end), ""
        last = len(node.keys) - 1
        end = self._patch.after(node.values[last if last != position else last - 1].end)
        end = max(end, self._patch.after(value.end)) if last == position else end
        yield end, end, "".join(f"{pad}{line}\n" if line else "\n" for line in lines)

    def _entry(self, merged: Node, name: str) -> list[str]:
        """Return the lines of a key that a merge key brings in, from column 0."""
        while isinstance(merged, Alias):
            merged = merged.target
        if isinstance(merged, Seq):
            holder = next(
                each for each in merged.items if isinstance(each.value, dict) and name in each.value
            )
            return self._entry(holder, name)
        assert isinstance(merged, Map)  # noqa: S101 - the reader refuses anything else
        found = merged.at(name)
        if found is None:
            position = next(n for n, key in enumerate(merged.keys) if is_merge(key))
            return self._entry(merged.values[position], name)
        key, value = found
        self._count(value.end - key.start)
        if merged.flow:
            text = self._text[value.start : value.end]
            text = flow(value.value) if has_anchors(value) or "\n" in text else text
            return [f"{self._text[key.start : key.end]}: {text}"]
        edits = self._child(value, self._patch.column(key.start), flow=False)
        return self._window(key.start, value, edits)


def _applied(text: str, start: int, end: int, edits: Sequence[Edit]) -> str:
    parts, done = [], start
    for begin, stop, new in edits:
        parts += [text[done:begin], new]
        done = stop
    return "".join([*parts, text[done:end]])
