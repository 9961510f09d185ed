"""The wire as Porch speaks it, and what porchbot adds to it."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from cadlib import resourcelist
from fnrunner import choose, wire
from fnrunner.errors import (
    FunctionFailedError,
    FunctionTimeoutError,
    ResourcesRefusedError,
    RunnerBusyError,
)
from fnrunner.proto import evaluator_pb2
from fnrunner.run import Limits, Outcome, Runner
from fnrunner.serve import listening
from fnrunner.service import failure
from tests.fnrunner.calls import items, values

METHOD = "/evaluator.FunctionEvaluator/EvaluateFunction"


class Fixed:
    """A runner that always does the same."""

    def __init__(self, does: Outcome | Exception) -> None:
        self._does = does

    async def run(self, image: str, resources: bytes, *, seconds: float | None = None) -> Outcome:
        if isinstance(self._does, Exception):
            raise self._does
        return self._does


@asynccontextmanager
async def channel(
    folder: Path, runner: Runner | None = None, limits: Limits | None = None
) -> AsyncIterator[grpc.aio.Channel]:
    """A runner, and a channel to it with gRPC's own settings."""
    limits = limits or Limits()
    runner = runner or choose.runner(limits)
    async with listening(f"unix:{folder}/s", runner, limits) as address:
        size = limits.message_bytes * 2
        options = [("grpc.max_send_message_length", size)]
        async with grpc.aio.insecure_channel(address, options=options) as opened:
            yield opened


async def call(
    opened: grpc.aio.Channel, image: str, resources: bytes = b""
) -> evaluator_pb2.EvaluateFunctionResponse:
    request = evaluator_pb2.EvaluateFunctionRequest(image=image, resource_list=resources)
    return await wire.evaluator(opened)(request, timeout=10)


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
            await raw(request, timeout=10)
    assert caught.value.code() is grpc.StatusCode.INTERNAL
    assert "must be a `ConfigMap`" in (caught.value.details() or "")


async def test_the_answer_has_the_list_in_field_one_and_the_log_in_field_two(
    tmp_path: Path,
) -> None:
    async with channel(tmp_path, Fixed(Outcome(b"kind: R", log="hint"))) as opened:
        raw = opened.unary_unary(METHOD, request_serializer=None, response_deserializer=None)
        assert await raw(b"", timeout=10) == b"\x0a\x07kind: R\x12\x04hint"


@pytest.mark.parametrize(
    "image", ["", "starlark:v0.5", "registry.corp/set-labels:v9", "x@sha256:1"]
)
async def test_an_unknown_function_is_not_found_in_porchs_words(tmp_path: Path, image: str) -> None:
    async with channel(tmp_path) as opened:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(opened, image)
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    assert caught.value.details() == f'function "{image}" not found'


ERRORS = [
    (FunctionTimeoutError("f", 2), grpc.StatusCode.DEADLINE_EXCEEDED),
    (RunnerBusyError("f", "full", 1), grpc.StatusCode.UNAVAILABLE),
    (FunctionFailedError("f", "boom"), grpc.StatusCode.INTERNAL),
    (ResourcesRefusedError("f", "no list"), grpc.StatusCode.INVALID_ARGUMENT),
]


@pytest.mark.parametrize(("error", "code"), ERRORS, ids=lambda value: type(value).__name__)
async def test_each_error_has_its_status(
    tmp_path: Path, error: Exception, code: grpc.StatusCode
) -> None:
    async with channel(tmp_path, Fixed(error)) as opened:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(opened, "f")
    assert (caught.value.code(), caught.value.details()) == (code, str(error))


async def test_a_bug_is_logged_under_an_id_and_not_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Short-cut: send the traceback, or the words of the exception, to the caller."""
    async with channel(tmp_path, Fixed(KeyError("secret"))) as opened:
        with caplog.at_level(logging.ERROR), pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(opened, "f")
    text = caught.value.details() or ""
    assert caught.value.code() is grpc.StatusCode.INTERNAL
    assert text.startswith('function "f": the runner has a bug, id ')
    assert "secret" not in text
    assert text.rpartition(" ")[2] in caplog.text
    assert caplog.records[-1].exc_info is not None


async def test_resources_that_are_no_list_are_refused(tmp_path: Path) -> None:
    async with channel(tmp_path) as opened:
        for data in (b"", b"kind: Pod", b"{", b"\xff"):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(opened, "set-labels", data)
            assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_messages_are_limited(tmp_path: Path) -> None:
    async with channel(tmp_path, limits=Limits(message_bytes=10_000)) as opened:
        for size in (10_001, 20_000):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(opened, "set-labels", b"x" * size)
            assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_porchs_limit_is_the_usual_one() -> None:
    assert Limits().message_bytes == 6_291_456


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
    response = wire.detail(error.trailing_metadata())
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
    response = wire.detail(caught.value.trailing_metadata())
    assert response is not None
    results = resourcelist.decode(response.resource_list).results
    assert len(results) > 10
    assert results[-1] == {
        "message": f"{501 - len(results)} more results do not fit into the answer",
        "severity": "error",
    }


@pytest.mark.parametrize("limit", [1024, 2000, 4096, 6144, 100_000])
@pytest.mark.parametrize("count", [0, 1, 2, 30, 400])
def test_the_status_keeps_within_its_limit(limit: int, count: int) -> None:
    results = tuple(
        {"message": f"n\u00e4h {i} \U0001f600", "severity": "error"} for i in range(count)
    )
    outcome = Outcome(b"x" * 50 * (count + 1), log="l\u00f6g" * count, failed=True, results=results)
    message, status = failure("f", outcome, limit)
    assert len(status) <= limit
    assert len(message.encode()) <= 1024
    response = wire.detail([(wire.DETAILS_KEY, status)])
    assert response is not None
    if not response.resource_list.startswith(b"x"):
        kept = resourcelist.decode(response.resource_list).results
        assert list(kept[:-1]) == list(results[: len(kept) - 1])


@pytest.mark.parametrize("service", ["", "evaluator.FunctionEvaluator", "anything"])
async def test_health_is_served_for_any_name(tmp_path: Path, service: str) -> None:
    async with channel(tmp_path) as opened:
        stub = health_pb2_grpc.HealthStub(opened)
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=10)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


async def test_watching_health_tells_of_the_end(tmp_path: Path) -> None:
    seen: list[int] = []
    first = asyncio.Event()

    async def watch(opened: grpc.aio.Channel) -> None:
        stub = health_pb2_grpc.HealthStub(opened)
        async for answer in stub.Watch(health_pb2.HealthCheckRequest()):
            seen.append(answer.status)
            first.set()

    limits = Limits()
    async with grpc.aio.insecure_channel(f"unix:{tmp_path}/s") as opened:
        async with listening(f"unix:{tmp_path}/s", choose.runner(limits), limits):
            watching = asyncio.ensure_future(watch(opened))
            await asyncio.wait_for(first.wait(), 10)
        await asyncio.wait_for(watching, 10)
    serving = health_pb2.HealthCheckResponse
    assert seen == [serving.SERVING, serving.NOT_SERVING]


@pytest.mark.parametrize("value", [b"\xff\xff", b"", "text"])
def test_details_that_are_not_ours_count_as_none(value: bytes | str) -> None:
    assert wire.detail([("other", b""), (wire.DETAILS_KEY, value)]) is None
    assert wire.detail(None) is None
