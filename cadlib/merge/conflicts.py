"""Merge conflicts, as values.

Values of Secrets never appear in a conflict: that they differ does.
"""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from cadlib.diff import secrets
from cadlib.diff.fields import HIDDEN, without_secrets
from cadlib.merge.elements import Known
from cadlib.yaml import FieldPath, Value

# Longest value shown in `str(conflict)`: about as much as fits beside others in one line.
_SHOWN = 40

COMMENT = "the comment was changed on both sides"
"""The reason of a conflict that is about the comment of a field: its sides are comments."""
NOT_WRITTEN = "the merged value cannot be written here"
"""How the reason of a conflict begins that has no sides: the whole resource stayed as it was."""


class Absent(Enum):
    """Marker for a field that is absent (unlike one that is null)."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "absent"


ABSENT = Absent.ABSENT
Side: TypeAlias = Value | Absent


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """One place that both sides changed, each in its own way.

    `str()` gives one line, such as "deploy.yaml:9: Deployment shop/cart: spec.replicas:
    changed on both sides (base 1, local 2, upstream 3): upstream is taken".

    Attributes:
        path: The file; where the resource is, or was, locally if it is there at all.
        line: The line in the local file, from 1: of the field, or of the nearest thing
            around it that is there; None if the file is not there locally.
        resource: "apps/v1/Deployment/shop/cart"; "" if it concerns a whole file.
        field: Such as "spec.replicas"; "" for the whole resource or file.
        base: The value that both sides began with.
        ours: The local value.
        theirs: The value upstream.
        chosen: "local", "upstream", or "both" if the two could be joined, though what they
            mean together is for people to judge.
        reason: What happened on the two sides.
        known: What tells each list element in `field` from others, one for each position there.
    """

    path: str
    line: int | None = None
    resource: str = ""
    field: str = ""
    base: Side = ABSENT
    ours: Side = ABSENT
    theirs: Side = ABSENT
    chosen: str
    reason: str
    known: Sequence[Known] = dataclasses.field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        parts = [part for part in (place, self.resource, self.field) if part]
        values = (("base", self.base), ("local", self.ours), ("upstream", self.theirs))
        taken = "" if self.chosen == "both" else f": {self.chosen} is taken"
        told = ", ".join(f"{side} {short(value)}" for side, value in values)
        shown = f" ({told})" if self.field else ""  # a whole resource does not fit into a line
        return f"{': '.join(parts)}: {self.reason}{shown}{taken}"

    def as_json(self) -> dict[str, Value]:
        """Return the conflict as JSON has it; a side that has no value is left out."""
        told: dict[str, Value] = {
            "file": self.path,
            "line": self.line,
            "resource": self.resource,
            "field": self.field,
        }
        for side, value in (("base", self.base), ("ours", self.ours), ("theirs", self.theirs)):
            if not isinstance(value, Absent):
                told[side] = value
        return told | {"chosen": self.chosen, "reason": self.reason}


def veiled(resource: Value, field: FieldPath, value: Side) -> Side:
    """Return a value with the data of Secrets replaced by `HIDDEN`.

    Args:
        resource: The resource, on either side.
        field: Where in it the value stands; () for the resource itself.
        value: The value there.
    """
    if isinstance(value, Absent):
        return value
    return HIDDEN if secrets.holds(resource, field) else without_secrets(value)


def short(value: Side) -> str:
    """Return a value of a conflict in one short line; "absent" for none."""
    if isinstance(value, Absent):
        return "absent"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."
