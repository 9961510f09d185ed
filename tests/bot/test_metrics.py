"""The metrics: named by Prometheus' rules, with few values for each label, each explained."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import REGISTRY, generate_latest

from bot import metrics
from bot.http import web
from bot.store.values import Backlog

assert web  # whatever the bot counts is registered

PAGE = Path(__file__).resolve().parents[2] / "docs/operate/watching.md"
ROW = re.compile(r"^\| `(porchbot_\w+)` \| (\w+) \|(.*?)\| (.+) \|$", re.MULTILINE)

LABELS = {"version", "outcome", "kind", "state", "step", "why", "status", "resource", "forge"} | {
    "sweep",
    "reason",
}
"""Each has few values, whatever people do: a new one is thought about here."""

RUNNERS = "porchbot_function_"
"""Of the function runner, whose page is docs/runner.md: there, too, once a test has started one."""

PROMTOOL = shutil.which("promtool") or shutil.which("promtool", path=Path(sys.executable).parent)


def labels_of(name: str) -> tuple[str, ...]:
    """The labels that a metric is declared with; also of one that has not been counted yet."""
    collector = REGISTRY._names_to_collectors[name]
    return tuple(getattr(collector, "_labelnames", ()))


def declared() -> dict[str, tuple[str, str]]:
    """Name as scraped to type and labels, of every metric of the bot."""
    found = {}
    for family in REGISTRY.collect():
        if family.name.startswith("porchbot_") and not family.name.startswith(RUNNERS):
            suffix = {"counter": "_total", "info": "_info"}.get(family.type, "")
            kind = "gauge" if family.type == "info" else family.type
            labels = ("version",) if family.type == "info" else labels_of(family.name)
            told = ", ".join(f"`{label}`" for label in labels)
            found[f"{family.name}{suffix}"] = (kind, told)
    return found


def test_every_metric_is_on_the_page_and_the_page_names_no_other() -> None:
    """Short-cut refused: a page written once; a metric that is renamed stays on it for years."""
    told = {name: (kind, labels.strip()) for name, kind, labels, _ in ROW.findall(PAGE.read_text())}

    assert told == declared()


def test_names_say_what_is_measured_and_in_which_unit() -> None:
    """The rules of prometheus.io/docs/practices/naming, of which promtool checks some."""
    for name, (kind, _) in declared().items():
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", name), name
        assert not re.search(r"_(ms|millis|minutes|hours|kb|mb|percent)(_|$)", name), name
        assert name.endswith("_total") == (kind == "counter"), name
        assert kind != "histogram" or name.endswith("_seconds"), name


def test_labels_have_few_values() -> None:
    """Short-cut refused: a label for the repository; ten thousand of them end a Prometheus."""
    for name, (_, labels) in declared().items():
        assert set(re.findall(r"\w+", labels)) <= LABELS, name
    odd = Backlog.of({"proposal": Backlog(1, 1, 0, 0, 2.0), "made up": Backlog(1, 0, 0, 0, 0.0)})
    metrics.show(odd)

    def shown(kind: str, state: str) -> float | None:
        return REGISTRY.get_sample_value("porchbot_work_keys", {"kind": kind, "state": state})

    assert (shown("proposal", "due"), shown("other", "waiting"), shown("made up", "waiting")) == (
        *(1.0, 1.0),
        None,
    )
    metrics.show(Backlog.of({}))
    assert shown("proposal", "due") == 0.0  # the short-cut leaves what was, when nobody waits


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
def test_promtool_finds_nothing_to_say() -> None:
    checked = subprocess.run(
        [str(PROMTOOL), "check", "metrics"],
        input=generate_latest(REGISTRY),
        capture_output=True,
        check=False,
    )

    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


def _first_checks() -> tuple[float, float]:
    name = "porchbot_first_check_seconds"
    found = (REGISTRY.get_sample_value(f"{name}_{each}") for each in ("count", "sum"))
    count, total = (each or 0.0 for each in found)
    return count, total


def test_the_first_check_is_measured_once_and_from_the_webhook_on() -> None:
    """Short-cuts refused: from when the look began; and each check of a look."""
    count, total = _first_checks()

    metrics.look_began(5.0, 100.0)
    for now in (101.0, 102.0):
        metrics.check_written(now)
    metrics.look_began(None, 200.0)  # no webhook woke this one
    metrics.check_written(201.0)

    assert _first_checks() == (count + 1, total + 6.0)


def test_the_budget_is_the_least_of_any_installation_until_its_window_ends() -> None:
    """Short-cuts refused: the last answer's, whoever's it was; and one of an hour ago for ever."""
    now = 1_000.0
    budgets = metrics.RateLimitGauge(lambda: now)

    def said(left: int, reset: int, resource: str = "core") -> dict[str, str]:
        named = {"remaining": str(left), "reset": str(reset), "resource": resource}
        return {f"x-ratelimit-{name}": value for name, value in named.items()}

    budgets.told("one", said(4000, 2000))
    budgets.told("one", said(10, 2000))
    budgets.told("other", said(3000, 5000))
    budgets.told("other", said(70, 5000, "graphql"))
    budgets.told("other", said(1, 5000, "made-up"))
    budgets.told("other", {"x-ratelimit-remaining": "none"})
    before = budgets.least()
    now = 3_000.0

    assert before == {"core": 10, "graphql": 70}
    assert budgets.least() == {"core": 3000, "graphql": 70}
