"""How long a look at the dashboard issue waits for what events told of."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot.keys import DashboardKey
from bot.loop.controller import Controller
from bot.loop.dashboard_commands import DashboardReconciler
from bot.loop.settle import Rest
from bot.loop.work import LookAgain
from bot.store.hints import Hint, Press
from tests.ids import on_github


@pytest.mark.parametrize(
    ("numbers", "after"),
    [({3}, 5.0), ({3, 4}, 5.0), (set(), 5.0), ({4}, None)],
    ids=["on it", "on it and elsewhere", "told by a version before", "on another issue"],
)
async def test_only_comments_on_the_issue_itself_are_waited_for(
    numbers: set[int], after: float | None
) -> None:
    """The short-cut waits for every comment on an issue that carries a record of ours: strangers
    have the bot ask for comments that never come."""

    async def look(*_: object) -> None:
        """Nobody but the bot has said anything there."""

    talk = SimpleNamespace(number=3, look=look)
    echoes = SimpleNamespace(wait=lambda _: 5.0)
    served: Any = SimpleNamespace(talk=talk, echoes=echoes, adoption=None)
    hint = Hint(comments=frozenset({31}), numbers=frozenset(numbers))

    found = await DashboardReconciler(served, DashboardKey(on_github(1)), hint).look(0.0)

    assert found == Rest(after)


class Alone(Controller):
    """A controller that has nothing but a dashboard, number 3, written again in five minutes."""

    def __init__(self) -> None:
        self.written: list[Hint] = []
        here: Any = self
        self._serving = self._dashboard_commands = self._dashboards = here
        self.talk = SimpleNamespace(number=3)

    async def of(self, _: object) -> Any:
        """Finds the repository."""
        return self

    async def handle(self, key: Any, hint: Hint) -> Any:
        """Answers, and writes."""
        self.written.append(hint)
        return 300.0

    async def looks(self, hint: Hint) -> Any:
        """Look at the dashboard."""
        return await super().handle(DashboardKey(on_github(1)), hint)


async def test_boxes_of_other_issues_are_dealt_with_at_once() -> None:
    """The short-cut keeps them until the dashboard rests, which it does not while a stranger edits:
    the row grows by every line of theirs."""
    mine, theirs, old = (
        str(Press("d", 5, "ann", f"{issue}upgrade a v2"))
        for issue in (f"3 - {'d' * 32} ", f"4 - {'d' * 32} ", "")
    )
    alone = Alone()

    found = await alone.looks(Hint(pressed=frozenset({mine, theirs, old})))

    assert found == LookAgain(300.0, Hint(pressed=frozenset({theirs})))
    assert alone.written[-1] == Hint(pressed=frozenset({mine, old}))
