"""What differs between two values of a resource, field by field, with secrets hidden.

Elements of lists are told apart as `cadlib.yaml.match` does: by merge key, by content, by
place. Values of Secrets never appear: that they differ does.
"""

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cadlib.yaml import FieldPath, Value, same
from cadlib.yaml.match import match

HIDDEN = "(hidden)"
# An annotation that holds a copy of the whole resource, its secret values included.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def secret_fields(kind: Value) -> tuple[str, ...]:
    """Fields of a map of some `kind` whose values are secret.

    What a SecretList holds are Secrets, whose own `kind` need not be said.
    """
    if kind == "Secret":
        return (_LAST_APPLIED, "data", "stringData")
    return (_LAST_APPLIED, "items") if kind == "SecretList" else (_LAST_APPLIED,)


def without_secrets(value: Value) -> Value:
    """Return a value that is shown as a whole, with what Secrets inside hold as `HIDDEN`."""
    if isinstance(value, list):
        return [without_secrets(item) for item in value]
    if not isinstance(value, dict):
        return value
    secret = secret_fields(value.get("kind"))
    return {
        key: HIDDEN if key in secret else without_secrets(inner) for key, inner in value.items()
    }


class FieldChange(NamedTuple):
    """One field that differs.

    Attributes:
        path: The field; positions in lists are those after the change, and those before it
            for an element that is gone.
        old: Its value before, as text; None if it had none.
        new: Its value after, likewise. Both are None where a list has the same elements
            in another order.
    """

    path: FieldPath
    old: str | None
    new: str | None


def differences(
    old: Value, new: Value, at: FieldPath = (), *, hidden: bool = False
) -> Iterator[FieldChange]:
    """Yield the fields that differ, in the order of the old value, new ones last.

    Args:
        old: The value before.
        new: The value after.
        at: Where these values stand.
        hidden: They are secret.
    """
    if same(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        secret = {*secret_fields(old.get("kind")), *secret_fields(new.get("kind"))}
        for key in [*old, *(key for key in new if key not in old)]:
            veil = hidden or key in secret
            here = (*at, key)
            if key in old and key in new:
                yield from differences(old[key], new[key], here, hidden=veil)
            else:
                yield FieldChange(
                    here,
                    _text(old[key], veil) if key in old else None,
                    _text(new[key], veil) if key in new else None,
                )
    elif isinstance(old, list) and isinstance(new, list):
        yield from _items(old, new, at, hidden=hidden)
    else:
        yield FieldChange(at, _text(old, hidden), _text(new, hidden))


def _items(
    old: Sequence[Value], new: Sequence[Value], at: FieldPath, *, hidden: bool
) -> Iterator[FieldChange]:
    """Yield what differs in a list: elements that changed or went, then those that came."""
    came_from = match(old, new)
    became = {position: place for place, position in enumerate(came_from) if position is not None}
    for position, item in enumerate(old):
        if position in became:
            place = became[position]
            yield from differences(item, new[place], (*at, place), hidden=hidden)
        else:
            yield FieldChange((*at, position), _text(item, hidden), None)
    for place, origin in enumerate(came_from):
        if origin is None:
            yield FieldChange((*at, place), None, _text(new[place], hidden))
    if list(became) != sorted(became):
        yield FieldChange(at, None, None)


def _text(value: Value, hidden: bool) -> str:
    if hidden:
        return HIDDEN
    if isinstance(value, str) and not _looks_typed(value):
        return value
    return json.dumps(without_secrets(value), ensure_ascii=False)


def _looks_typed(text: str) -> bool:
    """Tell whether a string would be taken for something else without its quotes."""
    try:
        json.loads(text)
    except ValueError:
        return not text
    return True
