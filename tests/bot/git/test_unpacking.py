"""Packs that are small and take much memory to read, as anybody may send them."""

import hashlib
import time
import zlib
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from bot.git import mirror, upkeep
from bot.git.mirror import LARGE_MEMORY, DiskMirror, large_memory
from bot.git.port import BRANCHES, ObjectTooLargeError, Scope
from bot.git.process import MOST_MEMORY, SAFE, environment, run, took_too_much_memory
from bot.upstream import bounded
from bot.upstream.bounded import GitCallLimits, TooMuchError
from lifecycle.names import Ref
from tests.bot.git.server import TOKEN, Remote, serve

LARGE = 512 * 1024**2 - 4096
"""What git makes room for before it reads how a file differs from another one."""


def pack(size: int) -> bytes:
    """A pack with a file of a kilobyte, and one that says it is so large and made of that."""
    base = zlib.compress(bytes(1024))
    copied = bytes([0x80 | 0x20, 4]) * (size // 1024 if size < 10_000 else 1)  # a kilobyte each
    delta = _varint(1024) + _varint(size) + copied
    body = b"PACK\0\0\0\2\0\0\0\2" + _head(3, 1024) + base
    body += _head(6, len(delta)) + bytes([len(_head(3, 1024) + base)]) + zlib.compress(delta)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _head(kind: int, size: int) -> bytes:
    """The kind of an object and its size."""
    left, head = size >> 4, [kind << 4 | size & 15]
    return bytes([head[0] | 0x80]) + _varint(left) if left else bytes(head)


def _varint(number: int) -> bytes:
    """Seven bits in each byte, the last ones first."""
    found = []
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    with serve(tmp_path / "remote.git") as served:
        yield served


def test_a_small_pack_takes_no_more_memory_than_it_may(tmp_path: Path) -> None:
    """The short-cut bounds what is written: half a megabyte took git gigabytes of memory, and the
    bot's container has no more than that."""
    ends = GitCallLimits(time.monotonic() + 60, 1024**2)
    git = environment(tmp_path)
    bounded.run(["init", "--quiet", "--bare", "."], tmp_path, git, ends)
    (tmp_path / "small.pack").write_bytes(pack(1024))
    (tmp_path / "large.pack").write_bytes(pack(LARGE))

    index = ["-c", "pack.threads=1", "index-pack"]
    assert bounded.run([*index, "small.pack"], tmp_path, git, ends).status == 0
    with pytest.raises(TooMuchError):
        bounded.run([*index, "large.pack"], tmp_path, git, ends)


def test_all_that_git_starts_is_bound_from_the_start(tmp_path: Path) -> None:
    """The short-cut bounds git once it runs: what it has started by then, which is what fetches,
    may write and take as much as it likes. On a busy machine that was so in two of six fetches."""
    alias = ["-c", "alias.limits=!ulimit -f; ulimit -d", "limits"]
    ends = GitCallLimits(time.monotonic() + 60, 512 * 1000)
    for _ in range(20):
        done = bounded.run(alias, tmp_path, environment(tmp_path), ends)
        assert done.output.split() == ["1000", str(MOST_MEMORY // 1024)]
        ours = run(tmp_path, alias, file_bytes=512 * 1000)
        assert ours.stdout.split() == ["1000", str(MOST_MEMORY // 1024)]


def test_what_anybody_proposes_takes_no_more_memory_than_it_may(
    remote: Remote, tmp_path: Path
) -> None:
    """The short-cut tries again and again what ends for want of memory."""
    base = remote.commit({"a": b"1"}, ref="refs/heads/main")
    remote.commit({"a": b"2"}, base, ref="refs/pull/7/head")
    bounded_mirror = DiskMirror(tmp_path / "bounded.git", remote.url, most_head_bytes=1024**2)
    bounded_mirror.fetch(TOKEN)

    def sends(request: BaseHTTPRequestHandler, _: bytes) -> bool:
        if request.command != "POST":
            return False
        sent = b"\1" + pack(LARGE)
        body = b"0008NAK\n%04x%s0000" % (len(sent) + 4, sent)
        request.send_response(200)
        request.send_header("Content-Type", "application/x-git-upload-pack-result")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)
        return True

    remote.protocol, remote.odd = False, sends
    with pytest.raises(ObjectTooLargeError, match="take too much memory to unpack"):
        bounded_mirror.fetch_proposal(TOKEN, Ref("refs/pull/7/head"))


MIB = 1024**2


def test_what_is_pushed_takes_no_more_memory_than_it_may(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts: git takes what it wants for the repository's own branches, so that whoever may
    push a file ends the bot; or the bound of forks holds for them, so that a large repository is
    served no more."""
    monkeypatch.setattr(mirror, "MOST_MEMORY", 20 * MIB)
    monkeypatch.setitem(SAFE, "core.bigFileThreshold", "512m")  # one file in place of many objects
    remote.commit({"a": bytes(24 * MIB)}, ref="refs/heads/main")
    small = DiskMirror(tmp_path / "small.git", remote.url, large_memory=20 * MIB)

    with pytest.raises(ObjectTooLargeError, match="more than 20 MiB of memory to unpack"):
        small.fetch(TOKEN)
    assert not list(small.folder.glob("objects/**/tmp_*"))

    large = DiskMirror(tmp_path / "large.git", remote.url, large_memory=512 * MIB)
    large.fetch(TOKEN)
    with large.open() as git:
        assert git.ref(Ref("refs/heads/main")) is not None


def test_a_branch_that_is_too_large_keeps_back_who_asked_for_it_alone(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut fails all that were fetched together: whoever pushes such a branch again and
    again holds up the looks at others."""
    monkeypatch.setattr(mirror, "MOST_MEMORY", 20 * MIB)
    monkeypatch.setitem(SAFE, "core.bigFileThreshold", "512m")
    base = remote.commit({"a": b"1"}, ref="refs/heads/main")
    shared = DiskMirror(tmp_path / "shared.git", remote.url, large_memory=20 * MIB)
    shared.fetch(TOKEN)
    remote.commit({"a": bytes(24 * MIB)}, base, ref="refs/heads/large")
    small = remote.commit({"a": b"2"}, base, ref="refs/heads/small")

    shared._wanted.add("refs/heads/large")  # somebody else waits for it
    shared.fetch(TOKEN, scope=Scope(frozenset({"main", "small"})))

    with shared.open() as git:
        assert git.ref(Ref("refs/heads/small")) == small
    with pytest.raises(ObjectTooLargeError, match="more than 20 MiB"):
        shared.fetch(TOKEN, scope=Scope(frozenset({"main", "large"})))


def test_a_sweep_goes_without_a_branch_that_is_too_large(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts: all branches fail while there is one such; it is tried at each sweep; a look at
    it is told that it is not there."""
    monkeypatch.setattr(mirror, "MOST_MEMORY", 20 * MIB)
    monkeypatch.setitem(SAFE, "core.bigFileThreshold", "512m")
    base = remote.commit({"a": b"1"}, ref="refs/heads/main")
    remote.commit({"a": b"0"}, base, ref="refs/heads/old")
    swept = DiskMirror(tmp_path / "swept.git", remote.url, large_memory=20 * MIB)
    swept.fetch(TOKEN)
    large = remote.commit({"a": bytes(24 * MIB)}, base, ref="refs/heads/large")
    small = [remote.commit({"a": b"%d" % n}, base, ref=f"refs/heads/n{n}") for n in range(3)]
    remote.git("update-ref", "-d", "refs/heads/old")

    swept.fetch(TOKEN, scope=BRANCHES)

    def branches() -> dict[str, str]:
        with swept.open() as git:
            return {ref: at for ref, (at, _) in git.refs("refs/heads").items()}

    there = {"refs/heads/main": base, **{f"refs/heads/n{n}": at for n, at in enumerate(small)}}
    assert branches() == there
    with pytest.raises(ObjectTooLargeError, match="more than 20 MiB"):
        swept.fetch(TOKEN, since=0, scope=Scope(frozenset({"large"})))

    tried: list[Sequence[str]] = []
    fetch = swept._fetch_named

    def tries(credentials: str, refs: Sequence[str]) -> None:
        tried.append(refs)
        fetch(credentials, refs)

    monkeypatch.setattr(swept, "_fetch_named", tries)
    there["refs/heads/n0"] = remote.commit({"a": b"9"}, base, ref="refs/heads/n0")
    swept.fetch(TOKEN, scope=BRANCHES)
    assert (branches(), tried) == (there, [["refs/heads/n0"]])

    assert large != remote.commit({"a": b"3"}, base, ref="refs/heads/large")
    for _ in range(2):
        swept.fetch(TOKEN, scope=BRANCHES)
    assert branches().keys() == {*there, "refs/heads/large"}


def test_what_a_large_fetch_may_take_follows_what_there_is() -> None:
    """The short-cut takes a number that is more than a small container has."""
    assert [large_memory(limit) for limit in (None, 1024 * MIB, 8192 * MIB)] == [
        LARGE_MEMORY,
        MOST_MEMORY,
        4096 * MIB,
    ]


def test_large_files_are_not_compared_with_one_another(tmp_path: Path) -> None:
    """The short-cut lets git look for what ten files of 100 MB have in common: six of 200 MB took
    1.4 GB to be put into one pack."""
    run(tmp_path, ["init", "--quiet", "--bare", "."])
    for number in range(3):
        file = tmp_path / "file"
        file.write_bytes(b"%d" % number + bytes(50 * MIB))
        run(tmp_path, ["hash-object", "-w", str(file)])

    packed = run(tmp_path, ["repack", "--geometric=2", "-d", "-q"], memory_bytes=36 * MIB)

    assert (packed.returncode, packed.stderr) == (0, "")


def test_what_a_git_left_that_was_ended_is_removed(tmp_path: Path) -> None:
    """The short-cut removes packs alone: one large file comes loose, and what was written of it
    stays on the disk for ever, each time."""
    for left in ("pack/tmp_pack_x", "pack/.tmp-1-pack-x", "tmp_obj_x", "0a/tmp_obj_x"):
        (tmp_path / "objects" / left).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "objects" / left).write_bytes(b"1234")
    (tmp_path / "objects/0a/b").write_bytes(b"12345")

    assert upkeep.clear(tmp_path) == 4

    assert [f.name for f in tmp_path.rglob("*") if f.is_file()] == ["b"]


def test_what_the_other_end_says_of_its_memory_is_not_ours() -> None:
    """The short-cut looks for the words alone: a host that is short of memory is tried again."""
    assert took_too_much_memory("fatal: Out of memory, malloc failed (tried to allocate 7 bytes)")
    assert not took_too_much_memory("remote: fatal: Out of memory, malloc failed\nfatal: early EOF")
