"""Scenes about rules for variants: one names a revision, one is proposed and looked at."""

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.sandbox.records.repository import Pull
from tests.simulation.deeds import scenes
from tests.simulation.moves import writer
from tests.simulation.moves_variants import there, wish, written
from tests.simulation.scenes_variants import Play
from tests.simulation.setting import HONEST, MAIN
from tests.simulation.variants import EDGES, OBJECTS, SHOP, SITES, UPSTREAM, thing

if TYPE_CHECKING:
    from tests.simulation.history import Simulation

SCENES = scenes()


@SCENES.add("variant: its rule names a revision, then another", 2)
def named(s: "Simulation") -> str:
    play = Play(s)
    h = play.hands
    if f"refs/tags/{UPSTREAM}/v2" not in h.repo.refs:
        play.publishes()
    first, then = h.one(((1, 2), (1, 2), (2, 1)))
    missing = [p for p in (SHOP, *EDGES[:1]) if not there(h, f"{p}/Kptfile")]
    rule = wish(h, h.one(missing or (SHOP,)), asap=True)
    rule = replace(rule, revision=first, follow=False, chosen=False)
    play.writes(rule)
    play.passes(25)
    if h.chance(0.6):
        play.approves(play.one_of(rule.names[0]))
    play.writes(replace(rule, revision=then))
    play.passes(25)
    return f"a rule names v{first}, then v{then}: {rule}"


@SCENES.add("variant: a rule proposed, and what it would do", 2)
def rule_proposed(s: "Simulation") -> str:
    play = Play(s)
    h = play.hands
    who, branch, rule = writer(h), h.fresh("rule"), wish(h)
    there_now = sorted(written(h).keys() - {SITES})
    files: dict[str, bytes | None] = {**rule.files}
    if there_now and h.chance(0.3):
        files = {h.one(there_now): None}
    elif h.chance(0.3):
        value = h.one(("north", "south", "east"))
        files[f"{OBJECTS}/site.yaml"] = thing("site", "ConfigMap", value)
    play.does(lambda: h.commit(who, branch, files, "rule", onto=h.tip(MAIN)))
    pulls = list[Pull]()
    play.does(lambda: pulls.append(h.open(who, branch, MAIN, "A rule")))
    play.passes(30)
    if h.chance(0.3):
        play.does(lambda: h.merge(h.one([w for w in HONEST if w != who]), pulls[0]))
        play.passes(15)
    return f"{who} proposes rules by #{pulls[0].number}: {', '.join(sorted(files))}"
