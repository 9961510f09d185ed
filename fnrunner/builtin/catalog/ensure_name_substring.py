"""The catalog's `ensure-name-substring`: gives names a prefix or a suffix they do not have yet.

Rules:
    - A name that holds the text, be it in the middle, stays.
    - Definitions of custom resources, API services, Namespaces and Kptfiles keep their names:
      others outside the package know them by those. So does the package's context, which is known
      by its name.
    - References follow the resources that were renamed, and no others (name_references).
    - Resources stay in their files.

Source: the catalog's functions/go/ensure-name-substring.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal, cast

from cadlib.stream.resourcelist import ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import field_spec, name_references, resource
from fnrunner.builtin.about import About
from fnrunner.builtin.field_spec import FieldSpec, FieldSpecError
from fnrunner.builtin.resource import ShapeError
from fnrunner.builtin.verdict import FunctionResult

ABOUT: Final = About(
    tags=("v0.1", "v0.1.0", "v0.1.1", "v0.2", "v0.2.0", "v0.2.1", "~0.1 || ~0.2"),
    summary="Adds a prefix or suffix to every resource name that lacks it.",
    doc="""\
- A ConfigMap with either `prepend` or `append`; or
- `EnsureNameSubstring` (`fn.kpt.dev/v1alpha1`) with `substring`, `editMode` (`prepend`, the
  default, or `append`), and `additionalNameFields`: a list of `path` (such as `spec/name`),
  `group`, `version`, `kind`, and `create`.

Names that already contain the text stay, and so do the names of Namespaces, custom resource
definitions, API services, Kptfiles and the package context. References in Kubernetes' built-in
kinds are updated, and so is the annotation `config.kubernetes.io/depends-on`.
""",
    example="""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: prefix
data:
  prepend: prod-
""",
)

_KEPT: Final = (
    FieldSpec((), kind="CustomResourceDefinition"),
    FieldSpec((), group="apiregistration.k8s.io", kind="APIService"),
    FieldSpec((), kind="Namespace"),
    FieldSpec((), group="kpt.dev", kind="Kptfile"),
)
_CONTEXT: Final = "kptfile.kpt.dev"  # the ConfigMap that kpt keeps the package's name in
_NAME: Final = ("metadata", "name")
_KIND: Final = "EnsureNameSubstring"
_API_VERSION: Final = "fn.kpt.dev/v1alpha1"

_Mode = Literal["prepend", "append"]
_MODES: Final = ("prepend", "append")


class _RefusedError(Exception):
    """The configuration cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class _Field:
    spec: FieldSpec
    create: bool


@dataclass(frozen=True, slots=True)
class _Config:
    text: str
    mode: _Mode
    fields: tuple[_Field, ...] = ()

    def edited(self, name: str) -> str:
        if self.text in name:
            return name
        return self.text + name if self.mode == "prepend" else name + self.text


def run(resources: ResourceList) -> FunctionResult:
    """Rename the resources."""
    items = resources.items
    try:
        config = _read(resources.config)
        values = [_with_fields(item.value, config) for item in items]
    except (_RefusedError, FieldSpecError) as error:
        return _failed(resources, f"failed to load the `functionConfig`: {error}")
    except ShapeError as error:
        field = ".".join(map(str, error.path))
        problem = f"failed to transform name substring: {field} must be a mapping or a list"
        return _failed(resources, problem)
    olds = [resource.name(item.value) for item in items]
    news = [
        config.edited(old) if _may_change(item.value) else old
        for old, item in zip(olds, items, strict=True)
    ]
    names = {i: new for i, new in enumerate(news) if new != olds[i]}
    values = name_references.renamed(values, names)
    return FunctionResult(
        items=tuple(
            item if item.value is value else replace(item, value=value)
            for item, value in zip(items, values, strict=True)
        ),
        results=(),
    )


def _failed(resources: ResourceList, problem: str) -> FunctionResult:
    # Without a result: the catalog's function says it in its log only.
    return FunctionResult(items=resources.items, results=(), failed=True, log=problem)


def _may_change(value: Value) -> bool:
    named = resource.name(value)
    context = named == _CONTEXT and resource.kind(value) == "ConfigMap"
    return bool(named) and not context and not any(spec.means(value) for spec in _KEPT)


def _with_fields(value: Value, config: _Config) -> Value:
    """Return a resource with its additional fields edited."""
    if not _may_change(value):
        return value
    for field in config.fields:
        if field.spec.path != _NAME and field.spec.means(value):
            found = _Edited(config)
            value = field_spec.change(value, field.spec.path, found.new)
            if field.create and not found.any:
                value = resource.with_field(value, field.spec.path, config.text)
    return value


class _Edited:
    """Edits the texts that are found, and remembers whether there was one."""

    def __init__(self, config: _Config) -> None:
        self._config = config
        self.any = False

    def new(self, value: Value) -> Value:
        self.any = True
        return self._config.edited(value) if isinstance(value, str) else value


def _read(config: Value) -> _Config:
    kind, api_version = resource.kind(config), resource.api_version(config)
    if (kind, api_version) == ("ConfigMap", "v1"):
        found = _from_config_map(resource.mapping(resource.field(config, "data")))
    elif (kind, api_version) == (_KIND, _API_VERSION):
        found = _from_own_kind(resource.mapping(config))
    else:
        given = f"{resource.group(config)}/{resource.version(config)}, Kind={kind}"
        raise _RefusedError(
            "function config must be either /v1, Kind=ConfigMap or"
            f" {_API_VERSION}, Kind={_KIND}, but we got: {given}"
        )
    if not found.text:
        raise _RefusedError("substring must not be empty")
    return found


def _from_config_map(data: dict[str, Value]) -> _Config:
    if len(data) != 1:
        raise _RefusedError(f"only 1 entry is allowed in the ConfigMap, but got: {len(data)}")
    ((mode, text),) = data.items()
    return _Config(_text(text, f"data.{mode}"), _mode(mode))


def _from_own_kind(config: dict[str, Value]) -> _Config:
    added, older = config.get("additionalNameFields"), config.get("fieldSpecs")
    if added is not None and older is not None:
        raise _RefusedError(
            "`fieldSpecs` has been deprecated, please rename it to `additionalNameFields`"
        )
    key, specs = ("fieldSpecs", older) if added is None else ("additionalNameFields", added)
    if not isinstance(specs, list | None):
        raise _RefusedError(f"`{key}` must be a list")
    return _Config(
        text=_text(config.get("substring"), "substring"),
        mode=_mode(_text(config.get("editMode"), "editMode") or "prepend"),
        fields=tuple(_field(each, f"{key}[{i}]") for i, each in enumerate(specs or ())),
    )


def _field(value: Value, at: str) -> _Field:
    return _Field(field_spec.read(value, at), create=resource.field(value, "create") is True)


def _mode(mode: str) -> _Mode:
    if mode not in _MODES:
        raise _RefusedError(f"unknown editMode: {mode}, only prepend and append are allowed")
    return cast("_Mode", mode)


def _text(value: Value, at: str) -> str:
    if not isinstance(value, str | None):
        raise _RefusedError(f"`{at}` must be a text; put it in quotes")
    return value or ""
