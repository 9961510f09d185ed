"""What any clock promises (`bot/clock.py`): the machine's, that of tests and that of histories."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC
from random import Random

import pytest

from bot.clock import Clock, SystemClock
from tests.memory.clock import ManualClock
from tests.simulation.scheduler import DrawnLoop, SimulatedClock

Told = list[str]


def _by_asyncio(clock: Clock, asked: Callable[[Clock], Awaitable[None]]) -> None:
    async def run() -> None:
        await asked(clock)

    asyncio.run(run())


def _machine(asked: Callable[[Clock], Awaitable[None]]) -> None:
    _by_asyncio(SystemClock(), asked)


def _manual(asked: Callable[[Clock], Awaitable[None]]) -> None:
    _by_asyncio(ManualClock(), asked)


def _simulated(asked: Callable[[Clock], Awaitable[None]]) -> None:
    draw = Random(1)
    loop = DrawnLoop(lambda n: int(draw.random() * n))
    ended: Told = []

    async def run() -> None:
        await asked(SimulatedClock(loop, draw))
        ended.append("ended")

    loop.create_task(run())
    with loop.current():
        assert loop.run(1000)
        while not ended and (wakes := loop.next_timer()) is not None:
            loop.advance(wakes)
            loop.run(1000)
    assert ended


@pytest.mark.parametrize("ask", [_machine, _manual, _simulated])
def test_a_clock_keeps_what_it_promises(
    ask: Callable[[Callable[[Clock], Awaitable[None]]], None],
) -> None:
    """Short-cuts refused: a time of day without a zone, seconds that stand still while one waits,
    a wait of no seconds in which nobody else goes on, and one number for all that is drawn."""

    async def asked(clock: Clock) -> None:
        told: Told = []

        async def other() -> None:
            told.append("went on")

        seconds = clock.monotonic()
        assert clock.now().tzinfo is UTC
        task = asyncio.get_running_loop().create_task(other())
        for _ in range(50):  # which of two tasks is next may be drawn
            await clock.sleep(0)
        assert told == ["went on"]
        await task

        await clock.sleep(0.01)
        assert clock.monotonic() - seconds >= 0.009
        drawn = [clock.random() for _ in range(20)]
        assert all(0 <= each < 1 for each in drawn)
        assert len(set(drawn)) > 10

    ask(asked)
