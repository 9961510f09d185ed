"""Work that is done once for all who wait for it."""

import asyncio
from collections.abc import Callable, Iterator
from threading import Event

import pytest

from fnrunner.contract.errors import RunnerBusyError
from fnrunner.images.once import SingleFlight, Stop

ENDING = "the runner: it is being stopped. Try again in 1 seconds."


class Slow:
    """Work that ends when it is let go."""

    def __init__(self) -> None:
        self.done = 0
        self.began = Event()
        self.let_go = Event()

    def __call__(self) -> int:
        self.began.set()
        assert self.let_go.wait(60)
        self.done += 1
        return self.done


@pytest.fixture
def once() -> Iterator[SingleFlight]:
    made = SingleFlight(1, "test")
    yield made
    made.close()


async def test_who_asks_at_the_same_time_gets_the_same(once: SingleFlight) -> None:
    """Short-cut: do it for each; or keep the answer for ever."""
    work = Slow()
    asked = [asyncio.ensure_future(once.do("a", work)) for _ in range(3)]
    await asyncio.to_thread(work.began.wait, 60)
    work.let_go.set()

    assert await asyncio.gather(*asked) == [1, 1, 1]
    assert await once.do("a", work) == 2


async def test_it_goes_on_without_who_asked_first(once: SingleFlight) -> None:
    """Short-cut: end the work with its first caller, whoever else waits."""
    work = Slow()
    first = asyncio.ensure_future(once.do("a", work))
    await asyncio.to_thread(work.began.wait, 60)
    second = asyncio.ensure_future(once.do("a", work))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    work.let_go.set()

    assert await second == 1


async def test_its_error_is_for_all_and_is_not_kept(once: SingleFlight) -> None:
    def fail() -> int:
        raise ValueError("no luck")

    for _ in range(2):
        found = await asyncio.gather(
            *(once.do("a", fail) for _ in range(2)), return_exceptions=True
        )
        assert list(map(str, found)) == ["no luck", "no luck"]


async def test_what_is_closed_says_so() -> None:
    """Short-cut: who waits for his turn is told that he was cancelled, though nobody did that."""
    once, work = SingleFlight(1, "test"), Slow()
    running = asyncio.ensure_future(once.do("a", work))
    await asyncio.to_thread(work.began.wait, 60)
    waiting = asyncio.ensure_future(once.do("b", work))
    await asyncio.sleep(0)
    closing = asyncio.ensure_future(asyncio.to_thread(once.close))
    with pytest.raises(RunnerBusyError) as caught:
        await waiting
    assert str(caught.value) == ENDING
    work.let_go.set()

    assert await running == 1
    await closing
    with pytest.raises(RunnerBusyError) as caught:
        await once.do("c", work)
    assert str(caught.value) == ENDING


async def until(what: Callable[[], bool]) -> None:
    while not what():
        await asyncio.sleep(0.005)


async def test_what_nobody_waits_for_is_not_begun_and_what_has_begun_is_told() -> None:
    """Short-cut: let all of it go on, though its callers went away long ago."""
    once, stop, slow, never = SingleFlight(1, "test"), Stop(), Slow(), Slow()
    stop.calls(slow.let_go.set)
    first = asyncio.ensure_future(once.do("a", slow, stop=stop))
    await asyncio.to_thread(slow.began.wait, 60)
    second = asyncio.ensure_future(once.do("b", never))
    await asyncio.sleep(0)
    for each in (second, first):
        each.cancel()
    await asyncio.gather(first, second, return_exceptions=True)

    assert stop.set
    assert await once.do("c", lambda: "the next") == "the next"
    assert (slow.done, never.began.is_set()) == (1, False)
    await asyncio.to_thread(once.close)


async def test_one_host_does_not_take_all_threads() -> None:
    once, slow = SingleFlight(2, "test", each=1), Slow()
    waiting = [
        asyncio.ensure_future(once.do(f"{number}", slow, host="slow")) for number in range(9)
    ]
    await asyncio.to_thread(slow.began.wait, 60)

    assert await once.do("quick", lambda: "done", host="quick") == "done"
    slow.let_go.set()
    assert sorted(await asyncio.gather(*waiting)) == list(range(1, 10))
    once.close()


async def test_it_goes_on_for_who_was_told_to_come_again() -> None:
    """Short-cut: stop it with whoever waits no longer; what takes long is never done then."""
    once, slow, stop = SingleFlight(1, "test", linger=60.0), Slow(), Stop()
    with pytest.raises(TimeoutError):
        await once.do("a", slow, stop=stop, seconds=0.01)
    again = asyncio.ensure_future(once.do("a", Slow()))
    await asyncio.sleep(0)
    slow.let_go.set()

    assert await again == 1
    assert not stop.set
    once.close()


async def test_it_does_not_go_on_for_ever() -> None:
    """Short-cut: whoever is told to come again holds a thread until the work ends by itself."""
    once = SingleFlight(1, "test", linger=0.02)
    for seconds in (0.01, 1, 30):  # on a busy machine it may be over before it begins
        slow, stop = Slow(), Stop()
        stop.calls(slow.let_go.set)
        with pytest.raises(TimeoutError):
            await once.do("a", slow, stop=stop, seconds=seconds)
        if slow.began.is_set():
            break
    await asyncio.wait_for(until(lambda: slow.done == 1), 60)
    assert stop.set
    once.close()
