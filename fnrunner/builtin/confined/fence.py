"""Drops privileges of a process before it runs foreign code: files, network, system calls.

Rules:
    - No network, no files, no other program, no other process, no secret in the environment.
    - What the machine does not allow (namespaces without privileges, say) is left out: the
      interpreters have no way to the system themselves, and this stands behind them.
      Limits of time and memory always bind.

Source: Linux manual pages unshare(2), seccomp(2), prctl(2), setrlimit(2).
"""

import ctypes
import os
import platform
import resource
import signal
import struct
import tempfile
from contextlib import suppress
from math import ceil
from typing import Final

_NOBODY: Final = 65534
_CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWNET = 0x08000000, 0x10000000, 0x40000000
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_SECCOMP_MODE_FILTER: Final = 2

# Audit architecture, and numbers of the calls that are refused: execve, execveat, socket, ptrace,
# process_vm_readv, process_vm_writev, mount, unshare, setns, bpf, kill, io_uring_setup, keyctl.
_REFUSED: Final = {
    "x86_64": (0xC000003E, (59, 322, 41, 101, 310, 311, 165, 272, 308, 321, 62, 425, 250)),
    "aarch64": (0xC00000B7, (221, 281, 198, 117, 270, 271, 40, 97, 268, 280, 129, 425, 219)),
}
_LOAD, _EQUAL, _ABOVE, _RETURN = 0x20, 0x15, 0x35, 0x06  # instructions of the packet filter
_ALLOW, _EPERM, _KILL = 0x7FFF0000, 0x00050001, 0x80000000
_X32: Final = 0x40000000  # numbers of the x32 variant of x86_64 begin here

_libc: Final = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def leave_network() -> None:
    """Give up the network, and shared memory with others; before any thread starts."""
    alone = _CLONE_NEWNET | _CLONE_NEWIPC
    if _libc.unshare(alone) != 0:
        _libc.unshare(alone | _CLONE_NEWUSER)
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def empty_root() -> int | None:
    """Return a descriptor of a folder that is empty for ever; None where none can be made."""
    with suppress(OSError), tempfile.TemporaryDirectory() as path:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    return None


def limit(seconds: float, memory_bytes: int) -> None:
    """Limit processor time and memory from now on.

    Args:
        seconds: Processor time; the clock is somebody else's to watch.
        memory_bytes: Memory beyond what this process has mapped now.
    """
    with open("/proc/self/statm", encoding="ascii") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    _lower(resource.RLIMIT_AS, mapped + memory_bytes)
    _lower(resource.RLIMIT_CPU, ceil(seconds) + 1)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, 0)


def _lower(kind: int, value: int) -> None:
    """Set a limit, unless there is a lower one already."""
    hard = resource.getrlimit(kind)[1]
    most = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (most, most))


def shut(root: int | None) -> None:
    """Give up files, identity, and the calls that lead to others.

    Args:
        root: Descriptor of the folder that is all there will be; None leaves files as they are.
    """
    if root is not None:
        with suppress(PermissionError):
            os.fchdir(root)
            os.chroot(".")
        os.close(root)
    if os.geteuid() == 0:
        with suppress(PermissionError):  # as root without the privileges of root
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    # After the change of user, which clears it.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    refuse_calls()


def refuse_calls() -> None:
    """Refuse the system calls of `_REFUSED` in this process, all its threads, and for good."""
    known = _REFUSED.get(platform.machine())
    if known is None:
        return
    architecture, numbers = known
    steps = [
        (_LOAD, 0, 0, 4),  # the architecture
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),  # the number of the call
        (_ABOVE, len(numbers) + 1, 0, _X32),
    ]
    for position, number in enumerate(numbers):
        steps.append((_EQUAL, len(numbers) - position, 0, number))
    steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _EPERM)]
    code = b"".join(struct.pack("=HBBI", *step) for step in steps)
    program = _Program(len(steps), code)
    # Flag 1 brings in the threads that an interpreter has started already.
    if _libc.syscall(_SECCOMP[platform.machine()], 1, 1, ctypes.byref(program)) != 0:
        _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)


_SECCOMP: Final = {"x86_64": 317, "aarch64": 277}
