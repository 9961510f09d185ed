"""The operator's page: for whoever has the token, and what it changes only from itself.

Longer than 400 lines: one page, in the order in which it is met.
"""

import asyncio
import base64
import hashlib
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import unquote_plus

import httpx
import pytest
from starlette.types import Message
from structlog.testing import capture_logs

from bot.gitlabs import GitLabInstance
from bot.http import board, web
from bot.http.login import COOKIE, SESSION
from bot.http.ready import MissingError, Readiness, ReadinessCheck
from bot.keys import ProposalKey, RepositoryKey
from bot.store.buckets import Bucket, Draw
from bot.store.values import Wait
from lifecycle.identity import RepositoryId
from tests.bot.http.test_web import SETTINGS
from tests.contract.stores import Repository
from tests.ids import FIRST
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore

TOKEN = "a token of the operator"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
HERE = {"Origin": "http://bot"}
KEY = ProposalKey(FIRST, 1, "drafts/net/core/v1")
EVIL = "<script>alert(1)</script>"


@dataclass
class _Counting(ManualClock):
    """Counts statements of the store: each waits for nothing once."""

    statements: int = 0

    async def sleep(self, seconds: float) -> None:
        self.statements += not seconds
        await super().sleep(seconds)


@dataclass
class Stage:
    """The page over a store in memory."""

    clock: _Counting
    store: MemoryStore
    browser: httpx.AsyncClient

    async def logs_in(self) -> httpx.Response:
        return await self.browser.post("/status/login", data={"token": TOKEN}, headers=HERE)

    async def form(self) -> str:
        page = (await self.browser.get("/status")).text
        found = re.search(r'name="form" value="(\w+)"', page)
        assert found is not None
        return found[1]


@asynccontextmanager
async def opened(token: str = TOKEN) -> AsyncIterator[Stage]:
    async def away() -> None:
        raise MissingError("runner: it is away")

    clock = _Counting()
    store = MemoryStore(clock)
    needs = {"runner": ReadinessCheck(away, 0)}
    corp = GitLabInstance(name="corp", url="https://gitlab.corp", token="", webhook_secrets=())
    settings = replace(SETTINGS, status_token=token, gitlabs=(corp,))
    application = web.app(settings, store, Readiness(needs), [], clock=clock)
    transport = httpx.ASGITransport(app=application)
    async with httpx.AsyncClient(transport=transport, base_url="http://bot") as browser:
        yield Stage(clock, store, browser)


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with opened() as found:
        await found.store.repositories.adopt(Repository(), found.clock.now(), {})
        yield found


def waits_for(gate: str, actual: str = "0 of 1") -> Wait:
    return Wait(gate=gate, reason=gate, actual=actual, wanted="1 more", who="@net-leads")


async def fails(stage: Stage, error: str) -> None:
    await stage.store.queue.wake(KEY)
    taken = await stage.store.queue.take("test")
    assert taken is not None
    await stage.store.queue.failed(taken, error, 60)


# --- who may see it -------------------------------------------------------------------------------


async def test_without_a_token_there_is_no_page() -> None:
    """Short-cut refused: a page for everybody who reaches the bot, as most tools have."""
    async with opened(token="") as stage:
        answers = [
            await stage.browser.get("/status", headers={"Authorization": "Bearer "}),
            await stage.browser.get("/status.json", headers={"Authorization": "Bearer "}),
            await stage.browser.post("/status/login", data={"token": ""}, headers=HERE),
        ]

    assert [answer.status_code for answer in answers] == [404] * 3
    assert "Set PORCHBOT_STATUS_TOKEN" in answers[0].text


WRONG: dict[str, dict[str, str]] = {
    "nothing": {},
    "no token": {"Authorization": "Bearer "},
    "another kind": {"Authorization": f"Basic {TOKEN}"},
    "another token": {"Authorization": f"Bearer {TOKEN}x"},
    "a cookie of nobody's": {"Cookie": f"{COOKIE}=99999999999.{'0' * 64}"},
    "a cookie that is none": {"Cookie": f"{COOKIE}=\u2028"},
}


@pytest.mark.parametrize("headers", WRONG.values(), ids=WRONG)
async def test_who_has_no_token_sees_nothing(stage: Stage, headers: dict[str, str]) -> None:
    await fails(stage, "403: the IP allow list")
    sent = {name.encode(): value.encode() for name, value in headers.items()}

    page = await stage.browser.get("/status", headers=sent)
    data = await stage.browser.get("/status.json", headers=sent)
    again = await stage.browser.post("/status/again", headers=sent, data={"key": str(KEY)})

    assert [page.status_code, data.status_code, again.status_code] == [401, 401, 403]
    assert 'action="/status/login"' in page.text
    assert "allow list" not in page.text + data.text
    assert await stage.store.audit.entries(str(KEY)) == ()


async def test_a_login_lasts_for_a_working_day(stage: Stage) -> None:
    """Short-cuts refused: the token itself in the cookie; and a cookie that never ends."""
    answer = await stage.logs_in()

    assert (answer.status_code, answer.headers["location"]) == (303, "/status")
    cookie = answer.headers["set-cookie"]
    assert TOKEN not in unquote_plus(cookie)
    for flag in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert flag in cookie
    assert (await stage.browser.get("/status")).status_code == 200
    stage.clock.seconds += SESSION + 1
    assert (await stage.browser.get("/status")).status_code == 401


async def test_the_cookie_is_for_https_alone_where_the_browser_came_so(stage: Stage) -> None:
    sent = {**HERE, "X-Forwarded-Proto": "https"}

    answer = await stage.browser.post("/status/login", data={"token": TOKEN}, headers=sent)

    assert "Secure" in answer.headers["set-cookie"]


async def test_a_wrong_token_is_said_and_waits(stage: Stage) -> None:
    before = stage.clock.seconds

    answer = await stage.browser.post("/status/login", data={"token": "x"}, headers=HERE)

    assert answer.status_code == 401
    assert "Wrong token." in answer.text
    assert "set-cookie" not in answer.headers
    assert stage.clock.seconds > before


async def test_logging_out(stage: Stage) -> None:
    await stage.logs_in()

    data = {"form": await stage.form()}
    answer = await stage.browser.post("/status/logout", data=data, headers=HERE)

    assert answer.status_code == 303
    assert (await stage.browser.get("/status")).status_code == 401


# --- what it changes ------------------------------------------------------------------------------


async def test_the_button_has_a_key_looked_at_at_once_and_is_written_down(stage: Stage) -> None:
    await fails(stage, "403: the IP allow list")
    await stage.logs_in()

    data = {"form": await stage.form(), "key": str(KEY)}
    answer = await stage.browser.post("/status/again", data=data, headers=HERE)

    assert answer.status_code == 303
    assert str(KEY) in (await stage.browser.get(answer.headers["location"])).text
    taken = await stage.store.queue.take("test")
    assert taken is not None
    assert (taken.key, taken.hint.by) == (str(KEY), frozenset({"operator"}))
    (entry,) = await stage.store.audit.entries(str(KEY))
    asked = {"asked": [{"by": "operator"}], "values": {}, "outcome": "DONE"}
    assert entry[1:] == ("operator", "TryAgain", asked)


FOREIGN: dict[str, tuple[dict[str, str], bool]] = {
    "another site": ({"Origin": "http://evil.example"}, True),
    "another site, as the browser says": ({**HERE, "Sec-Fetch-Site": "cross-site"}, True),
    "a frame without an origin": ({"Origin": "null"}, True),
    "no origin": ({}, True),
    "an origin that is no address": ({"Origin": "http://["}, True),
    "an origin that is none, for no host": ({"Origin": "http://[", "Host": ""}, True),
    "not from a page of ours": (HERE, False),
}


@pytest.mark.parametrize(("headers", "with_form"), FOREIGN.values(), ids=FOREIGN)
async def test_what_others_have_a_browser_send_changes_nothing(
    stage: Stage, headers: dict[str, str], with_form: bool
) -> None:
    """Short-cut refused: the cookie alone; any page could press the button then."""
    await stage.logs_in()
    data = {"key": str(KEY), "form": await stage.form() if with_form else "0" * 64}

    answer = await stage.browser.post("/status/again", data=data, headers=headers)
    login = await stage.browser.post(
        "/status/login", data={"token": TOKEN}, headers={**headers, "Origin": "http://evil.example"}
    )

    assert (answer.status_code, login.status_code) == (403, 403)
    assert "Open /status and try again" in answer.text
    assert await stage.store.queue.take("test") is None
    assert await stage.store.audit.entries(str(KEY)) == ()


async def test_programs_send_the_token_alone(stage: Stage) -> None:
    right = await stage.browser.post("/status/again", data={"key": str(KEY)}, headers=BEARER)
    wrong = await stage.browser.post("/status/again", data={"key": "made up"}, headers=BEARER)
    large = await stage.browser.post("/status/again", content=b"x" * 10_000, headers=BEARER)
    odd = await stage.browser.post("/status/again", content=b"key=\xff%ff", headers=BEARER)

    assert [r.status_code for r in (right, wrong, large, odd)] == [303, 400, 403, 403]
    assert "work key 'made up': not one of ours" in wrong.text


# --- what it shows --------------------------------------------------------------------------------


async def test_the_page_tells_what_waits_what_fails_and_who_is_there(stage: Stage) -> None:
    await fails(stage, f"403: {EVIL} ghs_{'a1B2' * 9}")
    await stage.store.waits.keep(FIRST, str(KEY), {7: [waits_for("approved", EVIL)]})
    await stage.store.replicas.beat("1-a", f"host{EVIL}", "web, work", "1.0")
    await stage.store.queue.wake(RepositoryKey(FIRST))
    for bucket, tokens in (("core", 10), ("graphql", 90)):
        await stage.store.budgets.take("github:3", [Draw(Bucket(bucket, 100), tokens)])
    stage.clock.seconds += 3 * 3600 + 20 * 60
    await stage.logs_in()

    answer = await stage.browser.get("/status")

    text = re.sub(r"<[^>]+>", " ", answer.text)
    words = " ".join(text.split())
    assert EVIL not in answer.text
    assert "ghs_" not in answer.text
    for said in (
        "runner runner: it is away",
        "proposal 1 1 0 1",
        f"{KEY} acme/blueprints 1 403: &lt;script&gt;alert(1)&lt;/script&gt; [secret] in 0 s",
        "approved: 1 Proposal",
        "acme/blueprints#7 drafts/net/core/v1 approved : &lt;script&gt;alert(1)&lt;/script&gt;;"
        " needed: 1 more (@net-leads)",
        "2026-01-01 00:00 (3 h 20 min)",
        "repository 1 never never in 0 s",
        "github:3 graphql 10 100 github:3 core 90 100",
        "1-a host&lt;script&gt;alert(1)&lt;/script&gt; web, work 1.0 3 h 20 min 3 h 20 min ago",
    ):
        assert said in words, said


async def test_the_page_runs_nothing_and_is_kept_nowhere(stage: Stage) -> None:
    """The style sheet is the only thing that the page lets a browser take in."""
    await stage.logs_in()

    answer = await stage.browser.get("/status")

    (style,) = re.findall(r"<style>(.*?)</style>", answer.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = answer.headers["content-security-policy"]
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["cache-control"] == "no-store"
    assert "<script" not in answer.text


async def test_many_proposals_come_in_pages_and_cost_no_more(stage: Stage) -> None:
    """Short-cut refused: all of 5,000 on one page, or a question to the database for each."""
    await stage.logs_in()
    before = stage.clock.statements
    await stage.browser.get("/status")
    of_none = stage.clock.statements - before
    for number in range(1, 121):
        await stage.store.waits.keep(FIRST, f"key {number}", {number: [waits_for("approved")]})
    before = stage.clock.statements

    shown: list[int] = []
    path = "/status"
    for _ in range(3):
        page = (await stage.browser.get(path)).text
        shown += map(int, re.findall(r"acme/blueprints#(\d+)", page))
        path = "".join(re.findall(r'href="(/status\?after=[^"]+)"', page))

    assert shown == list(range(1, 121))
    assert path == ""
    assert stage.clock.statements - before == 3 * of_none > 0
    assert len(shown) > 2 * board.PAGE


async def test_a_merge_request_is_written_as_at_its_forge(stage: Stage) -> None:
    """The short-cut writes `#7` for all."""
    at_gitlab = RepositoryId("corp", 9)
    await stage.store.repositories.adopt(Repository(at_gitlab, "shop/x"), stage.clock.now(), {})
    await stage.store.waits.keep(at_gitlab, f"{at_gitlab}:pull:7", {7: [waits_for("approved")]})
    await stage.store.waits.keep(FIRST, str(KEY), {7: [waits_for("approved")]})
    await stage.logs_in()

    page = (await stage.browser.get("/status")).text

    assert "shop/x!7<br>" in page
    assert "acme/blueprints#7<br>" in page


async def test_the_same_for_programs(stage: Stage) -> None:
    await fails(stage, "403: the IP allow list")
    for number in range(1, board.PAGE + 2):
        await stage.store.waits.keep(FIRST, f"{KEY}{number}", {number: [waits_for("approved")]})

    said = (await stage.browser.get("/status.json", headers=BEARER)).json()
    after = ":".join(map(str, said["more"]))
    rest = (await stage.browser.get(f"/status.json?after={after}", headers=BEARER)).json()

    assert said["needs"] == {"runner": "runner: it is away"}
    assert said["queue"]["kinds"]["proposal"]["failing"] == 1
    (failing,) = said["failing"]
    assert (failing["key"], failing["error"]) == (str(KEY), "403: the IP allow list")
    first = said["waiting"][0]
    assert (first["repository"], first["number"]) == ("acme/blueprints", 1)
    since, wait = first["waits"][0]
    assert datetime.fromisoformat(since) == stage.clock.now()
    assert wait["who"] == "@net-leads"
    assert [each["number"] for each in rest["waiting"]] == [board.PAGE + 1]
    assert rest["more"] is None


@pytest.mark.parametrize("after", ["x", "1", "1:", "9" * 30 + ":1", "1:2:3"])
async def test_a_place_that_is_none_begins_at_the_first_page(stage: Stage, after: str) -> None:
    await stage.store.waits.keep(FIRST, str(KEY), {7: [waits_for("approved")]})

    said = await stage.browser.get("/status.json", params={"after": after}, headers=BEARER)

    assert [each["number"] for each in said.json()["waiting"]] == [7]


async def test_a_database_that_is_away_is_said(stage: Stage) -> None:
    await stage.logs_in()
    stage.store.statements.reachable = False

    page = await stage.browser.get("/status")
    data = await stage.browser.get("/status.json", headers=BEARER)
    again = await stage.browser.post("/status/again", data={"key": str(KEY)}, headers=BEARER)

    assert [r.status_code for r in (page, data, again)] == [503] * 3
    assert "The database cannot be reached" in page.text
    assert "runner: it is away" in page.text
    assert "The database cannot be reached" in data.json()["message"] + again.text


# --- who only reaches the port --------------------------------------------------------------------

FORMS = ("/status/login", "/status/logout", "/status/again")


async def posted(
    path: str, token: str, headers: Mapping[str, str], *messages: Message
) -> tuple[int, int]:
    """The status that a form is answered with, and how much of its body was taken."""
    taken: list[Message] = []
    sent: list[Message] = []

    async def receive() -> Message:
        taken.append(messages[len(taken)])
        return taken[-1]

    async def send(message: Message) -> None:
        sent.append(message)

    named = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": path, "headers": [(b"host", b"bot"), *named]}
    settings = replace(SETTINGS, status_token=token)
    clock = ManualClock()
    made = web.app(settings, MemoryStore(clock), Readiness({}), [], clock=clock)
    await made({**scope, "scheme": "http", "query_string": b"", "root_path": ""}, receive, send)
    return int(sent[0]["status"]), len(taken)


@pytest.mark.parametrize("path", FORMS)
async def test_a_form_that_breaks_off_is_no_failure_of_ours(path: str) -> None:
    """Short-cut refused: an error that nobody handles, five kilobytes of traceback for each."""
    begun: Message = {"type": "http.request", "body": b"a=", "more_body": True}
    headers = HERE | BEARER

    status, _ = await posted(path, TOKEN, headers, begun, {"type": "http.disconnect"})

    assert status == 403


@pytest.mark.parametrize("token", [TOKEN, ""], ids=["on", "off"])
@pytest.mark.parametrize("path", FORMS)
async def test_nothing_is_read_of_who_may_not_send_it(path: str, token: str) -> None:
    """Short-cut refused: the form first, then whether there is such a page, and who asks."""
    status, taken = await posted(path, token, {"Origin": "http://evil"})

    assert status in {403, 404}
    assert taken == 0


async def test_a_flood_of_wrong_tokens_is_a_line(stage: Stage) -> None:
    """Short-cut refused: a line for each."""
    with capture_logs() as lines:
        for _ in range(20):
            await stage.browser.post("/status/login", data={"token": "x"}, headers=HERE)

    assert len(lines) == 1


async def test_a_name_on_the_page_shows_all_that_it_holds(stage: Stage) -> None:
    """Short-cut refused: escaping for HTML alone; the text beside it is turned around."""
    await stage.store.waits.keep(FIRST, str(KEY), {7: [waits_for("approved", "\u202eevil")]})
    await stage.logs_in()

    page = (await stage.browser.get("/status?again=a\u202eb")).text

    assert "\u202e" not in page
    assert page.count("&lt;U+202E&gt;") == 2


async def test_scrapes_at_a_time_ask_the_database_once(stage: Stage) -> None:
    """Short-cut refused: three questions for each, and webhooks wait behind them for a turn."""
    before = stage.clock.statements
    await stage.browser.get("/metrics")
    of_one = stage.clock.statements - before

    before = stage.clock.statements
    await asyncio.gather(*(stage.browser.get("/metrics") for _ in range(50)))

    assert 0 < stage.clock.statements - before <= 2 * of_one
