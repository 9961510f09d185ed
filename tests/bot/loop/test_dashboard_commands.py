"""How long a look at the dashboard issue waits for what events told of."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot.keys import DashboardKey
from bot.loop.dashboard_commands import DashboardReconciler
from bot.loop.settle import Rest
from bot.store.hints import Hint
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
