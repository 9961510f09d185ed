"""The loop whose order and time are drawn."""

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any

from tests.simulation.scheduler import OWNER, DrawnLoop, Owner


def looped(seed: int, *coroutines: Coroutine[Any, Any, None]) -> DrawnLoop:
    draw = Random(seed)
    loop = DrawnLoop(lambda n: int(draw.random() * n))
    for coroutine in coroutines:
        loop.create_task(coroutine)
    return loop


def order(seed: int) -> list[str]:
    said: list[str] = []

    async def say(name: str) -> None:
        for number in range(3):
            said.append(f"{name}{number}")
            await asyncio.sleep(0)

    loop = looped(seed, *(say(name) for name in "abc"))
    with loop.current():
        assert loop.run(100)
    return said


def test_the_order_of_tasks_is_drawn_and_each_goes_its_own_way() -> None:
    """Fails on a loop that runs what is ready in the order in which it became so."""
    orders = {tuple(order(seed)) for seed in range(20)}
    assert len(orders) > 10
    assert order(3) == order(3)
    for said in orders:
        for name in "abc":
            assert [s for s in said if s[0] == name] == [f"{name}{n}" for n in range(3)]


def test_time_passes_only_when_it_is_told_to() -> None:
    """Fails where sleeping takes real time, or none."""
    ended: list[float] = []

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds)
        ended.append(round(loop.time()))

    loop = looped(0, sleep(5), sleep(1), sleep(3600))
    with loop.current():
        assert loop.run(100)
        times = [loop.next_timer(), loop.next_timer(skip=True)]
        assert (ended, [round(t or 0) for t in times]) == ([], [1, 5])
        loop.advance(6)
        loop.run(100)
    assert (ended, round(loop.next_timer() or 0)) == ([6, 6], 3600)


def test_locks_and_gathering_work_in_any_order() -> None:
    """Fails where callbacks of futures are drawn too, whose order asyncio promises."""
    inside: list[str] = []

    async def work(lock: asyncio.Lock, name: str) -> str:
        async with lock:
            inside.append(f"+{name}")
            await asyncio.sleep(0)
            inside.append(f"-{name}")
        return name

    async def all_of_it() -> None:
        lock = asyncio.Lock()
        async with asyncio.timeout(10):
            assert await asyncio.gather(*(work(lock, n) for n in "abcd")) == list("abcd")

    for seed in range(20):
        loop = looped(seed, all_of_it())
        with loop.current():
            assert loop.run(1000)
    assert all(one[1:] == two[1:] for one, two in zip(inside[::2], inside[1::2], strict=True))
    assert len(inside) == 20 * 8


def test_tasks_know_whose_they_are() -> None:
    """Fails where a process that is killed leaves a task of a task behind."""
    owner = Owner("bot1")

    async def child() -> None:
        await asyncio.sleep(100)

    async def parent() -> None:
        children.append(asyncio.get_running_loop().create_task(child()))
        await asyncio.sleep(100)

    children: list[asyncio.Task[None]] = []
    loop = looped(0)
    with loop.current():
        OWNER.set(owner)
        loop.create_task(parent())
        OWNER.set(None)
        loop.run(10)
        assert len(owner.tasks) == 2
        for task in list(owner.tasks):
            task.cancel()
        loop.run(10)
    assert not owner.tasks
    assert children[0].cancelled()


def test_a_process_that_stands_still_goes_on_where_it_was() -> None:
    """Fails where its tasks are lost, or where those of others stand still with it."""
    said: list[str] = []
    still, other = Owner("bot1"), Owner("bot2")

    async def work(name: str) -> None:
        said.append(f"{name} begins")
        await asyncio.sleep(0)
        said.append(f"{name} ends")

    loop = looped(0)
    with loop.current():
        for owner in (still, other):
            OWNER.set(owner)
            loop.create_task(work(owner.name))
        OWNER.set(None)
        still.still = True
        assert loop.run(10)
        assert said == ["bot2 begins", "bot2 ends"]
        still.still = False
        loop.go_on()
        assert loop.run(10)
    assert said[2:] == ["bot1 begins", "bot1 ends"]


def test_a_task_that_is_drawn_again_lets_nobody_in_between() -> None:
    """Fails where whoever asks for others to go on always goes to the end of the line."""
    said: list[str] = []

    async def work(name: str) -> None:
        for _ in range(3):
            said.append(name)
            await loop.others_go_on()

    loop = looped(0)
    loop.stays = lambda: True
    for name in "ab":
        loop.create_task(work(name))
    with loop.current():
        assert loop.run(10)
    assert said in (list("aaabbb"), list("bbbaaa"))
