"""Verifies edited text: compares the parser's events with the wanted values.

Every edited text is checked (`cadlib.yaml.edit`). Reading it in full, with nodes and marks, takes
twice as long as the parser needs, and nobody asks for those of a text that is only checked.
"""

from collections.abc import Callable, Iterator, Sequence

from _ruamel_yaml import CParser
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
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

from cadlib.limits import DEFAULT
from cadlib.yaml.nodes import RESOLVED_TAGS
from cadlib.yaml.scalars import resolve
from cadlib.yaml.tree import Value

LONGEST = 1_000_000
"""Characters of the longest text that is judged here: limits apply to longer ones, and those only
`read` knows."""


class _UnknownError(Exception):
    """It says something else, or only reading it in full tells."""


def holds(text: str, values: Sequence[Value]) -> bool:
    """Tell whether the documents of a text have these values.

    Args:
        text: The text, without byte order mark.
        values: One for each document, None for an empty one.

    Returns:
        False where it does not, and where only `read` can tell: aliases, merge keys, templates,
        what the parser refuses.
    """
    if len(text) > LONGEST:
        return False
    following = CParser(text).get_event
    left = iter(values)
    try:
        while type(event := following()) is not StreamEndEvent:
            if type(event) is DocumentStartEvent:
                _compare(following, following(), _next(left), 0)
    except (_UnknownError, MarkedYAMLError, ReaderError):
        return False
    return next(left, _END) is _END


_END = object()


def _next(left: Iterator[Value]) -> Value:
    for value in left:
        return value
    raise _UnknownError


def _compare(following: Callable[[], Event], event: Event, wanted: Value, depth: int) -> None:
    """Read one node; raise _UnknownError unless it has the wanted value."""
    if depth > DEFAULT.depth:
        raise _UnknownError
    if type(event) is ScalarEvent:
        raw = event.value
        value = resolve(raw) if event.implicit[0] or event.tag in RESOLVED_TAGS else raw
        if value is wanted or (value == wanted and type(value) is type(wanted)):
            return
    elif type(event) is MappingStartEvent and type(wanted) is dict:
        seen = set()
        while type(key := following()) is not MappingEndEvent:
            name = key.value if type(key) is ScalarEvent else None
            if name not in wanted or name in seen or name == "<<":
                raise _UnknownError
            seen.add(name)
            _compare(following, following(), wanted[name], depth + 1)
        if len(seen) == len(wanted):
            return
    elif type(event) is SequenceStartEvent and type(wanted) is list:
        items = iter(wanted)
        while type(item := following()) is not SequenceEndEvent:
            _compare(following, item, _next(items), depth + 1)
        if next(items, _END) is _END:
            return
    raise _UnknownError
