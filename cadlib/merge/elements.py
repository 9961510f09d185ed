"""Matches elements of associative lists by their merge keys, as kpt and Kubernetes do.

Rules:
- Elements are the same if their merge keys are; the text counts, so 80 is "80".
- With several keys, one that is missing matches any value of it, if no other element
  fits exactly (`{port: 80}` is `{port: 80, protocol: TCP}`, and rather that than UDP).
- A list whose elements the keys do not tell apart is taken as a whole: an element that
  is no mapping or lacks the first key, or two with the same keys.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cadlib.merge.schema import Schema
from cadlib.yaml import Value

INFERRED = ("name",)
# What Kubernetes takes a key for that is not there.
_DEFAULTS = {"protocol": "TCP"}

Identity = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """What tells one element of an associative list from others, on whatever side it stands.

    Attributes:
        keys: The merge keys of the list; () where elements are known by all that they hold.
        names: What they are on the sides that have the element.
    """

    keys: tuple[str, ...]
    names: frozenset[Identity]

    @classmethod
    def of(cls, sides: Iterable[Value], keys: tuple[str, ...]) -> "Known":
        """Return what tells an element from others, by what it is on the sides that have it."""
        return cls(keys, frozenset(identity(each, keys) for each in sides))

    def places(self, items: Sequence[Value]) -> list[int]:
        """Return where in a list it may stand."""
        return [at for at, each in enumerate(items) if identity(each, self.keys) in self.names]


def merge_keys(
    schema: Schema, lists: Sequence[Sequence[Value]], *, infer: bool = False
) -> tuple[str, ...] | None:
    """Return the merge keys of these lists.

    Args:
        schema: What is known of the list.
        lists: Its states.
        infer: Take `name` as the key of a list of which nothing is known.

    Returns:
        The keys; () if the lists are sets of plain values; None if they can only be
        taken as a whole.
    """
    keys = schema.keys
    if keys is None and infer and all(_identities(each, INFERRED) for each in lists if each):
        keys = INFERRED
    if keys is None:
        return None
    if not keys:
        plain = all(not isinstance(item, dict | list) for each in lists for item in each)
        return () if plain else None
    return keys if all(_identities(each, keys) is not None for each in lists) else None


def identity(element: Value, keys: tuple[str, ...]) -> Identity:
    """Return the merge keys of an element as text, None for each that it lacks.

    With no keys, for a member of a set, that is the value itself.
    """
    if not keys:
        return (content(element),)
    found = element if isinstance(element, dict) else {}
    return tuple(_text(found.get(key)) for key in keys)


def shown(element: Value, keys: tuple[str, ...]) -> str:
    """Return the merge keys of an element for people, such as "port=80, protocol=TCP"."""
    pairs = zip(keys, identity(element, keys), strict=True)
    return ", ".join(f"{key}={value}" for key, value in pairs if value is not None)


def pairs(left: Sequence[Value], right: Sequence[Value], keys: tuple[str, ...]) -> dict[int, int]:
    """Return for positions in `left` the position of the same element in `right`.

    Args:
        left: A list whose elements `keys` tells apart, see `merge_keys`.
        right: Another.
        keys: The merge keys; () for sets of plain values.
    """
    ours = [identity(each, keys) for each in left]
    place = {identity(each, keys): index for index, each in enumerate(right)}
    found = {index: place[each] for index, each in enumerate(ours) if each in place}
    if len(keys) > 1 and len(found) < len(left):
        found |= _loose(ours, place, found, keys)
    return found


def content(value: Value) -> str:
    """Return a canonical text of a value, the same for equal values only."""
    return json.dumps(value, sort_keys=True)


def _identities(items: Sequence[Value], keys: tuple[str, ...]) -> set[Identity] | None:
    """Return what the elements are; None if the keys do not tell them apart."""
    found = {identity(each, keys) for each in items}
    if len(found) < len(items) or any(each[0] is None for each in found):
        return None
    return found


def _text(value: Value) -> str | None:
    if value is None or isinstance(value, dict | list):
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def _loose(
    ours: Sequence[Identity],
    theirs: dict[Identity, int],
    found: dict[int, int],
    keys: tuple[str, ...],
) -> Iterator[tuple[int, int]]:
    """Pair elements of which one lacks keys that the other has."""
    taken = set(found.values())
    free = {each: index for each, index in theirs.items() if index not in taken}
    for index, wanted in enumerate(ours):
        if index in found:
            continue
        fitting = [each for each in free if _fits(wanted, each)]
        usual = [each for each in fitting if _filled(each, keys) == _filled(wanted, keys)]
        chosen = usual or (fitting if len(fitting) == 1 else [])
        if chosen:
            yield index, free.pop(chosen[0])


def _fits(left: Identity, right: Identity) -> bool:
    both = zip(left, right, strict=True)
    return all(ours == theirs or None in (ours, theirs) for ours, theirs in both)


def _filled(found: Identity, keys: tuple[str, ...]) -> Identity:
    both = zip(keys, found, strict=True)
    return tuple(_DEFAULTS.get(key) if value is None else value for key, value in both)
