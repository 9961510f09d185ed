"""Three states of one value made into one, field by field, with every conflict told.

Rules, kpt's unless said otherwise:
- What one side left as it was is taken from the other, whole.
- What both sides changed alike is taken once. What they changed differently is a
  conflict, and goes to the side that the policy names.
- A field that became null is gone; also where it is null locally and changed upstream.
- Mappings are merged key by key, new keys last. Associative lists are merged element by
  element: the local ones in their order, then those that come from upstream. Every other
  list is one value.
- Other than kpt: an element, or a mapping of a known kind, that one side removed and the
  other changed is a conflict as a whole; it is there whole or not at all. So is a
  mapping that would hold two fields of which Kubernetes allows one.
- Other than kpt: an element whose merge key was changed on one side, and nothing else in
  it, is still the same element if the other side changed the rest. It is told.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cadlib import elements
from cadlib.conflicts import ABSENT, Absent, Side
from cadlib.schema import Schema
from cadlib.yaml import FieldPath, Value, same

_CHANGED = "changed on both sides"


@dataclass(frozen=True, slots=True)
class At:
    """Where a value stands.

    Attributes:
        field: Its field: of the local side, with the index upstream of what is not there.
        local: The part of the field that exists locally.
    """

    field: FieldPath = ()
    local: FieldPath = ()

    def below(self, step: str | int, *, local: bool) -> "At":
        """Return the place of a field of this one, and whether it is there locally."""
        field = (*self.field, step)
        return At(field, field if local and self.local == self.field else self.local)


@dataclass(frozen=True, slots=True)
class Clash:
    """One conflict: where, the value on the three sides, what is taken, what happened."""

    at: At
    base: Side
    ours: Side
    theirs: Side
    chosen: str
    reason: str


@dataclass(frozen=True, slots=True)
class Row:
    """One element of an associative list, by its position on each side, None if not there.

    `renamed` is how its merge keys changed on one side, "" if they did not.
    """

    base: int | None
    ours: int | None
    theirs: int | None
    renamed: str = ""


class Fields:
    """Merges values, and collects the conflicts.

    Args:
        side: Who wins a conflict: "local" or "upstream".
        noted: What comments in the file say of its fields.
        infer: Take lists of which nothing is known as associative by `name`.

    Attributes:
        conflicts: Those found so far.
    """

    __slots__ = ("_infer", "_noted", "_side", "conflicts")

    def __init__(
        self, side: str, noted: Mapping[FieldPath, Schema], *, infer: bool = False
    ) -> None:
        self._side = side
        self._noted = noted
        self._infer = infer
        self.conflicts: list[Clash] = []

    def merge(self, base: Side, ours: Side, theirs: Side, schema: Schema, at: At) -> Side:
        """Return the merged value, or ABSENT."""
        if alike(theirs, base):
            return ours
        if alike(ours, base):
            return _cleared(theirs, base)
        if alike(ours, theirs):
            return ours
        if base is not None and (ours is None or theirs is None):
            return self._nulled(base, ours, theirs, schema, at)
        base = ABSENT if base is None else base
        sides = [each for each in (base, ours, theirs) if each is not ABSENT]
        if all(isinstance(each, dict) for each in sides):
            return self._maps(base, ours, theirs, schema, at)
        if all(isinstance(each, list) for each in sides):
            return self._lists(base, ours, theirs, self._noted.get(at.field, schema), at)
        return self._choose(base, ours, theirs, at)

    def _nulled(self, base: Side, ours: Side, theirs: Side, schema: Schema, at: At) -> Side:
        """Merge where a side has null for what was not null before: that side removed it."""
        if theirs is None:
            return self.merge(base, ABSENT if ours is None else ours, ABSENT, schema, at)
        if theirs is not ABSENT:
            reason = _reason(base, ABSENT, theirs)
            self.conflicts.append(Clash(at, base, ours, theirs, "local", reason))
        return ABSENT

    def _choose(self, base: Side, ours: Side, theirs: Side, at: At, reason: str = "") -> Side:
        told = reason or _reason(base, ours, theirs)
        self.conflicts.append(Clash(at, base, ours, theirs, self._side, told))
        return ours if self._side == "local" else theirs

    def _maps(self, base: Side, ours: Side, theirs: Side, schema: Schema, at: At) -> Side:
        gone = ours is ABSENT or theirs is ABSENT
        if gone and schema.whole and at.field:
            return self._choose(base, ours, theirs, at)
        was, left, right = _map(base), _map(ours), _map(theirs)
        before = len(self.conflicts)
        merged: dict[str, Value] = {}
        for key in [*left, *(key for key in right if key not in left)]:
            value = self.merge(
                was.get(key, ABSENT),
                left.get(key, ABSENT),
                right.get(key, ABSENT),
                schema.at(key),
                at.below(key, local=key in left),
            )
            if not isinstance(value, Absent):
                merged[key] = value
        if _clash(schema, merged, left, right):
            del self.conflicts[before:]
            return self._choose(base, ours, theirs, at, "only one of these fields may be there")
        # Braces that neither side wrote say nothing.
        return ABSENT if not merged and at.field and {} not in (ours, theirs) else merged

    def _lists(self, base: Side, ours: Side, theirs: Side, schema: Schema, at: At) -> Side:
        was, left, right = _list(base), _list(ours), _list(theirs)
        keys = elements.merge_keys(schema, (was, left, right), infer=self._infer)
        winner = ours if self._side == "local" else theirs
        if keys is None or winner is ABSENT:
            return self._choose(base, ours, theirs, at)
        if not keys:
            return _sets(was, left, right)
        merged: list[Value] = []
        for row in rows(was, left, right, keys):
            value = self._element(row, (was, left, right), schema.element, keys, at)
            if not isinstance(value, Absent):
                merged.append(value)
        return ABSENT if not merged and ABSENT in (ours, theirs) else merged

    def _element(
        self,
        row: Row,
        lists: tuple[Sequence[Value], Sequence[Value], Sequence[Value]],
        schema: Schema,
        keys: tuple[str, ...],
        at: At,
    ) -> Side:
        base, ours, theirs = _taken(lists, row)
        place = next(each for each in (row.ours, row.theirs, row.base) if each is not None)
        here = at.below(place, local=row.ours is not None)
        if alike(theirs, base):
            return ours
        if alike(ours, base):
            return _cleared(theirs, base)
        known = next(each for each in (ours, theirs, base) if not isinstance(each, Absent))
        named = elements.shown(known, keys)
        if ABSENT in (ours, theirs):
            reason = f"the element {named} was {_reason(base, ours, theirs)}"
            return self._choose(base, ours, theirs, here, reason)
        if row.renamed:
            self.conflicts.append(Clash(here, base, ours, theirs, "both", row.renamed))
        return self.merge(base, ours, theirs, schema, here)


def _taken(lists: Sequence[Sequence[Value]], row: Row) -> tuple[Side, Side, Side]:
    places = zip((row.base, row.ours, row.theirs), lists, strict=True)
    base, ours, theirs = (ABSENT if at is None else items[at] for at, items in places)
    return base, ours, theirs


def alike(left: Side, right: Side) -> bool:
    """Compare values, or that they are not there."""
    if isinstance(left, Absent) or isinstance(right, Absent):
        return left is right
    return same(left, right)


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
    renamed = _renamed(base, ours, theirs, keys, from_ours, to_theirs, "locally")
    from_ours |= {place: index for place, (index, _) in renamed.items()}
    mirrored = _renamed(base, theirs, ours, keys, from_theirs, to_ours, "upstream")
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
    where: str,
) -> dict[int, tuple[int, str]]:
    """Find elements whose merge keys changed on a side, and which the other side changed.

    Returns:
        For positions in `side`, that in `base` and how the keys changed.
    """
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
                f"{old} became {new} {where}, and the other side changed the same element:"
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
    return {key: value for key, value in _map(element).items() if key not in keys}


def _resembles(left: Mapping[str, Value], right: Mapping[str, Value]) -> bool:
    """Say whether two elements are one, by their names or by most of their fields."""
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


def _sets(base: Sequence[Value], ours: Sequence[Value], theirs: Sequence[Value]) -> list[Value]:
    """Merge lists of plain values of which the order says nothing."""
    dropped = [each for each in base if each not in theirs]
    kept = [each for each in ours if each not in dropped]
    return kept + [each for each in theirs if each not in ours and each not in base]


def _clash(
    schema: Schema,
    merged: Mapping[str, Value],
    ours: Mapping[str, Value],
    theirs: Mapping[str, Value],
) -> bool:
    """Say whether a merge put together what only one side at a time had."""
    return any(
        len(found) > 1 and not (found <= ours.keys() or found <= theirs.keys())
        for found in (group & merged.keys() for group in schema.one_of)
    )


def _cleared(value: Side, base: Side) -> Side:
    """Leave out what became null."""
    if value is None and base is not None and base is not ABSENT:
        return ABSENT
    if not isinstance(value, dict) or not isinstance(base, dict):
        return value
    inner = {key: _cleared(each, base.get(key, ABSENT)) for key, each in value.items()}
    return {key: each for key, each in inner.items() if not isinstance(each, Absent)}


def _reason(base: Side, ours: Side, theirs: Side) -> str:
    if base is ABSENT:
        return "added on both sides"
    if ours is ABSENT:
        return "removed locally and changed upstream"
    if theirs is ABSENT:
        return "changed locally and removed upstream"
    return _CHANGED


def _map(side: Side) -> dict[str, Value]:
    return side if isinstance(side, dict) else {}


def _list(side: Side) -> list[Value]:
    return side if isinstance(side, list) else []
