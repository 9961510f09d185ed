"""What other repositories have to do with a proposal, and when anybody is asked for it."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from bot.clock import in_thread
from bot.look import elsewhere, locks
from lifecycle.access import Person
from lifecycle.facts.packages import Content
from tests.lifecycle.samples import CORE


class Users:
    """Implements what is asked of `UpstreamUsers`: nobody uses anything."""

    async def of(self, *given: Any) -> Any:
        del given
        return {}, {}

    async def listed(self, *given: Any) -> Any:
        del given
        return ()


@pytest.mark.parametrize(
    ("removed", "uses", "asked"), [(False, (), 0), (False, ("use",), 1), (True, (), 1)]
)
async def test_who_wrote_it_is_asked_for_where_that_matters(
    monkeypatch: pytest.MonkeyPatch, removed: bool, uses: tuple[str, ...], asked: int
) -> None:
    """The short-cut asks the forge at each new head of a private repository, for nothing."""
    times = 0

    async def askers() -> Sequence[Person]:
        nonlocal times
        times += 1
        return ()

    monkeypatch.setattr(locks, "of_package", lambda *given: uses)
    users: Any = Users()
    any_: Any = SimpleNamespace(git=None)
    gone = replace(CORE, tree="", head_tree="")
    found = Content(touched=(gone if removed else CORE,))

    found = await elsewhere.content(users, any_, found, askers)
    found = await elsewhere.findings(users, any_, any_, any_, found, askers, in_thread)

    assert times == asked
