"""Makes rules of documents in which nothing is wrong: `values` out of what a file says."""

from collections.abc import Mapping, Sequence
from typing import Final

from cadlib.errors import Place
from cadlib.kptfile.schema import FUNCTION
from cadlib.yaml import Value
from lifecycle.selectors.labels import LabelSelector, Requirement
from lifecycle.variants.values import (
    FOLLOW,
    PROPOSE,
    REPOSITORY,
    Downstream,
    FunctionTemplate,
    Injector,
    InjectorTemplate,
    MapExpr,
    ObjectSelector,
    Propose,
    RepositoryTarget,
    Target,
    Template,
    Variant,
    VariantSet,
    VariantSpec,
    VariantUpstream,
)

_FIRST: Final = ("name", "image", "exec", "configPath", "configMap")
"""The order in which Porch writes the fields of a function."""


def variant(document: Mapping[str, Value], origin: Place) -> Variant:
    """Return a PackageVariant."""
    metadata = _map(document.get("metadata"))
    follow, propose = _ours(metadata)
    return Variant(
        name=_text(metadata.get("name")),
        namespace=_text(metadata.get("namespace")),
        spec=spec(_map(document.get("spec"))),
        follow=follow,
        propose=propose,
        origin=origin,
    )


def spec(value: Mapping[str, Value]) -> VariantSpec:
    """Return the `spec` of a PackageVariant."""
    downstream, context = _map(value.get("downstream")), _map(value.get("packageContext"))
    pipeline = _map(value.get("pipeline"))
    return VariantSpec(
        upstream=upstream(_map(value.get("upstream"))),
        downstream=Downstream(_text(downstream.get("repo")), _text(downstream.get("package"))),
        adoption_policy=_text(value.get("adoptionPolicy")),
        deletion_policy=_text(value.get("deletionPolicy")),
        labels=_texts(value.get("labels")),
        annotations=_texts(value.get("annotations")),
        context=_texts(context.get("data")),
        context_removed=_strings(context.get("removeKeys")),
        mutators=tuple(_function(each) for each in _list(pipeline.get("mutators"))),
        validators=tuple(_function(each) for each in _list(pipeline.get("validators"))),
        injectors=tuple(_injector(_map(each)) for each in _list(value.get("injectors"))),
    )


def upstream(value: Mapping[str, Value]) -> VariantUpstream:
    """Return an `upstream`."""
    revision = value.get("revision")
    return VariantUpstream(
        repo=_text(value.get("repo")),
        package=_text(value.get("package")),
        revision=revision if isinstance(revision, int) else 0,
        workspace=_text(value.get("workspaceName")),
    )


def variant_set(document: Mapping[str, Value], origin: Place) -> VariantSet:
    """Return a PackageVariantSet."""
    metadata, value = _map(document.get("metadata")), _map(document.get("spec"))
    follow, propose = _ours(metadata)
    return VariantSet(
        name=_text(metadata.get("name")),
        namespace=_text(metadata.get("namespace")),
        upstream=upstream(_map(value.get("upstream"))),
        targets=tuple(_target(_map(each)) for each in _list(value.get("targets"))),
        follow=follow,
        propose=propose,
        origin=origin,
    )


def _ours(metadata: Mapping[str, Value]) -> tuple[bool, Propose]:
    annotations = _texts(metadata.get("annotations"))
    propose = Propose(annotations.get(PROPOSE, Propose.MANUAL))
    return annotations.get(FOLLOW) == "latest", propose


def _target(value: Mapping[str, Value]) -> Target:
    given = _map(value.get("template"))
    return Target(
        repositories=tuple(
            RepositoryTarget(
                _text(_map(each).get("name")), _strings(_map(each).get("packageNames"))
            )
            for each in _list(value.get("repositories"))
        ),
        selected=_selected(value),
        template=template(given) if isinstance(value.get("template"), dict) else None,
    )


def _selected(value: Mapping[str, Value]) -> ObjectSelector | None:
    if isinstance(value.get("repositorySelector"), dict):
        return ObjectSelector(*REPOSITORY, _selector(_map(value["repositorySelector"])))
    if not isinstance(value.get("objectSelector"), dict):
        return None
    chosen = _map(value["objectSelector"])
    return ObjectSelector(
        _text(chosen.get("apiVersion")),
        _text(chosen.get("kind")),
        _selector(chosen),
        _text(chosen.get("name")),
    )


def _selector(value: Mapping[str, Value]) -> LabelSelector:
    return LabelSelector(
        _texts(value.get("matchLabels")),
        tuple(
            Requirement(
                _text(_map(each).get("key")),
                _text(_map(each).get("operator")),
                _strings(_map(each).get("values")),
            )
            for each in _list(value.get("matchExpressions"))
        ),
    )


def template(value: Mapping[str, Value]) -> Template:
    """Return the `template` of a target."""
    downstream, context = _map(value.get("downstream")), _map(value.get("packageContext"))
    pipeline = _map(value.get("pipeline"))
    return Template(
        repo=_text(downstream.get("repo")),
        repo_expr=_text(downstream.get("repoExpr")),
        package=_text(downstream.get("package")),
        package_expr=_text(downstream.get("packageExpr")),
        adoption_policy=_text(value.get("adoptionPolicy")),
        deletion_policy=_text(value.get("deletionPolicy")),
        labels=_texts(value.get("labels")),
        label_exprs=map_exprs(value.get("labelExprs")),
        annotations=_texts(value.get("annotations")),
        annotation_exprs=map_exprs(value.get("annotationExprs")),
        context=_texts(context.get("data")),
        context_exprs=map_exprs(context.get("dataExprs")),
        context_removed=_strings(context.get("removeKeys")),
        context_removed_exprs=_strings(context.get("removeKeyExprs")),
        mutators=tuple(_function_template(each) for each in _list(pipeline.get("mutators"))),
        validators=tuple(_function_template(each) for each in _list(pipeline.get("validators"))),
        injectors=tuple(
            InjectorTemplate(_injector(_map(each)), _text(_map(each).get("nameExpr")))
            for each in _list(value.get("injectors"))
        ),
    )


def map_exprs(value: Value) -> tuple[MapExpr, ...]:
    """Return a list of entries of a mapping."""
    return tuple(
        MapExpr(
            *(_optional(_map(each).get(key)) for key in ("key", "keyExpr", "value", "valueExpr"))
        )
        for each in _list(value)
    )


def _function_template(value: Value) -> FunctionTemplate:
    return FunctionTemplate(_function(value), map_exprs(_map(value).get("configMapExprs")))


def _function(value: Value) -> Mapping[str, Value]:
    """Return a function with its fields in Porch's order, without what is empty."""
    given = _map(value)
    order = (*_FIRST, *(key for key in FUNCTION.fields if key not in _FIRST))
    return {key: given[key] for key in order if given.get(key) not in (None, "", {}, [])}


def _injector(value: Mapping[str, Value]) -> Injector:
    group, version, kind = (_optional(value.get(key)) for key in ("group", "version", "kind"))
    return Injector(_text(value.get("name")), group, version, kind)


def _optional(value: Value) -> str | None:
    return value if isinstance(value, str) else None


def _text(value: Value) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Value) -> Mapping[str, str]:
    return {key: each for key, each in _map(value).items() if isinstance(each, str)}


def _strings(value: Value) -> tuple[str, ...]:
    return tuple(each for each in _list(value) if isinstance(each, str))


def _map(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}


def _list(value: Value) -> Sequence[Value]:
    return value if isinstance(value, list) else []
