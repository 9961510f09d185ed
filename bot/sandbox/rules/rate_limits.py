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


@dataclass
class Throttle:
    """What one caller may ask of GitLab in a minute on the clock; each has the same.

    Source: https://docs.gitlab.com/administration/settings/user_and_ip_rate_limits/

    Attributes:
        requests: Of the API, as on gitlab.com.
        notes: That make notes.
        refused: How many were refused.
    """

    requests: int = 2_000
    notes: int = 60
    refused: int = 0
    _used: defaultdict[tuple[str, str, datetime], int] = field(
        default_factory=lambda: defaultdict(int)
    )
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, caller: str, method: str, template: str, now: datetime) -> None:
        """Count a request, or refuse it; 429 in plain text."""
        minute = now.replace(second=0, microsecond=0)
        kinds = [("api", self.requests)]
        if method == "POST" and template.endswith("/notes"):
            kinds.append(("notes", self.notes))
        with self._lock:
            for kind, limit in kinds:
                self._used[caller, kind, minute] += 1
                if self._used[caller, kind, minute] > limit:
                    self.refused += 1
                    left = int((minute + timedelta(minutes=1) - now).total_seconds()) + 1
                    raise RefusedError(429, "Retry later", headers={"Retry-After": str(left)})

    def headers(self, caller: str, now: datetime) -> dict[str, str]:
        """How much a caller has used, as the answers' headers tell."""
        minute = now.replace(second=0, microsecond=0)
        reset = minute + timedelta(minutes=1)
        used = self._used[caller, "api", minute]
        return {
            "RateLimit-Limit": str(self.requests),
            "RateLimit-Name": "throttle_authenticated_api",
            "RateLimit-Observed": str(used),
            "RateLimit-Remaining": str(max(0, self.requests - used)),
            "RateLimit-Reset": str(int(reset.timestamp())),
        }
