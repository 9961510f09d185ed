"""What is known of one downstream when it is decided about: the rule, the upstream, the package."""

from dataclasses import dataclass, field
from enum import StrEnum

from lifecycle.variants.upstreams import UpstreamRevision
from lifecycle.variants.values import Variant


class RevisionStage(StrEnum):
    """How far a revision of a downstream is."""

    DRAFT = "draft"
    """A branch, with an open pull request that is not ready or with none."""
    PROPOSED = "proposed"
    """Its pull request is open and ready."""
    CLOSED = "closed"
    """Its pull request was closed, and not merged."""
    PUBLISHED = "published"
    DELETION_PROPOSED = "deletion proposed"


REMOVED = "removed"
"""What stands for the digest of a rule in drafts that remove a package."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the bot made a draft of. Drafts of one recipe are alike.

    Attributes:
        upstream: Commit of the upstream's revision.
        rule: `digest` of the rule; `REMOVED` where the package is removed.
        base: Commit of the package's revision that it was based on; "" for a new package.
        sources: What was injected, as a digest; "" for nothing.
        number: Of the upstream's revision; 0 where a version before did not say. Two tags can name
            one commit.
    """

    upstream: str
    rule: str
    base: str = ""
    sources: str = ""
    number: int = field(default=0, compare=False)

    @property
    def removes(self) -> bool:
        """It removes the package."""
        return self.rule == REMOVED

    def is_of(self, other: "Recipe") -> bool:
        """Tell whether drafts of the two are alike, down to the number that their locks name."""
        numbers = {self.number, other.number} - {0}
        return self == other and len(numbers) < 2

    def asks_the_same(self, other: "Recipe") -> bool:
        """Tell whether upstream, rule and what is injected are those of another one."""
        return (self.upstream, self.rule, self.sources) == (
            other.upstream,
            other.rule,
            other.sources,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftFacts:
    """A draft of the downstream.

    Attributes:
        branch: Its branch.
        head: The commit there, 40 hex digits.
        stage: DRAFT, PROPOSED or CLOSED.
        owners: Names of the variants that made or adopted it.
        recipe: What the bot made it of last; None where the bot made nothing there.
        number: Its newest pull request; 0 for none.
        title: First line of what the bot committed there last.
        shown: Title of its pull request; "" for none.
        people: Somebody else has committed to it.
        empty: Nothing was committed to it yet.
        ended: The bot is about to close it: its last commit says so, and the branch is there still.
        by_person: A person closed it, or turned it back into a draft.
        ready: Nothing is in the way of proposing it: no conflict, and its checks do not fail.
    """

    branch: str
    head: str = ""
    stage: RevisionStage = RevisionStage.DRAFT
    owners: frozenset[str] = frozenset()
    recipe: Recipe | None = None
    number: int = 0
    title: str = ""
    shown: str = ""
    people: bool = False
    empty: bool = False
    ended: bool = False
    by_person: bool = False
    ready: bool = True

    @property
    def workspace(self) -> str:
        """The last part of the branch's name."""
        return self.branch.rpartition("/")[2]

    @property
    def open(self) -> bool:
        """It is being worked on."""
        return self.stage in (RevisionStage.DRAFT, RevisionStage.PROPOSED) and not self.ended

    @property
    def removes(self) -> bool:
        """It removes the package."""
        return self.recipe is not None and self.recipe.removes


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFacts:
    """The newest published revision of the downstream.

    Attributes:
        number: Its number.
        commit: Its commit, 40 hex digits.
        owners: Names of the variants that made or adopted it.
        lock: The ref in its `upstreamLock`, such as "net/core/v3"; "" for none.
        locked: The commit in that lock; "" where it names none.
        lock_is_ours: That lock names the rule's upstream: repository and folder.
        shaped: The rule, put to it again, changes nothing (`making.shaped`).
    """

    number: int
    commit: str = ""
    owners: frozenset[str] = frozenset()
    lock: str = ""
    locked: str = ""
    lock_is_ours: bool = True
    shaped: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantFacts:
    """One downstream and the rule for it.

    Attributes:
        variant: The rule; as it was last where it is there no more.
        removed: No file asks for it any more, and all files could be read.
        allowed: The downstream's repository lets the rule's repository write to it, and the
            upstream may be read there.
        revisions: What its upstream has published.
        missing: Why nothing of that could be had; "" where it could, or is not there.
        published: The package as it is published; None where it is not.
        present: A folder of that path is there, published or not.
        drafts: Its drafts, closed ones too.
        workspaces: Those that it ever had, besides the drafts'.
        held: Why nothing newer may be proposed since a rollback; "" where it may.
        sources: What would be injected now, as a digest; "" for nothing.
        circle: The packages over which its upstream was made from it; empty where it was not.
    """

    variant: Variant
    removed: bool = False
    allowed: bool = True
    revisions: tuple[UpstreamRevision, ...] = ()
    missing: str = ""
    published: PublishedFacts | None = None
    present: bool = False
    drafts: tuple[DraftFacts, ...] = ()
    workspaces: frozenset[str] = frozenset()
    held: str = ""
    sources: str = ""
    circle: tuple[str, ...] = ()
