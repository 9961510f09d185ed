"""What people see while the bot cannot do its part, and that it goes on by itself."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.stories.calls import CHECK, CHECK_EDIT, PROPOSALS, TALK
from tests.stories.people import wait_for
from tests.stories.real import RealWorld, world
from tests.stories.real_gitlab import gitlab_world
from tests.stories.world import package, resized

pytestmark = pytest.mark.real_parts


@pytest.fixture
def late_runner(
    tmp_path: Path, database_url: str, forge: str
) -> Iterator[tuple[RealWorld, Callable[[], None]]]:
    """A running world whose function runner is not there yet, and what starts it."""
    address = f"unix:{tmp_path / 'runner.sock'}"
    command = [sys.executable, "-m", "bot.cli", "runner", "--listen", address]
    started: list[subprocess.Popen[bytes]] = []
    begun = gitlab_world if forge == "gitlab" else world
    with begun(tmp_path, database_url, address) as made, made.waits():
        made.start_bot()
        yield made, lambda: started.append(subprocess.Popen(command))
        made.stop_bot()
    for process in started:
        process.terminate()
        process.wait()


def test_the_return_of_the_runner_is_noticed_at_once(
    late_runner: tuple[RealWorld, Callable[[], None]],
) -> None:
    """Short-cuts refused: waiting out a pause; a list that is lost when anything else fails."""
    play, start = late_runner
    author = play.author
    author.pushes("drafts/net/core/w", package("net/core"))
    pull = author.pull_of("drafts/net/core/w")
    author.waits_for_check(pull.number, "porchbot/validate", "failure")
    play.rests()
    # The forge refuses something else in the repository: all that is known of it is asked anew.
    play.forge.faults.fail(play.call(PROPOSALS), 403, caller=play.caller)
    play.wake(f"{play.name}:{play.repository.id}:base:main")
    wait_for("the refusal", lambda: _failed(play) or None)
    play.rests()
    play.database("UPDATE work SET due = due + interval '1 hour' WHERE due > now()")

    start()

    author.waits_for_check(pull.number, "porchbot/validate", "success")


def _failed(play: RealWorld) -> bool:
    return any(c.status == 403 for c in play.forge.faults.calls(play.caller))


def _tries(play: RealWorld, key: str, least: int) -> int:
    """Wait for so many failures in a row; each is made at once."""

    def failed() -> int | None:
        play.database(f"UPDATE work SET due = now() WHERE key = '{key}'")
        play.database("NOTIFY porchbot_work")
        ((tries,),) = play.database(f"SELECT tries FROM work WHERE key = '{key}'")
        return int(tries) if tries >= least else None

    return wait_for(f"{least} failures of {key}", failed)


def _said(play: RealWorld, number: int, key: str) -> None:
    """The proposal says that it could not be looked at, names what the operator sees, no more."""
    run = play.author.waits_for_check(number, "porchbot/publish", None)
    ((error,),) = play.database(f"SELECT last_error FROM work WHERE key = '{key}'")
    named = re.fullmatch(
        r"The bot could not check this proposal \(incident ([0-9a-f]{10})\)", run.title
    )
    assert named, run.title
    assert error.endswith(f"({named[1]})"), error
    if not play.checks_hold_text:
        return
    found = re.fullmatch(
        r"Since \d{4}-\d\d-\d\d \d\d:\d\d UTC the bot has failed to check this proposal\. It"
        r" retries automatically\. If this message stays, contact the operator"
        r" of the bot and quote `([0-9a-f]{10})`, which is in the bot's log\.",
        run.text,
    )
    assert found, run.text
    assert found[1] == named[1]


def test_a_look_that_crashes_is_told_once_and_taken_back(play: RealWorld) -> None:
    """Short-cuts refused: telling only the log; telling it at each try, or again after a restart,
    in a check of its own or in the one that said so; leaving what was said, or a check that was
    green."""
    author, key = (
        play.author,
        f"{play.name}:{play.repository.id}:proposal:{play.repository.id}:change/w",
    )
    author.pushes("change/w", package("net/core"))
    number = author.opens("change/w", "w").number
    author.waits_for_check(number, "porchbot/validate", "success")
    play.rests()
    faults = play.forge.faults

    broken = {"github": {"data": {"node": {"comments": 5}}}, "gitlab": [5]}[play.name]
    faults.fail(play.call(TALK), 200, broken, times=None, caller=play.caller)
    head = author.pushes("change/w", resized("net/core", 2))
    mark = faults.mark()
    _tries(play, key, 3)
    play.stop_bot()
    play.start_bot()
    _tries(play, key, 6)

    _said(play, number, key)
    told = {play.call(each): play.statuses_of(each, since=mark) for each in (CHECK, CHECK_EDIT)}
    assert sum(map(len, told.values())) == 1  # at GitLab both are one call
    assert {r.conclusion for r in author.checks(head).values()} == {None}
    faults.clear()
    play.wake(key)
    author.waits_for_check(number, "porchbot/validate", "success")
    play.rests()
    assert "could not" not in author.checks(head)["porchbot/publish"].title

    # The base's look, which publishes, breaks in the same way.
    base = f"{play.name}:{play.repository.id}:base:main"
    seven = [{"number": "seven", "iid": "seven"}]
    faults.fail(play.call(PROPOSALS), 200, seven, times=None, caller=play.caller)
    play.asks_to_publish(number)
    play.wake(base)
    _tries(play, base, 3)
    _said(play, number, base)
    faults.clear()
    play.wake(base)
    wait_for(
        "what was said to go",
        lambda: "could not" not in author.checks(head)["porchbot/publish"].title or None,
    )
