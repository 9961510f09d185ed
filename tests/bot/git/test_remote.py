"""Asking a remote for its refs without git: when that spares a fetch, and when git has to look."""

import gzip
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from bot.git.connections import Connections, OddAnswerError
from bot.git.mirror import DiskMirror
from bot.git.port import BRANCHES, GitBusyError, Scope
from bot.git.process import AUTHORITY, OTHER_AUTHORITIES
from bot.git.remote import KNOWN_SECONDS, MOST_BYTES, PAUSE, RemoteRefs, capabilities, packet
from lifecycle.names import Ref
from tests.bot.git.server import TOKEN, Remote, certificate, serve
from tests.memory.clock import ManualClock

MAIN, V1 = Ref("refs/heads/main"), Ref("refs/tags/net/core/v1")
FILES: dict[str, bytes | str] = {"a": b"1"}
MINE = Scope(frozenset({"main"}), frozenset({"net/core"}))
RESULT = "application/x-git-upload-pack-result"
LS_REFS = "POST /blueprints.git/git-upload-pack"


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    with serve(tmp_path / "remote" / "blueprints.git") as served:
        yield served


@pytest.fixture
def mirror(remote: Remote, clock: ManualClock, tmp_path: Path) -> DiskMirror:
    return DiskMirror(tmp_path / "mirrors" / "1.git", remote.url, clock)


def look(mirror: DiskMirror, clock: ManualClock, scope: Scope = MINE) -> dict[str, str]:
    """What a look sees now."""
    clock.seconds += 1
    mirror.fetch(TOKEN, None, scope)
    with mirror.open() as git:
        return {ref: sha for ref, (sha, _) in git.refs().items()}


def asks(body: bytes) -> bool:
    return b"command=ls-refs" in body and b"agent=" not in body


def answer(
    request: BaseHTTPRequestHandler,
    body: bytes,
    kind: str = RESULT,
    status: int = 200,
    *,
    location: str = "",
    missing: int = 0,
) -> bool:
    request.send_response(status)
    request.send_header("Content-Type", kind)
    request.send_header("Content-Length", str(len(body) + missing))
    if location:
        request.send_header("Location", location)
    request.end_headers()
    request.wfile.write(body)
    return True


def too_long(request: BaseHTTPRequestHandler, listing: bytes) -> bool:
    """A list of more than anybody may answer, which does not say before how long it is."""
    request.close_connection = True
    request.send_response(200)
    request.send_header("Content-Type", RESULT)
    request.send_header("Transfer-Encoding", "chunked")
    request.end_headers()
    sha = listing[4:44].decode()
    others = (packet(f"{sha} refs/heads/other-{n:09}\n".encode()) for n in range(MOST_BYTES // 70))
    with suppress(OSError):
        for piece in (b"".join(others), listing):
            request.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        request.wfile.write(b"0\r\n\r\n")
    return True


def cut(request: BaseHTTPRequestHandler, listing: bytes) -> bool:
    """A connection that ends before what was announced, at the end of the list."""
    request.close_connection = True
    return answer(request, listing, missing=1)


ODD: dict[str, Callable[[BaseHTTPRequestHandler, bytes], bool]] = {
    "failed": lambda r, listing: answer(r, listing, status=502),
    "moved": lambda r, listing: answer(r, listing, status=301, location=r.path),
    "a page": lambda r, listing: answer(r, listing, "text/html"),
    "nothing": lambda r, _: answer(r, b""),
    "no end": lambda r, listing: answer(r, listing.removesuffix(b"0000")),
    "half a ref": lambda r, listing: answer(r, listing[:-20]),
    "more after its end": lambda r, listing: answer(r, listing + listing),
    "a ref twice": lambda r, listing: answer(r, listing.removesuffix(b"0000") + listing),
    "an error": lambda r, listing: answer(r, packet(b"ERR no") + listing),
    "a name of two lines": lambda r, listing: answer(r, listing.replace(b"main", b"main\nx", 1)),
    "compressed": lambda r, listing: answer(r, gzip.compress(listing)),
    "too long": too_long,
    "cut off": cut,
    "not HTTP": lambda r, listing: bool(r.wfile.write(listing)),
}


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_answer_is_none(
    remote: Remote, mirror: DiskMirror, clock: ManualClock, kind: str
) -> None:
    """The short-cut reads what it can: a list that broke off, or an old one, says "unchanged"."""
    remote.git("update-ref", V1, one := remote.commit(FILES, ref=MAIN))
    assert look(mirror, clock) == {MAIN: one, V1: one}
    listing = b"".join(packet(f"{one} {ref}\n".encode()) for ref in (MAIN, V1)) + b"0000"
    remote.odd = lambda request, body: asks(body) and ODD[kind](request, listing)

    remote.git("update-ref", "-d", V1)
    assert look(mirror, clock) == {MAIN: one}

    remote.requests.clear()  # it is left to git for a while, and then asked again
    two = remote.commit({"b": b""}, one, ref=MAIN)
    assert look(mirror, clock) == {MAIN: two}
    assert len([each for each in remote.requests if each == LS_REFS]) == 2  # refs, and objects
    remote.odd = lambda _, __: False
    clock.seconds += PAUSE
    look(mirror, clock)
    remote.requests.clear()
    assert look(mirror, clock) == {MAIN: two}
    assert remote.requests == [LS_REFS]


def test_what_the_answers_were_made_from_is_one(
    remote: Remote, mirror: DiskMirror, clock: ManualClock
) -> None:
    """Without it the test before would pass for any reader that takes no answer at all."""
    remote.git("update-ref", V1, one := remote.commit(FILES, ref=MAIN))
    look(mirror, clock)
    listing = b"".join(packet(f"{one} {ref}\n".encode()) for ref in (MAIN, V1)) + b"0000"
    remote.odd = lambda request, body: asks(body) and answer(request, listing)
    remote.git("update-ref", "-d", V1)
    remote.requests.clear()
    assert look(mirror, clock) == {MAIN: one, V1: one}
    assert len(remote.requests) == 2


def test_a_look_that_finds_nothing_new_is_one_request_on_a_kept_connection(
    remote: Remote, mirror: DiskMirror, clock: ManualClock
) -> None:
    """The short-cut asks each time what the remote can do, or connects anew."""
    remote.git("update-ref", V1, one := remote.commit(FILES, ref=MAIN))
    look(mirror, clock)
    look(mirror, clock)
    remote.requests.clear()
    remote.connections = 0
    for _ in range(3):
        assert look(mirror, clock) == {MAIN: one, V1: one}
    assert (remote.requests, remote.connections) == ([LS_REFS] * 3, 0)
    clock.seconds += KNOWN_SECONDS
    look(mirror, clock)
    assert len(remote.requests) == 5


@pytest.mark.parametrize("when", ["after an answer", "before an answer"])
def test_a_kept_connection_that_was_closed_is_made_again(
    remote: Remote, mirror: DiskMirror, clock: ManualClock, when: str
) -> None:
    """The short-cut takes it for a remote that is away, and starts git for a minute."""
    one = remote.commit(FILES, ref=MAIN)
    look(mirror, clock)
    look(mirror, clock)
    closed: list[str] = []

    def close(request: BaseHTTPRequestHandler, _: bytes) -> bool:
        request.close_connection = not closed
        closed.append(request.path)
        return len(closed) == 1 and when == "before an answer"

    remote.odd = close
    look(mirror, clock)
    remote.requests.clear()
    assert look(mirror, clock) == {MAIN: one}
    assert remote.requests == [LS_REFS]


def test_what_a_remote_could_do_once_is_not_believed(
    remote: Remote, mirror: DiskMirror, clock: ManualClock
) -> None:
    """The short-cut takes an error for "nothing there" where it knows that protocol 2 is spoken."""
    one = remote.commit(FILES, ref=MAIN)
    look(mirror, clock)
    look(mirror, clock)
    remote.protocol = False
    assert look(mirror, clock) == {MAIN: one}
    remote.git("update-ref", V1, one)
    two = remote.commit({"b": b""}, one, ref=MAIN)
    assert look(mirror, clock) == {MAIN: two, V1: one}

    remote.requests.clear()  # and it is not asked in vain each time
    assert look(mirror, clock) == {MAIN: two, V1: one}
    assert LS_REFS not in remote.requests


def test_an_answer_that_comes_a_byte_at_a_time_has_an_end(
    remote: Remote, clock: ManualClock
) -> None:
    """The short-cut bounds the wait for each byte: a list of refs then takes a day."""
    connections = Connections()
    asked = RemoteRefs(remote.url, clock, connections)
    assert asked.at(TOKEN, [MAIN]) == {}
    (kept,) = connections._idle
    kept.seconds = 0.3
    ended: list[str] = []

    def drip(request: BaseHTTPRequestHandler, _: bytes) -> bool:
        try:
            request.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
            for _byte in range(3000):
                request.wfile.write(b"x")
                time.sleep(0.01)
            ended.append("all was taken")
        except OSError:
            ended.append("nobody listened")
        return True

    remote.odd = drip
    assert asked.at(TOKEN, [MAIN]) is None
    while not ended:
        time.sleep(0.01)
    assert ended == ["nobody listened"]


def test_another_process_at_the_same_mirror_is_noticed(
    remote: Remote, mirror: DiskMirror, clock: ManualClock
) -> None:
    """The short-cut compares with what it remembers: what another one pruned stays away."""
    remote.git("update-ref", V1, one := remote.commit(FILES, ref=MAIN))
    other = DiskMirror(mirror.folder, remote.url, clock)
    assert look(mirror, clock) == {MAIN: one, V1: one}
    remote.git("update-ref", "-d", V1)
    assert look(other, clock) == {MAIN: one}
    remote.git("update-ref", V1, one)
    assert look(mirror, clock) == {MAIN: one, V1: one}


def test_tags_that_nobody_looked_at_are_compared_with_those_on_disk(
    remote: Remote, mirror: DiskMirror, clock: ManualClock
) -> None:
    """The short-cut knows none, is told of none, and shows those that a wider fetch left."""
    remote.git("update-ref", V1, one := remote.commit(FILES, ref=MAIN))
    look(mirror, clock, Scope(frozenset({"main"})))
    tags = Scope(packages=frozenset({"net/core"}))
    assert look(mirror, clock, tags) == {MAIN: one, V1: one}
    remote.requests.clear()
    assert look(mirror, clock, Scope(packages=frozenset({"net/other"}))) == {MAIN: one, V1: one}
    assert remote.requests == [LS_REFS]


def test_a_branch_that_nobody_saw_is_fetched_at_once(
    remote: Remote, mirror: DiskMirror, clock: ManualClock
) -> None:
    """The short-cut asks before each fetch: a first push then costs a request more."""
    one = remote.commit(FILES, ref=MAIN)
    look(mirror, clock, BRANCHES)
    draft = Ref("refs/heads/drafts/a")
    remote.git("update-ref", draft, one)
    remote.requests.clear()
    look(mirror, clock, Scope(frozenset({"main", "drafts/a"})))
    with mirror.open() as git:
        assert git.ref(draft) == one
    assert remote.requests[0].startswith("GET ")
    assert len(remote.requests) == 2


# --- how it is reached ----------------------------------------------------------------------------


def test_a_proxy_is_for_git(
    remote: Remote, mirror: DiskMirror, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut connects by itself: past the proxy that the operator has told git to use."""
    remote.commit(FILES, ref=MAIN)
    look(mirror, clock)
    look(mirror, clock)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with pytest.raises(GitBusyError, match=r"127\.0\.0\.1 port 1"):
        look(mirror, clock)
    monkeypatch.setenv("NO_PROXY", "forge.example,127.0.0.1")
    look(mirror, clock)
    remote.requests.clear()
    look(mirror, clock)
    assert remote.requests[-1:] == [LS_REFS]


def test_credentials_go_to_no_other_address(
    remote: Remote, mirror: DiskMirror, clock: ManualClock, tmp_path: Path
) -> None:
    """The short-cut follows a redirection, and the header goes with it."""
    remote.commit(FILES, ref=MAIN)
    look(mirror, clock)
    with serve(tmp_path / "other" / "blueprints.git") as other:
        place = f"{other.url}/git-upload-pack"
        remote.odd = lambda request, _: answer(request, b"", status=301, location=place)
        with pytest.raises(GitBusyError, match="the fetch failed"):
            look(mirror, clock)
        assert other.requests == []
    remote.odd = lambda _, __: False
    clock.seconds += PAUSE
    with pytest.raises(GitBusyError, match="the fetch failed"):
        mirror.fetch("wrong:token", None, MINE)


@pytest.mark.parametrize(
    "url",
    ["http://me@{0}", "http://{0}?z", "http://{0}#z", "ftp://{0}", "{0}", "/y", "http:///y",
     "http://[x", "http://x:port/y", "http://ümlaut/y"],
)  # fmt: skip
def test_only_plain_addresses_are_asked(remote: Remote, url: str, clock: ManualClock) -> None:
    """The short-cut asks whatever can be taken apart; git may take it apart in another way."""
    asked = RemoteRefs(url.format(remote.url.removeprefix("http://")), clock)
    assert asked.at(TOKEN, [MAIN]) is None
    assert remote.requests == []


def test_certificates_are_trusted_as_git_trusts_them(
    clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut keeps to the system's certificates, or trusts whom git does not."""
    file = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    with serve(tmp_path / "remote" / "blueprints.git", context) as remote:
        one = remote.commit(FILES, ref=MAIN)
        mirror = DiskMirror(tmp_path / "1.git", remote.url, clock)
        monkeypatch.setenv(OTHER_AUTHORITIES[0], str(file))
        assert RemoteRefs(remote.url, clock).at(TOKEN, [MAIN]) is None
        monkeypatch.setenv(AUTHORITY, str(file))
        look(mirror, clock)
        look(mirror, clock)
        remote.requests.clear()
        assert look(mirror, clock) == {MAIN: one}
        assert remote.requests == [LS_REFS]

        monkeypatch.delenv(AUTHORITY)
        monkeypatch.delenv(OTHER_AUTHORITIES[0])
        with pytest.raises(GitBusyError, match="certificate"):
            look(mirror, clock)
        assert remote.requests == [LS_REFS]


# --- what is said ---------------------------------------------------------------------------------

SERVICE = packet(b"# service=git-upload-pack\n") + b"0000"


@pytest.mark.parametrize(
    ("lines", "before", "told"),
    [
        ([b"version 2\n", b"ls-refs\n"], b"", b""),
        ([b"version 2\n", b"agent=git/github-x\n", b"ls-refs=unborn\n", b"object-format=sha1\n"],
         SERVICE, packet(b"object-format=sha1")),
        ([b"version 2", b"ls-refs", b"object-format=sha256"], b"", None),
        ([b"version 2\n", b"fetch=shallow\n"], b"", None),
        ([b"version 1\n", b"ls-refs\n"], b"", None),
        ([b"1" * 40 + b" HEAD\0multi_ack thin-pack\n"], SERVICE, None),
        ([], b"", None),
    ],
)  # fmt: skip
def test_what_a_remote_can_do(lines: list[bytes], before: bytes, told: bytes | None) -> None:
    """The short-cut looks for the words somewhere in the answer."""
    body = before + b"".join(map(packet, lines)) + b"0000"
    if told is None:
        with pytest.raises(OddAnswerError):
            capabilities(body)
    else:
        assert capabilities(body) == told
