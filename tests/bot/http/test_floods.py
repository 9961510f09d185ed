"""Whoever only reaches the port sends a lot: what it costs the log, and the forge."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from structlog.testing import capture_logs

from bot import metrics
from bot.forges.github.deliveries import GitHubWebhooks
from bot.forges.port import BotIdentity
from bot.http import web
from bot.http.ready import Readiness
from bot.http.webhooks import DEFAULT, REPLAY, BodyLimits, WebhookSource
from tests.bot.http.test_web import PATH, SECRET, SETTINGS
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore

UNSIGNED = {
    "x-hub-signature-256": f"sha256={'0' * 64}",
    "x-github-event": "push",
    "x-github-delivery": "1",
}


@asynccontextmanager
async def door(
    clock: ManualClock, limits: BodyLimits = DEFAULT
) -> AsyncIterator[httpx.AsyncClient]:
    async def identity() -> BotIdentity:
        raise AssertionError("nobody has shown the secret")

    source = WebhookSource(GitHubWebhooks([SECRET]), identity)
    store = MemoryStore(clock)
    made = web.app(SETTINGS, store, Readiness({}), [source], limits, clock=clock)
    transport = httpx.ASGITransport(app=made)
    async with httpx.AsyncClient(transport=transport, base_url="http://bot") as client:
        yield client


def refused() -> float:
    return float(metrics.DELIVERIES.labels("refused")._value.get())


async def test_what_is_not_signed_is_a_line_for_many() -> None:
    """Short-cut refused: a line for each, so that anybody fills the disk; all are counted."""
    before = refused()
    async with door(ManualClock()) as client:
        with capture_logs() as lines:
            for headers in [UNSIGNED] * 20 + [{}] * 20 + [UNSIGNED | {"content-type": "a/b"}] * 20:
                assert (await client.post(PATH, headers=headers)).status_code in {401, 415}

    assert [line["status"] for line in lines] == [401, 415]
    assert refused() - before == 60


async def test_who_has_bodies_refused_has_the_forge_asked_less_and_less() -> None:
    """Short-cut refused: its log is read two seconds after each, some 1,800 times an hour."""
    clock = ManualClock()

    async def send(client: httpx.AsyncClient) -> float:
        began = clock.seconds
        answer = await client.post(PATH, headers=UNSIGNED, content=b"{}")
        assert answer.status_code == 503
        while clock.seconds == began:
            await asyncio.sleep(0)
        for _ in range(100):  # what follows takes turns of the loop alone
            await asyncio.sleep(0)
        return clock.seconds - began

    async with door(clock, BodyLimits(all_bytes=0)) as client:
        pauses = [await send(client) for _ in range(8)]
        clock.seconds += 61
        again = await send(client)

    assert pauses == [2, 4, 8, 16, 32, 60, 60, 60]
    assert again == REPLAY
