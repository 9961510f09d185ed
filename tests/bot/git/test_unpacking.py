"""Packs that are small and take much memory to read, as anybody may send them."""

import hashlib
import time
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from bot.git.mirror import DiskMirror
from bot.git.port import ObjectTooLargeError
from bot.git.process import MOST_MEMORY, environment, run, took_too_much_memory
from bot.upstream import bounded
from bot.upstream.bounded import GitCallLimits, TooMuchError
from lifecycle.names import Ref
from tests.bot.git.server import TOKEN, Remote, serve

LARGE = 512 * 1024**2 - 4096
"""As large as git reads into memory whole; what is larger it reads piece by piece."""


def pack(size: int) -> bytes:
    """A pack with one file that says it is so large; git makes room for it before it reads it."""
    left, head = size >> 4, bytes([0x80 | 3 << 4 | size & 15])
    while left:
        more, left = left & 127, left >> 7
        head += bytes([more | (0x80 if left else 0)])
    body = b"PACK\0\0\0\2\0\0\0\1" + head + zlib.compress(bytes(1024))
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


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
    mirror = DiskMirror(tmp_path / "bounded.git", remote.url, most_head_bytes=1024**2)
    mirror.fetch(TOKEN)

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
        mirror.fetch_proposal(TOKEN, Ref("refs/pull/7/head"))


def test_what_the_other_end_says_of_its_memory_is_not_ours() -> None:
    """The short-cut looks for the words alone: a host that is short of memory is tried again."""
    assert took_too_much_memory("fatal: Out of memory, malloc failed (tried to allocate 7 bytes)")
    assert not took_too_much_memory("remote: fatal: Out of memory, malloc failed\nfatal: early EOF")
