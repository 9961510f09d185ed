"""A webhook of a group: what it tells counts for the projects in the group."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from typing import cast

import httpx
import pytest

from bot.forges.gitlab.deliveries import GitLabWebhooks
from bot.forges.gitlab.hooks import GROUP, PROJECT, HookOwner, HookSecrets
from bot.forges.port import ForgeBusyError, ForgeMissingError
from bot.http import web, webhooks
from bot.http.webhooks import WebhookSource
from bot.keys import Key
from bot.store.hints import NOTHING, Hint
from bot.store.port import Deliveries
from bot.store.postgres import PostgresStore
from bot.store.values import Delivered
from lifecycle.identity import RepositoryId
from tests.bot.forges.gitlab.test_deliveries import BOX
from tests.bot.http.test_web import SECRET, SETTINGS, _Forge, ready


class Kept(PostgresStore):
    """Keeps in memory what is woken, and by what."""

    def __init__(self) -> None:
        self.woken: list[Mapping[Key, Hint]] = []
        self.stored: list[Delivered] = []
        self.deliveries = cast(Deliveries, self)

    async def add(self, delivery: Delivered, wakes: Mapping[Key, Hint]) -> bool:
        """As a store has it."""
        self.woken.append(wakes)
        self.stored.append(delivery)
        return True


async def sent(covers: Callable[[], Awaitable[bool]]) -> tuple[int, Kept]:
    """Status of the answer to a box that ann ticked, and what was stored."""
    store, asked = Kept(), list[tuple[int, RepositoryId]]()

    async def found(group: int, project: RepositoryId) -> bool:
        asked.append((group, project))
        return await covers()

    source = WebhookSource(GitLabWebhooks("gitlab", [SECRET]), _Forge().identity, (), found)
    application = web.app(SETTINGS, store, ready(store), [source])
    headers = {
        "Content-Type": "application/json",
        "X-Gitlab-Event": "Issue Hook",
        "X-Gitlab-Token": HookSecrets("gitlab", (SECRET,)).token(HookOwner(GROUP, 5)),
        "Idempotency-Key": "k-1",
    }
    transport = httpx.ASGITransport(app=application)
    async with httpx.AsyncClient(transport=transport, base_url="http://bot") as bot:
        answer = await bot.post("/webhooks/gitlab", content=json.dumps(BOX), headers=headers)
    assert asked == [(5, RepositoryId("gitlab", 7))]
    return answer.status_code, store


async def _yes() -> bool:
    return True


async def _no() -> bool:
    return False


async def _missing() -> bool:
    raise ForgeMissingError("read a project", "404", "look")


async def _busy() -> bool:
    raise ForgeBusyError("read a project", "down")


async def _never() -> bool:
    await asyncio.Event().wait()
    return True


@pytest.mark.parametrize("covers", [_no, _missing])
async def test_what_is_not_in_the_group_is_refused(covers: Callable[[], Awaitable[bool]]) -> None:
    """The short-cut believes the project that the body names: an Owner of any group on gitlab.com
    whose webhook has our secret says of every project what they like."""
    status, store = await sent(covers)

    assert (status, store.stored) == (403, [])


async def test_what_is_in_the_group_counts() -> None:
    status, store = await sent(_yes)

    assert status == 202
    assert [bool(hint.pressed) for hint in store.woken[0].values()] == [True]


@pytest.mark.parametrize("covers", [_busy, _never])
async def test_while_the_forge_does_not_say_only_where_to_look_counts(
    covers: Callable[[], Awaitable[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: it is lost, for nobody sends it again; it is believed, now or when it is
    read again later; GitLab waits until it gives up."""
    monkeypatch.setattr(webhooks, "COVERED", 0.05)
    status, store = await sent(covers)

    assert status == 202
    assert list(store.woken[0].values()) == [NOTHING]
    assert "porchbot-speaker" not in store.stored[0].headers


async def test_while_a_forge_is_asked_others_have_their_turns() -> None:
    """The short-cut keeps the turn of a large body until it is stored: a few of one group, about
    which GitLab answers late, leave none for the deliveries of any forge."""
    store, let = Kept(), asyncio.Event()

    async def found(*_: object) -> bool:
        await let.wait()
        return True

    source = WebhookSource(GitLabWebhooks("gitlab", [SECRET]), _Forge().identity, (), found)
    application = web.app(SETTINGS, store, ready(store), [source])
    secrets = HookSecrets("gitlab", (SECRET,))
    large = json.dumps({**BOX, "pad": "x" * 300_000})
    transport = httpx.ASGITransport(app=application)
    async with httpx.AsyncClient(transport=transport, base_url="http://bot", timeout=60) as bot:

        async def sends(speaker: HookOwner, key: str) -> int:
            headers = {
                "Content-Type": "application/json",
                "X-Gitlab-Event": "Issue Hook",
                "X-Gitlab-Token": secrets.token(speaker),
                "Idempotency-Key": key,
            }
            return (await bot.post("/webhooks/gitlab", content=large, headers=headers)).status_code

        held = [asyncio.create_task(sends(HookOwner(GROUP, 5), f"k-{n}")) for n in range(3)]
        try:
            await asyncio.sleep(0.1)
            assert await sends(HookOwner(PROJECT, 7), "another") == 202
            assert len(store.stored) == 1
        finally:
            let.set()
        assert await asyncio.gather(*held) == [202] * 3


async def test_one_group_leaves_room_for_what_others_send(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short-cuts refused: all bytes are one room, so that a group about which GitLab answers late
    has everybody refused; what finds no room is lost, and not even looked at; the room is not given
    back."""
    monkeypatch.setattr(webhooks, "COVERED", 600.0)
    store, let, asked = Kept(), asyncio.Event(), asyncio.Event()

    async def found(*_: object) -> bool:
        asked.set()
        await let.wait()
        return True

    source = WebhookSource(GitLabWebhooks("gitlab", [SECRET]), _Forge().identity, (), found)
    application = web.app(SETTINGS, store, ready(store), [source])
    secrets, share = HookSecrets("gitlab", (SECRET,)), webhooks.DEFAULT.group_bytes
    large = json.dumps({**BOX, "pad": "x" * (share // 2)})
    transport = httpx.ASGITransport(app=application)
    async with httpx.AsyncClient(transport=transport, base_url="http://bot", timeout=60) as bot:

        async def sends(group: int, key: str) -> int:
            headers = {
                "Content-Type": "application/json",
                "X-Gitlab-Event": "Issue Hook",
                "X-Gitlab-Token": secrets.token(HookOwner(GROUP, group)),
                "Idempotency-Key": key,
            }
            return (await bot.post("/webhooks/gitlab", content=large, headers=headers)).status_code

        held = asyncio.create_task(sends(5, "one"))
        try:
            await asked.wait()
            assert await asyncio.wait_for(sends(5, "two"), 60) == 202  # nothing is waited for
            assert [list(each.values()) for each in store.woken] == [[NOTHING]]
            asked.clear()
            other = asyncio.create_task(sends(6, "three"))
            await asked.wait()
        finally:
            let.set()
        assert {await held, await other} == {202}
        assert all(hint.pressed for each in store.woken[1:] for hint in each.values())
        assert await sends(5, "four") == 202
        assert all(hint.pressed for hint in store.woken[-1].values())


def test_what_all_groups_send_leaves_half_of_the_room() -> None:
    """Short-cut refused: a share for each group alone, of which somebody has many."""
    bodies, limits = webhooks.Bodies(webhooks.DEFAULT), webhooks.DEFAULT
    with ExitStack() as waiting:
        for group in range(limits.asking_bytes // limits.group_bytes):
            waiting.enter_context(bodies.waiting(("gitlab", group), limits.group_bytes))
        with pytest.raises(webhooks.NoRoomError):
            waiting.enter_context(bodies.waiting(("gitlab", 100), 1))
    with bodies.waiting(("gitlab", 1), limits.asking_bytes):
        pass
