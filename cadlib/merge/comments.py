"""The line comments of a merged document: each side's changes, three ways as for values.

Rules:
- A comment belongs to its field; in a list, to the element it is at, matched by merge
  keys, else by content, else by place.
- What one side left as it was is taken from the other; so a comment that only upstream
  changed arrives although no value did (kpt loses it).
- A comment of an element that was replaced goes (`cadlib.yaml.outdated`).
- The comment of a scalar that both sides changed goes with its value. Where both changed
  the comment alone the policy decides, but for that of a mapping or list, which stays the
  local one, as in kpt; both is told as a conflict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cadlib.merge import elements
from cadlib.merge.conflicts import ABSENT, COMMENT, Absent, Side
from cadlib.merge.fields import At, Clash, alike
from cadlib.merge.schema import Schema
from cadlib.yaml import FieldPath, Value, same
from cadlib.yaml.match import MergeKey, match
from cadlib.yaml.outdated import SETTER, leading_key, replaced

Comments = Mapping[FieldPath, str]


@dataclass(frozen=True, slots=True)
class CommentedValue:
    """A value on one side: where it stands there, and all line comments of that side."""

    value: Side
    path: FieldPath
    comments: Comments

    @property
    def comment(self) -> str | None:
        """The comment at this value, or None."""
        return None if self.value is ABSENT else self.comments.get(self.path)

    def about(self, merged: Value, key: MergeKey | None) -> "CommentedValue":
        """Return the state of an element without comments that are about another value.

        Args:
            merged: What became of the element.
            key: The first field of the list's merge key.
        """
        if isinstance(self.value, Absent) or same(self.value, merged):
            return self
        setters = {path: text for path, text in self.comments.items() if SETTER in text}
        if replaced(self.value, merged):
            return CommentedValue(self.value, self.path, setters)
        if not key or not isinstance(self.value, dict) or not isinstance(merged, dict):
            return self
        gone = {
            (*self.path, name) for name in key if not same(self.value.get(name), merged.get(name))
        }
        kept = {path: text for path, text in self.comments.items() if path not in gone}
        return CommentedValue(self.value, self.path, {**kept, **setters})

    def at(self, step: str | int | None) -> "CommentedValue":
        """Return the state of a field or element of this one; None is one not there."""
        match self.value, step:
            case dict() as fields, str() if step in fields:
                inner: Side = fields[step]
            case list() as items, int():
                inner = items[step]
            case _:
                return CommentedValue(ABSENT, (), self.comments)
        assert step is not None  # noqa: S101 - for the type checker: it matched above
        return CommentedValue(inner, (*self.path, step), self.comments)


@dataclass(frozen=True, slots=True)
class ThreeWayValue:
    """The three states of one field."""

    base: CommentedValue
    ours: CommentedValue
    theirs: CommentedValue

    @property
    def contested(self) -> bool:
        """Whether both sides have changed the value, each in its own way."""
        base, ours, theirs = self.base.value, self.ours.value, self.theirs.value
        return not (alike(ours, base) or alike(theirs, base) or alike(ours, theirs))

    def at(self, steps: Sequence[str | int | None]) -> "ThreeWayValue":
        """Return the states of a field; `steps` may differ by side."""
        base, ours, theirs = steps
        return ThreeWayValue(self.base.at(base), self.ours.at(ours), self.theirs.at(theirs))


class Merger:
    """Merges comments.

    Args:
        side: Who wins a conflict: "local" or "upstream".
        noted: What comments in the file say of its fields.
        infer: As the values were merged.

    Attributes:
        conflicts: Comments that both sides changed beside a value that they did not.
    """

    __slots__ = ("_infer", "_noted", "_side", "conflicts")

    def __init__(
        self, side: str, noted: Mapping[FieldPath, Schema], *, infer: bool = False
    ) -> None:
        self._side = side
        self._noted = noted
        self._infer = infer
        self.conflicts: list[Clash] = []

    def merge(self, merged: Value, sides: ThreeWayValue, schema: Schema) -> dict[FieldPath, str]:
        """Return all line comments of a merged value."""
        found: dict[FieldPath, str] = {}
        self._walk(merged, At(), sides, schema, found)
        return found

    def _walk(
        self,
        merged: Value,
        at: At,
        sides: ThreeWayValue,
        schema: Schema,
        found: dict[FieldPath, str],
    ) -> None:
        schema = self._noted.get(at.field, schema)
        comment = self._comment(merged, sides, at)
        if comment:
            found[at.field] = comment
        if isinstance(merged, dict):
            for key, value in merged.items():
                inner = sides.at((key, key, key))
                self._walk(value, at.below(key, local=True), inner, schema.at(key), found)
        elif isinstance(merged, list):
            elements_of = [
                self._elements(merged, each, schema)
                for each in (sides.base, sides.ours, sides.theirs)
            ]
            keys = elements.merge_keys(schema, (merged,), infer=self._infer) or ()
            for index, value in enumerate(merged):
                base, ours, theirs = (each[index] for each in elements_of)
                here = at.below(index, local=True, known=elements.Known.of([value], keys))
                self._walk(value, here, ThreeWayValue(base, ours, theirs), schema.element, found)

    def _elements(
        self, merged: list[Value], state: CommentedValue, schema: Schema
    ) -> list[CommentedValue]:
        """Return for each element of the merged list its state on one side."""
        places = self._places(merged, state, schema)
        key = leading_key(merged, _items(state))
        return [state.at(places.get(index)).about(value, key) for index, value in enumerate(merged)]

    def _comment(self, merged: Value, sides: ThreeWayValue, at: At) -> str | None:
        base, ours, theirs = sides.base.comment, sides.ours.comment, sides.theirs.comment
        if not isinstance(merged, dict | list) and sides.contested:
            return theirs if _is(merged, sides.theirs.value) else ours
        if sides.ours.value is ABSENT or ours == base:
            return theirs if sides.theirs.value is not ABSENT else ours
        if sides.theirs.value is ABSENT or theirs in (base, ours):
            return ours
        side = "local" if isinstance(merged, dict | list) else self._side
        here = At(sides.ours.path, sides.ours.path, at.known)
        self.conflicts.append(Clash(here, _told(base), _told(ours), _told(theirs), side, COMMENT))
        return ours if side == "local" else theirs

    def _places(self, merged: list[Value], state: CommentedValue, schema: Schema) -> dict[int, int]:
        """Return for each element of the merged list its place in the list of one side."""
        items = _items(state)
        keys = elements.merge_keys(schema, (merged, items), infer=self._infer)
        if keys:
            return elements.pairs(merged, items, keys)
        return {
            index: place for index, place in enumerate(match(items, merged)) if place is not None
        }


def _items(state: CommentedValue) -> list[Value]:
    return state.value if isinstance(state.value, list) else []


def _told(comment: str | None) -> Side:
    return ABSENT if comment is None else comment


def _is(merged: Value, side: Side) -> bool:
    return not isinstance(side, Absent) and same(merged, side)
