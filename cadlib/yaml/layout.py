"""How the neighbours of a place are laid out, so that new text looks like them."""

from collections.abc import Iterator

from cadlib.yaml.emit import Style
from cadlib.yaml.tree import Document, Map, Node, Seq, Text, is_block


def style_at(document: Document, parent: Node) -> Style:
    """Return the style for a new child of a mapping or list.

    The first mapping in a mapping, and the first list in a mapping, decide: looked for
    below `parent` first, then in the whole document. Two columns and compact lists,
    as kpt writes them, where there are none.
    """
    source = document.source
    step = _first(_steps(source, parent)) or _first(_steps(source, document.root)) or 2
    offsets = _first_offset(source, parent), _first_offset(source, document.root)
    offset = next((found for found in offsets if found is not None), 0)
    return Style(step=step, compact=offset == 0)


def column(source: Text, node: Node) -> int:
    """Return the column of a block collection's keys or dashes, from 0."""
    if isinstance(node, Map) and node.keys:
        position = node.keys[0].start
    elif isinstance(node, Seq) and source.text[node.start] != "-":  # behind an anchor or a tag
        position = source.text.rfind("-", node.start, node.items[0].start)
    else:
        position = node.start
    return position - source.line_start(position)


def _first(numbers: Iterator[int]) -> int | None:
    return next((number for number in numbers if number > 0), None)


def _steps(source: Text, node: Node) -> Iterator[int]:
    for outer, inner in _nested(node):
        if isinstance(outer, Map) and isinstance(inner, Map):
            yield column(source, inner) - column(source, outer)


def _first_offset(source: Text, node: Node) -> int | None:
    for outer, inner in _nested(node):
        if isinstance(outer, Map) and isinstance(inner, Seq):
            return column(source, inner) - column(source, outer)
    return None


def _nested(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield each block collection that is the child of one, near ones first."""
    children: tuple[Node, ...] = ()
    if isinstance(node, Map):
        children = node.values
    elif isinstance(node, Seq):
        children = node.items
    blocks = [child for child in children if is_block(child)]
    for child in blocks:
        yield node, child
    for child in blocks:
        yield from _nested(child)
