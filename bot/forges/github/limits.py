"""What GitHub's requests cost, and how many it grants.

By the hour it tells itself, in the headers of its answers. The limits for moments are told nowhere
but in its documentation, and hold for its own service; of a server of somebody's own nobody knows
whether there are any, so there only what it says is heeded.

Source: docs/design.md, "GitHub: identity and limits".
"""

from collections.abc import Mapping
from enum import Enum

from bot.forges.exchange import given_at
from bot.store.buckets import WINDOW, Bucket, Draw, ReportedLimit
from fnrunner import urls

REST_HOUR = Bucket("core", 5_000)
GRAPHQL_HOUR = Bucket("graphql", 5_000)
# Size and a minute of what comes back stay below what a minute may have: 900, 2,000 and 80.
REST_MINUTE = Bucket("rest-minute", 300, 9.0)
GRAPHQL_MINUTE = Bucket("graphql-minute", 500, 24.0)
CONTENT_MINUTE = Bucket("content-minute", 20, 0.95)
CONTENT_HOUR = Bucket("content-hour", 120, 0.1)  # of 500

_HOURLY = {"core": REST_HOUR, "graphql": GRAPHQL_HOUR}


class Cost(Enum):
    """Kinds of requests, by what they cost; a read is one point, a write is five."""

    READ = (Draw(REST_HOUR, 1), Draw(REST_MINUTE, 1))
    WRITE = (Draw(REST_HOUR, 1), Draw(REST_MINUTE, 5))
    CREATE = (*WRITE, Draw(CONTENT_MINUTE, 1), Draw(CONTENT_HOUR, 1))
    """It makes something that people are told of: a comment, a pull request, a merge."""
    QUERY = (Draw(GRAPHQL_HOUR, 1), Draw(GRAPHQL_MINUTE, 1))
    MUTATION = (Draw(GRAPHQL_HOUR, 1), Draw(GRAPHQL_MINUTE, 5))


def cost_of(verb: str) -> Cost:
    """What a request of REST costs that creates nothing that people are told of."""
    return Cost.READ if verb in {"GET", "HEAD"} else Cost.WRITE


def has_limits(api_url: str) -> bool:
    """Whether an address is one of GitHub's own service, where the limits for moments hold."""
    host = urls.parts(api_url).hostname or ""
    return host == "api.github.com" or host.endswith(".ghe.com")


def draws(cost: Cost, *, moments: bool) -> tuple[Draw, ...]:
    """What a request takes.

    Args:
        cost: Its kind.
        moments: With the limits for a minute, and for what people are told of.
    """
    return tuple(d for d in cost.value if moments or not d.bucket.rate)


def told(headers: Mapping[str, str], now: float) -> ReportedLimit | None:
    """Read what an answer says is left; None when it says nothing of that.

    Args:
        headers: Names in lower case.
        now: Seconds since 1970, where the answer does not say when it was given.
    """
    resource = headers.get("x-ratelimit-resource", "core")
    numbers = [headers.get(f"x-ratelimit-{n}", "") for n in ("limit", "remaining", "reset")]
    if resource not in _HOURLY or not all(number.isdecimal() for number in numbers):
        return None
    limit, left, reset = (float(number) for number in numbers)
    return ReportedLimit(
        resource, limit, left, min(WINDOW, max(0.0, reset - given_at(headers, now)))
    )


def pause(headers: Mapping[str, str], now: float) -> float:
    """Seconds to wait that an answer asks for: Retry-After, else until the reset, else a minute.

    Args:
        headers: Names in lower case.
        now: As for `told`.
    """
    after, reset = (headers.get(name, "") for name in ("retry-after", "x-ratelimit-reset"))
    if after.isdecimal():
        return min(WINDOW, float(after))
    if headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
        return min(WINDOW, max(1.0, float(reset) - given_at(headers, now)))
    return 60.0
