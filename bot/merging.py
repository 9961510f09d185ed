"""Asking the forge to merge, and what is kept of a merge that it did not make.

What is kept says when it is asked again (docs/design.md, "Merge failures"). It stands in the
database, so that no restart begins to count anew; with an empty one it is asked at most as often
once more.
"""

from collections.abc import Mapping
from dataclasses import replace

import structlog

from bot import metrics
from bot.forges.port import (
    Forge,
    ForgeBusyError,
    ForgeMissingError,
    ForgeRefusedError,
    MergeResult,
)
from bot.look.required import merge_inputs
from bot.outcomes import DONE, ActionOutcome, ActionResult
from bot.store.port import Proposals
from bot.store.values import MergeRefusal
from lifecycle.actions import Merge
from lifecycle.facts.merging import MergeFailure, MergeObstacle
from lifecycle.identity import RepositoryId

log = structlog.get_logger()

WAITS: Mapping[MergeFailure, tuple[float | None, ...]] = {
    # Doubled each time up to a quarter of an hour, as looks that fail.
    MergeFailure.TRANSIENT: (*(2.0**n for n in range(10)), 900.0),
    MergeFailure.POLICY: (None,),
    # Three tries within a minute and a half: what passes by itself mostly has passed by then.
    MergeFailure.UNKNOWN: (15.0, 60.0, None),
}
"""Seconds until the forge is asked again after each failure in a row; None: another input."""


QUEUE_SHOWN = 15.0
"""Seconds after which the forge shows that a proposal is in the merge queue, or it is not."""


async def merge(
    forge: Forge, proposals: Proposals, repository_id: RepositoryId, action: Merge, said: str
) -> ActionResult:
    """Ask for a merge, and keep why it was not made.

    Args:
        forge: The repository's.
        proposals: Where it is kept.
        repository_id: Which repository.
        action: What to merge, and onto what.
        said: Digest of what was said on it that the forge's rules may wait for.

    Raises:
        ForgeBusyError: The forge asked us to wait.
        ForgeMissingError: It knows no such pull request.
    """
    with metrics.STEP_SECONDS.labels("merge").time():
        result = await _asked(forge, action)
    log.info("merge", number=action.number, obstacle=result.obstacle, reason=result.reason)
    place = (repository_id, action.number, action.head, action.base)
    if result.queued:
        inputs = merge_inputs(said, await forge.rules(action.base_ref))
        left = MergeRefusal("", inputs, MergeObstacle.LEFT_QUEUE)
        await proposals.refuse(*place, left, (QUEUE_SHOWN,))
        return DONE
    if result.obstacle is None:
        return replace(DONE, commit=result.commit)
    failure = result.obstacle.failure
    passing = failure is MergeFailure.TRANSIENT
    refusal = MergeRefusal(
        result.reason,
        "" if passing else merge_inputs(said, await forge.rules(action.base_ref)),
        result.obstacle,
    )
    await proposals.refuse(*place, refusal, WAITS[failure])
    # Of what passes, only another head is worth another look at once.
    wait = passing and result.obstacle is not MergeObstacle.HEAD_MOVED
    return ActionResult(
        ActionOutcome.WAIT if wait else ActionOutcome.LOOK_AGAIN,
        result.reason or result.obstacle,
    )


async def _asked(forge: Forge, action: Merge) -> MergeResult:
    """The forge's answer; one that was lost is a failure that passes, and the next look tells."""
    try:
        way = await forge.merge_way(action.number, action.base_ref)
        if way.elsewhere:
            return MergeResult(MergeObstacle.HEAD_MOVED, "its base branch is another one now")
        if way.queue:
            return await forge.enqueue(action.number, action.head)
        if way.bypassed:
            return MergeResult(MergeObstacle.BYPASS, way.bypassed)
        return await forge.merge(
            action.number, action.head, action.method, action.title, action.message
        )
    except ForgeBusyError as error:
        if error.after:
            raise
        return MergeResult(MergeObstacle.FORGE, error.reason)
    except ForgeMissingError:
        raise
    except ForgeRefusedError as error:
        return MergeResult(MergeObstacle.PERMISSION, error.reason)
