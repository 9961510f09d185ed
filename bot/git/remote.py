"""Asks a remote which refs it has, by git's protocol 2 and without starting git.

What is not exactly as the protocol has it is no answer, whatever it is: an error, a redirection, an
older protocol, a list that breaks off. Git is started then and says what is wrong. So it is where
the operator's network asks for what only git knows how to do (proxies, certificates by another
name). An answer is never part of one: it has an end of its own.

Source: https://git-scm.com/docs/protocol-v2, https://git-scm.com/docs/http-protocol
"""

import os
import re
from collections.abc import Sequence
from urllib.parse import SplitResult

from bot import tracing
from bot.clock import Clock
from bot.git import refs as git_refs
from bot.git.connections import (
    CONNECTIONS,
    FAILURES,
    Connections,
    HttpAnswer,
    OddAnswerError,
    RemoteAddress,
    Request,
)
from bot.git.process import AUTHORITY, NO_PROXY, OTHER_AUTHORITIES, PROXIES, basic
from fnrunner import urls
from lifecycle.names import Sha

MOST_BYTES = 4 * 1024**2
"""Of a list of refs: some 40,000; git lists more."""

KNOWN_SECONDS = 3600.0
"""For which what a remote can do is remembered; what it then cannot do is no answer."""

PAUSE = 60.0
"""Seconds for which a remote that gave no answer is left to git: it costs a request each time."""

AGENT = "git/porchbot"  # GitHub knows clients of git by how this begins
UNKEPT = {"Pragma": "no-cache", "Cache-Control": "no-cache"}
FLUSH, _DELIMITER = b"0000", b"0001"
_REF = re.compile(rb"([0-9a-f]{40}) (refs/[^\0-\x20\x7f~^:?*\[\\]+)\n?")


class Service:
    """One of git's services of a remote, asked without git: what it can do is remembered.

    Args:
        url: For git over HTTP, without credentials.
        clock: For how long something is remembered.
        connections: To this remote and others.
    """

    def __init__(self, url: str, clock: Clock, connections: Connections) -> None:
        self._url = urls.parts(url)
        self._clock = clock
        self._connections = connections
        self._quiet_until = 0.0
        self._known: tuple[float, bytes] | None = None

    def _asked_at(self) -> RemoteAddress | None:
        """Where it is asked; None where git must be started."""
        address = address_of(self._url)
        return None if self._clock.monotonic() < self._quiet_until else address

    def _told(self, address: RemoteAddress, credentials: str) -> bytes:
        """What it is to be told that we can; asked for once in `KNOWN_SECONDS`."""
        now = self._clock.monotonic()
        if self._known is None or now - self._known[0] > KNOWN_SECONDS:
            self._known = (now, self._format(address, credentials))
        return self._known[1]

    def _format(self, address: RemoteAddress, credentials: str) -> bytes:
        """Ask what it can do."""
        raise NotImplementedError

    def _failed(self) -> None:
        """It gave no answer: what takes long may have taken longer than the pause that begins."""
        self._known, self._quiet_until = None, self._clock.monotonic() + PAUSE


class RemoteRefs(Service):
    """The refs of one remote, as it tells them; arguments as for `Service`."""

    def __init__(self, url: str, clock: Clock, connections: Connections = CONNECTIONS) -> None:
        super().__init__(url, clock, connections)

    def at(self, credentials: str, places: Sequence[str]) -> dict[str, Sha] | None:
        """Ask for the refs at some places: full name to object; None where git must be started.

        Args:
            credentials: User and password, with a colon between; "" for none.
            places: Refs and folders of refs.
        """
        if (address := self._asked_at()) is None:
            return None
        try:
            found = self._ask(
                address, credentials, list(map(git_refs.prefix, git_refs.named(places)))
            )
        except (*FAILURES, UnicodeError):
            self._failed()
            return None
        # What a remote tells beyond what it was asked for is passed over, as git does.
        return git_refs.at(found, places)

    def named(self, credentials: str, refs: Sequence[str]) -> dict[str, Sha] | None:
        """Ask for refs, and for all whose names begin like theirs; None where that is no answer.

        So many may begin alike that the answer is none; that says nothing of the next question.
        """
        if (address := self._asked_at()) is None:
            return None
        try:
            return self._ask(address, credentials, refs)
        except (*FAILURES, UnicodeError):
            return None

    def _ask(
        self, address: RemoteAddress, credentials: str, beginnings: Sequence[str]
    ) -> dict[str, Sha]:
        with tracing.span("refs"):
            asked = listing(beginnings, self._told(address, credentials))
            answer = self._connections.ask(address, self._post(credentials, asked))
            return listed(body_of(answer, "application/x-git-upload-pack-result"))

    def _format(self, address: RemoteAddress, credentials: str) -> bytes:
        """Ask what it can do; returns what it must be told of the format of objects."""
        path = f"{self._url.path.rstrip('/')}/info/refs?service=git-upload-pack"
        headers = headers_for(credentials, "*/*") | UNKEPT
        answer = self._connections.ask(address, Request("GET", path, headers))
        return capabilities(body_of(answer, "application/x-git-upload-pack-advertisement"))

    def _post(self, credentials: str, body: bytes) -> Request:
        path = f"{self._url.path.rstrip('/')}/git-upload-pack"
        headers = headers_for(credentials, "application/x-git-upload-pack-result")
        headers["Content-Type"] = "application/x-git-upload-pack-request"
        return Request("POST", path, headers, body, MOST_BYTES)


def address_of(url: SplitResult) -> RemoteAddress | None:
    """Where a remote is reached; None where that takes what only git can do."""
    secure = url.scheme == "https"
    plain = url.scheme in ("http", "https") and url.hostname and url.hostname.isascii()
    if not plain or url.netloc.rpartition("@")[1] or url.query or url.fragment:
        return None
    # Git knows more ways to say that a host needs no proxy; its name is the plainest.
    near = {name for each in NO_PROXY for name in os.environ.get(each, "").split(",")}
    if url.hostname not in near and any(os.environ.get(name) for name in PROXIES):
        return None
    authority = os.environ.get(AUTHORITY, "") if secure else ""
    # Python goes by these and git may not: then git alone says whom to trust.
    if secure and not authority and any(os.environ.get(name) for name in OTHER_AUTHORITIES):
        return None
    return RemoteAddress(str(url.hostname), url.port or (443 if secure else 80), secure, authority)


def headers_for(credentials: str, accept: str) -> dict[str, str]:
    """What each request says of us.

    Args:
        credentials: User and password, with a colon between; "" for none.
        accept: The type of the answer.
    """
    headers = {
        "User-Agent": AGENT,
        "Accept": accept,
        "Accept-Encoding": "identity",
        "Git-Protocol": "version=2",
    }
    return headers | ({"Authorization": basic(credentials)} if credentials else {})


def body_of(answer: HttpAnswer, kind: str) -> bytes:
    """The body of an answer that is one of a kind.

    Raises:
        OddAnswerError: It is none.
    """
    if (answer.status, answer.kind) != (200, kind):
        raise OddAnswerError(f"an answer of status {answer.status} and type {answer.kind}")
    return answer.body


def packet(content: bytes) -> bytes:
    """One packet of git's protocol."""
    return b"%04x" % (len(content) + 4) + content


def packets(body: bytes) -> list[bytes]:
    """Contents of the packets of a body, which must end with its only flush.

    Raises:
        OddAnswerError: It does not.
    """
    found, at = [], 0
    while (length := body[at : at + 4]) != FLUSH:
        size = int(length, 16) if re.fullmatch(rb"[0-9a-f]{4}", length) else 0
        if size < len(FLUSH) or at + size > len(body):
            raise OddAnswerError("what should be packets of git's protocol is none")
        found.append(body[at + 4 : at + size])
        at += size
    if at + len(FLUSH) != len(body):
        raise OddAnswerError("more comes after the end")
    return found


def capabilities(body: bytes) -> bytes:
    """Read what a remote can do; returns what it must be told of the format of objects.

    Raises:
        OddAnswerError: It does not list refs by protocol 2, or has other objects than ours.
    """
    # Some begin as with the protocols before: a line about the service, and a flush.
    service = packet(b"# service=git-upload-pack\n") + FLUSH
    lines = [line.rstrip(b"\n") for line in packets(body.removeprefix(service))]
    lists = any(line == b"ls-refs" or line.startswith(b"ls-refs=") for line in lines)
    formats = [line for line in lines if line.startswith(b"object-format=")]
    if lines[:1] != [b"version 2"] or not lists or formats not in ([], [b"object-format=sha1"]):
        raise OddAnswerError("refs are not listed by protocol 2")
    return packet(formats[0]) if formats else b""


def listing(beginnings: Sequence[str], told: bytes) -> bytes:
    """Spell the question for refs.

    Args:
        beginnings: How their names begin.
        told: What the remote must be told first.
    """
    asked = [packet(f"ref-prefix {each}\n".encode()) for each in beginnings]
    return b"".join([packet(b"command=ls-refs\n"), told, _DELIMITER, *asked, FLUSH])


def listed(body: bytes) -> dict[str, Sha]:
    """Read a list of refs: full name to object.

    Raises:
        OddAnswerError: It is none, or breaks off.
    """
    found: dict[str, Sha] = {}
    for line in packets(body):
        match = _REF.fullmatch(line)
        name = match[2].decode(errors="replace") if match else ""
        if match is None or name in found:
            raise OddAnswerError("what should be a ref is none")
        found[name] = Sha(match[1].decode())
    return found
