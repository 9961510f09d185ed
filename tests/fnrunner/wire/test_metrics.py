"""What is counted of functions, and under which names."""

from pathlib import Path

import grpc.aio
import pytest
from prometheus_client import REGISTRY

from fnrunner.contract.errors import FunctionNotFoundError, FunctionStoppedError
from fnrunner.contract.run import FunctionOutcome
from fnrunner.wire import metrics
from tests.fnrunner.wire.test_service import Fixed, call, channel


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"porchbot_function_{name}", labels) or 0.0


def names() -> set[str]:
    return {
        sample.labels["function"]
        for metric in REGISTRY.collect()
        if metric.name.startswith("porchbot_function_")
        for sample in metric.samples
    }


async def counted(tmp_path: Path, image: str, does: FunctionOutcome | Exception) -> None:
    async with channel(tmp_path, Fixed(does)) as opened:
        try:
            await call(opened, image)
        except grpc.aio.AioRpcError as error:
            assert isinstance(does, Exception) or does.failed, error  # noqa: PT017 - it may fail


async def test_calls_are_counted_by_how_they_end(tmp_path: Path) -> None:
    """Short-cut: count answers, and forget the calls that got none."""
    image = "counted:v1"
    for does in (
        FunctionOutcome(b""),
        FunctionOutcome(b""),
        FunctionOutcome(b"", failed=True),
        FunctionStoppedError(image, "memory", "1 MiB"),
        KeyError("bug"),
    ):
        await counted(tmp_path, image, does)
    outcomes = {
        outcome: value("calls_total", function=image, outcome=outcome)
        for outcome in ("ok", "function_failed", "function_stopped", "runner_broken")
    }
    assert outcomes == {
        "ok": 2,
        "function_failed": 1,
        "function_stopped": 1,
        "runner_broken": 1,
    }
    assert value("failures_total", function=image) == 1
    assert value("seconds_count", function=image) == 5
    assert value("calls_now", function=image) == 0


async def test_names_that_are_no_functions_share_one(tmp_path: Path) -> None:
    """Short-cut: a label for whatever anybody asks for, which fills the memory."""
    before = value("calls_total", function="other", outcome="function_not_found")
    for number in range(20):
        image = f"nothing-{number}"
        await counted(tmp_path, image, FunctionNotFoundError(image))
    assert value("calls_total", function="other", outcome="function_not_found") == before + 20
    assert not [name for name in names() if name.startswith("nothing-")]


def test_names_are_bounded() -> None:
    known = metrics.FunctionLabels(most=2)
    for name in ("x" * 10_000, "a", "b", "c"):
        known.learn(name)
    assert [known.label(name) for name in ("a", "b", "c", "x" * 10_000)] == [
        "a",
        "b",
        "other",
        "other",
    ]


def test_a_caller_who_leaves_is_counted() -> None:
    before = value("calls_total", function="other", outcome="cancelled")
    with pytest.raises(KeyboardInterrupt), metrics.call("left"):
        raise KeyboardInterrupt
    assert value("calls_total", function="other", outcome="cancelled") == before + 1


def test_what_waits_and_runs_is_shown() -> None:
    def shown() -> tuple[float, float]:
        return value("queue", function="other"), value("running", function="other")

    before = shown()
    with metrics.waiting("unheard-of"), metrics.waiting("unheard-of"), metrics.running("too"):
        assert shown() == (before[0] + 2, before[1] + 1)
    assert shown() == before


def test_a_gauge_goes_down_where_it_went_up() -> None:
    """Short-cut: look the name up again at the end, when it may be known."""
    before = value("calls_now", function="other")
    with metrics.call("new-name") as answered:
        answered.outcome = metrics.OK
        assert value("calls_now", function="other") == before + 1
    assert value("calls_now", function="other") == before
    assert value("calls_now", function="new-name") == 0


def test_the_cache_is_counted() -> None:
    """Short-cut: know a function once it has run; what is kept on disk ran in another process."""
    metrics.cache_miss("kept")
    metrics.cache_hit("kept")
    metrics.cache_hit("kept")
    metrics.cache_miss("kept")
    assert value("cache_hits_total", function="kept") == 2
    assert value("cache_misses_total", function="kept") == 2
