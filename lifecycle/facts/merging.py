"""What stands between a proposal and its merge, beside our own gates.

Failures of merges are sorted by what ends them: time, a changed input, or nothing that the bot
knows of (docs/design.md, "Merge failures").
"""

from dataclasses import dataclass
from enum import StrEnum

from lifecycle.facts.checks import AwaitedCheck, Required


class MergeFailure(StrEnum):
    """What ends a failure to merge."""

    TRANSIENT = "transient"
    """Time: it is tried again, less and less often."""
    POLICY = "policy"
    """A changed input: until then every other try would end alike."""
    UNKNOWN = "unknown"
    """Nobody knows: three tries, then as for a policy."""


class MergeObstacle(StrEnum):
    """Why the forge did not merge, as far as its words tell."""

    FORGE = "forge failed"
    BASE_MOVED = "base moved"
    HEAD_MOVED = "head moved"
    UNDER_WAY = "merge under way"
    REVIEW = "review"
    CHECK = "check"
    CONVERSATION = "conversation"
    SIGNATURE = "signature"
    METHOD = "method"
    QUEUE = "merge queue"
    LEFT_QUEUE = "left merge queue"
    BYPASS = "bypass"
    BEHIND = "behind base"
    DRAFT = "draft"
    CONFLICT = "conflict"
    PERMISSION = "permission"
    RULE = "rule"
    UNKNOWN = "unknown"

    @property
    def failure(self) -> MergeFailure:
        """What ends it."""
        if self in _TRANSIENT:
            return MergeFailure.TRANSIENT
        return MergeFailure.UNKNOWN if self is MergeObstacle.UNKNOWN else MergeFailure.POLICY


_TRANSIENT = frozenset(
    {
        MergeObstacle.FORGE,
        MergeObstacle.BASE_MOVED,
        MergeObstacle.HEAD_MOVED,
        MergeObstacle.UNDER_WAY,
    }
)


@dataclass(frozen=True, slots=True)
class MergeWait:
    """The forge was asked to merge, or to tag, and did not; what was asked of it is the same still.

    Attributes:
        obstacle: Why.
        reason: The forge's own words.
        given_up: It is not tried again by itself: only a changed input, or `/check`, brings a try.
    """

    obstacle: MergeObstacle
    reason: str
    given_up: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Merging:
    """What stands between a proposal and its merge beside our own gates.

    Attributes:
        required: Checks of others that the base branch requires.
        outside: Checks of others that the configuration waits for.
        enforced: The base branch requires `porchbot/publish`; None where that was not asked.
        queued: The base branch's publishing knows that this proposal waits for it.
        in_queue: It is in the merge queue of the base branch.
        enqueued: We put it there.
        wait: Why the forge did not make the last merge of this head onto this base, or the tags of
            a merge result; None where it was not asked, or may be asked again.
    """

    required: tuple[Required, ...] = ()
    outside: tuple[AwaitedCheck, ...] = ()
    enforced: bool | None = None
    queued: bool = False
    in_queue: bool = False
    enqueued: bool = False
    wait: MergeWait | None = None
