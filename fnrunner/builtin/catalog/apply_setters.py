"""The catalog's `apply-setters`: puts values into the fields whose comments name setters.

Rules:
- A field is looked at only if its comment names a setter that is given. Setters of that comment
  that are not given keep the value that the field shows; where it shows none, they must be given.
- A list is set as a whole, by one setter whose value is a list in YAML.
- Values are put all at once: one that holds `${}` itself is put as it is. The catalog's function
  looks for names in what it has put, in no fixed order.

Source: the catalog's functions/go/apply-setters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import FieldPath, Value, digits, field_text
from fnrunner.builtin import alone, resource, scalars, secrecy, setters, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.alone import ConfigRefusedError, PerResourceFunction
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

ABOUT: Final = About(
    tags=("v0.2", "v0.2.0", "v0.2.1", "v0.2.2", "v0.2.3", "v0.2.4"),
    summary="Sets the fields whose comments name setters.",
    doc="""\
A ConfigMap whose data are the values of the setters, by name. A field names its setters in a
comment on its line:

    image: nginx:1.16.1 # kpt-set: nginx:${tag}

For a list, the comment is after its key, or after its closing bracket; the value of its setter
is a YAML list, such as `[dev, stage]`, or empty. A field without quotes may become a number or a
boolean; a field in quotes stays a string.

Results list each field that was set; values that look like secrets are left out.
""",
    example="""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: function-input
data:
  replicas: "3"
  tag: 1.16.2
""",
    written=True,
    alone=True,
)


_FAILED: Final = "failed to apply setters: "


@dataclass(frozen=True, slots=True)
class _Note:
    """What was done at one resource, and what could not be."""

    done: tuple[Result, ...] = ()
    problems: tuple[Result, ...] = ()


_NOTHING: Final = _Note()


class _UnsetError(Exception):
    """A field cannot be set; the text says why, in the catalog's words."""


def run(resources: ResourceList) -> FunctionResult:
    """Apply the setters that the configuration gives."""
    return verdict.logged(alone.run(begin, resources), _FAILED)


def begin(config: Value) -> PerResourceFunction[_Note]:
    """Read the configuration."""
    given = scalars.of_config(resource.field(config, "data"))
    if given is None:
        problem = "`data` must be a mapping from the names of setters to texts; write lists as text"
        raise ConfigRefusedError(verdict.result(_FAILED + problem, "error"))
    return _ApplySetters(given)


class _ApplySetters:
    """The values given, by name."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = dict(given)

    def each(self, item: Item) -> tuple[Item, _Note]:
        wanted = self._wanted(item.comments)
        if not wanted:
            return item, _NOTHING
        value, comments = item.value, dict(item.comments)
        done, problems = [], []
        lists: list[FieldPath] = []
        for path, old in scalars.fields(item.value):
            # What stood in a list that was set is gone, and the comments there with it.
            if path not in wanted or any(_within(each, path) for each in lists):
                continue
            try:
                new, told = self._new(item, path, old, wanted[path])
            except _UnsetError as error:
                message = f"{_FAILED}{error}"
                problems.append(verdict.at(item, message, "error", field_text(path)))
                continue
            value = resource.with_field(value, path, new)
            if isinstance(new, list):
                lists.append(path)
                comments = {key: each for key, each in comments.items() if not _within(path, key)}
            done.append(_told(item, path, old, told, setters.names(wanted[path])))
        if not done:
            return item, _Note(problems=tuple(problems))
        note = _Note(tuple(done), tuple(problems))
        if len(comments) == len(item.comments):
            return replace(item, value=value), note
        return replace(item, value=value, comments=comments), note

    def total(self, notes: Sequence[_Note]) -> tuple[tuple[Result, ...], bool]:
        problems = tuple(problem for note in notes for problem in note.problems)
        if problems:
            return problems, True
        done = tuple(each for note in notes for each in note.done)
        return done or ({"message": "no matches for input setter(s)"},), False

    def _wanted(self, comments: Mapping[FieldPath, str]) -> dict[FieldPath, str]:
        """Return the patterns that name a setter that is given, by field."""
        if not self._given or not comments:
            return {}
        found = ((path, setters.pattern(comment)) for path, comment in comments.items())
        return {
            path: pattern
            for path, pattern in found
            if pattern and not self._given.keys().isdisjoint(setters.names(pattern))
        }

    def _new(self, item: Item, path: FieldPath, old: Value, pattern: str) -> tuple[Value, str]:
        """Return what a field becomes, and the text that says so."""
        if isinstance(old, list):
            name = setters.names(pattern)[0]
            if pattern != f"${{{name}}}":
                problem = f"invalid setter pattern for array node: {scalars.quoted(pattern)}"
                raise _UnsetError(problem)
            return _list(self._given[name]), self._given[name]
        values = self._given
        names = setters.names(pattern)
        if not all(name in values for name in names):
            values = setters.derived(pattern, scalars.text(item, path, old)) | values
        missing = [name for name in names if name not in values]
        if missing:
            listed = " ".join(f"${{{name}}}" for name in missing)
            raise _UnsetError(f"values for setters [{listed}] must be provided")
        new = setters.filled(pattern, values)
        return scalars.put(item, path, old, new), new


def _list(text: str) -> Value:
    if not text:
        return []
    found = setters.parsed(text)
    if found is None or not isinstance(found.value, list):
        problem = "input to array setter must be an array of values, but found"
        raise _UnsetError(f"{problem} {scalars.quoted(text)}")
    return digits.written(found.value, found)


def _within(outer: FieldPath, path: FieldPath) -> bool:
    return len(path) > len(outer) and path[: len(outer)] == outer


def _told(item: Item, path: FieldPath, old: Value, new: str, names: Sequence[str]) -> Result:
    proposed = secrecy.redacted(new, whole=item.value, path=path, setters=names)
    message = f"set field value to {scalars.quoted(proposed)}"
    field: dict[str, object] = {"path": field_text(path), "proposedValue": proposed}
    if not isinstance(old, list):
        text = scalars.text(item, path, old)
        field["currentValue"] = secrecy.redacted(text, whole=item.value, path=path, setters=names)
    return {**verdict.at(item, message, "info", ""), "field": field}
