"""For whom a look asks the forge."""

from pathlib import Path
from typing import cast

from bot.forges.budget import RequestPurpose, asker_now
from bot.forges.port import ForgeBusyError, Forges
from bot.git.mirror import DiskMirrors
from bot.keys import InstallationsKey
from bot.loop.controller import Controller
from bot.loop.work import Failed, WorkItem
from bot.store.hints import NOTHING
from lifecycle.identity import GITHUB
from lifecycle.kinds import Urgency
from tests.memory.clock import ManualClock
from tests.memory.renderer import MemoryRenderer
from tests.memory.store import MemoryStore


class _Forges:
    """Remembers who asked."""

    name = GITHUB

    def __init__(self) -> None:
        self.askers: list[RequestPurpose] = []

    async def installations(self) -> None:
        self.askers.append(asker_now())
        raise ForgeBusyError("list the installations", "it is away")


async def test_each_key_asks_the_forge_for_itself(tmp_path: Path) -> None:
    """Short-cut refused: for its repository alone, so that one proposal uses up all of it."""
    forges, store = _Forges(), MemoryStore(ManualClock())
    mirrors = DiskMirrors(tmp_path)
    controller = Controller(
        cast(Forges, forges), mirrors, MemoryRenderer(), store, [b"key"], "porchbot"
    )

    result = await controller.work(WorkItem(InstallationsKey(GITHUB), NOTHING, 0))

    assert isinstance(result, Failed)
    assert forges.askers == [
        RequestPurpose("github:app", Urgency.LATER, "github:app:installations")
    ]
