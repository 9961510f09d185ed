"""What strangers can cost at the door: nothing unsigned is read, and everything has an end."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from starlette.types import Message, Receive, Scope, Send

from bot.forges.github.deliveries import read_verified
from bot.forges.webhooks import WebhookError
from bot.http import server as http_server
from bot.http import web
from bot.http.webhooks import DEFAULT, BodyLimits
from bot.keys import InstallationsKey, Key, RepositoryKey
from bot.store.hints import NOTHING, Hint
from bot.store.port import Deliveries
from bot.store.postgres import PostgresStore
from bot.store.values import Delivered
from lifecycle.identity import GITHUB, RepositoryId
from tests.bot.http.test_web import SETTINGS, Served, _comment, _Forge, _headers, ready, source
from tests.ids import on_github


class _Kept(PostgresStore):
    """Keeps deliveries in memory: these tests are about what comes before the database."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.deliveries = cast(Deliveries, self)

    async def add(self, delivery: Delivered, wakes: Any) -> bool:
        self.bodies.append(delivery.body)
        return True


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async with _door(_Kept()) as port:
        yield port


@asynccontextmanager
async def _door(
    store: PostgresStore,
    bodies: BodyLimits = DEFAULT,
    connections: http_server.ConnectionLimits = http_server.DEFAULT,
) -> AsyncIterator[int]:
    application = web.app(SETTINGS, store, ready(store), [source(SETTINGS, _Forge())], bodies)
    async with http_server.listening(application, "127.0.0.1", 0, connections) as address:
        yield int(address.rpartition(":")[2])


def _request(body: bytes, size: int | None = None, **more: str) -> bytes:
    headers = {**_headers(body, **more), "Content-Length": str(len(body) if size is None else size)}
    lines = [f"{name}: {value}" for name, value in headers.items() if value]
    return "\r\n".join(["POST /webhooks/github HTTP/1.1", "Host: bot", *lines, "", ""]).encode()


async def _answer(reader: asyncio.StreamReader) -> bytes:
    """The answer and what follows, until the bot closes the connection."""
    async with asyncio.timeout(60):
        try:
            return await reader.read()
        except ConnectionError:
            return b""


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"X-Hub-Signature-256": ""}, b"401"),
        ({"X-Hub-Signature-256": "sha256=short"}, b"401"),
        ({"X-GitHub-Event": ""}, b"400"),
        ({"X-GitHub-Delivery": ""}, b"400"),
        ({"Content-Type": "text/plain"}, b"415"),
    ],
)
async def test_what_is_no_delivery_is_answered_before_its_body(
    port: int, more: dict[str, str], status: bytes
) -> None:
    """Short-cut refused: read 25 MB, then look at the headers. The body here never comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_request(b"", 24_000_000, **more))

    answer = await _answer(reader)

    assert answer.split()[1] == status
    assert b"connection: close" in answer
    writer.close()


async def test_a_body_that_declares_too_much_is_not_read(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_request(b"", DEFAULT.body_bytes + 1))

    assert (await _answer(reader)).split()[1] == b"413"
    writer.close()


async def test_headers_that_do_not_come_end_the_connection() -> None:
    """Short-cut refused: uvicorn's own settings, which wait for ever for headers."""
    for seconds in (1, 8, 32):  # on a busy machine it may be over before anything is sent
        limits = http_server.ConnectionLimits(seconds=seconds)
        async with _door(_Kept(), connections=limits) as port:
            silent = await asyncio.open_connection("127.0.0.1", port)
            begun = await asyncio.open_connection("127.0.0.1", port)
            begun[1].write(b"POST /webhooks/github HTTP/1.1\r\nHost: bot\r\n")
            again = await asyncio.open_connection("127.0.0.1", port)
            again[1].write(b"GET /healthz HTTP/1.1\r\nHost: bot\r\n\r\n")
            said = b""
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                said = await again[0].readuntil(b"ok\n")
            again[1].write(b"GET /healthz HTT")

            answers = [await _answer(reader) for reader, _ in (silent, begun, again)]

            assert answers == [b"", b"", b""]
            for _, writer in (silent, begun, again):
                writer.close()
        if said:
            break
    assert said[9:12] == b"200"


LONG = 1024 * 1024
"""Bytes of an answer that no buffer of the system holds when they come often."""


@pytest.mark.parametrize("reads", [False, True], ids=["who does not read", "who reads"])
async def test_an_answer_that_nobody_takes_ends_the_connection(reads: bool) -> None:
    """Short-cut refused: wait for a reader for ever; 900 of them have every place there is."""

    over = asyncio.Event()

    async def answer(_scope: Scope, _receive: Receive, send: Send) -> None:
        length = str(40 * LONG).encode()
        start: Message = {"type": "http.response.start", "status": 200}
        try:
            await send({**start, "headers": [(b"content-length", length)]})
            for left in reversed(range(40)):
                part: Message = {"type": "http.response.body", "body": b"a" * LONG}
                await send({**part, "more_body": bool(left)})
        finally:
            over.set()

    limits = http_server.ConnectionLimits(write_seconds=60 if reads else 1)
    async with http_server.listening(answer, "127.0.0.1", 0, limits) as address:
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", int(address.rpartition(":")[2])))
            client.sendall(b"GET / HTTP/1.1\r\nHost: bot\r\nConnection: close\r\n\r\n")
            if not reads:
                await asyncio.wait_for(over.wait(), 60)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LONG)

            taken = await asyncio.to_thread(_taken, client)

    assert (taken > 40 * LONG) is reads


def _taken(client: socket.socket) -> int:
    """How many bytes come until the end; a connection that is cut off has fewer."""
    count = 0
    with suppress(ConnectionError):
        while part := client.recv(LONG):
            count += len(part)
    return count


async def test_headers_without_end_are_refused(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /webhooks/github HTTP/1.1\r\nX-A: " + b"a" * 200_000)

    assert (await _answer(reader))[9:12] in {b"431", b""}
    writer.close()


async def test_of_many_silent_connections_the_oldest_go() -> None:
    """Short-cut refused: a limit on connections alone, which keeps the forge out."""
    async with _door(
        _Kept(), connections=http_server.ConnectionLimits(waiting=5, seconds=3600)
    ) as port:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        body = _comment()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_request(body, Connection="close") + body)

        assert (await _answer(reader)).split()[1] == b"202"
        assert await _answer(silent[0][0]) == b""
        for _, each in (*silent, (reader, writer)):
            each.close()


async def test_a_body_that_does_not_come_is_given_up() -> None:
    async with _door(_Kept(), BodyLimits(seconds=0.2)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_request(b"", 1000) + b"{")

        assert (await _answer(reader)).split()[1] == b"408"
        writer.close()


async def test_large_bodies_take_turns_and_small_ones_pass() -> None:
    """Short-cut refused: every body is kept until it is complete, however many come."""
    store = _Kept()
    async with _door(store, BodyLimits(turn_seconds=0.2)) as port:
        stalled = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
        for _, writer in stalled:
            writer.write(_request(b"", 24_000_000))
        answers = [_answer(reader) for reader, _ in stalled]
        given_up = [asyncio.create_task(answer) for answer in answers]
        done, _ = await asyncio.wait(given_up, timeout=60, return_when=asyncio.FIRST_COMPLETED)
        body = _comment()
        reader, small = await asyncio.open_connection("127.0.0.1", port)
        small.write(_request(body, Connection="close") + body)
        assert (await _answer(reader)).split()[1] == b"202"
        for task in done:
            assert task.result().split()[1] == b"503"
            assert b"retry-after: 10" in task.result()
        for _, writer in (*stalled, (reader, small)):
            writer.close()
        await asyncio.gather(*given_up)

    assert done
    assert store.bodies == [body]


async def test_all_bodies_together_are_bounded() -> None:
    """Short-cut refused: a limit for each body, and none for all."""
    async with _door(_Kept(), BodyLimits(all_bytes=100_000)) as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        for _, writer in held:
            writer.write(_request(b"", 200_000) + b" " * 40_000)
        answers = [asyncio.create_task(_answer(reader)) for reader, _ in held]
        done, waiting = await asyncio.wait(answers, timeout=60, return_when=asyncio.FIRST_COMPLETED)
        for _, writer in held:
            writer.close()
        await asyncio.gather(*waiting)

    assert [task.result().split()[1] for task in done] == [b"503"]


# --- wrong bytes ----------------------------------------------------------------------------------


def _event(**changes: object) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads(_comment())
    for path, value in changes.items():
        *folders, name = path.split("__")
        target = payload
        for folder in folders:
            target = target[folder]
        target[name] = value
    return payload


def _push(ref: object, **repository: object) -> dict[str, Any]:
    about = {"id": 1, "full_name": "acme/blueprints", "default_branch": "main", **repository}
    return {"ref": ref, "after": "0" * 40, "repository": about}


WRONG: dict[str, tuple[str, bytes | dict[str, Any]]] = {
    "a NUL in a branch": ("push", _push("refs/heads/a\0b")),
    "a NUL in a commit": ("push", {**_push("refs/heads/a"), "after": "\0"}),
    "a NUL in the action": ("issue_comment", _event(action="\0")),
    "half a surrogate in a branch": (
        "push", json.dumps(_push("refs/heads/X")).replace("X", "\\ud800").encode()),
    "half a surrogate in the action": (
        "issue_comment", json.dumps(_event()).replace("created", "\\udfff").encode()),
    "a repository of many digits": ("issue_comment", _event(repository__id=10**30)),
    "a repository of too many digits": (
        "issue_comment", _comment().replace(b'"id":1,', b'"id":' + b"9" * 5000 + b",")),
    "a negative repository": ("issue_comment", _event(repository__id=-1)),
    "a repository that is true": ("issue_comment", _event(repository__id=True)),
    "a repository without end": ("issue_comment", _comment().replace(b'"id":1,', b'"id":1e999,')),
    "a number that is none": ("issue_comment", _comment().replace(b'"id":1,', b'"id":NaN,')),
    "a pull request of many digits": ("issue_comment", _event(issue__number=10**30)),
    "a pull request in words": ("issue_comment", _event(issue__number="seven")),
    "a comment of many digits": ("issue_comment", _event(comment__id=10**30)),
    "a comment that is a list": ("issue_comment", _event(comment__id=[1])),
    "an action that is a mapping": ("issue_comment", _event(action={"a": 1})),
    "a branch longer than an index takes": ("push", _push("refs/heads/" + "a" * 5000)),
    "a branch without a name": ("push", _push("refs/heads/")),
    "a branch that is a list": ("push", _push(["refs/heads/main"])),
    "a commit that reads as another key": (
        "status", {"sha": "a:b", "repository": {"id": 1}}),
    "nothing but brackets": ("push", b"[" * 200_000),
    "no UTF-8": ("push", b'{"ref": "\xff"}'),
}  # fmt: skip


@pytest.mark.parametrize(("event", "payload"), WRONG.values(), ids=WRONG)
def test_wrong_bytes_are_the_senders_fault(event: str, payload: bytes | dict[str, Any]) -> None:
    """Short-cut refused: the database finds out; the answer is 500, or a key fails for ever."""
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    headers = {k.lower(): v for k, v in _headers(body, **{"X-GitHub-Event": event}).items()}

    with pytest.raises(WebhookError) as refused:
        read_verified(headers, body)

    assert refused.value.status == 400
    assert str(refused.value).isprintable()


# --- repositories that are not served -------------------------------------------------------------


async def test_a_repository_that_is_not_served_wakes_nothing(database_url: str) -> None:
    """Short-cut refused: wake it, and ask the forge for every repository that there is."""

    wakes: dict[Key, Hint] = {
        RepositoryKey(on_github(7)): NOTHING,
        InstallationsKey(GITHUB): NOTHING,
    }

    def delivery(guid: str, repository: RepositoryId | None) -> Delivered:
        return Delivered(
            guid=guid,
            event="push",
            action="",
            headers={},
            body=b"{}",
            repository=repository,
        )

    async with PostgresStore(database_url, patience=60) as store:
        assert await store.deliveries.add(delivery("1", on_github(7)), wakes)
        assert await store.queue.take("test") is None

        assert await store.deliveries.add(delivery("2", None), {InstallationsKey(GITHUB): NOTHING})
        taken = await store.queue.take("test")
        assert taken is not None
        assert taken.key == str(InstallationsKey(GITHUB))
        await store.queue.done(taken)

        await store.repositories.adopt(Served(id=on_github(7)), Served().installed_at, {})
        assert await store.deliveries.add(
            delivery("3", on_github(7)), {RepositoryKey(on_github(7)): NOTHING}
        )
        served = await store.queue.take("test")
        assert served is not None
        assert served.key == str(RepositoryKey(on_github(7)))
        kept = await store.deliveries.since(on_github(7), datetime(2026, 1, 1, tzinfo=UTC))
        assert [body for _, body in kept] == [b"{}", b"{}"]  # read again when it is adopted
