"""What a change would do to packages that it does not touch: tried out ahead, and told."""

from dataclasses import dataclass, field
from enum import StrEnum

from cadlib.diff.values import Change
from cadlib.findings import Finding
from lifecycle.facts.update import UpdateConflict


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageImpact:
    """What a change would do to one package; values of Secrets are hidden throughout.

    Attributes:
        package: Its path; "" for the root package.
        repository: Full name of the repository that it is in; "" for that of the change.
        branch: Another branch of the repository of the change that it is on; "" for the one that
            the change is to be merged into, and in other repositories.
        upstream: What it was made from, such as "net/base/v1", where an upgrade was tried; "" where
            other rules were.
        changes: What would differ, by resource and field: the first of them.
        changed: How many in all.
        findings: What guardrails would find that they do not find now: the first of it.
        found: How many in all.
        gone: How many findings would be there no more.
        conflicts: Where an upgrade would conflict: the first of them.
        conflicting: How many in all.
        fails: It would not render or not pass validation any more.
        mends: It would again.
        merges: What else its merge would wait for, or otherwise; none where an upgrade was tried.
        problem: Why it could not be tried; "" where it was.
    """

    package: str
    repository: str = ""
    branch: str = ""
    upstream: str = ""
    changes: tuple[Change, ...] = ()
    changed: int = 0
    findings: tuple[Finding, ...] = ()
    found: int = 0
    gone: int = 0
    conflicts: tuple[UpdateConflict, ...] = ()
    conflicting: int = 0
    fails: bool = False
    mends: bool = False
    merges: tuple[str, ...] = ()
    problem: str = ""

    @property
    def same(self) -> bool:
        """Nothing would be otherwise."""
        counted = self.changed or self.found or self.gone or self.conflicting
        return not (counted or self.fails or self.mends or self.merges or self.problem)


class VariantOutcome(StrEnum):
    """What would become of a downstream, in the order in which it is told."""

    DELETED = "deleted"
    """A pull request would propose to delete it."""
    DRAFTED = "drafted"
    """A draft of it would be made."""
    ADOPTED = "adopted"
    """It is there already, and would be taken over."""
    NOT_OURS = "not adopted"
    """It is there already, and the rule does not adopt it: nothing would be done."""
    REVISED = "revised"
    """It would be brought to another upstream, or another revision of it."""
    INJECTED = "injected"
    """Something else would be injected."""
    WAITING = "waiting for its upstream"
    """Its rule names a revision that is not there: nothing would be done before it is."""
    CHANGED = "changed"
    """Its rule would ask for something else."""
    LEFT = "no longer followed"
    """Its rule would be gone, and it would stay as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantChange:
    """One downstream that rules for variants would want otherwise.

    Attributes:
        outcome: What would become of it.
        repository: Full name of its repository; once it is told "" for that of the rules.
        package: Its path.
        upstream: What it would be made from, or was, by the rule's name for its repository, such as
            "blueprints/net/core@v3".
        was: What it is made from now, where that would be another one.
        rule: File and line that ask for it, such as "variants/edge.yaml:12".
        variant: Name of the variant that wants it, or did.
        adopts: The rule adopts what is there.
        needs: Path and number of the revision that the rule names, where that would be one of the
            rules' own repository; None where it names none, or one of another.
        outside: What chose it stands in another repository, or hangs on topics of one.
    """

    outcome: VariantOutcome
    repository: str
    package: str
    upstream: str
    was: str = ""
    rule: str = ""
    variant: str = ""
    adopts: bool = False
    needs: tuple[str, int] | None = None
    outside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantsImpact:
    """What a change of the rules for variants would do.

    Attributes:
        changes: The first downstreams of each outcome that may be named.
        counts: How many there are of each outcome.
        hidden: How many of these are not named, since not everybody here can read their repository,
            or what chose them.
        same: How many would be wanted as they are.
        problems: Rules that could not be resolved: while there are any, nothing is removed.
        unread: Resources or topics of other repositories were not read: the rules of the base
            branch do not name them so, or not everybody here can read them.
    """

    changes: tuple[VariantChange, ...] = ()
    counts: tuple[tuple[VariantOutcome, int], ...] = ()
    hidden: tuple[tuple[VariantOutcome, int], ...] = ()
    same: int = 0
    problems: int = 0
    unread: bool = False

    @property
    def nothing(self) -> bool:
        """There is nothing to tell."""
        return not (self.counts or self.problems or self.unread)


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """What a change would do, as far as it was tried.

    Attributes:
        base_ref: The branch that it is to be merged into.
        base: Where that was, in full.
        rules: It changes how packages are judged or merged.
        upstreams: Packages that it changes and that others are made from, sorted.
        total: How many packages are to be tried.
        tried: How many were.
        packages: Those that would not be the same, in the order in which they are told; only the
            first have their changes, findings and conflicts with them.
        detailed: How many have them, by what matters about them (`lifecycle.impact`).
        not_run: Images of guardrails that were not run: the rules that hold do not allow them.
        allows: It would allow functions in packages that were not run either.
        unseen: How many packages more, in repositories that not everybody here can read, or that
            may not have what is in this one.
        more: How many packages more, of which there are too many.
        elsewhere: How many of all these are in other repositories.
        tried_elsewhere: How many of those were tried.
        ended: Nothing is left to try, or no time for it.
        variants: What it would do to what rules for variants want.
    """

    base_ref: str
    base: str
    rules: bool = False
    upstreams: tuple[str, ...] = ()
    total: int = 0
    tried: int = 0
    packages: tuple[PackageImpact, ...] = ()
    detailed: tuple[int, ...] = (0, 0, 0, 0, 0)
    not_run: tuple[str, ...] = ()
    allows: bool = False
    unseen: int = 0
    more: int = 0
    elsewhere: int = 0
    tried_elsewhere: int = 0
    ended: bool = False
    variants: VariantsImpact = field(default_factory=VariantsImpact)

    @property
    def left(self) -> int:
        """How many were not tried."""
        return self.total - self.tried + self.more

    @property
    def left_elsewhere(self) -> int:
        """How many of other repositories were not tried."""
        return self.elsewhere - self.tried_elsewhere

    @property
    def breaks(self) -> bool:
        """A package of this repository would fail, or conflict with its upstream."""
        return any(
            (each.fails or each.conflicting) and not each.repository for each in self.packages
        )

    @property
    def unsure(self) -> bool:
        """Something of this repository was not tried, so that nobody can say that it passes."""
        untried = any(each.problem and not each.repository for each in self.packages)
        left = self.left > self.left_elsewhere
        return untried or left or bool(self.not_run) or self.allows
