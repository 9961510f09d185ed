"""Matches list elements and renamed keys between an old and a new value.

Rules for lists, in this order:
- What is equal at the beginning and at the end of both lists stays where it is.
- Mappings are known by a merge key: the first of `MERGE_KEYS` that every element of both
  lists has and that tells each list's elements apart.
- Elements with the same content are the same element.
- What is left between two known elements is matched by place, one with one, except
  mappings with another merge key that have less than half of their other fields in common.

A key that has gone and a new one are the same if they alone have that value, and it says enough:
it is a mapping or a list that is not empty, or the keys differ in what stands before their "/".
`debug: true` is not what became of `enabled: true`.

Nothing here knows a schema. Source of the keys: Kubernetes' `x-kubernetes-list-map-keys` and
kyaml's associative keys.
"""

import math
from bisect import bisect_left
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from itertools import pairwise

from cadlib.images import repository
from cadlib.yaml.tree import Value, same

MergeKey = tuple[str, ...]

MERGE_KEYS: tuple[MergeKey, ...] = (
    ("name",),
    ("containerPort", "protocol"),
    ("containerPort",),
    ("mountPath",),
    ("devicePath",),
    ("ip",),
    ("key",),
    ("port", "protocol"),
    ("port",),
    ("type",),
    ("topologyKey",),
    ("id",),
    ("path",),
    ("host",),
    ("image",),
    ("uid",),
)


def match(old: Sequence[Value], new: Sequence[Value]) -> list[int | None]:
    """Return for each element of `new` which element of `old` it is.

    Args:
        old: The list before.
        new: The list after.

    Returns:
        As many entries as `new` has: a position in `old`, each at most once, or None for
        an element that was not there.
    """
    shortest = min(len(old), len(new))
    front = 0
    while front < shortest and same(old[front], new[front]):
        front += 1
    back = 0
    while back < shortest - front and same(old[-1 - back], new[-1 - back]):
        back += 1
    found: list[int | None] = [
        *range(front),
        *[None] * (len(new) - front - back),
        *range(len(old) - back, len(old)),
    ]
    if front + back < shortest:
        _match_middle(old, new, found, range(front, len(old) - back))
    return found


def renamed(old: Mapping[str, Value], new: Mapping[str, Value]) -> dict[str, str]:
    """Return the new names of the keys of a mapping that were renamed.

    Args:
        old: The mapping before.
        new: The mapping after.
    """
    gone = _by_value(old, old.keys() - new.keys())
    added = _by_value(new, new.keys() - old.keys() if gone else ())
    return {
        keys[0]: names[0]
        for value, keys in gone.items()
        if len(keys) == len(names := added.get(value, [])) == 1
        if _says_enough(old[keys[0]], keys[0], names[0])
    }


def _by_value(mapping: Mapping[str, Value], keys: Collection[str]) -> dict[Hashable, list[str]]:
    found: dict[Hashable, list[str]] = {}
    for key in keys:
        found.setdefault(_frozen(mapping[key]), []).append(key)
    return found


def _says_enough(value: Value, old: str, new: str) -> bool:
    if isinstance(value, dict | list) and value:
        return True
    return old.rpartition("/")[2] == new.rpartition("/")[2]


def merge_key(*lists: Sequence[Value]) -> MergeKey | None:
    """Return the key that tells the elements of each of these lists apart, if there is one."""
    if not all(isinstance(item, dict) for items in lists for item in items):
        return None
    return next(
        (key for key in MERGE_KEYS if all(_tells_apart(key, items) for items in lists)), None
    )


def rising(positions: Sequence[int]) -> list[int]:
    """Return the longest increasing subsequence: the positions that need not move."""
    ends: list[int] = []  # smallest last position of a part of each length
    places: list[int] = []  # where in `positions` those are
    before: list[int | None] = []
    for place, position in enumerate(positions):
        length = bisect_left(ends, position)
        before.append(places[length - 1] if length else None)
        ends[length : length + 1] = [position]
        places[length : length + 1] = [place]
    found: list[int] = []
    at = places[-1] if places else None
    while at is not None:
        found.append(positions[at])
        at = before[at]
    return found[::-1]


def _match_middle(
    old: Sequence[Value], new: Sequence[Value], found: list[int | None], free: range
) -> None:
    key = merge_key(old, new)
    left: dict[Hashable, list[int]] = {}
    for position in reversed(free):
        left.setdefault(identity(old[position], key), []).append(position)
    middle = [place for place, position in enumerate(found) if position is None]
    for place in middle:
        same_ones = left.get(identity(new[place], key))
        if same_ones:
            found[place] = same_ones.pop()
    _match_by_place(old, new, found, key)


def _match_by_place(
    old: Sequence[Value], new: Sequence[Value], found: list[int | None], key: MergeKey | None
) -> None:
    """Pair what is left between two elements that stay in order."""
    known = [position for position in found if position is not None]
    used = set(known)
    stays = set(rising(known))
    places = [place for place, position in enumerate(found) if position in stays]
    for (left, low), (right, high) in pairwise(
        [(-1, -1), *((place, found[place] or 0) for place in places), (len(new), len(old))]
    ):
        new_ones = [place for place in range(left + 1, right) if found[place] is None]
        old_ones = [position for position in range(low + 1, high) if position not in used]
        for place, position in _pairs(old, new, old_ones, new_ones, key):
            found[place] = position


def _pairs(
    old: Sequence[Value],
    new: Sequence[Value],
    old_ones: list[int],
    new_ones: list[int],
    key: MergeKey | None,
) -> Iterator[tuple[int, int]]:
    """Yield what belongs together of two runs in the same gap, in order."""
    if len(old_ones) == len(new_ones):
        for place, position in zip(new_ones, old_ones, strict=True):
            if key is None or _alike(old[position], new[place], key):
                yield place, position
        return
    rest = iter(old_ones)
    for place in new_ones:
        for position in rest:
            if not isinstance(new[place], dict) or _alike(
                old[position], new[place], key or (), least=1
            ):
                yield place, position
                break


def _alike(old: Value, new: Value, key: MergeKey, *, least: int = 0) -> bool:
    """Tell whether two elements share half of the fields that are not their merge key."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return False
    fields = (old.keys() | new.keys()) - set(key)
    shared = sum(name in old and name in new and same(old[name], new[name]) for name in fields)
    return shared >= least and 2 * shared >= len(fields)


def _tells_apart(key: MergeKey, items: Sequence[Value]) -> bool:
    seen: set[Hashable] = set()
    for item in items:
        if not isinstance(item, dict):
            return False
        values = [item.get(name) for name in key]
        if any(value is None or isinstance(value, dict | list) for value in values):
            return False
        seen.add(identity(item, key))
    return len(seen) == len(items)


def identity(value: Value, key: MergeKey | None) -> Hashable:
    """Return an element's identity: its merge key, or its whole value."""
    if key is not None and isinstance(value, dict):
        return tuple(_named(name, value.get(name)) for name in key)
    return _frozen(value)


def _named(name: str, value: Value) -> Hashable:
    """Return a merge key as it counts: an image with another tag is still that image."""
    if name == "image" and isinstance(value, str):
        return repository(value)
    return _frozen(value)


def _frozen(value: Value) -> Hashable:
    """Return a value that can be a key, and equals another one's if `same` says so."""
    if isinstance(value, dict):
        return frozenset((name, _frozen(item)) for name, item in value.items())
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    if isinstance(value, bool):
        return (bool, value)
    if isinstance(value, float) and math.isnan(value):
        return (float, "nan")
    return value
