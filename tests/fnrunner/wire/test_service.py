"""The wire as Porch speaks it, and what porchbot adds to it.

Longer than 400 lines: one service, in the order of its rules.
"""

import asyncio
import logging
import re
import string
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc
import grpc.aio
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.rpc.error_details_pb2 import (  # type: ignore[import-untyped] # it comes without types
    ErrorInfo,
    RetryInfo,
)
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from grpc_status import rpc_status

from cadlib.stream import resourcelist
from fnrunner.choose import runners
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
from fnrunner.contract.run import CALL, CallContext, CallLimits, FunctionOutcome, Runner
from fnrunner.settings import read
from fnrunner.wire import shared as wire
from fnrunner.wire import statuses
from fnrunner.wire.client import Client
from fnrunner.wire.proto import evaluator_pb2
from fnrunner.wire.proto.evaluator_pb2 import EvaluateFunctionResponse as Response
from fnrunner.wire.server import listening
from fnrunner.wire.service import failure
from tests.fnrunner.calls import items, values
from tests.fnrunner.serving import serving

METHOD = "/evaluator.FunctionEvaluator/EvaluateFunction"


class Fixed:
    """A runner that always does the same."""

    def __init__(self, does: FunctionOutcome | Exception) -> None:
        self._does = does

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        if isinstance(self._does, Exception):
            raise self._does
        return self._does


@asynccontextmanager
async def channel(
    folder: Path, runner: Runner | None = None, limits: CallLimits | None = None
) -> AsyncIterator[grpc.aio.Channel]:
    """A runner, and a channel to it with gRPC's own settings."""
    limits = limits or CallLimits()
    async with serving(f"unix:{folder}/s", limits, runner) as address:
        size = limits.message_bytes * 2
        options = [("grpc.max_send_message_length", size)]
        async with grpc.aio.insecure_channel(address, options=options) as opened:
            yield opened


async def call(
    opened: grpc.aio.Channel, image: str, resources: bytes = b""
) -> evaluator_pb2.EvaluateFunctionResponse:
    request = evaluator_pb2.EvaluateFunctionRequest(image=image, resource_list=resources)
    return await wire.evaluator(opened)(request, timeout=60)


def pods(count: int = 1) -> bytes:
    text = "---\n".join(
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p{i}}}\nspec: {{containers: {i}}}\n"
        for i in range(count)
    )
    return resourcelist.encode(items(text), values("apiVersion: v1\nkind: ConfigMap\ndata: {}")[0])


async def test_the_method_and_the_fields_are_porchs(tmp_path: Path) -> None:
    """Short-cut: trust our own generated code on both ends."""
    image = b"set-annotations"
    listed = b"kind: ResourceList\napiVersion: config.kubernetes.io/v1\nitems: []\n"
    # Field 1: resource_list, field 2: image, both length-delimited.
    request = bytes([0x0A, len(listed)]) + listed + bytes([0x12, len(image)]) + image
    async with channel(tmp_path) as opened:
        raw = opened.unary_unary(METHOD, request_serializer=None, response_deserializer=None)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await raw(request, timeout=60)
    assert caught.value.code() is grpc.StatusCode.INTERNAL
    assert "must be a `ConfigMap`" in (caught.value.details() or "")


async def test_the_answer_has_the_list_in_field_one_and_the_log_in_field_two(
    tmp_path: Path,
) -> None:
    async with channel(tmp_path, Fixed(FunctionOutcome(b"kind: R", log="hint"))) as opened:
        raw = opened.unary_unary(METHOD, request_serializer=None, response_deserializer=None)
        assert await raw(b"", timeout=60) == b"\x0a\x07kind: R\x12\x04hint"


@pytest.mark.parametrize(
    "image", ["", "render-helm-chart:v0.2", "registry.corp/set-labels:v9", "x@sha256:1"]
)
async def test_an_unknown_function_is_not_found_in_porchs_words(tmp_path: Path, image: str) -> None:
    async with channel(tmp_path) as opened:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(opened, image)
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    assert caught.value.details() == f'function "{image}" not found'


CODES: dict[Exception, tuple[grpc.StatusCode, str]] = {
    FunctionTimeoutError("f", 2): (grpc.StatusCode.DEADLINE_EXCEEDED, ""),
    FunctionStoppedError("f", "memory", "512 MiB", "513 MiB"): (grpc.StatusCode.ABORTED, ""),
    FunctionRefusedError("f", "no", "Ask"): (grpc.StatusCode.PERMISSION_DENIED, ""),
    FunctionUnavailableError("f", "gone", "Look"): (grpc.StatusCode.FAILED_PRECONDITION, ""),
    FunctionUnavailableError("f", "slow", "Wait", passing=True): (grpc.StatusCode.UNAVAILABLE, ""),
    MessageTooLargeError("f", 9, 8): (grpc.StatusCode.RESOURCE_EXHAUSTED, ""),
    ResourcesRefusedError("f", "no list"): (grpc.StatusCode.INVALID_ARGUMENT, ""),
    RunnerBusyError("f", "full", 1): (grpc.StatusCode.RESOURCE_EXHAUSTED, ""),
    RunnerBrokenError("f", "a pod's runner has a bug"): (grpc.StatusCode.INTERNAL, ""),
    FunctionNotFoundError('a"f', ["b"]): (
        grpc.StatusCode.NOT_FOUND,
        'function "a\\"f" not found',
    ),
    FunctionFailedError("f", "boom"): (
        grpc.StatusCode.INTERNAL,
        'Failed to execute function "f": boom',
    ),
    FunctionFailedError("f", 'failed to evaluate function "f" with structured results: a'): (
        grpc.StatusCode.INTERNAL,
        'failed to evaluate function "f" with structured results: a',
    ),
}


@pytest.mark.parametrize(("error", "wanted"), CODES.items(), ids=lambda value: type(value).__name__)
async def test_each_error_has_its_status(
    tmp_path: Path, error: Exception, wanted: tuple[grpc.StatusCode, str]
) -> None:
    async with channel(tmp_path, Fixed(error)) as opened:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(opened, "f")
    code, text = wanted
    assert (caught.value.code(), caught.value.details()) == (code, text or str(error))


async def test_who_is_to_come_back_is_told_when(tmp_path: Path) -> None:
    """Short-cut: RESOURCE_EXHAUSTED alone, which reads like a message that is too large."""
    async with channel(tmp_path, Fixed(RunnerBusyError("f", "full", 0.25))) as opened:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(opened, "f")
    retry = wire.detail(caught.value.trailing_metadata(), RetryInfo)
    assert retry is not None
    assert retry.retry_delay.ToTimedelta() == timedelta(seconds=0.25)


@pytest.mark.parametrize("text", ["x", "\u00e4", "\n", "%", "\U0001f600", "\ud800"])
async def test_an_error_of_any_length_fits_a_client_with_usual_limits(
    tmp_path: Path, text: str
) -> None:
    """Short-cut: send the words as they are; gRPC refuses headers from 8 KiB on."""
    errors = [
        FunctionFailedError(text * 100_000, text * 1_000_000),
        FunctionNotFoundError("f", [text * 100 + str(number) for number in range(1000)]),
        FunctionStoppedError("f", text * 9000, text * 9000, text * 9000),
    ]
    for error in errors:
        async with channel(tmp_path, Fixed(error)) as opened:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(opened, "f")
        info = wire.detail(caught.value.trailing_metadata(), ErrorInfo)
        assert info is not None
        assert info.reason == statuses.reason(error)
        assert len(quote(caught.value.details() or "", safe=string.printable[:95])) <= 1024


async def test_what_a_function_wrote_need_not_be_text(tmp_path: Path) -> None:
    for outcome in (
        FunctionOutcome(b"", log="\ud800"),
        FunctionOutcome(b"", log="\udcff", failed=True),
    ):
        async with (
            channel(tmp_path, Fixed(outcome)),
            Client(f"unix:{tmp_path}/s", patience=60) as client,
        ):
            assert (await client.run("f", b"")).log == "?"


class Asked:
    """A runner that keeps how long it was given."""

    def __init__(self) -> None:
        self.seconds: list[float | None] = []

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        self.seconds.append(seconds)
        return FunctionOutcome(b"")


async def test_a_callers_deadline_is_the_functions(tmp_path: Path) -> None:
    """Short-cut: let the function run on for as long as the runner allows anybody."""
    asked = Asked()
    async with channel(tmp_path, asked) as opened:
        evaluate = wire.evaluator(opened)
        request = evaluator_pb2.EvaluateFunctionRequest(image="f")
        await evaluate(request)
        await evaluate(request, timeout=2000)
        for said in ("7.5", "nan", "-1", "x", "1e9", "9" * 5000):
            await evaluate(request, timeout=10_000, metadata=((wire.SECONDS_KEY, said),))
        usually = CallLimits(seconds=3000)
        async with Client(f"unix:{tmp_path}/s", usually, patience=60) as client:
            await client.run("f", b"", seconds=1200)
            await client.run("f", b"")
    unlimited, foreign, told, *bad, ours, usual = asked.seconds
    assert unlimited is None
    assert foreign is not None
    assert 1000 < foreign < 2000
    assert told == 7.5
    assert [each is not None and 9000 < each < 10_000 for each in bad] == [True] * 5
    assert ours is not None
    assert 600 < ours <= 1200
    assert usual is not None
    assert 1500 < usual <= 3000


class Sleeper:
    """A runner that sleeps until it is stopped."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.stopped = asyncio.Event()

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        self.began.set()
        try:
            await asyncio.sleep(600)
        finally:
            self.stopped.set()
        return FunctionOutcome(b"")


@pytest.mark.parametrize("how", ["deadline", "cancelled", "connection closed"])
async def test_a_function_stops_when_its_caller_is_gone(tmp_path: Path, how: str) -> None:
    """Short-cut: finish it, and throw its answer away."""
    sleeper = Sleeper()
    async with channel(tmp_path, sleeper) as opened:
        request = evaluator_pb2.EvaluateFunctionRequest(image="f")
        await opened.channel_ready()  # so that the deadline is the function's alone
        for seconds in (2, 8, 30) if how == "deadline" else (600,):
            calling = wire.evaluator(opened)(request, timeout=seconds)
            with suppress(TimeoutError):  # on a busy machine it may be over before it begins
                await asyncio.wait_for(sleeper.began.wait(), seconds)
                break
        if how == "cancelled":
            calling.cancel()
        if how == "connection closed":
            await opened.close(None)
        await asyncio.wait_for(sleeper.stopped.wait(), 120)


async def test_what_ran_is_told_beside_the_answer(tmp_path: Path) -> None:
    for failed in (False, True):
        outcome = FunctionOutcome(
            b"", digest="builtin:set-labels@v0.2 \u00e4", failed=failed, exit_code=3 * failed
        )
        async with channel(tmp_path, Fixed(outcome)) as opened:
            calling = wire.evaluator(opened)(evaluator_pb2.EvaluateFunctionRequest(image="f"))
            await asyncio.wait([asyncio.ensure_future(calling.wait_for_connection())])
            trailing = await calling.trailing_metadata()
        assert wire.text(trailing, "porchbot-function-digest") == "builtin:set-labels@v0.2%20%C3%A4"
        assert wire.text(trailing, "porchbot-function-exit-code") == ("3" if failed else "")


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
async def test_services_and_messages_are_described(tmp_path: Path, version: str) -> None:
    """Short-cut: the library's, which newer clients do not ask for."""
    method = f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
    request = reflection_pb2.ServerReflectionRequest
    asked = [request(list_services=""), request(file_containing_symbol=METHOD[1:].split("/")[0])]
    async with channel(tmp_path) as opened:
        ask = opened.stream_stream(
            method,
            request_serializer=request.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )
        listed, described = [answer async for answer in ask(iter(asked))]
    assert {each.name for each in listed.list_services_response.service} == {
        "evaluator.FunctionEvaluator",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
    }
    file = FileDescriptorProto.FromString(
        described.file_descriptor_response.file_descriptor_proto[0]
    )
    assert [message.name for message in file.message_type] == [
        "EvaluateFunctionRequest",
        "ConfigMap",
        "EvaluateFunctionResponse",
    ]


async def test_a_bug_is_logged_under_an_id_and_not_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Short-cut: send the traceback, or the words of the exception, to the caller."""
    async with channel(tmp_path, Fixed(KeyError("secret"))) as opened:
        with caplog.at_level(logging.ERROR), pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(opened, "f")
    text = caught.value.details() or ""
    assert caught.value.code() is grpc.StatusCode.INTERNAL
    found = re.match(r'function "f": the runner has a bug, id (\w+)\. See', text)
    assert found is not None
    assert "secret" not in text
    assert found[1] in caplog.text
    assert caplog.records[-1].exc_info is not None


async def test_resources_that_are_no_list_are_refused(tmp_path: Path) -> None:
    async with channel(tmp_path) as opened:
        for data in (b"", b"kind: Pod", b"{", b"\xff"):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(opened, "set-labels", data)
            assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_messages_are_limited(tmp_path: Path) -> None:
    async with channel(tmp_path, limits=CallLimits(message_bytes=10_000)) as opened:
        for size in (10_001, 20_000):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(opened, "set-labels", b"x" * size)
            assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_porchs_limit_is_the_usual_one() -> None:
    assert CallLimits().message_bytes == 6_291_456


async def test_a_failed_function_leaves_its_results_in_the_status(tmp_path: Path) -> None:
    """Short-cut: Porch's, which drops them."""
    async with channel(tmp_path) as opened:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(opened, "kubeconform", pods())
    error = caught.value
    assert error.code() is grpc.StatusCode.INTERNAL
    assert error.details() == (
        'Failed to execute function "kubeconform": exit status 1 (got number, want array)'
    )
    anyones: Any = error
    assert rpc_status.from_call(anyones).message == error.details()
    response = wire.detail(error.trailing_metadata(), Response)
    assert response is not None
    listed = resourcelist.decode(response.resource_list)
    assert [result["field"] for result in listed.results] == [{"path": "spec.containers"}]
    assert len(listed.items) == 1
    assert response.log == b"failed to evaluate function: error: function failure"


async def test_a_client_with_usual_limits_can_take_any_failure(tmp_path: Path) -> None:
    """Short-cut: put everything into the status, which gRPC's client then refuses as too large."""
    async with channel(tmp_path) as opened:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(opened, "kubeconform", pods(500))
    assert caught.value.code() is grpc.StatusCode.INTERNAL
    response = wire.detail(caught.value.trailing_metadata(), Response)
    assert response is not None
    results = resourcelist.decode(response.resource_list).results
    assert len(results) > 10
    assert results[-1] == {
        "message": f"{501 - len(results)} more results do not fit into the response",
        "severity": "error",
    }


@pytest.mark.parametrize("limit", [1024, 2000, 4096, 6144, 100_000])
@pytest.mark.parametrize("count", [0, 1, 2, 30, 400])
def test_the_status_keeps_within_its_limit(limit: int, count: int) -> None:
    results = tuple(
        {"message": f"n\u00e4h {i} \U0001f600", "severity": "error"} for i in range(count)
    )
    outcome = FunctionOutcome(
        b"x" * 50 * (count + 1), log="l\u00f6g" * count, failed=True, results=results
    )
    refusal = failure("f", outcome, limit)
    assert len(refusal.details) <= limit
    assert len(refusal.message.encode()) <= 1024
    response = wire.detail([(wire.DETAILS_KEY, refusal.details)], Response)
    assert response is not None
    if not response.resource_list.startswith(b"x"):
        kept = resourcelist.decode(response.resource_list).results
        assert list(kept[:-1]) == list(results[: len(kept) - 1])


@pytest.mark.parametrize("service", ["", "evaluator.FunctionEvaluator", "anything"])
async def test_health_is_served_for_any_name(tmp_path: Path, service: str) -> None:
    async with channel(tmp_path) as opened:
        stub = health_pb2_grpc.HealthStub(opened)
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=60)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


async def test_watching_health_tells_of_the_end(tmp_path: Path) -> None:
    seen: list[int] = []
    first = asyncio.Event()

    async def watch(opened: grpc.aio.Channel) -> None:
        stub = health_pb2_grpc.HealthStub(opened)
        async for answer in stub.Watch(health_pb2.HealthCheckRequest()):
            seen.append(answer.status)
            first.set()

    limits = CallLimits()
    async with grpc.aio.insecure_channel(f"unix:{tmp_path}/s") as opened:
        async with serving(f"unix:{tmp_path}/s", limits):
            watching = asyncio.ensure_future(watch(opened))
            await asyncio.wait_for(first.wait(), 60)
        await asyncio.wait_for(watching, 60)
    status = health_pb2.HealthCheckResponse
    assert seen == [status.SERVING, status.NOT_SERVING]


@pytest.mark.parametrize("value", [b"\xff\xff", b"", "text"])
def test_details_that_are_not_ours_count_as_none(value: bytes | str) -> None:
    assert wire.detail([("other", b""), (wire.DETAILS_KEY, value)], Response) is None
    assert wire.detail(None, Response) is None


ENDLESS = """
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: []
functionConfig:
  apiVersion: fn.kpt.dev/v1alpha1
  kind: StarlarkRun
  metadata: {name: endless}
  source: |
    def spin(number):
      for a in range(1000000):
        for b in range(1000000):
          number += 1
    spin(%d)
"""


@pytest.mark.parametrize("apart", ["function", "caller"])
async def test_endless_scripts_leave_turns_and_places_for_others(
    tmp_path: Path, apart: str
) -> None:
    """Short-cut: one queue for all, first come, first served."""
    calls = b"calls: {running: 1, waiting: 4, time: 600s}"
    settings = read(b"{version: 1, runtimes: [builtin], %b}" % calls, "")
    async with (
        runners(settings) as guarded,
        listening(f"unix:{tmp_path}/s", guarded, settings.limits, grace=0.0) as address,
        Client(address, CallLimits(seconds=600), patience=0.0) as client,
    ):
        assert await client.is_ready(60)  # connected
        scripts = [
            asyncio.create_task(client.run("starlark:v0.5", (ENDLESS % number).encode()))
            for number in range(20)
        ]
        while not any(each.done() for each in scripts):  # the queue is full
            await asyncio.sleep(0.01)
        if apart == "caller":
            CALL.set(CallContext("alice"))
            short = (ENDLESS % 1).replace("spin(1)", "").encode()
            outcome = await client.run("starlark:v0.5", short, seconds=300)
        else:
            outcome = await client.run("no-op", pods(), seconds=300)
        ended = [each for each in scripts if each.done()]
        for each in scripts:
            each.cancel()
        found = await asyncio.gather(*scripts, return_exceptions=True)

    assert not outcome.failed, outcome
    assert all(isinstance(each.exception(), RunnerBusyError) for each in ended)
    assert sum(isinstance(each, asyncio.CancelledError) for each in found) >= 4
