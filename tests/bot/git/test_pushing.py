"""Pushes without git: what they bring, what they cost, and when git has to push."""

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from bot.git import packs
from bot.git.connections import Connections, OddAnswerError
from bot.git.mirror import DiskMirror
from bot.git.objects import GitObject
from bot.git.port import GitBusyError, GitIdentity, Pushed, RefUpdate
from bot.git.pushing import capabilities
from bot.git.remote import KNOWN_SECONDS, PAUSE, RemoteRefs, packet
from lifecycle.names import Ref
from tests.bot.git.server import TOKEN, Remote, serve
from tests.memory.clock import ManualClock

MAIN, DRAFT = Ref("refs/heads/main"), Ref("refs/heads/drafts/net/core/w")
V1, V2 = Ref("refs/tags/net/core/v1"), Ref("refs/tags/net/core/v2")
WHO, WHEN = GitIdentity("porchbot", "bot@forge.example"), datetime(2026, 11, 29, tzinfo=UTC)
FILES: dict[str, bytes | str] = {
    "net/core/a.yaml": b"a: 1\n",
    "net/core/sub/b.yaml": b"b: 1\n",
    "vendored": "160000 " + "5" * 40,
}
CAN = "GET /blueprints.git/info/refs?service=git-receive-pack"
PUSH = "POST /blueprints.git/git-receive-pack"
RESULT = "application/x-git-receive-pack-result"


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    with serve(tmp_path / "remote" / "blueprints.git") as served:
        served.commit(FILES, ref=MAIN)
        yield served


@pytest.fixture
def mirror(remote: Remote, clock: ManualClock, tmp_path: Path) -> DiskMirror:
    mirror = DiskMirror(tmp_path / "mirrors" / "1.git", remote.url, clock)
    mirror.fetch(TOKEN)
    remote.requests.clear()
    remote.told.clear()
    return mirror


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many objects each of our pushes brings."""
    found: list[int] = []
    pack = packs.pack

    def noted(objects: Sequence[GitObject]) -> bytes:
        found.append(len(objects))
        return pack(objects)

    monkeypatch.setattr(packs, "pack", noted)
    return found


def wrote(mirror: DiskMirror, parent: str, **files: bytes | None) -> str:
    """A commit of the bot's on another one; a file of the package `net/core` each."""
    changes = {f"net/core/{n}": d for n, d in files.items()}
    with mirror.open() as git:
        return git.write_commit(parent, changes, WHO, WHEN, lambda _: "change\n")


def whole(remote: Remote) -> bool:
    """Whether the remote has all that its refs are made of."""
    return "missing" not in remote.git("fsck", "--full", "--strict", "--no-dangling")


def test_a_push_is_one_request_that_lists_nothing(
    remote: Remote, mirror: DiskMirror, clock: ManualClock, brought: list[int]
) -> None:
    """The short-cut lists all refs of the remote before each push, or believes for ever what it
    can do; or brings all that the bot ever wrote there, and not what is new."""
    for number in range(50):
        remote.git("update-ref", f"refs/tags/other/v{number}", MAIN)
    base = remote.refs()[MAIN]
    tips = [base]
    for number in range(3):
        tips.append(wrote(mirror, tips[-1], **{"a.yaml": b"a: %d\n" % number}))
        at = "" if not number else tips[-2]
        assert mirror.push(TOKEN, [RefUpdate(DRAFT, at, tips[-1])]) is Pushed.DONE
        assert remote.refs()[DRAFT] == tips[-1]
    assert remote.requests == [CAN, PUSH, PUSH, PUSH]
    assert brought == [5, 5, 5], "the commit, its root, net, core and a.yaml"
    clock.seconds += KNOWN_SECONDS + 1
    assert mirror.push(TOKEN, [RefUpdate(V1, "", tips[-1])]) is Pushed.DONE
    assert remote.requests[4:] == [CAN, PUSH]
    assert whole(remote)


def test_a_deletion_takes_the_ref_from_where_it_was_seen(
    remote: Remote, mirror: DiskMirror, clock: ManualClock
) -> None:
    """The short-cut has the remote compare: it has lost what was seen, which somebody pushed over,
    and deletes what they pushed."""
    base = remote.refs()[MAIN]
    seen = remote.commit({**FILES, "x": b"1"}, base, ref=DRAFT)
    clock.seconds += 1
    mirror.fetch(TOKEN)
    theirs = remote.commit({**FILES, "x": b"2"}, base, ref=DRAFT)
    remote.git("reflog", "expire", "--expire=now", "--all")
    remote.git("gc", "--prune=now", "-q")

    assert mirror.push(TOKEN, [RefUpdate(DRAFT, seen, "")]) is Pushed.MOVED
    assert remote.refs()[DRAFT] == theirs
    assert mirror.push(TOKEN, [RefUpdate(DRAFT, theirs, "")]) is Pushed.DONE
    assert DRAFT not in remote.refs()


def test_what_a_push_brings(remote: Remote, mirror: DiskMirror, clock: ManualClock) -> None:
    """The short-cut brings the last commit of two, forgets the tag's own object, takes what a merge
    has from its other side for new, or reads a submodule."""
    base = remote.refs()[MAIN]
    beside = remote.commit({**FILES, "other/c.yaml": b"c: 1\n"}, base, ref=MAIN)
    clock.seconds += 1
    mirror.fetch(TOKEN)
    remote.requests.clear()
    one = wrote(mirror, base, **{"a.yaml": b"a: 2\n", "sub/b.yaml": None})
    two = wrote(mirror, one, **{"new/deep/d.yaml": b"d: 1\n"})
    with mirror.open() as git:
        merge = git.write_merge(two, beside, {}, WHO, WHEN, lambda _: "merge\n")
        tag = git.write_tag("net/core/v2", merge, WHO, WHEN, "text\n")
        new = packs.new(git, [tag, two], {one, two, merge, tag}.__contains__)
        assert packs.new(git, [merge, base], lambda _: False) == []
    kinds = sorted(each.kind for each in new)
    # one: root, net, core, a.yaml; two: root, net, core, new, deep, d.yaml; merge: its root
    assert kinds == ["blob"] * 2 + ["commit"] * 3 + ["tag"] + ["tree"] * 9
    for move in (RefUpdate(DRAFT, "", two), RefUpdate(V2, "", tag), RefUpdate(V1, "", base)):
        assert mirror.push(TOKEN, [move]) is Pushed.DONE
    assert remote.requests == [CAN, PUSH, PUSH, PUSH]
    assert remote.refs() == {MAIN: beside, DRAFT: two, V1: base, V2: tag}
    assert whole(remote)


def test_all_refs_move_or_none(remote: Remote, mirror: DiskMirror) -> None:
    """The short-cut moves those that it can: half of a release is tagged. Or it goes by what the
    remote could do an hour ago."""
    base = remote.refs()[MAIN]
    new = wrote(mirror, base, **{"a.yaml": b"a: 2\n"})
    theirs = remote.commit(FILES, base, ref=DRAFT)
    left: list[dict[str, str]] = []

    def answered(request: BaseHTTPRequestHandler, _: bytes) -> bool:
        left.append(remote.refs())
        return False

    assert mirror.push(TOKEN, [RefUpdate(V2, "", new)]) is Pushed.DONE
    remote.git("config", "receive.advertiseAtomic", "false")
    with pytest.raises(GitBusyError, match="atomic"):
        mirror.push(TOKEN, [RefUpdate(V1, "", new), RefUpdate(MAIN, base, new)])
    remote.git("config", "receive.advertiseAtomic", "true")

    remote.odd = answered
    both = [RefUpdate(V1, "", new), RefUpdate(DRAFT, base, new)]
    assert mirror.push(TOKEN, both) is Pushed.MOVED
    assert left, "git was asked"
    there = {MAIN: base, DRAFT: theirs, V2: new}
    assert all(each == there for each in [*left, remote.refs()])


def test_a_push_whose_answer_was_lost_is_done(remote: Remote, mirror: DiskMirror) -> None:
    """The short-cut sends it once more and takes its own commit for somebody else's."""
    new = wrote(mirror, remote.refs()[MAIN], **{"a.yaml": b"a: 2\n"})

    def lost(request: BaseHTTPRequestHandler, body: bytes) -> bool:
        if b"PACK" not in body or b"agent=git/porchbot" not in body:
            return False
        pack = body[body.index(b"PACK") :]
        remote.git("unpack-objects", "-q", data=pack)
        remote.git("update-ref", DRAFT, new)
        request.close_connection = True
        return True

    remote.odd = lost
    assert mirror.push(TOKEN, [RefUpdate(DRAFT, "", new)]) is Pushed.DONE
    assert remote.refs()[DRAFT] == new


def answer(
    request: BaseHTTPRequestHandler, body: bytes, kind: str = RESULT, status: int = 200
) -> bool:
    request.send_response(status)
    request.send_header("Content-Type", kind)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)
    return True


OK = packet(b"unpack ok\n")
DONE = OK + packet(f"ok {DRAFT}\n".encode()) + b"0000"
ODD: dict[str, Callable[[BaseHTTPRequestHandler], bool]] = {
    "failed": lambda r: answer(r, DONE, status=502),
    "a page": lambda r: answer(r, DONE, "text/html"),
    "nothing": lambda r: answer(r, b""),
    "no end": lambda r: answer(r, DONE.removesuffix(b"0000")),
    "more after its end": lambda r: answer(r, DONE + b"0000"),
    "no word of a ref": lambda r: answer(r, OK + b"0000"),
    "a ref refused": lambda r: answer(r, OK + packet(f"ng {DRAFT} no\n".encode()) + b"0000"),
    "not unpacked": lambda r: answer(r, DONE.replace(b"000eunpack ok", b"000funpack bad")),
    "side bands": lambda r: answer(r, packet(b"\1" + DONE) + b"0000"),
}
REPORTS = {"no word of a ref", "a ref refused", "not unpacked"}


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_answer_to_a_push_is_none(
    remote: Remote, mirror: DiskMirror, clock: ManualClock, kind: str
) -> None:
    """The short-cut looks for "ok" in the answer: a push that moved nothing, or half, was done."""
    base = remote.refs()[MAIN]
    new = wrote(mirror, base, **{"a.yaml": b"a: 2\n"})
    remote.odd = lambda request, body: b"agent=git/porchbot" in body and ODD[kind](request)
    assert mirror.push(TOKEN, [RefUpdate(DRAFT, "", new)]) is Pushed.DONE
    assert remote.refs() == {MAIN: base, DRAFT: new}, "git has pushed"

    remote.odd = lambda _, __: False
    remote.requests.clear()
    more = wrote(mirror, new, **{"a.yaml": b"a: 3\n"})
    assert mirror.push(TOKEN, [RefUpdate(DRAFT, new, more)]) is Pushed.DONE
    # What gave no answer at all is left to git for a while; a refusal says nothing of the next.
    assert len(remote.requests) == (1 if kind in REPORTS else 2)
    clock.seconds += PAUSE
    remote.requests.clear()
    assert mirror.push(TOKEN, [RefUpdate(V1, "", more)]) is Pushed.DONE
    assert remote.requests == ([PUSH] if kind in REPORTS else [CAN, PUSH])


def test_what_is_large_is_pushed_by_git(
    remote: Remote, mirror: DiskMirror, brought: list[int]
) -> None:
    """The short-cut holds whatever somebody's package has in memory, several times over."""
    base = remote.refs()[MAIN]
    large = wrote(mirror, base, **{"a.yaml": os.urandom(packs.MOST_BYTES)})
    many = wrote(mirror, base, **{f"{n}.yaml": b"%d" % n for n in range(packs.MOST_OBJECTS)})
    assert mirror.push(TOKEN, [RefUpdate(DRAFT, "", large)]) is Pushed.DONE
    assert mirror.push(TOKEN, [RefUpdate(V1, "", many)]) is Pushed.DONE
    assert (remote.refs()[DRAFT], remote.refs()[V1], brought) == (large, many, [])
    assert whole(remote)


def test_what_the_remote_lacks_after_all_is_pushed_by_git(
    remote: Remote, mirror: DiskMirror
) -> None:
    """The short-cut takes a commit that nobody remembers writing for one that came from there."""
    base = remote.refs()[MAIN]
    one = wrote(mirror, base, **{"a.yaml": b"a: 2\n"})
    again = DiskMirror(mirror.folder, remote.url)
    two = wrote(again, one, **{"a.yaml": b"a: 3\n"})
    assert again.push(TOKEN, [RefUpdate(DRAFT, "", two)]) is Pushed.DONE
    assert remote.refs()[DRAFT] == two
    assert whole(remote)


LINE = b"1" * 40 + b" refs/heads/main\0"
SERVICE = packet(b"# service=git-receive-pack\n") + b"0000"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (packet(LINE + b"report-status delete-refs\n") + b"0000", b"report-status"),
        (SERVICE + packet(LINE + b" report-status delete-refs atomic quiet object-format=sha1"
                          b" agent=git/x\n") + b"and what is cut off",
         b"report-status object-format=sha1 agent=git/porchbot"),
        (packet(LINE + b"atomic delete-refs\n") + b"0000", None),
        (packet(LINE + b"report-status atomic delete-refs object-format=sha256\n"), None),
        (packet(LINE + b"report-status atomic delete-refs\n")[:-3], None),
        (packet(b"version 1\n"), None),
        (SERVICE, None),
        (b"zzzz", None),
        (b"", None),
    ],
)  # fmt: skip
def test_what_a_remote_can_do(body: bytes, told: bytes | None) -> None:
    """The short-cut looks for the words somewhere, and pushes to whom reports nothing."""
    if told is None:
        with pytest.raises(OddAnswerError):
            capabilities(body)
    else:
        assert capabilities(body) == told


def test_a_proxy_pushes_with_git(
    remote: Remote, mirror: DiskMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut goes past the operator's proxy."""
    new = wrote(mirror, remote.refs()[MAIN], **{"a.yaml": b"a: 2\n"})
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    assert mirror.push(TOKEN, [RefUpdate(DRAFT, "", new)]) is Pushed.DONE
    assert len(remote.requests) > 1, "git pushed, since only it knows which address is near"


def test_what_took_too_long_is_asked_once_and_left_to_git(
    remote: Remote, clock: ManualClock
) -> None:
    """Short-cuts refused: it is asked again, as over a connection that was closed meanwhile; the
    pause begins with the request, and is over by its end."""
    connections = Connections()
    asked = RemoteRefs(remote.url, clock, connections)
    assert asked.at(TOKEN, [MAIN])
    (kept,) = connections._idle
    kept.seconds = 0.3
    begun: list[str] = []

    def silent(request: BaseHTTPRequestHandler, _: bytes) -> bool:
        begun.append(request.path)
        clock.seconds += 2 * PAUSE
        request.rfile.read(1)  # until nobody listens any more
        return True

    remote.odd = silent
    for _ in range(2):
        assert asked.at(TOKEN, [MAIN]) is None
    assert len(begun) == 1
