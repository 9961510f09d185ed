"""The catalog's `search-replace`: finds fields by value and path, and sets values or comments.

Rules:
- A field matches if it fits all that is given: its text, or a pattern for it (RE2, anywhere in
  the text); its path; the file.
- In paths, `*` is any one key, `**` any number of them, `a[*]` any element. A path without these
  and without a list is created where it is missing, if nothing but a value to put is asked for.
- `${1}` in what is put is the first group of the pattern. Values are put all at once.
- A list has no text: only its path can fit, and only a comment can be put.

Source: the catalog's functions/go/search-replace.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import re2

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import FieldPath, Value, field_text
from cadlib.yaml.emit import flow
from fnrunner.builtin import alone, globs, resource, scalars, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.alone import ConfigRefusedError, PerResourceFunction
from fnrunner.builtin.resource import ShapeError
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

ABOUT: Final = About(
    tags=("v0.2", "v0.2.0", "v0.2.1", "v0.2.2", "v0.2.3"),
    summary="Finds fields by value and path, and sets values or comments.",
    doc="""\
A ConfigMap whose data say what to find:

- `by-value`, or `by-value-regex` (RE2);
- `by-path`: keys separated by dots, such as `spec.**.image` or `spec.ports[*].name`;
- `by-file-path`: such as `**/setters.yaml`;

and what to write there, if anything:

- `put-value`, in which `${1}` is the first group of the pattern;
- `put-comment`, such as `kpt-set: ${tag}`.

A field must match all of the given conditions. `put-value` creates a missing field if its path has
no wildcards. Each matching field is a result.
""",
    example="""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: function-input
data:
  by-path: spec.replicas
  by-value: "3"
  put-value: "4"
""",
    written=True,
    alone=True,
)

_MATCHERS: Final = (
    "by-value",
    "by-file-path",
    "by-value-regex",
    "by-path",
    "put-value",
    "put-comment",
)
_FAILED: Final = "failed to perform search-replace operation: "
_GROUP: Final = re.compile(r"\$\{([0-9]+)\}")


@dataclass(frozen=True, slots=True)
class _Note:
    """What was found at one resource, and what could not be done."""

    found: tuple[Result, ...] = ()
    problem: Result | None = None


_NOTHING: Final = _Note()


class _ImpossibleError(Exception):
    """It cannot be done; the text says why."""


def run(resources: ResourceList) -> FunctionResult:
    """Search as the configuration says, and replace if it says so."""
    found = verdict.logged(alone.run(begin, resources), _FAILED)
    # Messages have the errors in quotes.
    lines = (re.sub(r"\\(.)", r"\1", line[1:-1]) for line in found.log.split("\n"))
    return replace(found, log="\n".join(lines))


def begin(config: Value) -> PerResourceFunction[_Note]:
    """Read the configuration."""
    try:
        return _SearchReplace(_given(resource.field(config, "data")))
    except _ImpossibleError as error:
        raise ConfigRefusedError(verdict.result(_failure(str(error)), "error")) from error


def _failure(problem: str) -> str:
    return _FAILED + scalars.quoted(problem)


def _given(data: Value) -> dict[str, str]:
    given = scalars.of_config(data)
    if given is None:
        raise _ImpossibleError("`data` must be a mapping from matchers to texts")
    for key in given:
        if key not in _MATCHERS:
            known = " ".join(map(scalars.quoted, _MATCHERS))
            problem = f"invalid matcher {scalars.quoted(key)}, must be one of [{known}]"
            raise _ImpossibleError(problem)
    if given.get("by-value") and given.get("by-value-regex"):
        raise _ImpossibleError('only one of ["by-value", "by-value-regex"] can be provided')
    if len(given.get("put-comment", "").strip("\n").splitlines()) > 1:
        raise _ImpossibleError("a comment must be one line, and `put-comment` has more")
    return {key: text for key, text in given.items() if text}


@lru_cache(maxsize=8192)  # the resources of a package have the same fields
def path_fits(pattern: str, path: str) -> bool:
    """Tell whether the path of a field fits a pattern.

    Args:
        pattern: As `by-path`.
        path: Keys and positions, such as "spec.containers[0].image".
    """
    wanted = pattern.split(".")

    def onward(places: set[int]) -> set[int]:
        reached = set(places)
        for place in places:
            while place < len(wanted) and wanted[place] == "**":
                place += 1
                reached.add(place)
        return reached

    places = onward({0})
    for step in path.split("."):
        further = {place for place in places if place < len(wanted) and wanted[place] == "**"}
        fitting = (place for place in places - further if place < len(wanted))
        places = onward(further | {n + 1 for n in fitting if _step_fits(wanted[n], step)})
    return len(wanted) in places


def _step_fits(pattern: str, step: str) -> bool:
    if pattern in ("*", step):
        return True
    wanted, found = pattern.split("["), step.split("[")
    names = wanted[0] in ("*", found[0])
    places = zip(wanted[1:], found[1:], strict=False)
    same = len(wanted) == len(found) > 1
    return names and same and all(want in ("*]", place) for want, place in places)


class _SearchReplace:
    """What is looked for and what is put, by matcher; what is empty is not given."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._value = given.get("by-value", "")
        self._path = given.get("by-path", "")
        self._new = given.get("put-value", "")
        self._comment = given.get("put-comment", "").strip("\n")
        self._pattern = _compiled(given.get("by-value-regex", ""))
        file = given.get("by-file-path", "")
        try:
            self._file = globs.compiled(file) if file else None
        except ValueError as error:
            raise _ImpossibleError(str(error)) from error

    def each(self, item: Item) -> tuple[Item, _Note]:
        if self._file is not None and not self._file.fullmatch(item.path):
            return item, _NOTHING
        if not (self._value or self._path or self._pattern):
            return item, _NOTHING
        change = _Change(item)
        try:
            found = [(path, value) for path, value in scalars.fields(item.value) if path]
            for path, value in found:
                if self._fits(item, path, value):
                    self._treat(change, path, value)
            if not change.found and self._creates:
                self._create(change)
        except _ImpossibleError as error:
            return item, _Note(problem=change.problem(str(error)))
        return change.done(), _Note(tuple(change.found))

    def total(self, notes: Sequence[_Note]) -> tuple[tuple[Result, ...], bool]:
        problems = tuple(note.problem for note in notes if note.problem)
        if problems:
            return problems, True
        found = tuple(each for note in notes for each in note.found)
        return found or ({"message": "no matches"},), False

    @property
    def _creates(self) -> bool:
        steps = self._path.split(".")
        plain = all(step and "*" not in step and "[" not in step for step in steps)
        return plain and bool(self._new) and not self._value and self._pattern is None

    def _fits(self, item: Item, path: FieldPath, value: Value) -> bool:
        if self._path and not path_fits(self._path, scalars.dotted(path)):
            return False
        if isinstance(value, list):
            by_value = self._value or self._pattern is not None
            return bool(self._path and self._comment and value and not by_value)
        if self._pattern is not None:
            return self._pattern.search(scalars.text(item, path, value)) is not None
        return not self._value or self._value == scalars.text(item, path, value)

    def _treat(self, change: "_Change", path: FieldPath, value: Value) -> None:
        """Put what is to be put at a field that fits, and say so."""
        change.at = path
        if isinstance(value, list):
            change.comment(path, self._comment)
            change.say(self._verb, flow(value), path)
            return
        text = scalars.text(change.item, path, value)
        if self._comment:
            change.comment(path, self._filled(self._comment, text))
        if self._new:
            value = scalars.put(change.item, path, value, self._filled(self._new, text))
            change.value = resource.with_field(change.value, path, value)
        if self._creates and not self._comment:
            change.say(self._verb, self._new)  # as where the path was missing
        else:
            change.say(self._verb, scalars.shown(change.item, path, value), path)

    def _create(self, change: "_Change") -> None:
        """Put the value at a path that is not there; what stands in its way is replaced."""
        path = tuple(self._path.split("."))
        change.at = path
        value = scalars.put(change.item, path, None, self._new)
        try:
            change.value = resource.with_field(change.value, path, value)
        except ShapeError as error:
            problem = f"{field_text(error.path) or 'the resource'} is not a mapping"
            raise _ImpossibleError(f"{self._path} cannot be created: {problem}") from error
        change.drop_comments_below(path)
        if self._comment:
            change.comment(path, self._comment)
        change.say(self._verb, self._new, path)

    @property
    def _verb(self) -> str:
        return "Mutated field value to" if self._new or self._comment else "Matched field value"

    def _filled(self, wanted: str, text: str) -> str:
        """Return what to put, groups of the pattern filled in."""
        if self._pattern is None:
            return wanted
        match = self._pattern.search(text)
        groups = (None, *match.groups("")) if match else (None,)

        def group(found: re.Match[str]) -> str:
            number = int(found[1]) if str(int(found[1])) == found[1] else 0
            value = groups[number] if number < len(groups) else None
            if value is None:
                raise _ImpossibleError("unable to resolve capture groups")
            return str(value)

        return _GROUP.sub(group, wanted)


class _Change:
    """What becomes of one resource.

    Attributes:
        item: As it came.
        value: As it is to be.
        at: The field that is looked at.
        found: The results so far.
    """

    def __init__(self, item: Item) -> None:
        self.item = item
        self.value = item.value
        self.at: FieldPath = ()
        self.found: list[Result] = []
        self._comments: dict[FieldPath, str] | None = None

    def comment(self, path: FieldPath, text: str) -> None:
        """Set a field's comment."""
        if self.item.path.endswith(".json"):
            raise _ImpossibleError(f"{self.item.path} is JSON, which has no comments")
        if self._comments is None:
            self._comments = dict(self.item.comments)
        self._comments[path] = text if text.startswith("#") else f"# {text}"

    def drop_comments_below(self, path: FieldPath) -> None:
        """Forget the comments of what a value replaced."""
        comments = self.item.comments if self._comments is None else self._comments
        kept = {key: text for key, text in comments.items() if key[: len(path)] != path}
        if len(kept) != len(comments):
            self._comments = kept

    def say(self, verb: str, text: str, commented: FieldPath = ()) -> None:
        """Take down that the field at `at` was found or set; with its comment, if asked for."""
        comments = self.item.comments if self._comments is None else self._comments
        if commented in comments:  # of a block, behind its header
            first, end, rest = text.partition("\n")
            text = f"{first} {comments[commented]}{end}{rest}"
        message = f"{verb} {scalars.quoted(text)}"
        self.found.append(scalars.result(self.item, message, self.at))

    def problem(self, text: str) -> Result:
        """Return the result that says what could not be done, and where."""
        return verdict.at(self.item, _failure(text), "error", field_text(self.at))

    def done(self) -> Item:
        """Return the resource as it is now."""
        if self.value is self.item.value and self._comments is None:
            return self.item
        comments = self.item.comments if self._comments is None else self._comments
        return replace(self.item, value=self.value, comments=comments)


def _compiled(pattern: str) -> Any:
    """Return a pattern in RE2's notation, compiled; None where none is given."""
    if not pattern:
        return None
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        reason = reason.decode() if isinstance(reason, bytes) else reason
        raise _ImpossibleError(f"error parsing regexp: {reason}: `{pattern}`") from error
