"""A sandbox for tests, and a root folder that holds busybox and nothing else."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from fnrunner.contract.errors import SandboxError
from fnrunner.contract.run import ResourceLimits
from fnrunner.fence.sandbox import Ended, Program, Sandbox

PATIENT = ResourceLimits(seconds=60.0)
"""For runs that end by themselves, on however busy a machine."""


@cache
def busybox() -> Path:
    """A busybox without libraries, or the test is skipped."""
    beside = Path(sys.executable).with_name("busybox")
    found = str(beside) if beside.exists() else shutil.which("busybox")
    if found is None:
        pytest.skip("there is no busybox; `make tools` brings it")
    return Path(found)


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach, as what runs in a sandbox of root's must be.

    pytest's own are closed to others.
    """
    folder = Path(tempfile.mkdtemp(prefix="porchbot-test-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def root(folder: Path) -> Path:
    """Make a root folder with busybox as its programs, and the folders that sandboxes use."""
    for name in ("bin", "proc", "dev", "tmp", "etc"):
        (folder / name).mkdir(parents=True)
    shutil.copy(busybox(), folder / "bin/busybox")
    (folder / "bin/busybox").chmod(0o755)
    applets = subprocess.run(
        [busybox(), "--list"], capture_output=True, text=True, check=True, timeout=60
    )
    for applet in applets.stdout.split():
        if applet != "busybox":
            (folder / "bin" / applet).symlink_to("busybox")
    return folder


def sandbox(*, groups: bool = True) -> Sandbox:
    """The sandbox of this machine, or the test is skipped."""
    try:
        found = Sandbox.here(groups=groups)
    except SandboxError as error:
        pytest.skip(str(error))
    if groups and found.counted_by != "control groups":
        pytest.skip("control groups cannot be written here")
    return found


async def shell(
    where: Sandbox, root: Path, script: str, data: bytes = b"", bounds: ResourceLimits = PATIENT
) -> Ended:
    """Run a script in busybox's shell."""
    program = Program(argv=("/bin/sh", "-c", script), root=root, environment={"PATH": "/bin"})
    return await where.run("shell", program, data, bounds)


def open_files() -> set[str]:
    """What this process has open."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{number} {os.readlink(f'/proc/self/fd/{number}')}")
        except FileNotFoundError:  # the listing itself
            continue
    return found


@contextmanager
def nothing_left() -> Iterator[None]:
    """See that no process, descriptor or control group is left of what is run meanwhile."""
    before = open_files()
    yield
    left = open_files() - before
    assert left == set(), left
    assert [each for each in children() if "bwrap" in each] == []
    counted = [each for each in groups() if each.name.startswith(f"porchbot-{os.getpid()}-")]
    assert counted == []


def children() -> list[str]:
    """The commands of the processes that this one started and has not reaped."""
    pids = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [Path(f"/proc/{pid}/cmdline").read_text() for pid in pids]


def groups() -> Iterator[Path]:
    """The control groups below those of this process."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        folder = Path("/sys/fs/cgroup", names.removeprefix("name="), path.lstrip("/"))
        if folder.is_dir():
            yield from (each for each in folder.iterdir() if each.is_dir())
