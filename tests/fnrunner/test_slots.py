"""Who gets a turn, and who a place to wait, where some bring more than all others."""

import asyncio
from collections.abc import Callable

import pytest

from fnrunner.choose import CrowdLimited, PreparingRunner, QueueLimited, TimeLimited
from fnrunner.contract.errors import FunctionTimeoutError, RunnerBusyError
from fnrunner.contract.run import CALL, CallContext, FunctionOutcome


class Endless:
    """A runner whose functions end when they are let go, but for those called "quick"."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()
        self.running: list[str] = []
        self.most = 0

    async def identity(self, image: str) -> str:
        return image

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        self.running.append(image)
        self.most = max(self.most, len(self.running))
        try:
            if not image.startswith("quick"):
                await self.let_go.wait()
        finally:
            self.running.remove(image)
        return FunctionOutcome(resources)


def called(
    runner: QueueLimited | CrowdLimited, image: str, caller: str
) -> asyncio.Task[FunctionOutcome]:
    async def call() -> FunctionOutcome:
        CALL.set(CallContext(caller))
        return await runner.run(image, b"")

    return asyncio.create_task(call())


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


CROWDS: dict[str, tuple[Callable[[int], str], Callable[[int], str]]] = {
    "one caller's scripts": (lambda _: "starlark:v0.5", lambda _: "mallory"),
    "one caller's functions": (lambda number: f"evil/f{number}:v1", lambda _: "mallory"),
    "one function by its tags": (lambda number: f"starlark:v0.{number}", lambda _: "mallory"),
    "one function for many": (lambda _: "starlark:v0.5", lambda number: f"mallory-{number}"),
}


@pytest.mark.parametrize("crowd", CROWDS)
@pytest.mark.parametrize(("running", "waiting"), [(1, 2), (2, 8), (4, 64)])
async def test_endless_scripts_leave_turns_for_others(
    crowd: str, running: int, waiting: int
) -> None:
    """Short-cut: first come, first served; a queue full of endless scripts serves nobody else."""
    image, caller = CROWDS[crowd]
    inner = Endless()
    queue = QueueLimited(inner, running=running, waiting=waiting)
    endless = [called(queue, image(number), caller(number)) for number in range(100)]
    await settled()

    for number in range(10):
        quick = called(queue, "quick:v1", "alice")
        assert await asyncio.wait_for(quick, 60) == FunctionOutcome(b""), number
    assert not any(each.done() and not each.exception() for each in endless)
    assert inner.most <= running + 2 * max(1, running // 4)
    inner.let_go.set()
    await asyncio.gather(*endless, return_exceptions=True)


@pytest.mark.parametrize(("image", "caller"), [("quick:v1", "mallory"), ("quick", "bob")])
async def test_another_function_or_another_caller_is_enough(image: str, caller: str) -> None:
    """Short-cut: go by one of the two; the bot asks for all people over one connection."""
    inner = Endless()
    queue = QueueLimited(inner, running=2, waiting=4)
    name = "quick-but-endless" if caller == "mallory" else "quick"
    endless = [called(queue, name.replace("quick", "slow"), "mallory") for _ in range(30)]
    await settled()
    assert await asyncio.wait_for(called(queue, image, caller), 60) == FunctionOutcome(b"")
    inner.let_go.set()
    await asyncio.gather(*endless, return_exceptions=True)


async def test_a_full_queue_has_a_place_for_who_has_fewer() -> None:
    """Short-cut: send the newcomer away, who has nothing there; or the one who waits longest."""
    inner = Endless()
    queue = QueueLimited(inner, running=1, waiting=3)
    crowd = [called(queue, "slow", "mallory") for _ in range(4)]  # one runs
    others = [called(queue, "other", "mallory"), called(queue, "slow", "bob")]  # by spare turns
    await settled()
    assert inner.running == ["slow", "other", "slow"]

    alice = called(queue, "slow", "alice")
    await settled()
    assert [each.done() for each in crowd] == [False, False, False, True]
    with pytest.raises(RunnerBusyError, match="4 calls are ahead of it"):
        crowd[3].result()
    with pytest.raises(RunnerBusyError):
        await called(queue, "slow", "mallory")
    inner.let_go.set()
    await asyncio.gather(alice, *crowd[:3], *others)


async def test_turns_go_to_who_has_fewest_and_then_in_order() -> None:
    inner = Endless()
    queue = QueueLimited(inner, running=4, waiting=9)
    ended: list[str] = []

    async def call(image: str, caller: str) -> None:
        CALL.set(CallContext(caller))
        await queue.run(image, b"")
        ended.append(caller)

    held = [called(queue, f"slow-{number}", f"c{number}") for number in range(6)]
    await settled()
    tasks = [
        asyncio.create_task(call("quick", each)) for each in ("c5", "c5", "new", "c5", "newer")
    ]
    await settled()
    inner.let_go.set()
    await asyncio.gather(*held, *tasks)
    assert ended[:2] == ["new", "newer"]


async def test_a_crowd_that_waits_for_registries_leaves_places() -> None:
    inner = Endless()
    crowd = CrowdLimited(inner, 8)
    many = [called(crowd, f"evil/{number}", "mallory") for number in range(20)]
    await settled()
    assert await called(crowd, "quick", "alice") == FunctionOutcome(b"")
    inner.let_go.set()
    found = await asyncio.gather(*many, return_exceptions=True)
    assert sum(isinstance(each, RunnerBusyError) for each in found) == 13


async def test_who_goes_away_gives_back_turn_and_place() -> None:
    inner = Endless()
    queue = QueueLimited(inner, running=1, waiting=1)
    for _ in range(5):
        both = [called(queue, "slow", "a") for _ in range(2)]
        await settled()
        for each in both:
            each.cancel()
        await asyncio.gather(*both, return_exceptions=True)
    assert inner.running == []
    assert await called(queue, "quick", "a") == FunctionOutcome(b"")


async def test_what_had_no_turn_was_not_too_slow() -> None:
    """Short-cut: tell its author that it takes too long, though it never ran."""
    inner = Endless()
    queue = QueueLimited(inner, running=1, waiting=9)
    guarded = TimeLimited(queue, 0.05)
    with pytest.raises(FunctionTimeoutError):
        await guarded.run("slow", b"")

    # The same caller and function: no spare turn. Without a limit: its turn does not end.
    holder = called(queue, "slow", "")
    await settled()
    with pytest.raises(RunnerBusyError) as found:
        await guarded.run("slow", b"")
    assert str(found.value) == (
        'function "slow": no slot became free within 0.05 seconds. Try again in 1 seconds.'
    )
    inner.let_go.set()
    await holder


async def test_what_is_brought_needs_no_turn_yet() -> None:
    """Short-cut: bring an image within a turn; one slow registry stands in all others' way."""
    inner, coming = Endless(), asyncio.Event()

    async def ready(image: str, seconds: float | None) -> None:
        if image == "quick-but-far":
            await coming.wait()

    runner = PreparingRunner(QueueLimited(inner, running=1, waiting=1), ready)
    far = [asyncio.create_task(runner.run("quick-but-far", b"")) for _ in range(9)]
    await settled()
    assert await runner.run("quick", b"") == FunctionOutcome(b"")
    assert not any(each.done() for each in far)
    coming.set()
    await asyncio.gather(*far, return_exceptions=True)
