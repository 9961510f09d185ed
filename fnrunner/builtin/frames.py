"""What passes between the runner and a worker process: a call, and its answer.

A frame is a fixed head that says how long its parts are, and the parts.
"""

import json
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from fnrunner.contract import results
from fnrunner.contract.results import Result
from fnrunner.contract.run import MIB

_CALL: Final = struct.Struct("!II")
_ANSWER: Final = struct.Struct("!BIII?")
CALL_HEAD: Final = _CALL.size
ANSWER_HEAD: Final = _ANSWER.size

READ: Final = ""
"""Name of a call that runs nothing: it reads what another function wrote, for its results."""

OUT_OF_MEMORY: Final = 86
"""Exit status of a worker that went over its limit of memory; Python's own are 1 and 2."""


class CallStatus(IntEnum):
    """How a call ended."""

    DONE = 0
    FAILED = 1  # the function refused; that is an answer, too
    UNREADABLE = 2  # it was sent no ResourceList
    BROKEN = 3  # a bug
    TOO_LARGE = 4  # its answer is longer than a message; the log says how long


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerAnswer:
    """What came of a call.

    Attributes:
        kind: How it ended.
        resources: The ResourceList it left (YAML, UTF-8), when it is done or failed.
        log: What it wrote for people; otherwise why it could not be run.
        results: Entries of `results`, when it failed.
    """

    kind: CallStatus
    resources: bytes = b""
    log: str = ""
    results: tuple[Result, ...] = ()


_LOG_BYTES: Final = MIB  # what is kept of the log, as of any other function
_RESULTS_BYTES: Final = MIB  # of the results; more never travels


def longest(message_bytes: int) -> int:
    """Return how long the body of an answer may be, its head left out."""
    return message_bytes + _LOG_BYTES + 4 * _RESULTS_BYTES  # which JSON spells longer here


def within(given: WorkerAnswer, message_bytes: int) -> WorkerAnswer:
    """Return an answer that is no longer than `longest` says.

    Args:
        given: The answer. Without its list a function that refused has still said why.
        message_bytes: Longest list that can be handed on.
    """
    size = len(given.resources)
    if size > message_bytes and given.kind is CallStatus.DONE:
        return WorkerAnswer(kind=CallStatus.TOO_LARGE, log=str(size))
    log = given.log.encode(errors="replace")[:_LOG_BYTES].decode(errors="ignore")
    found = results.within(given.results, _RESULTS_BYTES)
    kept = given.resources if size <= message_bytes else results.resource_list(found)
    return WorkerAnswer(kind=given.kind, resources=kept, log=log, results=found)


def call(name: str, resources: bytes) -> bytes:
    """Return the frame of a call: a function by its name in the catalog, and its ResourceList."""
    data = name.encode()
    return b"".join((_CALL.pack(len(data), len(resources)), data, resources))


def call_lengths(head: bytes) -> tuple[int, int]:
    """Return how many bytes name and resources of a call have."""
    name, resources = _CALL.unpack(head)
    return name, resources


def answer(given: WorkerAnswer, sent: bytes = b"") -> bytes:
    """Return the frame of an answer.

    Args:
        given: The answer.
        sent: The ResourceList of the call, which is left out where the answer begins with it.
    """
    log = given.log.encode(errors="replace")
    found = json.dumps(given.results).encode()
    same = bool(sent) and given.resources.startswith(sent)
    rest = given.resources[len(sent) :] if same else given.resources
    head = _ANSWER.pack(given.kind, len(log), len(found), len(rest), same)
    return b"".join((head, log, found, rest))


def answer_length(head: bytes) -> int:
    """Return how many bytes follow the head of an answer."""
    return sum(_ANSWER.unpack(head)[1:4])


def read_answer(head: bytes, body: bytes, sent: bytes = b"") -> WorkerAnswer:
    """Read an answer; `sent` is as for `answer`."""
    kind, log, found, _, same = _ANSWER.unpack(head)
    rest = body[log + found :]
    return WorkerAnswer(
        kind=CallStatus(kind),
        resources=sent + rest if same else rest,
        log=body[:log].decode(),
        results=tuple(json.loads(body[log : log + found])),
    )
