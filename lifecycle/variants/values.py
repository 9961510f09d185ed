"""Rules for variants as values: what the files say, once nothing is wrong with them."""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from cadlib.errors import Place
from cadlib.yaml import Value
from lifecycle.selectors.labels import LabelSelector

GROUP: Final = "config.porch.kpt.dev"
"""The group of Porch's configuration."""

VARIANT, VARIANT_SET = f"{GROUP}/v1alpha1", f"{GROUP}/v1alpha2"
"""The versions of PackageVariant and of PackageVariantSet."""

REPOSITORY: Final = (f"{GROUP}/v1alpha1", "Repository")
"""The version and the kind of Porch's repositories."""

FOLLOW: Final = "porchbot.dev/follow"
"""The annotation that lets a variant follow new revisions; "latest" is its only value."""

PROPOSE: Final = "porchbot.dev/propose"
"""The annotation that says who proposes what a variant made; one of `Propose`."""


class Propose(StrEnum):
    """Who says that what a variant made is ready."""

    MANUAL = "manual"
    """A person."""
    ASAP = "asap"
    """The bot, once nothing is in its way."""


@dataclass(frozen=True, slots=True)
class VariantUpstream:
    """Where the package comes from.

    Attributes:
        repo: Name of the repository, as the table `repositories:` has it.
        package: Path of the package in it.
        revision: Its number; -1 for what is newest; 0 where none is named.
        workspace: Name of the draft that the revision was made in; "" where none is named.
    """

    repo: str
    package: str
    revision: int = 0
    workspace: str = ""


@dataclass(frozen=True, slots=True, order=True)
class Downstream:
    """The package that is kept in step: name of its repository, and its path there."""

    repo: str
    package: str

    def __str__(self) -> str:
        return f"{self.package} in {self.repo}"


@dataclass(frozen=True, slots=True)
class Injector:
    """Chooses an object for points of injection; None where any will do."""

    name: str
    group: str | None = None
    version: str | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantSpec:
    """What a PackageVariant asks for.

    Attributes:
        upstream: Where the package comes from.
        downstream: The package that is kept in step.
        adoption_policy: "adoptNone" or "adoptExisting"; "" for the default.
        deletion_policy: "delete" or "orphan"; "" for the default.
        labels: Of the package.
        annotations: Of the package.
        context: Keys of the package context.
        context_removed: Keys that go from the package context.
        mutators: Functions as a Kptfile has them, to go in front of the package's own.
        validators: The same.
        injectors: In the order in which they are tried.
    """

    upstream: VariantUpstream
    downstream: Downstream
    adoption_policy: str = ""
    deletion_policy: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    context: Mapping[str, str] = field(default_factory=dict)
    context_removed: tuple[str, ...] = ()
    mutators: tuple[Mapping[str, Value], ...] = ()
    validators: tuple[Mapping[str, Value], ...] = ()
    injectors: tuple[Injector, ...] = ()

    @property
    def adopts(self) -> bool:
        """A package that is there already is taken over."""
        return self.adoption_policy == "adoptExisting"

    @property
    def deletes(self) -> bool:
        """The package goes with the rule."""
        return self.deletion_policy != "orphan"

    def as_value(self) -> dict[str, Value]:
        """Return it as a file has it, without what is empty."""
        context: dict[str, Value] = {
            "data": dict(self.context),
            "removeKeys": list(self.context_removed),
        }
        pipeline: dict[str, Value] = {
            "validators": [dict(each) for each in self.validators],
            "mutators": [dict(each) for each in self.mutators],
        }
        upstream: dict[str, Value] = {
            "repo": self.upstream.repo,
            "package": self.upstream.package,
            "revision": self.upstream.revision,
            "workspaceName": self.upstream.workspace,
        }
        return _filled(
            {
                "upstream": _filled(upstream),
                "downstream": {"repo": self.downstream.repo, "package": self.downstream.package},
                "adoptionPolicy": self.adoption_policy,
                "deletionPolicy": self.deletion_policy,
                "labels": dict(self.labels),
                "annotations": dict(self.annotations),
                "packageContext": _filled(context),
                "pipeline": _filled(pipeline),
                "injectors": [_injector_value(each) for each in self.injectors],
            }
        )


def _injector_value(injector: Injector) -> Value:
    return {
        key: each
        for key, each in (
            ("group", injector.group),
            ("version", injector.version),
            ("kind", injector.kind),
            ("name", injector.name),
        )
        if each is not None
    }


def _filled(value: Mapping[str, Value]) -> dict[str, Value]:
    return {key: each for key, each in value.items() if each not in ("", 0, [], {}, None)}


_NOWHERE: Final = Place()


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One downstream package and the rule for it.

    Attributes:
        name: Its name, as it stands in functions and in what people see.
        namespace: Where its objects are looked for; "" for the default.
        spec: What it asks for.
        follow: New revisions of the upstream are followed.
        propose: Who proposes what it made.
        origin: The file that says so, and the line that asks for the package; no part of what is
            asked for.
        set: Name of the PackageVariantSet that it comes from; "" for one of its own.
        outside: An object of another repository than the rule's chose it, or topics of one may have
            a part in it.
        chosen_by: Where the object stands that chose it, as `KubeObject.origin`; "" for none.
    """

    name: str
    namespace: str = ""
    spec: VariantSpec
    follow: bool = False
    propose: Propose = Propose.MANUAL
    origin: Place = field(default=_NOWHERE, compare=False)
    set: str = ""
    outside: bool = False
    chosen_by: str = field(default="", compare=False)

    def is_chosen_from(self, repositories: Collection[str]) -> bool:
        """Tell whether an object of a repository of these names, in small letters, chose it."""
        return self.chosen_by.lower().startswith(tuple(f"{each}/" for each in repositories))

    @property
    def digest(self) -> str:
        """What the rule is, in 16 hex digits: the same as long as it asks for the same."""
        asked = {"name": self.name, "spec": self.spec.as_value(), "follow": self.follow}
        text = json.dumps(asked, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _size(value: object) -> int:
    """Entries and texts of a value, with one more for each 100 characters."""
    if isinstance(value, str):
        return 1 + len(value) // 100
    if isinstance(value, Mapping):
        return 1 + sum(_size(key) + _size(each) for key, each in value.items())
    return 1 + sum(map(_size, value)) if isinstance(value, list | tuple) else 1


# --- sets -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MapExpr:
    """One entry of a mapping: key and value as they are, or as expressions give them.

    Attributes:
        key: The key; None where an expression gives it.
        key_expr: That expression, or None.
        value: The value; None where an expression gives it.
        value_expr: That expression, or None.
    """

    key: str | None = None
    key_expr: str | None = None
    value: str | None = None
    value_expr: str | None = None


@dataclass(frozen=True, slots=True)
class InjectorTemplate:
    """An injector whose name may come from an expression; `injector.name` is "" then."""

    injector: Injector
    name_expr: str = ""


@dataclass(frozen=True, slots=True)
class FunctionTemplate:
    """A function as a Kptfile has it, and entries that go into its `configMap`."""

    function: Mapping[str, Value]
    config_exprs: tuple[MapExpr, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """What the variants of a target have that their set does not give; attributes as there."""

    repo: str = ""
    repo_expr: str = ""
    package: str = ""
    package_expr: str = ""
    adoption_policy: str = ""
    deletion_policy: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    label_exprs: tuple[MapExpr, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    annotation_exprs: tuple[MapExpr, ...] = ()
    context: Mapping[str, str] = field(default_factory=dict)
    context_exprs: tuple[MapExpr, ...] = ()
    context_removed: tuple[str, ...] = ()
    context_removed_exprs: tuple[str, ...] = ()
    mutators: tuple[FunctionTemplate, ...] = ()
    validators: tuple[FunctionTemplate, ...] = ()
    injectors: tuple[InjectorTemplate, ...] = ()

    @property
    def size(self) -> int:
        """What it takes for each downstream: its entries, and one for each 100 characters."""
        written = (self.labels, self.annotations, self.context, self.context_removed)
        functions = (*self.mutators, *self.validators)
        names = tuple(each.injector.name for each in self.injectors)
        whole = sum(map(_size, (*written, names, *(each.function for each in functions))))
        return whole + len(self.expressions)

    @property
    def expressions(self) -> tuple[str, ...]:
        """All its expressions."""
        entries = (*self.label_exprs, *self.annotation_exprs, *self.context_exprs)
        functions = (*self.mutators, *self.validators)
        entries = (*entries, *(entry for each in functions for entry in each.config_exprs))
        found = (
            self.repo_expr,
            self.package_expr,
            *self.context_removed_exprs,
            *(each.name_expr for each in self.injectors),
            *(text for each in entries for text in (each.key_expr, each.value_expr)),
        )
        return tuple(text for text in found if text)


@dataclass(frozen=True, slots=True)
class RepositoryTarget:
    """A repository by its name, and packages in it; none for the name of the upstream's."""

    name: str
    packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectSelector:
    """Chooses objects by version, kind and labels, and by name where `name` is not ""."""

    api_version: str
    kind: str
    selector: LabelSelector
    name: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a set makes packages: repositories by name, or one for each object selected.

    Attributes:
        repositories: The repositories; none where objects are selected.
        selected: Chooses the objects; None where repositories are named.
        template: What is said about each of them; None for nothing.
        line: Where it stands in the file of the set; 0 where nobody looked.
        lines: Where expressions of its template stand, by field, such as
            "template.downstream.packageExpr"; those of the first.
    """

    repositories: tuple[RepositoryTarget, ...] = ()
    selected: ObjectSelector | None = None
    template: Template | None = None
    line: int = field(default=0, compare=False)
    lines: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantSet:
    """Many variants of one upstream; attributes as for `Variant`, `origin` is where that stands."""

    name: str
    namespace: str = ""
    upstream: VariantUpstream
    targets: tuple[Target, ...]
    follow: bool = False
    propose: Propose = Propose.MANUAL
    origin: Place = _NOWHERE
