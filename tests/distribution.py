"""How `make test` spreads tests over processes; given to pytest by `-p tests.distribution`.

Coverage of `cadlib` and `lifecycle` is measured in two processes: one has their own tests, one the
stories in simulated time. Instrumented code takes up to a quarter longer, so the other processes go
without. They get whole modules, so that what a module sets up is set up once.
"""

import os
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

OWN = ("tests/cadlib/", "tests/cases/", "tests/lifecycle/", "tests/bot/test_config.py")
"""Beginnings of the paths of tests about nothing but `cadlib` and `lifecycle`."""

MEASURED = ("own tests", "simulated stories")
"""Units of work whose coverage counts, in the order of the processes that get them."""

if os.environ.get("PYTEST_XDIST_WORKER", "gw0") not in {f"gw{n}" for n in range(len(MEASURED))}:
    os.environ.pop("SLIPCOVER_ENABLED", None)  # before its plugin looks: this one is imported first


@cache
def unit(path: str) -> str:
    """Name the unit of work that a module of tests belongs to.

    Args:
        path: Of the module, from the root.

    Returns:
        One of `MEASURED`, or the path.
    """
    if path.startswith(OWN):
        return MEASURED[0]
    if path.startswith("tests/stories/") and "real_parts" not in Path(path).read_text("utf-8"):
        return MEASURED[1]
    return path


class WholeModules(LoadScopeScheduling):  # type: ignore[misc]  # xdist tells no types
    """Each module is a unit of work, and what is measured together is one."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid.partition("::")[0])


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    """Give xdist ours, whose units are begun in the order of the tests."""
    config.option.loadscopereorder = False
    return WholeModules(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """What is measured first; then modules with a long test, then stories, then all others."""
    yield
    units = {item: unit(item.nodeid.partition("::")[0]) for item in items}
    long = {units[item] for item in items if item.get_closest_marker("long") is not None}

    def place(item: pytest.Item) -> tuple[int, bool, bool]:
        found = units[item]
        measured = MEASURED.index(found) if found in MEASURED else len(MEASURED)
        return measured, found not in long, not found.startswith("tests/stories/")

    items.sort(key=place)
