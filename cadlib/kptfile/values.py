"""What a Kptfile says, as typed values.

Source: kptdev/kpt, api/kptfile/v1/types.go.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cadlib.errors import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Which resources a function sees; what is "" or empty selects all."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineFunction:
    """One function of a pipeline.

    Attributes:
        image: Image name as written, short or full; "" when `exec` is set.
        name: Name for people; "" if not given.
        config_path: File of its own package that holds its configuration.
        config_map: Its configuration as keys and texts; not with `config_path`.
        config: Its configuration as it is, from outside of the package; in place of both.
        tag: A tag or a range of versions that replaces the image's own tag.
        exec: Command to run instead of an image.
        selectors: Only these resources, if any is given.
        exclude: Not these resources.
        place: Where it is written; `Place()` when it comes from configuration.
    """

    image: str = ""
    name: str = ""
    config_path: str | None = None
    config_map: Mapping[str, str] | None = None
    config: Mapping[str, object] | None = None
    tag: str = ""
    exec: str = ""
    selectors: tuple[Selector, ...] = ()
    exclude: tuple[Selector, ...] = ()
    place: Place = field(default_factory=Place)


@dataclass(frozen=True, slots=True, kw_only=True)
class GitRef:
    """A package in a git repository.

    Attributes:
        repo: Address of the repository.
        directory: Path of the package in it.
        ref: Branch, tag or commit.
        commit: What `ref` was when it was fetched (of an annotated tag, kpt writes the
            id of the tag object); "" in `upstream`.
    """

    repo: str = ""
    directory: str = ""
    ref: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenericRef:
    """A version of a package in a store that is not git.

    Attributes:
        store: What kind of store it is, such as "DB".
        resource: Which package, in the store's own way.
        version: Which version of it, in the store's own way.
    """

    store: str = ""
    resource: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """One entry of `status.conditions`; publishing waits for those that are readiness gates."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kptfile:
    """What a Kptfile says.

    Attributes:
        name: `metadata.name`; "" if not given.
        namespace: `metadata.namespace`; "" if not given.
        labels: `metadata.labels`.
        annotations: `metadata.annotations`.
        upstream: The package this one was cloned from, or None.
        upstream_lock: The version of it that was fetched last, or None.
        generic_lock: The same where it came from another store than git, or None.
        update_strategy: How an update merges, such as "resource-merge"; "" if not given.
        description: `info.description`.
        readiness_gates: Condition types that publishing waits for.
        conditions: `status.conditions`.
        mutators: Functions that may change resources, in order.
        validators: Functions that only judge, in order.
    """

    name: str = ""
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    upstream: GitRef | None = None
    upstream_lock: GitRef | None = None
    generic_lock: GenericRef | None = None
    update_strategy: str = ""
    description: str = ""
    readiness_gates: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    mutators: tuple[PipelineFunction, ...] = ()
    validators: tuple[PipelineFunction, ...] = ()
