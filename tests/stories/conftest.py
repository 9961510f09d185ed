"""One function runner for all stories; a world for each."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot import logs
from tests.contract.watch import watched
from tests.stories.people import wait_for
from tests.stories.world import CONFIG, World, seconds_pass, world


@pytest.fixture(scope="session", autouse=True)
def _logs() -> None:
    """Logs as the bot writes them, for stories that fail."""
    logs.configure()


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A function runner on a socket."""
    socket = tmp_path_factory.mktemp("runner") / "runner.sock"
    address = f"unix:{socket}"
    command = [sys.executable, "-m", "bot.cli", "runner", "--listen", address]
    command += ["--allow", "ghcr.io/kptdev/*"]  # as the bot starts its own
    process = subprocess.Popen(command)
    wait_for("the runner", socket.exists)
    yield address
    process.terminate()
    process.wait()


@pytest.fixture
def stage(
    tmp_path: Path, database_url: str, runner: str, request: pytest.FixtureRequest
) -> Iterator[World]:
    """A world whose bot is not started yet; every answer of its forge is validated."""
    with world(tmp_path, database_url, runner) as made, watched(made.forge):
        made.render_workers = request.node.get_closest_marker("render_workers") is not None
        yield made


@pytest.fixture
def play(stage: World) -> World:
    """A world with its bot running.

    Forges tell whole seconds: what is opened within the second of the bot's arrival counts as
    opened before it, and one more approval is asked for.
    """
    stage.start_bot()
    # Before that, what people do may be heard of twice: when it is told, and when it is adopted.
    wait_for(
        "the repository to be adopted", lambda: stage.database("SELECT 1 FROM adoption") or None
    )
    stage.rests()
    seconds_pass(stage.forge, 1)
    return stage


TWO_BASES = CONFIG.replace(
    "guardrails:",
    "packages:\n  - {directory: ., branch: main}\n  - {directory: ., branch: release}\nguardrails:",
)


@pytest.fixture
def two_bases(tmp_path: Path, database_url: str, runner: str) -> Iterator[World]:
    """A running world that publishes from `main` and from `release`."""
    made = world(tmp_path, database_url, runner, config=TWO_BASES)
    with made as stage, watched(stage.forge):
        stage.owner.pushes("release", {"words.md": "Releases stand here.\n"})
        stage.start_bot()
        stage.rests()
        yield stage
