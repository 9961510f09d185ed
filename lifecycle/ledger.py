"""The ledger: revisions that were withdrawn or deprecated, and what a proposal changes of that.

Rules (docs/design.md, "Deletion"):

1. A number that the ledger lists stays used for ever, on every branch that packages are published
   from; no proposal takes one out.
2. Withdrawing a revision takes the approvals of a deletion, whoever wrote the entry; deprecating
   one those of a deprecation. Both count for the entries as they are written.
3. The tag of a withdrawn revision is deleted once that was merged and approved, and only the tag
   that porchbot made or that the entry names by its object.
4. A package that was rolled back is held at that revision, by an entry in the commit that rolls
   back, until that is taken out: no upgrade and no variant proposes anything newer. Both take what
   a rollback takes.
5. What others in the repository have as upstream, on whatever branch, is not withdrawn.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from lifecycle import names
from lifecycle.access import AccessAction
from lifecycle.names import Sha
from lifecycle.owners import Owned


class ListedState(StrEnum):
    """What the ledger says of a revision."""

    WITHDRAWN = "withdrawn"
    """It is gone, with its tag."""
    DEPRECATED = "deprecated"
    """It is there, and nobody should use it any more."""
    HELD = "held"
    """Its package was rolled back to it: nothing newer from upstream is proposed there."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What the ledger says of one revision.

    Attributes:
        state: What became of it.
        reason: Why, in the words of whoever asked.
        tag: The object of the tag that goes with it, 40 or 64 hex digits; "" where it names none.
    """

    state: ListedState
    reason: str
    tag: str = ""


Entries = Mapping[int, LedgerEntry]
"""Number to entry, of one package."""

Ledger = Mapping[str, Entries]
"""Package to its entries."""


def withdrawn(entries: Entries) -> frozenset[int]:
    """Return the numbers whose tags may be gone."""
    return frozenset(n for n, each in entries.items() if each.state is ListedState.WITHDRAWN)


def both(one: Entries, other: Entries) -> Entries:
    """Return the entries of two ledgers; where both list a revision, a withdrawal counts.

    Args:
        one: That of all packages, or of another branch.
        other: The package's own; it counts where neither withdraws.
    """
    gone = withdrawn(one)
    return {**one, **{n: each for n, each in other.items() if n not in gone}}


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerChange:
    """What a proposal does to one entry of the ledger, and how the revision stands.

    Attributes:
        package: Its path; "" for the root package.
        revision: Its number.
        path: The file of the ledger.
        before: The entry without the proposal; None for none.
        after: The entry with it; None for none.
        tag: The object that the revision's tag names now; "" when there is no such tag.
        ours: That is a tag of porchbot's, for this revision.
        known: The number was given, or is to be given next: nothing is skipped by listing it.
        used_by: Packages that have this revision as upstream, sorted; those of other branches after
            them, as "release-1:net/core", then those of other repositories.
        used_unseen: How many more of other repositories, which who asks may not see.
        done: What it asks for was carried out, once its approvals were given.
    """

    package: str
    revision: int
    path: str
    before: LedgerEntry | None
    after: LedgerEntry | None
    tag: str = ""
    ours: bool = False
    known: bool = True
    used_by: tuple[str, ...] = ()
    used_unseen: int = 0
    done: bool = False

    @property
    def name(self) -> str:
        """The revision as its tag is called, such as "net/core/v5"."""
        return names.spelled(self.package, self.revision)

    @property
    def withdraws(self) -> bool:
        """The revision and its tag go, and did not before."""
        return _is_withdrawn(self.after) and not _is_withdrawn(self.before)

    @property
    def frees(self) -> bool:
        """It takes back what stays for ever: a withdrawal, or what that said of the tag."""
        if self.before is None or not _is_withdrawn(self.before):
            return False
        return not _is_withdrawn(self.after) or (
            self.after is not None and self.after.tag != self.before.tag
        )

    @property
    def restores(self) -> bool:
        """The revision is deprecated no more, or held."""
        return self.before is not None and self.after is None and not self.frees

    @property
    def deprecates(self) -> bool:
        """The revision is deprecated from then on."""
        return _is_deprecated(self.after)

    @property
    def undeprecates(self) -> bool:
        """The revision was deprecated, and may be used again."""
        return _is_deprecated(self.before) and (self.after is None or _is_held(self.after))

    @property
    def holds(self) -> bool:
        """The package is held at the revision, and was not before."""
        return _is_held(self.after) and not _is_held(self.before)

    @property
    def resumes(self) -> bool:
        """The package is held at the revision no more."""
        return _is_held(self.before) and not _is_held(self.after)

    @property
    def actions(self) -> tuple[AccessAction, ...]:
        """What it takes to approve it: all of these."""
        states = {each.state for each in (self.before, self.after) if each is not None}
        if ListedState.WITHDRAWN in states:
            found = [AccessAction.DELETE]
        else:
            found = [] if states == {ListedState.HELD} else [AccessAction.DEPRECATE]
        # A hold begins and ends by the same right, whatever the entry says before or after.
        moved = self.holds or self.resumes or not found
        return (*found, *([AccessAction.ROLLBACK] if moved else []))

    @property
    def goes(self) -> bool:
        """Its tag is there, and is the one that is to be deleted."""
        if not self.withdraws or self.after is None or not self.tag:
            return False
        return self.tag == self.after.tag if self.after.tag else self.ours

    @property
    def stuck(self) -> bool:
        """Its tag is there, and nobody said that this one is to be deleted."""
        return self.withdraws and bool(self.tag) and not self.goes


def _is_withdrawn(entry: LedgerEntry | None) -> bool:
    return entry is not None and entry.state is ListedState.WITHDRAWN


def _is_deprecated(entry: LedgerEntry | None) -> bool:
    return entry is not None and entry.state is ListedState.DEPRECATED


def _is_held(entry: LedgerEntry | None) -> bool:
    return entry is not None and entry.state is ListedState.HELD


def held(entries: Entries) -> tuple[int, LedgerEntry] | None:
    """Return the revision that a package is held at, the newest, with its entry; None for none."""
    found = [(number, each) for number, each in entries.items() if _is_held(each)]
    return max(found, key=lambda each: each[0]) if found else None


def bound(changes: Iterable[LedgerChange]) -> dict[str, str]:
    """Return what an approval of these changes binds to, beside the trees of packages.

    The keys hold what no path does, so that none of them is a package.
    """
    return {
        f"\0{each.name}": json.dumps([_said(each.before), _said(each.after)]) for each in changes
    }


def _said(entry: LedgerEntry | None) -> list[str]:
    return [] if entry is None else [entry.state, entry.reason, entry.tag]


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionState:
    """How a revision stands that somebody names in a command.

    Attributes:
        package: Path of its package.
        revision: Its number.
        base_ref: The branch whose ledger is to list it.
        base: Tip of that branch.
        tag: The object that its tag names; "" when there is no such tag.
        known: It has a tag, or had one.
        entry: What the ledgers of all branches say of it; None for nothing.
        used_by: Packages that have it as upstream, as in `LedgerChange`.
        used_unseen: How many more, likewise.
        path: The file that is to list it.
        file: That file; None where there is none.
        broken: The ledger cannot be read.
        owned: Who owns the package, where rules name code owners.
        withdraws: How a proposal to withdraw it stands.
        deprecates: How a proposal to deprecate it stands.
    """

    package: str
    revision: int
    base_ref: str
    base: Sha
    path: str
    tag: str = ""
    known: bool = True
    entry: LedgerEntry | None = None
    used_by: tuple[str, ...] = ()
    used_unseen: int = 0
    file: bytes | None = None
    broken: bool = False
    owned: tuple[Owned, ...] = ()
    withdraws: "ProposedState"
    deprecates: "ProposedState"

    @property
    def name(self) -> str:
        """The revision as its tag is called, such as "net/core/v5"."""
        return names.spelled(self.package, self.revision)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedState:
    """How the proposal stands that the bot would open about a revision.

    Attributes:
        branch: Name of its branch.
        tip: What is there; "" for nothing.
        free: Nothing is there, or what the bot made or the base branch holds: it may be replaced.
        number: Of the open pull request of the branch; 0 for none.
        ended: Of one that proposed just this tip, and was closed or merged; 0 for none.
        done: Tokens of the requests that commits of ours there were made for.
        title: Its title, as shown; "" where nobody asks for it.
        refused: Why the forge took no push to the branch; "" while it did not refuse.
        asked: Number of the comment that asked for that push.
    """

    branch: str
    tip: str = ""
    free: bool = True
    number: int = 0
    ended: int = 0
    done: frozenset[str] = frozenset()
    title: str = ""
    refused: str = ""
    asked: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalState:
    """What there is of a package that somebody wants removed with its revisions.

    Attributes:
        package: Its path.
        path: The file that is to list them.
        tags: Number to the object that its tag names, of each revision that has a tag.
        entries: What the ledger of the proposal says already.
        file: That file at the proposal's head; None where there is none.
        broken: The ledger cannot be read.
    """

    package: str
    path: str
    tags: Mapping[int, str]
    entries: Entries
    file: bytes | None = None
    broken: bool = False

    def missing(self, reason: str) -> Entries:
        """Return the entries that lack for all revisions to go."""
        gone = withdrawn(self.entries)
        return {
            number: LedgerEntry(ListedState.WITHDRAWN, reason, tag)
            for number, tag in self.tags.items()
            if number not in gone
        }
