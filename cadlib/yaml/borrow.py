"""Text for new nodes, taken from a document that has them already.

Rules:
- What a new entry takes along is what `cadlib.yaml.blocks` calls its lines: comments,
  quotes, style and blank lines inside, indented for its new place.
- An entry that stands inside braces or brackets, or has an anchor, an alias or a merge key,
  is not borrowed: its text means nothing elsewhere.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from cadlib.yaml.blocks import Block, blocks
from cadlib.yaml.layout import children, column
from cadlib.yaml.match import match
from cadlib.yaml.patch import Patch
from cadlib.yaml.tree import Alias, Document, Map, Node, Scalar, Seq, Value, is_merge, key_text


@dataclass(frozen=True, slots=True)
class Like:
    """A node of another document, at the place that matches."""

    document: Document
    node: Node


@dataclass(frozen=True, slots=True)
class Model:
    """An entry of another document's collection, at the place that matches."""

    of: Like
    index: int

    @property
    def like(self) -> Like:
        """The entry's value."""
        return Like(self.of.document, children(self.of.node)[self.index])


Change = Callable[[Patch, Model, Value, int], None]
"""Edits an entry of another document, at a column there, to a value."""


class Lender:
    """Looks entries up in other documents; their lines are found once for each collection."""

    __slots__ = ("_blocks", "_change", "_keys")

    def __init__(self, change: Change) -> None:
        self._change = change
        self._blocks: dict[int, list[Block]] = {}
        self._keys: dict[int, dict[str, int]] = {}

    def at_key(self, likes: Sequence[Like], key: str) -> tuple[Model, ...]:
        """Return the entries that stand under a key."""
        places = ((like, self._places(like.node).get(key)) for like in likes)
        return tuple(Model(like, index) for like, index in places if index is not None)

    def at_items(self, likes: Sequence[Like], wanted: Sequence[Value]) -> list[tuple[Model, ...]]:
        """Return for each element of a list the elements that match it."""
        found: list[tuple[Model, ...]] = [()] * len(wanted)
        for like in likes:
            if isinstance(like.node, Seq):
                for place, index in enumerate(match(like.node.value, wanted)):
                    if index is not None:
                        found[place] = (*found[place], Model(like, index))
        return found

    def among(
        self, kept: Sequence[str | int], added: Collection[str], likes: Sequence[Like]
    ) -> list[str | int]:
        """Return keys in order, new ones behind the keys they stand behind in other documents.

        Args:
            kept: The keys that are there, in order; merge keys by number.
            added: The new ones; those that no other document has go last.
            likes: The mappings at the matching place.
        """
        behind: dict[str | int, list[str]] = {key: [] for key in kept}
        last: list[str] = []
        for key in added:
            before = next((key for key in self._before(likes, key) if key in behind), None)
            (last if before is None else behind[before]).append(key)
            behind[key] = []
        order: list[str | int] = []
        waiting = [*reversed([*kept, *last])]
        while waiting:
            order.append(waiting.pop())
            waiting += behind[order[-1]]  # the one that came last stands right behind
        return order

    def _before(self, likes: Sequence[Like], key: str) -> Iterator[str]:
        """Yield the keys before a key in the first mapping that has it, the nearest first."""
        for model in self.at_key(likes, key)[:1]:
            node = model.of.node
            assert isinstance(node, Map)  # noqa: S101 - nothing else has keys
            yield from (key_text(node.keys[n]) for n in range(model.index - 1, -1, -1))

    def _places(self, node: Node) -> dict[str, int]:
        """Return the position of each key of a mapping."""
        if not isinstance(node, Map):
            return {}
        found = self._keys.get(id(node))
        if found is None:
            found = self._keys[id(node)] = {
                key_text(key): index for index, key in enumerate(node.keys) if not is_merge(key)
            }
        return found

    def lines(self, models: Sequence[Model], value: Value, at: int) -> str | None:
        """Return the lines of an entry with a value at a column, if one can be borrowed."""
        for model in models:
            node = model.of.node
            lent = model.like.node
            if isinstance(node, Map | Seq) and not node.flow and _kind(lent) is _kind_of(value):
                if _bound(lent):
                    continue
                return self._text(model, node, value, at)
        return None

    def _text(self, model: Model, node: Map | Seq, value: Value, at: int) -> str:
        source = model.of.document.source
        patch = Patch(source)
        before = column(source, node)
        found = self._blocks.get(id(node))
        if found is None:
            found = self._blocks[id(node)] = blocks(patch, node, before, licence=False)
        block = found[model.index]
        self._change(patch, model, value, before)
        lead = " " * before if block.shared else ""
        return indented(lead + patch.span(block.begin, block.end), at - before)


def indented(text: str, by: int) -> str:
    """Return lines further in, or further out as far as they have room, with LF."""
    lines = text.replace("\r\n", "\n").split("\n")
    if by < 0:
        return "\n".join(line[min(-by, len(line) - len(line.lstrip(" "))) :] for line in lines)
    return "\n".join(" " * by + line if line else line for line in lines)


def _kind(node: Node) -> type | None:
    return {Map: dict, Seq: list, Scalar: str}.get(type(node))


def _kind_of(value: Value) -> type:
    return type(value) if isinstance(value, dict | list) else str


def _bound(node: Node) -> bool:
    """Tell whether a node has an anchor, an alias or a merge key in it."""
    if isinstance(node, Alias) or node.anchor is not None:
        return True
    keys = node.keys if isinstance(node, Map) else ()
    return any(isinstance(key, Alias) or is_merge(key) for key in keys) or any(
        map(_bound, children(node))
    )
