"""The HTTP server under the door: what a connection may cost before and after a request is read.

uvicorn has no limit on the time or size of headers, reads a body that nobody wants to its end, and
waits for ever for who does not read an answer; here these end the connection.
"""

import asyncio
import functools
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """What connections may cost.

    Attributes:
        seconds: For all headers of a request; GitHub gives up after ten itself.
        header_bytes: Of all headers of a request, trailers included.
        waiting: Connections that have not sent their headers; of more, the oldest is closed.
        connections: In all; more are answered 503.
        write_seconds: For whoever asked to take some of what it was answered.
    """

    seconds: float = 10.0
    header_bytes: int = 64 * 1024
    waiting: int = 400
    connections: int = 900
    write_seconds: float = 30.0


DEFAULT = ConnectionLimits()

_FILES = 4096
"""Open files to ask the system for: many give a process 1,024."""

_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class HttpConnection(HttpToolsProtocol):
    """One connection, closed when its headers take too long, or when a body is not wanted.

    Args:
        limits: For every connection.
        waiting: All connections without headers, oldest first; shared.
        given: What uvicorn gives.
    """

    def __init__(
        self, *, limits: ConnectionLimits, waiting: dict["HttpConnection", None], **given: Any
    ) -> None:
        super().__init__(**given)
        self._limits = limits
        self._waiting = waiting
        self._deadline: asyncio.TimerHandle | None = None
        self._header_bytes = 0
        self._writing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._await_headers()
        if len(self._waiting) > self._limits.waiting:
            next(iter(self._waiting)).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._have_headers()
        self._have_written()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if self._deadline is None and self.cycle is not None and self.cycle.response_complete:
            self._await_headers()  # another request on the same connection
        super().data_received(data)
        if self._deadline is not None:
            self._header_bytes += len(data)
            self._check_headers()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header or a trailer."""
        super().on_header(name, value)
        if self._deadline is None:
            self._header_bytes += len(name) + len(value)
            self._check_headers()

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self._have_headers()
        super().on_headers_complete()

    def pause_writing(self) -> None:
        """More was answered than is taken at once."""
        super().pause_writing()
        self._await_written()

    def resume_writing(self) -> None:
        """Some of that was taken."""
        super().resume_writing()
        self._have_written()

    def on_response_complete(self) -> None:
        """Close the connection where the rest of a body would have to be read."""
        super().on_response_complete()
        self._await_written()
        if self.cycle.more_body and not self.pipeline:
            self.transport.close()

    def _await_headers(self) -> None:
        self._header_bytes = 0
        self._waiting[self] = None
        self._deadline = self.loop.call_later(self._limits.seconds, self.transport.abort)

    def _have_headers(self) -> None:
        self._waiting.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _await_written(self) -> None:
        """End the connection of whoever does not read: it would have its place for ever."""
        if self._writing is None and self.transport.get_write_buffer_size():
            seconds = self._limits.write_seconds
            self._writing = self.loop.call_later(seconds, self._check_written)

    def _have_written(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def _check_written(self) -> None:
        self._writing = None
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    def _check_headers(self) -> None:
        if self._header_bytes > self._limits.header_bytes and not self.transport.is_closing():
            if self._deadline is not None:
                self.transport.write(_TOO_LARGE)
            self.transport.close()


class _Server(uvicorn.Server):
    """A server that leaves signals to us: the order of ending matters."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@asynccontextmanager
async def listening(
    application: ASGIApp, host: str, port: int, limits: ConnectionLimits = DEFAULT
) -> AsyncIterator[str]:
    """Answer requests inside the block; gives the address.

    Raises:
        OSError: It cannot listen there.
    """
    _want_files()
    waiting: dict[HttpConnection, None] = {}
    server = _Server(
        uvicorn.Config(
            application,
            host=host,
            port=port,
            http=functools.partial(HttpConnection, limits=limits, waiting=waiting),  # type: ignore[arg-type]
            ws="none",
            log_config=None,
            access_log=False,
            lifespan="off",
            backlog=1024,
            limit_concurrency=limits.connections,
            timeout_graceful_shutdown=5,
        )
    )
    task = asyncio.create_task(server.serve())
    while not server.started:
        if task.done():
            task.result()
            raise OSError(f"cannot listen on {host}:{port}")
        await asyncio.sleep(0.01)
    listens = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://{host}:{listens}"
    finally:
        server.should_exit = True
        await task


def _want_files() -> None:
    """Allow as many open files as there may be connections, and some."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _FILES:
        wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
        with suppress(ValueError, OSError):  # fewer connections, then
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
