"""A strategic merge patch, laid onto a document.

Rules, those of kyaml's merge2:
- Mappings are merged key by key. A key that is null in the patch goes; so does what has
  `$patch: delete`. What has `$patch: replace` takes the place of what is there.
- Associative lists (see `cadlib.schema`) are merged element by element; an element
  `$patch: replace` or `$patch: delete` of its own speaks for the list. Every other list is
  replaced as a whole.
- New elements go to the end, or the elements of the patch come first, in its order.
- A line comment of the patch takes the place of that of a scalar; mappings and lists keep
  theirs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from cadlib import elements
from cadlib.conflicts import ABSENT, Absent, Side
from cadlib.errors import PackageError, Place
from cadlib.merge import schemas_in_comments
from cadlib.schema import Schema, Schemas
from cadlib.yaml import DELETED, Deleted, Document, FieldPath, Value, field_text

_KEY = "$patch"
_SCHEMAS = Schemas()


class Directive(Enum):
    """What a patch does with what is there."""

    MERGE = "merge"
    REPLACE = "replace"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Patched:
    """What came out.

    Attributes:
        value: The document's value, or DELETED.
        comments: All its line comments, by field.
    """

    value: Value | Deleted
    comments: Mapping[FieldPath, str]


def merge2(
    patch: Document,
    document: Document,
    *,
    schemas: Schemas = _SCHEMAS,
    prepend: bool = False,
    infer: bool = False,
) -> Patched:
    """Lay a strategic merge patch onto a document.

    Args:
        patch: The patch.
        document: What it is laid onto.
        schemas: What is known of lists, by kind.
        prepend: Put the elements of the patch first in a list, instead of the new ones last.
        infer: Take lists of which nothing is known as associative by `name`.

    Raises:
        PackageError: The patch has a mapping, list or scalar where the document has
            another of these, or a directive that does not exist.
    """
    noted = {field: each for side in (document, patch) for field, each in schemas_in_comments(side)}
    patcher = _Patcher(patch, document, noted, prepend=prepend, infer=infer)
    value = patcher.merge(
        _State(document.value, ()), _State(patch.value, ()), schemas.of(document.value), ()
    )
    return Patched(DELETED if isinstance(value, Absent) else value, patcher.comments)


def directive(patch: Value) -> tuple[Directive, Value]:
    """Return what a mapping or list of a patch says it does, and it without saying so.

    Raises:
        ValueError: It is a scalar, or the directive does not exist.
    """
    match patch:
        case dict():
            rest: Value = {key: value for key, value in patch.items() if key != _KEY}
            return _named(patch.get(_KEY, Directive.MERGE.value)), rest
        case list():
            said = [each for each in patch if isinstance(each, dict) and list(each) == [_KEY]]
            name = said[0] if said else {}
            assert isinstance(name, dict)  # noqa: S101 - for the type checker
            return (
                _named(name.get(_KEY, Directive.MERGE.value)),
                [each for each in patch if each not in said],
            )
        case _:
            raise ValueError("no implemented strategic merge patch strategy for a scalar")


def _named(name: Value) -> Directive:
    try:
        return Directive(name)
    except ValueError:
        raise ValueError(f"unknown patch strategy {name!r}") from None


@dataclass(frozen=True, slots=True)
class _State:
    """A value of the document or the patch, and where it stands there."""

    value: Side
    path: FieldPath | None

    def at(self, step: str | int | None) -> "_State":
        """Return the state of a field or element; of one that is not there if None."""
        path = None if self.path is None or step is None else (*self.path, step)
        match self.value, step:
            case dict() as fields, str() if step in fields:
                return _State(fields[step], path)
            case list() as items, int():
                return _State(items[step], path)
            case _:
                return _State(ABSENT, None)


class _Patcher:
    """Merges values, and collects the comments of what it passes."""

    def __init__(
        self,
        patch: Document,
        document: Document,
        noted: Mapping[FieldPath, Schema],
        *,
        prepend: bool,
        infer: bool,
    ) -> None:
        self._patch = patch
        self._document = document
        self._noted = noted
        self._prepend = prepend
        self._infer = infer
        self.comments: dict[FieldPath, str] = {}

    def merge(self, old: _State, new: _State, schema: Schema, at: FieldPath) -> Side:
        """Return the merged value of one field."""
        schema = self._noted.get(at, schema)
        self._comment(old, new, at)
        match old.value, new.value:
            case _, None:
                return ABSENT
            case _, Absent():
                return self._kept(old, schema, at)
            case ((dict() | None | Absent()), dict()):
                return self._map(old, new, schema, at)
            case ((list() | None | Absent()), list()):
                return self._list(old, new, schema, at)
            case ((dict() | list()), _):
                raise self._refuse(new, old)
            case _, (dict() | list()):
                raise self._refuse(new, old)
            case _, value:
                return value

    def _kept(self, old: _State, schema: Schema, at: FieldPath) -> Side:
        """Return what the patch does not speak of, with its comments."""
        match old.value:
            case dict() as fields:
                for key in fields:
                    self.merge(old.at(key), _State(ABSENT, None), schema.at(key), (*at, key))
            case list() as items:
                for index in range(len(items)):
                    self.merge(old.at(index), _State(ABSENT, None), schema.element, (*at, index))
            case _:
                pass
        return old.value

    def _map(self, old: _State, new: _State, schema: Schema, at: FieldPath) -> Side:
        said, rest = self._said(new)
        if said is Directive.DELETE:
            return self._gone(at)
        here = _State({}, None) if said is Directive.REPLACE else old
        before = here.value if isinstance(here.value, dict) else {}
        assert isinstance(rest, dict)  # noqa: S101 - as the patch is
        merged: dict[str, Value] = {}
        for key in [*before, *(key for key in rest if key not in before)]:
            value = self.merge(here.at(key), new.at(key), schema.at(key), (*at, key))
            if isinstance(value, Absent):
                self._gone((*at, key))
            else:
                merged[key] = value
        return merged

    def _list(self, old: _State, new: _State, schema: Schema, at: FieldPath) -> Side:
        before = old.value if isinstance(old.value, list) else []
        assert isinstance(new.value, list)  # noqa: S101 - the caller looked
        said, rest = self._said(new)
        if said is Directive.DELETE:
            return self._gone(at)
        assert isinstance(rest, list)  # noqa: S101 - as the patch is
        places = [place for place, each in enumerate(new.value) if each in rest]
        keys = elements.merge_keys(schema, (before, rest), infer=self._infer)
        rows: Sequence[tuple[int | None, int | None]]
        if said is Directive.REPLACE or keys is None:
            rows = [(None, place) for place in places]
        else:
            rows = self._rows(before, rest, keys, places)
        merged: list[Value] = []
        for mine, theirs in rows:
            here = (*at, len(merged))
            value = self.merge(old.at(mine), new.at(theirs), schema.element, here)
            if isinstance(value, Absent):
                self._gone(here)
            else:
                merged.append(value)
        return merged

    def _rows(
        self,
        before: Sequence[Value],
        rest: Sequence[Value],
        keys: tuple[str, ...],
        places: Sequence[int],
    ) -> list[tuple[int | None, int | None]]:
        """Return the elements of both lists, in the order of the result."""
        known = elements.pairs(rest, before, keys)
        theirs = {known[index]: place for index, place in enumerate(places) if index in known}
        if self._prepend:
            first = [(known.get(index), place) for index, place in enumerate(places)]
            return [*first, *((mine, None) for mine in range(len(before)) if mine not in theirs)]
        new = [(None, place) for index, place in enumerate(places) if index not in known]
        return [*((mine, theirs.get(mine)) for mine in range(len(before))), *new]

    def _said(self, new: _State) -> tuple[Directive, Value]:
        try:
            assert not isinstance(new.value, Absent)  # noqa: S101 - the caller looked
            return directive(new.value)
        except ValueError as error:
            raise PackageError(
                self._place(new), str(error), "Write merge, replace or delete"
            ) from None

    def _refuse(self, new: _State, old: _State) -> PackageError:
        return PackageError(
            self._place(new),
            f"wrong node kind: the patch has a {_kind(new.value)} where there is a"
            f" {_kind(old.value)}",
            "Write the patch in the form of what it patches, or with $patch: replace above it",
        )

    def _place(self, new: _State) -> Place:
        path = new.path or ()
        field = field_text(path) if path else ""
        return Place(self._patch.source.path, self._patch.line(path), field)

    def _comment(self, old: _State, new: _State, at: FieldPath) -> None:
        theirs = None if new.path is None else self._patch.comments.get(new.path)
        mine = None if old.path is None else self._document.comments.get(old.path)
        listed = isinstance(old.value, dict | list)
        comment = mine if listed else theirs or mine
        if comment:
            self.comments[at] = comment

    def _gone(self, at: FieldPath) -> Absent:
        for path in [each for each in self.comments if each[: len(at)] == at]:
            del self.comments[path]
        return ABSENT


def _kind(value: Side) -> str:
    return "mapping" if isinstance(value, dict) else "list" if isinstance(value, list) else "scalar"


__all__ = ["Directive", "Patched", "directive", "merge2"]
