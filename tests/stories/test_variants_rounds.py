"""More packages of variants than one look begins: it goes on where it stopped."""

from collections import Counter

import pytest

from bot.loop import variants
from bot.loop.variant_package import VariantReconciler
from tests.stories.people import wait_for
from tests.stories.simulated import SimulatedWorld
from tests.stories.test_upstreams import publishes
from tests.stories.test_variants_set import SET, TABLE, branch, opened
from tests.stories.world import CONFIG, World, package, resized

NAMES = [f"p{number:02}" for number in range(16)]


@pytest.mark.simulated_time("looks are counted in process, and a round waits a minute")
def test_each_round_goes_on_where_the_last_one_stopped(
    stage: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: each round begins at the first package again, which grows with the square
    of their number; or it goes on and on and never sees the first ones again; or what is published
    meanwhile waits until all have been begun."""
    looked: Counter[str] = Counter()
    plain = VariantReconciler.look

    async def counted(self: VariantReconciler, since: float) -> object:
        looked[self.waiting.rpartition(" ")[2]] += 1
        return await plain(self, since)

    monkeypatch.setattr(VariantReconciler, "look", counted)
    monkeypatch.setattr(variants, "MOST_BEGUN", 2)
    play = stage
    assert isinstance(play, SimulatedWorld)
    play.start_bot()
    publishes(play, "net/base", package("net/base"), 1)
    every = ", ".join(f"edge/{name}" for name in NAMES)
    rule = SET.replace("    - {name: live, packageNames: [LIVE]}\n", "").replace("HERE", every)
    play.rests()
    play.owner.pushes("main", {".porchbot.yaml": CONFIG + TABLE, "variants/edges.yaml": rule})

    def begun(number: int) -> None:
        wait_for(f"{number}", lambda: len(opened(play.author)) >= number or None, 1200)

    begun(6)
    once = looked.copy()
    begun(8)
    assert [looked[f"edge/{name}"] - once[f"edge/{name}"] for name in NAMES[:4]] == [0] * 4

    proposal = play.proposes("drafts/net/base/w2", resized("net/base", 9))
    play.rests()
    play.approver.says(proposal, "/approve")
    play.author.waits_for_tag("net/base/v2")
    play.rests()
    first = play.author.reads(f"edge/{NAMES[0]}/Kptfile", branch(NAMES[0]))
    assert "ref: net/base/v2" in first
    assert len(opened(play.author)) < len(NAMES), "nobody waits for the last ones"
    begun(len(NAMES))
    play.rests()
    looked.clear()
    wait_for("a round over all", lambda: len(looked) == len(NAMES) or None, 200)
    play.rests()
    assert opened(play.author) == Counter({branch(name): 1 for name in NAMES})
