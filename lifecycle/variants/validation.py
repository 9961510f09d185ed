"""What Porch's controllers refuse in a rule, in their words and in their order.

They are asked of the file's own values, so that each problem keeps the field that it is about;
what is missing counts as empty, as in Porch.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from cadlib.yaml import FieldPath, Value, field_text
from lifecycle.messages import porch as texts

Said: TypeAlias = tuple[FieldPath, str]
"""A field, and what is wrong with it."""

ADOPTION: Final = ("adoptNone", "adoptExisting")
DELETION: Final = ("orphan", "delete")
_OWN_KEYS: Final = ("name", "package-path")
_SPEC: Final[FieldPath] = ("spec",)


def package_variant(document: Value) -> Iterator[Said]:
    """Yield what is wrong with a PackageVariant."""
    spec = _map(_map(document).get("spec"))
    yield from upstream(spec.get("upstream"))
    yield from _downstream(spec)
    adoption, deletion = spec.get("adoptionPolicy"), spec.get("deletionPolicy")
    if adoption and adoption not in ADOPTION:
        yield (*_SPEC, "adoptionPolicy"), texts.policy_field("spec.adoptionPolicy", ADOPTION)
    if deletion and deletion not in DELETION:
        yield (*_SPEC, "deletionPolicy"), texts.policy("spec.deletionPolicy", DELETION)
    yield from _context(_map(spec.get("packageContext")))
    for index, injector in enumerate(_list(spec.get("injectors"))):
        if not _map(injector).get("name"):
            at: FieldPath = (*_SPEC, "injectors", index)
            yield at, texts.no_name(field_text(at))


def upstream(value: Value) -> Iterator[Said]:
    """Yield what is wrong with the upstream of a PackageVariant."""
    if value is None:
        yield (*_SPEC, "upstream"), texts.missing("spec.upstream")
        return
    for key in ("repo", "package"):
        if not _map(value).get(key):
            yield (*_SPEC, "upstream", key), texts.missing(f"spec.upstream.{key}")


def _downstream(spec: Mapping[str, Value]) -> Iterator[Said]:
    value = spec.get("downstream")
    if value is None:
        yield (*_SPEC, "downstream"), texts.missing("spec.downstream")
        return
    for key in ("repo", "package"):
        if not _map(value).get(key):
            yield (*_SPEC, "downstream", key), texts.missing(f"spec.downstream.{key}")


def _context(context: Mapping[str, Value]) -> Iterator[Said]:
    data, removed = _map(context.get("data")), _list(context.get("removeKeys"))
    for key in _OWN_KEYS:
        if key in data:
            at: FieldPath = (*_SPEC, "packageContext", "data")
            yield (*at, key), _invalid(at, data, key)
        for index, each in enumerate(removed):
            if each == key:
                at = (*_SPEC, "packageContext", "removeKeys")
                yield (*at, index), _invalid(at, removed, key)


def _invalid(at: FieldPath, value: object, key: str) -> str:
    shown = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    for each in "<>&":
        shown = shown.replace(each, f"\\u{ord(each):04x}")
    return texts.own_key(field_text(at), shown, key)


# --- sets -----------------------------------------------------------------------------------------


def package_variant_set(document: Value) -> Iterator[Said]:
    """Yield what is wrong with a PackageVariantSet."""
    spec = _map(_map(document).get("spec"))
    source = spec.get("upstream")
    if source is None:
        yield (*_SPEC, "upstream"), texts.UPSTREAM_REQUIRED
    else:
        yield from _set_upstream(_map(source))
    targets = _list(spec.get("targets"))
    if not targets:
        yield (*_SPEC, "targets"), texts.NO_TARGETS
    for index, target in enumerate(targets):
        yield from _target(_map(target), (*_SPEC, "targets", index))


def _set_upstream(value: Mapping[str, Value]) -> Iterator[Said]:
    at: FieldPath = (*_SPEC, "upstream")
    for key in ("package", "repo"):
        if not value.get(key):
            yield (*at, key), texts.required(f"spec.upstream.{key}")
    if not value.get("revision") and not value.get("workspaceName"):
        yield (
            at,
            texts.NO_VERSION,
        )


def _target(target: Mapping[str, Value], at: FieldPath) -> Iterator[Said]:
    name = field_text(at)
    kinds = [target.get(key) for key in ("repositories", "repositorySelector", "objectSelector")]
    if kinds[0] is not None:
        yield from _repositories(_list(kinds[0]), (*at, "repositories"))
    if kinds[2] is not None:
        for key in ("apiVersion", "kind"):
            if not _map(kinds[2]).get(key):
                yield (*at, "objectSelector", key), texts.empty(f"{name}.objectselector.{key}")
    if sum(each is not None for each in kinds) != 1:
        yield at, texts.one_kind(name)
    template = target.get("template")
    if template is not None:
        yield from _template(_map(template), (*at, "template"))


def _repositories(repositories: Sequence[Value], at: FieldPath) -> Iterator[Said]:
    if not repositories:
        yield at, texts.empty_list(field_text(at))
    for index, each in enumerate(repositories):
        here: FieldPath = (*at, index)
        if not _map(each).get("name"):
            yield (*here, "name"), texts.empty(f"{field_text(here)}.name")
        for number, package in enumerate(_list(_map(each).get("packageNames"))):
            if not package:
                place: FieldPath = (*here, "packageNames", number)
                yield place, texts.empty(field_text(place))


def _template(template: Mapping[str, Value], at: FieldPath) -> Iterator[Said]:
    name = field_text(at)
    adoption, deletion = template.get("adoptionPolicy"), template.get("deletionPolicy")
    if adoption is not None and adoption not in ADOPTION:
        yield (*at, "adoptionPolicy"), texts.policy(f"{name}.adoptionPolicy", ADOPTION)
    if deletion is not None and deletion not in DELETION:
        yield (*at, "deletionPolicy"), texts.policy(f"{name}.deletionPolicy", DELETION)
    downstream = _map(template.get("downstream"))
    for key in ("repo", "package"):
        if downstream.get(key) is not None and downstream.get(f"{key}Expr") is not None:
            text = texts.only_one(name, f"downstream.{key}", f"downstream.{key}Expr")
            yield (*at, "downstream", f"{key}Expr"), text
    for key in ("labelExprs", "annotationExprs"):
        yield from _map_exprs(_list(template.get(key)), (*at, key))
    context = _map(template.get("packageContext"))
    yield from _map_exprs(_list(context.get("dataExprs")), (*at, "packageContext", "dataExprs"))
    for index, each in enumerate(_list(template.get("injectors"))):
        yield from _injector(_map(each), (*at, "injectors", index))
    pipeline = _map(template.get("pipeline"))
    for step in ("validators", "mutators"):
        for index, each in enumerate(_list(pipeline.get(step))):
            yield from function(_map(each), (*at, "pipeline", step, index))


def _map_exprs(entries: Sequence[Value], at: FieldPath) -> Iterator[Said]:
    for index, each in enumerate(entries):
        here: FieldPath = (*at, index)
        for key in ("key", "value"):
            if _map(each).get(key) is not None and _map(each).get(f"{key}Expr") is not None:
                text = texts.only_one(field_text(here), key, f"{key}Expr")
                yield (*here, f"{key}Expr"), text


def _injector(injector: Mapping[str, Value], at: FieldPath) -> Iterator[Said]:
    given = [injector.get(key) is not None for key in ("name", "nameExpr")]
    if all(given):
        yield (*at, "nameExpr"), texts.only_one(field_text(at), "name", "nameExpr")
    if not any(given):
        yield at, texts.either(field_text(at), "name", "nameExpr")


def function(value: Mapping[str, Value], at: FieldPath) -> Iterator[Said]:
    """Yield what is wrong with a function of a pipeline."""
    if not value.get("image"):
        yield at, texts.no_image(field_text(at))
    if "." in str(value.get("name") or ""):
        yield (*at, "name"), texts.dotted(field_text(at))


def _map(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}


def _list(value: Value) -> Sequence[Value]:
    return value if isinstance(value, list) else []
