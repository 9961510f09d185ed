"""Token buckets of one account at a forge: what may still be asked of it.

The same as the function `budget_draw` of the database (bot/store/budget_function.py), for a process
that has to do without one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

SLACK = 100.0
"""Requests that may be under way while an answer says what is left: GitHub allows so many at once.
What an answer says is believed up to these."""

UNTOLD = 60.0
"""Seconds to wait for a window whose end nobody told: GitHub's own advice."""

WINDOW = 3_600.0
"""Seconds that a window has, as at GitHub: one whose end nobody told begins anew after these (a
server without limits tells nothing), and none ends later, nor a pause, whatever clocks say."""

SAME = 5.0
"""Seconds by which two answers may differ about the end of one window."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """One limit of a forge.

    Attributes:
        name: Such as "rest-minute".
        size: Tokens at most, until the forge tells another number.
        rate: Tokens that come back each second; 0 for a window that the forge resets as a whole.
    """

    name: str
    size: float
    rate: float = 0.0


@dataclass(frozen=True, slots=True)
class Draw:
    """What is to be taken out of one bucket.

    Attributes:
        bucket: Which.
        tokens: How many.
        keep: Share of its size that is left to others, from 0 to 1.
    """

    bucket: Bucket
    tokens: float
    keep: float = 0.0


@dataclass(frozen=True, slots=True)
class ReportedLimit:
    """What the forge said of a window.

    Attributes:
        bucket: Its name.
        limit: What it holds.
        left: What was left.
        ends: Seconds until it begins anew.
    """

    bucket: str
    limit: float
    left: float
    ends: float


@dataclass(frozen=True, slots=True)
class BucketLevel:
    """How full a bucket is.

    Attributes:
        tokens: What was there.
        size: What it holds.
        at: When, in seconds; where nobody told when the window ends, when it began.
        ends: When the window begins anew; None where nobody told.
    """

    tokens: float
    size: float
    at: float
    ends: float | None = None


@dataclass(slots=True)
class Buckets:
    """The buckets of one account.

    Attributes:
        levels: By name of the bucket.
        paused: Until when the forge wants nothing asked, in seconds.
    """

    levels: dict[str, BucketLevel] = field(default_factory=dict)
    paused: float = 0.0

    def take(self, draws: Sequence[Draw], told: Sequence[ReportedLimit], now: float) -> float:
        """Take all or nothing; gives 0, or the seconds until all of it may be there."""
        for each in told:
            self.levels[each.bucket] = _heard(self.levels.get(each.bucket), each, now)
        self.paused = min(self.paused, now + WINDOW)
        wait = max(0.0, self.paused - now)
        for draw in draws:
            level = _refilled(self.levels.get(draw.bucket.name), draw.bucket, now)
            self.levels[draw.bucket.name] = level
            wait = max(wait, _missing(level, draw, now))
        if wait == 0:
            for draw in draws:
                level = self.levels[draw.bucket.name]
                self.levels[draw.bucket.name] = replace(level, tokens=level.tokens - draw.tokens)
        return wait

    def left(self, now: float) -> Mapping[str, tuple[float, float]]:
        """Bucket to tokens and size; those that fill by themselves as they were."""
        return {
            name: (level.size if level.ends and now >= level.ends else level.tokens, level.size)
            for name, level in self.levels.items()
        }


def _heard(level: BucketLevel | None, told: ReportedLimit, now: float) -> BucketLevel:
    ends = now + min(WINDOW, told.ends)
    if level is None or level.ends is None or ends > level.ends + SAME:
        return BucketLevel(told.left, told.limit, now, ends)
    if ends < level.ends - SAME:
        return level  # an answer from before
    tokens = max(min(level.tokens, told.left), told.left - SLACK)
    return BucketLevel(tokens, told.limit, now, level.ends)


def _refilled(level: BucketLevel | None, bucket: Bucket, now: float) -> BucketLevel:
    if level is None:
        return BucketLevel(bucket.size, bucket.size, now)
    if bucket.rate:
        tokens = min(bucket.size, level.tokens + bucket.rate * (now - level.at))
        return BucketLevel(tokens, bucket.size, now)
    if now >= (level.at + WINDOW if level.ends is None else level.ends):
        return BucketLevel(level.size, level.size, now)
    return level


def _missing(level: BucketLevel, draw: Draw, now: float) -> float:
    short = draw.tokens + draw.keep * level.size - level.tokens
    if short <= 0:
        return 0.0
    if draw.bucket.rate:
        return short / draw.bucket.rate
    return UNTOLD if level.ends is None else max(1.0, level.ends - now)
