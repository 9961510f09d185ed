"""Several forges in one process: each key goes to the controller of its forge."""

from bot import keys
from bot.keys import Key, PullKey, Sweep, SweepKey
from bot.loop.routed import Controllers
from bot.loop.work import Settled, WorkItem
from bot.store.hints import NOTHING
from lifecycle.identity import RepositoryId


class _Controller:
    """Notes what it is given."""

    def __init__(self) -> None:
        self.given: list[Key] = []

    async def work(self, work: WorkItem) -> Settled:
        self.given.append(work.key)
        return Settled(7)

    async def runner_is_back(self) -> None:
        raise AssertionError("not asked for here")


async def test_the_same_number_at_two_forges_is_two_repositories() -> None:
    """The short-cut hands a key to whichever controller comes first, which looks at its own 42."""
    served = {name: _Controller() for name in ("github", "gitlab", "gitlab-eu")}
    both = Controllers(served)
    given: list[Key] = [
        PullKey(RepositoryId("gitlab", 42), 7),
        PullKey(RepositoryId("github", 42), 7),
        SweepKey(Sweep.HEALTH, "gitlab-eu"),
    ]

    results = [await both.work(_item(key)) for key in given]

    assert results == [Settled(7)] * 3
    assert {name: each.given for name, each in served.items()} == {
        keys.forge_of(key): [key] for key in given
    }


async def test_what_is_of_no_forge_of_ours_is_left_alone() -> None:
    controller = _Controller()
    work = _item(PullKey(RepositoryId("gitlab", 42), 7))

    assert await Controllers({"github": controller}).work(work) == Settled()
    assert controller.given == []


def _item(key: Key) -> WorkItem:
    return WorkItem(key, NOTHING, 0)
