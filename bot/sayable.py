"""Replaces undecodable bytes (surrogates) and NUL in text: JSON and databases refuse them.

Such a name has lone surrogates in Python, which forges and PostgreSQL refuse, as PostgreSQL does
the character 0; then nothing at all would be said or kept of a proposal, for what its author chose.
"""

import json
from collections.abc import Mapping
from typing import Any


def sayable(value: Any) -> Any:
    """Replace what is no character by a question mark, at any depth of a value."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode().replace("\0", "?")
        case Mapping():
            return {sayable(key): sayable(each) for key, each in value.items()}
        case list():
            return [sayable(each) for each in value]
        case tuple():
            return tuple(sayable(each) for each in value)
        case _:
            return value


def as_json(value: Any) -> str:
    """Serialise a value as canonical JSON that a database accepts."""
    return json.dumps(sayable(value), sort_keys=True)
