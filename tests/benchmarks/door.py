"""What strangers cost: memory of the bot's process, and how long a signed delivery waits meanwhile.

500 signed deliveries at once, beside 40 unsigned and 40 wrongly signed bodies of 24 MB, against the
real HTTP server and database in a process of its own.
"""

import asyncio
import hashlib
import hmac
import json
import os
import sys
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import cast

from bot.forges.port import BotIdentity
from lifecycle.identity import RepositoryId
from tests.ids import FIRST

SECRET = b"a secret that is long enough"
SMALL, STRANGERS, BYTES = 500, 40, 24_000_000


@dataclass(frozen=True)
class _Repository:
    id: RepositoryId = FIRST
    full_name: str = "acme/blueprints"
    installation: int = 3
    installed_at: datetime = datetime(2026, 11, 1, tzinfo=UTC)


async def _identity() -> BotIdentity:
    return BotIdentity("porchbot[bot]", "")


async def _serve() -> None:
    """The door and its database, until standard input closes."""
    from bot.forges.github.deliveries import GitHubWebhooks
    from bot.http import server as http_server
    from bot.http import web
    from bot.http.ready import Readiness
    from bot.http.webhooks import WebhookSource
    from bot.settings import Settings
    from bot.store.embedded.server import EmbeddedPostgres
    from bot.store.postgres import PostgresStore

    settings = Settings(github_app_id="1", private_key="key", webhook_secrets=(SECRET,))
    with EmbeddedPostgres() as server:
        async with PostgresStore(server.url) as store:
            await store.repositories.adopt(_Repository(), datetime.now(UTC), {})
            hooks = WebhookSource(GitHubWebhooks(settings.webhook_secrets), _identity)
            application = web.app(settings, store, Readiness({}), [hooks])
            async with http_server.listening(application, "127.0.0.1", 0) as address:
                print(address.rpartition(":")[2], flush=True)
                await asyncio.to_thread(sys.stdin.read)


def _headers(body: bytes, size: int, signature: str) -> bytes:
    lines = {
        "Host": "bot",
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": str(uuid.uuid4()),
        "X-Hub-Signature-256": signature,
        "Content-Type": "application/json",
        "Content-Length": str(size),
        "Connection": "close",
    }
    said = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
    return f"POST /webhooks/github HTTP/1.1\r\n{said}\r\n".encode() + body


async def _send(port: int, head: bytes, parts: int = 0) -> tuple[str, float]:
    """Send, and read the answer whatever becomes of the body; its status and the seconds."""
    began = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    status = "no answer"
    answering = asyncio.create_task(reader.readline())
    try:
        writer.write(head)
        for _ in range(parts):
            if answering.done():
                break
            writer.write(b" " * 240_000)
            await writer.drain()
    except ConnectionError:
        pass
    try:
        answer = await answering
        status = answer.split(b" ", 2)[1].decode() if answer else status
    except ConnectionError:
        pass
    writer.close()
    return status, time.perf_counter() - began


def _signed(number: int) -> bytes:
    payload = {
        "ref": f"refs/heads/drafts/net/core-{number % 20}/w",
        "after": "0" * 40,
        "repository": {"id": 1, "full_name": "acme/blueprints", "default_branch": "main"},
        "text": "x" * 8000,
    }
    body = json.dumps(payload).encode()
    return _headers(body, len(body), f"sha256={hmac.digest(SECRET, body, 'sha256').hex()}")


def _resident(process: int) -> int:
    with open(f"/proc/{process}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def _highest(process: int) -> AsyncIterator[int]:
    while True:
        yield _resident(process)
        await asyncio.sleep(0.005)


async def _measure() -> None:
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.benchmarks.door", "serve"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    output = cast(asyncio.StreamReader, server.stdout)
    port = int(await output.readline())
    for number in range(50):
        await _send(port, _signed(number))
    before = most = _resident(server.pid)

    async def watch() -> None:
        nonlocal most
        async for now in _highest(server.pid):
            most = max(most, now)

    watching = asyncio.create_task(watch())
    parts = BYTES // 240_000
    wrong = f"sha256={hashlib.sha256(b'x').hexdigest()}"
    strangers = {
        "unsigned": [_send(port, _headers(b"", BYTES, ""), parts) for _ in range(STRANGERS)],
        "wrongly signed": [
            _send(port, _headers(b"", BYTES, wrong), parts) for _ in range(STRANGERS)
        ],
    }
    signed = [_send(port, _signed(number)) for number in range(SMALL)]
    sent = {name: asyncio.gather(*each) for name, each in {**strangers, "signed": signed}.items()}
    answered = {name: await each for name, each in sent.items()}
    watching.cancel()
    from tests.benchmarks.stage import table  # the process that takes deliveries has no stage

    rows = [
        [
            name,
            ", ".join(f"{count} x {s}" for s, count in Counter(s for s, _ in each).most_common()),
            f"{median(seconds for _, seconds in each):.2f}",
            f"{max(seconds for _, seconds in each):.2f}",
        ]
        for name, each in answered.items()
    ]
    table(["deliveries", "answers", "p50 s", "longest s"], rows)
    mega = 1024 * 1024
    print(f"\nmemory: {before / mega:.0f} MB before, {most / mega:.0f} MB at most,", end=" ")
    print(f"grown by {(most - before) / mega:.0f} MB")
    if server.stdin is not None:
        server.stdin.close()
    await server.wait()


def run() -> None:
    """Measure and print."""
    asyncio.run(_measure())


if __name__ == "__main__":
    asyncio.run(_serve()) if sys.argv[1:] == ["serve"] else run()
