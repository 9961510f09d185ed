"""Keeps the index of upstreams at the tips of the branches that are published from."""

from bot.git.port import MissingObjectError
from bot.look import locks
from bot.loop import branches
from bot.loop.repository import ServedRepository
from bot.store.port import UpstreamUses
from bot.store.values import UpstreamUse


async def index(served: ServedRepository, store: UpstreamUses, branch: str, tip: str) -> None:
    """Read the upstreams of a branch up to its tip, where packages are published from it.

    Whoever comes later with an older tip, or at the same time, changes nothing for the worse: the
    branch is read on from where the index is, and the next push or sweep looks again.

    Args:
        served: The repository.
        store: The index.
        branch: Name of the branch.
        tip: Where it is.
    """
    known = await store.indexed(served.id)
    if known.get(branch) == tip:
        return
    published = await served.offload(
        branches.published_from, served.mirror, served.repository.default_branch
    )
    if known.keys() - published:
        await store.forget_uses(served.id, published)
    if branch not in published:
        return
    before = known.get(branch, "")
    found = await served.offload(_read, served, before, tip)
    if found is None:  # a branch that was rewritten: what it was is gone
        await store.forget_uses(served.id, published - {branch})
        before, found = "", await served.offload(_read, served, "", tip)
    await store.keep_uses(served.id, branch, (before, tip), found or {})


def _read(
    served: ServedRepository, before: str, tip: str
) -> dict[str, tuple[UpstreamUse, ...]] | None:
    """What differs since a commit; None where that is gone."""
    with served.mirror.open() as git:
        if before and not git.has(before):
            return None
        try:
            return dict(locks.changed(git, before, tip))
        except MissingObjectError:
            if before:
                return None
            raise
