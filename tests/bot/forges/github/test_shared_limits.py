"""Two replicas on one database, and a forge that counts: none is refused, or only the first."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.forges.budget import BudgetSpentError, RequestPurpose, asking
from bot.forges.github.app import AppClients
from bot.forges.github.http import Clients, call
from bot.forges.port import ForgeBusyError
from bot.sandbox.faults.calls import Faults
from bot.sandbox.rules.rate_limits import RateLimits
from bot.sandbox.serve import SandboxForge
from bot.store.postgres import PostgresStore
from lifecycle.kinds import Urgency
from tests.app_key import keys


@dataclass
class Two:
    """Two replicas at one installation.

    Attributes:
        faults: Of the forge.
        pools: Of each replica, with a token already.
        path: Of a repository.
    """

    faults: Faults
    pools: list[Clients]
    path: str

    async def read(self, pool: Clients) -> bool:
        """Ask once; whether it was answered."""
        with asking(RequestPurpose("github:1", Urgency.NORMAL)):
            try:
                await call(pool, "read it", "GET", self.path)
            except BudgetSpentError:
                return False
            return True


@pytest.fixture
async def two(tmp_path: Path, database_url: str) -> AsyncIterator[Two]:
    private, public = keys()
    async with AsyncExitStack() as stack:
        forge = stack.enter_context(SandboxForge(tmp_path / "forge"))
        forge.state.add_user("acme")
        repository = forge.state.add_repository("acme", "blueprints")
        app = forge.state.register_app("porchbot", public, owner="acme")
        number = forge.state.install(app, repository).id
        pools = []
        for _ in range(2):
            store = await stack.enter_async_context(PostgresStore(database_url, patience=60))
            clients = AppClients(forge.api_url, str(app.id), private, budgets=store.budgets)
            stack.callback(clients.close)
            await asyncio.to_thread(clients.installation_token, number)
            pools.append(clients.of(number))
        yield Two(forge.faults, pools, f"/repositories/{repository.id}")


async def test_two_replicas_use_up_an_hour_and_none_is_refused(two: Two) -> None:
    """Two short-cuts: each believes that it is alone; what is under way is not counted."""
    two.faults.limits = limits = RateLimits(hour=200)
    began = datetime.now(UTC).hour

    asked = [two.read(pool) for _ in range(150) for pool in two.pools]
    answered = sum(await asyncio.gather(*asked))

    hours = 1 + (datetime.now(UTC).hour != began)  # another one may begin meanwhile
    assert limits.refused == 0
    assert 100 < answered <= 200 * hours


async def test_one_replica_is_told_to_wait_and_both_do(two: Two) -> None:
    """The short-cut waits where it was told: the other one goes on, and gets the App banned."""
    one, other = two.pools
    assert await two.read(one)
    assert await two.read(other)
    two.faults.limits = limits = RateLimits(points=0)
    with pytest.raises(ForgeBusyError, match="secondary rate limit"):
        await two.read(one)
    mark = two.faults.mark()

    assert not await two.read(other)
    assert not await two.read(one)

    assert (limits.refused, two.faults.calls(since=mark)) == (1, [])
