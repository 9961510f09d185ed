"""Keys of the work queue: what can be reconciled, as text and parsed.

A key names a thing at the forge by numeric ids, never by a name that can change hands. Its text is
`<forge>:<repository id>:<kind>[:<part>…]`; a branch stands last, so that it may hold a colon.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar

from lifecycle import names
from lifecycle.identity import GITHUB, MOST, RepositoryId, is_forge


@dataclass(frozen=True, slots=True)
class ProposalKey:
    """A draft or proposal: one head branch, whether or not it has a pull request.

    Attributes:
        repository: The repository that receives the change.
        head_repository: Number, at the same forge, of the repository that holds the branch; differs
            for a fork.
        branch: Name of the head branch, without `refs/heads/`.
    """

    KIND: ClassVar[str] = "proposal"

    repository: RepositoryId
    head_repository: int
    branch: str

    def __str__(self) -> str:
        return f"{self.repository}:{self.KIND}:{self.head_repository}:{self.branch}"

    @property
    def ref(self) -> str:
        """The head branch, spelled in full."""
        return names.branch_ref(self.branch)


@dataclass(frozen=True, slots=True)
class PullKey:
    """A pull request known by its number only; the bot finds its `ProposalKey`."""

    KIND: ClassVar[str] = "pull"

    repository: RepositoryId
    number: int

    def __str__(self) -> str:
        return f"{self.repository}:{self.KIND}:{self.number}"


@dataclass(frozen=True, slots=True)
class CommitKey:
    """A commit, 40 hex digits; the bot finds the proposals whose head it is."""

    KIND: ClassVar[str] = "commit"

    repository: RepositoryId
    sha: str

    def __str__(self) -> str:
        return f"{self.repository}:{self.KIND}:{self.sha}"


@dataclass(frozen=True, slots=True)
class BaseKey:
    """A branch that proposals are merged into: merging and tagging are done under this key."""

    KIND: ClassVar[str] = "base"

    repository: RepositoryId
    branch: str

    def __str__(self) -> str:
        return f"{self.repository}:{self.KIND}:{self.branch}"

    @property
    def ref(self) -> str:
        """The base branch, spelled in full."""
        return names.branch_ref(self.branch)


@dataclass(frozen=True, slots=True)
class GroupKey:
    """A merge group: what a merge queue is about to merge, at a branch of the queue's own."""

    KIND: ClassVar[str] = "group"

    repository: RepositoryId
    branch: str

    def __str__(self) -> str:
        return f"{self.repository}:{self.KIND}:{self.branch}"


@dataclass(frozen=True, slots=True)
class RepositoryKey:
    """A whole repository: adoption, its open proposals, its tags."""

    KIND: ClassVar[str] = "repository"

    repository: RepositoryId

    def __str__(self) -> str:
        return f"{self.repository}:{self.KIND}"


@dataclass(frozen=True, slots=True)
class DashboardKey:
    """The dashboard issue of a repository."""

    KIND: ClassVar[str] = "dashboard"

    repository: RepositoryId

    def __str__(self) -> str:
        return f"{self.repository}:{self.KIND}"


@dataclass(frozen=True, slots=True)
class VariantsKey:
    """The packages that rules want in a repository."""

    KIND: ClassVar[str] = "variants"

    repository: RepositoryId

    def __str__(self) -> str:
        return f"{self.repository}:{self.KIND}"


@dataclass(frozen=True, slots=True)
class ImpactKey:
    """A head branch, tried out on packages that it does not touch."""

    KIND: ClassVar[str] = "impact"

    repository: RepositoryId
    branch: str

    def __str__(self) -> str:
        return f"{self.repository}:{self.KIND}:{self.branch}"


@dataclass(frozen=True, slots=True)
class InstallationsKey:
    """Everything the App can see: which installations there are."""

    forge: str

    def __str__(self) -> str:
        return f"{self.forge}:app:installations"


@dataclass(frozen=True, slots=True)
class InstallationKey:
    """One installation of the App: which repositories it has."""

    number: int
    forge: str

    def __str__(self) -> str:
        return f"{self.forge}:app:installation:{self.number}"


class Sweep(StrEnum):
    """What is gone through at start-up and at intervals, for the App as a whole."""

    CHANGES = "changes"
    DELIVERIES = "deliveries"
    HEALTH = "health"


@dataclass(frozen=True, slots=True)
class SweepKey:
    """A sweep of the App as a whole; its row holds when it is due, for all replicas together."""

    sweep: Sweep
    forge: str

    def __str__(self) -> str:
        return f"{self.forge}:app:sweep:{self.sweep}"


InRepository = (
    ProposalKey
    | PullKey
    | CommitKey
    | BaseKey
    | GroupKey
    | RepositoryKey
    | DashboardKey
    | VariantsKey
    | ImpactKey
)
"""Keys of one repository."""

OfApp = InstallationsKey | InstallationKey | SweepKey
"""Keys of the App as a whole."""

Key = InRepository | OfApp


def forge_of(key: Key) -> str:
    """The forge that a key is of."""
    return key.forge if isinstance(key, OfApp) else key.repository.forge


def at_forge(key: Key, forge: str) -> Key:
    """The same key at another forge: events are read alike at every GitHub."""
    if isinstance(key, OfApp):
        return replace(key, forge=forge)
    return replace(key, repository=RepositoryId(forge, key.repository.number))


def place_of(key: str) -> str:
    """Where a key takes its turns, from its text: its repository, or what is asked of the App."""
    return ":".join(key.split(":", 2)[:2])


def forge_named(key: str) -> str:
    """The forge that a key is of, from its text."""
    return key.partition(":")[0]


def parse(text: str) -> Key:
    """Read a key back from its text; the inverse of `str(key)`.

    Raises:
        ValueError: No key is written so.
    """
    first, _, _ = text.partition(":")
    # Without a forge it is from before there was a second one.
    spelled = f"{GITHUB}:{text}" if first.isdigit() else text
    if not is_forge(spelled.partition(":")[0]):
        raise _not_a_key(text)
    match spelled.split(":", 4):
        case [forge, "app", "installations"]:
            return InstallationsKey(forge)
        case [forge, "app", "installation", number]:
            return InstallationKey(_number(text, number), forge)
        case [forge, "app", "sweep", sweep] if sweep in set(Sweep):
            return SweepKey(Sweep(sweep), forge)
        case [forge, repository, "proposal", head, branch] if branch:
            here = RepositoryId(forge, _number(text, repository))
            return ProposalKey(here, _number(text, head), branch)
        case [forge, repository, "pull", number]:
            return PullKey(RepositoryId(forge, _number(text, repository)), _number(text, number))
        case [forge, repository, "commit", sha] if sha:
            return CommitKey(RepositoryId(forge, _number(text, repository)), sha)
        case [forge, repository, "base", *rest] if any(rest):
            return BaseKey(RepositoryId(forge, _number(text, repository)), ":".join(rest))
        case [forge, repository, "group", *rest] if any(rest):
            return GroupKey(RepositoryId(forge, _number(text, repository)), ":".join(rest))
        case [forge, repository, "repository"]:
            return RepositoryKey(RepositoryId(forge, _number(text, repository)))
        case [forge, repository, "dashboard"]:
            return DashboardKey(RepositoryId(forge, _number(text, repository)))
        case [forge, repository, "impact", *rest] if any(rest):
            return ImpactKey(RepositoryId(forge, _number(text, repository)), ":".join(rest))
        case [forge, repository, "variants"]:
            return VariantsKey(RepositoryId(forge, _number(text, repository)))
        case _:
            raise _not_a_key(text)


def _number(text: str, digits: str) -> int:
    # Only the spelling that str() makes: "007" or "+7" would be a second name for one thing.
    if digits.isascii() and digits.isdigit() and len(digits) < 20:
        number = int(digits)
        if str(number) == digits and number < MOST:
            return number
    raise _not_a_key(text)


def _not_a_key(text: str) -> ValueError:
    return ValueError(
        f"work key {text!r}: not one of ours. Expected <forge>:<repository id>:<kind>…, "
        "such as github:42:pull:7."
    )
