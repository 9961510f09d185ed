"""How long the forge waits for the 202, and how many deliveries a second are taken.

Each delivery is a push as the sandbox forge tells it, signed, with an id of its own: verified,
stored and its key woken in one transaction. The bot works on what they wake at the same time.
"""

import hashlib
import hmac
import http.client
import json
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing
from statistics import median, quantiles
from typing import Any

from tests.benchmarks.stage import stage, table
from tests.stories.real import RealWorld
from tests.stories.world import SECRET, package

ONE_BY_ONE = 1000
AT_ONCE = 4000
SENDERS = 16
BRANCHES = 20
"""Branches that the deliveries tell of: wakes of one key before its look are one look."""

Headers = Mapping[str, str]


def deliveries(play: RealWorld, many: int) -> Iterator[tuple[bytes, dict[str, str]]]:
    """So many deliveries, made from one that the forge made."""
    seen: list[tuple[str, Headers, Mapping[str, Any]]] = []
    play.forge.webhook_observers.append(lambda *made: seen.append(made))
    play.author.pushes("drafts/net/core/w", package("net/core"))
    play.rests()
    play.forge.webhook_observers.pop()
    headers, payload = next((h, dict(p)) for event, h, p in seen if event == "push")
    for i in range(many):
        ref = f"refs/heads/drafts/net/core-{i % BRANCHES}/w"
        body = json.dumps({**payload, "ref": ref}, separators=(",", ":")).encode()
        digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        yield (
            body,
            {
                **headers,
                "X-GitHub-Delivery": str(uuid.uuid4()),
                "X-Hub-Signature-256": f"sha256={digest}",
            },
        )


def send(port: int, made: list[tuple[bytes, dict[str, str]]]) -> list[float]:
    """Deliver one after the other over one connection; seconds of each."""
    seconds = []
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as door:
        for body, headers in made:
            began = time.perf_counter()
            door.request("POST", "/webhooks/github", body, headers)
            answer = door.getresponse()
            answer.read()
            seconds.append(time.perf_counter() - began)
            if answer.status != 202:
                raise RuntimeError(f"the bot answered {answer.status}")
    return seconds


def run() -> None:
    """Measure and print the table."""
    with stage() as at:
        made = list(deliveries(at.world, ONE_BY_ONE + AT_ONCE))
        size = len(made[0][0])
        seconds = send(at.world.port, made[:ONE_BY_ONE])
        at.world.rests()
        shares = [made[ONE_BY_ONE + i :: SENDERS] for i in range(SENDERS)]
        many: list[list[float]] = []
        threads = [
            threading.Thread(target=lambda part=part: many.append(send(at.world.port, part)))
            for part in shares
        ]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.perf_counter() - began
        at.world.rests()
    together = [each for part in many for each in part]
    rows = [
        _row("one by one", seconds, len(seconds) / sum(seconds)),
        _row(f"{SENDERS} connections at once", together, len(together) / took),
    ]
    table([f"deliveries of {size} bytes", "sent", "p50 ms", "p99 ms", "a second"], rows)


def _row(name: str, seconds: list[float], rate: float) -> list[str]:
    p99 = quantiles(seconds, n=100)[98]
    return [
        name,
        f"{len(seconds)}",
        f"{median(seconds) * 1000:.1f}",
        f"{p99 * 1000:.1f}",
        f"{rate:.0f}",
    ]


if __name__ == "__main__":
    run()
