"""The catalog's `kubeconform`: holds every resource against Kubernetes' schemas.

Rules:
    - What a List holds is looked at piece by piece.
    - Every problem of every resource is reported, each at its field, and one fails the function.
      Fields that are not known are one problem of what holds them.
    - A kind without a schema (a custom resource) passes, and the log says so, as with the
      catalog's function, whose results leave it out. `ignore_missing_schemas: "false"` makes
      it an error, except for what is never applied to a cluster: kpt's own kinds and local
      configuration.
    - Schemas are those that come with porchbot, and those of the definitions of custom resources
      among the resources; such a definition goes before what Kubernetes ships.
    - A place for other schemas is refused unless it means those that are there, as is any key not
      known: a check that is not made must not look made. The log names rules that are not held.

Configuration (the data of a ConfigMap, or fields of any resource): `strict`,
`ignore_missing_schemas` ("true" or "1" is true), `skip_kinds` (separated by commas, `Kind`
or `group/version/Kind`), `schema_location`, `additional_schema_locations` (separated by commas),
`kubernetes_version` (such as "1.33"; the newest by default).

Source: the catalog's functions/go/kubeconform, and kpt's cases of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import resource, schema, structural, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.answered import AnswerCache, answers
from fnrunner.builtin.schema import SchemaProblem
from fnrunner.builtin.structural import CustomKind, DefinitionError
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

ABOUT: Final = About(
    tags=("v0.1", "v0.1.0", "v0.1.1"),
    summary="Validates every resource against the Kubernetes schemas.",
    doc="""\
Data of a ConfigMap (or fields of any resource), all optional:

- `strict`: "true" refuses fields that the schema does not have.
- `ignore_missing_schemas`: "false" makes a kind without a schema an error.
- `skip_kinds`: kinds that are not validated, separated by commas: `Kind` or `group/version/Kind`.
- `kubernetes_version`: such as "1.33"; by default the newest that comes with porchbot.
- `schema_location`, `additional_schema_locations`: only `default` or `file:///jsonschema`, which
  both mean the schemas that come with porchbot. Others are refused, because nothing is downloaded.

Custom resources are validated against their CustomResourceDefinition if it is among the resources:
to validate a custom kind, keep its definition in the package. Rules in CEL
(`x-kubernetes-validations`) are not evaluated, and the log says so.
""",
    example="""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: function-input
data:
  strict: "true"
""",
)

_PLACES: Final = ("schema_location", "additional_schema_locations")
_KEYS: Final = ("strict", "ignore_missing_schemas", "skip_kinds", *_PLACES, "kubernetes_version")
# What the catalog's image and its program call the schemas that they bring.
_SHIPPED: Final = ("default", "file:///jsonschema", "/jsonschema")
_HEAD: Final = ("apiVersion", "kind", "metadata")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Config:
    strict: bool
    report_missing: bool
    skipped: frozenset[str]
    version: str


class _ConfigError(Exception):
    """The configuration asks for something that is not there."""


def run(resources: ResourceList) -> FunctionResult:
    """Validate every resource; none changes."""
    try:
        config = _read(resources.config)
    except _ConfigError as error:
        return verdict.refused(resources.items, verdict.result(str(error), "error"))
    # Of what is no definition and not wrong: the kinds in it without a schema.
    known: AnswerCache[frozenset[str]] = answers(__name__, repr(config))
    checked = _Checked(config, [i for i in resources.items if known.get(i.value) is None])
    for item in resources.items:
        # Where a kind is defined here, what was found against what ships says nothing.
        fine = None if checked.defines else known.get(item.value)
        if fine is None:
            fine = checked.hold_all(item)
            if fine is not None and not checked.defines:
                known.keep(item.value, fine)
        checked.unchecked |= fine or frozenset()
    if checked.results:
        return verdict.refused(resources.items, *checked.results)
    return FunctionResult(items=resources.items, results=(), log=checked.log())


class _Checked:
    """What was found so far."""

    def __init__(self, config: _Config, items: Sequence[Item]) -> None:
        self.results: list[Result] = []
        self._config = config
        self.unchecked: set[str] = set()
        self._rules: set[str] = set()
        self._shipped = schema.load(config.version, strict=config.strict)
        self._custom: dict[tuple[str, str, str], tuple[CustomKind, Item]] = {}
        self._broken: set[str] = set()
        for item in items:
            if structural.is_definition(item.value) and not _is_skipped(item.value, config):
                self._define(item)

    @property
    def defines(self) -> bool:
        """Whether kinds are defined among the resources."""
        return bool(self._custom)

    def hold_all(self, item: Item) -> frozenset[str] | None:
        """Hold a resource, or all that a List holds.

        Returns:
            What there is no schema for; None where something is wrong.
        """
        before = len(self.results)
        unchecked = {
            self.hold(item, value, path)
            for value, path in _resources(item.value)
            if not _is_skipped(value, self._config)
        }
        return frozenset(unchecked - {""}) if len(self.results) == before else None

    def _define(self, item: Item) -> None:
        """Take the kind that a definition defines."""
        strict, metadata = self._config.strict, self._shipped.metadata()
        found = structural.kinds(item.value, strict=strict, metadata=metadata)
        self._custom |= {name: (kind, item) for name, kind in found.items()}

    def hold(self, item: Item, value: Value, path: resource.Path) -> str:
        """Hold a resource against its schema.

        Args:
            item: The resource, or the List that it stands in.
            value: The resource.
            path: Where it stands in the item.

        Returns:
            Its kind, where that has no schema and need not have one; "" otherwise.
        """
        name = resource.group(value), resource.version(value), resource.kind(value)
        if name in self._custom:
            problems: Sequence[SchemaProblem] | None = self._of_custom(value, *self._custom[name])
        else:
            problems = self._shipped.problems(*name, value)
        if problems is not None:
            self.results += (
                verdict.at(item, problem.message, "error", _place((*path, *problem.path)))
                for problem in problems
            )
        elif self._config.report_missing and not _is_for_tools(value):
            self.results.append(_missing(item, value, path, self._config))
        else:
            return _called(value)
        return ""

    def _of_custom(
        self, value: Value, kind: CustomKind, definition: Item
    ) -> Sequence[SchemaProblem]:
        """Return what is wrong with a custom resource; a broken definition is told once."""
        called = _called(value)
        try:
            problems = kind.problems(value)
        except DefinitionError as error:
            if called not in self._broken:
                problem = f"the schema cannot be used: {error.problem}"
                self.results.append(verdict.at(definition, problem, "error", _place(error.path)))
            self._broken.add(called)
            return ()
        if kind.rules:
            self._rules.add(called)
        return problems

    def log(self) -> str:
        """Return what was not checked."""
        missing = [f"no schema for {name}: not checked\n" for name in sorted(self.unchecked)]
        rules = [f"rules in CEL for {name}: not checked\n" for name in sorted(self._rules)]
        return "".join((*missing, *rules))


def _read(config: Value) -> _Config:
    values = dict(_settings(config))
    for key in _PLACES:
        _check_places(key, values.get(key, ""))
    if unknown := sorted(set(values) - set(_KEYS)):
        raise _ConfigError(
            f"the configuration has a key `{unknown[0]}`; known are {', '.join(_KEYS)}"
        )
    skipped = values.get("skip_kinds", "").split(",")
    ignore = values.get("ignore_missing_schemas", "")
    return _Config(
        strict=_is_true(values.get("strict", "")),
        report_missing=bool(ignore) and not _is_true(ignore),
        skipped=frozenset(kind.strip() for kind in skipped if kind.strip()),
        version=_version(values.get("kubernetes_version", "")),
    )


def _check_places(key: str, text: str) -> None:
    for place in filter(None, (each.strip() for each in text.split(","))):
        if place.rstrip("/") not in _SHIPPED:
            raise _ConfigError(
                f"`{key}` names {place}, but schemas are neither fetched nor read from folders:"
                " leave it out, and put the definitions of custom resources into the package"
            )


def _settings(config: Value) -> Iterator[tuple[str, str]]:
    fields = resource.mapping(config)
    own = {key: value for key, value in fields.items() if key not in (*_HEAD, "data")}
    data = fields.get("data")
    if not isinstance(data, dict | None):
        raise _ConfigError("`data` of the configuration must be a mapping")
    for key, value in {**(data or {}), **own}.items():
        if isinstance(value, dict | list):
            raise _ConfigError(f"`{key}` of the configuration must be a text")
        yield key, value if isinstance(value, str) else str(value).lower()


def _place(path: resource.Path) -> str:
    """Return a field as the catalog tells it: every part behind a dot, elements of lists too."""
    return ".".join(map(str, path)).replace("/", ".")


def _is_true(text: str) -> bool:
    return text.lower() == "true" or text == "1"


def _version(text: str) -> str:
    shipped = schema.versions()
    if not text:
        return shipped[-1]
    minor = ".".join(text.removeprefix("v").split(".")[:2])
    if minor not in shipped:
        raise _ConfigError(
            f"`kubernetes_version` is {text}, but there are schemas only for {shipped[0]} to"
            f" {shipped[-1]}: choose one of these"
        )
    return minor


def _resources(value: Value, path: resource.Path = ()) -> Iterator[tuple[Value, resource.Path]]:
    """Yield a resource, or those that a List holds, each with its place."""
    if resource.kind(value).lower() != "list":
        yield value, path
        return
    for position, each in enumerate(resource.items(resource.field(value, "items"))):
        yield from _resources(each, (*path, "items", position))


def _is_skipped(value: Value, config: _Config) -> bool:
    kind = resource.kind(value)
    return kind in config.skipped or f"{resource.api_version(value)}/{kind}" in config.skipped


def _is_for_tools(value: Value) -> bool:
    return (
        resource.is_local(value)
        or resource.group(value).endswith("kpt.dev")
        or not resource.is_krm(value)
    )


def _missing(item: Item, value: Value, path: resource.Path, config: _Config) -> Result:
    message = (
        f"no schema found for {_called(value)} in Kubernetes {config.version}:"
        " add its kind to `skip_kinds`, or set `ignore_missing_schemas`"
    )
    return verdict.at(item, message, "error", _place(path))


def _called(value: Value) -> str:
    return (
        f"{resource.api_version(value)} {resource.kind(value)}".strip() or "a file without a kind"
    )
