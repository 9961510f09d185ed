"""What people see while the bot cannot do its part, and that it goes on by itself."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.stories.people import wait_for
from tests.stories.world import World, package, world

ME = "porchbot[bot]"


@pytest.fixture
def late_runner(tmp_path: Path, database_url: str) -> Iterator[tuple[World, Callable[[], None]]]:
    """A running world whose function runner is not there yet, and what starts it."""
    address = f"unix:{tmp_path / 'runner.sock'}"
    command = [sys.executable, "-m", "bot.cli", "runner", "--listen", address]
    started: list[subprocess.Popen[bytes]] = []
    with world(tmp_path, database_url, address) as made:
        made.start_bot()
        yield made, lambda: started.append(subprocess.Popen(command))
        made.stop_bot()
    for process in started:
        process.terminate()
        process.wait()


def test_the_return_of_the_runner_is_noticed_at_once(
    late_runner: tuple[World, Callable[[], None]],
) -> None:
    """Short-cuts refused: waiting out a pause; a list that is lost when anything else fails."""
    play, start = late_runner
    author = play.author
    author.pushes("drafts/net/core/w", package("net/core"))
    pull = author.pull_of("drafts/net/core/w")
    author.waits_for_check(pull.number, "porchbot/validate", "failure")
    play.rests()
    # The forge refuses something else in the repository: all that is known of it is asked anew.
    play.forge.faults.fail("GET */pulls", 403, caller=ME)
    play.wake(f"github:{play.repository.id}:base:main")
    wait_for("the refusal", lambda: _failed(play) or None)
    play.rests()
    play.database("UPDATE work SET due = due + interval '1 hour' WHERE due > now()")

    start()

    author.waits_for_check(pull.number, "porchbot/validate", "success")


def _failed(play: World) -> bool:
    return any(c.status == 403 for c in play.forge.faults.calls(ME))
