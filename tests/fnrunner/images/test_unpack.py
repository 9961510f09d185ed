"""Layers are laid over one another as specified, and nothing leads out of the folder.

Longer than 400 lines: a layer for each thing that one may try.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import struct
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fnrunner.images.unpack import LayerError, StoppedError, Tree, UnpackLimits
from tests.fnrunner.registry import entry, files, layer

SYM, LNK, DIR = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE
OUTSIDE = {"secret": "kept"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty root, in a folder with something that must stay as it is."""
    (tmp_path / "secret").write_text("kept")
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def lay(root: Path, *layers: bytes, room: UnpackLimits | None = None) -> Tree:
    tree = Tree(root, room or UnpackLimits())
    for each in layers:
        tree.add(io.BytesIO(each))
    return tree


def there(root: Path) -> dict[str, str]:
    """Every path below a folder: contents of files, "-> target" of links, "/" for folders."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        else:
            found[name] = "/" if path.is_dir() else path.read_text()
    return found


def outside(root: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in root.parent.iterdir() if path != root}


def link(name: str, target: str, kind: bytes = SYM) -> tuple[tarfile.TarInfo, bytes]:
    return entry(name, kind, linkname=target), b""


def file(name: str, text: str = "new", **more: Any) -> tuple[tarfile.TarInfo, bytes]:
    return entry(name, **more), text.encode()


ESCAPES: dict[str, tuple[list[bytes], str]] = {
    "a name that climbs": (
        [layer(file("../secret"))],
        "a layer has the name '../secret', which lies outside of the image. Rebuild it.",
    ),
    "a name that climbs later": (
        [layer(file("a/../../secret"))],
        "a layer has the name 'a/../../secret', which lies outside of the image. Rebuild it.",
    ),
    "an absolute name that climbs": (
        [layer(file("/../secret"))],
        "a layer has the name '/../secret', which lies outside of the image. Rebuild it.",
    ),
    "a hard link to the outside": (
        [layer(link("x", "../secret", LNK))],
        "a layer has the name '../secret', which lies outside of the image. Rebuild it.",
    ),
    "a hard link through a link to the outside": (
        [layer(link("up", ".."), link("x", "up/secret", LNK))],
        "a layer links 'x' to 'up/secret', which is not a file in the image. Rebuild it.",
    ),
    "a hard link to a file of this machine": (
        [layer(link("x", "/etc/passwd", LNK))],
        "a layer links 'x' to '/etc/passwd', which is not a file in the image. Rebuild it.",
    ),
    "a hard link to a folder": (
        [layer((entry("d", DIR), b""), link("x", "d", LNK))],
        "a layer links 'x' to 'd', which is not a file in the image. Rebuild it.",
    ),
    "a whiteout of what is above": (
        [layer(file(".wh..."))],
        "a layer hides '.wh...', which lies outside of the image. Rebuild it.",
    ),
    "a whiteout of its own folder": (
        [layer(file("d/.wh.."))],
        "a layer hides 'd/.wh..', which lies outside of the image. Rebuild it.",
    ),
    "links in a circle": (
        [layer(link("a", "b"), link("b", "a"), file("a/x"))],
        "a layer has a loop of links at 'a'. Rebuild it.",
    ),
    "something below a file": (
        [layer(file("a"), file("a/x"))],
        "a layer puts something below 'a', which is not a folder. Rebuild it.",
    ),
    "something below a link to below a file": (
        [layer(file("a"), link("b", "a/a"), file("b/x"))],
        "a layer puts something below 'b', which is not a folder. Rebuild it.",
    ),
    "a name beyond what the disk takes": (
        [layer(file("n" * 256))],
        f"a layer has a name that is too long: {'n' * 64!r}…. Rebuild it.",
    ),
    "folders without end": (
        [layer(file("d/" * 200 + "x"))],
        "a layer has more than 128 nested folders. Rebuild it.",
    ),
    "folders without end through links": (
        [layer((entry("d/" * 100, DIR), b""), link("a", "d/" * 99), file("a/" + "e/" * 60 + "x"))],
        "a layer has more than 128 nested folders. Rebuild it.",
    ),
}


@pytest.mark.parametrize(("layers", "text"), ESCAPES.values(), ids=ESCAPES)
def test_an_image_that_reaches_out_is_refused(root: Path, layers: list[bytes], text: str) -> None:
    """Short-cut: tarfile.extractall."""
    with pytest.raises(LayerError) as caught:
        lay(root, *layers)

    assert str(caught.value) == text
    assert outside(root) == OUTSIDE


CONTAINED: dict[str, tuple[list[bytes], dict[str, str]]] = {
    "an absolute name is below the root": ([layer(file("/secret"))], {"secret": "new"}),
    "a link up leads to the root itself": (
        [layer(link("up", "../../.."), file("up/secret"))],
        {"up": "-> ../../..", "secret": "new"},
    ),
    "an absolute link is followed inside": (
        [layer(link("etc", "/real"), (entry("real", DIR), b""), file("etc/x"))],
        {"etc": "-> /real", "real": "/", "real/x": "new"},
    ),
    "a link of a lower layer is followed inside": (
        [layer(link("lib", "usr/lib"), (entry("usr/lib", DIR), b"")), layer(file("lib/x"))],
        {"lib": "-> usr/lib", "usr": "/", "usr/lib": "/", "usr/lib/x": "new"},
    ),
    "a link to nowhere gets a folder when something is put below": (
        [layer(link("a", "b"), file("a/x"))],
        {"a": "-> b", "b": "/", "b/x": "new"},
    ),
    "a link to nowhere gets all its folders": (
        [layer(link("a", "b/c"), file("a/x"))],
        {"a": "-> b/c", "b": "/", "b/c": "/", "b/c/x": "new"},
    ),
    "a file replaces a link and leaves its target": (
        [layer(file("t", "old"), link("a", "t"), file("a"))],
        {"t": "old", "a": "new"},
    ),
    "a file written over a hard link leaves the other": (
        [layer(file("a", "old"), link("b", "a", LNK), file("b"))],
        {"a": "old", "b": "new"},
    ),
    "a folder replaces a link": (
        [layer((entry("t", DIR), b""), link("a", "t"), (entry("a", DIR), b""), file("a/x"))],
        {"t": "/", "a": "/", "a/x": "new"},
    ),
    "a file replaces a folder": ([files({"a/x": "1"}), layer(file("a"))], {"a": "new"}),
    "a folder twice keeps what it has": (
        [files({"a/x": "1"}), layer((entry("a/", DIR), b""))],
        {"a": "/", "a/x": "1"},
    ),
    "a hard link to a link is the link": (
        [layer(link("a", "/etc/passwd"), link("b", "a", LNK))],
        {"a": "-> /etc/passwd", "b": "-> /etc/passwd"},
    ),
    "a hard link to itself changes nothing": (
        [layer(file("a"), link("a", "a", LNK))],
        {"a": "new"},
    ),
    "devices, pipes and what aufs left are not made": (
        [
            layer(
                (entry("null", tarfile.CHRTYPE, devmajor=1, devminor=3), b""),
                (entry("disk", tarfile.BLKTYPE, devmajor=8), b""),
                (entry("pipe", tarfile.FIFOTYPE), b""),
                file(".wh..wh.aufs"),
                file("a"),
            )
        ],
        {"a": "new"},
    ),
    "an empty layer": ([layer()], {}),
}


@pytest.mark.parametrize(("layers", "expected"), CONTAINED.values(), ids=CONTAINED)
def test_what_is_unpacked(root: Path, layers: list[bytes], expected: dict[str, str]) -> None:
    lay(root, *layers)

    assert there(root) == expected
    assert outside(root) == OUTSIDE


LOWER = files({"d/a": "1", "d/b": "2", "d/e/c": "3", "top": "4"})
WHITEOUTS: dict[str, tuple[list[bytes], dict[str, str]]] = {
    "a file of a lower layer is hidden": (
        [LOWER, files({"d/.wh.a": ""})],
        {"d": "/", "d/b": "2", "d/e": "/", "d/e/c": "3", "top": "4"},
    ),
    "a folder of a lower layer is hidden": ([LOWER, files({".wh.d": ""})], {"top": "4"}),
    "an opaque folder hides what is below, and nothing of its own layer before it": (
        [LOWER, files({"d/new": "5", "d/.wh..wh..opq": ""})],
        {"d": "/", "d/new": "5", "top": "4"},
    ),
    "an opaque folder hides what is below, and nothing of its own layer after it": (
        [LOWER, files({"d/.wh..wh..opq": "", "d/e/new": "5"})],
        {"d": "/", "d/e": "/", "d/e/new": "5", "top": "4"},
    ),
    "a file brought and hidden by the same layer is there": (
        [LOWER, files({"d/a": "new", "d/.wh.a": ""})],
        {"d": "/", "d/a": "new", "d/b": "2", "d/e": "/", "d/e/c": "3", "top": "4"},
    ),
    "a folder hidden and brought again has only what is new": (
        [LOWER, files({".wh.d": "", "d/new": "5"})],
        {"d": "/", "d/new": "5", "top": "4"},
    ),
    "a folder brought again and then hidden has only what is new": (
        [LOWER, files({"d/new": "5", ".wh.d": ""})],
        {"d": "/", "d/new": "5", "top": "4"},
    ),
    "what a middle layer hides, a higher one may bring again": (
        [LOWER, files({".wh.top": ""}), files({"top": "6"})],
        {"d": "/", "d/a": "1", "d/b": "2", "d/e": "/", "d/e/c": "3", "top": "6"},
    ),
    "hiding what is not there, or lies below a file, changes nothing": (
        [LOWER, files({"d/.wh.x": "", "x/y/.wh.z": "", "top/.wh.z": "", "top/.wh..wh..opq": ""})],
        {"d": "/", "d/a": "1", "d/b": "2", "d/e": "/", "d/e/c": "3", "top": "4"},
    ),
    "a whiteout below a link hides inside": (
        [LOWER, layer(link("l", "/d")), files({"l/.wh.a": ""})],
        {"d": "/", "d/b": "2", "d/e": "/", "d/e/c": "3", "top": "4", "l": "-> /d"},
    ),
    "a link that is hidden is the link, not its target": (
        [LOWER, layer(link("l", "d")), files({".wh.l": ""})],
        {"d": "/", "d/a": "1", "d/b": "2", "d/e": "/", "d/e/c": "3", "top": "4"},
    ),
    "everything": ([LOWER, files({".wh..wh..opq": "", "z": "7"})], {"z": "7"}),
}


@pytest.mark.parametrize(("layers", "expected"), WHITEOUTS.values(), ids=WHITEOUTS)
def test_whiteouts(root: Path, layers: list[bytes], expected: dict[str, str]) -> None:
    """Short-cut: unpack each layer over the last, and drop names that begin with .wh."""
    lay(root, *layers)

    assert there(root) == expected


def test_all_may_read_and_nobody_else_may_write(root: Path) -> None:
    """Short-cut: keep the modes of the archive."""
    before = os.umask(0o077)
    try:
        lay(
            root,
            layer(
                (entry("d", DIR, mode=0o700), b""),
                file("d/program", mode=0o6711),
                file("d/data", mode=0o600),
                file("d/open", mode=0o666, mtime=1_000_000_000),
            ),
        )
    finally:
        os.umask(before)

    modes = {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in root.rglob("*")}
    assert modes == {"d": "0o755", "program": "0o755", "data": "0o644", "open": "0o644"}
    assert (root / "d" / "open").stat().st_mtime == 1_000_000_000


def stream(data: bytes) -> bytes:
    compressor = zstandard.ZstdCompressor().compressobj()  # without its length in front
    return compressor.compress(data) + compressor.flush()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "as it is": lambda data: data,
    "gzip": gzip.compress,
    "gzip in several members": lambda data: gzip.compress(data[:700]) + gzip.compress(data[700:]),
    "zstd": zstandard.compress,
    "zstd as a stream": stream,
    "zstd in several frames": lambda data: zstandard.compress(data[:99]) + stream(data[99:]),
}


@pytest.mark.parametrize("pack", PACKED.values(), ids=PACKED)
def test_a_layer_may_be_compressed(root: Path, pack: Callable[[bytes], bytes]) -> None:
    lay(root, pack(files({"a/b": "1", "big": "x" * 300_000})))

    assert there(root) == {"a": "/", "a/b": "1", "big": "x" * 300_000}


def zeros(size: int, pack: Callable[[bytes], bytes]) -> bytes:
    return pack(layer((entry("zeros"), bytes(size))))


def pax(size: int) -> bytes:
    """A header that claims to be long, and is."""
    info = tarfile.TarInfo("long")
    info.type, info.size = tarfile.XHDTYPE, size
    return info.tobuf() + bytes(size + 1024)


def sparse(size: int) -> bytes:
    """A file that is said to be large, and of which one block is in the archive."""
    head = bytearray(tarfile.TarInfo("sparse").tobuf(tarfile.GNU_FORMAT))
    head[156:157] = tarfile.GNUTYPE_SPARSE
    head[124:136] = b"%011o\0" % 512
    head[386:410] = b"%011o\0%011o\0" % (0, 512)
    head[483:495] = b"%011o\0" % size
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + b"x" * 512 + bytes(1024)


def skipped(size: int) -> bytes:
    """A frame of zstd that holds nothing."""
    return struct.pack("<II", 0x184D2A50, size) + bytes(size)


def hidden(times: int) -> bytes:
    """A folder of many files, hidden over and over by the layer that brings it: it stays."""
    brought = [(entry(f"a/{number}"), b"") for number in range(40)]
    return layer(*brought, *[(entry("a/.wh..wh..opq"), b"")] * times)


def long_ways(count: int) -> bytes:
    """Few files, each behind links that lead a long way round."""
    way = "/".join(["a", ".."] * 500)
    links = [link(f"l{number}", f"{way}/l{number + 1}") for number in range(20)]
    return layer(
        (entry("a", DIR), b""),
        *links,
        (entry("l20", DIR), b""),
        *[(entry("l0/f"), b"")] * count,
    )


SMALL = UnpackLimits(size_bytes=1024 * 1024, entries=100, steps=20_000)
BROKEN: dict[str, tuple[Callable[[], bytes], str]] = {
    "a bomb of gzip": (
        lambda: zeros(50_000_000, gzip.compress),
        "it takes more than the 1 MiB that are allowed, unpacked. Make it smaller",
    ),
    "a bomb of zstd": (
        lambda: zeros(50_000_000, zstandard.compress),
        "it takes more than the 1 MiB that are allowed, unpacked. Make it smaller",
    ),
    "many small files": (
        lambda: files({f"f{number}": "" for number in range(101)}),
        "it has more than the 100 files that are allowed. Make it smaller",
    ),
    "folders that are only named count": (
        lambda: files({f"{number}/{number}": "" for number in range(60)}),
        "it has more than the 100 files that are allowed. Make it smaller",
    ),
    "a large file that is not there": (
        lambda: sparse(2**33 - 1),
        "it takes more than the 1 MiB that are allowed, unpacked. Make it smaller",
    ),
    "a header of many bytes": (
        lambda: gzip.compress(pax(1_200_000)),
        "a layer has a header longer than any file needs. Rebuild it",
    ),
    "empty members": (
        lambda: gzip.compress(b"") * 1000,
        "a layer is compressed in more than 200 members. Rebuild it",
    ),
    "empty members behind an archive's begin": (
        lambda: gzip.compress(files({"a": "x"})[:600]) + gzip.compress(b"") * 1000,
        "a layer is compressed in more than 200 members. Rebuild it",
    ),
    "frames of nothing": (
        lambda: zstandard.compress(b"") + skipped(100_000) * 60,
        "a layer is compressed to more bytes than it holds. Rebuild it",
    ),
    "empty frames": (
        lambda: zstandard.compress(b"") * 600_000,
        "a layer is compressed to more bytes than it holds. Rebuild it",
    ),
    "a long name of a member": (
        lambda: b"\x1f\x8b\x08\x08" + bytes(6) + b"x" * 5_000_000,
        "a layer is compressed to more bytes than it holds. Rebuild it",
    ),
    "long ways to few files": (
        lambda: long_ways(50),
        "it takes more steps to unpack than any image needs. Rebuild it",
    ),
    "headers for headers": (lambda: pax(0) * 3000, "a layer "),
    "no archive": (lambda: b"hello" * 1000, "a layer is not a complete archive: "),
    "nothing": (lambda: b"", "a layer is not a complete archive: "),
    "half of gzip": (
        lambda: gzip.compress(os.urandom(100_000))[:50_000],
        "a layer is not a complete archive: ",
    ),
    "half of an archive": (
        lambda: files({"a": "x" * 5000})[:2000],
        "a layer is not a complete archive: unexpected end of data",
    ),
    "half of zstd": (
        lambda: zstandard.compress(files({"a": os.urandom(5000)}))[:3000],
        "a layer is not a complete archive: ",
    ),
}


@pytest.mark.parametrize(("made", "text"), BROKEN.values(), ids=BROKEN)
def test_a_bad_layer_is_refused(root: Path, made: Callable[[], bytes], text: str) -> None:
    """Short-cut: believe the sizes that are written in the archive, or none."""
    with pytest.raises(LayerError) as caught:
        lay(root, made(), room=SMALL)

    assert str(caught.value).startswith(text), str(caught.value)
    assert sum(path.lstat().st_blocks * 512 for path in root.rglob("*")) <= 4 * SMALL.size_bytes


def test_hiding_a_folder_over_and_over_is_bounded(root: Path) -> None:
    """Short-cut: count files alone; each hiding looks through the whole folder."""
    most = UnpackLimits(size_bytes=64 * 1024 * 1024, entries=400)
    lay(root, hidden(100), room=most)
    with pytest.raises(LayerError, match="more steps to unpack than any image needs"):
        lay(root, *[hidden(300)] * 2, room=replace(most, entries=800, steps=10_000))


def test_layers_are_bounded_as_they_are_sent(root: Path) -> None:
    """Short-cut: bound each layer, and bring a hundred."""
    one = files({"a": os.urandom(30_000)})
    with pytest.raises(LayerError, match="its layers are larger than allowed"):
        lay(root, *[one] * 9, room=UnpackLimits(sent_bytes=200_000))


ENDLESS: dict[str, Callable[[], bytes]] = {
    "files": lambda: files({f"f{number}": "x" for number in range(3000)}),
    "members": lambda: gzip.compress(b"") * 9000,
    "frames": lambda: zstandard.compress(b"") + skipped(100_000) * 30,
    "bytes": lambda: zeros(30_000_000, gzip.compress),
    "steps": lambda: long_ways(40),
}


@pytest.mark.parametrize("made", ENDLESS.values(), ids=ENDLESS)
def test_it_stops_when_nobody_waits_any_more(root: Path, made: Callable[[], bytes]) -> None:
    """Short-cut: look between two layers, or only while it is fetched."""
    looks = 0

    def stopped() -> bool:
        nonlocal looks
        looks += 1
        return looks > 3

    with pytest.raises(StoppedError):
        Tree(root, UnpackLimits(), stopped).add(io.BytesIO(made()))
    assert looks == 4


def test_a_sparse_file_is_whole(root: Path) -> None:
    lay(root, sparse(8192), room=SMALL)

    assert (root / "sparse").read_bytes() == b"x" * 512 + bytes(8192 - 512)


def test_room_is_for_all_layers_together(root: Path) -> None:
    """Short-cut: count each layer from the start."""
    half = files({"a": "x" * 600_000})
    tree = lay(root, half, room=SMALL)
    assert tree.size_bytes == 606_208  # 147 blocks, and one for having a file

    with pytest.raises(LayerError, match="it takes more than the 1 MiB that are allowed"):
        tree.add(io.BytesIO(half))


def test_folders_for_the_sandbox_are_made_and_nothing_is_replaced(root: Path) -> None:
    tree = lay(root, layer(file("file"), link("out", "../.."), link("loop", "loop")))
    for each in ("/proc", "a/b", "/file/x", "/out/c", "/loop/d", "/../up"):
        tree.folder(each)

    assert there(root) == {
        "proc": "/",
        "a": "/",
        "a/b": "/",
        "file": "new",
        "out": "-> ../..",
        "c": "/",
        "loop": "-> loop",
        "up": "/",
    }
    assert outside(root) == OUTSIDE


PARTS = st.sampled_from(["a", "b", "..", ".", "", "secret", ".wh.a", ".wh.secret", ".wh..wh..opq"])
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
KINDS = st.sampled_from([tarfile.REGTYPE, SYM, LNK, DIR, tarfile.FIFOTYPE])


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(NAMES, KINDS, NAMES), max_size=6), max_size=3))
def test_whatever_the_layers_nothing_outside_changes(
    tmp_path: Path, layers: list[list[tuple[str, bytes, str]]]
) -> None:
    work = Path(os.path.realpath(tmp_path)) / os.urandom(4).hex()
    root = work / "root"
    root.mkdir(parents=True)
    (work / "secret").write_text("kept")
    (work / "a").mkdir()
    tree = Tree(root, UnpackLimits())
    try:
        for entries in layers:
            made = (
                (entry(name, kind, linkname=target), b"new" if kind == tarfile.REGTYPE else b"")
                for name, kind, target in entries
            )
            tree.add(io.BytesIO(layer(*made)))
    except LayerError:
        pass  # refused is as good as contained

    assert sorted(each.name for each in work.iterdir()) == ["a", "root", "secret"]
    assert (work / "secret").read_text() == "kept"
    assert (work / "secret").stat().st_nlink == 1
    assert list((work / "a").iterdir()) == []
