"""Finds out what a base branch gained since an approval that the proposal would take back.

An approval is of whole trees. The same tree may be brought on top of a newer base, by a merge that
throws away what the base gained: then it is another change than the one that was approved.
"""

from collections.abc import Mapping

from bot.clock import Offload
from bot.git.port import History
from bot.render.port import Renderer
from cadlib.errors import PackageError
from cadlib.limits import DEFAULT
from cadlib.package.files import Entry, join
from lifecycle import memory
from lifecycle.events import Approval
from lifecycle.facts.packages import Touched
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.update import PackageMerge

MOST_KEPT = 10_000
"""Answers that are kept: of trees alone, and small."""


class Gains:
    """Tells what approvals would take back; what follows from trees alone is kept.

    Args:
        renderer: Merges packages.
        offload: Where git is read.
    """

    def __init__(self, renderer: Renderer, offload: Offload) -> None:
        self._renderer = renderer
        self._offload = offload
        self._kept: dict[tuple[str, str, str], bool] = {}

    async def taken_back(self, git: History, proposal: Proposal) -> frozenset[str]:
        """Return the merge bases of approvals since which something was gained and is not kept.

        What cannot be worked out counts as not kept: it is asked for once more.

        Args:
            git: Where the commits are.
            proposal: The proposal, open or merged.
        """
        if proposal.once_published:
            return frozenset()
        words = memory.read(proposal).words.values()
        seen = {each.origin for each in words if isinstance(each, Approval) and each.origin}
        if not proposal.place.merged:
            seen -= {proposal.content.origin}
        kept = {since: await self._keeps(git, proposal, since) for since in sorted(seen)}
        return frozenset(since for since in kept if not kept[since])

    async def _keeps(self, git: History, proposal: Proposal, since: str) -> bool:
        """Whether all that the base gained since a commit is in what would be tagged."""
        if not await self._offload(git.has, since):
            return False
        for touched in proposal.content.touched:
            was = await self._offload(git.package, since, touched.package)
            now = touched.base if proposal.place.merged else touched.origin
            if now not in (was, touched.tree) and not await self._contains(git, touched, was, now):
                return False
        return True

    async def _contains(self, git: History, touched: Touched, was: str, now: str) -> bool:
        """Whether a package holds what the base made of it."""
        key = was, touched.tree, now
        if key in self._kept:
            return self._kept[key]
        merged = await self._renderer.merged(git, touched.package, was, touched.tree, now)
        if merged.problem:  # it may pass
            return False
        found = not merged.conflicts and await self._offload(_holds, git, touched, was, now, merged)
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[key] = found
        return found


def _holds(git: History, touched: Touched, was: str, now: str, merged: PackageMerge) -> bool:
    """Whether merging what was gained into a package leaves it as it is.

    Files that are not merged by field have to be those of the base, or untouched there.
    """
    try:
        before, mine, gained = (
            _files(git, touched.package, tree) for tree in (was, touched.tree, now)
        )
    except PackageError:
        return False
    return all(
        merged.files[path] == mine.get(path)
        if path in merged.files
        else gained.get(path) in (before.get(path), mine.get(path))
        for path in before.keys() | mine.keys() | gained.keys()
    )


def _files(git: History, package: str, tree: str) -> Mapping[str, Entry]:
    found = git.files(tree, DEFAULT) if tree else {}
    return {join(package, path): entry for path, entry in found.items()}
