"""What contract tests have: each implementation of a port, one after the other."""

from collections.abc import AsyncIterator

import pytest

from tests.contract.stores import KINDS, Stored, opened


@pytest.fixture(params=KINDS)
def _kind(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A kind of store, and its address where it has one."""
    database = request.param == "postgresql"
    return request.param, request.getfixturevalue("database_url") if database else ""


@pytest.fixture
async def stored(_kind: tuple[str, str]) -> AsyncIterator[Stored]:
    async with opened(*_kind) as given:
        yield given
