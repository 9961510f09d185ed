"""What GitHub limits, and what its answers say of it."""

import pytest

from bot.forges.github.limits import (
    CONTENT_HOUR,
    CONTENT_MINUTE,
    GRAPHQL_MINUTE,
    REST_MINUTE,
    Cost,
    draws,
    has_limits,
    pause,
    told,
)
from bot.store.buckets import ReportedLimit

HOSTS = {
    "https://api.github.com": True,
    "https://api.acme.ghe.com": True,
    "https://github.acme.example/api/v3": False,
    "http://127.0.0.1:1234/api/v3": False,
    "https://api.github.com.example": False,
}


@pytest.mark.parametrize(("url", "expected"), HOSTS.items(), ids=HOSTS)
def test_limits_for_moments_hold_where_github_is(url: str, expected: bool) -> None:
    assert has_limits(url) is expected
    names = [draw.bucket.name for draw in draws(Cost.CREATE, moments=expected)]
    assert names == (
        ["core", "rest-minute", "content-minute", "content-hour"] if expected else ["core"]
    )


HEADERS: dict[str, tuple[dict[str, str], ReportedLimit | None]] = {
    "an answer": (
        {"limit": "5000", "remaining": "4990", "reset": "1060"},
        ReportedLimit("core", 5000, 4990, 60),
    ),
    "of graphql": (
        {"limit": "5000", "remaining": "1", "reset": "900", "resource": "graphql"},
        ReportedLimit("graphql", 5000, 1, 0),
    ),
    "of another kind": (
        {"limit": "30", "remaining": "1", "reset": "9", "resource": "search"},
        None,
    ),
    "a server without limits": ({}, None),
    "no number": ({"limit": "many", "remaining": "1", "reset": "9"}, None),
}


DATE = "Sat, 21 Nov 2026 12:00:00 GMT"
NOON = 1_795_262_400


@pytest.mark.parametrize("wrong", [0, 3 * 86_400, -3 * 86_400])
def test_when_a_window_ends_is_told_by_the_clock_of_who_tells(wrong: int) -> None:
    """The short-cut reads it by ours: where that is wrong, no limit is heeded, or all of them for
    days, whatever is told later."""
    headers = {
        "date": DATE,
        "x-ratelimit-limit": "5000",
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": str(NOON + 60),
    }

    assert told(headers, NOON + wrong) == ReportedLimit("core", 5_000, 0, 60)
    assert pause(headers, NOON + wrong) == 60
    assert pause({"retry-after": "7"}, NOON) == 7
    assert pause({"retry-after": "9" * 400}, NOON) == 3_600
    assert pause({"retry-after": "²", "x-ratelimit-reset": "soon"}, NOON) == 60


@pytest.mark.parametrize(("headers", "expected"), HEADERS.values(), ids=HEADERS)
def test_what_an_answer_says_is_left(
    headers: dict[str, str], expected: ReportedLimit | None
) -> None:
    named = {f"x-ratelimit-{name}": value for name, value in headers.items()}

    assert told(named, 1_000) == expected


def test_sizes_and_what_comes_back_stay_below_what_github_publishes() -> None:
    """The short-cut has the whole limit in a bucket, and fills it again within the minute."""
    published = {
        REST_MINUTE: (60, 900),
        GRAPHQL_MINUTE: (60, 2_000),
        CONTENT_MINUTE: (60, 80),
        CONTENT_HOUR: (3_600, 500),
    }
    for bucket, (seconds, most) in published.items():
        assert bucket.size + seconds * bucket.rate <= most
