"""What the dashboard tells of upstreams in other repositories."""

from dataclasses import replace
from typing import Any, cast

from bot.loop import discovering
from bot.loop.repository import ServedRepository
from bot.store.values import UpstreamUse
from lifecycle.facts.overview import ListedBehind
from tests.bot.upstream.test_served import BLUEPRINTS, CLUSTERS, Stage, at_once


class _Served:
    """As much of a served repository as is asked."""

    repository, id = CLUSTERS, CLUSTERS.id
    offload = staticmethod(at_once)


async def behind(stage: Stage) -> tuple[ListedBehind, ...]:
    around: Any = stage.upstreams._served
    return await discovering.behind(cast(ServedRepository, _Served()), stage.store, around)


async def prepared() -> Stage:
    stage = await Stage().begin()
    stage.publish(BLUEPRINTS, "net/core", 2)
    use = UpstreamUse(
        package="edge", place="github.com/acme/blueprints", directory="net/core", ref="net/core/v1"
    )
    await stage.store.upstreams.keep_uses(CLUSTERS.id, "main", ("", "1" * 40), {"edge": [use]})
    return stage


async def test_what_fewer_people_can_read_is_not_told() -> None:
    """Short-cut refused: the bot may read it, so everybody learns what is new there."""
    stage = await prepared()
    assert await behind(stage) == ()

    stage.forges.known[BLUEPRINTS.id] = replace(BLUEPRINTS, public=True)

    assert await behind(stage) == (
        ListedBehind(package="edge", upstream="acme/blueprints//net/core", revision=1, newer=(2,)),
    )


async def test_an_upstream_that_does_not_answer_is_passed_over() -> None:
    """Short-cut refused: one repository keeps the dashboard from being written."""
    stage = await prepared()
    stage.forges.known[BLUEPRINTS.id] = replace(BLUEPRINTS, public=True)
    stage.remotes[BLUEPRINTS.clone_url].failing = True

    assert await behind(stage) == ()
