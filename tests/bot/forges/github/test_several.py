"""Several Apps of one GitHub in one process: each repository is served by exactly one."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from structlog.testing import capture_logs

from bot.forges.github.app import AppClients
from bot.forges.github.forges import GitHubForges
from bot.forges.github.former import FormerApp
from bot.forges.github.several import SeveralForges
from bot.forges.port import ForgeBusyError, ForgeMissingError, Forges, Installation
from bot.sandbox.serve import SandboxForge
from lifecycle.identity import GITHUB, RepositoryId
from tests.app_key import keys
from tests.contract.watch import watched

OLD, NEW = 11, 12


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[SandboxForge]:
    """`both` has both Apps, `moved` the new one only, `left` the old one only."""
    with SandboxForge(tmp_path) as made, watched(made):
        state = made.state
        state.add_user("acme")
        both, moved, left = (state.add_repository("acme", n) for n in ("both", "moved", "left"))
        for number, slug, repositories in ((OLD, "old", (both, left)), (NEW, "new", (both, moved))):
            app = state.register_app(slug, keys()[1], owner="acme", app_id=number)
            state.install(app, *repositories)
        yield made


def served_by(forge: SandboxForge, *numbers: int) -> tuple[SeveralForges, list[AppClients]]:
    account = forge.state.user("old[bot]").id
    clients = [
        AppClients(forge.api_url, str(n), keys()[0], former=[FormerApp("old[bot]", account)])
        for n in numbers
    ]
    return SeveralForges([GitHubForges(each) for each in clients]), clients


def test_each_repository_is_served_once_by_the_newest_app(forge: SandboxForge) -> None:
    """Short-cuts serve the one with both Apps twice, which answers every command twice; or only
    what the new App has, so that the rest is without a bot until somebody has moved all of it.
    """
    forges, clients = served_by(forge, NEW, OLD)

    async def look() -> dict[str, str]:
        found: dict[str, str] = {}
        for one in await forges.installations():
            for repository in await forges.repositories_of(one.number):
                assert repository.full_name not in found
                at = forges.of(repository)
                assert await at.newest_change()
                found[repository.full_name] = (await at.access.identity()).login  # type: ignore[attr-defined]  # GitHub's
        return found

    with capture_logs() as told:
        served = asyncio.run(look())
        drift = asyncio.run(forges.drift())
        asyncio.run(look())
    assert served == {"acme/both": "new[bot]", "acme/moved": "new[bot]", "acme/left": "old[bot]"}
    assert [each["repository"] for each in told if "two Apps" in each["event"]] == ["acme/both"]
    (twice,) = [each for each in drift if each.place.startswith("acme/")]
    assert str(twice).endswith("Remove it from the installation of old[bot].")

    both = RepositoryId(GITHUB, next(iter(forge.state.data.repositories)))
    numbers = {i.app.id: i.id for i in forge.state.data.installations.values()}
    assert asyncio.run(forges.repository_by_id(both, numbers[NEW])).full_name == "acme/both"
    with pytest.raises(ForgeMissingError):
        asyncio.run(forges.repository_by_id(both, numbers[OLD]))
    assert asyncio.run(forges.is_installed(both))
    for each in clients:
        each.close()


def test_an_old_app_that_is_gone_keeps_nothing_from_being_served(forge: SandboxForge) -> None:
    """The short-cut asks all of them, and stops with the first that does not answer."""
    forges, clients = served_by(forge, NEW, 99)

    found = asyncio.run(forges.installations())
    listed = [r.full_name for r in asyncio.run(forges.repositories_of(found[0].number))]
    drift = [str(each) for each in asyncio.run(forges.drift()) if "older App" in each.place]

    assert (len(found), sorted(listed)) == (1, ["acme/both", "acme/moved"])
    assert "An older App of this bot: GitHub does not accept it (401" in drift[0]
    for each in clients:
        each.close()


def test_what_the_old_app_wrote_is_ours(forge: SandboxForge) -> None:
    """The short-cut knows its own login: after a move the records in old comments are lost."""
    forges, clients = served_by(forge, NEW, OLD)

    me = asyncio.run(forges.identity())

    assert me.is_us(1, "new[bot]", app=True)
    account = forge.state.user("old[bot]").id
    assert me.is_us(account, "old[bot]", app=True)
    assert not me.is_us(account + 1, "old[bot]", app=True)
    assert not me.is_us(3, "old[bot]", app=False)
    assert not me.is_us(4, "other[bot]", app=True)
    for each in clients:
        each.close()


def test_what_a_deleted_app_had_is_gone_and_stops_nothing(forge: SandboxForge) -> None:
    """Short-cuts pass over it where installations are listed, and nowhere else: the installation
    that the database still has of it answers 401 for ever, and nothing is found any more."""
    forges, clients = served_by(forge, NEW, 99, OLD)

    async def look() -> None:
        found = {each.number: each for each in await forges.installations()}
        listed = [r.full_name for n in found for r in await forges.repositories_of(n)]
        assert sorted(listed) == ["acme/both", "acme/left", "acme/moved"]
        assert await forges.installation(777) is None
        assert not await forges.is_installed(RepositoryId(GITHUB, 777))
        with pytest.raises(ForgeMissingError):
            await forges.repositories_of(777)

    asyncio.run(look())
    for each in clients:
        each.close()


class _Away:
    """An App that cannot be asked now."""

    async def installation(self, number: int) -> Installation | None:
        raise ForgeBusyError("read the installation", "503")

    async def is_installed(self, repository_id: RepositoryId) -> bool:
        raise ForgeBusyError("find its installation", "503")


class _Empty(_Away):
    async def installation(self, number: int) -> Installation | None:
        return None

    async def is_installed(self, repository_id: RepositoryId) -> bool:
        return False


def test_an_older_app_that_is_away_has_lost_nothing() -> None:
    """The short-cut takes an outage for a deletion: what it serves is dropped."""
    forges = SeveralForges([cast(Forges, _Empty()), cast(Forges, _Away())])

    assert asyncio.run(forges.is_installed(RepositoryId(GITHUB, 7)))
    with pytest.raises(ForgeBusyError):
        asyncio.run(forges.installation(7))


def test_the_dashboard_of_the_old_app_is_found(forge: SandboxForge) -> None:
    """The short-cut lists the issues of its own login: a second dashboard is opened, and what the
    first one holds counts no more."""

    async def look() -> None:
        made: list[int] = []
        for number in (OLD, NEW):
            forges, (clients,) = served_by(forge, number)
            (place,) = await forges.installations()
            both = next(
                each
                for each in await forges.repositories_of(place.number)
                if each.full_name == "acme/both"
            )
            at = forges.of(both)
            made.append(await at.open_issue("Dashboard", "words"))
            found = [issue.number for issue in await at.own_issues()]
            clients.close()
        assert found == made

    asyncio.run(look())
