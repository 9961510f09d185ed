"""One installation, repository or item that fails keeps no other from being found or served."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from bot.forges.port import (
    ForgeBusyError,
    ForgeMissingError,
    ForgeRefusedError,
    Forges,
    Installation,
    Repository,
)
from bot.git.mirror import DiskMirrors
from bot.keys import (
    InstallationKey,
    InstallationsKey,
    Key,
    ProposalKey,
    RepositoryKey,
    Sweep,
    SweepKey,
)
from bot.loop.controller import GONE_TRIES, Controller
from bot.loop.work import Failed, Settled, WorkItem
from bot.store.hints import NOTHING, Hint
from bot.store.postgres import PostgresStore
from bot.store.values import Delivered
from lifecycle.identity import GITHUB, RepositoryId
from tests.ids import on_github
from tests.memory.renderer import MemoryRenderer

SINCE = datetime(2026, 11, 1, tzinfo=UTC)
ALLOW_LIST = "403: the IP allow list of acme does not permit this"


class _App:
    """A forge with installations, each with repositories; some of them fail."""

    name = GITHUB

    def __init__(self, has: dict[int, Sequence[int]]) -> None:
        self.has = has
        self.suspended: set[int] = set()
        self.refuses: set[int] = set()
        self.away: set[int] = set()
        self.asked: list[int] = []
        self.unlisted: set[int] = set()

    async def installations(self) -> Sequence[Installation]:
        listed = [number for number in self.has if number not in self.unlisted]
        return [Installation(number, number in self.suspended) for number in listed]

    async def installation(self, number: int) -> Installation | None:
        if number in self.away:
            raise ForgeBusyError("read the installation", "401 Bad credentials")
        return Installation(number, number in self.suspended) if number in self.has else None

    async def repositories_of(self, installation: int) -> Sequence[Repository]:
        self._check(installation)
        listed = [each for each in self.has[installation] if each not in self.unlisted]
        return [_repository(each, installation) for each in listed]

    async def is_installed(self, repository_id: RepositoryId) -> bool:
        return any(repository_id.number in each for each in self.has.values())

    async def repository_by_id(self, repository_id: RepositoryId, installation: int) -> Repository:
        self.asked.append(repository_id.number)
        self._check(installation)
        if repository_id.number not in self.has[installation]:
            raise ForgeMissingError("read it", "404")
        return _repository(repository_id.number, installation)

    def _check(self, installation: int) -> None:
        if installation in self.away:
            raise ForgeBusyError("list repositories", "401 Bad credentials")
        if installation in self.refuses or installation in self.suspended:
            raise ForgeRefusedError("list repositories", ALLOW_LIST)
        if installation not in self.has:
            raise ForgeMissingError("read the installation", "404")


def _repository(number: int, installation: int) -> Repository:
    return Repository(
        id=on_github(number),
        full_name=f"owner-{installation}/repo-{number}",
        default_branch="main",
        clone_url="http://127.0.0.1:9/none.git",
        installation=installation,
        installed_at=SINCE,
    )


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(database_url, patience=60) as opened:
        yield opened


def _controller(app: _App, store: PostgresStore, folder: Path) -> Controller:
    # Discovery fetches nothing and judges nothing.
    return Controller(
        cast(Forges, app), DiskMirrors(folder), MemoryRenderer(), store, [b"key"], "porchbot"
    )


async def _serve(store: PostgresStore, *served: tuple[int, int]) -> None:
    for number, installation in served:
        await store.repositories.adopt(_repository(number, installation), SINCE, {})


async def _round(controller: Controller, store: PostgresStore) -> dict[str, Any]:
    """Work off all that is due about installations; what is left waits with its hint."""
    left: dict[str, Any] = {}
    await store.queue.wake(InstallationsKey(GITHUB))
    while (taken := await store.queue.take(f"test/{len(left)}")) is not None:
        if ":app:" not in taken.key:
            left[taken.key] = taken.hint
            continue
        key: Key = (
            InstallationsKey(GITHUB)
            if taken.key.endswith("installations")
            else InstallationKey(int(taken.key.rpartition(":")[2]), GITHUB)
        )
        result = await controller.work(WorkItem(key, taken.hint, taken.tries))
        if isinstance(result, Failed):
            await store.queue.failed(taken, result.reason, 60)
        else:
            await store.queue.done(taken)
    return left


async def test_an_installation_that_refuses_keeps_no_other_from_being_found(
    store: PostgresStore, tmp_path: Path
) -> None:
    """Short-cut refused: one loop over all; the first 403 ends it, and all after it is lost."""
    app = _App({1: [10], 2: [20, 21], 3: [30]})
    app.refuses = {1}
    await _serve(store, (10, 1))

    found = await _round(_controller(app, store, tmp_path), store)

    assert found == {
        str(RepositoryKey(on_github(n))): Hint(installations=frozenset({n // 10}))
        for n in (20, 21, 30)
    }
    (failing,) = await store.queue.failing()
    assert failing.key == str(InstallationKey(1, GITHUB))
    assert ALLOW_LIST in failing.error
    adoption = await store.repositories.adoption(on_github(10))
    assert adoption is not None
    assert adoption.gone is None  # it was not said to be gone


async def test_what_is_suspended_or_gone_is_served_no_more_and_comes_back(
    store: PostgresStore, tmp_path: Path
) -> None:
    """Short-cut refused: asking for ever for what is gone, or never again for what comes back."""
    app = _App({1: [10, 11], 2: [20]})
    controller = _controller(app, store, tmp_path)
    await _serve(store, (10, 1), (11, 1), (20, 2), (99, 9))
    app.suspended = {2}
    app.has[1] = [10]

    found = await _round(controller, store)

    assert set(found) == {str(RepositoryKey(on_github(10)))}
    gone = {n: (await store.repositories.adoption(on_github(n))) for n in (10, 11, 20, 99)}
    assert {n for n, a in gone.items() if a is not None and a.gone is not None} == {11, 20, 99}
    pushed = Delivered(
        guid="1", event="push", action="", headers={}, body=b"", repository=on_github(20)
    )
    await store.deliveries.add(pushed, {RepositoryKey(on_github(20)): NOTHING})
    assert await store.queue.take("nobody") is None
    settled = await controller.work(
        WorkItem(ProposalKey(on_github(20), 20, "drafts/a/w"), NOTHING, 0)
    )
    assert settled == Settled()
    assert app.asked == []

    app.suspended = set()
    app.has = {1: [10], 2: [20], 5: [99]}  # 99 was installed again
    found = await _round(controller, store)

    assert {str(RepositoryKey(on_github(n))) for n in (20, 99)} <= set(found)
    again = await store.repositories.adoption(on_github(99))
    assert again is not None
    assert (again.gone, again.installation) == (None, 5)


async def test_a_list_that_lacks_some_for_once_stops_no_service(
    store: PostgresStore, tmp_path: Path
) -> None:
    """Short-cuts refused: believing an empty list, or asking again only where all are missing."""
    app = _App({1: [10], 2: [20, 21, 22], 3: [30]})
    controller = _controller(app, store, tmp_path)
    served = ((10, 1), (20, 2), (21, 2), (22, 2), (30, 3))
    await _serve(store, *served)
    for unlisted in ({1, 2, 3}, {3}, {20, 21, 22}, {20}):
        app.unlisted = unlisted
        await _round(controller, store)

        adoptions = {n: await store.repositories.adoption(on_github(n)) for n, _ in served}
        assert [n for n, a in adoptions.items() if a is None or a.gone is not None] == [], unlisted

    app.has = {2: [20, 21], 3: [30]}
    app.unlisted = {20, 3}  # and still what is gone is found to be gone
    await _round(controller, store)

    adoptions = {n: await store.repositories.adoption(on_github(n)) for n, _ in served}
    assert [n for n, a in adoptions.items() if a is None or a.gone is not None] == [10, 22]


async def test_a_repository_that_is_missing_ends_after_some_tries(
    store: PostgresStore, tmp_path: Path
) -> None:
    """Short-cuts refused: giving up at the first 404, which fresh tokens get; and never.

    Or what was not looked at counts as swept: back again, it would wait for a day.
    """
    app = _App({1: []})
    controller = _controller(app, store, tmp_path)
    await _serve(store, (10, 1))
    key = ProposalKey(on_github(10), 10, "drafts/a/w")

    results, left = [], []
    for tries in range(GONE_TRIES + 2):
        await store.sweeps.keep(key.repository, {str(key): "as it is"}, [])
        results.append(await controller.work(WorkItem(key, NOTHING, tries)))
        left.append(len(await store.sweeps.known(key.repository)))

    assert [type(r) for r in results] == [Failed] * GONE_TRIES + [Settled] * 2
    assert left == [1] * GONE_TRIES + [0] * 2
    taken = await store.queue.take("test")
    assert taken is not None
    assert taken.key == str(SweepKey(Sweep.CHANGES, GITHUB))  # it may be elsewhere by now


async def test_a_database_that_is_away_is_no_bug(database_url: str, tmp_path: Path) -> None:
    """Short-cut refused: a traceback and "look broke" for each look that goes on meanwhile."""
    async with PostgresStore(database_url, patience=60) as store:
        controller = _controller(_App({1: [10]}), store, tmp_path)

    result = await controller.work(WorkItem(InstallationsKey(GITHUB), NOTHING, 5))

    assert isinstance(result, Failed)
    assert result.reason.startswith("The database cannot be reached: ")


async def test_a_number_of_another_forge_is_not_asked_for_here(
    store: PostgresStore, tmp_path: Path
) -> None:
    """Fails when the forge asked is whichever there is: our 20 would be looked at as theirs."""
    app, there = _App({2: [20]}), RepositoryId("gitlab", 20)
    await store.repositories.adopt(replace(_repository(20, 2), id=there), SINCE, {})
    controller = _controller(app, store, tmp_path)

    result = await controller.work(
        WorkItem(RepositoryKey(there), Hint(installations=frozenset({2})), 0)
    )

    assert result == Settled()
    assert app.asked == []


async def test_an_installation_that_cannot_be_asked_for_keeps_none_from_being_found(
    store: PostgresStore, tmp_path: Path
) -> None:
    """The short-cut lets its error end the round, before anything is woken."""
    app = _App({1: [10], 2: [20]})
    app.away = app.unlisted = {2}
    await _serve(store, (20, 2))

    found = await _round(_controller(app, store, tmp_path), store)

    assert str(RepositoryKey(on_github(10))) in found
    (failing,) = await store.queue.failing()
    assert failing.key == str(InstallationKey(2, GITHUB))
    assert await store.repositories.installations(GITHUB) == {2}  # not said to be gone
