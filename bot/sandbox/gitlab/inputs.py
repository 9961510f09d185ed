"""Reads parameters by name and type, from query and body together, as Grape coerces them.

`"12"` is a number and `"true"` a flag; lists come as JSON, as `name[]=…` or with commas. What has
another type is refused: `{"error": "name is invalid"}`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any
from urllib.parse import parse_qsl

from bot.sandbox.errors import RefusedError
from bot.sandbox.fields import moment, parsed
from bot.sandbox.gitlab.errors import bad_parameter, bad_request

_FLAGS = {
    **dict.fromkeys(("true", "t", "1", "yes", "y", "on"), True),
    **dict.fromkeys(("false", "f", "0", "no", "n", "off"), False),
}
_LARGEST = 2**31 - 1


class Inputs:
    """Parameters; a reading answers None where one is missing or null."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]], media_type: str, raw: bytes) -> Inputs:
        """The parameters of a request; 400 for a body that is no JSON object."""
        given = _joined(pairs)
        if raw.strip() and "json" in media_type:
            try:
                value = parsed(raw)
            except RefusedError:
                raise bad_parameter("400 Bad Request - invalid JSON") from None
            if not isinstance(value, dict):
                raise bad_request("400 Bad request - body is not a JSON object")
            given |= value
        elif raw.strip() and "urlencoded" in media_type:
            given |= _joined(parse_qsl(raw.decode("latin-1"), keep_blank_values=True))
        return cls(given)

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def text(self, name: str) -> str | None:
        """A text; numbers and flags are read as one."""
        value = self._given.get(name)
        if value is None:
            return None
        if isinstance(value, list | dict):
            raise _invalid(name)
        text = json.dumps(value) if isinstance(value, bool) else str(value)
        if "\0" in text:
            raise bad_parameter(f"{name} contains invalid characters")
        return text

    def required(self, name: str) -> str:
        """A text that must be there, empty or not."""
        value = self.text(name)
        if value is None:
            raise bad_parameter(f"{name} is missing")
        return value

    def filled(self, name: str) -> str:
        """A text that must be there and not empty."""
        value = self.required(name)
        if not value.strip():
            raise bad_parameter(f"{name} is empty")
        return value

    def number(self, name: str) -> int | None:
        """A whole number."""
        value = self._given.get(name)
        if value is None or value == "":
            return None
        try:
            number = int(value) if isinstance(value, int | str) else None
        except ValueError:
            number = None
        if number is None or isinstance(value, bool) or abs(number) > _LARGEST:
            raise _invalid(name)
        return number

    def needed_number(self, name: str) -> int:
        """A whole number that must be there."""
        value = self.number(name)
        if value is None:
            raise bad_parameter(f"{name} is missing")
        return value

    def flag(self, name: str) -> bool | None:
        """Yes or no."""
        value = self._given.get(name)
        if value is None or value == "":
            return None
        known = _FLAGS.get(str(value).lower())
        if known is None:
            raise _invalid(name)
        return known

    def decimal(self, name: str) -> float | None:
        """A number that need not be whole."""
        text = self.text(name)
        try:
            return None if text is None else float(text)
        except ValueError:
            raise _invalid(name) from None

    def choice(self, name: str, known: Collection[str]) -> str | None:
        """One of some words."""
        value = self.text(name)
        if value is not None and value not in known:
            raise bad_parameter(f"{name} does not have a valid value")
        return value

    def texts(self, name: str) -> list[str] | None:
        """A list of texts: JSON, `name[]=…`, or one text with commas."""
        value = self._given.get(name)
        if value is None:
            return None
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        if not isinstance(value, list):
            raise _invalid(name)
        return [Inputs({name: item}).required(name) for item in value]

    def numbers(self, name: str) -> list[int] | None:
        """A list of whole numbers."""
        texts = self.texts(name)
        if texts is None:
            return None
        return [Inputs({name: text}).needed_number(name) for text in texts]

    def objects(self, name: str) -> list[Inputs] | None:
        """A list of objects."""
        value = self._given.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise _invalid(name)
        return [Inputs(item) for item in value]

    def inner(self, name: str) -> Inputs | None:
        """An object's own parameters."""
        value = self._given.get(name)
        if value is not None and not isinstance(value, dict):
            raise _invalid(name)
        return None if value is None else Inputs(value)

    def day(self, name: str) -> date | None:
        """A day such as `2027-01-31`."""
        text = self.text(name)
        try:
            return date.fromisoformat(text[:10]) if text else None
        except ValueError:
            raise _invalid(name) from None

    def when(self, name: str) -> datetime | None:
        """A time."""
        text = self.text(name)
        try:
            return moment(text) if text else None
        except RefusedError:
            raise _invalid(name) from None

    def plain(self) -> Mapping[str, Any]:
        """All parameters as they came."""
        return self._given


def _joined(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Parameters by name; those named `name[]` are lists, those named `name[key]` objects."""
    made: dict[str, Any] = {}
    for name, value in pairs:
        stem, bracket, inner = name.partition("[")
        if not bracket:
            made[name] = value
        elif inner == "]":
            made.setdefault(stem, []).append(value)
        elif isinstance(made.setdefault(stem, {}), dict):
            made[stem][inner.rstrip("]")] = value
    return made


def _invalid(name: str) -> RefusedError:
    return bad_parameter(f"{name} is invalid")
