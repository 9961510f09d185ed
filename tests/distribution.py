"""How `make test` spreads tests over processes; given to pytest by `-p tests.distribution`.

Coverage of `cadlib` and `lifecycle` is measured in one process, which has the tests about them and
the stories that run most of what those do not. Instrumented code takes an eighth longer, so the
other processes go without. They get whole modules, so that what a module sets up is set up once.

That process collects all tests; the others read its list, and collect a module when they get it: to
import all of them takes as long as thousands of tests.
"""

import os
import tempfile
from collections.abc import Generator, Iterable, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, overload

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

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """Take a process that collects later for one that collected the same."""
        super().add_node_collection(node, collection or self.collection or ())

    def remove_node(self, node: Any) -> str | None:
        """Give what a process has left to the others, but not the test that ended it, which failed.

        xdist gives them that one as well: it ends one after the other.
        """
        work = self.assigned_work.pop(node)
        left = {
            name: {test: False for test, done in tests.items() if not done}
            for name, tests in work.items()
            if not all(tests.values())
        }
        if not left:
            return None
        first = next(iter(left))
        ended: str = next(iter(left[first]))
        del left[first][ended]
        self.workqueue.update({name: tests for name, tests in left.items() if tests})
        for other in self.assigned_work:
            self._reschedule(other)
        return ended

    def _reschedule(self, node: Any) -> None:
        if node in self.registered_collections:  # one that has just been started has none yet
            super()._reschedule(node)

    def _check_nodes_have_same_collection(self) -> bool:
        """What one has collected is what all have; it is written down for them."""
        (whole,) = filter(None, self.registered_collections.values())
        Path(self.config.stash[LIST]).write_text("\0".join(whole), encoding="utf-8")
        for node in self.registered_collections:
            self.registered_collections[node] = whole
        return True

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


LIST = pytest.StashKey[str]()
"""Where the file is that names all tests, in the order of their numbers."""


def pytest_configure(config: pytest.Config) -> None:
    """Say where the list of tests is."""
    if hasattr(config, "workerinput"):
        config.stash[LIST] = config.workerinput["list"]
    else:
        number, config.stash[LIST] = tempfile.mkstemp(prefix="tests-")
        os.close(number)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process where the list is."""
    node.workerinput["list"] = node.config.stash[LIST]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Delete the list, when all have read it."""
    if not hasattr(config, "workerinput"):
        Path(config.stash[LIST]).unlink()


class ModuleLater(pytest.Module):
    """A module whose tests are collected when it is asked for the second time."""

    is_asked = False

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """None of its tests, at first; then all."""
        if self.is_asked:
            return super().collect()
        self.is_asked = True
        self.session.config.stash[MODULES][self.nodeid] = self
        return ()


MODULES = pytest.StashKey[dict[str, ModuleLater]]()
"""Those that were not asked for a second time."""


class CollectedLater(Sequence[pytest.Item]):
    """All tests by their numbers, each collected with its module when it is asked for.

    Args:
        session: Of a process that has collected nothing.
    """

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._modules = session.config.stash.setdefault(MODULES, {})
        self._collected: dict[str, pytest.Item] = {}
        session.perform_collect()

    @cached_property
    def _names(self) -> list[str]:
        return Path(self._session.config.stash[LIST]).read_text(encoding="utf-8").split("\0")

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, number: int) -> pytest.Item: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[pytest.Item]: ...

    def __getitem__(self, number: int | slice) -> pytest.Item | Sequence[pytest.Item]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        name = self._names[number]
        if name not in self._collected:
            module = self._modules.pop(name.partition("::")[0])
            items = list(self._session.genitems(module))
            config = self._session.config
            config.hook.pytest_collection_modifyitems(
                session=self._session, config=config, items=items
            )
            self._collected |= {item.nodeid: item for item in items}
        return self._collected[name]


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


if os.environ.get("PYTEST_XDIST_WORKER", MEASURING) != MEASURING:

    def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
        """Leave what is in a module for later."""
        made: pytest.Module = ModuleLater.from_parent(parent, path=module_path)
        return made

    def pytest_collection(session: pytest.Session) -> bool:
        """Collect folders, with their fixtures, and the names of modules."""
        items: Any = CollectedLater(session)
        session.items = items
        return True


if "PYTEST_XDIST_WORKER" in os.environ:

    def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a test, and tell what somebody reads: two messages a test in place of six.

        Nobody reads that a test begins and ends, nor that setting up and taking down passed.
        """
        for report in runtestprotocol(item, log=False, nextitem=nextitem):
            if report.when == "call" or not report.passed:
                item.ihook.pytest_runtest_logreport(report=report)
        return True
