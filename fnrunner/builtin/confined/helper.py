"""The process that calls are forked from, and the one that runs a call.

It reads calls from standard input and writes answers to standard output (`FRAME`, head, body)
until its input ends. Standard output of a call itself leads nowhere: interpreters print there.
"""

import gc
import json
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from selectors import EVENT_READ, DefaultSelector
from time import monotonic
from types import ModuleType
from typing import Any, Final, NoReturn

from fnrunner.builtin.confined import fence
from fnrunner.builtin.confined.calls import ANSWER_BYTES, FRAME
from fnrunner.contract.run import MIB

ENGINES: Final = {
    "starlark": "fnrunner.builtin.confined.starlark_engine",
    "rego": "fnrunner.builtin.confined.rego_engine",
}
_WORDS: Final = 4096  # bytes kept of what a call wrote to standard error; the cause comes first
_OUT_OF_MEMORY: Final = (b"memory", b"stack", b"bad_alloc")  # how runtimes say that it is spent

Run = Callable[[], object]


def serve() -> NoReturn:
    """Answer calls until there are no more."""
    source, target = _own_pipes()
    fence.leave_network()
    root = fence.empty_root()
    engines = {name: import_module(module) for name, module in ENGINES.items()}
    gc.freeze()  # what is here now need not be looked through in each call
    while True:
        sizes = _exactly(source, FRAME.size)
        head_size, body_size = FRAME.unpack(sizes)
        head = json.loads(_exactly(source, head_size))
        body = _exactly(source, body_size)
        end, answer = _one(engines[head["engine"]], head, body, root, (source, target))
        said = json.dumps({"end": end}).encode()
        for piece in (FRAME.pack(len(said), len(answer)), said, answer):
            _write_all(target, piece)


def _own_pipes() -> tuple[int, int]:
    """Move the pipes aside, so that nothing printed gets into an answer."""
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    return source, target


def _exactly(source: int, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        piece = os.read(source, min(size - len(found), MIB))
        if not piece:
            sys.exit(0)
        found += piece
    return bytes(found)


def _write_all(target: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest) :]


def _one(
    engine: ModuleType, head: dict[str, Any], body: bytes, root: int | None, ours: tuple[int, int]
) -> tuple[str, bytes]:
    """Run one call in a child; return how it ended, and its answer or its words.

    Args:
        engine: What runs it.
        head: Its limits.
        body: Its payload.
        root: Descriptor of the folder that is all it has; None for no such folder.
        ours: The ends of our own pipes, which are none of its business.
    """
    answer, answer_end = os.pipe()
    words, words_end = os.pipe()
    helper = os.getpid()
    child = os.fork()
    if child == 0:
        for each in ours:
            os.close(each)
        _call(engine, head, body, root, answer_end, words_end, helper)
    os.close(answer_end)
    os.close(words_end)
    try:
        end, found, said = _follow(answer, words, ours[0], monotonic() + head["seconds"])
    finally:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        os.close(answer)
        os.close(words)
    if end:
        return end, b""
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
        return "answer", found
    return _cause(status, said)


def _follow(answer: int, words: int, source: int, until: float) -> tuple[str, bytes, bytes]:
    """Read what a child writes; return the limit it went over ("" if none), and what it wrote."""
    found, said = bytearray(), bytearray()
    with DefaultSelector() as selector:
        for each in (answer, words, source):
            selector.register(each, EVENT_READ)
        while len(selector.get_map()) > 1:
            ready = selector.select(max(0.0, until - monotonic()))
            if not ready:
                return "time", b"", b""
            for key, _ in ready:
                piece = b"" if key.fd == source else os.read(key.fd, MIB)
                if key.fd == source:
                    raise SystemExit  # nobody waits for the answer any more
                if not piece:
                    selector.unregister(key.fd)
                elif key.fd == answer:
                    found += piece
                else:
                    said = (said + piece)[:_WORDS]
            if len(found) > ANSWER_BYTES:
                return "output", b"", b""
    return "", bytes(found), bytes(said)


def _cause(status: int, said: bytes) -> tuple[str, bytes]:
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return "time", b""
    if any(word in said for word in _OUT_OF_MEMORY):
        return "memory", b""
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        why = ", as after recursion without an end" if name == "SIGSEGV" else ""
        return "broken", f"signal {name}{why}".encode()
    return "broken", said.strip().partition(b"\n")[0] or b"it said nothing"


def _call(
    engine: ModuleType,
    head: dict[str, Any],
    body: bytes,
    root: int | None,
    target: int,
    words: int,
    helper: int,
) -> NoReturn:
    """Run a call and end this process: status 0 once the answer is written."""
    status = 1
    try:
        os.dup2(words, 2)
        run: Run = engine.prepare(json.loads(body))
        fence.limit(head["seconds"], head["memory_bytes"])
        fence.shut(root)
        if os.getppid() != helper:  # it ended before this process could ask to end with it
            os._exit(1)
        _write_all(target, json.dumps(run()).encode())
        status = 0
    except MemoryError:
        os.write(2, b"out of memory")
    except BaseException as error:  # whatever it was, this process ends here
        os.write(2, f"{type(error).__name__}: {error}".encode(errors="replace")[:_WORDS])
    finally:
        os._exit(status)
