"""The loop for real I/O that runs inside a drawn one."""

import asyncio

import pytest

from tests.simulation.inner_loop import InnerLoop


async def test_waiting_is_done_inside_a_loop_that_goes_on() -> None:
    """The short-cut leaves the other loop running: what is made next belongs to the wrong one."""
    outer = asyncio.get_running_loop()

    async def work(number: int) -> int:
        await asyncio.sleep(0)
        first = asyncio.get_running_loop()
        told = await asyncio.gather(*(asyncio.sleep(0.001, number + n) for n in range(2)))
        assert asyncio.get_running_loop() is first is not outer
        return sum(told)

    with InnerLoop() as inner:
        assert [inner.wait(work(n)) for n in range(3)] == [1, 3, 5]
        assert asyncio.get_running_loop() is outer
        assert await asyncio.sleep(0, 7) == 7


async def test_errors_come_out_of_it_however_late() -> None:
    """The short-cut returns None for what failed after it had waited."""

    async def fails(waits: int) -> None:
        for _ in range(waits):
            await asyncio.sleep(0)
        raise ValueError(waits)

    async def caught() -> str:
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 0.001)
        except TimeoutError:
            return "late"
        return "early"

    with InnerLoop() as inner:
        for waits in range(3):
            with pytest.raises(ValueError, match=str(waits)):
                inner.wait(fails(waits))
        assert inner.wait(caught()) == "late"
