"""Control groups: where they are found; v2 on folders of plain files, for want of a real one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fnrunner.fence import cgroups as cgroup
from fnrunner.fence.cgroups import Count

MOUNT = "31 30 0:27 {root} {point} rw,nosuid shared:9 - {kind} {kind} rw,{options}\n"


def v2(folder: Path, own: str, *, root: str = "/") -> tuple[Path, Path]:
    """Files that say that this process is in a group of v2."""
    mounts, membership = folder / "mountinfo", folder / "cgroup"
    mounts.write_text(
        MOUNT.format(root="/", point="/proc", kind="proc", options="")
        + MOUNT.format(root=root, point=folder / "fs", kind="cgroup2", options="nsdelegate")
    )
    membership.write_text(f"0::{own}\n")
    return mounts, membership


def group(folder: Path, *, controllers: str, handed_out: str, procs: str) -> Path:
    """A group as v2 shows it."""
    folder.mkdir(parents=True)
    (folder / "cgroup.controllers").write_text(controllers)
    (folder / "cgroup.subtree_control").write_text(handed_out)
    (folder / "cgroup.procs").write_text(procs)
    return folder


def found(folder: Path, own: str, *, root: str = "/") -> cgroup.Groups | None:
    mounts, membership = (path.read_text() for path in v2(folder, own, root=root))
    return cgroup._find(mounts, membership)


def clear(folder: Path) -> None:
    """Take the files out, as the kernel does when a group is removed."""
    for file in folder.iterdir():
        file.unlink()


def test_a_group_of_v2_is_limited_counted_and_ended(tmp_path: Path) -> None:
    """Short-cut: write v1's names, or take a group's `max` events of memory for its end."""
    parent = group(
        tmp_path / "fs/a", controllers="cpu memory pids", handed_out="memory pids", procs=""
    )
    groups = found(tmp_path, "/a")
    assert groups is not None
    made = groups.make(1000, 7)
    (folder,) = (each for each in parent.iterdir() if each.is_dir())

    assert {each.name: each.read_text() for each in folder.iterdir()} == {
        "memory.max": "1000",
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "pids.max": "7",
    }

    made.add(4711)
    (folder / "memory.peak").write_text("900\n")
    (folder / "pids.peak").write_text("6\n")
    (folder / "memory.events").write_text("low 0\nhigh 0\nmax 3\noom 0\noom_kill 0\n")
    (folder / "pids.events").write_text("max 0\n")
    assert (folder / "cgroup.procs").read_text() == "4711"
    assert made.count() == Count(900, 6, out_of_memory=False, out_of_processes=False)

    (folder / "memory.events").write_text("max 4\noom 1\noom_kill 2\noom_group_kill 1\n")
    (folder / "pids.events").write_text("max 1\n")
    assert made.count() == Count(900, 6, out_of_memory=True, out_of_processes=True)

    made.kill()
    assert (folder / "cgroup.kill").read_text() == "1"
    clear(folder)
    made.remove()
    assert not folder.exists()


def test_peaks_are_the_most_seen_where_the_kernel_keeps_none(tmp_path: Path) -> None:
    parent = group(tmp_path / "fs/a", controllers="memory pids", handed_out="memory pids", procs="")
    groups = found(tmp_path, "/a")
    assert groups is not None
    made = groups.make(1000, 7)
    (folder,) = (each for each in parent.iterdir() if each.is_dir())
    (folder / "memory.events").write_text("")
    (folder / "pids.events").write_text("")
    for memory, processes in ((10, 2), (30, 3), (20, 1)):
        (folder / "memory.current").write_text(f"{memory}\n")
        (folder / "pids.current").write_text(f"{processes}\n")
        last = made.count()

    assert last == Count(30, 3, out_of_memory=False, out_of_processes=False)


def test_a_runner_alone_in_its_group_moves_into_a_leaf(tmp_path: Path) -> None:
    """Short-cut: hand counters out below a group with processes, which the kernel refuses."""
    pid = str(os.getpid())
    parent = group(tmp_path / "fs/a", controllers="memory pids", handed_out="", procs=f"{pid}\n")

    assert found(tmp_path, "/a") is not None
    assert (parent / "porchbot-runner/cgroup.procs").read_text() == pid
    assert (parent / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_a_runner_in_its_leaf_stays_there(tmp_path: Path) -> None:
    """Short-cut: make groups below the leaf."""
    parent = group(tmp_path / "fs/a", controllers="memory pids", handed_out="memory pids", procs="")
    group(parent / "porchbot-runner", controllers="memory pids", handed_out="", procs="1")
    groups = found(tmp_path, "/a/porchbot-runner")
    assert groups is not None
    groups.make(1, 1)

    names = sorted(each.name.split("-")[1] for each in parent.iterdir() if each.is_dir())
    assert names == sorted([str(os.getpid()), "runner"])


def test_a_runner_among_others_moves_nobody(tmp_path: Path) -> None:
    """Short-cut: move whatever is in the group."""
    parent = group(tmp_path / "fs/a", controllers="memory pids", handed_out="", procs="1\n2\n")
    found(tmp_path, "/a")  # the kernel would refuse what is written here
    assert not (parent / "porchbot-runner").exists()


def test_a_container_sees_its_group_as_the_root(tmp_path: Path) -> None:
    """Short-cut: put the whole path behind the mount point."""
    group(tmp_path / "fs/in", controllers="memory pids", handed_out="memory pids", procs="")
    groups = found(tmp_path, "/outer/box/in", root="/outer/box")
    assert groups is not None
    groups.make(1, 1)
    assert len([each for each in (tmp_path / "fs/in").iterdir() if each.is_dir()]) == 1


@pytest.mark.parametrize(
    ("own", "mounted"),
    [("/none", "cgroup2"), ("/a", "tmpfs")],
    ids=["no counters here", "no control groups"],
)
def test_where_there_are_none_there_are_none(tmp_path: Path, own: str, mounted: str) -> None:
    """Short-cut: end the runner with an error where a watcher would do."""
    group(tmp_path / "fs/a", controllers="cpu", handed_out="cpu", procs="")
    mounts, membership = v2(tmp_path, own)
    mounts.write_text(mounts.read_text().replace("cgroup2", mounted))
    assert cgroup.find(mounts, membership) is None


def test_only_groups_of_runners_that_are_gone_are_swept(tmp_path: Path) -> None:
    """Short-cut: remove whatever has our name on it."""
    parent = group(tmp_path / "fs/a", controllers="memory pids", handed_out="memory pids", procs="")
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    kept = parent / f"porchbot-{os.getppid()}-1", parent / "other"
    swept = parent / f"porchbot-{gone.pid}-1"
    for folder in (*kept, swept):
        folder.mkdir()
    found(tmp_path, "/a")

    assert all(folder.exists() for folder in kept)
    assert not swept.exists()
