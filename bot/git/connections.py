"""HTTP connections to remotes of git that are kept between requests, each request with an end.

Nothing is followed, and nothing is sent but what is asked for: no proxy, no redirection, no
cookie. Git does what needs more than that (`bot.git.remote`).
"""

import select
import socket
import ssl
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from http.client import HTTPConnection, HTTPException
from pathlib import Path

SECONDS = 5.0
"""For one request with its answer; GitHub takes a tenth of that for thousands of refs."""

MOST_IDLE = 16
"""Connections that are kept; looks at one time are fewer (BOT_WORKERS)."""

MOST_IDLE_SECONDS = 60.0
"""Until a kept connection is not used again: what stands between may have forgotten it."""

_PIECE = 64 * 1024


class OddAnswerError(Exception):
    """An answer is none that the protocol has."""


@dataclass(frozen=True, slots=True)
class RemoteAddress:
    """Where a remote is reached.

    Attributes:
        host: As the URL has it.
        port: Of it.
        secure: By TLS.
        authority: File with the certificates to trust; "" for the system's.
        at: Address in numbers that the connection goes to; "" to look the host up.
    """

    host: str
    port: int
    secure: bool = False
    authority: str = ""
    at: str = ""

    @property
    def name(self) -> str:
        """As a request names it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Request:
    """One request.

    Attributes:
        method: "GET" or "POST".
        path: With the query.
        headers: All but those that say where it goes and how long it is.
        body: "" for none.
        most: Bytes that its answer may have.
        cut: Whether what is longer is cut off there, with the connection.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""
    most: int = 64 * 1024
    cut: bool = False


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What came back.

    Attributes:
        status: Of HTTP.
        kind: Its Content-Type.
        body: All of it.
        location: Where it leads to; "" for nowhere.
    """

    status: int
    kind: str
    body: bytes
    location: str = ""


class _Connection:
    """One connection; `end` may be called from any thread and breaks off what is under way."""

    def __init__(self, address: RemoteAddress, seconds: float) -> None:
        self.address = address
        self.used = 0.0
        self.seconds = seconds
        self.overdue = False
        self._http = HTTPConnection(address.host, address.port)
        self._http.auto_open = 0  # it would come back without TLS
        raw = socket.create_connection((address.at or address.host, address.port), seconds)
        self._handle = raw.dup()  # TLS takes the first one away
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with _Ending(self):
                self._http.sock = _secured(raw, address) if address.secure else raw
        except BaseException:
            raw.close()
            self._handle.close()
            raise

    def talk(self, request: Request) -> tuple[HttpAnswer, bool]:
        """Send a request and read its answer; whether the connection may be used again.

        Raises:
            OddAnswerError: It is too long, or broke off.
            TimeoutError: It took too long.
        """
        with _Ending(self):
            self._http.request(request.method, request.path, request.body or None, request.headers)
            answer = self._http.getresponse()
            body = bytearray()
            # Not read(): a chunk that says it is -1 bytes long would be read without end.
            while len(body) <= request.most and (piece := answer.read1(_PIECE)):
                body += piece
        long = len(body) > request.most
        if long and not request.cut:
            raise OddAnswerError(f"an answer of more than {request.most} bytes")
        if answer.length and not long:
            raise OddAnswerError("an answer that broke off")
        kind = answer.headers.get_content_type()
        again = not answer.will_close and not long
        answer.close()
        self.used = time.monotonic()
        location = answer.headers.get("Location", "")
        return HttpAnswer(answer.status, kind, bytes(body), location), again

    @property
    def fresh(self) -> bool:
        """Whether it is open and silent: what stands there to be read answers no question."""
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        return time.monotonic() - self.used < MOST_IDLE_SECONDS and not poll.poll(0)

    def end(self) -> None:
        self.overdue = True
        try:
            self._handle.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # closed by the other end already

    def close(self) -> None:
        self._http.close()
        self._handle.close()


class _Ending:
    """Ends what is under way on a connection when it takes too long, however slowly bytes come."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        self._timer = threading.Timer(connection.seconds, connection.end)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        self._timer.cancel()
        if self._connection.overdue:  # what came until then is no answer, and no error of theirs
            seconds = self._connection.seconds
            raise TimeoutError(f"no whole answer within {seconds:g} s") from error


class Connections:
    """Connections to all remotes; threads share them.

    Args:
        seconds: For one request with its answer, or for making a connection.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._idle: list[_Connection] = []
        self._lock = threading.Lock()

    def ask(self, address: RemoteAddress, request: Request) -> HttpAnswer:
        """Send a request that may be sent twice, over a kept connection where there is one.

        Raises:
            OSError: The remote cannot be reached, or not be trusted.
            HTTPException: It does not speak HTTP.
            OddAnswerError: Its answer is too long, or broke off.
        """
        kept = self._take(address)
        if kept is not None:
            # It may have been closed meanwhile, which no connection tells before it is used.
            with suppress(ConnectionError):
                return self._talk(kept, request)
        return self._talk(_Connection(address, self._seconds), request)

    def close(self) -> None:
        """Close what is kept."""
        with self._lock:
            kept, self._idle = self._idle, []
        for each in kept:
            each.close()

    def _talk(self, connection: _Connection, request: Request) -> HttpAnswer:
        try:
            answer, again = connection.talk(request)
        except BaseException:
            connection.close()
            raise
        over = self._give(connection) if again else [connection]
        for each in over:
            each.close()
        return answer

    def _take(self, address: RemoteAddress) -> _Connection | None:
        with self._lock:
            found = next((c for c in reversed(self._idle) if c.address == address), None)
            if found is None:
                return None
            self._idle.remove(found)
        if found.fresh:
            return found
        found.close()
        return None

    def _give(self, connection: _Connection) -> list[_Connection]:
        """Keep a connection; returns those that are too many."""
        with self._lock:
            self._idle.append(connection)
            over = self._idle[:-MOST_IDLE]
            del self._idle[:-MOST_IDLE]
        return over


CONNECTIONS = Connections()

FAILURES = (OSError, HTTPException, OddAnswerError)
"""All that comes of a remote that cannot be asked."""


def _secured(raw: socket.socket, address: RemoteAddress) -> ssl.SSLSocket:
    file = Path(address.authority) if address.authority else None
    context = _context(file, file.stat().st_mtime_ns if file else 0)
    return context.wrap_socket(raw, server_hostname=address.host)


@lru_cache(maxsize=4)
def _context(authority: Path | None, changed: int) -> ssl.SSLContext:  # noqa: ARG001 - part of the key
    """Return how certificates are checked; reading the system's takes 10 ms and more."""
    return ssl.create_default_context(cafile=authority)
