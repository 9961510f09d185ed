"""The few ASGI types and helpers that the forge's HTTP apps share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def headers_of(scope: Scope) -> dict[str, str]:
    """Request headers; names in small letters."""
    return {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}


def raw_path(scope: Scope) -> str:
    """The path as it was asked, still quoted."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw.partition(b"?")[0].decode("latin-1")


async def read_body(receive: Receive) -> bytes | None:
    """The whole body; None where the connection ended before all of it was there."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def respond(
    send: Send,
    status: int,
    headers: list[tuple[str, str]],
    body: bytes = b"",
    *,
    bare: bool = False,
) -> None:
    """Send a whole answer; a bare one tells of its body without sending it."""
    raw = [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in headers]
    raw.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": b"" if bare else body})
