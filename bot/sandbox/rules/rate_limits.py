"""Limits of requests: by the hour, and for moments, as GitHub counts and refuses them.

Source: docs/design.md, "GitHub: identity and limits"
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.sandbox.errors import RefusedError

CREATING = frozenset(
    {
        "POST /repos/{owner}/{repo}/issues",
        "POST /repos/{owner}/{repo}/issues/{issue_number}/comments",
        "POST /repos/{owner}/{repo}/pulls",
        "POST /repos/{owner}/{repo}/pulls/{pull_number}/comments",
        "POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews",
        "PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge",
    }
)
"""Operations whose description warns of "creating content too quickly"."""


@dataclass
class RateLimits:
    """What one caller may ask; each has the same.

    Attributes:
        hour: Requests in an hour on the clock.
        points: Of REST in any minute: a read is one, a write five.
        content: Requests in any minute that people are told of.
        content_hour: The same in any hour.
        refused: How many were refused.
    """

    hour: int = 5_000
    points: int = 900
    content: int = 80
    content_hour: int = 500
    refused: int = 0
    _came: defaultdict[str, deque[tuple[datetime, int, bool]]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    _used: defaultdict[tuple[str, datetime], int] = field(default_factory=lambda: defaultdict(int))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, caller: str, method: str, template: str, now: datetime) -> None:
        """Count a request, or refuse it; 403."""
        with self._lock:
            came, used = self._came[caller], self.used(caller, now)
            while came and came[0][0] <= now - timedelta(hours=1):
                came.popleft()
            points = 1 if method == "GET" else 5
            creates = f"{method} {template}" in CREATING
            minute = [each for each in came if each[0] > now - timedelta(minutes=1)]
            if used >= self.hour:
                self.refused += 1
                raise RefusedError(403, f"API rate limit exceeded for {caller}.")
            too_much = (
                sum(each[1] for each in minute) + points > self.points
                or (creates and sum(each[2] for each in minute) >= self.content)
                or (creates and sum(each[2] for each in came) >= self.content_hour)
            )
            if too_much:
                self.refused += 1
                raise RefusedError(
                    403,
                    "You have exceeded a secondary rate limit. Please wait a few minutes before"
                    " you try again.",
                    headers={"Retry-After": "60"},
                )
            came.append((now, points, creates))
            self._used[caller, _hour(now)] += 1

    def used(self, caller: str, now: datetime) -> int:
        """How many requests counted in this hour on the clock."""
        return self._used[caller, _hour(now)]


def _hour(now: datetime) -> datetime:
    return now.replace(minute=0, second=0, microsecond=0)
