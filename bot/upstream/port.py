"""Upstreams as the bot needs them: one way to fetch a package, and what comes of it."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Protocol

from bot.forges.port import Repository
from bot.git.port import History
from cadlib.kptfile.values import GitRef
from cadlib.package.files import Files
from lifecycle.access import Person
from lifecycle.identity import RepositoryId
from lifecycle.policy import Policy
from lifecycle.upstreams.references import Reference, RevisionReference
from lifecycle.variants.upstreams import UpstreamState


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedUpstream:
    """A package that was fetched.

    Attributes:
        files: Its files, relative to its folder, within the limits of a package.
        ref: What to write into `upstream` of a Kptfile, as kpt writes it.
        commit: The commit that the files are of, in full; of an annotated tag, what it points to.
        tree: Id of the tree of its folder.
        revision: The number of the release that the ref is; None for any other ref.
        served: The repository it is in, where the bot serves that; None for one elsewhere.
        tag: The object that the ref names, such as that of an annotated tag; "" where nobody asked.
        state: What the ledger of that repository says of the release; nothing is good.
        unpublished: It is a release of a served repository that nobody published: its tag was moved
            or pushed past the bot.
    """

    files: Files = field(repr=False)
    ref: GitRef
    commit: str
    tree: str
    revision: int | None = None
    served: RepositoryId | None = None
    tag: str = ""
    state: UpstreamState = UpstreamState.GOOD
    unpublished: bool = False

    @property
    def lock(self) -> GitRef:
        """What to write into `upstreamLock` of a Kptfile."""
        return replace(self.ref, commit=self.commit)


class Upstreams(Protocol):
    """All places that packages come from."""

    async def fetch(
        self,
        reference: Reference | GitRef,
        *,
        into: Repository,
        caller: Person | None,
        policy: Policy,
    ) -> FetchedUpstream:
        """Fetch a package.

        What may not be used or not be read is not asked for, and what somebody may not see is told
        of as if it were not there.

        Args:
            reference: Which one; of an upstream or a lock of a Kptfile its commit counts first.
            into: The repository that the package is for.
            caller: Whoever asks for it, who must be able to read it; None where nobody does (a
                variant): then it must be public, in `into` itself, or its repository must consent.
            policy: Of the base branch of `into`.

        Raises:
            UpstreamError: It cannot be had, in words.
            ForgeBusyError: The forge could not be asked; trying again may help.
            ForgeRefusedError: An operator must change a setting first.
        """

    async def home(
        self, reference: RevisionReference, *, into: Repository, policy: Policy
    ) -> Repository:
        """Return the repository that a package would be fetched from; nothing is read of it.

        Args:
            reference: The package; its ref does not matter.
            into: As for `fetch`; nobody asks for it.
            policy: As for `fetch`.

        Raises:
            UpstreamError: There is no such repository, or it may not be used or read.
            ForgeBusyError: As for `fetch`.
        """

    async def published_from(
        self, reference: RevisionReference, *, into: Repository, policy: Policy
    ) -> int | None:
        """Return the newest release of a package that was made from a draft; None for none.

        Args:
            reference: The package, and as its ref the last part of the name of the draft.
            into: As for `fetch`; nobody asks for it.
            policy: As for `fetch`.

        Raises:
            UpstreamError: There is no such repository, or it may not be used or read.
            ForgeBusyError: As for `fetch`.
        """


class Published(Protocol):
    """What was published of packages of one repository."""

    def numbers(self, git: History, package: str) -> frozenset[int]:
        """The revisions that are tagged as they were published, by the bot or before it came.

        Args:
            git: The repository's mirror, opened.
            package: One of those that were asked for.
        """

    def replaced(self, git: History, package: str) -> frozenset[int]:
        """The revisions that were published, and whose tags name something else by now."""


class Publications(Protocol):
    """Knows what was published."""

    async def of(self, home: RepositoryId, packages: Collection[str]) -> Published:
        """What was published of some packages of a repository that is served.

        Raises:
            GitBusyError: That is not known yet; trying again helps.
        """
