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

import pytest

from fnrunner import choose
from fnrunner.client import Client
from fnrunner.errors import RunnerAddressError
from fnrunner.run import Limits
from fnrunner.serve import listening, serve
from tests.fnrunner.test_client import POD

LIMITS = Limits()
PROGRAM = "import asyncio, sys; from fnrunner.serve import serve; asyncio.run(serve(sys.argv[1]))"


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
        async with Client(f"unix:{tmp_path}/s") as client:
            assert not (await client.run("set-labels", POD)).failed
        print(f"runner started and answered in {time.perf_counter() - started:.2f} s")
        running.send_signal(number)
        assert running.wait(10) == 0
    assert not (tmp_path / "s").exists()


async def test_the_socket_is_for_its_owner_only(tmp_path: Path) -> None:
    async with listening(f"unix:{tmp_path}/s", choose.runner(LIMITS), LIMITS):
        mode = stat.S_IMODE((tmp_path / "s").stat().st_mode)
    assert mode == 0o600


async def test_what_a_killed_runner_left_is_no_obstacle(tmp_path: Path) -> None:
    async with Client(f"unix:{tmp_path}/s") as client:
        with process(f"unix:{tmp_path}/s"):
            assert await client.is_ready(10)
        assert (tmp_path / "s").exists()
        async with listening(f"unix:{tmp_path}/s", choose.runner(LIMITS), LIMITS):
            assert not (await client.run("set-labels", POD)).failed


async def test_it_says_when_it_is_ready_and_stops_when_cancelled() -> None:
    bound: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.ensure_future(serve("127.0.0.1:0", ready=bound.set_result))
    address = await asyncio.wait_for(bound, 10)
    assert not address.endswith(":0")
    async with Client(address) as client:
        assert await client.is_ready()
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving


BAD = ["unix:{folder}/none/s", "unix:{folder}/file", "{taken}", "nonsense", "host:", ":1"]


@pytest.mark.parametrize("address", BAD)
async def test_an_address_that_cannot_be_had(tmp_path: Path, address: str) -> None:
    (tmp_path / "file").write_text("precious")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        text = address.format(folder=tmp_path, taken=f"127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(RunnerAddressError, match="Give unix:/PATH or HOST:PORT"):
            async with listening(text, choose.runner(LIMITS), LIMITS):
                pass
    assert (tmp_path / "file").read_text() == "precious"


async def test_a_socket_that_is_served_is_not_taken_over(tmp_path: Path) -> None:
    """Short-cut: gRPC's, which unlinks the socket under the first runner."""
    address = f"unix:{tmp_path}/s"
    async with listening(address, choose.runner(LIMITS), LIMITS):
        with pytest.raises(RunnerAddressError, match="another process serves it"):
            async with listening(address, choose.runner(LIMITS), LIMITS):
                pass
        async with Client(address) as client:
            assert await client.is_ready()
