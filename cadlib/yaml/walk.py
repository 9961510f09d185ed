"""One document and its wanted value, walked side by side; what differs becomes edits.

Rules: see `cadlib.yaml.edit`. Every method here writes into a `Patch`; none reads the
result, which `edit` does for the whole file.
"""

from collections.abc import Callable
from dataclasses import dataclass

from cadlib.errors import PackageError, Place
from cadlib.yaml.emit import Style, flow
from cadlib.yaml.emit import block as emit_block
from cadlib.yaml.fields import FieldPath, field_text
from cadlib.yaml.layout import column, style_at, style_of
from cadlib.yaml.patch import Patch, head
from cadlib.yaml.rewrite import scalar_text
from cadlib.yaml.tree import (
    Alias,
    Document,
    Map,
    Node,
    Scalar,
    Seq,
    Value,
    content_start,
    is_block,
    is_merge,
    key_text,
    same,
)


class EditError(PackageError):
    """A change cannot be written into this file without touching more than its lines."""


Entry = Callable[..., list[str]]
"""Writes one new key with its value; `emit.entry`, unless a test watches it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Where a node stands.

    Attributes:
        column: Column of its key or dash; -1 at the root.
        after: End of its key; None in a list and at the root.
        flow: Inside braces or brackets.
        json: All keys around it are in double quotes, inside braces.
        parent: The collection it stands in; None at the root.
    """

    column: int
    after: int | None = None
    flow: bool = False
    json: bool = False
    parent: Node | None = None


ROOT = Slot(column=-1)


class Editor:
    """Walks one document and its wanted value side by side."""

    __slots__ = ("_document", "_meant", "_patch", "_style", "_styles", "_write")

    def __init__(self, document: Document, patch: Patch, write: Entry) -> None:
        self._document = document
        self._patch = patch
        self._style = style_of(document)
        self._styles: dict[int, Style] = {}  # by parent: a long one is looked through once
        self._write = write
        self._meant: dict[int, Value] = {}  # wanted values of changed nodes with anchors

    def node(self, node: Node, wanted: Value, field: FieldPath, slot: Slot) -> None:
        """Bring one node to its wanted value."""
        if isinstance(node, Alias):
            self._alias(node, wanted, field, slot)
            return
        changed = not same(node.value, wanted)
        if node.anchor is not None and changed:
            self._meant[id(node)] = wanted
        if not changed and not self._meant:
            return
        if isinstance(node, Map) and isinstance(wanted, dict) and (wanted or not node.keys):
            self._map(node, wanted, field, slot)
        elif isinstance(node, Seq) and isinstance(wanted, list) and (wanted or not node.items):
            self._seq(node, wanted, field, slot)
        elif changed:
            self._replace(node, wanted, field, slot)

    def _alias(self, node: Alias, wanted: Value, field: FieldPath, slot: Slot) -> None:
        if same(self._meaning(node), wanted):
            return
        if isinstance(wanted, dict | list) and wanted:
            raise self._refuse(
                node,
                field,
                "the change would reach into an alias, and so every other place that shares it",
                f"Write the value out in place of {self._patch.text[node.start : node.end]}",
            )
        self._patch.replace(node.start, node.end, flow(wanted, json=slot.json, inside=slot.flow))

    def _meaning(self, node: Node) -> Value:
        """Return what a node will stand for after the edits so far."""
        if isinstance(node, Alias):
            return self._meaning(node.target)
        return self._meant.get(id(node), node.value)

    # Mappings.

    def _map(self, node: Map, wanted: dict[str, Value], field: FieldPath, slot: Slot) -> None:
        inherited = self._inherited(node)
        own = {key_text(key) for key in node.keys if not is_merge(key)}
        for key in inherited:
            if key not in wanted:
                raise self._refuse(
                    node, (*field, key), "the key comes from a merge key and cannot be removed",
                    "Take the merge key out and write its keys here",
                )  # fmt: skip
        added = {
            key: value
            for key, value in wanted.items()
            if key not in own and not (key in inherited and same(inherited[key], value))
        }
        if node.flow:
            self._flow_map(node, wanted, added, field, slot)
        else:
            self._block_map(node, wanted, added, field)

    def _inherited(self, node: Map) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if not is_merge(key):
                continue
            for source in value.items if isinstance(value, Seq) else (value,):
                meaning = self._meaning(source)
                for name, item in meaning.items() if isinstance(meaning, dict) else ():
                    found.setdefault(name, item)
        return found

    def _block_map(
        self, node: Map, wanted: dict[str, Value], added: dict[str, Value], field: FieldPath
    ) -> None:
        at = column(self._document.source, node)
        gone: list[int] = []
        for index, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            name = key_text(key)
            if is_merge(key):
                continue
            if name in wanted:
                inner = Slot(column=at, after=key.end, parent=node)
                self.node(value, wanted[name], (*field, name), inner)
            else:
                gone.append(index)
        lines = self._new_lines(node, added, at)
        if gone and self._remove_keys(node, gone, lines):
            return
        if lines:
            self._patch.insert_lines(self._patch.after(_end(node.keys[-1], node.values[-1])), lines)

    def _new_lines(self, node: Map, added: dict[str, Value], at: int) -> list[str]:
        if not added:
            return []
        style = self._style_at(node)
        return [
            line
            for key, value in added.items()
            for line in self._write(key, value, at, style=style)
        ]

    def _remove_keys(self, node: Map, gone: list[int], lines: list[str]) -> bool:
        """Take keys out; return whether `lines` have taken their place already."""
        patch = self._patch
        first = node.keys[0].start
        shared = bool(patch.text[patch.line_start(first) : first].strip())
        skip = 0
        if shared and gone[0] == 0:
            # The first key stands behind a dash: the first key that stays moves there.
            while skip < len(gone) and gone[skip] == skip:
                skip += 1
            if skip == len(node.keys):
                patch.replace(first, node.end, "\n".join(lines).lstrip(" "))
                return True
            self._join(first, node, skip)
        for index in gone[skip:]:
            key = node.keys[index]
            start = patch.line_start(key.start)
            if index or self._document.root is not node:
                start = head(patch, start)
            patch.delete(start, patch.after(_end(key, node.values[index])))
        return False

    def _join(self, first: int, node: Map, keep: int) -> None:
        """Remove the keys before `keep`, the first of them on the line of a dash."""
        patch = self._patch
        follower = node.keys[keep].start
        start = head(patch, patch.line_start(follower))
        if start == patch.line_start(follower):
            patch.delete(first, follower)
        else:  # comments stand above it: they stay, and the dash alone on its line
            dash = len(patch.text[:first].rstrip(" "))
            patch.delete(dash, patch.line_end(patch.line_start(start - 1)))

    def _flow_map(
        self,
        node: Map,
        wanted: dict[str, Value],
        added: dict[str, Value],
        field: FieldPath,
        slot: Slot,
    ) -> None:
        if not node.keys:
            if added:
                self._replace(node, added, field, slot)
            return
        json = all(isinstance(key, Scalar) and key.style == '"' for key in node.keys)
        inner = Slot(column=0, flow=True, json=json, parent=node)
        stay: list[int] = []
        for index, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            name = key_text(key)
            if is_merge(key) or name in wanted:
                stay.append(index)
            if name in wanted and not is_merge(key):
                at = Slot(column=0, after=key.end, flow=True, json=json, parent=node)
                self.node(value, wanted[name], (*field, name), at)
        if not stay:
            start = content_start(self._patch.text, node)
            self._patch.replace(start, node.end, flow(added, json=json))
            return
        self._shrink_flow([_span(node, index) for index in range(len(node.keys))], stay)
        self._grow_flow(
            node,
            [_span(node, index) for index in range(len(node.keys))],
            [flow({key: value}, json=inner.json)[1:-1] for key, value in added.items()],
        )

    def _shrink_flow(self, spans: list[tuple[int, int]], stay: list[int]) -> None:
        for index in range(stay[-1]):
            if index not in stay:
                self._patch.delete(spans[index][0], spans[index + 1][0])
        if stay[-1] + 1 < len(spans):
            self._patch.delete(spans[stay[-1]][1], spans[-1][1])

    def _grow_flow(self, node: Map | Seq, spans: list[tuple[int, int]], new: list[str]) -> None:
        """Put entries in behind the last one, on a line of its own if that one has one."""
        if not new:
            return
        patch = self._patch
        begin, end = spans[-1]
        margin = patch.text[patch.line_start(begin) : begin]
        separator = (
            ", " if margin.strip() or node.start >= patch.line_start(begin) else ",\n" + margin
        )
        patch.replace(end, end, "".join(separator + text for text in new))

    # Lists.

    def _seq(self, node: Seq, wanted: list[Value], field: FieldPath, slot: Slot) -> None:
        if len(wanted) != len(node.items):
            self._resize(node, wanted, field, slot)
            return
        at = 0 if node.flow else column(self._document.source, node)
        inner = Slot(column=at, flow=node.flow, json=slot.json, parent=node)
        for index, (item, value) in enumerate(zip(node.items, wanted, strict=True)):
            self.node(item, value, (*field, index), inner)

    def _resize(self, node: Seq, wanted: list[Value], field: FieldPath, slot: Slot) -> None:
        """Write new items behind the last one; other changes of length are refused."""
        old = len(node.items)
        if len(wanted) < old or not same(node.value, wanted[:old]):
            raise self._refuse(
                node, field,
                f"a list of {old} items would get {len(wanted)}, which is not supported yet",
                "Change this list by hand",
            )  # fmt: skip
        new = wanted[old:]
        if not old:
            self._replace(node, wanted, field, slot)
        elif node.flow:
            spans = [(item.start, item.end) for item in node.items]
            json = all(isinstance(item, Scalar) and item.style == '"' for item in node.items)
            self._grow_flow(node, spans, [flow(item, json=json, inside=True) for item in new])
        else:
            at = column(self._document.source, node)
            lines = emit_block(new, at, style=self._style_at(node))
            self._patch.insert_lines(self._patch.after(node.end), lines)

    # One node by another.

    def _replace(
        self, node: Scalar | Map | Seq, wanted: Value, field: FieldPath, slot: Slot
    ) -> None:
        """Write another kind of value, or another scalar, in a node's place."""
        if isinstance(node, Map | Seq) and node.anchor is not None and is_block(node):
            raise self._refuse(
                node, field, f"the block &{node.anchor} would become something else",
                "Replace it by hand",
            )  # fmt: skip
        if isinstance(wanted, dict | list) and wanted and not slot.flow:
            self._open(node, wanted, slot)
        elif slot.after is not None and is_block(node):
            end = self._colon(slot.after)
            self._patch.replace(end, end, " " + flow(wanted))
            self._patch.delete(self._patch.after(end), self._patch.after(node.end))
        else:
            self._inline(node, wanted, slot)

    def _inline(self, node: Scalar | Map | Seq, wanted: Value, slot: Slot) -> None:
        patch = self._patch
        start = content_start(patch.text, node)
        if isinstance(node, Scalar) and not isinstance(wanted, dict | list):
            style = (
                self._style_at(slot.parent or node)
                if isinstance(wanted, str) and "\n" in wanted
                else Style()
            )
            text, end = scalar_text(
                patch.text, node, wanted, indent=max(slot.column, 0), step=style.step,
                flow=slot.flow, json=slot.json, root=slot.column < 0,
            )  # fmt: skip
        else:
            text, end = flow(wanted, json=slot.json, inside=slot.flow), node.end
        if start == node.end:
            if slot.after is not None and ":" not in patch.text[slot.after : start]:
                text = ": " + text
            elif patch.text[start - 1 : start] != " ":
                text = " " + text
        patch.replace(start, end, text)

    def _open(
        self, node: Scalar | Map | Seq, wanted: "dict[str, Value] | list[Value]", slot: Slot
    ) -> None:
        """Give a place that had a scalar, nothing, or another collection lines of its own."""
        patch = self._patch
        style = self._style_at(slot.parent or node)
        if slot.after is None:  # behind a dash, or at the root
            start = content_start(patch.text, node)
            at = patch.column(start) if node.end > node.start else slot.column + 2
            first, *rest = self._lines(wanted, at, style)
            gap = "" if slot.column < 0 or patch.text[start - 1 : start] in " \n" else " "
            patch.replace(start, node.end, gap + first.lstrip(" "))
            patch.insert_lines(patch.after(node.end), rest)
            return
        flat = style.compact and isinstance(wanted, list)
        lines = self._lines(wanted, slot.column if flat else slot.column + style.step, style)
        colon = self._colon(slot.after)
        if is_block(node):
            patch.delete(patch.after(colon), patch.after(node.end))
        elif node.end > node.start:
            begin = max(content_start(patch.text, node), colon)
            patch.delete(len(patch.text[:begin].rstrip(" \t")), node.end)
        patch.insert_lines(patch.after(max(node.end, colon)), lines)

    def _lines(self, wanted: "dict[str, Value] | list[Value]", at: int, style: Style) -> list[str]:
        if isinstance(wanted, list):
            return emit_block(wanted, at, style=style)
        return [
            line
            for key, value in wanted.items()
            for line in self._write(key, value, at, style=style)
        ]

    def _style_at(self, parent: Node) -> Style:
        found = self._styles.get(id(parent))
        if found is None:
            found = style_at(self._document.source, parent, self._style)
            self._styles[id(parent)] = found
        return found

    def _colon(self, key_end: int) -> int:
        """Return where a key's colon ends."""
        return self._patch.text.index(":", key_end) + 1

    def _refuse(self, node: Node, field: FieldPath, problem: str, fix: str) -> EditError:
        source = self._document.source
        return EditError(
            Place(source.path, source.line(node.start), field_text(field)), problem, fix
        )


def _end(key: Node, value: Node) -> int:
    return max(key.end, value.end)


def _span(node: Map, index: int) -> tuple[int, int]:
    return node.keys[index].start, _end(node.keys[index], node.values[index])
