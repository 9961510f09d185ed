"""Bringing a proposal up to date: what merging its base branch into its head comes to."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cadlib.package.files import Entry

MOST_CONFLICTS = 50
"""Conflicts of one package that are kept; the rest is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateConflict:
    """One place that the proposal and its base branch both changed, each in its own way.

    Attributes:
        path: File in the repository.
        resource: "apps/v1/Deployment/shop/cart"; "" for a whole file.
        field: Such as "spec.replicas"; "" for a whole resource or file.
        base: What it was, in one line, "absent" where there was nothing; values of Secrets hidden.
        ours: What it is in the proposal, likewise.
        theirs: What it is in the base branch, likewise.
        reason: What happened on the two sides.
        line: Where it stands in the file that is merged into, from 1; 0 where that is not known.
        chosen: The side that counts there: "upstream", "local" or "both"; "" where none was chosen.
    """

    path: str
    resource: str = ""
    field: str = ""
    base: str = ""
    ours: str = ""
    theirs: str = ""
    reason: str = ""
    line: int = 0
    chosen: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageMerge:
    """One package that both sides changed, merged.

    Attributes:
        files: Path to what stands there in the merge, None for nothing; in the place of what git
            makes of these files. Nothing counts of them where there are conflicts.
        conflicts: The first of them.
        more: How many more there are.
        problem: Why it cannot be merged; "" when it can.
        private: What somebody asked it to hold is a value of a Secret.
    """

    files: Mapping[str, Entry | None] = field(default_factory=dict)
    conflicts: tuple[UpdateConflict, ...] = ()
    more: int = 0
    problem: str = ""
    private: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseUpdate:
    """What merging the base branch into the head comes to.

    Attributes:
        behind: The base branch has commits that the head lacks.
        files: As in `PackageMerge`, of all packages; paths in the repository.
        conflicts: As there.
        more: As there.
        problem: As there.
    """

    behind: bool = False
    files: Mapping[str, Entry | None] = field(default_factory=dict)
    conflicts: tuple[UpdateConflict, ...] = ()
    more: int = 0
    problem: str = ""

    @property
    def possible(self) -> bool:
        """There is something to merge, and nothing against it."""
        return self.behind and not self.conflicts and not self.problem
