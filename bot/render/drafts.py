"""Reads what drafts are made from."""

from bot.render.port import DraftSides, TreeFiles
from cadlib.limits import PackageLimits
from lifecycle.drafting.make import DraftInputs


def draft_inputs(trees: TreeFiles, sides: DraftSides, limits: PackageLimits) -> DraftInputs:
    """Read what a draft is made from.

    Args:
        trees: Where the files are.
        sides: Their trees.
        limits: For packages.

    Raises:
        PackageError: There is more than the limits allow.
    """
    here, revision = (trees.files(t, limits) if t else {} for t in (sides.here, sides.revision))
    return DraftInputs(
        here=here,
        revision=revision,
        upstream=sides.upstream,
        ref=sides.ref,
        context=sides.context,
        conflicts=sides.conflicts,
        allow=sides.allow,
        limits=limits,
    )
