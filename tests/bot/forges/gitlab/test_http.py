"""What an answer of GitLab means: its status and text decide, not what the client makes of it."""

import ssl
from pathlib import Path

import pytest
import requests

from bot.forges.budget import Account
from bot.forges.gitlab.http import Clients, ask, call, send
from bot.forges.gitlab.limits import NOTES_SERVICE, REQUESTS, Cost, draws, pause, told
from bot.forges.gitlab.pages import pages
from bot.forges.port import (
    ForgeBusyError,
    ForgeDeniedError,
    ForgeMissingError,
    ForgeRefusedError,
)
from bot.store.buckets import Draw, ReportedLimit
from tests.bot.forges.gitlab.wire import URL, Wire
from tests.in_process import session

ANSWERS: dict[str, tuple[int, object, dict[str, str], type[Exception], str]] = {
    "a token that is none": (401, {"message": "401 Unauthorized"}, {}, ForgeDeniedError, "401"),
    "a token that ended": (
        401,
        {"error": "invalid_token", "error_description": "Token is expired."},
        {},
        ForgeDeniedError,
        "invalid_token; Token is expired",
    ),
    "not allowed": (403, {"message": "403 Forbidden"}, {}, ForgeRefusedError, "403 Forbidden"),
    "a scope that is lacking": (
        403,
        {"error": "insufficient_scope", "error_description": "needs more", "scope": "api"},
        {},
        ForgeRefusedError,
        "porchbot doctor",
    ),
    "not there": (
        404,
        {"message": "404 Branch Not Found"},
        {},
        ForgeMissingError,
        "404 Branch Not Found",
    ),
    "not now": (
        405,
        {"message": "405 Method Not Allowed"},
        {},
        ForgeRefusedError,
        "405 Method Not Allowed",
    ),
    "there already": (
        409,
        {"message": ["Another open merge request already exists: !59"]},
        {},
        ForgeRefusedError,
        "already exists: !59",
    ),
    "changed by another request just now": (
        409,
        {"message": "409 Conflict: Resource lock"},
        {},
        ForgeBusyError,
        "Resource lock",
    ),
    "texts by field": (
        400,
        {"message": {"name": ["is taken", "is long"]}},
        {},
        ForgeRefusedError,
        "name is taken, is long",
    ),
    "a parameter that is missing": (
        400,
        {"error": "title is missing"},
        {},
        ForgeRefusedError,
        "title is missing",
    ),
    "a server that is away": (502, "<html>GitLab is not responding", {}, ForgeBusyError, "502"),
    "success in HTML is none": (200, "<html>Sign in</html>", {}, ForgeBusyError, "no JSON"),
    "success cut short is none": (201, '{"iid": 1', {}, ForgeBusyError, "no JSON"),
    "a redirect is followed nowhere": (
        302,
        "",
        {"Location": "https://elsewhere.example/api/v4/x?private_token=1"},
        ForgeRefusedError,
        "redirects to https://elsewhere.example. Set the address",
    ),
}


@pytest.mark.parametrize(("status", "body", "told", "error", "text"), ANSWERS.values(), ids=ANSWERS)
def test_answers_that_are_no_success(
    status: int, body: object, told: dict[str, str], error: type[Exception], text: str
) -> None:
    """Fails when the client's own idea of success is taken, or it tries again by itself."""
    wire = Wire()
    wire.gives(status, body, **told)

    with pytest.raises(error, match=text) as raised:
        send(wire.clients(), "comment", "POST", "/x", body={})

    assert type(raised.value) is error
    assert wire.asked == ["POST /x"]
    assert "glpat" not in str(raised.value)


def test_what_is_limited_waits_as_long_as_gitlab_says() -> None:
    """Fails on the client's own behaviour: it sleeps in the thread, and drops the headers."""
    wire = Wire()
    wire.gives(429, "Retry later", Retry_After="37", RateLimit_Name="throttle_authenticated_api")

    with pytest.raises(ForgeBusyError, match="429") as raised:
        send(wire.clients(), "comment", "POST", "/x")

    assert raised.value.after == 37
    assert wire.asked == ["POST /x"]


def test_a_token_that_was_exchanged_is_used_at_once() -> None:
    """Fails when a client keeps the token it was made with: rotation revokes it at once."""
    wire = Wire()
    wire.gives(200, {})
    clients = wire.clients()
    send(clients, "read", "GET", "/user")
    wire.token = "glpat-two"

    send(clients, "read", "GET", "/user")

    assert wire.tokens == ["glpat-one", "glpat-two"]


async def test_pages_follow_the_link_but_never_to_another_host() -> None:
    """Fails when the address in `Link` is asked as it is: the token would go along, and an instance
    behind a proxy names itself otherwise. Keyset pages have no number, only the link."""
    wire = Wire()
    wire.gives(
        200,
        [{"id": 1}],
        Link="<https://elsewhere.example/api/v4/projects?id_after=1&membership=true&per_page=100"
        '&pagination=keyset>; rel="next"',
    )
    wire.gives(200, [{"id": 2}], X_Next_Page="")

    found = [each["id"] async for each in pages(wire.clients(), "list", "/projects", {"a": True})]

    assert found == [1, 2]
    assert wire.asked == [
        "GET /projects?per_page=100&a=true",
        "GET /projects?per_page=100&a=true&id_after=1&membership=true&pagination=keyset",
    ]
    assert set(wire.tokens) == {"glpat-one"}


async def test_pages_are_counted_where_there_is_no_link() -> None:
    """Fails when only `Link` is read: some proxies drop it."""
    wire = Wire()
    wire.gives(200, [1], X_Next_Page="2")
    wire.gives(200, [2], X_Next_Page="")

    assert [each async for each in pages(wire.clients(), "list", "/x")] == [1, 2]


async def test_what_was_asked_is_sent_as_json_and_decoded() -> None:
    wire = Wire()
    wire.gives(201, {"id": 3})

    answer = await call(wire.clients(), "comment", "POST", "/x", body={"body": "é\udc80"})

    assert answer.data == {"id": 3}
    assert wire.bodies == [{"body": "é?"}]


def test_a_certificate_that_is_not_trusted_says_what_to_do() -> None:
    """Fails when a refused certificate is told like a server that is away."""

    def refuses(*_: object) -> tuple[int, dict[str, str], bytes]:
        raise requests.exceptions.SSLError(ssl.SSLCertVerificationError())

    clients = Clients(URL, lambda: "t", session=lambda: session(refuses))

    with pytest.raises(ForgeBusyError, match="certificates in the settings"):
        ask(clients, "read", "GET", "/user")


def test_a_file_of_certificates_is_what_is_trusted(tmp_path: Path) -> None:
    """Fails when the file is dropped on the way to the request."""
    clients = Clients(URL, lambda: "t", ca=str(tmp_path / "none.pem"))

    with pytest.raises(OSError, match=r"none\.pem"):
        ask(clients, "read", "GET", "/user")


LEFT: dict[str, tuple[dict[str, str], ReportedLimit | None]] = {
    "as gitlab.com tells it": (
        {
            "ratelimit-limit": "2000",
            "ratelimit-remaining": "1999",
            "ratelimit-reset": "1000000060",
            "date": "Sun, 09 Sep 2001 01:46:40 GMT",
        },
        ReportedLimit(REQUESTS.name, 2000, 1999, 60),
    ),
    "an instance without limits tells nothing": ({}, None),
    "no number": ({"ratelimit-limit": "many"}, None),
}


@pytest.mark.parametrize(("headers", "expected"), LEFT.values(), ids=LEFT)
def test_what_is_left(headers: dict[str, str], expected: ReportedLimit | None) -> None:
    """Fails when our own clock, which may be wrong by days, tells how long a window lasts."""
    assert told(headers, 5.0) == expected


def test_how_long_to_wait() -> None:
    at = {"date": "Sun, 09 Sep 2001 01:46:40 GMT"}

    assert pause({"retry-after": "12"}, 0) == 12
    assert pause({"ratelimit-reset": "1000000030", **at}, 0) == 30
    assert pause({}, 0) == 60


def test_comments_take_from_a_limit_of_their_own() -> None:
    assert draws(Cost.NOTE, service=True) == (Draw(REQUESTS, 1), Draw(NOTES_SERVICE, 1))
    assert draws(Cost.REQUEST, service=True) == (Draw(REQUESTS, 1),)


async def test_what_an_answer_says_is_left_reaches_the_account() -> None:
    """Fails when headers are read of refusals only."""
    heard: list[ReportedLimit] = []

    class Hears(Account):
        def told(self, told: ReportedLimit) -> None:
            heard.append(told)

    wire = Wire()
    wire.gives(200, {}, RateLimit_Limit="9", RateLimit_Remaining="8", RateLimit_Reset="0")
    account = Hears("gitlab", None)
    clients = Clients(URL, lambda: "t", account=account, session=lambda: session(wire.answer))

    await call(clients, "read", "GET", "/user")

    assert heard == [ReportedLimit(REQUESTS.name, 9, 8, 0)]
