"""Writing a wanted Kptfile into its own text, with new fields where kpt has them.

Rules
- What stays keeps every byte (`cadlib.yaml.edit`). A field that is new goes behind the
  last of those that come before it in kpt's order, past comments that are indented deeper,
  and takes its text from `like` where that has the same value for it, comments included.
- Lists are indented as those that are there, and below their key where there are none, as kpt does.
- Fields of list elements, and mappings in braces, are left to `cadlib.yaml.edit`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cadlib.errors import PackageError, Place
from cadlib.kptfile.schema import KPTFILE, Struct
from cadlib.yaml import Document, FieldPath, Stream, Value, edit, read
from cadlib.yaml.emit import entry
from cadlib.yaml.layout import column, has_lists, style_of
from cadlib.yaml.patch import Patch, head
from cadlib.yaml.tree import Alias, Map, Node, Seq, is_block, is_merge, key_text, same


def document(stream: Stream) -> tuple[int, Document]:
    """Return the position and the document of a Kptfile that was read.

    Raises:
        PackageError: It holds no document, or no mapping.
    """
    for position, each in enumerate(stream.documents):
        if not each.empty and isinstance(each.value, dict):
            return position, each
    raise PackageError(Place(stream.source.path), "the Kptfile is not a mapping", "Write a Kptfile")


def write(
    data: bytes,
    wanted: Mapping[str, Value],
    *,
    path: str = "Kptfile",
    like: Document | None = None,
    comments: Mapping[FieldPath, str] | None = None,
) -> bytes:
    """Return a Kptfile with a wanted value.

    Args:
        data: The file, byte for byte.
        wanted: Its whole new value.
        path: Its path, for messages.
        like: Where the text of new fields and functions comes from, such as upstream's file.
        comments: All line comments that are wanted; None keeps each with its field.

    Raises:
        PackageError: It cannot be read, or the change does not fit into the text.
    """
    stream = read(data, path=path)
    _, found = document(stream)
    patch = Patch(stream.source)
    for position, lines in _new(found, patch, wanted, like):
        patch.insert_lines(position, lines)
    if patch.edits:
        bom = "\ufeff" if stream.source.bom else ""
        stream = read((bom + patch.apply()).encode(), path=path)
    position, _ = document(stream)
    return edit(
        stream,
        {position: dict(wanted)},
        comments={} if comments is None else {position: comments},
        like={} if like is None else {position: (like,)},
    )


def _new(
    found: Document, patch: Patch, wanted: Mapping[str, Value], like: Document | None
) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of each new field, and the beginning of the line to put them at."""
    source = _Source(Patch(like.source), like.root) if like else None
    yield from _fields(found, patch, found.root, wanted, KPTFILE, source)


@dataclass(frozen=True, slots=True)
class _Source:
    """A node that text may be taken from, and the text it stands in."""

    text: Patch
    node: Node

    def child(self, key: str) -> "_Source | None":
        found = _keys(self.node).get(key)
        return None if found is None else _Source(self.text, found[1])


def _keys(node: Node) -> dict[str, tuple[Node, Node]]:
    """Return the keys and values of a block mapping; none for anything else."""
    if not isinstance(node, Map) or not is_block(node):
        return {}
    return {
        key_text(key): (key, value)
        for key, value in zip(node.keys, node.values, strict=True)
        if not is_merge(key)
    }


def _fields(
    found: Document,
    patch: Patch,
    node: Node,
    wanted: Mapping[str, Value],
    shape: Struct,
    like: _Source | None,
) -> Iterator[tuple[int, list[str]]]:
    keys = _keys(node)
    if not keys or not isinstance(node, Map):
        return
    ranks = {key: rank for rank, key in enumerate(shape.fields)}
    for key in sorted(wanted, key=lambda each: ranks.get(each, len(ranks))):
        value, inner = wanted[key], shape.fields.get(key)
        if key not in node.value:
            before = [pair for each, pair in keys.items() if ranks.get(each, -1) < ranks[key]]
            lines = _borrowed(like, key, value, column(found.source, node))
            yield _place(patch, node, before), lines or _written(found, node, key, value)
        elif key in keys and isinstance(value, dict) and isinstance(inner, Struct):
            below = like.child(key) if like else None
            yield from _fields(found, patch, keys[key][1], value, inner, below)


def _place(patch: Patch, node: Map, before: Sequence[tuple[Node, Node]]) -> int:
    """Return the beginning of the line to put a field at that comes behind those `before`."""
    if not before:
        return head(patch, patch.line_start(node.keys[0].start))
    place = position = max(patch.after(max(key.end, value.end)) for key, value in before)
    margin = patch.column(node.keys[0].start)
    for line in patch.text[position:].split("\n"):
        text = line.strip(" \t\r\n")
        if text and (not text.startswith("#") or len(line) - len(line.lstrip(" ")) <= margin):
            break
        position += len(line) + 1
        place = position if text else place
    return place


def _written(found: Document, node: Map, key: str, value: Value) -> list[str]:
    style = style_of(found) if has_lists(found) else replace(style_of(found), compact=False)
    return entry(key, value, column(found.source, node), style=style)


def _borrowed(like: _Source | None, key: str, value: Value, at: int) -> list[str]:
    """Return the lines that another file has for the same field in the same column, if any."""
    pair = _keys(like.node).get(key) if like else None
    if like is None or pair is None or not same(pair[1].value, value) or _shares(pair[1]):
        return []
    text = like.text
    start = text.line_start(pair[0].start)
    if pair[0].start - start != at:
        return []
    end = text.after(max(pair[0].end, pair[1].end))
    return text.text[head(text, start) : end].replace("\r\n", "\n").removesuffix("\n").split("\n")


def _shares(node: Node) -> bool:
    """Tell whether a node has an anchor or an alias anywhere, which mean nothing elsewhere."""
    if isinstance(node, Alias) or node.anchor is not None:
        return True
    inner = node.values if isinstance(node, Map) else node.items if isinstance(node, Seq) else ()
    return any(_shares(each) for each in inner)
