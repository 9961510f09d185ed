"""The store in memory: the same answers as PostgreSQL's, by a clock that is given."""

from copy import copy, deepcopy

from bot.clock import SYSTEM, Clock
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
from tests.memory.budgets import MemoryBudgets
from tests.memory.claims import MemoryClaims
from tests.memory.deliveries import MemoryDeliveries
from tests.memory.index import MemoryAudit, MemoryRepositories, MemoryRevisions, MemoryUpstreamUses
from tests.memory.proposals import MemoryProposals
from tests.memory.renderings import MemoryRenderings
from tests.memory.replicas import MemoryReplicas
from tests.memory.statements import Statements
from tests.memory.sweeps import MemorySweeps
from tests.memory.waits import MemoryVariantWaits, MemoryWaits
from tests.memory.work import MemoryQueue


class MemoryStore:
    """`bot.store.port.Store`; replicas share one.

    Each statement lets other tasks run before it begins, and is then done without a pause: as
    transactions do, they come one after another, in an order that the event loop draws.

    Args:
        clock: The time by which leases end and keys are due.

    Attributes:
        statements: Says when it is away.
        work: Its queue, with what only stories and simulations may see.
    """

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self.statements = Statements(clock)
        repositories = MemoryRepositories(self.statements)
        queue = MemoryQueue(self.statements, lambda id_: repositories.names.get(id_, ""))
        self.queue: Queue = queue
        self.work = queue
        self.deliveries: Deliveries = MemoryDeliveries(
            self.statements,
            queue,
            repositories.served,
            lambda id_: repositories.names.get(id_, ""),
        )
        self.repositories: Repositories = repositories
        self.keep_names_only = repositories.keep_names_only
        self.move_adoption = repositories.move_adoption
        self.upstreams: UpstreamUses = MemoryUpstreamUses(self.statements, repositories)
        self.revisions: Revisions = MemoryRevisions(self.statements)
        proposals = MemoryProposals(self.statements)
        self.proposals: Proposals = proposals
        self.lose_open = proposals.lose_open
        self.sweeps: Sweeps = MemorySweeps(self.statements, repositories, proposals)
        self.waits: Waits = MemoryWaits(
            self.statements, lambda id_: repositories.names.get(id_, ""), repositories.served
        )
        self.variant_waits: VariantWaits = MemoryVariantWaits(self.statements)
        self.replicas: Replicas = MemoryReplicas(self.statements)
        self.claims: Claims = MemoryClaims(self.statements)
        self.budgets: Budgets = MemoryBudgets(self.statements)
        self.renderings: Renderings = MemoryRenderings(self.statements)
        self.audit: Audit = MemoryAudit(self.statements)

    def copied(self) -> "MemoryStore":
        """Another one that holds the same, as a copy of a database does; nobody hears of it yet."""
        made = MemoryStore(self.statements.clock)
        vars(made.statements)["_places"] = copy(vars(self.statements)["_places"])
        parts = vars(self).values()
        for name, part in vars(self).items():
            for each, value in getattr(part, "__dict__", {}).items():
                is_kept = each != "listeners" and not callable(value)
                if is_kept and not any(value is other for other in parts) and name != "statements":
                    setattr(vars(made)[name], each, deepcopy(value))
        return made
