"""Reads files of PackageVariants and PackageVariantSets, and tells everything wrong with them.

Rules
- A file holds any number of both, and nothing else. Each document counts by itself; what a broken
  one asked for is not known, so nothing may be taken for removed while there is one.
- First what Porch's API refuses, then what its controllers refuse, in their words; then what Porch
  would only find out later: expressions, and what can never work.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from cadlib.errors import PackageError, Place
from cadlib.kptfile.schema import Struct
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.yaml import Document, FieldPath, Value, field_text
from cadlib.yaml import read as read_yaml
from lifecycle.messages import variants as messages
from lifecycle.selectors.labels import OPERATORS
from lifecycle.variants import building, expressions, naming, shapes, validation
from lifecycle.variants.expressions import ExpressionError
from lifecycle.variants.problems import MOST, Problem
from lifecycle.variants.values import (
    FOLLOW,
    PROPOSE,
    VARIANT,
    VARIANT_SET,
    Propose,
    Variant,
    VariantSet,
)

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_OURS: Final = "porchbot.dev/"


@dataclass(frozen=True, slots=True)
class VariantFile:
    """What a file asks for.

    Attributes:
        variants: Its PackageVariants that can be used.
        sets: Its PackageVariantSets that can be used.
        problems: What is wrong with the others, in the order of the file; at most `MOST`.
    """

    variants: tuple[Variant, ...] = ()
    sets: tuple[VariantSet, ...] = ()
    problems: tuple[Problem, ...] = ()


def read(data: bytes, path: str, *, limits: PackageLimits = DEFAULT) -> VariantFile:
    """Read a file.

    Args:
        data: Its text, UTF-8.
        path: Its path, for messages.
        limits: On its size and nesting.
    """
    try:
        documents = read_yaml(data, path=path, limits=limits).documents
    except PackageError as error:
        place = error.place
        broken = Problem(path, place.line or 0, 0, place.field, error.problem, error.fix)
        return VariantFile(problems=(broken,))
    variants: list[Variant] = []
    sets: list[VariantSet] = []
    problems: list[Problem] = []
    more = 0
    for document in documents:
        if document.empty:
            continue
        found = _document(document, path)
        match found:
            case Variant():
                variants.append(found)
            case VariantSet():
                sets.append(found)
            case told, rest:
                problems += told
                more += rest
    return VariantFile(tuple(variants), tuple(sets), _bounded(problems, more, path))


def _bounded(problems: Sequence[Problem], more: int, path: str) -> tuple[Problem, ...]:
    problems = sorted(problems, key=lambda each: (each.line, each.column))
    more += max(0, len(problems) - MOST)
    if not more:
        return tuple(problems)
    return (*problems[:MOST], Problem(path, 0, 0, "", *messages.more_problems(more)))


_Told = tuple[list[Problem], int]
"""Problems of a document, and how many more it has: each takes time to find its place."""


def _document(document: Document, path: str) -> Variant | VariantSet | _Told:
    reader = _Reader(document, path)
    value = document.value
    if document.template or not isinstance(value, dict):
        return [reader.problem((), *messages.NO_MAPPING)], 0
    kind, version = value.get("kind"), value.get("apiVersion")
    made: Variant | VariantSet
    if kind == "PackageVariant":
        told = reader.told(value, shapes.VARIANT, VARIANT, _variant_said)
        if told[0]:
            return told
        made = building.variant(value, reader.place(("spec", "downstream")))
    elif kind == "PackageVariantSet":
        told = reader.told(value, shapes.VARIANT_SET, VARIANT_SET, _set_said)
        if told[0]:
            return told
        made = building.variant_set(value, reader.place(("spec", "upstream")))
        lines = reader.lines_of_expressions(value)
        first = (
            replace(
                each,
                line=reader.place(("spec", "targets", index)).line or 0,
                lines=lines.get(index, {}),
            )
            for index, each in enumerate(made.targets[:MOST])
        )  # each takes time to find
        made = replace(made, targets=(*first, *made.targets[MOST:]))
    else:
        at = ("kind",) if kind is not None else ()
        return [reader.problem(at, *messages.other_kind(f"{version}", f"{kind}"))], 0
    return made


class _Reader:
    """Tells where in its file each field of a document stands."""

    def __init__(self, document: Document, path: str) -> None:
        self._document = document
        self._path = path

    def place(self, at: FieldPath) -> Place:
        """Where a field stands; where the document begins, if it has none of these."""
        line, _ = self._document.mark(at) or (self._document.start_line, 0)
        return Place(self._path, line)

    def problem(self, at: FieldPath, text: str, fix: str = "") -> Problem:
        line, column = self._document.mark(at) or (0, 0)
        return Problem(self._path, line, column, field_text(at), text, fix)

    def told(
        self,
        value: Mapping[str, Value],
        shape: Struct,
        version: str,
        said: Callable[[Mapping[str, Value]], Iterator[validation.Said]],
    ) -> _Told:
        """Return what is wrong with a document: what is not of the right types, or the rest."""
        if value.get("apiVersion") != version:
            return [self.problem(("apiVersion",), *messages.other_version(version))], 0
        unfit = list(shapes.misfits(dict(value), shape))
        if unfit:
            told = [self.problem(each.at, each.problem, each.fix) for each in unfit[:MOST]]
            return told, len(unfit) - len(told)
        found = [(at, text, "") for at, text in said(value)] or list(_later(value))
        told = [self.problem(*each) for each in found[:MOST]]
        more = len(found) - len(told)
        for at, text in () if more else _expressions(dict(value)):
            for problem in self._expression(text, at):
                if len(told) < MOST:
                    told.append(problem)
                else:
                    more += 1
        return told, more

    def lines_of_expressions(self, value: Mapping[str, Value]) -> dict[int, dict[str, int]]:
        """Where the first expressions of a set stand: by target, by field of the target."""
        targets = _list(_map(value.get("spec")).get("targets"))
        found: dict[int, dict[str, int]] = {}
        inside = ((index, at) for index, each in enumerate(targets) for at, _ in _expressions(each))
        for index, at in islice(inside, MOST):  # each takes time to find
            line = self.place(("spec", "targets", index, *at)).line or 0
            found.setdefault(index, {})[field_text(at)] = line
        return found

    def _expression(self, text: str, at: FieldPath) -> Iterator[Problem]:
        if not text:
            return
        try:
            expressions.check(text)
        except ExpressionError as error:
            found = self.problem(at, f"{field_text(at)}: {error.text}")
            line, column = self._inside(text, at, error) or (found.line, found.column)
            yield Problem(found.path, line, column, found.field, found.text, found.fix)

    def _inside(self, text: str, at: FieldPath, error: ExpressionError) -> tuple[int, int] | None:
        """Return where in the file an error stands, if the expression is written on one line."""
        scalar = self._document.scalar(at)
        if scalar is None or not error.line or scalar.style in ("|", ">") or "\n" in scalar.raw:
            return None
        source = self._document.source
        start = source.text.find(text, scalar.start, scalar.end)
        if start < 0:
            return None
        return source.line(start), start - source.line_start(start) + error.column


def _expressions(value: Value, at: FieldPath = ()) -> Iterator[tuple[FieldPath, str]]:
    """Yield the expressions below a value, and where they are."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _expressions(each, (*at, index))
        return
    for key, inner in value.items() if isinstance(value, dict) else ():
        here = (*at, key)
        if key.endswith("Expr") and isinstance(inner, str):
            yield here, inner
        elif key == "removeKeyExprs" and isinstance(inner, list):
            yield from (((*here, index), f"{each}") for index, each in enumerate(inner))
        else:
            yield from _expressions(inner, here)


def _variant_said(value: Mapping[str, Value]) -> Iterator[validation.Said]:
    yield from validation.package_variant(dict(value))
    spec = _map(value.get("spec"))
    for step in ("mutators", "validators"):
        for index, each in enumerate(_list(_map(spec.get("pipeline")).get(step))):
            yield from validation.function(_map(each), ("spec", "pipeline", step, index))


def _set_said(value: Mapping[str, Value]) -> Iterator[validation.Said]:
    yield from validation.package_variant_set(dict(value))


# --- what Porch finds out later -------------------------------------------------------------------

_Later = tuple[FieldPath, str, str]


def _later(value: Mapping[str, Value]) -> Iterator[_Later]:
    """Yield what can never work, though nothing in Porch's validation says so."""
    metadata, spec = _map(value.get("metadata")), _map(value.get("spec"))
    name = metadata.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        yield ("metadata", "name"), *messages.bad_name(name if isinstance(name, str) else "")
    yield from _annotations(_map(metadata.get("annotations")))
    upstream, downstream = _map(spec.get("upstream")), _map(spec.get("downstream"))
    revision = upstream.get("revision")
    if isinstance(revision, int) and revision < -1:
        yield ("spec", "upstream", "revision"), *messages.bad_revision(revision)
    for where, each in (("upstream", upstream), ("downstream", downstream)):
        yield from _package(each.get("package"), ("spec", where, "package"))
    pair = [(each.get("repo"), each.get("package")) for each in (upstream, downstream)]
    if downstream and pair[0] == pair[1]:
        yield ("spec", "downstream"), *messages.names_itself(f"{pair[0][0]}", f"{pair[0][1]}")
    for index, target in enumerate(_list(spec.get("targets"))):
        yield from _target(_map(target), ("spec", "targets", index))


def _annotations(annotations: Mapping[str, Value]) -> Iterator[_Later]:
    known = {FOLLOW: ("latest",), PROPOSE: tuple(each.value for each in Propose)}
    for key, text in annotations.items():
        at: FieldPath = ("metadata", "annotations", key)
        if key in known and text not in known[key]:
            yield at, *messages.bad_annotation(key, f"{text}", known[key])
        elif key.startswith(_OURS) and key not in known:
            yield at, *messages.unknown_annotation(key, tuple(known))


def _package(path: Value, at: FieldPath) -> Iterator[_Later]:
    problem = naming.package_problem(path) if isinstance(path, str) and path else ""
    if problem:
        yield at, *messages.bad_package(f"{path}", problem)


def _target(target: Mapping[str, Value], at: FieldPath) -> Iterator[_Later]:
    for key in ("repositorySelector", "objectSelector"):
        entries = _list(_map(target.get(key)).get("matchExpressions"))
        for index, each in enumerate(entries):
            yield from _requirement(_map(each), (*at, key, "matchExpressions", index))
    for index, repository in enumerate(_list(target.get("repositories"))):
        here: FieldPath = (*at, "repositories", index, "packageNames")
        for number, package in enumerate(_list(_map(repository).get("packageNames"))):
            yield from _package(package, (*here, number))
    template = _map(target.get("template"))
    yield from _package(
        _map(template.get("downstream")).get("package"), (*at, "template", "downstream", "package")
    )


def _requirement(value: Mapping[str, Value], at: FieldPath) -> Iterator[_Later]:
    operator, values = value.get("operator"), _list(value.get("values"))
    if not value.get("key"):
        yield (*at, "key"), *messages.NO_KEY
    if operator not in OPERATORS:
        yield (*at, "operator"), *messages.bad_operator(f"{operator or ''}", OPERATORS)
    elif operator in OPERATORS[:2] and not values:
        yield (*at, "values"), *messages.NO_VALUES
    elif operator in OPERATORS[2:] and values:
        yield (*at, "values"), *messages.VALUES


def _map(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}


def _list(value: Value) -> Sequence[Value]:
    return value if isinstance(value, list) else []
