"""How `make test` spreads tests over processes; given to pytest by `-p tests.distribution`.

Coverage of `cadlib` and `lifecycle` is measured in one process, which has the tests about them and
the stories that run most of what those do not. Instrumented code takes an eighth longer, so the
other processes go without. They get whole modules, so that what a module sets up is set up once.

"""

import os
from collections.abc import Generator
from itertools import islice
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
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

STORIES = tuple(
    f"tests/stories/test_{name}.py"
    for name in (
        *("access", "bad_commands", "checks", "drafts", "extends", "guide_variants"),
        *("open_drafts", "permissions", "stranger", "upstream_away", "upstream_users"),
        *("upstreams", "variants_circles", "variants_outside", "variants_removed"),
        *("variants_waiting", "withdrawal"),
    )
)
"""All others together add 0.2 % to the lines of `lifecycle` that are run."""

MEASURED = "measured tests"
"""The unit of work whose coverage counts."""

MEASURING = "gw0"
"""The process that gets it."""

if os.environ.get("PYTEST_XDIST_WORKER", MEASURING) != MEASURING:
    os.environ.pop("SLIPCOVER_ENABLED", None)  # before its plugin looks: this one is imported first


def unit(test: str) -> str:
    """Name the unit of work that a test belongs to.

    Stories of GitLab are measured by those of GitHub: what `lifecycle` does is the same at both.

    Args:
        test: Its path from the root, and its name.

    Returns:
        `MEASURED`, or the path of its module; and "gitlab" for what is told there.
    """
    path, _, name = test.partition("::")
    if path.startswith("tests/stories/") and "[gitlab" in name:
        return f"{path} gitlab"
    about = path.startswith(ABOUT) and path not in REPEATING
    return MEASURED if about or path in STORIES else path


class WholeModules(LoadScopeScheduling):  # type: ignore[misc]  # xdist tells no types
    """Each module is a unit of work, and what is measured together is one."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        """Give the next unit to a process; what is measured, to the one that measures it."""
        if MEASURED in self.workqueue:
            self.workqueue.move_to_end(MEASURED, last=node.gateway.id != MEASURING)
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


if "PYTEST_XDIST_WORKER" in os.environ:

    def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a test, and tell what somebody reads: two messages a test in place of six.

        Nobody reads that a test begins and ends, nor that setting up and taking down passed.
        """
        for report in runtestprotocol(item, log=False, nextitem=nextitem):
            if report.when == "call" or not report.passed:
                item.ihook.pytest_runtest_logreport(report=report)
        return True
