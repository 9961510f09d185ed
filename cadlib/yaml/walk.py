"""One document and its wanted value, walked side by side; what differs becomes edits.

Longer than 400 lines: `Editor` is one walk, whose methods call each other for each kind of node.
Rules: see `cadlib.yaml.edit`. Every method here writes into a `Patch`; none reads the
result, which `edit` does for the whole file.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter

from cadlib.errors import PackageError, Place
from cadlib.yaml import digits
from cadlib.yaml.blocks import Plan, arrange, blocks
from cadlib.yaml.borrow import Like, Model
from cadlib.yaml.emit import DEFAULT_STYLE, flow
from cadlib.yaml.fields import FieldPath, field_text
from cadlib.yaml.flows import rearranged
from cadlib.yaml.fresh import Entry, Fresh
from cadlib.yaml.layout import children, column
from cadlib.yaml.match import match, renamed
from cadlib.yaml.outdated import outdated
from cadlib.yaml.patch import Patch, foot
from cadlib.yaml.rewrite import scalar_text
from cadlib.yaml.scalars import Quoted, inline
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Position and indentation of a node.

    Attributes:
        column: Column of its key or dash; -1 at the root.
        after: End of its key; None in a list and at the root.
        flow: Inside braces or brackets.
        json: All keys around it are in double quotes, inside braces.
        parent: The collection it stands in; None at the root.
        likes: Nodes of other documents at the matching place, to take new text from.
    """

    column: int
    after: int | None = None
    flow: bool = False
    json: bool = False
    parent: Node | None = None
    likes: tuple[Like, ...] = ()


ROOT = Slot(column=-1)


class Editor:
    """Walks one document and its wanted value side by side."""

    __slots__ = (
        "_aliases", "_document", "_fresh", "_meant", "_patch", "_reorder", "_write",
    )  # fmt: skip

    def __init__(
        self, document: Document, patch: Patch, write: Entry, *, reorder: bool = False
    ) -> None:
        self._aliases: list[tuple[int, Alias]] | None = None  # all, by where their target begins
        self._document = document
        self._patch = patch
        self._reorder = reorder
        self._write = write
        self._meant: dict[int, Value] = {}  # wanted values of changed nodes with anchors
        self._fresh = Fresh(document, write, self._lend)

    def node(self, node: Node, wanted: Value, field: FieldPath, slot: Slot) -> None:
        """Bring one node to its wanted value."""
        if isinstance(node, Alias):
            self._alias(node, wanted, field, slot)
            return
        if node.value is wanted and not self._meant and not self._reorder:
            return
        if node.anchor is not None and not same(node.value, wanted):
            self._meant[id(node)] = wanted
        if isinstance(node, Map) and isinstance(wanted, dict) and (wanted or not node.keys):
            self._map(node, wanted, field, slot)
        elif isinstance(node, Seq) and isinstance(wanted, list) and (wanted or not node.items):
            self._seq(node, wanted, field, slot)
        elif not same(node.value, wanted) or _is_bare(node, wanted) or digits.put(node, wanted):
            if isinstance(node, Map | Seq):
                self._check_anchors(children(node), field)
            self._replace(node, wanted, field, slot)

    def _alias(self, node: Alias, wanted: Value, field: FieldPath, slot: Slot) -> None:
        if same(self._meaning(node), wanted):
            return
        if isinstance(wanted, dict | list) and wanted:
            raise self._refuse(
                node,
                field,
                "the change would affect an alias, and with it every other place that shares it",
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
        names = [None if is_merge(key) else key_text(key) for key in node.keys]
        inherited = self._inherited(node) if None in names else {}
        for key in inherited:
            if key not in wanted:
                raise self._refuse(
                    node, (*field, key), "the key comes from a merge key and cannot be removed",
                    "Remove the merge key and write its keys here",
                )  # fmt: skip
        added = {
            key: value
            for key, value in wanted.items()
            if key not in node.value or (key in inherited and key not in names)
            if not (key in inherited and same(inherited[key], value))
        }
        became = {} if inherited or not added else _renamed_keys(self._patch.text, node, wanted)
        for index, name in became.items():
            names[index] = name
            del added[name]
        if node.flow and not node.keys:
            if added:
                self._replace(node, added, field, slot)
            return
        json = node.flow and all(isinstance(key, Scalar) and key.style == '"' for key in node.keys)
        at = 0 if node.flow else column(self._document.source, node)

        def change(index: int) -> None:
            name = names[index]
            if name is None:
                return
            value, new = node.values[index], wanted[name]
            if index in became:
                key = node.keys[index]
                style = key.style if isinstance(key, Scalar) else ""
                self._patch.replace(key.start, key.end, inline(name, style=style, flow=node.flow))
            if value.value is new and not self._meant and not self._reorder:
                return
            likes = tuple(model.like for model in self._fresh.lender.at_key(slot.likes, name))
            inner = Slot(
                column=at, after=node.keys[index].end, flow=node.flow, json=json, parent=node,
                likes=likes,
            )  # fmt: skip
            self.node(value, new, (*field, name), inner)

        order = self._order(names, wanted, added, slot.likes)
        kept = [each for each in order if isinstance(each, int)]
        if kept == list(range(len(names))) == order[: len(names)] and not (node.flow and added):
            for index in kept:
                change(index)
            if added:
                end = max(node.keys[-1].end, node.values[-1].end)
                place = foot(self._patch, self._patch.after(end), at)
                new = {each: added[each] for each in order if isinstance(each, str)}
                text = self._fresh.lines(new, at, node, slot.likes)
                self._patch.replace(place, place, text)
            return
        self._check_anchors([node.values[n] for n in set(range(len(names))) - set(kept)], field)
        plan = [
            each if isinstance(each, int)
            else flow({each: wanted[each]}, json=json)[1:-1] if node.flow
            else self._fresh.lines({each: wanted[each]}, at, node, slot.likes)
            for each in order
        ]  # fmt: skip
        self._arrange(node, at, plan, change, field)

    def _order(
        self,
        names: list[str | None],
        wanted: dict[str, Value],
        added: dict[str, Value],
        likes: tuple[Like, ...],
    ) -> list[int | str]:
        """Return the keys wanted, in order: those there by position, new ones by name."""
        place = {name: n for n, name in enumerate(names)}
        kept = [n for n, name in enumerate(names) if name is None or name in wanted]
        if self._reorder:
            merges = [n for n in kept if names[n] is None]
            mine = [key for key in wanted if key in added or key in place]
            return [*merges, *(key if key in added else place[key] for key in mine)]
        if not likes or not added:
            return [*kept, *added]
        known = [names[n] or n for n in kept]
        order = self._fresh.lender.among(known, added, likes)
        return [each if isinstance(each, int) or each in added else place[each] for each in order]

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

    # Lists.

    def _seq(self, node: Seq, wanted: list[Value], field: FieldPath, slot: Slot) -> None:
        if not node.items:
            if wanted:
                self._replace(node, wanted, field, slot)
            return
        at = 0 if node.flow else column(self._document.source, node)
        known = match(node.value, wanted)
        old = outdated(self._patch, node, at, wanted, known)
        found = [None if index in old.gone else index for index in known]
        models = self._fresh.lender.at_items(slot.likes, wanted)
        places = {index: place for place, index in enumerate(found) if index is not None}
        json = slot.json or all(
            isinstance(item, Scalar) and item.style == '"' for item in node.items
        )

        def change(index: int) -> None:
            place = places[index]
            inner = Slot(
                column=at, flow=node.flow, json=slot.json, parent=node,
                likes=tuple(model.like for model in models[place]),
            )  # fmt: skip
            self.node(node.items[index], wanted[place], (*field, place), inner)
            for span in old.spans.get(index, ()):
                self._patch.delete(*span)

        if found == list(range(len(node.items))):
            for index in range(len(found)):
                change(index)
            return
        self._check_anchors(
            [item for index, item in enumerate(node.items) if index not in places], field
        )
        plan = [
            index if index is not None
            else flow(wanted[place], json=json, inside=True) if node.flow
            else self._fresh.entry(None, wanted[place], at, node, models[place])
            for place, index in enumerate(found)
        ]  # fmt: skip
        self._arrange(node, at, plan, change, field)

    def _arrange(
        self, node: Map | Seq, at: int, plan: Plan, change: Callable[[int], None], field: FieldPath
    ) -> None:
        """Put the entries of a collection into another order, each edited."""
        patch = self._patch
        if node.flow:
            self._arrange_flow(node, plan, change, field)
            return
        licence = isinstance(node, Map) and node is self._document.root
        found = blocks(patch, node, at, licence=licence)

        def moved(index: int) -> str:
            block = found[index]
            text = self._aside(lambda: change(index), block.begin, block.below, field)
            return " " * at + text if block.shared else text

        arrange(patch, found, plan, change=change, moved=moved, spread=isinstance(node, Seq))

    def _arrange_flow(
        self, node: Map | Seq, plan: Plan, change: Callable[[int], None], field: FieldPath
    ) -> None:
        text = self._patch.text
        start = content_start(text, node)
        if text[start] not in "{[":  # one key without braces, in a list: `[a: 1]`
            raise self._refuse(node, field, "a mapping without braces would get other keys", _HAND)
        inner = children(node)
        keys = node.items if isinstance(node, Seq) else node.keys
        spans = [(key.start, max(key.end, end.end)) for key, end in zip(keys, inner, strict=True)]

        def moved(index: int) -> str:
            return self._aside(lambda: change(index), *spans[index], field)

        inside = (start + 1, node.end - 1)
        try:
            self._patch.replace(*inside, rearranged(text, inside, spans, plan, moved))
        except ValueError as error:
            raise self._refuse(node, field, str(error), _HAND) from error

    def _aside(self, change: Callable[[], None], begin: int, end: int, field: FieldPath) -> str:
        """Return the text of a span with edits that are not made at its place."""
        outer, self._patch = self._patch, self._patch.fork()
        try:
            change()
            return self._patch.span(begin, end)
        except ValueError as error:
            source = self._document.source
            place = Place(source.path, source.line(begin), field_text(field))
            raise EditError(place, str(error), _HAND) from error
        finally:
            self._patch = outer

    def _check_anchors(self, gone: Sequence[Node], field: FieldPath) -> None:
        """Refuse to take out what an alias elsewhere stands for."""
        text = self._patch.text
        gone = sorted(gone, key=attrgetter("start"))
        starts = [node.start for node in gone]
        for node in gone:
            if "&" not in text[node.start : node.end]:
                continue
            for alias in self._standing_for(node):
                before = bisect_right(starts, alias.start)
                if not before or alias.start >= gone[before - 1].end:
                    raise self._refuse(
                        alias, field, f"{text[alias.start : alias.end]} would lose its anchor",
                        "Write the value out in place of the alias",
                    )  # fmt: skip

    def _standing_for(self, node: Node) -> Iterator[Alias]:
        """Return the aliases of a node and of what lies in it."""
        if self._aliases is None:
            found = ((alias.target.start, alias) for alias in _aliases(self._document.root))
            self._aliases = sorted(found, key=itemgetter(0))
        first = bisect_left(self._aliases, node.start, key=itemgetter(0))
        last = bisect_left(self._aliases, node.end, key=itemgetter(0))
        return (alias for _, alias in self._aliases[first:last])

    def _lend(self, patch: Patch, model: Model, value: Value, at: int) -> None:
        like, parent = model.like, model.of.node
        after = parent.keys[model.index].end if isinstance(parent, Map) else None
        Editor(like.document, patch, self._write).node(
            like.node, value, (), Slot(column=at, after=after, parent=parent)
        )

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
        bare = slot.after is not None or content_start(self._patch.text, node) == node.start
        if isinstance(wanted, dict | list) and wanted and not slot.flow and bare:
            self._open(node, wanted, field, slot)
        elif slot.after is not None and is_block(node):
            end = self._colon(slot, field)
            self._patch.replace(end, self._beginning(node, end), " " + flow(wanted))
            self._patch.delete(self._patch.after(end), self._patch.after(node.end))
        else:
            self._inline(node, wanted, field, slot)

    def _inline(
        self, node: Scalar | Map | Seq, wanted: Value, field: FieldPath, slot: Slot
    ) -> None:
        patch = self._patch
        if slot.after is not None and not slot.flow:
            self._colon(slot, field)
        start = content_start(patch.text, node)
        if isinstance(node, Scalar) and not isinstance(wanted, dict | list):
            style = (
                self._fresh.near.style(slot.parent or node)
                if isinstance(wanted, str) and "\n" in wanted
                else DEFAULT_STYLE
            )
            text, end = scalar_text(
                patch.text, node, wanted, indent=max(slot.column, 0), step=style.step,
                flow=slot.flow, json=slot.json, root=slot.column < 0,
            )  # fmt: skip
        else:
            text = flow(wanted, json=slot.json, inside=slot.flow)
            end = _filled_end(patch.text, node)
        if start == node.end:
            if slot.after is not None and ":" not in patch.text[slot.after : start]:
                text = ": " + text
            elif patch.text[start - 1 : start] != " ":
                text = " " + text
        if patch.text[end : end + 1] == "#":  # a comment without a blank before it
            text += " "
        patch.replace(self._untagged(node, wanted, start), end, text)

    def _open(
        self,
        node: Scalar | Map | Seq,
        wanted: "dict[str, Value] | list[Value]",
        field: FieldPath,
        slot: Slot,
    ) -> None:
        """Give a place that had a scalar, nothing, or another collection lines of its own."""
        patch = self._patch
        near = slot.parent or node
        if slot.after is None:  # behind a dash, or at the root
            start = content_start(patch.text, node)
            at = patch.column(start) if node.end > node.start else slot.column + 2
            first, _, rest = self._fresh.lines(wanted, at, near, slot.likes).partition("\n")
            gap = "" if slot.column < 0 or patch.text[start - 1 : start] in " \n" else " "
            end = _filled_end(patch.text, node)
            patch.replace(start, end, gap + first.lstrip(" "))
            patch.replace(patch.after(end), patch.after(end), rest)
            return
        style = self._fresh.near.style(near, wanted)
        flat = style.compact and isinstance(wanted, list)
        at = slot.column if flat else slot.column + style.step
        lines = self._fresh.lines(wanted, at, near, slot.likes)
        colon = self._colon(slot, field)
        end = max(_filled_end(patch.text, node), colon)
        if is_block(node):
            patch.delete(colon, self._beginning(node, colon))
            patch.delete(patch.after(colon), patch.after(node.end))
        elif node.end > node.start:
            begin = self._untagged(node, wanted, max(content_start(patch.text, node), colon))
            patch.delete(len(patch.text[:begin].rstrip(" \t")), end)
        place = patch.after(max(node.end, colon) if is_block(node) else end)
        patch.replace(place, place, lines)

    def _colon(self, slot: Slot, field: FieldPath) -> int:
        """Return where the colon of a key ends.

        Raises:
            EditError: The key has none: a question mark stands before it.
        """
        found = _COLON.match(self._patch.text, slot.after or 0)
        if found is None:
            source = self._document.source
            place = Place(source.path, source.line(slot.after or 0), field_text(field))
            raise EditError(place, "a key with a question mark has no colon", _COLON_FIX)
        return found.end()

    def _beginning(self, node: Node, colon: int) -> int:
        """Return up to where the line of a key's colon holds the block that is its value.

        That is its tag, or all of its line where it begins there (`: - a`, `: b: c`).
        """
        text = self._patch.text
        if node.start >= self._patch.line_end(colon):
            return colon
        tag = _TAG.match(text, node.start)
        return self._patch.line_end(node.start) if tag is None else tag.end()

    def _untagged(self, node: Node, wanted: Value, start: int) -> int:
        """Return where what a value replaces begins: at its tag, unless that fits the new one."""
        found = _TAGGED.match(self._patch.text, node.start, start)
        fits = isinstance(node.value, str) and isinstance(wanted, str)
        return start if found is None or fits or found.end() != start else found.start("tag")

    def _refuse(self, node: Node, field: FieldPath, problem: str, fix: str) -> EditError:
        source = self._document.source
        return EditError(
            Place(source.path, source.line(node.start), field_text(field)), problem, fix
        )


def _filled_end(text: str, node: Node) -> int:
    """Return where a node ends, without the blank lines that a block scalar keeps."""
    return node.start + len(text[node.start : node.end].rstrip("\r\n"))


def _is_bare(node: Node, wanted: Value) -> bool:
    """Tell whether a text is to have quotes, and has none."""
    return isinstance(wanted, Quoted) and isinstance(node, Scalar) and node.style == ""


def _renamed_keys(text: str, node: Map, wanted: dict[str, Value]) -> dict[int, str]:
    """Return the new names of a mapping's keys by position; of those written plainly, no others."""
    found = renamed(node.value, wanted)
    return {
        index: found[key_text(key)]
        for index, key in enumerate(node.keys if found else ())
        if isinstance(key, Scalar) and key_text(key) in found
        if text[key.start : key.end].strip("'\"") == key.raw != ""  # no tag, no anchor
    }


def _aliases(node: Node) -> Iterator[Alias]:
    if isinstance(node, Alias):
        yield node
    elif isinstance(node, Map | Seq):
        for child in children(node):
            yield from _aliases(child)


_HAND = "Make this change by hand"
_COLON = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?\n)*[ \t]*:")
_COLON_FIX = "Write the key without its question mark, or with a colon"
_TAG = re.compile(r"![^\s,\[\]{}]*")
_TAGGED = re.compile(r"(?:&[^\s,\[\]{}]+\s+)?(?P<tag>![^\s,\[\]{}]*\s*)")
