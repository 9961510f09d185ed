"""Packages on disk: read and written, and whole whenever the writer is killed."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bot.cli.disk import folder
from cadlib.errors import PackageError
from cadlib.package.files import EXECUTABLE, SYMLINK, Entry

CHECKOUT = Path(__file__).resolve().parents[2]
SIZES = [10, 500, 4000, 5000, 20_000]
OLD = {f"d{n % 3}/f{n}": b"o" * SIZES[n % 5] for n in range(60)}
NEW = {
    path: b"n" * (len(data) + (7 if n % 2 else -7)) for n, (path, data) in enumerate(OLD.items())
}

WRITER = """
import os, sys
from pathlib import Path
from bot.cli.disk import folder
from tests.cli.test_folder import NEW, OLD

for _ in sys.stdin:
    pid = os.fork()
    if pid == 0:
        os.setsid()
        print(os.getpid(), flush=True)
        while True:
            folder.write(Path(sys.argv[1]), NEW)
            folder.write(Path(sys.argv[1]), OLD)
    os.waitpid(pid, 0)
    print("ended", flush=True)
"""
"""Starts a process that writes for each line it reads: to import what writes takes longest."""


def test_what_is_written_is_read(tmp_path: Path) -> None:
    files = {
        "a/b.yaml": Entry(b"a: 1\n"),
        "link": Entry(b"a/b.yaml", SYMLINK),
        "run.sh": Entry(b"#!/bin/sh\n", EXECUTABLE),
    }
    folder.write(tmp_path, files)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").touch()

    assert folder.read(tmp_path) == files


@pytest.mark.parametrize("new", [b"longer than before", b"short", b"x" * 5000])
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_new_bytes_leave_the_mode(tmp_path: Path, new: bytes, mode: int) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old bytes")
    path.chmod(mode)

    folder.write(tmp_path, {"f": new})

    assert path.read_bytes() == new
    assert path.stat().st_mode & 0o777 == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
@pytest.mark.parametrize("new", [b"short", b"x" * 5000, Entry(b"whole")])
def test_new_text_leaves_the_owner(tmp_path: Path, new: bytes | Entry) -> None:
    """The short-cut: files of whoever started the command, such as root in a container."""
    path = tmp_path / "f"
    path.write_bytes(b"old bytes")
    os.chown(path, 1234, 5678)

    folder.write(tmp_path, {"f": new})

    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 5678)


def test_a_file_that_cannot_be_written_leaves_none_beside(tmp_path: Path) -> None:
    """The short-cut: leave what was made for it to be committed."""
    (tmp_path / "f").mkdir()

    with pytest.raises(PackageError, match="f: cannot be written"):
        folder.write(tmp_path, {"f": b"new"})

    assert os.listdir(tmp_path) == ["f"]


def test_a_file_of_several_names_is_changed_under_one(tmp_path: Path) -> None:
    """The short-cut writes into the file, and so into the copy that somebody linked to keep."""
    (tmp_path / "f").write_bytes(b"old")
    os.link(tmp_path / "f", tmp_path / "kept")

    folder.write(tmp_path, {"f": b"new and longer"})

    assert (tmp_path / "kept").read_bytes() == b"old"
    assert (tmp_path / "f").read_bytes() == b"new and longer"


def test_a_symlink_is_replaced_and_what_it_names_stays(tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"old")
    (tmp_path / "p").mkdir()
    (tmp_path / "p/f").symlink_to("../outside")

    folder.write(tmp_path / "p", {"f": b"new and longer"})

    assert (tmp_path / "outside").read_bytes() == b"old"
    assert not (tmp_path / "p/f").is_symlink()


def test_a_removed_file_takes_empty_folders_along(tmp_path: Path) -> None:
    folder.write(tmp_path, {"a/b/c": b"1", "a/d": b"2", "e/f": b"3"})

    folder.write(tmp_path, {"a/b/c": None, "e/f": None})

    assert sorted(each.name for each in tmp_path.rglob("*")) == ["a", "d"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    """The short-cut: its name without the folders it lies in."""
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c").touch(mode=0)

    with pytest.raises(PackageError, match=r"^a/b/c: cannot be read: "):
        folder.read(tmp_path)


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a file")

    with pytest.raises(PackageError, match=r"^a/b: cannot be written: "):
        folder.write(tmp_path, {"a/b": b"below a file"})


def test_killed_at_any_moment_it_leaves_each_file_old_or_new(tmp_path: Path) -> None:
    """The short-cut truncates a file and writes it: killed in between, the file is empty."""
    folder.write(tmp_path, OLD)
    rng = random.Random(7)
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)],
        cwd=CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(15):
            process.stdin.write(b"\n")
            process.stdin.flush()
            pid = int(process.stdout.readline())
            time.sleep(rng.uniform(0, 0.02))
            os.killpg(pid, signal.SIGKILL)
            assert process.stdout.readline() == b"ended\n"

            for path in OLD:
                assert (tmp_path / path).read_bytes() in (OLD[path], NEW[path]), path
