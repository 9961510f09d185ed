"""What the audit trail keeps of actions: their values that are names, digests of all else.

Bodies, titles and file contents are people's words, or a Secret's: only their digest is kept.
"""

import hashlib
import json
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

NAMES = frozenset(
    {"number", "comment", "run", "asked", "asker", "assignee", "head", "head_ref", "base"}
    | {"base_ref", "ref", "target", "tree", "name", "status", "conclusion", "method", "draft"}
    | {"reaction"}
)
"""Fields of actions whose value is kept as it is; any other, a new one too, as its digest."""


def values(action: object) -> dict[str, Any]:
    """Fields of an action to what is kept of each."""
    told = {f.name: getattr(action, f.name) for f in fields(action)}  # type: ignore[arg-type]  # all are dataclasses
    return {n: _plain(v) if n in NAMES else f"sha256:{digest(v)}" for n, v in told.items()}


def digest(value: object) -> str:
    """SHA-256 of a value, 64 hex digits: the same in every process, whatever the order of sets."""
    return hashlib.sha256(json.dumps(_plain(value), sort_keys=True).encode()).hexdigest()


def _plain(value: object) -> Any:
    match value:
        case None | bool() | int() | float():
            return value
        case Enum():
            return value.name
        case str():
            return str(value)
        case bytes():
            return hashlib.sha256(value).hexdigest()
        case Mapping():
            return sorted(([_plain(k), _plain(v)] for k, v in value.items()), key=json.dumps)
        case Set():
            return sorted((_plain(each) for each in value), key=json.dumps)
        case list() | tuple():
            return [_plain(each) for each in value]
        case _ if is_dataclass(value):
            named = {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
            return {type(value).__name__: named}
        case _:
            return str(value)
