"""The client: outcomes and errors as the runner meant them, and a runner that goes and comes."""

import asyncio
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from cadlib.stream import resourcelist
from fnrunner.choose import QueueLimited
from fnrunner.contract.errors import (
    FunctionFailedError,
    FunctionNotFoundError,
    FunctionTimeoutError,
    MessageTooLargeError,
    RunnerBrokenError,
    RunnerBusyError,
)
from fnrunner.contract.run import CALL, CallContext, CallLimits, FunctionOutcome, Runner
from fnrunner.slots import most
from fnrunner.wire import shared as wire
from fnrunner.wire.client import Client
from fnrunner.wire.proto import evaluator_pb2, evaluator_pb2_grpc
from fnrunner.wire.server import listening
from fnrunner.wire.service import Health
from tests.fnrunner.calls import items, values
from tests.fnrunner.serving import serving
from tests.fnrunner.wire.test_service import Fixed, Sleeper, pods

LIMITS = CallLimits()
CATALOG = "ghcr.io/kptdev/krm-functions-catalog"
LABELS = values("apiVersion: v1\nkind: ConfigMap\ndata: {tier: web}")[0]
POD = resourcelist.encode(items("apiVersion: v1\nkind: Pod\nmetadata: {name: a}"), LABELS)


@pytest.mark.parametrize("kind", ["unix", "tcp"])
async def test_a_function_runs_there(tmp_path: Path, kind: str) -> None:
    address = f"unix:{tmp_path}/s" if kind == "unix" else "127.0.0.1:0"
    async with (
        serving(address, LIMITS) as bound,
        Client(bound, patience=60) as client,
    ):
        assert await client.is_ready(60)
        outcome = await client.run("set-labels", POD)
    listed = resourcelist.decode(outcome.resources)
    assert not outcome.failed
    assert [item.value for item in listed.items] == values(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {tier: web}}"
    )
    assert list(listed.results) == [{"message": "set 1 labels in total", "severity": "info"}]


async def test_what_a_name_means_is_told_and_nothing_runs(tmp_path: Path) -> None:
    """The short-cut runs the function on nothing, to see what answers."""
    impure = "functions: [{image: set-namespace, pure: false}]"
    async with (
        serving(f"unix:{tmp_path}/s", LIMITS, more=impure) as address,
        Client(address, patience=60) as client,
    ):
        assert await client.identity("set-labels") == (await client.run("set-labels", POD)).digest
        # It may answer otherwise the next time: nothing that it answered may be kept.
        assert await client.identity(f"{CATALOG}/set-namespace:v0.4") == ""
        with pytest.raises(FunctionNotFoundError, match="no-such"):
            await client.identity("no-such")


async def test_a_caller_with_a_long_name_is_served(tmp_path: Path) -> None:
    """The short-cut sends the name of a package as it is: gRPC refuses metadata above 8 KiB now and
    then, and above 16 KiB always, which reads as if its resources were too large."""
    async with (
        serving(f"unix:{tmp_path}/s", LIMITS) as address,
        Client(address, patience=60) as client,
    ):
        for length in (1, 2_500, 40_000):
            CALL.set(CallContext("\u200b" * length))
            assert not (await client.run("set-labels", POD)).failed


def test_callers_with_long_names_are_told_apart() -> None:
    """The short-cut cuts names: all packages below a folder with a long name are one caller."""
    folder = "\u200b" * 1_000
    short, one, other = (wire.called_by(each) for each in ("net/a b", f"{folder}/a", f"{folder}/b"))
    assert short == ((wire.CALLER_KEY, "net/a%20b"),)
    assert one != other
    assert len(one[0][1]) <= wire.LONGEST_CALLER


async def test_all_results_of_a_failed_function_arrive(tmp_path: Path) -> None:
    """Short-cut: rely on gRPC's usual 8 KiB for headers."""
    count = 1000
    async with (
        serving(f"unix:{tmp_path}/s", LIMITS) as address,
        Client(address, patience=60) as client,
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


async def test_a_bug_of_the_runner_is_not_a_failed_function(tmp_path: Path) -> None:
    """Short-cut: take every INTERNAL for a function that failed."""
    async with (
        listening(f"unix:{tmp_path}/s", Fixed(KeyError("x")), LIMITS) as address,
        Client(address, patience=60) as client,
    ):
        with pytest.raises(RunnerBrokenError, match=r"the runner has a bug, id \w+\. See"):
            await client.run("f", b"")


async def test_too_large_is_said_before_it_is_sent(tmp_path: Path) -> None:
    async with Client(f"unix:{tmp_path}/s", CallLimits(message_bytes=4)) as client:
        with pytest.raises(MessageTooLargeError):
            await client.run("f", b"12345")


async def test_an_answer_that_is_too_large(tmp_path: Path) -> None:
    small = CallLimits(message_bytes=10_000)
    large = Fixed(FunctionOutcome(b"x" * 20_000))
    async with (
        listening(f"unix:{tmp_path}/s", large, LIMITS) as address,
        Client(address, small, patience=60) as client,
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
    async with Client(address, patience=100) as client:
        calling = asyncio.ensure_future(client.run("set-labels", POD, seconds=100))
        await asyncio.sleep(0.2)
        for _ in range(2):
            async with serving(address, LIMITS):
                assert not (await calling).failed  # within its time
            calling = asyncio.ensure_future(client.run("set-labels", POD, seconds=100))
            await asyncio.sleep(0.2)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)


async def test_a_runner_that_hangs(tmp_path: Path) -> None:
    class Stuck:
        async def run(
            self, image: str, resources: bytes, *, seconds: float | None = None
        ) -> FunctionOutcome:
            await asyncio.sleep(600)
            return FunctionOutcome(b"")

    async with (
        listening(f"unix:{tmp_path}/s", Stuck(), LIMITS) as address,
        Client(address, CallLimits(seconds=0.1)) as client,
    ):
        assert await client.is_ready(60)  # connected
        with pytest.raises(FunctionTimeoutError):
            await client.run("f", b"")


class Busy:
    """A runner that sends the first callers away."""

    def __init__(self, refusals: int, retry_after: float) -> None:
        self.calls = 0
        self._refusals, self._retry_after = refusals, retry_after

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        self.calls += 1
        if self.calls <= self._refusals:
            raise RunnerBusyError("f", "full", self._retry_after)
        return FunctionOutcome(resources)


async def test_a_busy_runner_is_asked_again_when_it_says(tmp_path: Path) -> None:
    """Short-cut: take RESOURCE_EXHAUSTED for a message that is too large, and give up."""
    busy = Busy(2, 0.3)
    async with (
        listening(f"unix:{tmp_path}/s", busy, LIMITS) as address,
        Client(address, patience=60) as client,
    ):
        started = asyncio.get_running_loop().time()
        assert await client.run("f", b"x") == FunctionOutcome(b"x")
        assert asyncio.get_running_loop().time() - started > 0.6
    assert busy.calls == 3


@pytest.mark.parametrize(("patience", "seconds"), [(60, 600), (600, 60)])
async def test_nobody_waits_for_a_busy_runner_in_vain(
    tmp_path: Path, patience: float, seconds: float
) -> None:
    """Short-cut: wait first, and find out afterwards that there was no time for it."""
    busy = Busy(99, 5000)
    async with (
        listening(f"unix:{tmp_path}/s", busy, LIMITS) as address,
        Client(address, patience=patience) as client,
    ):
        said = r"^f: full\. Try again in 5000 seconds\.$"
        async with asyncio.timeout(300):
            with pytest.raises(RunnerBusyError, match=said):
                await client.run("f", b"", seconds=seconds)
    assert busy.calls == 1


async def test_closing_a_client_ends_its_calls(tmp_path: Path) -> None:
    """Short-cut: try again, on a connection that is no more."""
    sleeper = Sleeper()
    async with listening(f"unix:{tmp_path}/s", sleeper, LIMITS) as address:
        client = Client(address, patience=60)
        calling = asyncio.ensure_future(client.run("f", b"", seconds=600))
        await asyncio.wait_for(sleeper.began.wait(), 60)
        await client.close()
        with pytest.raises(RunnerBusyError):
            await calling
        await asyncio.wait_for(sleeper.stopped.wait(), 60)


class RecordingRunner:
    """A runner that notes the order in which calls come, or begin."""

    def __init__(self, inner: Runner | None = None) -> None:
        self.calls: list[bytes] = []
        self._inner = inner

    async def identity(self, image: str) -> str:
        return image

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        self.calls.append(resources)
        if self._inner is not None:
            return await self._inner.run(image, resources, seconds=seconds)
        await asyncio.sleep(0.001)
        return FunctionOutcome(resources)


@pytest.mark.parametrize("waiting", [64, 4], ids=["all may wait", "most are sent away"])
async def test_none_of_16_clients_starves(tmp_path: Path, waiting: int) -> None:
    """Short-cut: serve who comes first, again and again; or send the same ones away each time."""
    calls = 12
    begun = RecordingRunner()
    come = RecordingRunner(QueueLimited(begun, running=2, waiting=waiting))
    done = dict.fromkeys(range(16), 0)

    async def work(number: int, address: str) -> None:
        async with Client(address, patience=600) as client:
            for turn in range(calls):
                text = b"%d %d" % (number, turn)
                assert (await client.run("f", text, seconds=600)).resources == text
                done[number] += 1

    async with listening(f"unix:{tmp_path}/s", come, LIMITS) as address:
        await asyncio.gather(*(work(number, address) for number in range(16)))
    assert set(done.values()) == {calls}
    if waiting >= 16:  # who is there has a turn before whoever comes later
        # A call that was given a turn and one that then finds another free begin in either order.
        places = {call: place for place, call in enumerate(begun.calls)}
        assert all(abs(places[each] - at) < most(2) for at, each in enumerate(come.calls))


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
    async with Client(f"unix:{tmp_path}/s", patience=60) as client:
        with pytest.raises(FunctionFailedError) as caught:
            await client.run("f", b"")
    await server.stop(0)
    assert caught.value.log == 'Failed to execute function "f": exit status 1 (bad label)'
