"""One embedded PostgreSQL for a test run, one database for each test that asks for it."""

from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest

from bot.postgres import EmbeddedPostgres, create_database, drop_database


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """The server, without guards against a crash of the machine."""
    with EmbeddedPostgres() as server:
        yield server


@pytest.fixture
async def database_url(postgres: EmbeddedPostgres) -> AsyncIterator[str]:
    """The address of an empty database, gone after the test."""
    name = f"test_{uuid4().hex}"
    yield await create_database(postgres.url, name)
    await drop_database(postgres.url, name)
