"""Every route of the bot's pages, by every method: who is let in, and what it can change.

Pages give no command of `access`: the operator's one button has a key looked at once more, which
decides by the facts. Whoever is not the operator or the forge changes nothing at all.
"""

import pickle
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from bot.apps import KnownApp
from bot.http import web
from bot.http.ready import Readiness
from bot.http.setup import SetupPages, plan_of
from bot.keys import RepositoryKey
from bot.settings import Settings
from tests.bot.http.test_setup import MANIFEST
from tests.bot.http.test_web import _Forge, source
from tests.ids import FIRST
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore

TOKEN = "a token of the operator"
SETTINGS = Settings(
    github_app_id="1", private_key="key", webhook_secrets=(b"a secret",), status_token=TOKEN
)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

DOORS = {
    "/webhooks/github": "the forge, by its signature",
    "/healthz": "anybody reads",
    "/readyz": "anybody reads",
    "/metrics": "anybody reads",
    "/allowed_signers": "anybody reads",
    "/status": "the operator reads",
    "/status.json": "the operator reads",
    "/status/login": "the operator, by the token",
    "/status/logout": "the operator",
    "/status/again": "the operator",
    "/setup": "who has the one-time token",
    "/setup/enter": "who has the one-time token",
    "/setup/created": "who has the one-time token",
}
"""Every route there is: a new one has to say whose it is."""

STRANGERS: list[dict[str, str]] = [
    {},
    {"Authorization": "Bearer not the token"},
    {"Cookie": "porchbot_status=forged; porchbot_setup=forged", "Origin": "http://bot"},
    {"Origin": "https://evil.example", "Authorization": f"Bearer {TOKEN}x"},
    {"X-Hub-Signature-256": "sha256=" + "0" * 64, "X-GitHub-Event": "push"},
]
FORM = {"key": str(RepositoryKey(FIRST)), "token": "guessed", "form": "guessed"}


def applications(store: MemoryStore) -> Iterator[Starlette]:
    clock = ManualClock()
    hooks = [source(SETTINGS, _Forge())]
    yield web.app(SETTINGS, store, Readiness({}), hooks, clock=clock)

    async def register(code: str) -> KnownApp:
        raise AssertionError(f"a stranger's code was used: {code}")

    plan = plan_of(MANIFEST, "{}", "https://ghes.corp", "acme", lambda _: "https://ghes.corp/new")
    yield SetupPages(plan, "a one-time token", register).application()


def kept(store: MemoryStore) -> bytes:
    """All that the store has, to compare."""
    parts = (store.queue, store.deliveries, store.proposals, store.revisions, store.audit)
    return pickle.dumps([repr(_plain(vars(part))) for part in parts])


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if isinstance(value, (dict, list, set))}


def test_every_route_is_somebodys() -> None:
    """Fails when a page is added that nobody has thought about."""
    paths = {
        getattr(route, "path", "")
        for application in applications(MemoryStore())
        for route in application.routes
    }
    assert paths == set(DOORS)


@pytest.mark.parametrize("headers", STRANGERS, ids=lambda each: ",".join(each) or "nothing")
async def test_a_stranger_changes_nothing_by_any_route_and_method(headers: dict[str, str]) -> None:
    """Short-cuts: a route that trusts whoever reaches it; a method that nobody thought of."""
    store = MemoryStore()
    await store.queue.wake(RepositoryKey(FIRST))
    before = kept(store)
    seen = 0
    for application in applications(store):
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://bot") as client:
            for route in application.routes:
                for method in METHODS:
                    path = str(getattr(route, "path", ""))
                    data = FORM if method in {"POST", "PUT", "PATCH"} else None
                    query = {"token": "guessed", "code": "stolen", "state": "guessed", **FORM}
                    answer = await client.request(
                        method, path, headers=headers, data=data, params=query
                    )
                    seen += 1
                    let_in = answer.status_code < 400
                    assert not let_in or DOORS[path] == "anybody reads", (method, path)
                    assert kept(store) == before, (method, path)
    assert seen == len(DOORS) * len(METHODS)


async def test_the_operators_button_has_a_key_looked_at_and_nothing_else() -> None:
    """Fails when what is compared above cannot differ, or the button does more than to wake."""
    store = MemoryStore()
    key = RepositoryKey(FIRST)
    before = kept(store)
    made = next(applications(store))
    transport = httpx.ASGITransport(made)
    async with httpx.AsyncClient(transport=transport, base_url="http://bot") as client:
        operator = {"Authorization": f"Bearer {TOKEN}"}
        await store.queue.wake(key)
        woken = kept(store)
        answer = await client.post("/status/again", headers=operator, data={"key": str(key)})
    assert answer.status_code < 400
    assert before != woken != kept(store)
    assert [entry[1:3] for entry in await store.audit.entries(str(key))] == [
        ("operator", "TryAgain")
    ]
