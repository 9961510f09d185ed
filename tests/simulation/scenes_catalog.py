"""Scenes about a second repository: what it says of its text and its rules changes meanwhile.

It publishes, lets its text be used and takes that back, is shown and hidden, renamed, archived, and
the App is taken out of it; what is made of it here is a pull request like any other.
"""

from typing import TYPE_CHECKING

from tests.simulation import catalog
from tests.simulation.catalog import CAST, FAR, MADE, REACHING, RULE
from tests.simulation.deeds import scenes
from tests.simulation.hands import ImpossibleError
from tests.simulation.moves_variants import package_of
from tests.simulation.scenery import rules_of
from tests.simulation.scenes_elsewhere import Elsewhere
from tests.simulation.setting import ADMIN, CONFIG, LETS_IN, MAIN, NAMED, WRITERS

if TYPE_CHECKING:
    from tests.simulation.history import Simulation

SCENES = scenes()


class Shelf(Elsewhere):
    """A history with a second repository, and what is often done there.

    Args:
        s: The history.
    """

    def __init__(self, s: "Simulation") -> None:
        if s.catalog is None or not s.begun:
            raise ImpossibleError
        self.s, self.hands, self.catalog = s, s.hands, s.catalog
        self.repo = s.catalog.repo
        if not self.catalog.stood.published:
            self.publishes()
        if not self.hands.chance(0.2):
            self.wants()

    def writes_there(self, path: str, text: bytes | None) -> None:
        """The owner pushes a file to the catalog."""
        if (text or b"") != self.catalog.file(path):
            self.changes(lambda: self.act(ADMIN).push(MAIN, {path: text}, path))

    def shares(self, shares: bool) -> None:
        """The catalog says whether its text may be used here."""
        self.writes_there(CONFIG, self.catalog.configuration(shares=shares))

    def publishes(self) -> str:
        """The catalog's package is published once more."""
        self.catalog.revision += 1
        number, (author, judge) = self.catalog.revision, WRITERS[:2]
        branch = f"up-{number}"
        self.does(lambda: self.act(author).push(branch, catalog.content(number), base=MAIN))
        opened = []
        self.does(lambda: opened.append(self.act(author).propose(branch)))
        self.passes(4)
        self.changes(lambda: self.act(judge).review(opened[0], "APPROVE"))
        self.passes(20)
        self.catalog.changed()
        return f"{catalog.LIB} with catalog-{number}"

    def wants(self) -> None:
        """A rule here, or one there, wants a package that is made of it."""
        h = self.hands
        asap = h.chance(0.6)
        if h.chance(0.6):
            text = catalog.rule(FAR, "catalog", "here", asap=asap)
            if self.s.evidence.history.at(h.tip(MAIN), RULE) == "":
                self.does(lambda: h.commit(ADMIN, MAIN, {RULE: text}, "rule"))
        elif not self.catalog.file(REACHING):
            self.writes_there(REACHING, catalog.rule(CAST, "here", "there", asap=asap))
        self.passes(20)


@SCENES.add("catalog: published", 3)
def published(s: "Simulation") -> str:
    shelf = Shelf(s)
    told = shelf.publishes()
    shelf.passes(20)
    return f"{told} is published in the catalog"


@SCENES.add("catalog: what is made of it is approved", 3)
def approved(s: "Simulation") -> str:
    shelf = Shelf(s)
    found = [p for p in shelf.hands.repo.open_pulls.values() if package_of(p) in MADE]
    pull = shelf.hands.one(found)
    shelf.proposes(pull, WRITERS[2])
    shelf.approves(pull)
    return f"#{pull.number} of the catalog's package is approved"


@SCENES.add("catalog: its text may not be used any more", 4)
def kept_back(s: "Simulation") -> str:
    shelf = Shelf(s)
    h = shelf.hands
    shelf.shares(False)
    shelf.passes(h.one((0.0, 1.0, 15.0)))
    shelf.publishes()
    shelf.wants()
    shelf.passes(h.one((10.0, 30.0, 400.0)))
    if h.chance(0.6):
        shelf.shares(True)
        shelf.passes(30)
    return "the catalog does not share its text for a while, and is published then"


@SCENES.add("catalog: shown to all, and hidden again", 4)
def hidden(s: "Simulation") -> str:
    shelf = Shelf(s)
    h, state, repo = shelf.hands, s.forge.state, shelf.catalog.repo
    shelf.changes(lambda: state.admin.set_private(repo, False))
    shelf.shares(False)
    shelf.passes(h.one((2.0, 30.0)))
    if h.chance(0.5):
        shelf.publishes()
    shelf.changes(lambda: state.admin.set_private(repo, True))
    shelf.passes(h.one((0.0, 1.0, 15.0)))
    shelf.publishes()
    shelf.wants()
    shelf.passes(25)
    if h.chance(0.5):
        shelf.shares(True)
        shelf.passes(20)
    return "everybody may read the catalog for a while"


@SCENES.add("catalog: its rules are let in, and not any more", 4)
def reaching(s: "Simulation") -> str:
    shelf = Shelf(s)
    h = shelf.hands
    shelf.writes_there(REACHING, None)
    shelf.passes(h.one((0.0, 10.0)))
    rules = rules_of(h)
    shut = h.chance(0.6)
    text = rules.reached(NAMED if shut else LETS_IN).text
    shelf.does(lambda: h.commit(ADMIN, MAIN, {CONFIG: text}, "who is let in"))
    shelf.passes(h.one((0.0, 1.0, 15.0)))
    shelf.writes_there(REACHING, catalog.rule(CAST, "here", "there", asap=h.chance(0.6)))
    shelf.passes(h.one((15.0, 30.0, 400.0)))
    if shut and h.chance(0.6):
        back = rules_of(h).reached(LETS_IN).text
        shelf.does(lambda: h.commit(ADMIN, MAIN, {CONFIG: back}, "let in"))
        shelf.passes(25)
    return f"the catalog's rules are {'not ' * shut}let in"


@SCENES.add("catalog: renamed, archived, or without the App", 2)
def away(s: "Simulation") -> str:
    shelf = Shelf(s)
    h, state, repo = shelf.hands, s.forge.state, shelf.catalog.repo
    how = h.one(("renamed", "archived", "without the App"))
    there = [i for i in state.data.installations.values() if repo in i.repositories]
    if how == "renamed":
        shelf.changes(lambda: state.admin.rename(repo, "shelf"))
    elif how == "archived":
        shelf.changes(lambda: state.admin.archive(repo))
    else:
        found = h.one(there)
        shelf.changes(lambda: state.admin.remove_from(found, repo))
    shelf.passes(h.one((2.0, 30.0)))
    if h.chance(0.5):
        shelf.shares(h.chance(0.5)) if how != "archived" else None
    if how != "archived":
        shelf.wants()
    shelf.passes(20)
    if how == "renamed":
        shelf.changes(lambda: state.admin.rename(repo, catalog.NAME))
    elif how == "archived":
        shelf.changes(lambda: state.admin.archive(repo, False))
    else:
        shelf.changes(lambda: s.forge.install(repo))
    shelf.passes(25)
    return f"the catalog is {how} for a while"
