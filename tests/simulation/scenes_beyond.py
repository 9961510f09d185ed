"""Scenes about another repository: topics, selectors over several, and objects that it lends.

Topics and consents are known for five minutes: some of these scenes wait for longer than that.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.sandbox.records.repository import Pull
from tests.simulation import beyond, catalog
from tests.simulation.beyond import (
    BY_KIND,
    BY_NAMES,
    BY_OBJECTS,
    BY_TOPIC,
    TOPIC,
    ZONE,
    ZONE_FILE,
    ZONES,
    Zones,
)
from tests.simulation.deeds import scenes
from tests.simulation.hands import ImpossibleError
from tests.simulation.moves import writer
from tests.simulation.moves_variants import of_variants, package_of, wish
from tests.simulation.scenes_elsewhere import Elsewhere
from tests.simulation.setting import ADMIN, CONFIG, MAIN, WRITERS
from tests.simulation.variants import SHOP

if TYPE_CHECKING:
    from tests.simulation.history import Simulation

SCENES = scenes()

SHORT, LONG = 25.0, 400.0
"""Seconds for what is told by a webhook, and for what is not."""


class Around(Elsewhere):
    """A history with another repository, and what is often done there.

    Args:
        s: The history.
    """

    def __init__(self, s: "Simulation") -> None:
        if s.neighbour is None or not s.begun:
            raise ImpossibleError
        self.there, self.repo = s.neighbour, s.neighbour.repo
        super().__init__(s)

    def puts(self, files: Mapping[str, bytes | None]) -> None:
        """The owner pushes files there, where they say something else."""
        if any((data or b"") != self.there.file(path) for path, data in files.items()):
            self.changes(lambda: self.act(ADMIN).push(MAIN, files, "files"))

    def shares(self, shares: bool) -> None:
        """The other repository says whether its objects may be used here; a public one need not."""
        if self.s.catalog is not None:
            self.puts({CONFIG: self.s.catalog.configuration(shares=shares)})

    def renews(self) -> None:
        """The object that may be injected is another."""
        self.there.revision += 1
        self.puts(beyond.afar(self.there.name, self.there.revision))

    def topics(self, here: bool, there: bool) -> None:
        """Who may set topics does so at either repository; the forge tells nobody."""

        def turn() -> None:
            for repo, has in ((self.hands.repo, here), (self.there.repo, there)):
                repo.topics = [TOPIC] if has else []
                repo.updated_at = self.s.forge.state.now()

        self.changes(turn)

    def sets(self, rule: Zones) -> None:
        """The owner pushes the set, where it says something else."""
        h = self.hands
        blob = self.s.evidence.history.at(h.tip(MAIN), ZONES)
        if not blob or self.s.evidence.history.blob(blob) != rule.text:
            self.does(lambda: h.commit(ADMIN, MAIN, {ZONES: rule.text}, "zones"))

    def rule(self, *by: str) -> Zones:
        """Any such set."""
        h = self.hands
        names = h.one((("here", self.there.name), ("here",), (self.there.name,)))
        how = h.one(by)
        return Zones(how, names if how == BY_NAMES else (), h.chance(0.6), h.chance(0.3))

    def approves_some(self) -> None:
        """What is asked for here, or there, is approved."""
        h = self.hands
        here = [p for p in of_variants(h) if package_of(p) == ZONE]
        if here and h.chance(0.5):
            self.proposes(here[-1], writer(h))
            self.approves(here[-1])
        there = [p for p in self.there.repo.open_pulls.values() if not p.draft]
        if there and h.chance(0.5):
            pull: Pull = there[-1]
            self.does(lambda: self.act(WRITERS[1]).review(pull.number, "APPROVE"))
            self.passes(15)


@SCENES.add("beyond: packages where a topic is", 5)
def by_topic(s: "Simulation") -> str:
    play = Around(s)
    h = play.hands
    before = h.chance(0.5), h.chance(0.6)
    play.topics(*before)
    play.sets(play.rule(BY_TOPIC))
    play.passes(SHORT)
    play.approves_some()
    after = h.chance(0.5), h.chance(0.5)
    play.topics(*after)
    play.passes(h.one((SHORT, LONG, LONG)))
    if h.chance(0.3):
        play.publishes()
        play.passes(SHORT)
    return f"the topic is here and there: {before}, then {after}"


@SCENES.add("beyond: packages in several repositories", 4)
def several(s: "Simulation") -> str:
    play = Around(s)
    first, then = play.rule(BY_KIND, BY_NAMES), play.rule(BY_KIND, BY_NAMES, BY_NAMES)
    play.sets(first)
    play.passes(SHORT)
    play.approves_some()
    play.sets(then)
    play.passes(SHORT)
    return f"a set over repositories: {first}, then {then}"


@SCENES.add("beyond: its objects choose a package, and go", 4)
def chosen(s: "Simulation") -> str:
    play = Around(s)
    h = play.hands
    play.shares(h.chance(0.7))
    play.puts(beyond.zone())
    play.sets(play.rule(BY_OBJECTS))
    play.passes(SHORT)
    play.approves_some()
    how = h.one(("goes", "goes", "stays", "is kept back"))
    if how == "goes":
        play.puts({ZONE_FILE: None})
    elif how == "is kept back":
        play.shares(False)
    play.passes(h.one((SHORT, LONG)))
    if h.chance(0.4):
        play.publishes()
        play.passes(SHORT)
    return f"an object there chooses {ZONE}, and {how}"


@SCENES.add("beyond: its object is injected, and changes", 5)
def injected(s: "Simulation") -> str:
    play = Around(s)
    h = play.hands
    play.shares(h.chance(0.7))
    if h.chance(0.3):
        play.lets_rules_approve()
    if not play.there.stood.now.value:
        play.renews()
    rule = replace(wish(h, SHOP, asap=h.chance(0.6)), injects=True, afar=True)
    play.writes(rule)
    play.passes(SHORT)
    if h.chance(0.3):
        for pull in [p for p in of_variants(h) if package_of(p) == SHOP][-1:]:
            play.proposes(pull, writer(h))
            play.approves(pull)
    play.shares(h.chance(0.6))
    play.passes(h.one((0.0, 2.0)))
    play.renews()
    play.passes(h.one((SHORT, LONG)))
    if h.chance(0.4):
        play.publishes()
        play.passes(SHORT)
    return f"an object there is injected, and changes: {rule}"


@SCENES.add("beyond: it lets rules in no more", 2)
def shut_out(s: "Simulation") -> str:
    play = Around(s)
    h = play.hands
    if play.s.catalog is not None:
        shut, opened = (catalog.configuration(shares=True, lets_in=lets) for lets in (False, True))
    else:
        shut, opened = (beyond.configuration(lets_in=lets) for lets in (False, True))
    play.puts({CONFIG: shut})
    play.passes(h.one((0.0, 1.0, 15.0)))
    play.topics(h.chance(0.5), True)
    play.sets(play.rule(BY_TOPIC, BY_KIND, BY_NAMES))
    play.passes(h.one((SHORT, LONG)))
    if h.chance(0.6):
        play.puts({CONFIG: opened})
        play.passes(LONG)
    return f"{play.there.name} lets no rules in for a while"


@SCENES.add("beyond: the set goes, and comes back", 3)
def gone(s: "Simulation") -> str:
    play = Around(s)
    h = play.hands
    rule = play.rule(*beyond.BY)
    play.sets(rule)
    play.passes(SHORT)
    play.approves_some()
    play.does(lambda: h.commit(ADMIN, MAIN, {ZONES: None}, "no zones"))
    play.passes(h.one((SHORT, LONG)))
    if h.chance(0.4):
        play.sets(rule)
        play.passes(SHORT)
    return f"a set over repositories goes: {rule}"
