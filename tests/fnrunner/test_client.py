"""The client: outcomes and errors as the runner meant them, and a runner that goes and comes."""

import asyncio
import time
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from cadlib import resourcelist
from fnrunner import choose, wire
from fnrunner.client import Client
from fnrunner.errors import (
    FunctionFailedError,
    FunctionNotFoundError,
    FunctionTimeoutError,
    MessageTooLargeError,
    ResourcesRefusedError,
    RunnerBrokenError,
    RunnerBusyError,
)
from fnrunner.proto import evaluator_pb2, evaluator_pb2_grpc
from fnrunner.run import Limits, Outcome
from fnrunner.serve import listening
from fnrunner.service import Health
from tests.fnrunner.calls import items, values
from tests.fnrunner.test_service import Fixed, pods

LIMITS = Limits()
LABELS = values("apiVersion: v1\nkind: ConfigMap\ndata: {tier: web}")[0]
POD = resourcelist.encode(items("apiVersion: v1\nkind: Pod\nmetadata: {name: a}"), LABELS)


@pytest.mark.parametrize("kind", ["unix", "tcp"])
async def test_a_function_runs_there(tmp_path: Path, kind: str) -> None:
    address = f"unix:{tmp_path}/s" if kind == "unix" else "127.0.0.1:0"
    async with (
        listening(address, choose.runner(LIMITS), LIMITS) as bound,
        Client(bound) as client,
    ):
        assert await client.is_ready()
        outcome = await client.run("set-labels", POD)
    listed = resourcelist.decode(outcome.resources)
    assert not outcome.failed
    assert [item.value for item in listed.items] == values(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {tier: web}}"
    )
    assert list(listed.results) == [{"message": "set 1 labels in total", "severity": "info"}]


async def test_all_results_of_a_failed_function_arrive(tmp_path: Path) -> None:
    """Short-cut: rely on gRPC's usual 8 KiB for headers."""
    count = 1000
    async with (
        listening(f"unix:{tmp_path}/s", choose.runner(LIMITS), LIMITS) as address,
        Client(address) as client,
    ):
        outcome = await client.run("kubeconform", pods(count))
    assert outcome.failed
    assert len(outcome.results) == count
    assert outcome.results[7] == {
        "message": "got number, want array",
        "severity": "error",
        "resourceRef": {"apiVersion": "v1", "kind": "Pod", "name": "p7"},
        "field": {"path": "spec.containers"},
        "file": {"path": "resources.yaml", "index": 7},
    }
    assert outcome.log == "failed to evaluate function: error: function failure"


ERRORS = [
    FunctionNotFoundError("f"),
    FunctionTimeoutError("f", 30),
    FunctionFailedError("f", "boom"),
    ResourcesRefusedError("f", "no list"),
    RunnerBusyError("f", "full", 1),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_errors_arrive_as_they_were(tmp_path: Path, error: Exception) -> None:
    async with (
        listening(f"unix:{tmp_path}/s", Fixed(error), LIMITS) as address,
        Client(address, patience=0) as client,
    ):
        with pytest.raises(type(error)):
            await client.run("f", b"")


async def test_a_bug_of_the_runner_is_not_a_failed_function(tmp_path: Path) -> None:
    """Short-cut: take every INTERNAL for a function that failed."""
    async with (
        listening(f"unix:{tmp_path}/s", Fixed(KeyError("x")), LIMITS) as address,
        Client(address) as client,
    ):
        with pytest.raises(RunnerBrokenError, match=r"the runner has a bug, id \w+\. Look into"):
            await client.run("f", b"")


async def test_too_large_is_said_before_it_is_sent(tmp_path: Path) -> None:
    async with Client(f"unix:{tmp_path}/s", Limits(message_bytes=4)) as client:
        with pytest.raises(MessageTooLargeError):
            await client.run("f", b"12345")


async def test_an_answer_that_is_too_large(tmp_path: Path) -> None:
    small = Limits(message_bytes=10_000)
    large = Fixed(Outcome(b"x" * 20_000))
    async with (
        listening(f"unix:{tmp_path}/s", large, LIMITS) as address,
        Client(address, small) as client,
    ):
        with pytest.raises(MessageTooLargeError, match="more than is allowed"):
            await client.run("f", b"")


async def test_a_runner_that_is_not_there_is_busy(tmp_path: Path) -> None:
    async with Client(f"unix:{tmp_path}/s", patience=0.2) as client:
        assert not await client.is_ready(0.1)
        with pytest.raises(RunnerBusyError, match=r"Try again in 1 seconds\.$"):
            await client.run("f", b"")


async def test_a_runner_that_comes_late_or_again_is_found(tmp_path: Path) -> None:
    """Short-cut: fail at the first refused connection, or wait gRPC's two minutes."""
    address = f"unix:{tmp_path}/s"
    async with Client(address) as client:
        calling = asyncio.ensure_future(client.run("set-labels", POD))
        await asyncio.sleep(0.2)
        for _ in range(2):
            started = time.perf_counter()
            async with listening(address, choose.runner(LIMITS), LIMITS):
                assert not (await calling).failed
                assert time.perf_counter() - started < 3
            calling = asyncio.ensure_future(client.run("set-labels", POD))
            await asyncio.sleep(0.2)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)


async def test_a_runner_that_hangs(tmp_path: Path) -> None:
    class Stuck:
        async def run(
            self, image: str, resources: bytes, *, seconds: float | None = None
        ) -> Outcome:
            await asyncio.sleep(60)
            return Outcome(b"")

    async with (
        listening(f"unix:{tmp_path}/s", Stuck(), LIMITS) as address,
        Client(address, Limits(seconds=0.1)) as client,
    ):
        with pytest.raises(FunctionTimeoutError):
            await client.run("f", b"")


class Porch(evaluator_pb2_grpc.FunctionEvaluatorServicer):
    """Answers a failing function as Porch's runner does: in words only."""

    async def EvaluateFunction(  # noqa: N802 - the name on the wire
        self,
        request: evaluator_pb2.EvaluateFunctionRequest,
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> evaluator_pb2.EvaluateFunctionResponse:
        text = f'Failed to execute function "{request.image}": exit status 1 (bad label)'
        await context.abort(grpc.StatusCode.INTERNAL, text)
        return evaluator_pb2.EvaluateFunctionResponse()


async def test_a_failure_told_in_words_only(tmp_path: Path) -> None:
    server = grpc.aio.server()
    wire.serve(server, Porch(), Health())
    server.add_insecure_port(f"unix:{tmp_path}/s")
    await server.start()
    async with Client(f"unix:{tmp_path}/s") as client:
        with pytest.raises(FunctionFailedError) as caught:
            await client.run("f", b"")
    await server.stop(0)
    assert caught.value.log == 'Failed to execute function "f": exit status 1 (bad label)'
