"""A limit of the forge that is used up, and a merge that it does not make, as people see them."""

from bot.sandbox.records.repository import CheckRun, Pull
from tests.simulation import forge_calls
from tests.simulation.test_found import Told, nothing_logged
from tests.simulation.weather import FORGE, Mishap

__all__ = ["nothing_logged"]


def published_check(told: Told, pull: Pull) -> CheckRun:
    """The newest `porchbot/publish` at the head."""
    suites = told.hands.repo.suites.on(told.hands.tip("w"))
    runs = [r for suite in suites for r in suite.runs if r.name == "porchbot/publish"]
    return max(runs, key=lambda r: r.id)


def test_a_look_that_is_put_off_says_so_in_the_check() -> None:
    """Fails where only the operator learns why nothing happens for an hour."""
    told = Told()
    with told.sim.happening():
        pull = told.begin()
        told.sim.weather.coming.append(Mishap("limit", FORGE, 0, forge_calls.limited(1800)))
        told.say("cat", pull, "/approve", seconds=60)
        assert not told.sim.weather.coming
        waiting = published_check(told, pull)
        assert waiting.title == "Waiting: the API rate limit is used up for now"
        assert "checks this proposal again at about" in (waiting.summary or "")
        assert waiting.conclusion is None
        told.sim.pass_time(2400)
    assert "### Published app v1" in told.summary(pull)
    assert published_check(told, pull).conclusion == "success"


def test_a_merge_that_is_tried_again_later_is_told_meanwhile() -> None:
    """Fails where what waits stays in the line of its base: then only a sweep tells of it."""
    told = Told()
    with told.sim.happening():
        pull = told.begin()
        away = [Mishap("502", FORGE, 0, forge_calls.AWAY, of="merge") for _ in range(6)]
        told.sim.weather.coming += away
        told.say("cat", pull, "/approve", seconds=20)
        assert 0 < len(told.sim.weather.coming) < len(away)
        assert "merging failed" in (published_check(told, pull).title or "")
        told.sim.pass_time(600)
    assert "### Published app v1" in told.summary(pull)
