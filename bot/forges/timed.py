"""Connections on which a whole answer has a time: its headers and its body, however they come.

The time of a socket is for each read alone: an answer that comes byte by byte, or that unpacks to
nothing, would never be too late.
"""

import http.client
import io
import socket
from time import monotonic
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection

LONGEST = 60.0
"""Seconds for a whole answer, counted from when the request was sent."""


def session() -> requests.Session:
    """A session whose answers have a time."""
    made = requests.Session()
    mount(made)
    return made


def mount(made: requests.Session) -> None:
    """Give the answers of a session a time."""
    for scheme in ("https://", "http://"):
        made.mount(scheme, _TimedAdapter())


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


class _TimedSecureConnection(HTTPSConnection):
    response_class = _TimedResponse


class _Pool(HTTPConnectionPool):
    ConnectionCls = _TimedConnection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _TimedSecureConnection


class _TimedAdapter(HTTPAdapter):
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
