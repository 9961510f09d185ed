"""The port of the renderer: how the bot asks for verdicts on packages, and for what changed.

Its values are `lifecycle.facts.verdicts.Verdict` and `cadlib.diff.values.Change`. It has no errors
of its own: what is wrong with a package or with its functions stands in the verdict, and what
`TreeFiles` raise passes through, `PackageError` excepted.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from cadlib.diff.values import Change
from cadlib.kptfile.reader import GitRef
from cadlib.limits import PackageLimits
from cadlib.merge.policy import ConflictPolicy
from cadlib.package.files import Files
from cadlib.update.upstream import Fetch, Fetched
from lifecycle.facts.drafts import DraftRequest
from lifecycle.facts.update import PackageMerge
from lifecycle.facts.verdicts import Verdict
from lifecycle.policy import Policy


class TreeFiles(Protocol):
    """Where the files of packages are; it may be read in other threads than the one that asks."""

    @property
    def name(self) -> str:
        """Whose they are: what renders packages shares its time fairly between names."""

    def files(self, tree: str, limits: PackageLimits) -> Files:
        """Every file under a tree, by path relative to it.

        Args:
            tree: Its id, which names its content.
            limits: For the package.

        Raises:
            PackageError: There is more than the limits allow; nothing of it was read.
        """


FetchPackage = Callable[[Fetch], Awaitable[Fetched]]
"""Fetches one package from a repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftSides:
    """What a draft is made from; the rest is as `lifecycle.drafting.make.DraftInputs` has it.

    Attributes:
        here: Tree id of the folder as it is; "" where there is none.
        revision: Of `edit` and `rollback`, the tree id of the package as it was published; of
            `resolve`, as it was before the upgrade.
        upstream: As in `DraftInputs`, and the others too.
    """

    here: str = ""
    revision: str = ""
    upstream: GitRef | None = None
    ref: str = ""
    context: str | None = None
    conflicts: ConflictPolicy = ConflictPolicy.UPSTREAM
    allow: tuple[tuple[str, ...], ...] = ()


class Renderer(Protocol):
    """Renders and validates packages; what it answered before it may answer again unasked."""

    async def verdict(
        self,
        trees: TreeFiles,
        package: str,
        tree: str,
        origin: str,
        policy: Policy,
        *,
        tried: bool = False,
    ) -> Verdict:
        """Render and validate one package at one tree.

        Once the changes of a verdict that is complete were made, the next one has none. Calls that
        ask the same at the same time share one rendering. A verdict that is `broken` is not kept:
        the functions are asked again at the next call.

        Args:
            trees: Where the files are.
            package: Its path in the repository.
            tree: Its tree id.
            origin: Its tree id at the merge base, for what changed; "" when it is new.
            policy: The rules of the base branch.
            tried: It is one of many that are tried out, and pushes out none that a look asked for.
        """

    async def changes(self, trees: TreeFiles, before: str, after: str) -> tuple[Change, ...]:
        """What changed between two trees of a package, by resource and field.

        Nothing where one of them cannot be read: the verdict on the package says that.

        Args:
            trees: Where the files are.
            before: The tree id; "" for nothing at all.
            after: The tree id.
        """

    async def merged(
        self, trees: TreeFiles, package: str, base: str, ours: str, theirs: str
    ) -> PackageMerge:
        """Merge what two branches made of a package, by resource and field.

        Args:
            trees: Where the files are.
            package: Its path in the repository.
            base: Its tree id where the branches parted; "" for nothing at all, as in the others.
            ours: Its tree id on the branch that is written to.
            theirs: Its tree id on the other branch.
        """

    async def drafted(
        self, trees: TreeFiles, request: DraftRequest, sides: DraftSides, fetch: FetchPackage
    ) -> PackageMerge:
        """Make the files of a draft that somebody asks for, by their paths in the repository.

        Args:
            trees: Where the files are.
            request: What is asked for.
            sides: What it is made from.
            fetch: Fetches packages from elsewhere; `PackageError` where that cannot be.
        """

    def forget(self, trees: Iterable[str]) -> None:
        """Drop what is kept of these trees, so that the functions are asked again."""
