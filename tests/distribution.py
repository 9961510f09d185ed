"""How `make test` spreads tests over processes; given to pytest by `-p tests.distribution`.

Coverage of `cadlib` and `lifecycle` is measured in two processes: one has the tests about them, one
the stories in simulated time. Instrumented code takes up to a quarter longer, so the other
processes go without. They get whole modules, so that what a module sets up is set up once.
"""

import os
from collections.abc import Callable, Generator
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

ABOUT = (
    "tests/cadlib/",
    "tests/cases/",
    "tests/lifecycle/",
    "tests/bot/look/",
    "tests/bot/test_config.py",
    "tests/bot/upstream/",
)
"""Beginnings of the paths of tests about `cadlib` and `lifecycle`, and about what feeds them."""

REPEATING = (
    "tests/cadlib/test_hostile.py",
    "tests/cadlib/render/test_written.py",
    "tests/cadlib/yaml/test_real.py",
)
"""Of these: they run lines of other tests with thousands of inputs, and nothing measures more."""

MEASURED = ("tests about them", "simulated stories")
"""Units of work whose coverage counts."""

MEASURING = {f"gw{number}": name for number, name in enumerate(MEASURED)}
"""Names of the processes that get them."""

if os.environ.get("PYTEST_XDIST_WORKER", "gw0") not in MEASURING:
    os.environ.pop("SLIPCOVER_ENABLED", None)  # before its plugin looks: this one is imported first


def unit(test: str) -> str:
    """Name the unit of work that a test belongs to.

    Stories of GitLab are measured by those of GitHub: what `lifecycle` does is the same at both.

    Args:
        test: Its path from the root, and its name.

    Returns:
        One of `MEASURED`, or the path of its module; and "gitlab" for what is told there.
    """
    path, _, name = test.partition("::")
    if path.startswith("tests/stories/") and "[gitlab" in name:
        return f"{path} gitlab"
    return _of_module(path)


@cache
def _of_module(path: str) -> str:
    """Name the unit of work that a module belongs to."""
    if path.startswith(ABOUT) and path not in REPEATING:
        return MEASURED[0]
    if path.startswith("tests/stories/") and "real_parts" not in Path(path).read_text("utf-8"):
        return MEASURED[1]
    return path


class WholeModules(LoadScopeScheduling):  # type: ignore[misc]  # xdist tells no types
    """Each module is a unit of work, and what is measured together is one."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        """Give the next unit to a process; what is measured, to the one that measures it."""
        own = MEASURING.get(node.gateway.id)
        for name in MEASURED:
            if name in self.workqueue:
                self.workqueue.move_to_end(name, last=name != own)
        super()._assign_work_unit(node)

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        """Count up to three tests that are not done: nobody asks for more.

        xdist counts all, six times a test, and thousands of tests are one unit. Those that are not
        done are the last.
        """
        waiting = (
            not done
            for unit in reversed(workload.values())
            for done in reversed(unit.values())
            if not done
        )
        return sum(islice(waiting, 3))


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    """Give xdist ours, whose units are begun in the order of the tests."""
    config.option.loadscopereorder = False
    return WholeModules(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """Modules with a long test first, then stories, then all others: the end is not one's alone."""
    yield
    units = {item: unit(item.nodeid) for item in items}
    long = {units[item] for item in items if item.get_closest_marker("long") is not None}
    items.sort(key=lambda i: (units[i] not in long, not units[i].startswith("tests/stories/")))


def pytest_sessionstart(session: pytest.Session) -> None:
    """In a process of tests: send two messages a test in place of six, which nobody reads."""
    for plugin in session.config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor":  # execnet makes a class of its source
            plugin.sendevent = partial(_send_what_is_read, plugin.sendevent)


def _send_what_is_read(send: Callable[..., None], name: str, **event: Any) -> None:
    """Leave out that a test begins and ends, and that setting up and taking down passed."""
    report = event.get("data", {}) if name == "testreport" else {}
    passed = report.get("outcome") == "passed" and report.get("when") != "call"
    if name not in {"logstart", "logfinish"} and not passed:
        send(name, **event)
