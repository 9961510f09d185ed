"""What any store promises of its index of upstreams (`bot/store/port.py`)."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.store.values import ServedName, UpstreamUse, UpstreamUser
from tests.contract.stores import Repository, Stored
from tests.ids import FIRST, on_github

AT = datetime(2026, 11, 20, tzinfo=UTC)
SECOND = Repository(on_github(2), "acme/clusters", 4)
PLACE = "github.com/acme/blueprints"
ONE, TWO, THREE = "1" * 40, "2" * 40, "3" * 40


def use(package: str, directory: str, number: int = 1, **more: object) -> UpstreamUse:
    whole = UpstreamUse(
        package=package, place=PLACE, directory=directory, ref=f"{directory}/v{number}"
    )
    return replace(whole, **more)  # type: ignore[arg-type] # fields of it


def user(found: UpstreamUse, at: Repository = SECOND, branch: str = "main") -> UpstreamUser:
    name = ServedName(at.id, at.full_name, at.installation)
    return UpstreamUser(repository=name, branch=branch, use=found)


async def test_who_has_which_upstream_is_one_question(stored: Stored) -> None:
    """Short-cut refused: an index for each repository, to be asked one after the other."""
    upstreams = stored.store.upstreams
    for each in (Repository(), SECOND):
        await stored.store.repositories.adopt(each, AT, {})
    core = use("edge", "net/core")
    lock = replace(core, commit=ONE, locked=True)
    assert await upstreams.indexed(FIRST) == {}

    assert await upstreams.keep_uses(SECOND.id, "main", ("", ONE), {"edge": [core, lock], "x": []})
    other = use("core-2", "net/core", place="git.corp/x")
    assert await upstreams.keep_uses(FIRST, "main", ("", TWO), {"core-2": [other]})

    assert await upstreams.users(PLACE) == (user(core), user(lock))
    assert await upstreams.uses(FIRST) == (user(other, Repository()),)
    assert await upstreams.indexed(SECOND.id) == {"main": ONE}


async def test_what_did_not_change_stays(stored: Stored) -> None:
    """Short-cut refused: everything is written anew, or what is gone stays."""
    upstreams = stored.store.upstreams
    await stored.store.repositories.adopt(SECOND, AT, {})
    before = {name: [use(name, "net/core")] for name in ("a", "b", "c")}
    await upstreams.keep_uses(SECOND.id, "main", ("", ONE), before)

    assert await upstreams.keep_uses(
        SECOND.id, "main", (ONE, TWO), {"b": [use("b", "net/core", 2)], "c": []}
    )

    assert await upstreams.users(PLACE) == (
        user(use("a", "net/core")),
        user(use("b", "net/core", 2)),
    )


async def test_two_that_go_on_from_one_commit(stored: Stored) -> None:
    """Short-cut refused: the later one wins, with what it read of an older commit."""
    upstreams = stored.store.upstreams
    await stored.store.repositories.adopt(SECOND, AT, {})
    await upstreams.keep_uses(SECOND.id, "main", ("", ONE), {})
    assert await upstreams.keep_uses(SECOND.id, "main", (ONE, TWO), {"a": [use("a", "net/core")]})

    assert not await upstreams.keep_uses(SECOND.id, "main", (ONE, THREE), {"a": []})
    assert not await upstreams.keep_uses(SECOND.id, "main", ("", THREE), {"a": []})
    assert not await upstreams.keep_uses(SECOND.id, "other", (ONE, THREE), {"a": []})

    assert await upstreams.users(PLACE) == (user(use("a", "net/core")),)
    assert await upstreams.indexed(SECOND.id) == {"main": TWO}


async def test_branches_that_are_not_published_from_any_more(stored: Stored) -> None:
    upstreams = stored.store.upstreams
    await stored.store.repositories.adopt(SECOND, AT, {})
    for branch in ("main", "release-1"):
        await upstreams.keep_uses(SECOND.id, branch, ("", ONE), {"a": [use("a", "net/core")]})

    await upstreams.forget_uses(SECOND.id, ["release-1"])

    assert await upstreams.users(PLACE) == (user(use("a", "net/core"), branch="release-1"),)
    assert await upstreams.indexed(SECOND.id) == {"release-1": ONE}


async def test_a_repository_that_is_not_served_uses_nothing(stored: Stored) -> None:
    """Short-cut refused: a list of users that nobody can reach any more."""
    upstreams = stored.store.upstreams
    await stored.store.repositories.adopt(SECOND, AT, {})
    await upstreams.keep_uses(SECOND.id, "main", ("", ONE), {"a": [use("a", "net/core")]})

    await stored.store.repositories.lost(SECOND.id)

    assert await upstreams.users(PLACE) == ()


async def test_what_cannot_be_said_is_kept_as_it_can(stored: Stored) -> None:
    odd = b"net/c\xffre".decode("utf-8", "surrogateescape") + "\0"
    upstreams = stored.store.upstreams
    await stored.store.repositories.adopt(SECOND, AT, {})

    await upstreams.keep_uses(SECOND.id, "main", ("", ONE), {odd: [use(odd, odd)]})

    [found] = await upstreams.users(PLACE)
    assert (found.use.package, found.use.directory) == ("net/c?re?", "net/c?re?")


async def test_a_repository_is_found_by_its_name(stored: Stored) -> None:
    """Short-cut refused: names are compared letter by letter, or those of lost ones count."""
    repositories = stored.store.repositories
    for each in (Repository(), SECOND):
        await repositories.adopt(each, AT, {})

    found = await repositories.named("github", ["ACME/Clusters", "acme/nothing"])
    assert found == (ServedName(SECOND.id, "acme/clusters", 4),)
    assert await repositories.named("gitlab", ["acme/clusters"]) == ()
    await repositories.lost(SECOND.id)
    assert await repositories.named("github", ["acme/clusters"]) == ()


@pytest.mark.parametrize(
    ("folder", "packages", "wanted"),
    [
        ("net/core", ["net/core"], True),
        ("net/core/sub", ["net/core"], True),
        ("net", ["net/core"], True),
        ("", ["net/core"], True),
        ("net/core", [""], True),
        ("net/core", ["net/corex", "net/cor"], False),
        ("net/core", [], False),
    ],
)
async def test_whether_anything_uses_a_package(
    stored: Stored, folder: str, packages: list[str], wanted: bool
) -> None:
    """Short-cuts refused: paths are compared as texts; a package around it counts for nothing."""
    upstreams = stored.store.upstreams
    await stored.store.repositories.adopt(SECOND, AT, {})
    await upstreams.keep_uses(SECOND.id, "main", ("", ONE), {"edge": [use("edge", folder)]})
    assert await upstreams.used(PLACE, packages) is wanted
    assert not await upstreams.used("git.corp/x", ["net/core"])
