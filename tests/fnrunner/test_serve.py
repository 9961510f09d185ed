"""The runner as a process: how fast it starts, how it ends, who may reach it."""

import asyncio
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import grpc.aio
import httpx
import pytest
from click.testing import CliRunner
from grpc_health.v1 import health_pb2, health_pb2_grpc

from bot.cli.runner import runner
from fnrunner.contract.errors import FunctionNotFoundError, RunnerAddressError, RunnerBusyError
from fnrunner.contract.run import CallLimits, FunctionOutcome
from fnrunner.serve import serve
from fnrunner.wire import shared as wire
from fnrunner.wire.client import Client
from fnrunner.wire.proto.evaluator_pb2 import EvaluateFunctionRequest
from fnrunner.wire.server import listening
from tests.fnrunner.serving import serving
from tests.fnrunner.wire.test_client import POD
from tests.ports import free_port

LIMITS = CallLimits()
PROGRAM = (
    "import asyncio, gc, sys; gc.disable(); from fnrunner.serve import serve;"
    "gc.enable(); asyncio.run(serve(sys.argv[1]))"
)


@contextmanager
def process(address: str) -> Iterator[subprocess.Popen[bytes]]:
    """A runner in a process of its own, which does not outlive the test."""
    started = subprocess.Popen([sys.executable, "-P", "-c", PROGRAM, address])
    try:
        yield started
    finally:
        started.kill()
        started.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_process_serves_until_it_is_told_to_stop(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Short-cut: leave the socket behind, or end with a traceback."""
    started = time.perf_counter()
    with process(f"unix:{tmp_path}/s") as running:
        async with Client(f"unix:{tmp_path}/s", patience=60) as client:
            assert not (await client.run("set-labels", POD, seconds=60)).failed
        print(f"runner started and answered in {time.perf_counter() - started:.2f} s")
        running.send_signal(number)
        assert running.wait(60) == 0
    assert not (tmp_path / "s").exists()


async def test_the_socket_is_for_its_owner_only(tmp_path: Path) -> None:
    async with serving(f"unix:{tmp_path}/s", LIMITS):
        mode = stat.S_IMODE((tmp_path / "s").stat().st_mode)
    assert mode == 0o600


async def test_what_a_killed_runner_left_is_no_obstacle(tmp_path: Path) -> None:
    async with Client(f"unix:{tmp_path}/s", patience=60) as client:
        with process(f"unix:{tmp_path}/s"):
            assert await client.is_ready(60)
        assert (tmp_path / "s").exists()
        async with serving(f"unix:{tmp_path}/s", LIMITS):
            assert not (await client.run("set-labels", POD)).failed


async def test_it_says_when_it_is_ready_and_stops_when_cancelled() -> None:
    bound: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.ensure_future(serve("127.0.0.1:0", ready=bound.set_result))
    address = await asyncio.wait_for(bound, 60)
    assert not address.endswith(":0")
    async with Client(address, patience=60) as client:
        assert await client.is_ready(60)
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving


BAD = [
    "unix:{folder}/none/s",
    "unix:{folder}/file",
    "{taken}",
    "nonsense",
    "host:",
    ":1",
    "127.0.0.1:65536",
    "127.0.0.1:-1",
    "127.0.0.1:\u0661",
    "::1:9445",
]


@pytest.mark.parametrize("address", BAD)
async def test_an_address_that_cannot_be_had(tmp_path: Path, address: str) -> None:
    (tmp_path / "file").write_text("precious")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        text = address.format(folder=tmp_path, taken=f"127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(RunnerAddressError, match="Give unix:/PATH or HOST:PORT"):
            async with serving(text, LIMITS):
                pass
    assert (tmp_path / "file").read_text() == "precious"


async def test_a_socket_that_is_served_is_not_taken_over(tmp_path: Path) -> None:
    """Short-cut: gRPC's, which unlinks the socket under the first runner."""
    address = f"unix:{tmp_path}/s"
    async with serving(address, LIMITS):
        with pytest.raises(RunnerAddressError, match="another process serves it"):
            async with serving(address, LIMITS):
                pass
        async with Client(address, patience=60) as client:
            assert await client.is_ready(60)


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
async def test_an_ipv6_address_stands_in_brackets() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 here")
    async with (
        serving("[::1]:0", LIMITS) as address,
        Client(address, patience=60) as client,
    ):
        assert address.startswith("[::1]:")
        assert await client.is_ready(60)
    with pytest.raises(RunnerAddressError, match=r"must be in brackets, as in \[::1\]:9445\. Give"):
        async with serving("::1:9445", LIMITS):
            pass


class Held:
    """A runner whose functions end when they are let go."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.let_go = asyncio.Event()

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        self.began.set()
        await self.let_go.wait()
        return FunctionOutcome(resources)


async def test_what_runs_may_end_and_nothing_new_begins() -> None:
    """Short-cut: cut what runs; or go on taking calls, and never end."""
    held = Held()
    serving = listening("127.0.0.1:0", held, LIMITS, grace=60)
    address = await serving.__aenter__()
    async with grpc.aio.insecure_channel(address) as opened, Client(address, patience=0) as client:
        assert await client.is_ready(60)  # connected
        health = health_pb2_grpc.HealthStub(opened)
        watch = health.Watch(health_pb2.HealthCheckRequest())
        seen = [(await watch.read()).status]
        running = asyncio.ensure_future(client.run("f", b"x"))
        await asyncio.wait_for(held.began.wait(), 60)

        ending = asyncio.ensure_future(serving.__aexit__(None, None, None))
        seen.append((await watch.read()).status)
        check = await health.Check(health_pb2.HealthCheckRequest())
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await wire.evaluator(opened)(EvaluateFunctionRequest(image="f"))
        with pytest.raises(RunnerBusyError, match="the runner: it is being stopped"):
            await client.run("f", b"")
        assert not await client.is_ready()
        assert not running.done()

        held.let_go.set()
        assert await running == FunctionOutcome(b"x")
        await ending
    serving_status = health_pb2.HealthCheckResponse
    assert seen == [serving_status.SERVING, serving_status.NOT_SERVING]
    assert check.status == serving_status.NOT_SERVING
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_runner_that_leaves_does_not_remove_the_socket_of_the_next(tmp_path: Path) -> None:
    """Short-cut: remove whatever stands at the path in the end."""
    address, path, held = f"unix:{tmp_path}/s", tmp_path / "s", Held()
    leaving = listening(address, held, LIMITS, grace=0.0)
    await leaving.__aenter__()
    async with Client(address, patience=0) as client:
        assert await client.is_ready(60)  # connected
        call = asyncio.ensure_future(client.run("f", b""))
        await asyncio.wait_for(held.began.wait(), 60)
        gone = asyncio.ensure_future(leaving.__aexit__(None, None, None))
        async with asyncio.timeout(60):
            while path.exists():  # no more calls are taken; the last one has a moment to end
                await asyncio.sleep(0.01)
        async with listening(address, Held(), LIMITS):
            await asyncio.gather(gone, call, return_exceptions=True)

            assert path.exists()
    assert not path.exists()


async def test_what_does_not_end_in_time_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    """Short-cut: wait for ever."""
    held = Held()
    async with listening("127.0.0.1:0", held, LIMITS, grace=0.1) as address:
        client = Client(address, patience=0)
        assert await client.is_ready(60)  # connected
        running = asyncio.ensure_future(client.run("f", b""))
        await asyncio.wait_for(held.began.wait(), 60)
    with pytest.raises(RunnerBusyError):
        await running
    await client.close()
    assert "1 calls did not end within 0.1 seconds: stopped" in caplog.text


async def test_a_runner_that_takes_over_gets_the_calls(tmp_path: Path) -> None:
    """Short-cut: tell callers that it is over, though another runner is there in a moment."""
    address = f"unix:{tmp_path}/s"
    held = Held()
    async with Client(address, patience=60) as client:
        async with listening(address, held, LIMITS):
            first = asyncio.ensure_future(client.run("f", b"1"))
            await asyncio.wait_for(held.began.wait(), 60)
            asyncio.get_running_loop().call_later(0.3, held.let_go.set)
        second = asyncio.ensure_future(client.run("set-labels", POD))
        assert await first == FunctionOutcome(b"1")
        async with serving(address, LIMITS):
            assert not (await second).failed


async def fetch(address: str) -> str:
    """The metrics, as Prometheus gets them."""
    async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
        return (await http.get(f"http://{address}/metrics")).text


async def test_a_process_tells_its_metrics(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "bot.cli", "runner", "--listen", f"unix:{tmp_path}/s"]
    running = subprocess.Popen([*command, "--metrics", f"127.0.0.1:{port}"], stderr=subprocess.PIPE)
    try:
        async with Client(f"unix:{tmp_path}/s", patience=60) as client:
            await client.run("set-labels:v0.2", POD)
            with pytest.raises(FunctionNotFoundError):
                await client.run("", POD)
        text = await fetch(f"127.0.0.1:{port}")
        running.send_signal(signal.SIGTERM)
        _, said = running.communicate(timeout=60)
    finally:
        running.kill()
        running.wait()
    name = "porchbot_function"
    assert f'{name}_calls_total{{function="set-labels:v0.2",outcome="ok"}} 1.0' in text
    assert f'{name}_calls_total{{function="other",outcome="function_not_found"}} 1.0' in text
    assert f'{name}_seconds_count{{function="set-labels:v0.2"}} 1.0' in text
    assert said.decode() == f"The function runner listens on unix:{tmp_path}/s.\n"
    assert running.returncode == 0


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1:70000", "{taken}", "unix:/tmp/m"])
async def test_an_address_for_metrics_that_cannot_be_had(tmp_path: Path, address: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        text = address.format(taken=f"127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(RunnerAddressError, match=r"Give HOST:PORT with a free path or port\.$"):
            await serve(f"unix:{tmp_path}/s", metrics_address=text)
    assert not (tmp_path / "s").exists()


USAGE = {
    "half a pair": (["--tls-key", "k.pem"], "--tls-cert and --tls-key go together."),
    "no TLS": (["--tls-client-ca", "c.pem"], "--tls-client-ca asks callers for certificates"),
    "no size": (["--max-message", "0"], "0 is not in the range x>=1"),
    "no address": (
        ["--listen", "here"],
        "here: this is not an address. Give unix:/PATH or HOST:PORT",
    ),
    "no file": (["--tls-cert", "c.pem", "--tls-key", "k.pem"], "c.pem: it cannot be read: No such"),
}


@pytest.mark.parametrize(("arguments", "said"), USAGE.values(), ids=USAGE)
def test_options_that_cannot_be_used(arguments: list[str], said: str) -> None:
    """Short-cut: start all the same, without what was asked for."""
    result = CliRunner().invoke(runner, arguments)
    assert result.exit_code != 0
    assert said in result.output
