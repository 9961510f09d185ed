"""Who uses packages in other repositories, and who is told."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bot.store.values import UpstreamUse
from bot.upstream.users import ElsewhereUsers, UpstreamUsers
from lifecycle.access import Person, Role
from tests.bot.upstream.test_served import (
    ANN,
    BLUEPRINTS,
    BOB,
    BUSY,
    CLUSTERS,
    OTHERS,
    SUSPENDED,
    Stage,
)

PLACE = "github.com/acme/blueprints"


class Asked(Stage):
    """The same stage, with packages of two repositories that use one."""

    async def prepare(self) -> "Asked":
        await self.begin()
        index = self.store.upstreams
        for at, package in ((CLUSTERS, "edge"), (OTHERS, "secret"), (BLUEPRINTS, "net/mine")):
            use = UpstreamUse(package=package, place=PLACE, directory="net/core", ref="net/core/v1")
            both = [use, replace(use, commit="c" * 40, locked=True)]
            await index.keep_uses(at.id, "main", ("", "1" * 40), {package: both})
        return self

    async def ask(self, askers: Sequence[Person], *, public: bool = False) -> ElsewhereUsers:
        served = self.upstreams._served
        users = UpstreamUsers(served, self.store.upstreams)
        packages, revisions = await users.of(
            replace(BLUEPRINTS, public=public),
            ["net/core"],
            [("net/core", 1), ("net/core", 2)],
            askers,
        )
        assert revisions == {
            ("net/core", 1): packages["net/core"],
            ("net/core", 2): ElsewhereUsers(),
        }
        return packages["net/core"]


@pytest.fixture
async def stage() -> Asked:
    return await Asked().prepare()


async def test_who_asks_is_told_of_what_he_may_read(stage: Asked) -> None:
    """Short-cut refused: the bot may read it, so it tells everybody."""
    assert await stage.ask([ANN]) == ElsewhereUsers(("acme/clusters: edge",), 1)
    assert await stage.ask([BOB]) == ElsewhereUsers((), 2)


async def test_who_asks_together_is_told_of_what_all_may_read(stage: Asked) -> None:
    assert await stage.ask([ANN, BOB]) == ElsewhereUsers((), 2)


async def test_nobody_is_told_of_what_is_public(stage: Asked) -> None:
    """Short-cut refused: without a person everything is told, or nothing."""
    assert await stage.ask([]) == ElsewhereUsers((), 2)
    stage.forges.known[OTHERS.id] = replace(OTHERS, public=True)

    assert await stage.ask([]) == ElsewhereUsers(("other/packages: secret",), 1)


async def test_what_is_private_is_not_told_in_public(stage: Asked) -> None:
    """Short-cut refused: who asks may read it, and so all may who read the answer."""
    assert await stage.ask([ANN], public=True) == ElsewhereUsers((), 2)


@pytest.mark.parametrize("at", ["it", "role"])
@pytest.mark.parametrize("error", [BUSY, SUSPENDED])
async def test_a_forge_that_does_not_answer_stops_no_look_elsewhere(
    stage: Asked, at: str, error: Exception
) -> None:
    """Short-cuts refused: whoever names another repository in a Kptfile learns from the failed look
    that it is served; a repository that is suspended stops each look at what it uses."""
    stage.forges.readers[OTHERS.id] = {"ann": Role.READ}
    stage.forges.away[at, CLUSTERS.id] = error
    assert await stage.ask([ANN]) == ElsewhereUsers(("other/packages: secret",), 1)

    place = "github.com/acme/clusters"
    use = UpstreamUse(package="net/mine", place=place, directory="edge", ref="edge/v1")
    users = UpstreamUsers(stage.upstreams._served, stage.store.upstreams)
    assert await users.listed(BLUEPRINTS, [use], [ANN]) == ()


async def test_what_is_out_of_reach_is_counted(stage: Asked) -> None:
    stage.forges.readers[OTHERS.id] = {"ann": Role.READ}
    del stage.forges.known[CLUSTERS.id]

    assert await stage.ask([ANN]) == ElsewhereUsers(("other/packages: secret",), 1)
