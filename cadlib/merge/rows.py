"""Matches elements of an associative list between the three sides of a merge.

Rules:
- Elements are the same by their merge keys (see `cadlib.merge.elements`).
- One whose keys changed on one side, while the other side changed the rest of it, is still
  the same if there is one new element only, behind the same neighbour, that is like it:
  of the same `name`, or with more than half of the other fields equal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cadlib.merge import elements
from cadlib.yaml import Value, same

_SIDES = ("locally", "upstream")


@dataclass(frozen=True, slots=True)
class Row:
    """One element of an associative list, by its position on each side, None if not there.

    `renamed` is how its merge keys changed on one side, "" if they did not.
    """

    base: int | None
    ours: int | None
    theirs: int | None
    renamed: str = ""


def rows(
    base: Sequence[Value],
    ours: Sequence[Value],
    theirs: Sequence[Value],
    keys: tuple[str, ...],
) -> list[Row]:
    """Return the elements of an associative list on three sides, in the order of the result.

    Those that are nowhere but in `base` are left out.
    """
    to_ours, to_theirs = elements.pairs(base, ours, keys), elements.pairs(base, theirs, keys)
    from_ours = {place: index for index, place in to_ours.items()}
    from_theirs = {place: index for index, place in to_theirs.items()}
    renamed = _renamed(base, ours, theirs, keys, from_ours, to_theirs, _SIDES)
    from_ours |= {place: index for place, (index, _) in renamed.items()}
    mirrored = _renamed(base, theirs, ours, keys, from_theirs, to_ours, _SIDES[::-1])
    from_theirs |= {place: index for place, (index, _) in mirrored.items()}
    how = dict([*renamed.values(), *mirrored.values()])
    to_theirs = {index: place for place, index in from_theirs.items()}
    both = _added(ours, theirs, keys, from_ours, from_theirs)
    found = [
        Row(
            index := from_ours.get(place),
            place,
            both.get(place) if index is None else to_theirs.get(index),
            "" if index is None else how.get(index, ""),
        )
        for place in range(len(ours))
    ]
    there = {row.base for row in found}
    joined = set(both.values())
    found += [
        Row(index, None, place)
        for place in range(len(theirs))
        if (index := from_theirs.get(place)) is None or index not in there
        if place not in joined
    ]
    return found


def _renamed(
    base: Sequence[Value],
    side: Sequence[Value],
    other: Sequence[Value],
    keys: tuple[str, ...],
    known: Mapping[int, int],
    to_other: Mapping[int, int],
    sides: tuple[str, str],
) -> dict[int, tuple[int, str]]:
    """Find elements whose merge keys changed on a side, and which the other side changed.

    Returns:
        For positions in `side`, that in `base` and how the keys changed.
    """
    where, elsewhere = sides
    missing = set(range(len(base))) - set(known.values())
    changed = {
        index
        for index in missing
        if index in to_other and not same(base[index], other[to_other[index]])
    }
    taken = {elements.identity(each, keys) for each in other}
    found: dict[int, tuple[int, str]] = {}
    for index in sorted(changed):
        rest = _rest(base[index], keys)
        fitting = [
            place
            for place, each in enumerate(side)
            if place not in known and place not in found
            and _resembles(rest, _rest(each, keys))
            and elements.identity(each, keys) not in taken
        ]  # fmt: skip
        if len(fitting) == 1 and _neighbour(fitting[0], known) == _neighbour_in_base(index, known):
            old, new = (elements.shown(each, keys) for each in (base[index], side[fitting[0]]))
            found[fitting[0]] = (
                index,
                f"{old} became {new} {where}, and the same element was changed {elsewhere}:"
                " both changes are kept",
            )
    return found


def _neighbour(place: int, known: Mapping[int, int]) -> int | None:
    """Return the element of the base that the nearest known one before a place was."""
    return next((known[each] for each in range(place - 1, -1, -1) if each in known), None)


def _neighbour_in_base(index: int, known: Mapping[int, int]) -> int | None:
    there = set(known.values())
    return next((each for each in range(index - 1, -1, -1) if each in there), None)


def _rest(element: Value, keys: tuple[str, ...]) -> dict[str, Value]:
    fields = element if isinstance(element, dict) else {}
    return {key: value for key, value in fields.items() if key not in keys}


def _resembles(left: Mapping[str, Value], right: Mapping[str, Value]) -> bool:
    """Tell whether two elements are one, by their names or by most of their fields."""
    if "name" in left and left["name"] == right.get("name"):
        return True
    equal = sum(key in right and same(value, right[key]) for key, value in left.items())
    return 2 * equal > max(len(left), len(right))


def _added(
    ours: Sequence[Value],
    theirs: Sequence[Value],
    keys: tuple[str, ...],
    from_ours: Mapping[int, int],
    from_theirs: Mapping[int, int],
) -> dict[int, int]:
    """Pair the elements that both sides added."""
    left = [place for place in range(len(ours)) if place not in from_ours]
    right = [place for place in range(len(theirs)) if place not in from_theirs]
    found = elements.pairs([ours[each] for each in left], [theirs[each] for each in right], keys)
    return {left[mine]: right[other] for mine, other in found.items()}
