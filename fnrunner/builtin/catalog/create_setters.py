"""The catalog's `create-setters`: puts comments that name setters where their values stand.

Rules:
- A scalar that holds values of setters gets the comment that its text makes with the names in
  their place: the longest value first, all in one pass. Text of several lines is left alone.
- A list whose elements are those of a setter, in any order, gets its comment behind the key.
- Values come from a ConfigMap: a list in YAML is the setter of a list, a mapping none at all.

Source: the catalog's functions/go/create-setters.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import FieldPath, Value
from cadlib.yaml.tree import Scalar, Seq
from fnrunner.builtin import alone, resource, scalars, setters, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.alone import ConfigRefusedError, PerResourceFunction
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

ABOUT: Final = About(
    tags=("v0.1", "v0.1.0", "v0.1.1", "v0.1.2"),
    summary="Adds setter comments to the fields that have the setters' values.",
    doc="""\
A ConfigMap whose data are the values of the setters, by name; write a list as YAML text.
With `tag: 1.16.1`, a field becomes

    image: nginx:1.16.1 # kpt-set: nginx:${tag}

An existing comment is replaced. Use selectors to exclude Kptfiles and the file that holds the
values themselves. The function fails if none of the values is found.
""",
    example="""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: function-input
data:
  environments: "[dev, stage]"
  tag: 1.16.1
""",
    written=True,
    alone=True,
)

# What these annotations say is for tools; the catalog's function leaves them out, too.
_TOOLS: Final = (".annotations.internal.config.kubernetes.io", ".annotations.config.kubernetes.io")

_FAILED: Final = "failed to create setters: "
_Note = tuple[Result, ...]


def run(resources: ResourceList) -> FunctionResult:
    """Create the setters that the configuration gives."""
    return verdict.logged(alone.run(begin, resources), _FAILED)


def begin(config: Value) -> PerResourceFunction[_Note]:
    """Read the configuration."""
    given = scalars.of_config(resource.field(config, "data"))
    if given is None:
        raise _refused("`data` must be a mapping from the names of setters to texts")
    if not given:
        raise _refused("config map cannot be empty")
    texts: dict[str, str] = {}
    lists: dict[str, list[str]] = {}
    for name, text in sorted(given.items()):
        found = setters.parsed(text)
        if found is None:
            raise _refused(
                f"parsing error: the value of {scalars.quoted(name)} is empty or no YAML"
            )
        match found.root:
            case Seq(items=items):
                lists[name] = sorted(n.raw if isinstance(n, Scalar) else "" for n in items)
            case Scalar():
                texts[name] = text
    return _CreateSetters(texts, lists)


def _refused(problem: str) -> ConfigRefusedError:
    return ConfigRefusedError(verdict.result(_FAILED + problem, "error"))


@dataclass(frozen=True, slots=True)
class Replacer:
    """Texts to look for, each with what takes its place.

    Attributes:
        names: The name of the setter, by its value.
        pattern: Finds the values, the longest first; None where there are none.
    """

    names: Mapping[str, str]
    pattern: re.Pattern[str] | None

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> "Replacer":
        """Return one for setters, values by name; of two with one value, the first by name."""
        names: dict[str, str] = {}
        for name, value in sorted(texts.items()):
            names.setdefault(value, name)
        longest = sorted(names, key=lambda value: (-len(value), value))
        pattern = re.compile("|".join(map(re.escape, longest))) if longest else None
        return cls(names, pattern)

    def comment(self, text: str) -> str:
        """Return the pattern of a text's comment; "" where it holds no value of a setter."""
        if self.pattern is None:
            return ""
        new, count = self.pattern.subn(lambda found: f"${{{self.names[found[0]]}}}", text)
        return new if count else ""


class _CreateSetters:
    """The setters given: of text, and of lists with their elements sorted."""

    def __init__(self, texts: Mapping[str, str], lists: Mapping[str, list[str]]) -> None:
        self._replacer = Replacer.of(texts)
        self._lists = lists

    def each(self, item: Item) -> tuple[Item, _Note]:
        if item.path.endswith(".json"):  # which has no comments
            return item, ()
        comments: dict[FieldPath, str] = {}
        said: list[Result] = []
        for path, value in scalars.fields(item.value):
            if not path:
                continue
            found = self._pattern(item, path, value)
            if found:
                comments[path] = setters.PREFIX + found
                said.append(_said(item, path, value, found))
        if not comments:
            return item, ()
        return replace(item, comments={**item.comments, **comments}), tuple(said)

    def total(self, notes: Sequence[_Note]) -> tuple[tuple[Result, ...], bool]:
        said = tuple(each for note in notes for each in note)
        if said:
            return said, False
        problem = "no matches for the input list of setters"
        return _refused(problem).results, True

    def _pattern(self, item: Item, path: FieldPath, value: Value) -> str:
        if isinstance(value, list):
            texts = sorted(scalars.text(item, (*path, i), each) for i, each in enumerate(value))
            equal = (name for name, wanted in self._lists.items() if wanted == texts)
            return next((f"${{{name}}}" for name in equal), "")
        if any(each in f".{scalars.dotted(path)}" for each in _TOOLS):
            return ""
        text = scalars.text(item, path, value)
        return "" if "\n" in text else self._replacer.comment(text)


def _said(item: Item, path: FieldPath, value: Value, pattern: str) -> Result:
    comment = scalars.quoted(f"kpt-set: {pattern}")
    if isinstance(value, list):
        texts = sorted(scalars.text(item, (*path, i), each) for i, each in enumerate(value))
        text = f"[{' '.join(texts)}]"
    else:
        text = scalars.text(item, path, value)
    message = f"Added line comment {comment} for field with value {scalars.quoted(text)}"
    return scalars.result(item, message, path)
