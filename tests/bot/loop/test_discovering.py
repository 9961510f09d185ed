"""What the dashboard tells of upstreams in other repositories."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from bot.forges.port import Repository
from bot.loop import discovering
from bot.loop.dry_merges import Behind
from bot.loop.repository import ServedRepository
from bot.store.values import UpstreamUse
from lifecycle.facts.overview import ListedBehind
from tests.bot.upstream.test_served import BLUEPRINTS, BUSY, CLUSTERS, TOKEN, Stage, at_once


class _Served:
    """As much of a served repository as is asked."""

    repository, id = CLUSTERS, CLUSTERS.id
    offload = staticmethod(at_once)


class _Merges:
    """Merges nothing, and keeps which repositories may be read."""

    def __init__(self) -> None:
        self.readable: Mapping[str, Repository] = {}

    async def told(
        self, served: Any, behind: Sequence[Behind], readable: Mapping[str, Repository]
    ) -> tuple[tuple[ListedBehind, ...], bool]:
        """As `DryMerges` has it."""
        self.readable = readable
        return tuple(each.listed for each in behind), False


async def behind(stage: Stage, merges: _Merges | None = None) -> tuple[ListedBehind, ...]:
    around: Any = stage.upstreams._served
    dry: Any = merges or _Merges()
    return (await discovering.behind(cast(ServedRepository, _Served()), stage.store, around, dry))[
        0
    ]


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


async def test_only_what_may_be_told_of_is_merged() -> None:
    """Short-cut refused: conflicts tell what stands in an upstream that its readers may not see."""
    stage, merges = await prepared(), _Merges()
    await behind(stage, merges)
    assert merges.readable == {}

    stage.forges.known[BLUEPRINTS.id] = replace(BLUEPRINTS, public=True)
    await behind(stage, merges)
    assert [each.full_name for each in merges.readable.values()] == ["acme/blueprints"]


async def test_an_upstream_that_does_not_answer_is_passed_over() -> None:
    """Short-cut refused: one repository keeps the dashboard from being written."""
    stage = await prepared()
    stage.forges.known[BLUEPRINTS.id] = replace(BLUEPRINTS, public=True)
    stage.remotes[BLUEPRINTS.clone_url].failing = True

    assert await behind(stage) == ()


async def test_the_dashboard_does_without_an_upstream_whose_forge_does_not_answer() -> None:
    """Short-cut refused: one repository keeps the dashboard of another from being written, which
    tells people there that the bot serves it."""
    stage = await prepared()
    stage.forges.known[BLUEPRINTS.id] = replace(BLUEPRINTS, public=True)
    rules = b"version: 1\nupstreams: {default: acme/blueprints}\n"
    stage.commit(CLUSTERS, {".porchbot.yaml": rules})
    around: Any = stage.upstreams._served
    served: Any = _Served()
    served.mirror = around._mirror(CLUSTERS)
    served.mirror.fetch(TOKEN)
    stage.forges.away["it", BLUEPRINTS.id] = BUSY
    assert await discovering.cloneable(served, stage.store, around) == ()
