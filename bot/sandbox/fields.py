"""Reads the fields of a JSON body by their types; what has another type is refused as GitHub does.

Nothing that is not of the type asked for gets any further: no handler looks into a raw body.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from bot.sandbox.errors import RefusedError, plain

_T = TypeVar("_T")
_KINDS = {str: "string", int: "integer", bool: "boolean", list: "array", dict: "object"}
_LARGEST = 2**63 - 1  # GitHub keeps numbers as 64 bits


def parsed(raw: bytes) -> Any:
    """The JSON value of a body.

    Raises:
        RefusedError: 400 for what is not JSON, or holds text that is no Unicode.
    """
    try:
        value = json.loads(raw, parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise RefusedError(400, "Problems parsing JSON") from None
    return value


def moment(text: str) -> datetime:
    """A time of a body or a query; 422 for what is none. Without a zone it is UTC."""
    try:
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise plain(f"Invalid request.\n\n{text} is not a valid date-time.") from None


class BodyFields:
    """A JSON object; each reading says which type it wants.

    A reading answers None where the field is missing or null, and raises RefusedError (422)
    where it has another type.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    @classmethod
    def of(cls, raw: bytes) -> BodyFields:
        """The fields of a body; none for an empty one. 400 for one that is no JSON object."""
        value = parsed(raw) if raw.strip() else {}
        if not isinstance(value, dict):
            raise RefusedError(400, "Body should be a JSON object")
        return cls(value)

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def text(self, name: str) -> str | None:
        """A text without NUL, which nothing that stores text takes."""
        value = self._typed(name, str)
        if value is not None and "\0" in value:
            raise plain(f"Invalid request.\n\nFor 'properties/{name}', NUL is not allowed.")
        return value

    def required(self, name: str) -> str:
        """A text that must be there."""
        value = self.text(name)
        if value is None:
            raise plain(f'Invalid request.\n\n"{name}" wasn\'t supplied.')
        return value

    def number(self, name: str) -> int | None:
        """A whole number of 64 bits."""
        value = self._typed(name, int)
        if value is not None and (isinstance(value, bool) or abs(value) > _LARGEST):
            raise _other(name, value, int)
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """Yes or no."""
        value = self._typed(name, bool)
        return default if value is None else value

    def when(self, name: str) -> datetime | None:
        """A time."""
        text = self.text(name)
        return None if text is None else moment(text)

    def inner(self, name: str) -> BodyFields | None:
        """An object's own fields."""
        value = self._typed(name, dict)
        return None if value is None else BodyFields(value)

    def mapping(self, name: str) -> dict[str, str]:
        """An object whose values are texts; empty where it is missing."""
        inner = self._typed(name, dict) or {}
        return {key: BodyFields(inner).required(key) for key in inner}

    def texts(self, name: str) -> list[str] | None:
        """A list of texts."""
        value = self._typed(name, list)
        return None if value is None else list(_texts(name, value))

    def numbers(self, name: str) -> list[int] | None:
        """A list of numbers."""
        value = self._typed(name, list)
        if value is None:
            return None
        return [n for item in value if (n := BodyFields({name: item}).number(name)) is not None]

    def names(self, name: str) -> list[str] | None:
        """A list of names, each a text or an object with a `name`, as labels are given."""
        value = self._typed(name, list)
        if value is None:
            return None
        return list(_texts(name, [v.get("name") if isinstance(v, dict) else v for v in value]))

    def objects(self, name: str) -> list[BodyFields]:
        """A list of objects; empty where it is missing."""
        value = self._typed(name, list) or []
        for item in value:
            if not isinstance(item, dict):
                raise _other(name, item, dict)
        return [BodyFields(item) for item in value]

    def _typed(self, name: str, kind: type[_T]) -> _T | None:
        value = self._given.get(name)
        if value is not None and not isinstance(value, kind):
            raise _other(name, value, kind)
        return value


def _texts(name: str, values: list[Any]) -> Iterator[str]:
    for value in values:
        text = BodyFields({name: value}).text(name)
        if not text:
            raise plain(f"Invalid request.\n\nFor 'items', {value!r} is not a string.")
        yield text


def _other(name: str, value: object, kind: type) -> RefusedError:
    shown = repr(value)[:80]
    article = "an" if _KINDS[kind][0] in "aio" else "a"
    return plain(
        f"Invalid request.\n\nFor 'properties/{name}', {shown} is not {article} {_KINDS[kind]}."
    )


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")
