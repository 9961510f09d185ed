"""Which revision the dashboard offers to go back to."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from bot.loop.rolling_back import SECONDS, offered, usable_before
from bot.store.values import Revision, UpstreamUse
from lifecycle.facts.overview import ListedPackage
from lifecycle.identity import RepositoryId
from tests.bot.upstream.test_served import BLUEPRINTS, CLUSTERS, Stage, at_once

LOCK = """apiVersion: kpt.dev/v1
kind: Kptfile
metadata: {{name: edge}}
upstreamLock:
  type: git
  git:
    {{repo: 'https://github.com/acme/blueprints', directory: /{path}, ref: {ref}, commit: {at}}}
"""


@pytest.mark.parametrize(
    ("deprecated", "gone", "expected"),
    [
        ({3}, set(), [2, 1]),
        ({3}, {2}, [1]),
        ({3, 1}, {2}, []),
        (set(), {1}, [2]),
    ],
)
def test_what_the_ledger_speaks_against_is_not_offered(
    deprecated: AbstractSet[int], gone: AbstractSet[int], expected: list[int]
) -> None:
    """Fails if deprecated ones alone are left out: a withdrawn one has its tag, and is refused."""
    package = ListedPackage(
        package="net",
        revision=3,
        deprecated=dict.fromkeys(deprecated, "old"),
        withdrawn=len(gone),
        gone=frozenset(gone),
    )
    assert usable_before(package, {1, 2, 3, 4}) == expected


def use(package: str, place: str, ref: str) -> UpstreamUse:
    return UpstreamUse(package=package, place=place, directory="net/core", ref=ref)


class _Made:
    """Packages in `clusters` that were made from v1 to v3 of one in `blueprints`, each in turn."""

    def __init__(self, stage: Stage, packages: int, states: Mapping[int, str]) -> None:
        self.stage = stage
        self.around: Any = stage.upstreams._served
        self.asked: list[RepositoryId] = []
        self.names = [f"edge{n}" for n in range(packages)]
        self.states = states
        self.first = "net/core"  # what their first revisions were made from
        self.served: Any = SimpleNamespace(
            id=CLUSTERS.id,
            repository=CLUSTERS,
            clock=stage.clock,
            offload=at_once,
            mirror=self.around._mirrors.of(CLUSTERS.id, CLUSTERS.clone_url),
        )

    async def begin(self, refs: tuple[str, str, str]) -> None:
        """Publish all of it, and have mirrors of it."""
        stage, store = self.stage, self.stage.store
        stage.forges.known[BLUEPRINTS.id] = replace(BLUEPRINTS, public=True)
        for number in (2, 3):
            stage.publish(BLUEPRINTS, "net/core", number)
        listed = ", ".join(f"v{n}: {{state: {s}, reason: x}}" for n, s in self.states.items())
        ledger = f"version: 1\nrevisions: {{{listed}}}\n".encode()
        stage.commit(BLUEPRINTS, {".porchbot/ledger/net/core.yaml": ledger})
        for number, ref in enumerate(refs, 1):
            path = self.first if number == 1 else "net/core"
            lock = LOCK.format(path=path, ref=ref, at=f"{number:040x}").encode()
            commit = stage.commit(CLUSTERS, {f"{each}/Kptfile": lock for each in self.names})
            for each in self.names:
                await store.revisions.keep_revision(CLUSTERS.id, each, number, Revision(commit))
        uses = {each: [use(each, "github.com/acme/blueprints", refs[2])] for each in self.names}
        await store.upstreams.keep_uses(CLUSTERS.id, "main", ("", "1" * 40), uses)
        await self.around.releases(BLUEPRINTS, ["net/core"])
        await self.around.releases(CLUSTERS, self.names)
        told = self.around.may_read

        async def may_read(there: Any, *others: Any) -> bool:
            self.asked.append(there.id)
            return bool(await told(there, *others))

        self.around.may_read = may_read

    async def back(self, **more: Any) -> list[tuple[int, str] | None]:
        packages = [ListedPackage(package=each, revision=3, **more) for each in self.names]
        found = await offered(self.served, self.stage.store, self.around, packages)
        return [each.back for each in found]


CORE3 = "its upstream acme/blueprints//net/core@v3 is withdrawn"
PLAIN, SHORT = ("net/core/v1", "net/core/v2", "net/core/v3"), ("v1", "refs/tags/net/core/v2", "v3")


@pytest.mark.parametrize("refs", [PLAIN, SHORT], ids=["plain", "spelled otherwise"])
@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ({3: "withdrawn"}, (2, CORE3)),
        ({3: "withdrawn", 2: "withdrawn"}, (1, CORE3)),
        ({3: "withdrawn", 2: "deprecated"}, (1, CORE3)),
        ({3: "withdrawn", 2: "withdrawn", 1: "withdrawn"}, None),
        ({2: "withdrawn"}, None),
        ({3: "held"}, None),
    ],
)
async def test_nobody_is_sent_back_to_what_was_made_from_something_bad(
    refs: tuple[str, str, str], states: Mapping[int, str], expected: tuple[int, str] | None
) -> None:
    """Short-cuts refused: only what packages are made from now counts as bad, so that the one
    before is offered whatever it was made from; one release is two, by how its tag is written."""
    made = _Made(await Stage().begin(), 1, states)
    await made.begin(refs)
    assert await made.back() == [expected]


async def test_a_repository_is_asked_once_for_all_that_was_made_from_it() -> None:
    """Short-cut refused: a forge is asked for each state of each package, or once more for
    what earlier revisions were made from."""
    made = _Made(await Stage().begin(), 50, {3: "withdrawn", 2: "withdrawn"})
    made.first = "net/edge"
    await made.begin(SHORT)

    assert await made.back() == [(1, CORE3)] * 50
    assert made.asked == [BLUEPRINTS.id]


async def test_forges_are_asked_for_a_while_and_what_nobody_knows_is_not_offered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Short-cuts refused: the dashboard waits for as many forges as there are upstreams; a revision
    counts as good because nobody asked about it."""
    made = _Made(await Stage().begin(), 1, {2: "withdrawn"})
    await made.begin(PLAIN)
    own = {"deprecated": {3: "old"}}
    assert await made.back(**own) == [(1, "v3 is deprecated")]

    asked, at = list[str](), made.around.at

    async def slow(location: Any) -> Any:
        asked.append(str(location))
        made.stage.clock.seconds += SECONDS / 2
        return await at(location)

    monkeypatch.setattr(made.around, "at", slow)
    places = [f"github.com/other/p{n}" for n in range(30)]
    uses = {f"x{n}": [use(f"x{n}", place, "v9")] for n, place in enumerate(places)}
    await made.stage.store.upstreams.keep_uses(CLUSTERS.id, "main", ("1" * 40, "2" * 40), uses)
    assert await made.back(**own) == [None]
    assert len(asked) == 2
