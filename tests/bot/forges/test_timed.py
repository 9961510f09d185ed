"""A whole answer of a forge has a time, however it comes."""

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from bot.forges import timed
from bot.forges.exchange import Pool, send
from bot.forges.github import http as github
from bot.forges.gitlab import http as gitlab
from bot.forges.port import ForgeBusyError

NEVER: dict[str, tuple[bytes, bytes, bytes]] = {
    "a body": (b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", b" ", b""),
    "a header": (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x", b"\r\nContent-Length: 2\r\n\r\n{}"),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", b"Content-Length: 2\r\n\r\n{}"),
    "answers that are none yet": (b"", b"HTTP/1.1 100 Continue\r\n\r\n", b""),
    "the name of a packed file": (
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 510\r\n\r\n"
        b"\x1f\x8b\x08\x08\0\0\0\0\0\0",
        b"x",
        b"",
    ),
}
"""How an answer begins, what then comes again and again, and how it would end."""


FORGES: dict[str, Callable[[str], Pool[Any, Any, Any]]] = {
    "github": lambda url: github.Clients(f"{url}/api/v3", lambda: None),
    "gitlab": lambda url: gitlab.Clients(url, lambda: "glpat-one"),
}


@pytest.mark.parametrize("forge", FORGES)
@pytest.mark.parametrize("how", NEVER)
def test_an_answer_that_never_ends_is_given_up(
    monkeypatch: pytest.MonkeyPatch, how: str, forge: str
) -> None:
    """Short-cuts bound the time between two bytes alone: one byte every few seconds keeps a request
    under way for weeks, and sixteen of them keep all that the account may have; or the time of a
    body alone, or of what is unpacked of it."""
    monkeypatch.setattr(timed, "LONGEST", 0.2)
    begins, again, ends_with = NEVER[how]
    ends = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drips() -> None:
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(65_536)
                connection.sendall(begins)
                for _ in range(90 if how == "headers" else 500):  # more are refused as such
                    ends.wait(0.01)
                    connection.sendall(again)
                connection.sendall(ends_with)  # the short-cut has all of it in the end

        thread = threading.Thread(target=drips)
        thread.start()
        pool = FORGES[forge](f"http://127.0.0.1:{server.getsockname()[1]}")
        try:
            with pytest.raises(ForgeBusyError, match=r"Timeout|ConnectionError"):
                send(pool, "look", "GET", "/user")
        finally:
            ends.set()
            pool.close()
            thread.join()
