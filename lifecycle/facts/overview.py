"""What the dashboard of a repository tells: its packages, and what is proposed for them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from lifecycle.events import Frozen
from lifecycle.facts.boxes import NOTHING_TICKED, BoxWaves


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPackage:
    """One package on a branch that is published from.

    Attributes:
        package: Its path; "" for a package at the root.
        branch: The branch that it is published from; "" for the default branch.
        revision: The newest revision in use; 0 when there is none.
        deprecated: Revisions that are deprecated, to their reasons.
        withdrawn: How many revisions were withdrawn.
        gone: Their numbers.
        held: The revision that it is held at after a rollback, and why; None where it is not.
        back: The revision that a rollback would go to, and why; None where nothing speaks for one.
    """

    package: str
    branch: str = ""
    revision: int = 0
    deprecated: Mapping[int, str] = field(default_factory=dict)
    withdrawn: int = 0
    gone: frozenset[int] = frozenset()
    held: tuple[int, str] | None = None
    back: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedBehind:
    """A package whose upstream has newer revisions.

    Attributes:
        package: Its path.
        branch: The branch that it is published from; "" for the default branch.
        upstream: What it was made from, such as "acme/blueprints//net/core".
        revision: Number of the revision that it was made from.
        newer: Numbers of those since, rising; at least one.
        conflicts: How many an upgrade to the newest would have; None where nobody has tried.
        conflict: Where the first of them is, such as "net/core/a.yaml: spec.size".
    """

    package: str
    branch: str = ""
    upstream: str
    revision: int
    newer: tuple[int, ...]
    conflicts: int | None = None
    conflict: str = ""


@dataclass(frozen=True, slots=True)
class ListedUpstream:
    """A package that can be cloned.

    Attributes:
        reference: As `/clone` takes it, such as "acme/blueprints//net/core@v3".
    """

    reference: str


class ListedStage(StrEnum):
    """Where a proposal stands, as far as the dashboard tells them apart."""

    MERGED = "merged"
    PROPOSED = "proposed"
    DRAFT = "draft"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedWait:
    """One thing that a proposal waits for.

    Attributes:
        gate: The gate's name.
        actual: What is so, in Markdown.
        since: When it was first waited for.
    """

    gate: str
    actual: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedChange:
    """One proposal or draft.

    Attributes:
        number: Of the pull request; 0 for a branch without one.
        title: As written; the branch's name where there is no pull request.
        stage: Where it stands.
        packages: What it changes, as far as that is known, sorted.
        waits: What it waits for, oldest first.
        variant: The bot made it for a variant.
        head: The commit that it has now; "" where that is not known.
    """

    number: int
    title: str
    stage: ListedStage
    packages: tuple[str, ...] = ()
    waits: tuple[ListedWait, ...] = ()
    variant: bool = False
    head: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedVariant:
    """A variant that waits, or what is wrong with rules for variants.

    Attributes:
        package: The package that it is for; "" where it is about the rules.
        variant: Its name; of the repository that it is about, where it is about one.
        file: Where the rule stands; "" where that is no matter.
        state: How it stands.
        why: The reason.
        since: Since when.
    """

    package: str
    variant: str
    file: str
    state: str
    why: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """A repository at one moment.

    Attributes:
        packages: Every package.
        changes: Every proposal and draft that is open, and every one that was merged and waits.
        deletions: Revisions whose deletion was proposed with Porch, spelled like their tags.
        frozen: What is frozen.
        behind: Packages whose upstream has newer revisions.
        cloneable: Packages of the default upstream, by name.
        waiting: Variants that wait, those about rules first.
        boxes: How far the boxes are that were ticked.
    """

    packages: tuple[ListedPackage, ...]
    changes: tuple[ListedChange, ...]
    deletions: tuple[str, ...] = ()
    frozen: tuple[Frozen, ...] = ()
    behind: tuple[ListedBehind, ...] = ()
    cloneable: tuple[ListedUpstream, ...] = ()
    waiting: tuple[ListedVariant, ...] = ()
    boxes: BoxWaves = NOTHING_TICKED

    @property
    def empty(self) -> bool:
        """There is nothing to tell."""
        return not (self.packages or self.changes or self.waiting)
