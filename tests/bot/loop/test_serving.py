"""A repository is served where it is now, whoever was told that it moved."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from bot.forges.port import BotIdentity, Repository
from bot.loop.serving import NAME_KEPT, Serving
from lifecycle.identity import GITHUB, RepositoryId
from tests.ids import on_github
from tests.memory.clock import ManualClock
from tests.memory.git import MemoryMirrors
from tests.memory.renderer import MemoryRenderer
from tests.memory.store import MemoryStore


async def test_a_name_is_asked_for_again() -> None:
    """The short-cut keeps the name of the first day: another replica is told that a repository was
    renamed, or nobody, and git reads on at a name that somebody took over."""
    clock = ManualClock()
    now = Repository(
        id=on_github(7),
        full_name="acme/net",
        default_branch="main",
        clone_url="https://forge.example/acme/net.git",
        installation=1,
        installed_at=clock.now(),
        has_issues=False,
    )
    shown = [now]

    async def repository_by_id(_: RepositoryId, _installation: int) -> Repository:
        return shown[-1]

    async def identity() -> BotIdentity:
        return BotIdentity("porchbot", "bot@forge.example", 1)

    forge = SimpleNamespace(owners=None)
    forges: Any = SimpleNamespace(
        name=GITHUB, of=lambda _: forge, repository_by_id=repository_by_id, identity=identity
    )
    store = MemoryStore(clock)
    await store.repositories.adopt(now, clock.now(), {})
    serving = Serving(
        forges, MemoryMirrors({}, clock), MemoryRenderer(), store, [b"key"], "porchbot", clock=clock
    )

    async def called(told: str = "") -> str:
        return (await serving.of(now.id, told)).repository.full_name

    assert await called() == "acme/net"
    shown.append(replace(now, full_name="acme/core"))
    assert await called() == "acme/net"
    assert await called("acme/core") == "acme/core"
    shown.append(replace(now, full_name="acme/edge"))
    await clock.sleep(NAME_KEPT + 1)
    assert await called() == "acme/edge"
