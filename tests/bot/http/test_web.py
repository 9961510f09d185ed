"""The door: what is not signed stays outside, what is accepted is stored, whatever else is down.

Longer than 400 lines: one door, and all that comes to it.
"""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest
from structlog.testing import capture_logs

from bot.forges.github.deliveries import GitHubWebhooks
from bot.forges.port import BotIdentity, ForgeBusyError
from bot.forges.webhooks import Delivery, WebhookError
from bot.http import web
from bot.http.ready import MISSING, MissingError, Readiness, ReadinessCheck
from bot.http.webhooks import DEFAULT, WebhookSource
from bot.keys import BaseKey, PullKey
from bot.settings import Settings
from bot.store.embedded.server import EmbeddedPostgres
from bot.store.hints import NOTHING, Hint
from bot.store.postgres import PostgresStore
from bot.store.values import StoreError
from lifecycle.identity import RepositoryId
from tests.ids import FIRST, on_github

SECRET = b"a secret that is long enough"
SETTINGS = Settings(github_app_id="1", private_key="key", webhook_secrets=(b"another", SECRET))
PATH = "/webhooks/github"


@dataclass(frozen=True)
class Served:
    """A repository of an installation of ours."""

    id: RepositoryId = FIRST
    full_name: str = "acme/blueprints"
    installation: int = 3
    installed_at: datetime = datetime(2026, 11, 1, tzinfo=UTC)


def ready(store: PostgresStore, *, missing: str = "") -> Readiness:
    """The database as it is; the others as they are said to be."""

    async def ask(name: str) -> None:
        if name == missing:
            raise MissingError(f"{name} is away")

    return Readiness(
        {
            "forge": ReadinessCheck(lambda: ask("forge"), 0, needed=False),
            "database": ReadinessCheck(store.check, 0),
            "runner": ReadinessCheck(lambda: ask("runner"), 0),
        }
    )


class _Forge:
    """Says who we are; silent or away on demand."""

    def __init__(self) -> None:
        self.asked = 0
        self.answered = 0
        self.says = asyncio.Event()
        self.says.set()
        self.away = False

    async def until_answered(self, count: int) -> None:
        """Wait until it was asked so often, and its answer was heard."""
        async with asyncio.timeout(60):
            while self.answered < count:
                await asyncio.sleep(0.005)
        for _ in range(20):
            await asyncio.sleep(0)

    async def identity(self) -> BotIdentity:
        self.asked += 1
        await self.says.wait()
        self.answered += 1
        if self.away:
            raise ForgeBusyError("read the App", "it is away")
        return BotIdentity("porchbot[bot]", "")


def source(settings: Settings, forge: _Forge) -> WebhookSource:
    """GitHub's webhooks, as `bot.serve` takes them."""
    return WebhookSource(GitHubWebhooks(settings.webhook_secrets), forge.identity)


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(database_url, patience=60) as opened:
        await opened.repositories.adopt(Served(), datetime.now(UTC), {})
        yield opened


@asynccontextmanager
async def client(
    store: PostgresStore,
    *,
    missing: str = "",
    forge: _Forge | None = None,
    settings: Settings = SETTINGS,
) -> AsyncIterator[httpx.AsyncClient]:
    application = web.app(
        settings, store, ready(store, missing=missing), [source(settings, forge or _Forge())]
    )
    transport = httpx.ASGITransport(app=application)
    async with httpx.AsyncClient(transport=transport, base_url="http://bot") as opened:
        yield opened


def _comment(number: int = 7, sender: str = "author", kind: str = "User") -> bytes:
    # Spelled oddly: the signature is over these bytes, not over what they mean.
    return (
        b'{ "action":"created",\r\n"sender":'
        + json.dumps({"login": sender, "type": kind}).encode()
        + b',"repository":{"id":1,"full_name":"acme/blueprints","default_branch":"main"},'
        + b'"issue":{"number":%d,"pull_request":{}},"comment":{"id":31,"body":"\\u002fapprove"}}'
        % number
    )


def _headers(body: bytes, **more: str) -> dict[str, str]:
    return {
        "X-GitHub-Event": "issue_comment",
        "X-GitHub-Delivery": str(uuid4()),
        "X-Hub-Signature-256": "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest(),
        "Content-Type": "application/json",
        **more,
    }


async def _stored(url: str) -> list[tuple[str, bytes]]:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        rows = await connection.execute("SELECT event, body FROM delivery ORDER BY received")
        return [(event, bytes(body)) for event, body in await rows.fetchall()]


async def test_a_wrong_signature_stays_outside(store: PostgresStore, database_url: str) -> None:
    """The short-cut stores first and checks while working: anybody can then fill the database."""
    body = _comment()
    async with client(store) as bot:
        wrong = await bot.post(
            PATH,
            content=body,
            headers=_headers(body, **{"X-Hub-Signature-256": "sha256=" + "0" * 64}),
        )
        none = await bot.post(
            PATH, content=body, headers={**_headers(body), "X-Hub-Signature-256": ""}
        )
        other = await bot.post(PATH, content=body + b" ", headers=_headers(body))

    assert [r.status_code for r in (wrong, none, other)] == [401] * 3
    assert "Set one secret in both" in wrong.json()["message"]
    assert await _stored(database_url) == []
    assert await store.queue.take("test") is None


async def test_a_signed_delivery_is_stored_as_it_came_and_wakes(
    store: PostgresStore, database_url: str
) -> None:
    body = _comment()
    async with client(store) as bot:
        answer = await bot.post(PATH, content=body, headers=_headers(body))

    assert (answer.status_code, answer.content) == (202, b"")
    assert await _stored(database_url) == [("issue_comment", body)]
    taken = await store.queue.take("test")
    assert taken is not None
    assert (taken.key, taken.hint) == (
        str(PullKey(on_github(1), 7)),
        Hint(comments=frozenset({31})),
    )


async def test_a_redelivery_wakes_again(store: PostgresStore, database_url: str) -> None:
    """The short-cut drops a known id: Redeliver, a person's last resort, then does nothing."""
    body = _comment()
    headers = _headers(body)
    async with client(store) as bot:
        for _ in range(2):
            assert (await bot.post(PATH, content=body, headers=headers)).status_code == 202
            taken = await store.queue.take("test")
            assert taken is not None
            await store.queue.done(taken)

    assert len(await _stored(database_url)) == 1


async def test_without_a_database_the_forge_is_told_to_keep_it(server_folder: Path) -> None:
    """Short-cut refused: anybody who asks is told where the database is, and as whom it is asked;
    the log says that, to the operator."""
    with EmbeddedPostgres(server_folder, keep=False) as server:
        async with PostgresStore(server.url) as store, client(store) as bot:
            server.stop()
            body = _comment()
            answer = await bot.post(PATH, content=body, headers=_headers(body))
            with capture_logs() as logged:
                said = await bot.get("/readyz")
            alive = await bot.get("/healthz")
            figures = await bot.get("/metrics")

    assert (answer.status_code, answer.json()) == (503, {"message": "The bot has no database now."})
    assert said.status_code == 503
    assert said.json() == {"forge": "ok", "database": MISSING, "runner": "ok"}
    assert any(
        str(entry["reason"]).startswith("The database cannot be reached: ")
        for entry in logged
        if entry["event"] == "not ready"
    )
    assert (alive.status_code, figures.status_code) == (200, 200)


async def test_what_is_too_large_is_refused_before_it_is_all_there(
    store: PostgresStore, database_url: str
) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 10 * DEFAULT.body_bytes:
            sent += 1 << 20
            yield b" " * (1 << 20)

    async with client(store) as bot:
        answer = await bot.post(PATH, content=endless(), headers=_headers(b""))

    assert answer.status_code == 413
    assert await _stored(database_url) == []


@pytest.mark.parametrize(
    ("content", "more", "status"),
    [
        (b"{", {}, 400),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b"{}", {"X-GitHub-Event": ""}, 400),
    ],
)
async def test_what_is_no_delivery_is_refused(
    store: PostgresStore, content: bytes, more: dict[str, str], status: int
) -> None:
    async with client(store) as bot:
        answer = await bot.post(PATH, content=content, headers=_headers(content, **more))

    assert answer.status_code == status


async def test_a_webhook_is_posted(store: PostgresStore) -> None:
    async with client(store) as bot:
        assert (await bot.get(PATH)).status_code == 405


async def test_our_own_events_wake_nothing_once_we_know_our_name(store: PostgresStore) -> None:
    forge = _Forge()
    body, ours = _comment(1), _comment(2, "porchbot[bot]", "Bot")
    async with client(store, forge=forge) as bot:
        for content in (body, ours, ours):
            await bot.post(PATH, content=content, headers=_headers(content))
            await forge.until_answered(1)  # our name is asked for beside the answer

    taken = await store.queue.take("test")
    assert taken is not None
    assert taken.key == str(PullKey(on_github(1), 1))
    assert await store.queue.take("test") is None
    assert forge.asked == 1


async def test_a_forge_that_is_slow_or_away_keeps_no_delivery_waiting(store: PostgresStore) -> None:
    """The short-cut asks the forge for our name first: it waits ten seconds for us, we for it."""
    forge = _Forge()
    forge.says.clear()
    forge.away = True
    async with client(store, forge=forge) as bot:
        body = _comment()
        unsigned = await bot.post(
            PATH, content=body, headers={**_headers(body), "X-Hub-Signature-256": ""}
        )
        asked = forge.asked
        answer = await bot.post(PATH, content=body, headers=_headers(body))
        answered = forge.answered
        forge.says.set()
        await forge.until_answered(1)
        forge.away = False
        await bot.post(PATH, content=body, headers=_headers(body))
        await forge.until_answered(2)

    assert (unsigned.status_code, asked) == (401, 0)
    assert answer.status_code == 202
    assert answered == 0
    assert forge.asked == 2


@pytest.mark.parametrize(("missing", "status"), [("forge", 200), ("runner", 503)])
async def test_what_is_missing_is_named(store: PostgresStore, missing: str, status: int) -> None:
    """Short-cut refused: not ready while the forge is away; nobody would take its webhooks then."""
    async with client(store, missing=missing) as bot:
        without = await bot.get("/readyz")
        alive = await bot.get("/healthz")
    async with client(store) as bot:
        with_all = await bot.get("/readyz")

    all_well = {"forge": "ok", "database": "ok", "runner": "ok"}
    assert (without.status_code, without.json()) == (
        status,
        {**all_well, missing: MISSING},
    )
    assert (with_all.status_code, with_all.json()) == (200, all_well)
    assert (alive.status_code, alive.text) == (200, "ok\n")


async def test_a_database_with_fewer_migrations_is_not_ready(bare_database_url: str) -> None:
    """Short-cut refused: any answer of the database will do; yesterday's has not our tables."""
    async with (
        PostgresStore(bare_database_url, patience=60) as store,
        await psycopg.AsyncConnection.connect(bare_database_url, autocommit=True) as connection,
    ):
        await connection.execute("DELETE FROM migration WHERE step > 3")
        async with client(store) as bot:
            with capture_logs() as logged:
                older = await bot.get("/readyz")
        await connection.execute("DROP TABLE migration")
        async with client(store) as bot:
            empty = await bot.get("/readyz")
        with pytest.raises(StoreError, match="The database has had 0 of "):
            await store.check()

    assert (older.status_code, empty.status_code) == (503, 503)
    assert older.json()["database"] == empty.json()["database"] == MISSING
    assert [str(e["reason"])[:26] for e in logged] == ["The database has had 3 of "]


async def test_readiness_asks_seldom_and_waits_for_nobody() -> None:
    """Short-cut refused: a call to the forge for each probe; whoever probes uses up its limit."""
    asked = 0
    hangs = asyncio.Event()

    async def ask() -> None:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)

    kept, slow = ReadinessCheck(ask, 3600), ReadinessCheck(hangs.wait, 3600)
    assert await asyncio.gather(*(kept.read() for _ in range(50))) == ["ok"] * 50
    assert await kept.read() == "ok"
    assert asked == 1

    said = await asyncio.gather(*(slow.read() for _ in range(2)))
    assert said == ["no answer within 3 s"] * 2
    hangs.set()
    assert await slow.read() == "ok"


async def test_the_metrics_count_deliveries_and_show_the_queue(store: PostgresStore) -> None:
    await store.queue.wake(PullKey(on_github(1), 1))
    async with client(store) as bot:
        body = _comment()
        await bot.post(PATH, content=body, headers=_headers(body))
        text = (await bot.get("/metrics")).text

    assert 'porchbot_deliveries_total{outcome="accepted"}' in text
    assert 'porchbot_work_keys{kind="pull",state="due"} 2.0' in text


class _Elsewhere:
    """The webhooks of another forge: a password in a header, a branch as the body."""

    forge = "gitlab"

    def read_headers(self, headers: Mapping[str, str]) -> "_Elsewhere":
        if headers.get("x-password") != "open":
            raise WebhookError(401, "The password is wrong.")
        return self

    def update(self, part: bytes) -> None:
        """Nothing: the body is not signed."""

    def verify(self) -> None:
        """Nothing, likewise."""

    def read_verified(
        self, headers: Mapping[str, str], body: bytes, me: BotIdentity | None = None
    ) -> Delivery:
        key = BaseKey(RepositoryId("gitlab", 42), body.decode())
        return Delivery(
            id=headers["x-id"],
            event="pushed",
            action="",
            repository_id=key.repository,
            repository="acme/blueprints",
            installation_id=None,
            sender=me.login if me else "",
            headers={},
            wakes={key: NOTHING},
        )


async def test_another_forge_is_read_by_its_own_reader(
    store: PostgresStore, database_url: str
) -> None:
    """The short-cut reads GitHub's headers whoever sends: the second forge is always refused."""
    other = WebhookSource(_Elsewhere(), _Forge().identity)
    application = web.app(SETTINGS, store, ready(store), [source(SETTINGS, _Forge()), other])
    transport = httpx.ASGITransport(app=application)
    body = _comment()
    async with httpx.AsyncClient(transport=transport, base_url="http://bot") as bot:
        shut = await bot.post("/webhooks/gitlab", content=b"main", headers={"x-password": "no"})
        one = await bot.post(
            "/webhooks/gitlab", content=b"main", headers={"x-password": "open", "x-id": "1"}
        )
        mixed = await bot.post("/webhooks/gitlab", content=body, headers=_headers(body))
        github = await bot.post(PATH, content=body, headers=_headers(body))

    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        rows = await connection.execute("SELECT forge, event FROM delivery ORDER BY received")
        stored = await rows.fetchall()
    answers = [each.status_code for each in (shut, one, mixed, github)]
    assert answers == [401, 202, 401, 202]
    assert stored == [("gitlab", "pushed"), ("github", "issue_comment")]
