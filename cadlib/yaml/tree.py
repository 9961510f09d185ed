r"""Reading YAML: plain values, and the spans of text they were read from.

Rules:
- The C parser of ruamel.yaml gives events with marks. A mark counts code points from
  the start of the text without its byte order mark, which is therefore kept aside.
- Only "\n" ends a line, as people and git see it; the parser counts U+2028 and others.
- A block collection ends with its last child, not where the parser noticed its end,
  after the comments that follow it. A block scalar ends with its last line of content.
- Aliases and merge keys are written out in values; every alias gets its own copy.
- A document with a key that is not a scalar is a template (`a: {{ .x }}` parses, as a
  mapping whose key is a mapping): it has no value and is never edited.
"""

import bisect
import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, TypeAlias, Union

from cadlib.errors import PackageError
from cadlib.yaml.fields import FieldPath

Value: TypeAlias = Union["dict[str, Value]", "list[Value]", str, int, float, bool, None]

_BOM = "\ufeff"
_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*[ \t]+)*")
_COMMENT = re.compile(r"[ \t]+(#[^\r\n]*)")
_COMMENT_IN_FLOW = re.compile(r"[ \t]*,?[ \t]+(#[^\r\n]*)")
_COMMENT_AFTER_KEY = re.compile(r"[ \t]*:(?:[ \t]+[&!]\S*)*[ \t]+(#[^\r\n]*)")
_COMMENT_IN_HEADER = re.compile(r"[|>][0-9+-]*[ \t]+(#[^\r\n]*)")


class TemplatedFileError(PackageError):
    """A file that is not YAML because it is a template (it contains "{{")."""


class Scalar(NamedTuple):
    """One scalar; `start` includes its anchor and tag, `end` is exclusive.

    `raw` is its text after unquoting and folding; `style` is "", "'", '"', "|" or ">".
    A value that is not there (`a:`) has no width.
    """

    start: int
    end: int
    value: Value
    raw: str
    style: str
    anchor: str | None


class Map(NamedTuple):
    """One mapping: `keys[i]` belongs to `values[i]`; merge keys are among them."""

    start: int
    end: int
    value: dict[str, Value]
    keys: "tuple[Scalar | Alias, ...]"
    values: "tuple[Node, ...]"
    flow: bool
    anchor: str | None

    def at(self, key: str) -> "tuple[Scalar | Alias, Node] | None":
        """Return the key and the value written for it here; None if not here."""
        for name, node in zip(self.keys, self.values, strict=True):
            if key_text(name) == key and not is_merge(name):
                return name, node
        return None


class Seq(NamedTuple):
    """One list."""

    start: int
    end: int
    value: list[Value]
    items: "tuple[Node, ...]"
    flow: bool
    anchor: str | None


class Alias(NamedTuple):
    """`*name`, standing for `target`."""

    start: int
    end: int
    value: Value
    target: "Node"


Node: TypeAlias = Scalar | Map | Seq | Alias


def key_text(key: "Scalar | Alias") -> str:
    """Return a key as it counts in values: its text, so `80:` and `"80":` are one key."""
    return key.raw if isinstance(key, Scalar) else str(key.value)


def is_merge(key: "Scalar | Alias") -> bool:
    """Tell whether a key is the merge key `<<`."""
    return isinstance(key, Scalar) and key.raw == "<<" and key.style == ""


def same(left: Value, right: Value) -> bool:
    """Tell whether two values are equal in YAML: types count, key order does not.

    Unlike `==` it keeps true apart from 1; `1` and `1.0` are the same number, and so
    is NaN with itself. The order of keys does not count.
    """
    if left is right:
        return True
    if isinstance(left, dict):
        return isinstance(right, dict) and len(left) == len(right) and _same_items(left, right)
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    return left == right


def _same_items(left: dict[str, Value], right: dict[str, Value]) -> bool:
    for key, value in left.items():
        if key not in right:
            return False
        other = right[key]
        # Most values are text: telling those here spares a call each.
        if value.__class__ is str and other.__class__ is str:
            if value != other:
                return False
        elif not same(value, other):
            return False
    return True


# No slots in the two classes below: their lazy parts live in the instance dictionary.
@dataclass(frozen=True)
class SourceText:
    """The text of a file, without its byte order mark, and where its lines begin."""

    path: str
    text: str
    bom: bool

    @classmethod
    def of(cls, path: str, data: bytes) -> "SourceText":
        """Return the text of a file whose bytes are UTF-8."""
        text = data.decode()
        return cls(path, text.removeprefix(_BOM), bom=text.startswith(_BOM))

    @cached_property
    def _breaks(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.text)]

    def line(self, position: int) -> int:
        """Return the line, from 1, of a position."""
        return bisect.bisect_left(self._breaks, position) + 1

    def line_start(self, position: int) -> int:
        """Return where the line of a position begins."""
        return self.text.rfind("\n", 0, position) + 1


class Extent(NamedTuple):
    """Where a document stands in its text: its nodes, and what is around them.

    `end` is exclusive: behind the document's "...", or before the next document.
    """

    root: Node
    start: int
    end: int
    explicit: bool


@dataclass(frozen=True)
class Document:
    """One document of a file.

    Attributes:
        value: Its value; None for an empty document and for a template.
        empty: It holds no node at all, comments at most.
        template: It has a key that is not a scalar, and passes untouched.
        index: Position among the documents that are not empty, as kpt counts; None
            for an empty one.
        source: The file's text.
        extent: Where it stands, or how to find that out: one that was read in another
            process comes without its nodes, which few ask for.
    """

    value: Value
    empty: bool
    template: bool
    index: int | None
    source: SourceText
    extent: Extent | Callable[[], Extent]

    @cached_property
    def near(self) -> Extent:
        """Where it stands, found out by now."""
        return self.extent if isinstance(self.extent, Extent) else self.extent()

    @property
    def root(self) -> Node:
        """Its outermost node; a scalar of no width if it is empty."""
        return self.near.root

    @property
    def start(self) -> int:
        """Where it begins: at its directives or "---", or at its first node."""
        return self.near.start

    @property
    def end(self) -> int:
        """Where it ends: after its "...", or before the next document."""
        return self.near.end

    @property
    def explicit(self) -> bool:
        """Whether it begins with "---"."""
        return self.near.explicit

    @property
    def start_line(self) -> int:
        """The line of its first node, from 1."""
        return self.source.line(self.root.start)

    def line(self, field: FieldPath) -> int | None:
        """Return the line, from 1, where a field stands.

        That is the line of its key, or of the item in a list; of a plain or quoted
        scalar, where it begins. The nearest parent's where the field does not exist.
        None for an empty document.
        """
        if self.empty:
            return None
        place, node = self._found(field)
        if isinstance(node, Scalar) and node.end > node.start:
            place = content_start(self.source.text, node)
        return self.source.line(place)

    def mark(self, field: FieldPath) -> tuple[int, int] | None:
        """Return the line and the column, both from 1, where a field stands.

        That is its key, or the item in a list. The nearest parent's where the field does not
        exist. None for an empty document.
        """
        if self.empty:
            return None
        place, _ = self._found(field)
        return self.source.line(place), place - self.source.line_start(place) + 1

    def _found(self, field: FieldPath) -> tuple[int, Node]:
        """Return where the nearest of a field and what is around it begins, and its node."""
        place, node = self.root.start, self.root
        for step in field:
            found = _child(node, step) or _merged(node, step)
            if found is None:
                break
            place, node = found
        return place, node

    def scalar(self, field: FieldPath) -> Scalar | None:
        """Return the scalar that a field is written as; None where no scalar is written."""
        node: Node | None = None if self.empty or self.template else self.root
        for step in field:
            found = _child(node, step) if node is not None else None
            node = found[1] if found else None
        while isinstance(node, Alias):
            node = node.target
        return node if isinstance(node, Scalar) else None

    @cached_property
    def comments(self) -> Mapping[FieldPath, str]:
        """Line comments, from "#" to the end of the line, by the field they follow.

        A comment after a key that opens a block belongs to that key's field.
        """
        text = self.source.text
        if self.empty or self.template or text.find("#", self.root.start, self.end) < 0:
            return MappingProxyType({})
        found: dict[FieldPath, str] = {}
        for path, position, pattern in comment_places(self.root, (), text, flow=False):
            match = pattern.match(text, position)
            if match:
                found.setdefault(path, match[1])
        return MappingProxyType(found)

    @property
    def noted(self) -> Mapping[FieldPath, str]:
        """Its `comments`, which are read when asked for: most functions never look at them.

        Not kept with the document, which would hold itself by it until garbage is collected.
        """
        return _Comments(self)

    def is_noted(self, comments: Mapping[FieldPath, str]) -> bool:
        """Tell whether comments are those that it was read with."""
        return isinstance(comments, _Comments) and comments.document is self

    @cached_property
    def sent(self) -> dict[Hashable, bytes]:
        """What was written of it for others, kept for as long as it is: it never changes."""
        return {}


class _Comments(Mapping[FieldPath, str]):
    """The line comments of a document, read when asked for."""

    __slots__ = ("document",)

    def __init__(self, document: Document) -> None:
        self.document = document

    def __getitem__(self, field: FieldPath) -> str:
        return self.document.comments[field]

    def __iter__(self) -> Iterator[FieldPath]:
        return iter(self.document.comments)

    def __len__(self) -> int:
        return len(self.document.comments)


def _child(node: Node, step: str | int) -> tuple[int, Node] | None:
    while isinstance(node, Alias):
        node = node.target
    if isinstance(node, Map) and isinstance(step, str):
        found = node.at(step)
        return (found[0].start, found[1]) if found else None
    if isinstance(node, Seq) and isinstance(step, int) and 0 <= step < len(node.items):
        return node.items[step].start, node.items[step]
    return None


def _merged(node: Node, step: str | int) -> tuple[int, Node] | None:
    """Return where a key stands that a merge key brings in: in the first that has it."""
    while isinstance(node, Alias):
        node = node.target
    if not isinstance(node, Map):
        return None
    for name, value in zip(node.keys, node.values, strict=True):
        if is_merge(name):
            sources = value.items if isinstance(value, Seq) else (value,)
            found = (_child(each, step) or _merged(each, step) for each in sources)
            return next((each for each in found if each), None)
    return None


def content_start(text: str, node: Node) -> int:
    """Return where a node begins behind its anchor and tag."""
    match = _PROPERTIES.match(text, node.start, max(node.end, node.start))
    return match.end() if match else node.start


def comment_places(
    node: Node, path: FieldPath, text: str, *, flow: bool
) -> Iterator[tuple[FieldPath, int, re.Pattern[str]]]:
    """Yield where a line comment of each field may begin, and what it looks like there."""
    if isinstance(node, Map):
        for key, value in zip(node.keys, node.values, strict=True):
            here = (*path, key_text(key))
            if is_block(value):
                yield here, key.end, _COMMENT_AFTER_KEY
            yield from comment_places(value, here, text, flow=flow or node.flow)
    elif isinstance(node, Seq):
        for index, item in enumerate(node.items):
            yield from comment_places(item, (*path, index), text, flow=flow or node.flow)
    if isinstance(node, Scalar) and node.style in ("|", ">"):
        yield path, content_start(text, node), _COMMENT_IN_HEADER
    elif not is_block(node):
        yield path, node.end, _COMMENT_IN_FLOW if flow else _COMMENT


def is_block(node: Node) -> bool:
    """Tell whether a node is a mapping or list in block style, on lines of its own."""
    return isinstance(node, Map | Seq) and not node.flow
