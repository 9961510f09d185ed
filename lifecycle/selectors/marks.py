"""What packages are chosen by, and where each of it stands (ADR 60).

| Key | What | Where it stands |
| --- | --- | --- |
| `<label>`, `label:<label>` | a label | `metadata.labels` of the Kptfile |
| the same, where that has none | of all packages | `metadata` of `.porchbot.yaml` |
| `annotation:<key>` | an annotation | `metadata.annotations` of the Kptfile |
| `context:<key>` | a key of the package context | `data` in `package-context.yaml` |
| `purpose` | what it is for | `deployment: true`, else the label `porchbot.dev/purpose` |
| `path` | its folder; `*` is a part, `**/` folders | its place in the repository |
| `repository` | where it is | the forge |
| `upstream` | what it was made from | the lock of the Kptfile, else its `upstream` |
| `revision` | its newest revision, such as `v3` | tags, and the ledger |
| `held` | the revision that it is held at | the ledger |

What is told by the base branch counts, and nothing that a pull request says of itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from lifecycle import globs
from lifecycle.selectors.labels import Requirement

PURPOSE = "porchbot.dev/purpose"
"""The label of a Kptfile that says what a package is for."""

BLUEPRINT, DEPLOYMENT = "blueprint", "deployment"
"""What packages are for where nothing says it, by whether they are deployed from there."""

LABEL, ANNOTATION, CONTEXT = "label:", "annotation:", "context:"
"""What keys begin with that are no field."""

PREFIXES = (LABEL, ANNOTATION, CONTEXT)


class MarkField(StrEnum):
    """A key that means something of its own; a label called like it is written with `label:`."""

    PURPOSE = "purpose"
    PATH = "path"
    REPOSITORY = "repository"
    UPSTREAM = "upstream"
    REVISION = "revision"
    HELD = "held"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageMarks:
    """One package, as selectors see it.

    Attributes:
        repository: Where it is, such as "acme/blueprints".
        path: Its folder; "" for the top of the repository.
        labels: Of its Kptfile.
        annotations: Of its Kptfile.
        context: Of its package context.
        attributes: Labels of all packages of the repository, which its own overrule.
        deployed: Packages of the repository are deployed from there.
        upstream: What it was made from, host, repository and path, such as
            "github.com/acme/blueprints/net/base"; "" for nothing.
        upstream_ref: Which state of that: "v3" for a revision, else the ref.
        revision: Number of its newest revision; 0 for none.
        held: Number of the revision that it is held at; 0 where it is not.
    """

    repository: str
    path: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    context: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    deployed: bool = False
    upstream: str = ""
    upstream_ref: str = ""
    revision: int = 0
    held: int = 0

    @property
    def purpose(self) -> str:
        """What it is for.

        A clone inherits the label of its upstream: where packages are deployed from, that counts
        for nothing.
        """
        return DEPLOYMENT if self.deployed else self.labels.get(PURPOSE) or BLUEPRINT

    @property
    def all_labels(self) -> Mapping[str, str]:
        """Its labels, with those of all packages of the repository."""
        return {**self.attributes, **self.labels}

    def satisfies(self, requirement: Requirement) -> bool:
        """Tell whether it is as a requirement of a selector asks."""
        key = requirement.key
        if key in set(MarkField):
            return self._satisfies(MarkField(key), requirement)
        for prefix, values in (
            (ANNOTATION, self.annotations),
            (CONTEXT, self.context),
        ):
            if key.startswith(prefix):
                return requirement.holds_of(values.get(key.removeprefix(prefix)))
        return requirement.holds_of(self.all_labels.get(key.removeprefix(LABEL)))

    def _satisfies(self, which: MarkField, requirement: Requirement) -> bool:
        match which:
            case MarkField.PATH:
                return requirement.holds_of(self.path or ".", _path_is)
            case MarkField.UPSTREAM:
                made = f"{self.upstream}@{self.upstream_ref}" if self.upstream else None
                return requirement.holds_of(made, _upstream_is)
            case MarkField.REPOSITORY:
                return requirement.holds_of(self.repository, _ends_alike)
            case MarkField.PURPOSE:
                return requirement.holds_of(self.purpose)
            case MarkField.REVISION:
                return requirement.holds_of(f"v{self.revision}" if self.revision else None)
            case MarkField.HELD:
                return requirement.holds_of(f"v{self.held}" if self.held else None)


@dataclass(frozen=True, slots=True)
class PackageSelector:
    """Chooses packages; one that asks for nothing chooses every package.

    Attributes:
        requirements: All of them have to hold.
    """

    requirements: tuple[Requirement, ...] = ()

    def matches(self, package: PackageMarks) -> bool:
        """Tell whether a package is chosen."""
        return all(map(package.satisfies, self.requirements))


@lru_cache(maxsize=256)
def _parts(pattern: str) -> tuple[globs.Part, ...]:
    return globs.parts(pattern)


def _path_is(found: str, wanted: str) -> bool:
    pattern: Sequence[globs.Part] = _parts(wanted.strip("/").removeprefix("./") or ".")
    return globs.matches(pattern, found.split("/"))


def _upstream_is(found: str, wanted: str) -> bool:
    """By its last folders, and by the revision where one is written."""
    place, at, ref = wanted.partition("@")
    there, _, state = found.partition("@")
    if at and state.lower() != ref.lower():
        return False
    return _ends_alike(there, place.replace("//", "/"))


def _ends_alike(found: str, wanted: str) -> bool:
    """Whether one path ends with the folders of another."""
    return f"/{found.lower()}".endswith(f"/{wanted.strip('/').lower()}")
