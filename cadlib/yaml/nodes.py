"""Makes nodes of the C parser's events; only `cadlib.yaml.parse` and `holds` read the parser."""

import re
from collections.abc import Callable
from typing import Any

from _ruamel_yaml import CParser
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.scanner import ScannerError

from cadlib.errors import PackageError, Place, quoted
from cadlib.limits import PackageLimits
from cadlib.yaml.scalars import resolve
from cadlib.yaml.tree import (
    Alias,
    Document,
    Extent,
    Map,
    Node,
    Scalar,
    Seq,
    SourceText,
    TemplatedFileError,
    Value,
    is_merge,
    key_text,
)

_TAG = "tag:yaml.org,2002:"
_MERGE = _TAG + "merge"
RESOLVED_TAGS = frozenset(_TAG + name for name in ("int", "float", "bool", "null"))
_BLOCK_STYLES = frozenset("|>")
_new = tuple.__new__  # a third of what the constructor of a NamedTuple takes


def documents(source: SourceText, limits: PackageLimits) -> tuple[Document, ...]:
    """Read every document of a text.

    Args:
        source: The text, and the path that messages name.
        limits: `file_nodes`, `depth` and `nodes` apply.

    Raises:
        TemplateError, PackageError: As `cadlib.yaml.parse.read` says.
    """
    try:
        return _documents(source, limits)
    except MarkedYAMLError as error:
        position = error.problem_mark.index if error.problem_mark else 0
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        raise _no_yaml(source, source.line(position), reason) from error
    except ReaderError as error:
        # This position counts bytes of UTF-8, unlike those of marks.
        line = source.text.encode().count(b"\n", 0, error.position) + 1
        reason = f"{error.reason} (U+{error.character:04X})"
        raise _no_yaml(source, line, reason) from error


def in_words_of_kpt(error: PackageError) -> str:
    """Return what kpt's parser says of a file that is not YAML; "" if no parser refused it.

    It names the line on which begins what cannot be read; before a whole mapping or list it
    counts from 0, and leaves out a 0.

    Source: go-yaml v3, decode.go, `parser.fail`.
    """
    cause = error.__cause__
    if isinstance(cause, ReaderError):
        return str(cause.reason)
    if not isinstance(cause, MarkedYAMLError) or not cause.problem:
        return ""
    lines = [mark.line for mark in (cause.context_mark, cause.problem_mark) if mark]
    line = next((each for each in lines if each), 0)
    if line and isinstance(cause, ScannerError):
        line += 1
    return f"line {line}: {cause.problem}" if line else str(cause.problem)


def _documents(source: SourceText, limits: PackageLimits) -> tuple[Document, ...]:
    """Read with ruamel's C parser, and what it refuses once more with PyYAML's.

    ruamel's libyaml (0.1.7) is older than the rule that a plain scalar in flow style may hold a
    colon: it refuses `[--listen=:8080]`, which every Kubernetes tool reads. PyYAML brings 0.2.5;
    its marks mean the same. Its classes are others, so its events are copied: too slow for all.
    """
    try:
        return _Reader(source, limits, CParser(source.text).get_event).documents()
    except MarkedYAMLError as error:
        from yaml.cyaml import CParser as NewerParser  # rarely needed, and slow to import
        from yaml.error import YAMLError as NewerError

        newer = NewerParser(source.text)
        try:
            return _Reader(source, limits, lambda: _copied(newer.get_event())).documents()
        except NewerError:
            raise error from None  # one wording for what no parser reads


def _copied(event: Any) -> Event:
    """PyYAML's event as ruamel's class of the same name."""
    marks = {"start_mark": event.start_mark, "end_mark": event.end_mark}
    match type(event).__name__:
        case "ScalarEvent":
            return ScalarEvent(
                event.anchor, event.tag, event.implicit, event.value, style=event.style, **marks
            )
        case "AliasEvent":
            return AliasEvent(event.anchor, **marks)
        case "MappingStartEvent" | "SequenceStartEvent" as name:
            kind = MappingStartEvent if name == "MappingStartEvent" else SequenceStartEvent
            return kind(
                event.anchor, event.tag, event.implicit, flow_style=event.flow_style, **marks
            )
        case "DocumentStartEvent":
            return DocumentStartEvent(explicit=event.explicit, **marks)
        case name:
            kinds: dict[str, type[Event]] = {
                "MappingEndEvent": MappingEndEvent,
                "SequenceEndEvent": SequenceEndEvent,
                "DocumentEndEvent": DocumentEndEvent,
                "StreamEndEvent": StreamEndEvent,
            }
            other: Event = kinds.get(name, Event)(**marks)
            return other


_BREAK = re.compile(r"\r\n|\r|\n")


def _no_yaml(source: SourceText, line: int, reason: str) -> PackageError:
    # The parser stands behind the last line break where the file ends too early: no line is there,
    # and forges show nothing at it.
    place = Place(source.path, min(line, 1 + len(_BREAK.findall(source.text.rstrip()))))
    if "{{" in source.text:
        return TemplatedFileError(
            place,
            f"the file is a template, not YAML: {reason}",
            "List it in .krmignore if functions should not see it",
        )
    return PackageError(place, f"the file is not YAML: {reason}", "Correct the syntax there")


class _Reader:
    """Builds the nodes of one file; holds the parser and what anchors stand for."""

    __slots__ = (
        "_added",
        "_anchors",
        "_limits",
        "_most",
        "_next",
        "_nodes",
        "_source",
        "_template",
        "_text",
    )

    def __init__(
        self, source: SourceText, limits: PackageLimits, events: Callable[[], Event]
    ) -> None:
        self._source = source
        self._text = source.text
        self._limits = limits
        self._most = limits.file_nodes
        self._next = events
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._nodes = 0
        self._added = 0
        self._template = False

    def documents(self) -> tuple[Document, ...]:
        """Read to the end of the file."""
        found: list[Document] = []
        index = 0
        while not isinstance(event := self._next(), StreamEndEvent):
            if not isinstance(event, DocumentStartEvent):
                continue  # the start of the stream
            self._anchors.clear()
            self._template = False
            root = self._node(self._next(), 0)
            end = self._next()
            assert isinstance(end, DocumentEndEvent)  # noqa: S101 - the parser's grammar
            empty = isinstance(root, Scalar) and root.start == root.end
            found.append(
                Document(
                    value=None if self._template else root.value,
                    empty=empty,
                    template=self._template,
                    index=None if empty else index,
                    source=self._source,
                    extent=Extent(
                        root=root,
                        start=event.start_mark.index,
                        end=end.end_mark.index,
                        explicit=bool(event.explicit),
                    ),
                )
            )
            index += not empty
        return tuple(found)

    def _node(self, event: Event, depth: int) -> Node:
        if type(event) is ScalarEvent:
            return self._scalar(event)
        self._nodes += 1
        if self._nodes > self._most:
            raise self._too_many(event)
        if depth >= self._limits.depth and type(event) is not AliasEvent:
            raise self._refuse(
                event.start_mark.index,
                f"mappings and lists are nested more than {self._limits.depth} deep",
                "Make the document flatter",
            )
        if type(event) is MappingStartEvent:
            return self._map(event, depth + 1)
        if type(event) is SequenceStartEvent:
            return self._seq(event, depth + 1)
        assert isinstance(event, AliasEvent)  # noqa: S101 - nothing else is left
        return self._alias(event)

    def _scalar(self, event: ScalarEvent) -> Scalar:
        """Read a scalar: most of the time that a file takes is spent here."""
        self._nodes += 1
        if self._nodes > self._most:
            raise self._too_many(event)
        raw: str = event.value
        style: str = event.style or ""
        start: int = event.start_mark.index
        end: int = event.end_mark.index
        value: Value = resolve(raw) if event.implicit[0] or event.tag in RESOLVED_TAGS else raw
        if style in _BLOCK_STYLES:
            end = self._block_end(start, end)
        elif event.tag == _MERGE:
            style = ""  # in quotes it is the merge key too then
        anchor: str | None = event.anchor
        node = _new(Scalar, (start, end, value, raw, style, anchor))
        if anchor is not None:
            self._anchors[anchor] = (node, 1)
        return node

    def _block_end(self, start: int, end: int) -> int:
        """Leave out blank lines after a block scalar unless "+" makes them content."""
        text = self._text
        header = text[start : text.find("\n", start) % (end + 1)]
        if "+" in header.split("#")[0]:
            return end
        return start + len(text[start:end].rstrip("\r\n"))

    def _map(self, event: MappingStartEvent, depth: int) -> Map:
        before = self._nodes
        value: dict[str, Value] = {}
        keys: list[Scalar | Alias] = []
        nodes: list[Node] = []
        merges: list[Node] = []
        following = self._next
        scalar = self._scalar
        while type(event_ := following()) is not MappingEndEvent:
            key = scalar(event_) if type(event_) is ScalarEvent else self._node(event_, depth)
            event_ = following()
            node = scalar(event_) if type(event_) is ScalarEvent else self._node(event_, depth)
            if type(key) is Scalar:
                name = key.raw
            elif isinstance(key, Map | Seq) or isinstance(key.value, dict | list):
                self._template = True
                continue
            else:
                name = key_text(key)
            keys.append(key)
            nodes.append(node)
            if name == "<<" and is_merge(key):
                merges.append(node)
                continue
            if name in value:
                raise self._duplicate(name, key.start, keys)
            value[name] = node.value
        for node in merges:
            self._merge(node, value)
        flow = bool(event.flow_style)
        end = event_.end_mark.index if flow else nodes[-1].end if nodes else 0
        anchor: str | None = event.anchor
        made = _new(
            Map, (event.start_mark.index, end, value, tuple(keys), tuple(nodes), flow, anchor)
        )
        if anchor is not None:
            self._anchors[anchor] = (made, self._nodes - before + 1)
        return made

    def _seq(self, event: SequenceStartEvent, depth: int) -> Seq:
        before = self._nodes
        items: list[Node] = []
        following = self._next
        scalar = self._scalar
        while type(event_ := following()) is not SequenceEndEvent:
            items.append(
                scalar(event_) if type(event_) is ScalarEvent else self._node(event_, depth)
            )
        flow = bool(event.flow_style)
        end = event_.end_mark.index if flow else items[-1].end
        anchor: str | None = event.anchor
        values = [item.value for item in items]
        made = _new(Seq, (event.start_mark.index, end, values, tuple(items), flow, anchor))
        if anchor is not None:
            self._anchors[anchor] = (made, self._nodes - before + 1)
        return made

    def _alias(self, event: AliasEvent) -> Alias:
        start = event.start_mark.index
        known = self._anchors.get(event.anchor)
        if known is None:
            name = quoted(event.anchor)
            raise self._refuse(
                start,
                f"the alias *{name} has no anchor before it",
                f"Write &{name} before the value that it refers to",
            )
        target, size = known
        self._nodes += size
        self._added += size
        if self._added > self._limits.nodes:
            raise self._refuse(
                start,
                f"the aliases of this file expand to more than {self._limits.nodes} nodes",
                "Write the values out, or use fewer aliases",
            )
        return Alias(start, event.end_mark.index, _copy(target.value), target)

    def _merge(self, node: Node, into: dict[str, Value]) -> None:
        """Add what a merge key stands for; what is there already wins."""
        # An alias of a list is none: other readers of YAML take a list here only as it is written.
        sources = node.value if isinstance(node, Seq) else [node.value]
        for source in sources:
            if not isinstance(source, dict):
                raise self._refuse(
                    node.start,
                    "the merge key << names something that is not a mapping",
                    "Name a mapping, or a list of mappings",
                )
            for key, value in source.items():
                into.setdefault(key, _copy(value))

    def _duplicate(self, name: str, start: int, keys: list[Scalar | Alias]) -> PackageError:
        first = next(key for key in keys if key_text(key) == name)
        line, shown = self._source.line(first.start), quoted(name)
        return PackageError(
            Place(self._source.path, self._source.line(start), shown),
            f"the key {shown!r} occurs twice in this mapping, first on line {line}",
            "Remove one of the two",
        )

    def _too_many(self, event: Event) -> PackageError:
        return self._refuse(
            event.start_mark.index,
            f"the file has more than {self._most} nodes: keys, values, mappings and lists",
            "Split it into smaller files",
        )

    def _refuse(self, position: int, problem: str, fix: str) -> PackageError:
        return PackageError(Place(self._source.path, self._source.line(position)), problem, fix)


def _copy(value: Value) -> Value:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value
