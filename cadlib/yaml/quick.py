r"""Reading the YAML that resources are mostly written in, line by line, many times as fast.

Rules:
- What is read here is read exactly as `cadlib.yaml.read` reads it, values and line comments, and
  numbers keep their digits besides (`cadlib.yaml.digits`);
  anything unusual is declined, and the caller reads it there. No fault is reported here either.
- Read are: mappings and lists in block style, keys and scalars on one line of their own,
  `{}` and lists of words in brackets, literal blocks (`|`, `|-`), and comments.
- Declined are: anchors, tags, merge keys, other flow collections, folded blocks, scalars over
  several lines, tabs outside literal blocks, marks between documents, a key that stands twice,
  and whatever does not look familiar.

Most lines of resources were seen before (`kind: Service`, `protocol: TCP`), so what a line
means is remembered, and a line costs a look into a table.
"""

import json
import re
from collections.abc import Sequence
from copy import copy
from typing import Any, Final, NamedTuple

from cadlib.yaml.digits import resolved
from cadlib.yaml.fields import FieldPath
from cadlib.yaml.tree import Value

_DEEPEST: Final = 40  # levels; real resources have twenty, and all limits on depth are higher
# Together these hold fewer nodes than `cadlib.limits.STREAM` allows.
_MOST_LINES: Final = 200_000
_LONGEST: Final = 6_000_000
_LONGEST_KEY: Final = 500  # characters; the format allows 1024 on the line up to the colon
_KNOWN_LINES: Final = 8192  # about those of five hundred unlike resources, in some 5 MB
_KNOWN_LENGTH: Final = 200  # characters of a line that is worth remembering

# Single characters alone are repeated without going back. Groups that are (`(…)?+`, `(…)*+`) match
# wrongly before Python 3.11.5: of lists of words the first letters go
# (https://github.com/python/cpython/issues/106052).

# What most lines look like: a key and a word.
_COMMON: Final = re.compile(
    r"([ ]*+)(-[ ]++)?([A-Za-z0-9_./][\w./-]{,99}+):[ ]([A-Za-z0-9_./][\w./-]*+)", re.ASCII
)
# Indentation, dash, and a key: plain or in quotes.
_HEAD: Final = re.compile(
    r"""([ ]*+)(-[ ]++)?
    (?:(?:([A-Za-z0-9_./][\w./-]*+)|"([^"\\\t]*+)"|'([^'\t]*+)'):(?![^ ])[ ]*+)?""",
    re.VERBOSE | re.ASCII,
)
_PLAIN: Final = re.compile(
    r"""(?:[^\s\-?:,\[\]{}#&*!|>'"%@`]|-(?=\S))(?:[^\s:#]|:(?=\S)|(?<=\S)\#|[ ]++(?=[^\s#]))*""",
    re.VERBOSE,
)
# A scalar in brackets, where colons and spaces would make it mean something else.
_INSIDE: Final = r"""(?:[A-Za-z0-9_./][A-Za-z0-9_./@=-]*+|"[^"\\\t]*+"|'[^'\t]*+')"""
# How a scalar is written, by its first character; a plain one has any other.
_WRITTEN: Final = {
    '"': re.compile(r'"((?:[^"\\\t]|\\["\\nt])*)"'),
    "'": re.compile(r"'((?:[^'\t]|'')*)'(?!')"),
    "{": re.compile(r"\{\}"),
    "[": re.compile(rf"\[(?:{_INSIDE}(?:,[ ]*+{_INSIDE})*)?\]"),
    "|": re.compile(r"\|-?"),
}
_INNER: Final = re.compile(r"""[^\[\]\s,"']++|"([^"]*+)"|'([^']*+)'""")
_DASH: Final = 2  # the group of the dash; those of keys follow
_TAIL: Final = re.compile(r"(?:[ ]++(#.*+))?[ ]*+")
_NOTHING: Final = re.compile(r"[ ]*+(?:#.*+)?")

# What stands behind a key or dash.
_SCALAR: Final = 0
_OPEN: Final = 1  # nothing: the value is null, or the next lines are
_COLLECTION: Final = 2  # `{}`, or a list of words in brackets
_LITERAL: Final = 3  # the header of a literal block


class _UnusualError(Exception):
    """The text is not among those that are read here."""


class _Line(NamedTuple):
    """What a line means.

    Attributes:
        indent: Column of its first character; -1 for a blank line or nothing but a comment.
        inner: Column of its key or scalar: behind the dash if it has one.
        key: Its key; None if it has none.
        kind: What follows: one of those above.
        value: The scalar; a collection, to be copied; the header of a block.
        comment: Its comment with the "#"; "" for none.
    """

    indent: int
    inner: int
    key: str | None
    kind: int
    value: Value
    comment: str


_SKIPPED: Final = _Line(-1, -1, None, _SCALAR, None, "")
_known: dict[str, _Line] = {}


def read(text: str) -> tuple[Value, dict[FieldPath, str]] | None:
    """Return value and line comments of one document, or None to decline it.

    Args:
        text: The document, without byte order mark; for callers to whom the limits `STREAM`
            apply.
    """
    if len(text) > _LONGEST:
        return None
    # What is printable is no line break to the other reader, nor refused by it.
    if not text.replace("\n", "").replace("\t", "").isprintable():
        return None
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        return None
    try:
        return _build(lines)
    except _UnusualError:
        return None


def _build(  # noqa: C901 - calls would take most of the time
    lines: Sequence[str],
) -> tuple[Value, dict[FieldPath, str]]:
    """Build the value of a document.

    `top` is the collection that lines belong to now and `at` its column; those around it are on
    the stack. The outermost is a list, further left than any, for the document itself.
    """
    root: list[Value] = []
    top: Any = root
    at, in_list = -1, True
    stack: list[tuple[int, Any, bool]] = []
    comments: dict[FieldPath, str] = {}
    find = _known.get
    opened = True  # the line before left room for a collection
    last = ""  # the key of the line before, while it is `opened`
    resume = 0
    for number, line in enumerate(lines):
        if number < resume:
            continue
        found = find(line) or _meaning(line)
        indent, inner, key, kind, value, comment = found
        if indent < 0:
            continue
        if indent != inner:  # a dash
            if opened and (indent > at or (indent == at and not in_list)):
                new: Any = []
                if in_list:
                    top.append(new)
                else:
                    top[last] = new
                stack.append((at, top, in_list))
                at, top, in_list = indent, new, True
            else:
                while at > indent:
                    at, top, in_list = stack.pop()
                if at != indent or not in_list:
                    raise _UnusualError
            if key is not None:
                new = {}
                top.append(new)
                stack.append((at, top, True))
                at, top, in_list = inner, new, False
        elif indent != at or in_list:
            if indent > at:
                if not opened or len(stack) > _DEEPEST:
                    raise _UnusualError
                new = {}
                if in_list:
                    top.append(new)
                else:
                    top[last] = new
                stack.append((at, top, in_list))
                at, top, in_list = indent, new, False
            else:
                while at > indent:
                    at, top, in_list = stack.pop()
                if in_list and at >= 0:  # a list that began at the column of its key
                    at, top, in_list = stack.pop()
                if at != indent or in_list:
                    raise _UnusualError
        opened = kind == _OPEN
        if kind >= _COLLECTION:
            value, resume = _anew(lines, number, found)
        if key is None:
            top.append(value)
        elif key in top:
            raise _UnusualError
        else:
            top[key] = value
            last = key
        if comment:
            comments[_path((*(each for _, each, _ in stack[1:]), top))] = comment
    if not root:
        raise _UnusualError
    return root[0], comments


def _anew(lines: Sequence[str], number: int, line: _Line) -> tuple[Value, int]:
    """Return a value that is made anew each time, and the line behind it."""
    if line.kind == _COLLECTION:
        return copy(line.value), number + 1
    parent = line.indent if line.key is None else line.inner
    return _literal(lines, number + 1, parent, ended=line.value == "|")


def _path(around: Sequence[Any]) -> FieldPath:
    """Return the path of what was put in last, by the collections around it."""
    return tuple(
        next(reversed(each)) if each.__class__ is dict else len(each) - 1 for each in around
    )


def _meaning(line: str) -> _Line:
    """Return what a line means, and remember it."""
    found = _SKIPPED if _NOTHING.fullmatch(line) else _parsed(line)
    if len(line) <= _KNOWN_LENGTH:
        if len(_known) >= _KNOWN_LINES:
            _known.clear()
        _known[line] = found
    return found


def _parsed(line: str) -> _Line:
    common = _COMMON.fullmatch(line)
    if common:
        indent, inner = common.end(1), max(common.end(1), common.end(2))
        return _Line(indent, inner, common[3], _SCALAR, resolved(common[4]), "")
    head = _HEAD.match(line)
    assert head is not None  # noqa: S101 - every part of the pattern may be missing
    indent, inner, rest = head.end(1), max(head.end(1), head.end(2)), head.end()
    named = head.lastindex or 0
    key: str | None = head[named] if named > _DASH else None
    if (key is None and inner == indent) or len(key or "") > _LONGEST_KEY:
        raise _UnusualError
    first = line[rest : rest + 1]
    if key is not None and first in ("", "#"):
        return _Line(indent, inner, key, _OPEN, None, line[rest:])
    scalar = _WRITTEN.get(first, _PLAIN).match(line, rest)
    tail = _TAIL.fullmatch(line, scalar.end()) if scalar else None
    if scalar is None or tail is None:
        raise _UnusualError
    kind, value = _scalar(scalar)
    return _Line(indent, inner, key, kind, value, tail[1] or "")


def _scalar(found: re.Match[str]) -> tuple[int, Value]:
    match found[0][0]:
        case '"':
            return _SCALAR, json.loads(found[0]) if "\\" in found[1] else found[1]
        case "'":
            return _SCALAR, found[0][1:-1].replace("''", "'")
        case "{":
            return _COLLECTION, {}
        case "[":
            return _COLLECTION, [_scalar(each)[1] for each in _INNER.finditer(found[0])]
        case "|":
            return _LITERAL, found[0]
    return _SCALAR, resolved(found[0])


def _literal(lines: Sequence[str], begin: int, parent: int, *, ended: bool) -> tuple[str, int]:
    """Return the text of a literal block, and the line behind it.

    Args:
        lines: All lines; behind the last one there is no line break.
        begin: The line behind its header.
        parent: Column of what it belongs to.
        ended: The line break at its end is part of it.
    """
    first = lines[begin] if begin < len(lines) else ""
    margin = len(first) - len(first.lstrip(" "))
    if margin <= parent or not first.strip() or first[margin] == "\t":
        raise _UnusualError
    pad = " " * margin
    found: list[str] = []
    end = begin
    while end < len(lines):
        line = lines[end]
        if line.startswith(pad):
            found.append(line[margin:])
        elif line.strip(" "):
            break
        else:
            found.append("")
        end += 1
    if end == len(lines) and lines[-1]:
        raise _UnusualError  # the end of the text in place of a line break
    if end < len(lines) and not lines[end].strip():
        raise _UnusualError  # a tab before the margin
    while not found[-1]:
        found.pop()
    return "\n".join(found) + ("\n" if ended else ""), end
