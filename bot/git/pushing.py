"""Moves a ref of a remote, by git's protocol and without starting git.

What a remote can do is asked for once an hour, so that a push is one request and the remote lists
none of its refs: it compares the ref with the value that was seen when it moves it. Only a report
that it moved counts. Whatever else comes back, git is started for the same push and says what is
wrong (ADR 0080). Git also moves several refs at once, which a remote may have ceased to do
together, and deletes: a remote that has lost what a ref was seen at deletes it from wherever it is.

Source: https://git-scm.com/docs/gitprotocol-http, https://git-scm.com/docs/gitprotocol-pack
"""

import re
from typing import Final

from bot import tracing
from bot.clock import Clock
from bot.git.connections import FAILURES, Connections, OddAnswerError, RemoteAddress, Request
from bot.git.port import RefUpdate
from bot.git.remote import AGENT, FLUSH, UNKEPT, Service, body_of, headers_for, packet, packets

SECONDS: Final = 120.0
"""For one push: what a forge checks before it moves a ref takes its time."""

NOWHERE: Final = "0" * 40
"""How git writes that a ref is not there."""

CONNECTIONS = Connections(SECONDS)

_FIRST = 16 * 1024
"""Bytes of a list of refs that are read: its first line says what the remote can do."""

_ADVERTISED = "application/x-git-receive-pack-advertisement"
_RESULT = "application/x-git-receive-pack-result"


class RemotePush(Service):
    """Pushes to one remote; arguments as for `Service`."""

    def __init__(self, url: str, clock: Clock, connections: Connections = CONNECTIONS) -> None:
        super().__init__(url, clock, connections)

    def push(self, credentials: str, update: RefUpdate, pack: bytes) -> bool:
        """Move a ref, or make it; False where git must be started.

        A push whose answer was lost may have moved it: git then finds it where it is to be.

        Args:
            credentials: User and password, with a colon between; "" for none.
            update: What to move; not to delete.
            pack: The objects that the remote does not have.
        """
        if (address := self._asked_at()) is None:
            return False
        try:
            with tracing.span("push"):
                body = command(update, self._told(address, credentials)) + pack
                answer = self._connections.ask(address, self._post(credentials, body))
                return moved(body_of(answer, _RESULT), update)
        except (*FAILURES, UnicodeError):
            self._failed()
            return False

    def _format(self, address: RemoteAddress, credentials: str) -> bytes:
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


def capabilities(body: bytes) -> bytes:
    """Read what a remote can do, from the beginning of the list of its refs.

    Returns:
        What the first command says that we can.

    Raises:
        OddAnswerError: It does not report what moved, or has other objects than ours.
    """
    # Some begin with a line about the service, and a flush.
    rest = body.removeprefix(packet(b"# service=git-receive-pack\n") + FLUSH)
    size = int(rest[:4], 16) if re.fullmatch(rb"[0-9a-f]{4}", rest[:4]) else 0
    line, separator, said = rest[4:size].rstrip(b"\n").partition(b"\0")
    there = said.split()
    if size > len(rest) or not separator or not there or not line:
        raise OddAnswerError("what should say what a remote can do does not")
    formats = [each for each in there if each.startswith(b"object-format=")]
    if b"report-status" not in there or formats not in ([], [b"object-format=sha1"]):
        raise OddAnswerError("a remote does not report what moved, or has other objects")
    agent = [f"agent={AGENT}".encode()] if any(e.startswith(b"agent=") for e in there) else []
    return b" ".join([b"report-status", *formats, *agent])


def command(update: RefUpdate, told: bytes) -> bytes:
    """Spell what is to be moved, from where it was seen.

    Args:
        update: What to move.
        told: What the remote is told that we can.
    """
    line = f"{update.expected or NOWHERE} {update.wanted} {update.ref}".encode()
    return packet(line + b"\0 " + told) + FLUSH


def moved(body: bytes, update: RefUpdate) -> bool:
    """Whether a report says that a ref moved, and nothing besides.

    Raises:
        OddAnswerError: It is no report.
    """
    lines = [line.rstrip(b"\n") for line in packets(body)]
    if not lines or not lines[0].startswith(b"unpack "):
        raise OddAnswerError("what should be a report of a push is none")
    return lines == [b"unpack ok", f"ok {update.ref}".encode()]
