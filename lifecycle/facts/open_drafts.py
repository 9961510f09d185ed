"""What is asked on the dashboard issue about packages and their open drafts."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cadlib.diff.values import Change
from lifecycle.facts.update import BaseUpdate


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageDiff:
    """What differs between a package as it is, in its open draft where there is one, and before.

    Attributes:
        package: Its path; "" for the root package.
        base_ref: The branch that it is published on.
        number: Of the pull request of its newest open draft; 0 where there is none.
        others: Numbers of the pull requests of its other open drafts.
        revision: What it is compared with; 0 for where the draft left the base branch.
        changes: What differs.
        problem: Why nothing can be compared, in words; "" where it can.
    """

    package: str
    base_ref: str = ""
    number: int = 0
    others: tuple[int, ...] = ()
    revision: int = 0
    changes: tuple[Change, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftUpdate:
    """What bringing the only open draft of a package up to date comes to.

    Attributes:
        package: Its path; "" for the root package.
        number: Of its pull request.
        head_ref: Its branch.
        head: Where that is.
        base_ref: The branch that it is to be merged into.
        base: Where that is.
        update: The merge of the two.
        outdated: Packages that both changed, sorted.
        refused: Why a push to the branch was refused, at that head; "" where none was.
        refused_asked: Number of the newest comment that had asked for that push.
        done: Tokens of the requests that merges of ours on the branch were made for.
        problem: Why there is nothing to bring up to date, in words; "" where there is.
    """

    package: str
    number: int = 0
    head_ref: str = ""
    head: str = ""
    base_ref: str = ""
    base: str = ""
    update: BaseUpdate = field(default_factory=BaseUpdate)
    outdated: tuple[str, ...] = ()
    refused: str = ""
    refused_asked: int = 0
    done: frozenset[str] = frozenset()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class OpenDrafts:
    """What was found out about open drafts, for who asks on the dashboard issue.

    Attributes:
        diffs: Package and revision to what differs.
        updates: Package to what bringing its draft up to date comes to.
    """

    diffs: Mapping[tuple[str, int], PackageDiff] = field(default_factory=dict)
    updates: Mapping[str, DraftUpdate] = field(default_factory=dict)
