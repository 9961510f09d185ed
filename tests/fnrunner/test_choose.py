"""What guards a call: who has the function, time, size, and the queue."""

import asyncio

import pytest

from fnrunner.builtin.lookup import PREFIXES, find
from fnrunner.builtin.pool import Builtin
from fnrunner.choose import FirstThatHas, QueueLimited, SizeLimited, TimeLimited, runners
from fnrunner.contract.errors import (
    FunctionNotFoundError,
    FunctionTimeoutError,
    MessageTooLargeError,
    RunnerBusyError,
)
from fnrunner.contract.run import FunctionOutcome
from fnrunner.settings import read

OURS = [
    "set-labels",
    "set-labels:v0.2",
    "set-labels:latest",
    "set-labels:unstable",
    "ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.5",
    "gcr.io/kpt-fn/set-namespace:v0.4.1",
    "gcr.io/kpt-fn-contrib/kubeconform:latest",
]
NOT_OURS = [
    "",
    "registry.corp/set-labels:v9",
    "registry.corp/set-labels:v0.2",
    "kpt-fn/set-labels:v0.2",
    "localhost:5000/set-labels",
    "set-labels:v0.1",
    "set-labels:v0.2.99",
    "set-labels:",
    "set-labels:v0.2:v0.2",
    "set-labels@sha256:7d89a74f106241391f687fc2985c8e6de597bb21f0d0014def5edc730618d9cc",
    "set-labels:v0.2@sha256:7d89a74f106241391f687fc2985c8e6de597bb21f0d0014def5edc730618d9cc",
    "Set-Labels:v0.2",
    "render-helm-chart:v0.2",
    " set-labels",
    "ghcr.io/kptdev/krm-functions-catalog-set-labels:v0.2",
]


@pytest.mark.parametrize("image", NOT_OURS)
def test_another_image_is_another_function(image: str) -> None:
    """Short-cut: go by the last part of the name."""
    with pytest.raises(FunctionNotFoundError) as caught:
        find(image)
    assert str(caught.value) == (
        f'function "{image}": no runner provides it. Check its registry, name and tag in the'
        " Kptfile."
    )


@pytest.mark.parametrize("image", OURS)
def test_the_catalog_is_ours(image: str) -> None:
    assert find(image)


def test_prefixes_are_what_they_are_said_to_be() -> None:
    mirrored = ["mirror.corp/catalog"]
    assert find("mirror.corp/catalog/set-labels:v0.2", mirrored)
    assert find("set-labels:v0.2", mirrored)
    with pytest.raises(FunctionNotFoundError):
        find(f"{PREFIXES[0]}set-labels:v0.2", mirrored)


class Fake:
    """A runner with one function, which takes its time."""

    def __init__(
        self,
        image: str = "f",
        seconds: float = 0.0,
        answer: bytes = b"",
        *,
        failed: bool = False,
    ) -> None:
        self._image, self._seconds, self._answer = image, seconds, answer
        self._failed = failed

    async def identity(self, image: str) -> str:
        if image != self._image:
            raise FunctionNotFoundError(image)
        return f"fake:{image}"

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        await self.identity(image)
        self.seconds = seconds
        await asyncio.sleep(self._seconds)
        return FunctionOutcome(self._answer or resources, log=self._image, failed=self._failed)


async def test_the_first_that_has_it_runs_it() -> None:
    both = FirstThatHas(Fake("a"), Fake("b"), Fake("b", answer=b"never"))
    assert await both.run("b", b"x") == FunctionOutcome(b"x", log="b")
    with pytest.raises(FunctionNotFoundError):
        await both.run("c", b"x")


async def test_time_runs_out() -> None:
    with pytest.raises(FunctionTimeoutError) as caught:
        await TimeLimited(Fake(seconds=30), 0.01).run("f", b"")
    assert str(caught.value) == (
        'function "f": it did not finish within 0.01 seconds.'
        " Give it fewer resources, or ask an operator for more time."
    )


@pytest.mark.parametrize(("given", "answer"), [(b"12345", b"1"), (b"1", b"12345")])
async def test_size_is_limited_both_ways(given: bytes, answer: bytes) -> None:
    """Short-cut: look at what comes in only."""
    with pytest.raises(MessageTooLargeError) as caught:
        await SizeLimited(Fake(answer=answer), 4).run("f", given)
    assert str(caught.value) == (
        'function "f": the resources take 5 bytes, at most 4 are allowed.'
        " Split the package, or ask an operator for a higher limit."
    )


async def test_what_a_failed_function_left_is_cut_later_and_not_refused() -> None:
    """Short-cut: refuse whatever is too large, and with it the reason why the function failed."""
    limited = SizeLimited(Fake(answer=b"12345", failed=True), 4)
    assert (await limited.run("f", b"1")).resources == b"12345"


async def test_time_is_the_callers_where_he_has_less() -> None:
    """Short-cut: tell the function the runner's limit, whoever waits."""
    inner = Fake()
    limited = TimeLimited(inner, 30)
    for given, told in ((None, 30), (5.0, 5.0), (300.0, 30)):
        await limited.run("f", b"", seconds=given)
        assert inner.seconds == told
    with pytest.raises(FunctionTimeoutError, match=r"within 0\.01 seconds"):
        await TimeLimited(Fake(seconds=30), 30).run("f", b"", seconds=0.01)


async def test_a_full_queue_sends_the_next_away_at_once() -> None:
    """Short-cut: let everybody wait until time runs out."""
    queue = QueueLimited(Fake(seconds=30), running=1, waiting=1)
    waiting = [asyncio.ensure_future(queue.run("f", b"")) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(RunnerBusyError) as caught:
        await queue.run("f", b"")
    assert str(caught.value) == 'function "f": 2 calls are ahead of it. Try again in 1 seconds.'
    assert caught.value.retry_after == 1.0
    for call in waiting:
        call.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert await QueueLimited(Fake(), running=1, waiting=0).run("f", b"x")


async def test_who_waits_is_let_in_in_order_and_told_what_time_is_left() -> None:
    """Short-cut: count calls and run all at once; or give each its whole time when it begins."""
    fake = Fake(seconds=0.02)
    queue = QueueLimited(fake, running=1, waiting=9)
    ended: list[int] = []

    async def call(number: int) -> None:
        await queue.run("f", b"", seconds=600)
        ended.append(number)

    await asyncio.gather(*(call(number) for number in range(5)))
    assert ended == [0, 1, 2, 3, 4]
    assert fake.seconds is not None
    assert 0 < fake.seconds < 599.95


LIST = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"


async def test_everything_is_guarded() -> None:
    settings = read(b"version: 1\nruntimes: [builtin]\ncalls: {message: 100}", "runner.yaml")
    async with runners(settings) as guarded:
        with pytest.raises(MessageTooLargeError):
            await guarded.run("set-labels", b"x" * 101)
        with pytest.raises(FunctionNotFoundError):
            await guarded.run("render-helm-chart", LIST)
        first = await guarded.run("no-op", LIST)
        assert first.digest.startswith("builtin:no-op/1@")
        assert await guarded.identity("no-op:latest") == first.digest
        assert await guarded.run("no-op", LIST) is first  # kept


async def test_calls_that_wait_for_what_their_names_mean_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Short-cut: bound those that wait for their turn, while thousands wait for a registry."""
    known = asyncio.Event()

    async def late(self: Builtin, image: str) -> str:
        await known.wait()
        return f"builtin:{image}@1"

    monkeypatch.setattr(Builtin, "identity", late)
    settings = read(
        b"version: 1\nruntimes: [builtin]\ncalls: {running: 1, waiting: 1}", "runner.yaml"
    )
    async with runners(settings) as guarded:
        calls = [asyncio.ensure_future(guarded.run("no-op", LIST)) for _ in range(9)]
        with pytest.raises(RunnerBusyError, match="8 calls are ahead of it") as caught:
            await asyncio.wait_for(calls.pop(), 60)
        assert caught.value.retry_after > 0
        known.set()
        for call in calls:
            assert (await call).resources


async def test_porchs_names_mean_builtin_functions() -> None:
    porch = b"""
apiVersion: config.porch.kpt.dev/v1alpha1
kind: FunctionConfig
spec:
  image: nothing
  prefixes: [registry.corp/fns]
  goExecutor: {id: no-op, tags: ["~7.1"]}
---
version: 1
runtimes: [builtin]
"""
    async with runners(read(porch, "runner.yaml")) as both:
        assert (await both.run("registry.corp/fns/nothing:v7.1.3", LIST)).digest.startswith(
            "builtin:no-op/1@"
        )
        with pytest.raises(FunctionNotFoundError):
            await both.run("registry.corp/fns/nothing:v7.2.0", LIST)
