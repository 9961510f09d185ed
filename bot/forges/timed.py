"""Sessions whose answers are bounded: a whole answer has a time, and no more bytes than are read.

The time of a socket is for each read alone: an answer that comes byte by byte, or that unpacks to
nothing, would never be too late. A megabyte may unpack to a gigabyte, also where it only redirects.
No cookie is kept: a forge could have thousands sent back with each request.
"""

import http.client
import io
import socket
from http.cookiejar import DefaultCookiePolicy
from time import monotonic
from typing import Any, Final

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection

LONGEST = 60.0
"""Seconds for a whole answer, counted from when the request was sent."""

_CHUNK: Final = 8_192
"""Bytes that are taken off the wire at a time, if so many came; what is packed is unpacked so much
at a time."""


class LargeAnswerError(requests.RequestException):
    """An answer goes on after the bytes that are read."""


def session(most: int) -> requests.Session:
    """A session whose answers are bounded; the argument is that of `mount`."""
    made = requests.Session()
    mount(made, most)
    return made


def mount(made: requests.Session, most: int) -> None:
    """Bound the answers of a session.

    Args:
        made: The session.
        most: Bytes of one answer that are read, unpacked.
    """
    made.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    for scheme in ("https://", "http://"):
        made.mount(scheme, _BoundedAdapter(most))


def take(answer: requests.Response, most: int) -> None:
    """Read the body of an answer, once; its text is UTF-8, whatever it says of itself.

    Args:
        answer: Nothing of its body was read, or this did.
        most: Bytes that are read, unpacked.

    Raises:
        LargeAnswerError: It has more.
        requests.Timeout: It took longer than `LONGEST`.
        requests.ConnectionError: It broke off, or cannot be unpacked.
    """
    if answer._content is not False:
        return
    read = bytearray()
    with answer:
        try:
            while piece := answer.raw.read1(_CHUNK, decode_content=True):
                read += piece
                if len(read) > most:
                    raise LargeAnswerError
        except urllib3.exceptions.ReadTimeoutError as error:
            raise requests.Timeout from error
        except urllib3.exceptions.HTTPError as error:
            raise requests.ConnectionError from error
    answer._content = bytes(read)
    answer.encoding = "utf-8"  # another one may be unknown, no text, or guessed for seconds


class _TimedFile(io.RawIOBase):
    """Reads what comes on a socket until it is too late."""

    def __init__(self, sock: socket.socket, file: io.RawIOBase) -> None:
        self._sock, self._file = sock, file
        self._late = monotonic() + LONGEST

    def readable(self) -> bool:
        """It is there for that."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """As `RawIOBase` has it.

        Raises:
            TimeoutError: It is too late.
        """
        left = self._late - monotonic()
        if left <= 0:
            raise TimeoutError("the whole answer took too long")
        each = self._sock.gettimeout()
        self._sock.settimeout(left if each is None else min(left, each))
        return self._file.readinto(buffer)

    def close(self) -> None:
        """Close it as well: with its last file the socket goes."""
        self._file.close()
        super().close()


class _TimedResponse(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **named: Any) -> None:
        super().__init__(sock, *args, **named)
        self.fp = io.BufferedReader(_TimedFile(sock, self.fp.detach()))


class _TimedConnection(HTTPConnection):
    response_class = _TimedResponse

    def getresponse(self) -> Any:
        """As urllib3 has it, but that nothing stays open of what is no answer.

        It lets go of one with two lengths; where its connection ends with it, that is not closed.
        """
        sock = self.sock
        try:
            return super().getresponse()
        except BaseException:
            # Through a proxy that is asked by TLS it is none, and urllib3 closes it.
            if isinstance(sock, socket.socket) and (number := sock.detach()) >= 0:
                socket.close(number)
            raise


class _TimedSecureConnection(_TimedConnection, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _TimedConnection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _TimedSecureConnection


class _BoundedAdapter(HTTPAdapter):
    def __init__(self, most: int) -> None:
        self._most = most
        super().__init__()

    def send(
        self, request: requests.PreparedRequest, *args: Any, **named: Any
    ) -> requests.Response:
        """As the adapter has it, with the body: the session reads that of a redirect whole."""
        answer = super().send(request, *args, **named)
        take(answer, self._most)
        return answer

    def init_poolmanager(self, *args: Any, **named: Any) -> None:
        """As the adapter has it."""
        super().init_poolmanager(*args, **named)
        _time(self.poolmanager)

    def proxy_manager_for(self, *args: Any, **named: Any) -> Any:
        """As the adapter has it."""
        manager = super().proxy_manager_for(*args, **named)
        _time(manager)
        return manager


def _time(manager: PoolManager) -> None:
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
