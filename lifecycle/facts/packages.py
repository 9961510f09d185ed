"""What a proposal changes: the packages that it touches, and what a merge would do beside them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from cadlib.diff.values import Change
from cadlib.findings import Finding
from lifecycle.events import content
from lifecycle.ledger import LedgerChange, bound
from lifecycle.merges import Effect, UnknownRules
from lifecycle.tags import Tagging


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpublished:
    """What stands in the base branch of a package that no revision of it holds.

    Whoever publishes the package next publishes that as well.

    Attributes:
        revision: Newest revision of ours in the base branch; 0 when there is none.
        published: The package's tree in it, else as it was when the bot came; "" for nothing.
        base: The package's tree in the base branch.
        adopted: It is the first revision, and stands there since before the bot came.
        files: How many files there are, where it was adopted.
        sources: What brought it in, such as "#12" or a short commit id, as far as that is known.
        changes: From the revision to the base branch, by resource and field.
        inside: Folders in the package with rules of their own that hold some of it, sorted.
    """

    revision: int
    published: str
    base: str
    adopted: bool = False
    files: int = 0
    sources: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    inside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """One package whose tree differs from the merge base's, and how it stands.

    Trees are git tree ids, 40 hex digits; "" where the package does not exist.

    Attributes:
        package: Path in the repository; "" for a package at its root.
        tree: At the commit that would be tagged: the proposal's head, or the merge result.
        head_tree: At the proposal's head.
        origin: At the merge base of head and base branch.
        base: At the tip of the base branch.
        tagging: How it stands with its tags.
        changed_by: Who changed the package in the base branch meanwhile, such as "#12" or a
            short commit id; sorted, empty when nobody did.
        workspace: The draft's name in the package's trailers.
        used_by: Packages that have it as upstream, sorted: of the same branch, then of other
            repositories, as "acme/clusters: net/edge"; only where it is removed.
        used_unseen: How many packages of other repositories have it as upstream beside those, where
            who asks may not see them.
        also: Numbers of other open proposals that change it too, sorted.
        outside: The merge changed it, and the proposal does not show that.
        unpublished: What publishing it publishes beside the proposal's changes; None for nothing.
        inside: Folders in it with rules of their own that hold something that is changed, sorted.
    """

    package: str
    tree: str
    head_tree: str
    origin: str
    base: str
    tagging: Tagging = field(default_factory=Tagging)
    changed_by: tuple[str, ...] = ()
    workspace: str = ""
    used_by: tuple[str, ...] = ()
    used_unseen: int = 0
    also: tuple[int, ...] = ()
    outside: bool = False
    unpublished: Unpublished | None = None
    inside: tuple[str, ...] = ()

    @property
    def places(self) -> tuple[str, ...]:
        """Folders whose rules it is held to: its own, and of those in it what it reaches into.

        A rule of a folder is about all that is published of it, whichever package that is in. What
        was there before the bot came is the baseline, and none of it.
        """
        more = self.unpublished.inside if self.unpublished and not self.unpublished.adopted else ()
        return (self.package, *sorted({*self.inside, *more}))

    @property
    def registers(self) -> bool:
        """It brings a package under the bot's management (ADR 69).

        It is a new folder with a Kptfile, or one that stands in the base branch without a revision
        of ours; a tag that somebody made by hand changes nothing of that.
        """
        there = self.unpublished is not None and self.unpublished.revision == 0
        return not self.removed and (self.origin == "" or there)

    @property
    def revision(self) -> int:
        """The number it would be, or was, published under; 0 when it is removed."""
        return self.tagging.revision

    @property
    def tagged(self) -> bool:
        """We published it: our tag stands on the merge result, or its removal was recorded."""
        return self.tagging.tagged

    @property
    def done(self) -> bool:
        """It was published: what became of its tag is another question."""
        return self.tagging.tagged or self.tagging.lost is not None

    @property
    def outdated(self) -> bool:
        """The base branch changed this package since the proposal left it."""
        return self.origin != self.base

    @property
    def removed(self) -> bool:
        """The proposal deletes the package's folder."""
        return self.tree == ""


class NotByRule(StrEnum):
    """Why a rule for variants does not approve what was made for one."""

    PEOPLE = "people"
    REMOVES = "removes"
    UNSEALED = "unsealed"
    CONFLICTS = "conflicts"
    OUTSIDE = "outside"
    """Resources or topics of another repository have a part in it."""
    RULE = "rule"
    """No rule wants it now, or something stands in the way of that."""
    CHANGED = "changed"
    """The rule wants something else by now."""
    UPSTREAM = "upstream"
    """The bot did not publish that revision of the upstream."""
    UNTOLD = "untold"
    MORE = "more"
    """It is not about its package alone."""
    AUTHORS = "authors"
    UNJUDGED = "unjudged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a proposal changes, read from git.

    Attributes:
        touched: Packages touched, sorted by path.
        ledger: Revisions that it withdraws or deprecates, and what else it does to the ledger.
        effect: What merging it would do beside what it shows; nothing once merged.
        beside: Digest of what the head changes outside of the packages; "" for nothing.
        configuration: Findings about the configuration file as the proposal changes it.
        configuration_changed: It changes `.porchbot.yaml` itself.
        configures: It changes what judges proposals on a branch that is published from: the
            configuration, or anything beside it but entries of the ledger.
        elsewhere: Branches that packages are published from, where this head would have to be
            approved; told where its base is none of them, sorted.
        doubt: Why the rules at the time of the merge cannot be told; None when they can.
        origin: The merge base of head and base branch; "" when there is none.
        takes_back: Merge bases of approvals since which the base branch gained something in a
            touched package that is not in what would be tagged.
        variant: The package that the bot alone made for a variant, without a conflict, which is all
            that was committed; "" for none. Only told where a rule asks for it.
        not_by_rule: Why it is none, of what was made for a variant; None for anything else.
        for_variant: The bot alone made all of its commits, for a variant.
        drafted: Of what changes nothing yet, the package that its branch is a draft of, as
            `/edit` opens one; None for none.
    """

    touched: tuple[Touched, ...]
    ledger: tuple[LedgerChange, ...] = ()
    effect: Effect = field(default_factory=Effect)
    beside: str = ""
    configuration: tuple[Finding, ...] = ()
    configuration_changed: bool = False
    configures: bool = False
    elsewhere: tuple[str, ...] = ()
    doubt: UnknownRules | None = None
    origin: str = ""
    takes_back: frozenset[str] = frozenset()
    variant: str = ""
    not_by_rule: NotByRule | None = None
    for_variant: bool = False
    drafted: str | None = None

    @property
    def places(self) -> tuple[str, ...]:
        """Folders whose rules it is held to, sorted; see `Touched.places`."""
        return tuple(sorted({place for t in self.touched for place in t.places}))

    @property
    def timed(self) -> tuple[str, ...]:
        """Folders by whose rules exceptions are made, sorted: those of the ledger's entries too."""
        return tuple(sorted({*self.places, *(each.package for each in self.ledger)}))

    @property
    def packages(self) -> tuple[str, ...]:
        """Packages that it publishes, removes or withdraws revisions of, sorted."""
        touched = (t.package for t in self.touched)
        return tuple(sorted({*touched, *(each.package for each in self.ledger)}))

    @property
    def approvable(self) -> bool:
        """There is something to approve here: packages, or the rules that judge them."""
        return self.publishes or self.configures

    @property
    def publishes(self) -> bool:
        """The bot merges it, and has something to do then: packages, or entries of the ledger."""
        return bool(self.touched or self.ledger)

    @property
    def tagged(self) -> bool:
        """Every package that remains carries our tag, and what is withdrawn is gone."""
        return all(t.tagged for t in self._telling) and all(c.done for c in self.ledger)

    @property
    def done(self) -> bool:
        """Every package that remains was published; a tag may be lost since."""
        return all(t.done for t in self._telling) and all(c.done for c in self.ledger)

    @property
    def untagged(self) -> bool:
        """It leaves no package to tag: our record alone tells that it was judged."""
        return self.publishes and all(t.removed for t in self.touched)

    @property
    def removal(self) -> bool:
        """It is a deletion proposal: it removes packages or withdraws revisions, and tags none."""
        return self.untagged and bool(self.touched or self.withdrawals)

    @property
    def withdrawals(self) -> tuple[LedgerChange, ...]:
        """The revisions that it withdraws."""
        return tuple(each for each in self.ledger if each.withdraws)

    @property
    def _telling(self) -> tuple[Touched, ...]:
        """The packages that tell whether the merge was judged: those that remain, if any do."""
        return tuple(t for t in self.touched if not t.removed) or self.touched

    @property
    def surprising(self) -> bool:
        """Only who saw the merge result can approve it: it holds more than the proposal showed."""
        return self.doubt is not None or any(t.outside for t in self.touched)

    @property
    def trees(self) -> Mapping[str, str]:
        """Package to tree at what would be tagged: what an approval binds to."""
        return {**{t.package: t.tree for t in self.touched}, **bound(self.ledger)}

    @property
    def head_trees(self) -> Mapping[str, str]:
        """Package to tree at the proposal's head."""
        return {**{t.package: t.head_tree for t in self.touched}, **bound(self.ledger)}

    @property
    def unpublished(self) -> str:
        """Digest of what stands in the base unpublished, and came past the gates; "" for nothing.

        What was there before the bot came is none of it: it is the baseline.
        """
        found = {
            t.package: f"{t.unpublished.published} {t.unpublished.base}"
            for t in self.touched
            if t.unpublished is not None and not t.unpublished.adopted
        }
        return content(found) if found else ""
