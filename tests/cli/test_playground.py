"""The playground with several bots: what dies is started again, and at the end nothing is left."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bot.cli.demo.balancer import Balancer
from bot.cli.demo.story import Story
from tests.stories.people import wait_for

Info = dict[str, Any]


@pytest.fixture
def playground(tmp_path: Path) -> Iterator[tuple["subprocess.Popen[bytes]", Path]]:
    """A playground of two bots, and its file."""
    file = tmp_path / "info.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "bot.cli", "playground", "--replicas", "2", "--info", str(file)],
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for("the playground", lambda: file.exists() or process.poll(), 120)
        assert process.poll() is None
        yield process, file
    finally:
        process.kill()
        process.wait()


def read(file: Path) -> Info:
    """What the playground says of itself now."""
    found: Info = json.loads(file.read_text())
    return found


def offspring(pid: int) -> set[int]:
    """Numbers of all processes that a process has started, and those have."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(") ")[2].split()
            parents[int(entry.name)] = int(fields[1])
        except (OSError, ValueError, IndexError):
            continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


@pytest.mark.long
def test_what_dies_is_started_again_and_proposals_go_on(
    playground: tuple["subprocess.Popen[bytes]", Path],
) -> None:
    """Fails when a kill needs somebody's hand, or leaves what the file says wrong."""
    process, file = playground
    before = read(file)
    assert len({each["pid"] for each in before["bots"]}) == 2
    assert before["bot_pid"] == before["bots"][0]["pid"]

    def kill(moment: str, number: int) -> None:
        victims = {"objection": before["bots"][1]["pid"], "refusal": before["database_pid"]}
        if moment in victims:
            os.kill(victims[moment], signal.SIGKILL)

    said = io.StringIO()
    Story(before, Console(file=said, width=200), watch=kill).tell()

    def changed() -> Info | None:
        now = read(file)
        same = now["database_pid"] == before["database_pid"]
        return None if same or now["bots"][1]["pid"] == before["bots"][1]["pid"] else now

    after = wait_for("the file", changed, 120)
    assert "Tags of net/core: net/core/v1, net/core/v2" in said.getvalue()
    assert after["bots"][0] == before["bots"][0]
    assert [each["url"] for each in after["bots"]] == [each["url"] for each in before["bots"]]

    started = offspring(process.pid)
    assert {after["database_pid"], *(each["pid"] for each in after["bots"])} <= started
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]
    assert not Path(after["log"]).parent.exists()


def test_a_connection_goes_to_the_next_that_takes_it() -> None:
    """Fails when a bot that is down takes every second webhook with it."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as there, socket.socket() as gone:
        gone.bind(("127.0.0.1", 0))
        with Balancer([gone.getsockname()[1], there.getsockname()[1]]) as balancer:
            for _ in range(3):
                with socket.create_connection(("127.0.0.1", balancer.port)) as sender:
                    sender.sendall(b"ping")
                    bot, _ = there.accept()
                    with bot:
                        assert bot.recv(4) == b"ping"
                        bot.sendall(b"pong")
                    assert sender.recv(4) == b"pong"
                    assert sender.recv(1) == b""
