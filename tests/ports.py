"""Ports for programs that have to be told theirs: nobody else takes them meanwhile."""

import itertools
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Final

_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST: Final = 10_000

_held: list[socket.socket] = []
_next = itertools.count(os.getpid() * 7)


def free_port() -> int:
    """Return a port that is free, and that no other process of the tests gets while this one lives.

    The system gives its own ports to whoever asks for any, between two calls of ours as well: this
    one is not among them.
    """
    lowest = int(_RANGE.read_text().split()[0])
    for number in itertools.islice(_next, lowest - _FIRST):
        port = _FIRST + number % (lowest - _FIRST)
        mark = socket.socket(socket.AF_UNIX)
        with socket.socket() as probe, suppress(OSError):
            mark.bind(f"\0porchbot-test-port-{port}")  # goes with this process
            probe.bind(("", port))
            _held.append(mark)
            return port
        mark.close()
    raise RuntimeError("there is no free port")
