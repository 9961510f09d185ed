"""What every test session has: a database, and the coverage of the forge's descriptions."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from hypothesis import settings

from bot.store.embedded.server import EmbeddedPostgres
from tests.contract.coverage import CoveragePlugin
from tests.databases import create_database

# The same examples in every run: a change is to blame for what it breaks, and not for what was
# there before. `pytest --hypothesis-profile=search` looks for more. How long an example takes says
# more about the machine than about us.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("same")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin that collects and prints the coverage."""
    config.pluginmanager.register(CoveragePlugin(), "contract-coverage")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that it does not run alone at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="module", autouse=True)
def _policy_engines_end() -> Iterator[None]:
    """A policy engine may be dropped by the thread that made it alone; a collection is in any."""
    yield
    if "regorus" in sys.modules:
        gc.collect()


def pytest_collection_finish() -> None:
    """Spare the collector thousands of tests, which live as long as the session."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """One server for all tests of a process, without guards against a crash of the machine."""
    with EmbeddedPostgres() as server:
        yield server


@pytest.fixture(scope="session")
def _database(postgres: EmbeddedPostgres) -> str:
    with ThreadPoolExecutor(1) as thread:  # this one may have a loop of its own
        return thread.submit(asyncio.run, create_database(postgres.url, "test")).result()


@pytest.fixture
async def database_url(_database: str) -> AsyncIterator[str]:
    """The address of an empty database; emptying it takes a tenth of the time to make another."""
    yield _database
    async with await psycopg.AsyncConnection.connect(_database, autocommit=True) as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await connection.execute("DROP SCHEMA public CASCADE")
        await connection.execute("CREATE SCHEMA public")
