"""Code of packages in processes of its own: what it answers, and what stops it."""

import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from fnrunner.builtin.confined import calls, fence, helper
from fnrunner.builtin.confined.calls import BrokenError, CallStoppedError
from fnrunner.contract.run import MIB

FOR_EVER = "while True: pass"


@pytest.fixture(autouse=True)
def _helpers_end() -> Iterator[None]:
    yield
    calls.end()


def starlark(source: str, **limits: Any) -> Any:
    payload = {
        "name": "test",
        "source": source,
        "resource_list": {"items": []},
        "environment": {},
    }
    return calls.call("starlark", payload, **limits)


STOPPED = {
    "a loop without an end": (FOR_EVER, {"seconds": 0.5}, "time: 0.5 seconds"),
    "text that doubles": ("x = 'a'\nwhile True: x += x", {}, "memory: 256 MiB"),
    "a list that grows": (
        "x = []\nwhile True: x.append('a' * 1000000)", {"memory_bytes": 64 * MIB}, "memory: 64 MiB",
    ),
    "recursion without an end": ("def f(n): return f(n + 1)\nf(0)", {}, "memory: 256 MiB"),
    "a value that holds itself": (
        "x = {}\nx['x'] = x\nctx.resource_list['items'] = [x]", {}, "memory: 256 MiB",
    ),
    "an answer without an end": (
        "x = 'a' * 1000000\nctx.resource_list['items'] = [x for _ in range(70)]",
        {"memory_bytes": 2048 * MIB},
        "output: 64 MiB",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("source", "limits", "said"), STOPPED.values(), ids=STOPPED)
def test_what_goes_over_a_limit_is_stopped_and_the_limit_named(
    source: str, limits: dict[str, Any], said: str
) -> None:
    """Short-cut: run the script in this process, or watch the clock only."""
    with pytest.raises(CallStoppedError) as caught:
        starlark(source, **{"seconds": 60, **limits})
    assert str(caught.value) == (
        f"it was stopped because it exceeded its limit of {said} allowed."
        " Make it do less, or give it fewer resources."
    )
    assert starlark("print(1)")["log"] == ["1"]


def test_a_call_leaves_nothing_to_the_next() -> None:
    """Short-cut: keep one interpreter."""
    assert "error" not in starlark("left_behind = 1")
    assert starlark("print(left_behind)")["error"] == "test:1:7: undefined: left_behind"


def test_calls_from_threads_run_at_once_and_are_told_apart() -> None:
    """Short-cut: one pipe for all."""
    with ThreadPoolExecutor(8) as threads:
        answers = threads.map(lambda n: starlark(f"print({n})")["log"], range(24))
        assert list(answers) == [[str(n)] for n in range(24)]


def test_a_helper_that_ended_is_replaced() -> None:
    starlark("print(1)")
    [idle] = calls._idle
    idle._process.kill()
    idle._process.wait()
    assert starlark("print(2)")["log"] == ["2"]


def test_a_helper_that_ends_in_a_call_is_told_and_replaced() -> None:
    starlark("print(1)")
    [idle] = calls._idle
    with _killed_in_its_call(idle._process), pytest.raises(BrokenError, match="its helper ended"):
        starlark(FOR_EVER, seconds=60)
    assert starlark("print(2)")["log"] == ["2"]


def test_the_call_ends_with_its_helper() -> None:
    starlark("print(1)")
    [idle] = calls._idle
    with _killed_in_its_call(idle._process) as children, pytest.raises(BrokenError):
        starlark(FOR_EVER, seconds=60)
    [child] = children
    end = time.monotonic() + 60
    while not _gone(child) and time.monotonic() < end:
        time.sleep(0.02)
    assert _gone(child)


def test_a_call_that_has_just_begun_ends_with_its_helper() -> None:
    """Short-cut: ask to end with the helper, which has ended before."""
    helper_ended = os.getpid() + 1  # nobody's parent
    read, write = os.pipe()
    said, words = os.pipe()
    child = os.fork()
    if child == 0:
        engine = import_module(helper.ENGINES["starlark"])
        payload = {"name": "t", "source": "", "resource_list": {"items": []}, "environment": {}}
        head = {"seconds": 60, "memory_bytes": 1024 * MIB}
        helper._call(engine, head, json.dumps(payload).encode(), None, write, words, helper_ended)
    os.close(write)
    os.close(words)
    os.waitpid(child, 0)
    answer = os.read(read, 1000)
    os.close(read)
    os.close(said)
    assert answer == b""


@contextmanager
def _killed_in_its_call(helper: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """Kill a helper once the process of its call is there; gives the number of that one."""
    children: list[int] = []

    def kill() -> None:
        end = time.monotonic() + 60
        while not children and time.monotonic() < end:
            time.sleep(0.02)
            children.extend(_children(helper.pid))
        helper.kill()

    killing = threading.Thread(target=kill)
    killing.start()
    yield children
    killing.join()


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(each) for each in text.split()]


def _gone(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return True
    return text.rpartition(")")[2].split()[0] == "Z"


def test_nothing_of_the_environment_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short-cut: start the helper like any other program."""
    monkeypatch.setenv("SECRET_OF_THE_RUNNER", "s3cret")
    starlark("print(1)")
    [idle] = calls._idle
    environment = Path(f"/proc/{idle._process.pid}/environ").read_bytes()
    assert environment == b"GOTRACEBACK=none\0"


def _in_a_shut_process(act: str) -> str:
    """Do something in a process that is shut like that of a call; return what came of it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        said = "nothing"
        try:
            fence.leave_network()
            fence.shut(fence.empty_root())
            said = repr(eval(act))
        except BaseException as error:
            said = type(error).__name__
        finally:
            os.write(write, said.encode())
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    said = os.read(read, 1000).decode()
    os.close(read)
    return said


OUT_OF_REACH = {
    "a socket": ("__import__('socket').socket()", r"PermissionError"),
    "a program": ("os.execv('/bin/true', ['true'])", r"PermissionError|FileNotFoundError"),
    "another process": ("os.kill(os.getppid(), 0)", r"PermissionError"),
    "a network device": ("__import__('socket').if_nameindex()", r"PermissionError|OSError"),
}
AS_ROOT_TOO = {
    "a file": ("open('/etc/passwd')", r"FileNotFoundError|PermissionError"),
    "what is in the root": ("os.listdir('/')", r"\[\]|PermissionError"),
    "being root": ("os.setuid(0)", r"PermissionError"),
}


@pytest.mark.skipif(
    __import__("platform").machine() not in fence._REFUSED, reason="another processor"
)
@pytest.mark.parametrize(("act", "said"), OUT_OF_REACH.values(), ids=OUT_OF_REACH)
def test_out_of_reach(act: str, said: str) -> None:
    assert re.fullmatch(said, _in_a_shut_process(act))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs the privileges of root to change the root")
@pytest.mark.parametrize(("act", "said"), AS_ROOT_TOO.values(), ids=AS_ROOT_TOO)
def test_out_of_reach_of_what_root_started(act: str, said: str) -> None:
    assert re.fullmatch(said, _in_a_shut_process(act))


def test_a_forked_process_starts_helpers_of_its_own() -> None:
    """Short-cut: share the pipes with the process that was forked."""
    starlark("print(1)")
    [idle] = calls._idle
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = "nothing"
            mine = calls._idle[:]
            said = f"{len(mine)} {starlark('print(2)')['log']} {idle not in calls._idle}"
        finally:
            calls.end()
            os.write(write, said.encode())
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    told = os.read(read, 1000)
    os.close(read)
    assert told == b"0 ['2'] True"
    assert starlark("print(3)")["log"] == ["3"]


def test_every_engine_is_there() -> None:
    assert set(helper.ENGINES) == {"starlark", "rego"}
