"""What GitLab's requests cost, and how many it grants.

It tells in its answers what is left where a limit is set: on gitlab.com one for a minute and an
account, on an instance of somebody's own often none, and then nothing is told and nothing is
withheld. Comments have a limit that is told only once it is reached.

Source: https://docs.gitlab.com/security/rate_limits/,
https://docs.gitlab.com/administration/settings/user_and_ip_rate_limits/#response-headers
"""

from collections.abc import Mapping
from enum import Enum

from bot.forges.exchange import given_at
from bot.store.buckets import WINDOW, Bucket, Draw, ReportedLimit
from fnrunner import urls

REQUESTS = Bucket("gitlab-requests", 1_000_000)
"""Of a window as the instance tells of it; as good as none until it does."""

# What is written and what comes back in a minute stay below what a minute may have: 60 on
# gitlab.com, elsewhere 300 unless an administrator says otherwise.
NOTES_SERVICE = Bucket("gitlab-notes", 15, 0.7)
NOTES_OWN = Bucket("gitlab-notes", 60, 3.5)


class Cost(Enum):
    """Kinds of requests, by what they cost."""

    REQUEST = "request"
    NOTE = "note"
    """It writes a comment, or opens a thread."""


def is_service(url: str) -> bool:
    """Whether an address is GitLab's own service, whose limits are published."""
    return urls.parts(url).hostname == "gitlab.com"


def draws(cost: Cost, *, service: bool) -> tuple[Draw, ...]:
    """What a request takes.

    Args:
        cost: Its kind.
        service: Of GitLab's own service.
    """
    notes = (Draw(NOTES_SERVICE if service else NOTES_OWN, 1),) if cost is Cost.NOTE else ()
    return (Draw(REQUESTS, 1), *notes)


def told(headers: Mapping[str, str], now: float) -> ReportedLimit | None:
    """Read what an answer says is left; None when it says nothing of that.

    Args:
        headers: Names in lower case.
        now: Seconds since 1970, where the answer does not say when it was given.
    """
    numbers = [headers.get(f"ratelimit-{name}", "") for name in ("limit", "remaining", "reset")]
    if not all(number.isdecimal() for number in numbers):
        return None
    limit, left, reset = (float(number) for number in numbers)
    return ReportedLimit(REQUESTS.name, limit, left, _until(reset, headers, now))


def pause(headers: Mapping[str, str], now: float) -> float:
    """Seconds to wait that an answer asks for: Retry-After, else until the reset, else a minute.

    Args:
        headers: Names in lower case.
        now: As for `told`.
    """
    after, reset = (headers.get(name, "") for name in ("retry-after", "ratelimit-reset"))
    if after.isdecimal():
        return min(WINDOW, max(1.0, float(after)))
    return max(1.0, _until(float(reset), headers, now)) if reset.isdecimal() else 60.0


def _until(reset: float, headers: Mapping[str, str], now: float) -> float:
    """Seconds until a moment, by the clock of who told it."""
    return min(WINDOW, max(0.0, reset - given_at(headers, now)))
