"""The oracle of a second repository: its checks fail on what is wrong, none on what is proper."""

import pytest

from tests.simulation import catalog
from tests.simulation.catalog import CAST, REACHING
from tests.simulation.furnishing_catalog import Catalog
from tests.simulation.setting import ADMIN, CONFIG, LETS_IN, MAIN, NAMED, RulesText, resource
from tests.simulation.test_oracle_variants import Content, Variants


class Apart(Variants):
    """A second repository beside, and somebody who acts as if they were the bot."""

    apart = True

    @property
    def catalog(self) -> Catalog:
        """The second repository."""
        found = self.simulation.catalog
        assert found is not None
        return found

    def writes_there(self, path: str, text: bytes) -> None:
        """The owner pushes a file to it."""
        forge = self.simulation.forge
        with forge.change():
            forge.act(ADMIN, self.catalog.repo).push(MAIN, {path: text}, path)
        self.catalog.changed()
        self.rest()

    def hides(self, hidden: bool) -> None:
        """Not everybody may read it, or everybody."""
        forge = self.simulation.forge
        with forge.change():
            forge.state.admin.set_private(self.catalog.repo, hidden)
        self.catalog.changed()
        self.rest()

    def brings(self, number: int) -> None:
        """The bot pushes some of its text here."""
        files: Content = {"far/a.yaml": resource("a", f"catalog-{number}")}
        self.pushes(files, number)


def test_text_comes_by_consent_or_where_everybody_may_read_it() -> None:
    """Short-cuts refused: whatever the bot may read comes; what was shown once comes for ever; what
    is here already counts again."""
    there = Apart()
    there.brings(1)
    assert there.judged() == set()

    there.writes_there(CONFIG, catalog.configuration(shares=False))
    there.brings(1)
    assert there.judged() == set()
    there.brings(2)
    assert there.judged() == {"consent"}

    there.hides(False)
    there.brings(3)
    assert there.judged() == set()
    there.hides(True)
    there.brings(4)
    assert there.judged() == {"consent"}


@pytest.mark.parametrize(
    ("reach", "reaches", "wrong"),
    [(LETS_IN, True, False), (LETS_IN, False, True), (NAMED, True, True)],
)
def test_rules_there_ask_for_something_here_where_they_are_let_in(
    reach: str, reaches: bool, wrong: bool
) -> None:
    """Short-cuts refused: a rule there is enough; to be let in is enough without a rule."""
    there = Apart()
    rules = RulesText(variants=True).reached(reach)
    with there.simulation.forge.change():
        there.hands.commit(ADMIN, MAIN, {CONFIG: rules.text}, "rules")
    there.rest()
    if reaches:
        there.writes_there(REACHING, catalog.rule(CAST, "here", "there", asap=True))
    state, us = there.hands.state, there.simulation.forge.us
    files: Content = {f"{CAST}/Kptfile": b"kind: Kptfile\n"}
    branch = there.pushes(files)
    with there.simulation.forge.change():
        ref = f"drafts/{CAST}/packagevariant-1"
        state.update_ref(there.hands.repo, f"refs/heads/{ref}", there.hands.tip(branch), us)
    there.opens(ref)
    assert ("let in" in there.judged()) is wrong
