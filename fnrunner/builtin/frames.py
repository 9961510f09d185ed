"""What passes between the runner and a worker process: a call, and its answer.

A frame is a fixed head that says how long its parts are, and the parts.
"""

import json
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from fnrunner.results import Result

_CALL: Final = struct.Struct("!II")
_ANSWER: Final = struct.Struct("!BIII")
CALL_HEAD: Final = _CALL.size
ANSWER_HEAD: Final = _ANSWER.size

OUT_OF_MEMORY: Final = 86
"""Exit status of a worker that went over its limit of memory; Python's own are 1 and 2."""


class Kind(IntEnum):
    """How a call ended."""

    DONE = 0
    FAILED = 1  # the function refused; that is an answer, too
    UNREADABLE = 2  # it was sent no ResourceList
    BROKEN = 3  # a bug


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of a call.

    Attributes:
        kind: How it ended.
        resources: The ResourceList it left (YAML, UTF-8), when it is done or failed.
        log: What it wrote for people; otherwise why it could not be run.
        results: Entries of `results`, when it failed.
    """

    kind: Kind
    resources: bytes = b""
    log: str = ""
    results: tuple[Result, ...] = ()


def call(name: str, resources: bytes) -> bytes:
    """Return the frame of a call: a function by its name in the catalog, and its ResourceList."""
    data = name.encode()
    return b"".join((_CALL.pack(len(data), len(resources)), data, resources))


def call_lengths(head: bytes) -> tuple[int, int]:
    """Return how many bytes name and resources of a call have."""
    name, resources = _CALL.unpack(head)
    return name, resources


def answer(given: Answer) -> bytes:
    """Return the frame of an answer."""
    log = given.log.encode(errors="replace")
    results = json.dumps(given.results).encode()
    head = _ANSWER.pack(given.kind, len(log), len(results), len(given.resources))
    return b"".join((head, log, results, given.resources))


def answer_length(head: bytes) -> int:
    """Return how many bytes follow the head of an answer."""
    return sum(_ANSWER.unpack(head)[1:])


def read_answer(head: bytes, body: bytes) -> Answer:
    """Read an answer."""
    kind, log, results, _ = _ANSWER.unpack(head)
    return Answer(
        kind=Kind(kind),
        resources=body[log + results :],
        log=body[:log].decode(),
        results=tuple(json.loads(body[log : log + results])),
    )
