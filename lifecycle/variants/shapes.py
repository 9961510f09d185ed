"""The fields of PackageVariant and PackageVariantSet files, held as strictly as a cluster does.

Rules
- A field that Porch does not know is an error, and so is a value of another type; null is nothing.
- The words are those of the API server, so that they can be looked up.
"""

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from cadlib.kptfile.schema import FUNCTION, ListOf, ScalarType, Shape, Struct
from cadlib.yaml import FieldPath, Value, field_text
from lifecycle.messages import porch as texts


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A field that is not known, or holds something else.

    Attributes:
        at: The field.
        problem: What is wrong.
        near: Fields that could be meant, where it is not known.
        told: What to do; "" where `near` says it.
    """

    at: FieldPath
    problem: str
    near: Collection[str] = ()
    told: str = ""

    @property
    def fix(self) -> str:
        """What to do; looking for a near field takes a millisecond."""
        close = difflib.get_close_matches(str(self.at[-1]), self.near, n=1) if self.near else []
        if close:
            return texts.meant(close[0])
        return self.told or texts.LEAVE_OUT


_META_KEPT: Final = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
)
_META: Final = Struct(
    "ObjectMeta",
    {
        "name": ScalarType.TEXT,
        "namespace": ScalarType.TEXT,
        "labels": ScalarType.TEXTS,
        "annotations": ScalarType.TEXTS,
        **dict.fromkeys(_META_KEPT, ScalarType.ANYTHING),
    },
)
_UPSTREAM: Final = Struct(
    "Upstream",
    {
        "repo": ScalarType.TEXT,
        "package": ScalarType.TEXT,
        "revision": ScalarType.NUMBER,
        "workspaceName": ScalarType.TEXT,
    },
)
_INJECTOR: Final[Mapping[str, Shape]] = dict.fromkeys(
    ("group", "version", "kind", "name"), ScalarType.TEXT
)
_POLICIES: Final[Mapping[str, Shape]] = {
    "adoptionPolicy": ScalarType.TEXT,
    "deletionPolicy": ScalarType.TEXT,
    "labels": ScalarType.TEXTS,
    "annotations": ScalarType.TEXTS,
}
_CONTEXT: Final[Mapping[str, Shape]] = {
    "data": ScalarType.TEXTS,
    "removeKeys": ListOf(ScalarType.TEXT),
}
_DOWNSTREAM: Final[Mapping[str, Shape]] = {"repo": ScalarType.TEXT, "package": ScalarType.TEXT}


def _document(spec: Mapping[str, Shape]) -> Struct:
    return Struct(
        "",
        {
            "apiVersion": ScalarType.TEXT,
            "kind": ScalarType.TEXT,
            "metadata": _META,
            "spec": Struct("Spec", spec),
            "status": ScalarType.ANYTHING,
        },
    )


VARIANT: Final = _document(
    {
        "upstream": _UPSTREAM,
        "downstream": Struct("Downstream", _DOWNSTREAM),
        **_POLICIES,
        "packageContext": Struct("PackageContext", _CONTEXT),
        "pipeline": Struct(
            "Pipeline", {"mutators": ListOf(FUNCTION), "validators": ListOf(FUNCTION)}
        ),
        "injectors": ListOf(Struct("InjectionSelector", _INJECTOR)),
    }
)
"""A whole PackageVariant."""

_MAP_EXPRS: Final = ListOf(
    Struct("MapExpr", dict.fromkeys(("key", "keyExpr", "value", "valueExpr"), ScalarType.TEXT))
)
_FUNCTIONS: Final = ListOf(
    Struct("FunctionTemplate", {**FUNCTION.fields, "configMapExprs": _MAP_EXPRS})
)
_SELECTOR: Final[Mapping[str, Shape]] = {
    "matchLabels": ScalarType.TEXTS,
    "matchExpressions": ListOf(
        Struct(
            "LabelSelectorRequirement",
            {
                "key": ScalarType.TEXT,
                "operator": ScalarType.TEXT,
                "values": ListOf(ScalarType.TEXT),
            },
        )
    ),
}
_TEMPLATE: Final = Struct(
    "PackageVariantTemplate",
    {
        "downstream": Struct(
            "DownstreamTemplate",
            {**_DOWNSTREAM, "repoExpr": ScalarType.TEXT, "packageExpr": ScalarType.TEXT},
        ),
        **_POLICIES,
        "labelExprs": _MAP_EXPRS,
        "annotationExprs": _MAP_EXPRS,
        "packageContext": Struct(
            "PackageContextTemplate",
            {**_CONTEXT, "dataExprs": _MAP_EXPRS, "removeKeyExprs": ListOf(ScalarType.TEXT)},
        ),
        "pipeline": Struct("PipelineTemplate", {"mutators": _FUNCTIONS, "validators": _FUNCTIONS}),
        "injectors": ListOf(
            Struct("InjectionSelectorTemplate", {**_INJECTOR, "nameExpr": ScalarType.TEXT})
        ),
    },
)
_TARGET: Final = Struct(
    "Target",
    {
        "repositories": ListOf(
            Struct(
                "RepositoryTarget",
                {"name": ScalarType.TEXT, "packageNames": ListOf(ScalarType.TEXT)},
            )
        ),
        "repositorySelector": Struct("LabelSelector", _SELECTOR),
        "objectSelector": Struct(
            "ObjectSelector",
            {
                **_SELECTOR,
                "apiVersion": ScalarType.TEXT,
                "kind": ScalarType.TEXT,
                "name": ScalarType.TEXT,
            },
        ),
        "template": _TEMPLATE,
    },
)
VARIANT_SET: Final = _document({"upstream": _UPSTREAM, "targets": ListOf(_TARGET)})
"""A whole PackageVariantSet."""


def misfits(value: Value, shape: Shape, at: FieldPath = ()) -> Iterator[FieldProblem]:
    """Yield what does not fit below a value, in the order of the file."""
    if value is None or shape is ScalarType.ANYTHING:
        return
    match shape, value:
        case Struct(), dict():
            for key, inner in value.items():
                known = shape.fields.get(key)
                if known is None:
                    yield _unknown((*at, key), shape)
                else:
                    yield from misfits(inner, known, (*at, key))
        case ListOf(), list():
            for index, inner in enumerate(value):
                yield from misfits(inner, shape.item, (*at, index))
        case ScalarType.TEXTS, dict():
            for key, inner in value.items():
                yield from misfits(inner, ScalarType.TEXT, (*at, key))
        case (ScalarType.TEXT, str()) | (ScalarType.NUMBER, int()) if not isinstance(value, bool):
            return
        case _:
            yield _mistyped(value, shape, at)


def _unknown(at: FieldPath, shape: Struct) -> FieldProblem:
    return FieldProblem(at, texts.unknown_field(field_text(at)), tuple(shape.fields))


def _mistyped(value: Value, shape: Shape, at: FieldPath) -> FieldProblem:
    field = field_text(at)
    found = next(name for type_, name in _TYPES if isinstance(value, type_))
    wanted, fix = _WANTED[type(shape) if not isinstance(shape, ScalarType) else shape]
    if shape is ScalarType.NUMBER and isinstance(value, str) and value.lstrip("v").isdecimal():
        fix = texts.number_alone(int(value.lstrip("v")))
    return FieldProblem(at, texts.mistyped(field, found, wanted), told=fix)


_TYPES: Final = (
    (dict, "object"),
    (list, "array"),
    (bool, "boolean"),  # before int, which it is one of
    (int, "integer"),
    (float, "number"),
    (str, "string"),
)
_WANTED: Final[Mapping[object, tuple[str, str]]] = {
    Struct: ("object", texts.WRITE_MAPPING),
    ListOf: ("array", texts.WRITE_LIST),
    ScalarType.TEXT: ("string", texts.WRITE_TEXT),
    ScalarType.TEXTS: ("object", texts.WRITE_TEXTS),
    ScalarType.NUMBER: ("integer", texts.WRITE_NUMBER),
}
