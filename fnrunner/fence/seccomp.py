"""The seccomp filter of a sandbox: system calls that no function needs are refused.

Rules
- It is a second fence. Without capabilities most of these fail anyway; past holes in the kernel
  lay behind many of them, and some hold memory where nobody counts it.
- Calls of another architecture's numbering (32-bit programs) are all refused: the list would
  not hold for them.
- Namespaces are made by `clone` too, so its flags are looked at; `clone3` hides its flags in
  memory, where a filter cannot look, so it is said not to exist, and programs fall back.
- Sockets are of the families that programs use. A namespace of networks does not hold others: by
  AF_VSOCK a virtual machine speaks to its host, whatever network it has.
- Where nobody counts memory that belongs to no process, there is no way to it: no mapping that is
  shared and of no file (its pages stay when whoever filled them has let them go), and no pages
  handed to a pipe. `/dev/zero`, which is another such mapping, is bubblewrap.py's to replace.
- Where nobody counts what sockets hold, their buffers keep their size: a call to change it
  succeeds and does nothing, as for a program that asks for more than it may have.
- On an architecture without a list here there is no filter.

Source: seccomp(2); the kernel's arch/x86/entry/syscalls/syscall_64.tbl and
include/uapi/asm-generic/unistd.h (which arm64 uses); vsock(7).
"""

import errno
import os
import socket
import struct
from typing import Final

# Name: number on x86-64, number on arm64.
_REFUSED: Final = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setns": (308, 268),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
# Memory that belongs to no process, and that a watcher of processes does not see.
_UNSEEN: Final = {
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "msgget": (68, 186),
    "semget": (64, 190),
    "shmget": (29, 194),
    "vmsplice": (278, 75),
}
_MMAP: Final = (9, 222)
_MAP_SHARED: Final = 0x01  # set in MAP_SHARED_VALIDATE, too
_MAP_ANONYMOUS: Final = 0x20
_SETSOCKOPT: Final = (54, 208)
_BUFFERS: Final = (socket.SO_SNDBUF, socket.SO_RCVBUF)
_SOCKET: Final = (41, 198)
_FAMILIES: Final = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
_CLONE: Final = (56, 220)
_CLONE3: Final = 435
_NAMESPACES: Final = 0x7E020000  # all of CLONE_NEW… that clone(2) takes, linux/sched.h
_X32: Final = 0x40000000  # set in the number of every call of x86-64's second numbering

# linux/audit.h: machine, and its column above.
_MACHINES: Final = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000
# linux/bpf_common.h
_LOAD: Final = 0x20
_EQUAL: Final = 0x15
_AT_LEAST: Final = 0x35
_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06
# struct seccomp_data
_NUMBER: Final = 0
_ARCHITECTURE: Final = 4
_FIRST_ARGUMENT: Final = 16
_SECOND_ARGUMENT: Final = 24
_THIRD_ARGUMENT: Final = 32
_FOURTH_ARGUMENT: Final = 40


def has_list() -> bool:
    """Tell whether there is a filter for this machine's architecture."""
    return os.uname().machine in _MACHINES


def program(*, unseen: bool, machine: str = os.uname().machine) -> bytes:
    """Return the filter as bwrap takes it; empty on a machine that has no list.

    Args:
        unseen: Refuse memory too that belongs to no process, and larger buffers of sockets:
            nobody counts them here.
        machine: As uname(2) calls it.
    """
    if machine not in _MACHINES:
        return b""
    architecture, column = _MACHINES[machine]
    refused = {**_REFUSED, **_UNSEEN} if unseen else _REFUSED
    lines = [
        _line(_LOAD, _ARCHITECTURE),
        _line(_EQUAL, architecture, yes=1),
        _refuse(errno.ENOSYS),
        _line(_LOAD, _NUMBER),
        _line(_AT_LEAST, _X32, no=1),
        _refuse(errno.ENOSYS),
        _line(_EQUAL, _CLONE3, no=1),
        _refuse(errno.ENOSYS),
    ]
    for numbers in refused.values():
        lines += (_line(_EQUAL, numbers[column], no=1), _refuse(errno.EPERM))
    if unseen:
        lines += (
            _line(_EQUAL, _MMAP[column], no=5),
            _line(_LOAD, _FOURTH_ARGUMENT),
            _line(_ANY_BIT, _MAP_ANONYMOUS, no=2),
            _line(_ANY_BIT, _MAP_SHARED, no=1),
            _refuse(errno.EPERM),
            _line(_RETURN, _ALLOW),
            _line(_EQUAL, _SETSOCKOPT[column], no=7),
            _line(_LOAD, _SECOND_ARGUMENT),
            _line(_EQUAL, socket.SOL_SOCKET, no=4),
            _line(_LOAD, _THIRD_ARGUMENT),
            _line(_EQUAL, _BUFFERS[0], yes=1),
            _line(_EQUAL, _BUFFERS[1], no=1),
            _refuse(0),
            _line(_RETURN, _ALLOW),
        )
    families = len(_FAMILIES)
    lines += (
        _line(_EQUAL, _SOCKET[column], no=families + 3),
        _line(_LOAD, _FIRST_ARGUMENT),  # its lower half: both machines are little-endian
        *(_line(_EQUAL, each, yes=families - at) for at, each in enumerate(_FAMILIES)),
        _refuse(errno.EPERM),
        _line(_RETURN, _ALLOW),
        _line(_EQUAL, _CLONE[column], no=3),
        _line(_LOAD, _FIRST_ARGUMENT),
        _line(_ANY_BIT, _NAMESPACES, no=1),
        _refuse(errno.EPERM),
        _line(_RETURN, _ALLOW),
    )
    return b"".join(lines)


def _refuse(number: int) -> bytes:
    return _line(_RETURN, _ERRNO | number)


def _line(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """Return one instruction; `yes` and `no` say how many to skip after a comparison."""
    return struct.pack("HBBI", code, yes, no, value)
