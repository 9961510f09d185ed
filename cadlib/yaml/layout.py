"""How the neighbours of a place are laid out, so that new text looks like them."""

from collections.abc import Iterator

from cadlib.yaml.emit import Style
from cadlib.yaml.tree import Document, Map, Node, Seq, Text, is_block


def style_of(document: Document) -> Style:
    """Return a document's own style.

    The first mapping in a mapping, and the first list in a mapping, decide. Two columns
    and compact lists, as kpt writes them, where there are none.
    """
    return style_at(document.source, document.root, Style())


def style_at(source: Text, parent: Node, otherwise: Style) -> Style:
    """Return the style for a new child of a mapping or list, as far as those below it show.

    Args:
        source: The text.
        parent: The mapping or list; what lies below it is looked at, near ones first.
        otherwise: The style where nothing lies below it.
    """
    step = next((found for found in _steps(source, parent) if found > 0), otherwise.step)
    offset = next(_offsets(source, parent), None)
    return Style(step=step, compact=otherwise.compact if offset is None else offset == 0)


def children(node: Node) -> tuple[Node, ...]:
    """Return the values of a mapping or the elements of a list; nothing for other nodes."""
    if isinstance(node, Map):
        return node.values
    return node.items if isinstance(node, Seq) else ()


def column(source: Text, node: Node) -> int:
    """Return the column of a block collection's keys or dashes, from 0."""
    if isinstance(node, Map) and node.keys:
        position = node.keys[0].start
    elif isinstance(node, Seq) and source.text[node.start] != "-":  # behind an anchor or a tag
        position = source.text.rfind("-", node.start, node.items[0].start)
    else:
        position = node.start
    return position - source.line_start(position)


def _steps(source: Text, node: Node) -> Iterator[int]:
    for outer, inner in _nested(node):
        if isinstance(outer, Map) and isinstance(inner, Map):
            yield column(source, inner) - column(source, outer)


def _offsets(source: Text, node: Node) -> Iterator[int]:
    for outer, inner in _nested(node):
        if isinstance(outer, Map) and isinstance(inner, Seq):
            yield column(source, inner) - column(source, outer)


def _nested(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield each block collection that is the child of one, near ones first."""
    blocks = [child for child in children(node) if is_block(child)]
    for child in blocks:
        yield node, child
    for child in blocks:
        yield from _nested(child)
