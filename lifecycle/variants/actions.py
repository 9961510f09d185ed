"""What the bot is asked to do about a downstream. Each names what it depends on."""

from dataclasses import dataclass
from typing import TypeAlias

from lifecycle.variants.facts import Recipe
from lifecycle.variants.upstreams import UpstreamRevision


@dataclass(frozen=True, slots=True)
class CreateDraft:
    """Make a draft: of the upstream, or of the published package brought up to it.

    Attributes:
        branch: A branch that is not there yet.
        upstream: The revision to make it of; None where only what the rule wants is put into it.
        recipe: What it is made of, to be written down with it.
        propose: Its pull request is ready at once, if nothing conflicts.
        new: The package is cloned; otherwise the published one is changed.
    """

    branch: str
    upstream: UpstreamRevision | None
    recipe: Recipe
    propose: bool
    new: bool


@dataclass(frozen=True, slots=True)
class UpdateDraft:
    """Make a draft anew in its place, while its head is `head`: nobody else has committed to it.

    Attributes:
        kept: A person turned its pull request back into a draft, which it stays.
    """

    branch: str
    head: str
    upstream: UpstreamRevision | None
    recipe: Recipe
    propose: bool
    new: bool
    kept: bool = False


@dataclass(frozen=True, slots=True)
class MergeIntoDraft:
    """Bring a draft up that people have committed to: a commit on top of `head`."""

    branch: str
    head: str
    upstream: UpstreamRevision | None
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class RemovePackage:
    """Make a draft that removes the package, and propose it.

    Attributes:
        branch: Its branch.
        head: Where that is; "" where it must not be there.
        recipe: What it was made of, to be written down with it.
        why: What people are told.
    """

    branch: str
    head: str
    recipe: Recipe
    why: str


@dataclass(frozen=True, slots=True)
class OpenDraft:
    """Open the pull request of a draft that was pushed and has none, while its head is `head`."""

    branch: str
    head: str
    title: str
    propose: bool


@dataclass(frozen=True, slots=True)
class ProposeDraft:
    """Say that a draft is ready, while its head is `head`."""

    branch: str
    head: str
    number: int


@dataclass(frozen=True, slots=True)
class RetitleDraft:
    """Let the title of a draft's pull request say what the draft is made of by now."""

    branch: str
    head: str
    number: int
    title: str


@dataclass(frozen=True, slots=True)
class CloseDraft:
    """Say in a last commit on `head` why a draft is closed; `EndDraft` follows on that."""

    branch: str
    head: str
    why: str


@dataclass(frozen=True, slots=True)
class EndDraft:
    """Close the pull request of a draft, 0 for none; delete its branch while that is at `head`."""

    branch: str
    head: str
    number: int


Action: TypeAlias = (
    CreateDraft
    | UpdateDraft
    | MergeIntoDraft
    | RemovePackage
    | OpenDraft
    | ProposeDraft
    | RetitleDraft
    | CloseDraft
    | EndDraft
)
