"""Which projects a group's webhook may speak for."""

import asyncio
import threading
from typing import Any

import pytest

from bot.forges.gitlab.groups import MOST_OTHERS, GroupPaths
from bot.forges.gitlab.http import Clients
from bot.forges.port import ForgeBusyError
from lifecycle.identity import RepositoryId
from tests.bot.forges.gitlab.test_forges import project
from tests.bot.forges.gitlab.wire import URL, Wire
from tests.in_process import session
from tests.memory.clock import ManualClock

PROJECT = RepositoryId("gitlab", 7)


class Instance(Wire):
    """An instance with a group and a project, and who asks it."""

    def __init__(self, group: str = "acme", path: str = "acme/net") -> None:
        super().__init__()
        self.clock = ManualClock()
        clients = Clients(URL, lambda: "t", clock=self.clock, session=lambda: session(self.answer))
        self.groups = GroupPaths(clients)
        self.stands(group, path)

    def stands(self, group: str, path: str) -> None:
        """They have these paths from now on."""
        self.has("GET /groups/5", {"full_path": group})
        self.has("GET /projects/7", project(7, path))

    async def covers(self, after: float = 0) -> bool:
        """Whether the project is in the group, so many seconds later."""
        self.clock.seconds += after
        return await self.groups.covers(5, PROJECT)


@pytest.mark.parametrize(
    ("path", "covered"), [("acme/net", True), ("acme/sub/net", True), ("acme-2/net", False)]
)
async def test_a_group_speaks_for_the_projects_in_it(path: str, covered: bool) -> None:
    """Short-cuts refused: the path that the delivery names; beginnings of names; two requests for
    each delivery."""
    wire = Instance("acme", path)

    found = await asyncio.gather(*(wire.covers() for _ in range(3)))

    assert (found, len(wire.asked)) == ([covered] * 3, 2)


MOVES: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "the group was renamed": (("acme", "acme/net"), ("corp", "corp/net")),
    "the project was moved into it": (("acme", "else/net"), ("acme", "acme/net")),
    "the group was moved below another": (("acme", "acme/net"), ("corp/acme", "corp/acme/net")),
}


@pytest.mark.parametrize(("before", "after"), MOVES.values(), ids=MOVES)
async def test_before_a_no_both_paths_are_read_again(
    before: tuple[str, str], after: tuple[str, str]
) -> None:
    """The short-cut goes by what is known of each: of paths that were read at different times, one
    is from before the move, and for ten minutes all that the webhook tells is refused."""
    wire = Instance(*before)
    if before[0] == after[0]:
        await wire.groups.covers(6, PROJECT)
    else:
        await wire.groups.covers(5, RepositoryId("gitlab", 8))
    wire.stands(*after)

    assert await wire.covers(after=61)


async def test_what_is_refused_is_asked_for_once_a_minute() -> None:
    """The short-cut asks before each "no": whoever has a group's secret, and a template, has
    GitLab asked twice with each delivery."""
    wire = Instance("acme", "else/net")

    found = [await wire.covers(after=6) for _ in range(100)]

    assert found == [False] * 100
    assert len(wire.asked) == 2 * 10


async def test_a_yes_is_asked_for_once_in_ten_minutes() -> None:
    wire = Instance()

    assert [await wire.covers(after=6) for _ in range(100)] == [True] * 100
    assert len(wire.asked) == 2


@pytest.mark.parametrize("gone", ["GET /groups/5", "GET /projects/7"])
async def test_what_is_not_shown_is_asked_for_once_a_minute(gone: str) -> None:
    """Short-cuts refused: each delivery asks again; it stays unseen for ten minutes after the bot
    was let in."""
    wire = Instance()
    there = wire.paths.pop(gone)

    assert [await wire.covers(after=6) for _ in range(10)] == [False] * 10
    assert wire.asked.count(f"{gone}?with_projects=false") == 1
    wire.paths[gone] = there
    assert await wire.covers(after=60)


async def test_what_cannot_be_read_is_neither_yes_nor_no() -> None:
    """The short-cut takes the answer apart as it comes: each delivery ends in a traceback."""
    wire = Instance()
    wire.has("GET /groups/5", [])

    with pytest.raises(ForgeBusyError, match="cannot be read"):
        await wire.covers()


class Slow(Instance):
    """Answers about some projects only when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.has("GET /groups/6", {"full_path": "evil"})
        self.let = threading.Event()

    def answer(self, *given: Any, **more: Any) -> Any:
        """As the instance has it, at once or when it is let."""
        if "/projects/1000" in str(given):
            assert self.let.wait(30)
        return super().answer(*given, **more)


async def test_one_group_waits_for_no_other() -> None:
    """The short-cut has one lock for the instance: while the webhook of one group names projects
    about which GitLab answers late, what those of all others tell counts for nothing."""
    wire = Slow()
    late = asyncio.create_task(wire.groups.covers(6, RepositoryId("gitlab", 1000)))
    await asyncio.sleep(0)

    try:
        assert await asyncio.wait_for(wire.covers(), 20)
        assert not late.done()
    finally:
        wire.let.set()
    assert not await late


async def test_a_group_that_names_many_others_has_gitlab_asked_no_more() -> None:
    """The short-cut remembers each number: the numbers that can be made up have no end. What is in
    the group, and known, counts all the same; a minute later what is not known as well."""
    wire = Instance()
    assert await wire.covers()

    for number in range(1000, 1000 + MOST_OTHERS):
        assert not await wire.groups.covers(5, RepositoryId("gitlab", number))
    asked = len(wire.asked)
    for number in range(2000, 2100):
        with pytest.raises(ForgeBusyError, match="named 20 projects that are not in it"):
            await wire.groups.covers(5, RepositoryId("gitlab", number))

    assert len(wire.asked) == asked
    assert await wire.covers(after=30)
    wire.clock.seconds += 61
    assert not await wire.groups.covers(5, RepositoryId("gitlab", 2000))
