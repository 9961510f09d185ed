"""Moves refs of a remote, by git's protocol and without starting git.

What a remote can do is asked for once an hour, so that a push is one request and the remote lists
none of its refs: it compares each with the value that was seen when it moves it, and moves all or
none. Only a report that all moved counts. Whatever else comes back, git is started for the same
push and says what is wrong (ADR 0080).

Source: https://git-scm.com/docs/gitprotocol-http, https://git-scm.com/docs/gitprotocol-pack
"""

import re
from collections.abc import Sequence
from typing import Final

from bot import tracing
from bot.clock import Clock
from bot.git.connections import FAILURES, Address, Connections, OddAnswerError, Request
from bot.git.port import RefUpdate
from bot.git.remote import (
    AGENT,
    FLUSH,
    KNOWN_SECONDS,
    PAUSE,
    UNKEPT,
    address_of,
    body_of,
    headers_for,
    packet,
    packets,
    split,
)

SECONDS: Final = 120.0
"""For one push: what a forge checks before it moves a ref takes its time."""

NOWHERE: Final = "0" * 40
"""How git writes that a ref is not there."""

CONNECTIONS = Connections(SECONDS)

_NEEDED = frozenset({b"report-status", b"atomic", b"delete-refs"})
_FIRST = 16 * 1024
"""Bytes of a list of refs that are read: its first line says what the remote can do."""

_ADVERTISED = "application/x-git-receive-pack-advertisement"
_RESULT = "application/x-git-receive-pack-result"


class RemotePush:
    """Pushes to one remote.

    Args:
        url: For git over HTTP, without credentials.
        clock: For how long something is remembered.
        connections: To this remote and others.
    """

    def __init__(self, url: str, clock: Clock, connections: Connections = CONNECTIONS) -> None:
        self._url = split(url)
        self._clock = clock
        self._connections = connections
        self._quiet_until = 0.0
        self._known: tuple[float, bytes] | None = None

    def push(self, credentials: str, updates: Sequence[RefUpdate], pack: bytes) -> bool:
        """Move all these refs, or none; False where git must be started.

        A push whose answer was lost may have moved them: git then finds them where they are to be.

        Args:
            credentials: User and password, with a colon between; "" for none.
            updates: What to move; at least one.
            pack: The objects that the remote does not have.
        """
        address, now = address_of(self._url), self._clock.monotonic()
        if address is None or now < self._quiet_until:
            return False
        try:
            with tracing.span("push"):
                if self._known is None or now - self._known[0] > KNOWN_SECONDS:
                    self._known = (now, self._format(address, credentials))
                body = commands(updates, self._known[1]) + (pack if _brings(updates) else b"")
                answer = self._connections.ask(address, self._post(credentials, body))
                return moved(body_of(answer, _RESULT), updates)
        except (*FAILURES, UnicodeError):
            self._known, self._quiet_until = None, now + PAUSE
            return False

    def _format(self, address: Address, credentials: str) -> bytes:
        """Ask what it can do; returns what it is told that we can."""
        path = f"{self._url.path.rstrip('/')}/info/refs?service=git-receive-pack"
        headers = headers_for(credentials, "*/*") | UNKEPT
        asked = Request("GET", path, headers, most=_FIRST, cut=True)
        return capabilities(body_of(self._connections.ask(address, asked), _ADVERTISED))

    def _post(self, credentials: str, body: bytes) -> Request:
        path = f"{self._url.path.rstrip('/')}/git-receive-pack"
        headers = headers_for(credentials, _RESULT)
        headers["Content-Type"] = "application/x-git-receive-pack-request"
        return Request("POST", path, headers, body)


def _brings(updates: Sequence[RefUpdate]) -> bool:
    """Whether a pack follows: none does where refs are only deleted."""
    return any(each.wanted for each in updates)


def capabilities(body: bytes) -> bytes:
    """Read what a remote can do, from the beginning of the list of its refs.

    Returns:
        What the first command says that we can.

    Raises:
        OddAnswerError: It cannot move all or none and report that, or has other objects than ours.
    """
    # Some begin with a line about the service, and a flush.
    rest = body.removeprefix(packet(b"# service=git-receive-pack\n") + FLUSH)
    size = int(rest[:4], 16) if re.fullmatch(rb"[0-9a-f]{4}", rest[:4]) else 0
    line, separator, said = rest[4:size].rstrip(b"\n").partition(b"\0")
    there = said.split()
    if size > len(rest) or not separator or not there or not line:
        raise OddAnswerError("what should say what a remote can do does not")
    formats = [each for each in there if each.startswith(b"object-format=")]
    if _NEEDED.difference(there) or formats not in ([], [b"object-format=sha1"]):
        raise OddAnswerError("a remote cannot move all or none")
    agent = [f"agent={AGENT}".encode()] if any(e.startswith(b"agent=") for e in there) else []
    return b" ".join([b"report-status", b"atomic", *formats, *agent])


def commands(updates: Sequence[RefUpdate], told: bytes) -> bytes:
    """Spell what is to be moved, each ref from where it was seen.

    Args:
        updates: What to move.
        told: What the remote is told that we can.
    """
    lines = [f"{u.expected or NOWHERE} {u.wanted or NOWHERE} {u.ref}".encode() for u in updates]
    lines[0] += b"\0 " + told
    return b"".join([*map(packet, lines), FLUSH])


def moved(body: bytes, updates: Sequence[RefUpdate]) -> bool:
    """Whether a report says that all refs moved, and nothing besides.

    Raises:
        OddAnswerError: It is no report.
    """
    lines = [line.rstrip(b"\n") for line in packets(body)]
    if not lines or not lines[0].startswith(b"unpack "):
        raise OddAnswerError("what should be a report of a push is none")
    return sorted(lines) == sorted([b"unpack ok", *(f"ok {u.ref}".encode() for u in updates)])
