"""A project that was just made is found soon, for one request a minute."""

import asyncio

from bot.forges.port import BotIdentity, ForgeBusyError, Repository
from bot.keys import Sweep, SweepKey
from bot.loop import newest
from bot.tasks import end
from lifecycle.identity import RepositoryId
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore

SERVED, LATER = RepositoryId("gitlab", 7), RepositoryId("gitlab", 8)
CHANGES = str(SweepKey(Sweep.CHANGES, "gitlab"))


class _Waiting(ManualClock):
    """Remembers how long each wait was."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await super().sleep(seconds)


class _Forges:
    """Says what was made last, and counts how often it was asked; None is an outage."""

    name = "gitlab"

    def __init__(self) -> None:
        self.made: RepositoryId | None = SERVED
        self.asked = 0

    async def identity(self) -> BotIdentity:
        return BotIdentity("porchbot", "porchbot@users.example", 99)

    async def newest(self) -> RepositoryId | None:
        self.asked += 1
        if self.made is None:
            raise ForgeBusyError("look for a new project", "502")
        return self.made


async def test_a_project_that_nobody_told_of_is_swept_within_a_minute_or_so() -> None:
    """Short-cuts refused: the list of all projects is read each time; one that is never served (it
    has no code) is told again each minute; an outage ends the watch."""
    clock, forges = _Waiting(), _Forges()
    store = MemoryStore(clock)
    at = Repository(
        id=SERVED,
        full_name="acme/a",
        default_branch="main",
        clone_url="http://127.0.0.1:9/a.git",
        installation=99,
        installed_at=clock.now(),
    )
    await store.repositories.adopt(at, clock.now(), {})
    watching = asyncio.create_task(newest.watch(forges, store, 900, clock))

    async def asked(times: int) -> bool:
        """Whether a sweep was asked for when the forge was asked so often more."""
        before = forges.asked
        while forges.asked < before + times:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        taken = await store.queue.take("1")
        return taken is not None and taken.key == CHANGES and await store.queue.done(taken)

    assert not await asked(3)
    assert [each for each in clock.waits if each and not 54 <= each <= 66] == []
    forges.made = None
    assert not await asked(2)
    forges.made = LATER
    assert await asked(2)
    assert not await asked(3)

    await end([watching])
