"""HTTP requests to permitted hosts, with a deadline and cancellation.

Rules
- A name is resolved once, and what is connected to is the address that was checked: a name
  server that answers differently the second time gains nothing.
- Redirections are the caller's: nothing is followed, and no cookie is kept.
- A session has one end for all its requests, which even a server that sends a byte at a time
  cannot outlast: its sockets are shut then.
- Proxies are taken from the environment, as docker does; loopback addresses have none.
"""

import ipaddress
import socket
import ssl
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from threading import Event, Lock, Timer
from types import TracebackType
from typing import Final, Self
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, LocationParseError
from urllib3.exceptions import SSLError as UnsafeError

from fnrunner import urls

_CONNECT_SECONDS: Final = 10.0
_SILENT_SECONDS: Final = 20.0  # longest time without a byte
_PIECE: Final = 256 * 1024


class FetchError(Exception):
    """A request failed.

    Attributes:
        reason: Why, to go on after "it cannot be had: ".
        fix: What to do.
        passing: It may well succeed a little later.
    """

    def __init__(self, reason: str, fix: str, *, passing: bool = False) -> None:
        super().__init__(f"{reason}. {fix}.")
        self.reason = reason
        self.fix = fix
        self.passing = passing


class ResponseTooLargeError(FetchError):
    """An answer is longer than it may be."""


class HttpSession:
    """Requests that end together, at the latest after some seconds; several threads may ask.

    Args:
        seconds: Longest time for all of them.
        named: Says of a host (with its port, if one is given) that it may stand anywhere; the
            others may not be reached at private addresses.
        authority: The file with certificates to trust besides the system's for a host, or None.
    """

    def __init__(
        self,
        seconds: float,
        named: Callable[[str], bool],
        authority: Callable[[str], Path | None],
    ) -> None:
        self._named = named
        self._authority = authority
        self._managers: dict[tuple[Path | None, str], urllib3.PoolManager] = {}
        self._sockets: list[socket.socket] = []
        self._lock = Lock()
        self._over = Event()
        self._seconds = seconds
        self._timer = Timer(seconds, self.abort)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        for manager in self._managers.values():
            manager.clear()
        with self._lock:
            for each in self._sockets:
                each.close()
            self._sockets.clear()

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self._over.is_set()

    def abort(self) -> None:
        """End all requests, from any thread; what reads from them gets an error."""
        self._over.set()
        with self._lock:
            for each in self._sockets:
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:  # already closed by the other side
                    continue

    def wait(self, seconds: float) -> None:
        """Wait, but not beyond the end of the session."""
        if self._over.wait(seconds):
            raise self._ended()

    def open(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> BaseHTTPResponse:
        """Send a request and return the answer, its body still to be read and closed.

        Raises:
            FetchError: There is no answer, or the host may not be reached.
        """
        host = urls.parts(url).hostname or ""
        if self._over.is_set():
            raise self._ended()
        try:
            return self._manager(url).request(
                method,
                url,
                body=body,
                headers={"User-Agent": "porchbot", "Accept-Encoding": "identity", **headers},
                retries=False,
                redirect=False,
                preload_content=False,
                decode_content=False,
                timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=_SILENT_SECONDS),
            )
        except (UnsafeError, LocationParseError) as error:
            raise FetchError(
                f"{host} cannot be trusted: {_said(error)}",
                "Name its certificate authority (`ca`) in the runner's configuration,"
                " or that it speaks plain HTTP (`insecure`)",
            ) from error
        except (HTTPError, OSError) as error:
            raise self._broken(host, error) from error

    def read(self, answer: BaseHTTPResponse, most: int, sink: Callable[[bytes], object]) -> int:
        """Hand the body of an answer on in pieces; return its length in bytes.

        Raises:
            ResponseTooLargeError: It has more than `most` bytes; what was read until then
                was handed on.
            FetchError: It broke off.
        """
        length = 0
        try:
            while piece := self._piece(answer):
                length += len(piece)
                if length > most:
                    raise ResponseTooLargeError(
                        f"the registry sends more than the {most} bytes that were announced or"
                        " are allowed",
                        "Contact the operator of the registry",
                    )
                sink(piece)
        except BaseException:
            answer.close()
            raise
        answer.release_conn()
        if self._over.is_set():
            raise self._ended()
        return length

    def _piece(self, answer: BaseHTTPResponse) -> bytes:
        try:
            return answer.read1(_PIECE, decode_content=False)
        except (HTTPError, OSError) as error:
            raise self._broken("the registry", error) from error

    def _broken(self, host: str, error: Exception) -> FetchError:
        if self._over.is_set():
            return self._ended()
        return FetchError(
            f"{host} did not respond as expected: {_said(error)}",
            "Try again later, or contact its operator",
            passing=True,
        )

    def _ended(self) -> FetchError:
        return FetchError(
            f"it was not pulled within {self._seconds:g} seconds",
            "Try again later, or allow more time",
            passing=True,
        )

    def _manager(self, url: str) -> urllib3.PoolManager:
        parts = urls.parts(url)
        host = parts.hostname or ""
        proxy = _proxy(parts.scheme, host)
        if proxy and not self._named(parts.netloc):
            _refuse_private(host)
        key = (self._authority(parts.netloc), proxy)
        with self._lock:
            if key not in self._managers:
                self._managers[key] = self._made(*key)
            return self._managers[key]

    def _made(self, authority: Path | None, proxy: str) -> urllib3.PoolManager:
        try:
            context = _context(authority, authority.stat().st_mtime_ns if authority else 0)
        except OSError as error:
            raise FetchError(
                f"the certificates in {authority} cannot be read: {error.strerror or error}",
                "Fix `ca` in the runner's configuration",
            ) from error
        manager: urllib3.PoolManager
        if proxy:
            manager = urllib3.ProxyManager(proxy, ssl_context=context, maxsize=4)
        else:
            manager = urllib3.PoolManager(ssl_context=context, maxsize=4)
        manager.pool_classes_by_scheme = _pools(self._reach)
        return manager

    def _reach(self, connection: HTTPConnection) -> socket.socket:
        """Connect to one of the addresses of a host that may be reached."""
        host, port = connection.host, connection.port or connection.default_port
        found = _addresses(host, port)
        if connection.proxy is None and not (self._named(host) or self._named(f"{host}:{port}")):
            found = [each for each in found if _public(each[4][0])]
            if not found:
                raise _private(host)
        failed: OSError | None = None
        for family, kind, protocol, _, address in found:
            reached = socket.socket(family, kind, protocol)
            try:
                reached.settimeout(_CONNECT_SECONDS)
                reached.connect(address)
                reached.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._keep(reached)
            except OSError as error:
                reached.close()
                failed = error
                continue
            return reached
        raise failed or OSError(f"{host} does not resolve to an address")

    def _keep(self, reached: socket.socket) -> None:
        """Hold a second handle on a socket: TLS takes the first one away."""
        with self._lock:
            self._sockets.append(reached.dup())
            if self._over.is_set():
                self._sockets[-1].shutdown(socket.SHUT_RDWR)


_Address = tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int]]


def _addresses(host: str, port: int) -> list[_Address]:
    found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    return [each for each in found if isinstance(each[4][0], str)]  # type: ignore[misc] # IPv6 has more


def _refuse_private(host: str) -> None:
    """Refuse a host behind a proxy where its name can be resolved here; else the proxy decides."""
    try:
        found = _addresses(host, 443)
    except OSError:
        return
    if not any(_public(each[4][0]) for each in found):
        raise _private(host)


def _private(host: str) -> FetchError:
    return FetchError(
        f"{host} resolves to a private address",
        "List it under `registries` in the runner's configuration if it may be used",
    )


def _public(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if found in ipaddress.ip_network("64:ff9b::/96"):  # IPv4 behind NAT64
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return inner.is_global and not inner.is_multicast
    return found.is_global and not found.is_multicast


def loopback(host: str) -> bool:
    """Tell whether a host (without its port) is this machine, by its name alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _proxy(scheme: str, host: str) -> str:
    if loopback(host) or proxy_bypass(host):
        return ""
    return getproxies().get(scheme, "")


@lru_cache(maxsize=16)
def _context(authority: Path | None, changed: int) -> ssl.SSLContext:  # noqa: ARG001 - part of the key
    """Return how certificates are checked; reading the system's takes 10 ms and more."""
    context = ssl.create_default_context()
    if authority is not None:
        context.load_verify_locations(cafile=authority)
    return context


def _pools(
    reach: Callable[[HTTPConnection], socket.socket],
) -> dict[str, type[HTTPConnectionPool] | type[HTTPSConnectionPool]]:
    """Return pools whose connections are made by `reach`."""

    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            return reach(self)

    class Secure(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            return reach(self)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


def _said(error: BaseException) -> str:
    """Return what an error says, in one line; urllib3 wraps the one that tells something."""
    while error.args and isinstance(error.args[-1], BaseException):
        error = error.args[-1]
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).rpartition(">: ")[2].splitlines()[0]
