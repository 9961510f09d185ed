"""Objects that variants choose: Porch's repositories, and resources in files of repositories."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from cadlib.yaml import Value
from lifecycle.variants.costs import Input

DEFAULT_NAMESPACE: Final = "default"
"""Where a rule or an object is that names no namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeObject:
    """One object.

    Attributes:
        api_version: Its group and version, such as "apps/v1".
        kind: Its kind.
        name: Its name.
        namespace: Its namespace; "" for the default.
        labels: Its labels.
        annotations: Its annotations.
        value: All of it; empty where nobody asks for more than the above.
        commit: The commit that it was read at, 40 hex digits; "" for none.
        origin: Where it stands, such as "acme/inventory/teams.yaml"; "" for nowhere.
    """

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    value: Mapping[str, Value] = field(default_factory=dict, repr=False)
    commit: str = ""
    origin: str = ""

    @property
    def as_input(self) -> Mapping[str, Input]:
        """What expressions see of it."""
        return {
            "name": self.name,
            "namespace": self.namespace,
            "labels": self.labels,
            "annotations": self.annotations,
        }


def of_value(
    value: Mapping[str, Value], *, namespace: str = "", commit: str = "", origin: str = ""
) -> KubeObject:
    """Return a resource as an object.

    Args:
        value: The resource.
        namespace: Its namespace where it names none itself.
        commit: As for `KubeObject`.
        origin: As for `KubeObject`.
    """
    given = value.get("metadata")
    metadata: Mapping[str, Value] = given if isinstance(given, dict) else {}
    return KubeObject(
        api_version=_text(value.get("apiVersion")),
        kind=_text(value.get("kind")),
        name=_text(metadata.get("name")),
        namespace=_text(metadata.get("namespace")) or namespace,
        labels=_texts(metadata.get("labels")),
        annotations=_texts(metadata.get("annotations")),
        value=value,
        commit=commit,
        origin=origin,
    )


class KubeObjectIndex:
    """Objects, found by namespace, version and kind."""

    def __init__(self, objects: Iterable[KubeObject]) -> None:
        self._found: dict[tuple[str, str, str], list[KubeObject]] = {}
        for each in objects:
            key = (each.namespace or DEFAULT_NAMESPACE, each.api_version, each.kind)
            self._found.setdefault(key, []).append(each)

    def of(self, namespace: str, api_version: str, kind: str) -> tuple[KubeObject, ...]:
        """Return those of one kind, in the order in which they were given."""
        return tuple(self._found.get((namespace or DEFAULT_NAMESPACE, api_version, kind), ()))

    def count(self, namespace: str, api_version: str, kind: str) -> int:
        """Return how many `of` gives."""
        return len(self.of(namespace, api_version, kind))

    def every(self) -> Iterable[KubeObject]:
        """Return all of them."""
        return (each for some in self._found.values() for each in some)

    def without(self, repositories: Collection[str]) -> "KubeObjectIndex":
        """Return those that come from no repository of these names, in small letters."""
        left = tuple(f"{each}/" for each in repositories)
        return KubeObjectIndex(
            each for each in self.every() if not each.origin.lower().startswith(left)
        )

    def values(self, namespace: str) -> list[Mapping[str, Value]]:
        """Return everything in a namespace, in the order in which it was given."""
        wanted = namespace or DEFAULT_NAMESPACE
        return [
            each.value
            for (where, _, _), found in self._found.items()
            if where == wanted
            for each in found
        ]


def group_and_version(api_version: str) -> tuple[str, str]:
    """Return the group ("" for the core's) and the version."""
    group, _, version = api_version.rpartition("/")
    return group, version


def _text(value: Value) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Value) -> Mapping[str, str]:
    found = value if isinstance(value, dict) else {}
    return {key: each for key, each in found.items() if isinstance(each, str)}
