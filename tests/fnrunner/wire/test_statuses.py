"""Errors as statuses and back: over a real channel, whatever a runner answers arrives the same."""

import asyncio
from collections.abc import Mapping
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc.error_details_pb2 import (  # type: ignore[import-untyped] # it comes without types
    ErrorInfo,
    RetryInfo,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fnrunner.contract import results
from fnrunner.contract.errors import (
    FunctionFailedError,
    FunctionNotFoundError,
    FunctionRefusedError,
    FunctionStoppedError,
    FunctionTimeoutError,
    FunctionUnavailableError,
    MessageTooLargeError,
    ResourcesRefusedError,
    RunnerBrokenError,
    RunnerBusyError,
)
from fnrunner.contract.run import CallLimits, FunctionOutcome
from fnrunner.wire import shared as wire
from fnrunner.wire import statuses
from fnrunner.wire.client import Client
from fnrunner.wire.server import listening

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
RESULT = st.fixed_dictionaries(
    {"message": TEXT},
    optional={
        "severity": st.sampled_from(["error", "warning", "info"]),
        "field": st.fixed_dictionaries({"path": TEXT, "currentValue": TEXT}),
        "file": st.fixed_dictionaries({"path": TEXT, "index": st.integers(0, 99)}),
    },
)
SUCCESSES = st.builds(FunctionOutcome, st.binary(max_size=200), log=TEXT, digest=TEXT)
SECONDS = st.floats(0.001, 1e6)
SIZE = st.none() | st.integers(0, 2**40)
ERRORS: st.SearchStrategy[Exception] = st.one_of(
    st.builds(FunctionNotFoundError, TEXT, st.lists(TEXT, max_size=5)),
    st.builds(FunctionFailedError, TEXT, TEXT),
    st.builds(FunctionRefusedError, TEXT, TEXT, TEXT),
    st.builds(FunctionUnavailableError, TEXT, TEXT, TEXT, passing=st.booleans()),
    st.builds(FunctionStoppedError, TEXT, TEXT, TEXT, TEXT),
    st.builds(FunctionTimeoutError, TEXT, SECONDS, TEXT),
    st.builds(MessageTooLargeError, TEXT, SIZE, SIZE),
    st.builds(ResourcesRefusedError, TEXT, TEXT),
    st.builds(RunnerBrokenError, TEXT, TEXT),
    st.builds(RunnerBusyError, TEXT, TEXT, SECONDS),
)


@st.composite
def failures(draw: st.DrawFn) -> FunctionOutcome:
    found = tuple(draw(st.lists(RESULT, max_size=4)))
    return FunctionOutcome(
        draw(st.just(b"")) if not found else results.resource_list(found),
        log=draw(TEXT),
        failed=True,
        results=found,
        digest=draw(TEXT),
        exit_code=draw(st.integers(1, 255)),
    )


class Told:
    """A runner that does what it was told last."""

    does: FunctionOutcome | Exception = FunctionOutcome(b"")

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        if isinstance(self.does, Exception):
            raise self.does
        return self.does


def test_whatever_a_runner_answers_arrives_the_same() -> None:
    """Short-cut: carry the classes of errors, and make up what they had to say."""
    told = Told()
    loop = asyncio.Runner()

    @settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
    @given(st.one_of(SUCCESSES, failures(), ERRORS))
    def arrives(does: FunctionOutcome | Exception) -> None:
        told.does = does
        assert same(loop.run(ask())) == same(does)

    async def ask() -> FunctionOutcome | Exception:
        try:
            return await client.run("f", b"")
        except Exception as error:
            return error

    with loop:
        serving = listening("127.0.0.1:0", told, CallLimits())
        client = Client(loop.run(serving.__aenter__()), patience=0)
        try:
            assert loop.run(client.is_ready(60))  # connected
            arrives()
        finally:
            loop.run(client.close())
            loop.run(serving.__aexit__(None, None, None))


def same(what: FunctionOutcome | Exception) -> object:
    """What two outcomes or errors have in common if they are the same."""
    if isinstance(what, FunctionOutcome):
        return what
    return type(what), str(what), vars(what)


@given(st.text(max_size=400), st.sampled_from(["", "a" * 1022, "%" * 340, "ä" * 170]))
def test_a_message_fits_into_a_header_as_it_is_written_there(end: str, start: str) -> None:
    """Short-cut: count characters; in a header all but plain ones take three times the bytes."""
    for limit in (1024, 4608, 1024 * 1024):
        text = statuses.message(start + end, limit)
        in_header = sum(
            1 if 0x20 <= byte < 0x7F and byte != ord("%") else 3 for byte in text.encode()
        )
        whole = (start + end).encode(errors="replace").decode()
        assert in_header <= min(1024, limit // 4)
        assert text == whole or (text.endswith("...") and whole.startswith(text[:-3]))


def test_every_error_travels() -> None:
    """A new kind of error needs a form; without one it would read as a bug."""
    base: Any = FunctionNotFoundError.__mro__[1]
    kinds = {*base.__subclasses__()} - {FunctionTimeoutError}

    assert len(kinds) > 3
    assert [kind for kind in kinds if not statuses.knows(kind.__new__(kind))] == []


def status(
    code: grpc.StatusCode, text: str = "words", *details: Any, metadata: bytes | None = None
) -> grpc.aio.AioRpcError:
    packed = wire.status(code.value[0], text, *details) if metadata is None else metadata
    trailing = grpc.aio.Metadata((wire.DETAILS_KEY, packed)) if packed else grpc.aio.Metadata()
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, text, None)


def read(given: grpc.aio.AioRpcError) -> str:
    found = statuses.error(given, "f", seconds=3, where="runner x")
    return f"{type(found).__name__}: {found}"


CODE = grpc.StatusCode
WORDS: Mapping[grpc.StatusCode, str] = {
    CODE.NOT_FOUND: 'FunctionNotFoundError: function "f": no runner provides it.',
    CODE.DEADLINE_EXCEEDED: 'FunctionTimeoutError: function "f": it did not finish within 3 sec',
    CODE.RESOURCE_EXHAUSTED: 'MessageTooLargeError: function "f": the resources take more than is',
    CODE.INVALID_ARGUMENT: 'ResourcesRefusedError: function "f": its input is not',
    CODE.PERMISSION_DENIED: 'FunctionRefusedError: function "f": words. Ask an operator',
    CODE.UNAUTHENTICATED: 'FunctionRefusedError: function "f": words. Ask an operator',
    CODE.FAILED_PRECONDITION: 'FunctionUnavailableError: function "f": words. Ask an operator',
    CODE.UNAVAILABLE: "RunnerBusyError: runner x: words. Try again in 1 seconds.",
    CODE.CANCELLED: "RunnerBusyError: runner x: words. Try again in 1 seconds.",
    CODE.INTERNAL: 'FunctionFailedError: function "f": it failed without results: words.',
    CODE.ABORTED: 'FunctionFailedError: function "f": it failed without results: words.',
    CODE.UNKNOWN: "RunnerBrokenError: runner x: words. See the runner's log.",
    CODE.UNIMPLEMENTED: "RunnerBrokenError: runner x: words. See the runner's log.",
    CODE.DATA_LOSS: "RunnerBrokenError: runner x: words. See the runner's log.",
}


@pytest.mark.parametrize(("code", "wanted"), WORDS.items(), ids=lambda value: str(value)[:30])
def test_a_status_with_words_only(code: grpc.StatusCode, wanted: str) -> None:
    assert read(status(code, metadata=b"")).startswith(wanted)


def test_a_stream_that_was_reset_is_no_failed_function() -> None:
    reset = status(CODE.INTERNAL, "Received RST_STREAM with error code 2", metadata=b"")
    assert read(reset).startswith("RunnerBrokenError: ")


def test_another_server_that_says_when_to_come_back_is_busy() -> None:
    """Short-cut: know this from our own detail only."""
    retry = RetryInfo()
    retry.retry_delay.FromMilliseconds(250)
    found = statuses.error(
        status(CODE.RESOURCE_EXHAUSTED, "quota", retry), "f", seconds=3, where="runner x"
    )
    assert isinstance(found, RunnerBusyError)
    assert str(found) == "runner x: quota. Try again in 0.25 seconds."


BROKEN = {
    "another's domain": ErrorInfo(reason="FUNCTION_STOPPED", domain="example.com"),
    "a reason of tomorrow": ErrorInfo(reason="FUNCTION_MOVED", domain="porchbot"),
    "a field is missing": ErrorInfo(reason="FUNCTION_STOPPED", domain="porchbot"),
    "a field is no number": ErrorInfo(
        reason="FUNCTION_TIMEOUT", domain="porchbot", metadata={"image": "f", "seconds": "soon"}
    ),
    "a field is not a number": ErrorInfo(
        reason="FUNCTION_TIMEOUT", domain="porchbot", metadata={"image": "f", "seconds": "NaN"}
    ),
    "a field is endless": ErrorInfo(
        reason="MESSAGE_TOO_LARGE",
        domain="porchbot",
        metadata={"image": "f", "size_bytes": "1e999", "limit_bytes": "1"},
    ),
    "a field is larger than any time": ErrorInfo(
        reason="FUNCTION_TIMEOUT",
        domain="porchbot",
        metadata={"image": "f", "seconds": "1" + "0" * 400},
    ),
    "a field is a list": ErrorInfo(
        reason="FUNCTION_TIMEOUT", domain="porchbot", metadata={"image": "f", "seconds": "[1]"}
    ),
    "a field is a number": ErrorInfo(
        reason="FUNCTION_NOT_FOUND", domain="porchbot", metadata={"image": "f", "there": "1"}
    ),
    "nested too deep": ErrorInfo(
        reason="FUNCTION_NOT_FOUND",
        domain="porchbot",
        metadata={"image": "f", "there": "[" * 100_000},
    ),
}


@pytest.mark.parametrize("info", BROKEN.values(), ids=BROKEN)
def test_details_that_cannot_be_used_count_as_none(info: Any) -> None:
    assert read(status(CODE.NOT_FOUND, "words", info)).startswith("FunctionNotFoundError: ")


def test_details_that_are_garbage_count_as_none() -> None:
    assert read(status(CODE.NOT_FOUND, metadata=b"\xff\xff")).startswith("FunctionNotFoundError: ")
