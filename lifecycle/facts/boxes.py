"""Boxes of the dashboard that make drafts: what was begun, and what waits for that."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunBox:
    """A box whose draft was asked for, and is open, or failed.

    Attributes:
        command: What it gave, without its slash.
        number: Of its pull request; 0 where there is none yet.
        failed: Why it failed; "" where it did not.
        left: It failed, and somebody said to go on all the same.
        since: When a look first found that it failed; None where it did not, or nobody noted it.
    """

    command: str
    number: int = 0
    failed: str = ""
    left: bool = False
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxWaves:
    """How far the boxes of a dashboard are that make drafts.

    Attributes:
        begun: What is open or failed, in the order in which it was begun.
        start: Commands that are answered now.
        waiting: Commands that wait for the next wave.
        left_out: Commands of packages that were made from one that failed and was left, or that are
            made from each other in a circle.
        unseen: Numbers of boxes to go on whose lines do not say what failed by now.
    """

    begun: tuple[BegunBox, ...] = ()
    start: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    unseen: frozenset[int] = frozenset()

    @property
    def open(self) -> tuple[BegunBox, ...]:
        """What is open."""
        return tuple(each for each in self.begun if not each.failed)

    @property
    def failed(self) -> tuple[BegunBox, ...]:
        """What failed and was not left."""
        return tuple(each for each in self.begun if each.failed and not each.left)

    @property
    def stopped(self) -> bool:
        """Nothing more is begun until somebody says to go on."""
        return bool(self.failed) and bool(self.waiting)


NOTHING_TICKED = BoxWaves()
