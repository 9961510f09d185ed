"""`/rebase` while bots are killed: one merge commit and one answer, wherever one dies."""

import pytest

from bot.sandbox.records.repository import Pull
from tests.simulation import forge_calls
from tests.simulation.setting import BOT
from tests.simulation.test_found import Told, nothing_logged
from tests.simulation.weather import FORGE, GIT, STORE, Mishap

__all__ = ["nothing_logged"]

LOST, UNDONE = forge_calls.LOST, forge_calls.AWAY
"""The call was carried out and its answer lost; it never arrived."""


def outdated(told: Told) -> Pull:
    """A proposal of bob's whose package somebody changes on main meanwhile."""
    pull = told.begin()
    with told.sim.forge.change():
        files: dict[str, bytes | None] = {"app/other.yaml": b"# stamped\nvalue: v3\n"}
        told.hands.commit("dan", "main", files, "y", onto=told.hands.tip("main"))
    told.sim.pass_time(60)
    assert "comment `/rebase`" in told.summary(pull)
    return pull


@pytest.mark.parametrize("fault", [LOST, UNDONE], ids=["after", "before"])
@pytest.mark.parametrize(
    ("port", "call"),
    [(GIT, 0), *((FORGE, call) for call in range(6)), *((STORE, call) for call in range(0, 12, 3))],
)
def test_killed_at_a_call(port: str, call: int, fault: forge_calls.Fault) -> None:
    """Fails where the bot remembers in its process that it merged, or answers before it has."""
    told = Told()
    with told.sim.happening():
        pull = outdated(told)
        was, base = told.hands.tip("w"), told.hands.tip("main")
        writes = port != STORE
        told.sim.weather.coming.append(
            Mishap("killed", port, call, fault, kills=True, writes=writes)
        )
        told.say("bob", pull, "/rebase", seconds=120)
        died = not told.sim.weather.coming
        told.sim.pass_time(1800)
        head = told.hands.tip("w")
        merged = told.sim.forge.state.git(told.hands.repo).commit(head)
    assert died
    assert list(merged.parents) == [was, base]
    asked = next(c for c in pull.comments if c.body == "/rebase")
    answers = [c for c in pull.comments if f'"answered":[{asked.id}]' in c.body]
    [said] = [each.body for each in answers]
    # Whoever comes between the push and the answer finds nothing left to do, and says that.
    between = (port, call) in {(GIT, 0), (FORGE, 0)}
    assert "Merged `main`" in said or (between and "Already up to date" in said)
    assert len([r for r in asked.reactions if r.user.login == BOT]) <= 1
