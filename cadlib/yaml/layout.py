"""Detects the style of neighbouring nodes, so that new text matches it."""

from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeVar

from cadlib.yaml.emit import DEFAULT_STYLE, Style
from cadlib.yaml.tree import Document, Map, Node, Seq, SourceText, Value, is_block

T = TypeVar("T")
Look: TypeAlias = Callable[[SourceText, Node], Iterator[T]]


class Neighbours:
    """The styles that the nodes of one document have; each place is looked through once."""

    __slots__ = ("_flat", "_root", "_source", "_step")

    def __init__(self, document: Document) -> None:
        self._source = document.source
        self._root = document.root
        self._step: dict[int, int | None] = {}
        self._flat: dict[int, bool | None] = {}

    def style(self, near: Node, value: Value = None) -> Style:
        """Return the style for new text.

        The first mapping in a mapping, and the first list in a mapping, decide: below the
        node, or else in the whole document, near ones first. Two columns and compact lists,
        as kpt writes them, where there are none.

        Args:
            near: The mapping or list that the text will stand in.
            value: What will stand there. Lists are looked for only if it has one.
        """
        step = self._at(near, self._step, _steps)
        compact = not _has_list(value) or self._at(near, self._flat, _flat_ones)
        return Style(
            step=DEFAULT_STYLE.step if step is None else step, compact=compact is not False
        )

    def _at(self, near: Node, known: dict[int, T | None], look: Look[T]) -> T | None:
        if id(near) not in known:
            found = next(look(self._source, near), None)
            if found is None and near is not self._root:
                found = self._at(self._root, known, look)
            known[id(near)] = found
        return known[id(near)]


def style_of(document: Document) -> Style:
    """Return a document's own style."""
    return Neighbours(document).style(document.root, [])


def has_lists(document: Document) -> bool:
    """Tell whether a list stands in a mapping anywhere, whose columns new ones follow."""
    return next(_flat_ones(document.source, document.root), None) is not None


def _has_list(value: Value) -> bool:
    inner = value.values() if isinstance(value, dict) else ()
    return isinstance(value, list) or any(map(_has_list, inner))


def children(node: Node) -> tuple[Node, ...]:
    """Return the values of a mapping or the elements of a list; nothing for other nodes."""
    if isinstance(node, Map):
        return node.values
    return node.items if isinstance(node, Seq) else ()


def column(source: SourceText, node: Node) -> int:
    """Return the column of a block collection's keys or dashes, from 0."""
    if isinstance(node, Map) and node.keys:
        position = key_start(source.text, node.keys[0])
    elif isinstance(node, Seq) and source.text[node.start] != "-":  # behind an anchor or a tag
        position = source.text.rfind("-", node.start, node.items[0].start)
    else:
        position = node.start
    return position - source.line_start(position)


def key_start(text: str, key: Node) -> int:
    """Return where a key begins: at its question mark, if it has one."""
    before = text.rfind("\n", 0, key.start) + 1
    margin = text[before : key.start].rstrip()
    asked = margin.endswith("?") and margin[:-1].strip(" -") == ""
    return before + len(margin) - 1 if asked else key.start


def _steps(source: SourceText, node: Node) -> Iterator[int]:
    for outer, inner in _nested(node):
        if isinstance(outer, Map) and isinstance(inner, Map):
            step = column(source, inner) - column(source, outer)
            if step > 0:
                yield step


def _flat_ones(source: SourceText, node: Node) -> Iterator[bool]:
    for outer, inner in _nested(node):
        if isinstance(outer, Map) and isinstance(inner, Seq):
            yield column(source, inner) == column(source, outer)


def _nested(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield each block collection that is the child of one, near ones first."""
    blocks = [child for child in children(node) if is_block(child)]
    for child in blocks:
        yield node, child
    for child in blocks:
        yield from _nested(child)
