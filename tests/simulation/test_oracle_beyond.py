"""The oracle of another repository: its checks fail on what is wrong, none on what is proper."""

from dataclasses import replace

import pytest

from bot.sandbox.git import trees
from bot.sandbox.git.objects import Ident
from bot.sandbox.git.protocol import NewCommit
from tests.simulation import beyond
from tests.simulation.beyond import (
    BY_KIND,
    BY_NAMES,
    BY_OBJECTS,
    BY_TOPIC,
    TOPIC,
    ZONE,
    ZONES,
    Zones,
)
from tests.simulation.furnishing_beyond import Beyond
from tests.simulation.manner import CALM
from tests.simulation.setting import ADMIN, CONFIG, MAIN, RulesText
from tests.simulation.test_oracle_variants import Content, Variants
from tests.simulation.variants import SITE, Wish, asking

RULES = RulesText(variants=True, automatic=True)
HERE, THERE = "here", "there"
MADE = b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: zone}\n"


class Around(Variants):
    """Another repository beside, and somebody who acts as if they were the bot."""

    how = replace(CALM, boxed=True, wide=True)
    name = "east"

    @property
    def beyond(self) -> Beyond:
        """The other repository."""
        found = self.simulation.neighbour
        assert found is not None
        return found

    def sets(self, rule: Zones | None) -> None:
        """The owner pushes the set, or takes it away."""
        files: Content = {ZONES: None if rule is None else rule.text}
        if rule is not None:
            files = {**files, CONFIG: replace(RULES, wide=self.name).text}
        with self.simulation.forge.change():
            self.hands.commit(ADMIN, MAIN, files, "zones")
        self.rests_long()

    def topics(self, *names: str) -> None:
        """Who has the topic."""
        with self.simulation.forge.change():
            self.hands.repo.topics = [TOPIC] if HERE in names else []
            self.beyond.repo.topics = [TOPIC] if THERE in names else []
        self.beyond.changed()
        self.rests_long()

    def puts(self, files: Content) -> None:
        """The owner pushes files to the other one."""
        forge = self.simulation.forge
        with forge.change():
            forge.act(ADMIN, self.beyond.repo).push(MAIN, files, "x")
        self.beyond.changed()
        self.rests_long()

    def rests_long(self) -> None:
        """Until topics and consents are not known any more as they were."""
        self.simulation.loop.advance(self.simulation.loop.now + 400)
        self.rest()

    def asks(self, where: str, *, removes: bool = False) -> set[str]:
        """The checks that it violates to ask for the package there."""
        state, us = self.hands.state, self.simulation.forge.us
        repo = self.hands.repo if where == HERE else self.beyond.repo
        git, parent = state.git(repo), repo.branch(MAIN) or ""
        entry = None if removes else ("100644", git.write_blob(MADE))
        tree = trees.put(git, git.commit(parent).tree, f"{ZONE}/Kptfile", entry)
        who, branch = Ident(us.name, us.email, state.now()), f"drafts/{ZONE}/packagevariant-1"
        new = NewCommit(
            tree=tree or "", parents=(parent,), message="made\n", author=who, committer=who
        )
        with self.simulation.forge.change():
            state.update_ref(repo, f"refs/heads/{branch}", git.write_commit(new), us)
        self.judged()
        with self.simulation.forge.change():
            state.pulls.open(repo, us, title="Made", head=branch, base=MAIN)
        return self.judged()


@pytest.mark.parametrize(
    ("by", "names", "topics", "wanted"),
    [
        (BY_TOPIC, (), (HERE,), {HERE}),
        (BY_TOPIC, (), (THERE,), {THERE}),
        (BY_TOPIC, (), (), set()),
        (BY_KIND, (), (), {HERE, THERE}),
        (BY_NAMES, ("east",), (), {THERE}),
        (BY_NAMES, ("here",), (THERE,), {HERE}),
        (BY_OBJECTS, (), (HERE,), set()),
    ],
)
def test_a_set_wants_its_package_where_it_chooses(
    by: str, names: tuple[str, ...], topics: tuple[str, ...], wanted: set[str]
) -> None:
    """Short-cuts refused: everywhere it may; where the topic was once; here alone."""
    for where in (HERE, THERE):
        there = Around()
        there.begin()
        there.topics(HERE, THERE)
        there.topics(*topics)
        there.sets(Zones(by, names))
        assert there.asks(where) == (set() if where in wanted else {"wanted"})


def test_a_repository_that_lets_no_rules_in_gets_nothing() -> None:
    """The short-cut asks wherever the set wants it."""
    there = Around()
    there.begin()
    there.sets(Zones(BY_KIND))
    there.puts({CONFIG: beyond.configuration(lets_in=False)})
    assert there.asks(THERE) == {"wanted"}


@pytest.mark.parametrize(
    ("rule", "then", "right"),
    [
        (Zones(BY_KIND), None, True),
        (Zones(BY_KIND, orphans=True), None, False),
        (Zones(BY_KIND), Zones(BY_NAMES, ("east",)), True),
        (Zones(BY_KIND), Zones(BY_NAMES, ("here",)), False),
        (Zones(BY_TOPIC), None, False),
    ],
)
def test_it_is_removed_where_its_set_goes_and_says_so(
    rule: Zones, then: Zones | None, right: bool
) -> None:
    """Short-cuts refused: what was to stay goes; what topics chose goes, of which history does not
    tell; what is wanted still goes."""
    there = Around()
    there.begin()
    there.topics(HERE)
    there.sets(rule)
    with there.simulation.forge.change():
        there.hands.commit(ADMIN, MAIN, {f"{ZONE}/Kptfile": MADE}, "made")
    there.sets(then)
    assert there.asks(HERE, removes=True) == (set() if right else {"wanted"})


class Private(Around):
    """The other repository is the catalog, which is private."""

    apart = True
    name = "catalog"


def test_an_object_is_injected_while_it_may_be_used() -> None:
    """Short-cuts refused: whatever the bot may read; what was let go once goes for ever."""
    there = Private()
    there.begin()
    catalog = there.simulation.catalog
    assert catalog is not None
    for number, shares in ((1, True), (2, False), (3, True)):
        config = catalog.configuration(shares=shares)
        there.puts({CONFIG: config, **beyond.afar("catalog", number)})
        text = asking().replace(b"nowhere", there.beyond.stood.now.value.encode())
        there.pushes({f"shop/{SITE}": text}, number)
        assert there.judged() == (set() if shares else {"consent"})
        there.rest()


def test_what_another_repository_has_a_part_in_is_approved_by_no_rule() -> None:
    """The short-cut judges what is injected by the rule alone."""
    rule = Wish(names=("shop",), revision=1, follow=False, injects=True, afar=True)
    for injects in (False, True):
        there = Around()
        there.begin(rule, replace(RULES, wide="east"))
        text = asking().replace(b"nowhere", b"east-site-0" if injects else b"nowhere")
        there.ends(there.opens(there.pushes({**there.content(), f"shop/{SITE}": text})))
        assert ("approved" in there.judged()) is injects


def test_what_is_wanted_at_the_end_is_asked_for() -> None:
    """Short-cuts refused: here alone is looked; a repository that cannot be reached counts."""
    there = Around()
    there.begin()
    asked = there.simulation.asked
    assert asked is not None
    assert asked.beyond is not None
    there.sets(Zones(BY_KIND))
    there.simulation.begun = True
    assert list(asked.beyond.unmade(False)) == []  # the App is not in it yet
    with there.simulation.forge.change():
        there.simulation.place.let_in()
    there.beyond.changed()
    assert len(list(asked.beyond.unmade(False))) == 2
    there.asks(THERE)
    assert len(list(asked.beyond.unmade(False))) == 1
    assert list(asked.beyond.unmade(True)) == []
