"""Three-way merge of values, field by field, collecting every conflict.

Rules, kpt's unless said otherwise:
- What one side left as it was is taken from the other, whole.
- What both sides changed alike is taken once. What they changed differently is a
  conflict, and goes to the side that the policy names.
- A field that became null on a side is gone, with all in it. Where the other side changed or
  added it, that is a conflict; a local null stands whatever the policy, as in kpt.
- Mappings are merged key by key, new keys last. Associative lists are merged element by
  element: the local ones in their order, then those that come from upstream. Every other
  list is one value.
- Other than kpt: an element, or a mapping of a known kind, that one side removed and the
  other changed is a conflict as a whole; it is there whole or not at all. So is a
  mapping that would hold two fields of which Kubernetes allows one.
- Other than kpt: an element whose merge key was changed on one side is still the same
  (see `cadlib.merge.rows`) if the other side changed the rest. It is told.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cadlib.merge import elements
from cadlib.merge.conflicts import ABSENT, Absent, Side
from cadlib.merge.rows import Row, rows
from cadlib.merge.schema import Schema
from cadlib.yaml import FieldPath, Value, same

_CHANGED = "changed on both sides"


@dataclass(frozen=True, slots=True)
class At:
    """The path of a value, and its merge schema.

    Attributes:
        field: Its field: of the local side, with the index upstream of what is not there.
        local: The part of the field that exists locally.
        known: What tells each element of a list in the field from others.
    """

    field: FieldPath = ()
    local: FieldPath = ()
    known: tuple[elements.Known, ...] = ()

    def below(self, step: str | int, *, local: bool, known: elements.Known | None = None) -> "At":
        """Return the place of a field or element of this one, and whether it is there locally."""
        field = (*self.field, step)
        return At(
            field,
            field if local and self.local == self.field else self.local,
            self.known if known is None else (*self.known, known),
        )


@dataclass(frozen=True, slots=True)
class Clash:
    """One conflict: where, the value on the three sides, what is taken, what happened."""

    at: At
    base: Side
    ours: Side
    theirs: Side
    chosen: str
    reason: str


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
        schema = self._noted.get(at.field, schema)
        if alike(theirs, base):
            return _cleared(ours, base)
        if alike(ours, base):
            return _cleared(theirs, base)
        if alike(ours, theirs):
            return _cleared(ours, base)
        if base is not None and (ours is None or theirs is None):
            return self._nulled(base, ours, theirs, at)
        if base is None:  # as good as no field, so that its removal upstream is no change
            return self.merge(ABSENT, ours, theirs, schema, at)
        sides = [each for each in (base, ours, theirs) if each is not ABSENT]
        if all(isinstance(each, dict) for each in sides):
            return self._maps(base, ours, theirs, schema, at)
        if all(isinstance(each, list) for each in sides):
            return self._lists(base, ours, theirs, schema, at)
        return self._choose(base, ours, theirs, at)

    def _nulled(self, base: Side, ours: Side, theirs: Side, at: At) -> Side:
        """Merge where a side has null for what was not null before: that side removed it."""
        if ABSENT in (ours, theirs):
            return ABSENT
        chosen = "local" if ours is None else self._side
        reason = _null_reason(base, ours)
        self.conflicts.append(Clash(at, base, ours, theirs, chosen, reason))
        return _cleared(ours if chosen == "local" else theirs, base)

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
        if alike(theirs, base):
            return _cleared(ours, base)
        if alike(ours, base):
            return _cleared(theirs, base)
        there = [each for each in (ours, theirs) if not isinstance(each, Absent)]
        known = elements.Known.of(there, keys)
        here = at.below(place, local=row.ours is not None, known=known)
        if len(there) == 1:
            named = elements.shown(there[0], keys)
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
    """Tell whether two values are equal, or both absent."""
    if isinstance(left, Absent) or isinstance(right, Absent):
        return left is right
    return same(left, right)


def _sets(base: Sequence[Value], ours: Sequence[Value], theirs: Sequence[Value]) -> list[Value]:
    """Merge lists of plain values of which the order says nothing."""
    was, left, right = (set(map(elements.content, each)) for each in (base, ours, theirs))
    dropped = was - right
    kept = [each for each in ours if elements.content(each) not in dropped]
    return kept + [each for each in theirs if elements.content(each) not in was | left]


def _clash(
    schema: Schema,
    merged: Mapping[str, Value],
    ours: Mapping[str, Value],
    theirs: Mapping[str, Value],
) -> bool:
    """Tell whether a merge put together what only one side at a time had."""
    return any(
        len(found) > 1 and not (found <= ours.keys() or found <= theirs.keys())
        for found in (group & merged.keys() for group in schema.one_of)
    )


def _cleared(value: Side, base: Side) -> Side:
    """Leave out what became null."""
    if value is None:
        return None if base is None else ABSENT
    if not isinstance(value, dict):
        return value
    before = _map(base)
    inner = {key: _cleared(each, before.get(key, ABSENT)) for key, each in value.items()}
    return {key: each for key, each in inner.items() if not isinstance(each, Absent)}


def _reason(base: Side, ours: Side, theirs: Side) -> str:
    if base is ABSENT:
        return "added on both sides"
    if ours is ABSENT:
        return "removed locally and changed upstream"
    if theirs is ABSENT:
        return "changed locally and removed upstream"
    return _CHANGED


def _null_reason(base: Side, ours: Side) -> str:
    changed = "added" if base is ABSENT else "changed"
    if ours is None:
        return f"removed locally (null) and {changed} upstream"
    return f"{changed} locally and removed upstream (null)"


def _map(side: Side) -> dict[str, Value]:
    return side if isinstance(side, dict) else {}


def _list(side: Side) -> list[Value]:
    return side if isinstance(side, list) else []
