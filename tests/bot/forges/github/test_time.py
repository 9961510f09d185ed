"""The clock of this machine is wrong: tokens are judged by GitHub's, which its answers tell."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

from bot.clock import SystemClock
from bot.forges.github.app import AppClients
from bot.forges.github.http import send
from bot.forges.port import ForgeBusyError
from bot.sandbox.serve import SandboxForge
from tests.app_key import keys
from tests.memory.clock import ManualClock
from tests.stories.world import APP_ID


class WrongClock(SystemClock):
    """The right time, and so much more."""

    ahead = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[SandboxForge]:
    with SandboxForge(tmp_path / "forge") as made:
        made.state.add_user("acme")
        repository = made.state.add_repository("acme", "blueprints")
        app = made.state.register_app("porchbot", keys()[1], owner="acme", app_id=APP_ID)
        made.state.install(app, repository)
        yield made


@pytest.mark.parametrize("hours", [1, -1])
def test_a_clock_that_jumps_costs_one_request(forge: SandboxForge, hours: int) -> None:
    """The short-cut signs with its own time: refused for as long as the clock is wrong."""
    clock = WrongClock()
    app = AppClients(forge.api_url, str(APP_ID), keys()[0], clock=clock)
    (installation,) = forge.state.data.installations
    pool = app.of(installation)
    assert send(pool, "read", "GET", "/repos/acme/blueprints").ok

    clock.ahead = timedelta(hours=hours)
    with pytest.raises(ForgeBusyError):
        send(app.clients, "read the App", "GET", "/app")
    assert send(app.clients, "read the App", "GET", "/app").ok
    # A token that ends in half an hour, by GitHub's clock, is good; one that has ended is not.
    with forge.state.lock:
        before = forge.state.clock
        forge.state.clock = lambda: before() + timedelta(minutes=30)
    assert send(pool, "read", "GET", "/repos/acme/blueprints").ok
    app.close()


def test_a_second_more_or_less_is_no_wrong_clock(forge: SandboxForge) -> None:
    """Fails when every answer's whole seconds move the time by which tokens are renewed."""
    clock = WrongClock()
    app = AppClients(forge.api_url, str(APP_ID), keys()[0], clock=clock)
    clock.ahead = timedelta(seconds=20)
    assert send(app.clients, "read the App", "GET", "/app").ok
    assert app._time.now() - datetime.now(UTC) > timedelta(seconds=15)
    app.close()


def test_a_forge_of_another_time_tells_it(tmp_path: Path) -> None:
    """Short-cut refused: the server says the machine's time beside the forge's rules, and an App
    that goes by what it is told is refused for as long as the two differ."""
    clock = ManualClock(seconds=5)
    with SandboxForge(tmp_path / "forge", clock=clock.now) as forge:
        forge.state.add_user("acme")
        repository = forge.state.add_repository("acme", "blueprints")
        made = forge.state.register_app("porchbot", keys()[1], owner="acme", app_id=APP_ID)
        forge.state.install(made, repository)
        app = AppClients(forge.api_url, str(APP_ID), keys()[0], clock=clock)
        for _ in range(2):
            answer = send(app.clients, "read the App", "GET", "/app")
            assert answer.ok
            assert parsedate_to_datetime(answer.headers["date"]) == clock.now()
            clock.seconds += 7200
        app.close()
