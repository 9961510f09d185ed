"""The store in PostgreSQL, put together from its parts.

The database is never the truth about a proposal (docs/design.md, "Where the truth is"): lose it,
and the forge, git and our signed records say everything again.
"""

from types import TracebackType

from psycopg.errors import UndefinedTable

from bot.store.audit import PostgresAudit
from bot.store.budgets import PostgresBudgets
from bot.store.claims import PostgresClaims
from bot.store.database import CONNECTIONS, PATIENCE, Database
from bot.store.deliveries import PostgresDeliveries
from bot.store.migrations import STEPS
from bot.store.notify import Notifications
from bot.store.port import (
    Audit,
    Budgets,
    Claims,
    Deliveries,
    Proposals,
    Queue,
    Renderings,
    Replicas,
    Repositories,
    Revisions,
    Sweeps,
    UpstreamUses,
    VariantWaits,
    Waits,
)
from bot.store.proposals import PostgresProposals
from bot.store.queue import PostgresQueue
from bot.store.renderings import PostgresRenderings
from bot.store.replicas import PostgresReplicas
from bot.store.repositories import PostgresRepositories
from bot.store.revisions import PostgresRevisions
from bot.store.sweeps import PostgresSweeps
from bot.store.upstreams import PostgresUpstreamUses
from bot.store.values import StoreError
from bot.store.variant_waits import PostgresVariantWaits
from bot.store.waits import PostgresWaits


class PostgresStore:
    """The store in PostgreSQL; used as an asynchronous context.

    Deliveries have half of the connections: looks go on beside any flood of them.

    Args:
        url: Its address, for libpq.
        connections: Most connections; at least 2.
        patience: Seconds to get a connection when it is one's turn.
    """

    def __init__(
        self, url: str, connections: int = CONNECTIONS, *, patience: float = PATIENCE
    ) -> None:
        self._database = Database(url, connections, patience)
        self._notifications = Notifications(self._database)
        self._work = PostgresQueue(self._database, self._notifications)
        self.queue: Queue = self._work
        self.deliveries: Deliveries = PostgresDeliveries(
            self._database, self._notifications, max(1, connections // 2 - 1)
        )
        self.repositories: Repositories = PostgresRepositories(self._database)
        self.upstreams: UpstreamUses = PostgresUpstreamUses(self._database)
        self.revisions: Revisions = PostgresRevisions(self._database)
        self.proposals: Proposals = PostgresProposals(self._database)
        self.sweeps: Sweeps = PostgresSweeps(self._database)
        self.waits: Waits = PostgresWaits(self._database)
        self.variant_waits: VariantWaits = PostgresVariantWaits(self._database)
        self.replicas: Replicas = PostgresReplicas(self._database)
        self.claims: Claims = PostgresClaims(self._database)
        self.budgets: Budgets = PostgresBudgets(self._database)
        self.renderings: Renderings = PostgresRenderings(self._database)
        self.audit: Audit = PostgresAudit(self._database)

    async def __aenter__(self) -> "PostgresStore":
        await self._database.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._work.drain()
        await self._notifications.drain()
        await self._database.close()

    async def check(self) -> None:
        """Ask whether it has the tables that this version reads.

        Raises:
            StoreError: The database does not answer, or has had fewer migrations.
        """
        try:
            (done,) = await self._database.one("SELECT count(*) FROM migration")
        except UndefinedTable:
            done = 0
        if done < len(STEPS):
            raise StoreError(
                f"The database has had {done} of {len(STEPS)} migrations: it was put back to what "
                "it was before. Start the bot again, which brings its tables up to date."
            )
