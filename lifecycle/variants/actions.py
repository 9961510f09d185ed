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
    """Make a draft anew in its place, while its head is `head`: nobody else has committed to it."""

    branch: str
    head: str
    upstream: UpstreamRevision | None
    recipe: Recipe
    propose: bool
    new: bool


@dataclass(frozen=True, slots=True)
class MergeIntoDraft:
    """Bring a draft up that people have committed to: a commit on top of `head`."""

    branch: str
    head: str
    upstream: UpstreamRevision | None
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class ProposeDraft:
    """Say that a draft is ready, while its head is `head`."""

    branch: str
    head: str


@dataclass(frozen=True, slots=True)
class CloseDraft:
    """Close the pull request of a draft, while its head is `head`, and say why."""

    branch: str
    head: str
    why: str


@dataclass(frozen=True, slots=True)
class Adopt:
    """Note that the variant keeps this in step: a draft by its branch, the package by ""."""

    branch: str


@dataclass(frozen=True, slots=True)
class Release:
    """Note that the variant keeps this in step no more; as `Adopt`."""

    branch: str


@dataclass(frozen=True, slots=True)
class ProposeDeletion:
    """Open a pull request that removes the package as it is at revision `number`."""

    number: int
    why: str


@dataclass(frozen=True, slots=True)
class TakeBackDeletion:
    """Close the pull request that removes the package: the rule wants it again."""

    number: int
    why: str


Action: TypeAlias = (
    CreateDraft
    | UpdateDraft
    | MergeIntoDraft
    | ProposeDraft
    | CloseDraft
    | Adopt
    | Release
    | ProposeDeletion
    | TakeBackDeletion
)
