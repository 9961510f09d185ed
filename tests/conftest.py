"""What every test session has: a database, and the coverage of the forge's descriptions."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import settings

from bot import logs
from bot.store.embedded.server import EmbeddedPostgres
from bot.store.migrations import migrate
from tests.contract.coverage import CoveragePlugin
from tests.databases import (
    copy_cluster,
    create_database,
    delete_rows,
    delete_tables,
    new_cluster,
)

# The same examples in every run: a change is to blame for what it breaks, and not for what was
# there before. `pytest --hypothesis-profile=search` looks for more. How long an example takes says
# more about the machine than about us.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("same")

# Forges and registries of tests are on this machine: no proxy of the environment is asked for them.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Stories in simulated time can be told with all the real parts as well."""
    words = "tell every story with HTTP, PostgreSQL, git and processes"
    forges = ("github", "gitlab")
    parser.addoption("--forge", choices=forges, help="where every story is told")
    parser.addoption("--real-stories", action="store_true", help=words)


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin that collects and prints the coverage."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell without job control starts what is in its background so, and what tests start
        # would inherit it: Ctrl-C then ends nothing.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(CoveragePlugin(), "contract-coverage")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that it does not run alone at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session", autouse=True)
def _logs() -> None:
    """Logs as the bot writes them, whatever ran before in this process."""
    logs.configure()


@pytest.fixture(scope="module", autouse=True)
def _policy_engines_end(request: pytest.FixtureRequest) -> Iterator[None]:
    """A policy engine may be dropped by the thread that made it alone; a collection is in any.

    So modules that make some collect them: those of functions, and the first that loads the engine.
    """
    loaded = "regorus" in sys.modules
    yield
    makes = request.node.nodeid.startswith(("tests/fnrunner/", "tests/cadlib/test_hostile"))
    if "regorus" in sys.modules and (makes or not loaded):
        gc.collect()
        gc.freeze()  # what is left of it lives long: the next collection need not look at it


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the collector what is imported, and thousands of tests: both live till the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(400_000, 20, 100)  # a tenth of the usual number of collections, or less
        gc.enable()


def pytest_sessionfinish() -> None:
    """Collect what the tests left, once: pytest does so five times, over all that is alive."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data of a new server, which every process of this run copies."""
    own = tmp_path_factory.getbasetemp()
    return new_cluster(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.fixture(scope="session")
def postgres(cluster: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """One server for all tests of a process, without guards against a crash of the machine."""
    folder = tmp_path_factory.mktemp("postgres")
    copy_cluster(cluster, folder)
    with EmbeddedPostgres(folder, keep=False) as server:
        yield server


@pytest.fixture
def server_folder(cluster: Path, tmp_path: Path) -> Iterator[Path]:
    """A folder for a server of the test's own, which finds new data there."""
    folder = tmp_path / "pg"
    copy_cluster(cluster, folder)
    yield folder
    moved = folder / "moved"
    if moved.exists():
        shutil.rmtree(moved.read_text().strip(), ignore_errors=True)


@pytest.fixture(scope="session")
def _databases(postgres: EmbeddedPostgres) -> tuple[str, str]:
    async def make() -> tuple[str, str]:
        bare = await create_database(postgres.url, "bare")
        migrated = await create_database(postgres.url, "migrated")
        await migrate(migrated)
        return bare, migrated

    with ThreadPoolExecutor(1) as thread:  # this one may have a loop of its own
        return thread.submit(asyncio.run, make()).result()


@pytest.fixture
async def database_url(_databases: tuple[str, str]) -> AsyncIterator[str]:
    """The address of a database that has the tables of today, and no rows."""
    yield _databases[1]
    await delete_rows(_databases[1])


@pytest.fixture
async def bare_database_url(_databases: tuple[str, str]) -> AsyncIterator[str]:
    """The address of a database without tables."""
    yield _databases[0]
    await delete_tables(_databases[0])
