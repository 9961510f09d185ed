"""Emits YAML text for new values.

Rules:
- Block style; a list under a key starts at the key's own column unless its neighbours
  are indented; empty collections are `{}` and `[]`; text of several lines becomes a
  literal block; nothing is ever wrapped or sorted.
- Same value, same text.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from cadlib.yaml.fields import FieldPath
from cadlib.yaml.scalars import double_quoted, inline, literal, plain
from cadlib.yaml.tree import Value

_NO_COMMENTS: Mapping[FieldPath, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Style:
    """Indentation and quoting of new text.

    Attributes:
        step: Columns by which a mapping inside a mapping is indented, 1 or more.
        compact: A list under a key starts at the key's column, not `step` further in.
    """

    step: int = 2
    compact: bool = True


DEFAULT_STYLE = Style()


def emit(
    value: Value,
    *,
    style: Style = DEFAULT_STYLE,
    comments: Mapping[FieldPath, str] = _NO_COMMENTS,
    quoted: Collection[FieldPath] = (),
) -> str:
    """Return the text of a whole new document, without markers, with a final newline.

    Args:
        value: Its value.
        style: How it shall look.
        comments: Line comments with their "#", by field.
        quoted: Fields with comments whose text is put in quotes, needed or not.
    """
    return "\n".join([*block(value, 0, style=style, comments=comments, quoted=quoted), ""])


def block(
    value: Value,
    indent: int,
    *,
    style: Style = DEFAULT_STYLE,
    comments: Mapping[FieldPath, str] = _NO_COMMENTS,
    quoted: Collection[FieldPath] = (),
) -> list[str]:
    """Return the lines of a value, each indented by `indent` spaces, without line ends."""
    writer = _Writer(style)
    pad = " " * indent
    if isinstance(value, dict | list) and value:
        writer.collection(pad, value, indent, _noted(comments, quoted))
    else:
        writer.lines.append(pad + flow(value))
    return writer.lines


def entry(key: str | None, value: Value, indent: int, *, style: Style = DEFAULT_STYLE) -> list[str]:
    """Return the lines of one key, or of one element of a list, indented by `indent` spaces.

    Args:
        key: The key; None for an element of a list.
        value: Its value.
        indent: Column of the key or dash.
        style: How the lines shall look.
    """
    return block([value] if key is None else {key: value}, indent, style=style)


def flow(value: Value, *, json: bool = False, inside: bool = False) -> str:
    """Return a value on one line, collections in braces and brackets.

    Args:
        value: Any value.
        json: Put every key and text in double quotes.
        inside: The text will stand inside braces or brackets already.
    """
    if isinstance(value, dict):
        parts = (
            f"{flow(key, json=json, inside=True)}: {flow(item, json=json, inside=True)}"
            for key, item in value.items()
        )
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(item, json=json, inside=True) for item in value) + "]"
    return inline(value, style='"' if json else "", flow=inside)


class _Writer:
    """Collects the lines of one node. Notes are the comments in a collection; None for none."""

    __slots__ = ("_style", "lines")

    def __init__(self, style: Style) -> None:
        self._style = style
        self.lines: list[str] = []

    def collection(
        self,
        lead: str,
        value: "dict[str, Value] | list[Value]",
        indent: int,
        notes: "_Notes | None",
    ) -> None:
        """Write a collection that is not empty; `lead` opens its first line."""
        pad = " " * indent
        if isinstance(value, dict):
            add = self.lines.append
            inner = pad + " " * self._style.step
            for key, item in value.items():
                note = notes and notes.inner.get(key)
                if note is None and isinstance(item, str) and (text := _pair(key, item)):
                    add(lead + text)  # most lines are like this,
                elif note is None and isinstance(item, dict) and item:
                    add(lead + _lead(key))  # and most others like this
                    self.collection(inner, item, indent + self._style.step, None)
                else:
                    self._node(lead + _lead(key), item, indent, note)
                lead = pad
            return
        for index, item in enumerate(value):
            note = notes and notes.inner.get(index)
            if item and isinstance(item, dict | list):
                self.collection(lead + "- ", item, indent + 2, note)
            else:
                self._node(lead + "-", item, indent, note)
            lead = pad

    def _node(self, lead: str, value: Value, indent: int, note: "_Notes | None") -> None:
        """Write what follows a key or a dash."""
        tail = f" {note.text}" if note and note.text else ""
        if isinstance(value, str):
            if note and note.quoted and "\n" not in value:
                self.lines.append(f"{lead} {double_quoted(value)}{tail}")
            elif plain(value):
                self.lines.append(f"{lead} {value}{tail}")
            else:
                self._text(lead, value, indent, tail)
        elif value and isinstance(value, dict | list):
            self.lines.append(lead + tail)
            flat = self._style.compact and isinstance(value, list)
            inner = indent if flat else indent + self._style.step
            self.collection(" " * inner, value, inner, note if note and note.inner else None)
        else:
            self.lines.append(f"{lead} {flow(value)}{tail}")

    def _text(self, lead: str, value: str, indent: int, tail: str) -> None:
        lines = literal(value, indent + self._style.step) if "\n" in value else None
        if lines is None:
            self.lines.append(f"{lead} {inline(value)}{tail}")
        else:
            self.lines.append(f"{lead} {lines[0]}{tail}")
            self.lines.extend(lines[1:])


@dataclass(slots=True)
class _Notes:
    """The comment of a field, and those of the fields in it, by key or position."""

    text: str = ""
    quoted: bool = False
    inner: "dict[str | int, _Notes]" = field(default_factory=dict)


def _noted(comments: Mapping[FieldPath, str], quoted: Collection[FieldPath] = ()) -> _Notes | None:
    """Return comments as they lie in one another; None when there are none."""
    root = _Notes()
    for path, text in comments.items():
        at = root
        for step in path:
            at = at.inner.get(step) or at.inner.setdefault(step, _Notes())
        at.text, at.quoted = text, path in quoted
    return root if comments else None


@lru_cache(maxsize=8192)
def _pair(key: str, value: str) -> str:
    """Return a key and its text on one line; "" when the text may need several."""
    return "" if "\n" in value else f"{_lead(key)} {inline(value)}"


@lru_cache(maxsize=4096)
def _lead(key: str) -> str:
    return f"{inline(key)}:"
