"""Looks at proposals of one commit go one by one."""

import asyncio
from dataclasses import replace
from weakref import ReferenceType, ref

from bot.look.states import HeadBranch
from bot.loop.shared_commits import SharedCommit, SharedCommits
from bot.overtaken import LOOK, CurrentLook
from lifecycle.facts.head import Facts
from lifecycle.names import Sha
from tests.lifecycle.samples import FACTS
from tests.memory.clock import ManualClock

ONE, TWO, THREE = (HeadBranch(1, name) for name in ("one", "two", "three"))
SHARED = replace(FACTS, others=(FACTS,))


async def _learn(commits: SharedCommits, head: HeadBranch, facts: Facts) -> None:
    async with commits.exclusive(head) as shared:
        commits.learn(head, facts, shared)


def _during(commits: SharedCommits, head: HeadBranch, other: HeadBranch) -> bool:
    """Whether a look at another branch begins while one at the first goes on."""

    async def story() -> bool:
        began: list[SharedCommit] = []

        async def look() -> None:
            async with commits.exclusive(other) as shared:
                began.append(shared)

        async with commits.exclusive(head):
            waiting = asyncio.create_task(look())
            for _ in range(5):
                await asyncio.sleep(0)
            early = bool(began)
        await waiting
        return early

    return asyncio.run(story())


def _told(*heads: HeadBranch, facts: Facts = SHARED) -> SharedCommits:
    commits = SharedCommits()
    for head in heads:
        asyncio.run(_learn(commits, head, facts))
    return commits


def test_looks_at_one_commit_wait_for_one_another_and_no_others_do() -> None:
    """Fails when all looks of a repository wait, or none."""
    commits = _told(ONE, TWO)

    assert not _during(commits, ONE, TWO)
    assert _during(commits, ONE, THREE)
    assert _during(_told(ONE, TWO, facts=FACTS), ONE, TWO)


def test_a_crowd_takes_turns_as_well() -> None:
    """Fails when only those that are read wait: a crowd writes the checks of its commit too."""
    assert not _during(_told(ONE, TWO, facts=replace(FACTS, crowded=True)), ONE, TWO)


def test_who_waits_long_gives_its_place_to_others() -> None:
    """Fails when those that wait hold the places: nothing else of the repository is looked at."""
    commits, clock, left = _told(ONE, TWO), ManualClock(), list[str]()

    async def no(_: str = "") -> bool:
        return False

    async def look() -> None:
        LOOK.set(CurrentLook(clock, lambda: left.append("two"), no, no))
        async with commits.exclusive(TWO):
            pass

    async def story() -> None:
        async with commits.exclusive(ONE):
            waiting = asyncio.create_task(look())
            for _ in range(20):
                await asyncio.sleep(0)
            assert left == ["two"]
        await waiting

    asyncio.run(story())


def test_what_they_have_in_common_ends_with_the_last_of_them() -> None:
    """Fails when what was read is kept for ever: it is as large as the packages."""
    commits = _told(ONE, TWO)

    async def story() -> "ReferenceType[SharedCommit]":
        async with commits.exclusive(ONE) as shared:
            return ref(shared)

    assert asyncio.run(story())() is None


def test_who_is_pushed_first_takes_turns_with_those_that_follow() -> None:
    """Fails when a turn is known by its old commit or by its new one alone."""
    commits = _told(ONE, TWO)

    async def story() -> bool:
        async with commits.exclusive(ONE) as shared:
            commits.learn(ONE, replace(SHARED, head=Sha("c" * 40)), shared)
            waiting = [asyncio.create_task(_next(head)) for head in (ONE, TWO)]
            for _ in range(5):
                await asyncio.sleep(0)
            early = any(each.done() for each in waiting)
        return early or {id(shared)} != {id(each) for each in await asyncio.gather(*waiting)}

    async def _next(head: HeadBranch) -> SharedCommit:
        async with commits.exclusive(head) as shared:
            return shared

    assert not asyncio.run(story())
