"""What the operator is shown: the queue, what waits and since when, what fails, who is there."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from bot.clock import Clock
from bot.http.ready import Readiness
from bot.store.port import Store
from bot.store.values import Backlog, Failing, Replica, Rested, Waiting

PAGE = 50
"""Proposals on a page."""


MOST_BUDGETS = 20
"""Budgets that are shown, of whose share the least is left."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What one installation may still ask of the forge, all processes together.

    Attributes:
        account: Whose, such as "github:3".
        bucket: Which limit (docs/operate/limits.md).
        left: How much is left; 0 in a pause that the forge asked for.
        size: How much it holds.
    """

    account: str
    bucket: str
    left: float
    size: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """All of it at one moment.

    Attributes:
        at: The moment.
        needs: What this process needs, each "ok" or what is wrong.
        queue: How much work there is.
        failing: Keys whose last look failed, longest first; at most 100.
        reasons: Reason to how many proposals wait for it, most first.
        waiting: A page of the proposals that wait.
        more: The place after which the next page begins; None on the last.
        replicas: The processes of the bot.
        sweeps: When each was last done, and comes again.
        budgets: What the forge still grants, the scarcest first.
    """

    at: datetime
    needs: Mapping[str, str]
    queue: Backlog
    failing: tuple[Failing, ...]
    reasons: Mapping[str, int]
    waiting: tuple[Waiting, ...]
    more: tuple[int, int] | None
    replicas: tuple[Replica, ...]
    sweeps: tuple[Rested, ...]
    budgets: tuple[Budget, ...]


async def read(
    store: Store, readiness: Readiness, clock: Clock, after: tuple[int, int] | None = None
) -> Board:
    """Read it, with one question to the database for each table.

    Args:
        store: The database.
        readiness: Of this process.
        clock: The time.
        after: Where the page of proposals begins.

    Raises:
        StoreError: The database cannot be reached.
    """
    waiting = await store.waits.page(after, PAGE + 1)
    counts = await store.waits.counts()
    return Board(
        at=clock.now(),
        needs=await readiness.read(),
        queue=await store.queue.backlog(),
        failing=await store.queue.failing(),
        reasons=dict(sorted(counts.items(), key=lambda each: (-each[1], each[0]))),
        waiting=waiting[:PAGE],
        more=waiting[PAGE - 1].place if len(waiting) > PAGE else None,
        replicas=await store.replicas.seen(),
        sweeps=await store.queue.rested(),
        budgets=await _scarcest(store),
    )


async def _scarcest(store: Store) -> tuple[Budget, ...]:
    left = await store.budgets.left()
    found = [Budget(*whose, *levels) for whose, levels in left.items()]
    found.sort(key=lambda each: (each.left / each.size if each.size else 0.0, each.account))
    return tuple(found[:MOST_BUDGETS])
