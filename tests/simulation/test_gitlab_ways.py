"""What only projects at GitLab have: what is drawn for them, and what is known of rebases."""

from collections import Counter
from random import Random

import pytest

from bot.sandbox.records.gitlab import FREE
from bot.sandbox.records.merge_requests import MergeRequest
from tests.simulation.evidence import Evidence, History
from tests.simulation.gitlab_ways import FAST_FORWARD, MERGE, OURS, SEMI_LINEAR, Ways, ways
from tests.simulation.history import Simulation
from tests.simulation.manner import CALM
from tests.simulation.setting import MAIN


class Place:
    """A merge request of bob's with two commits, and main moved since."""

    def __init__(self) -> None:
        self.simulation = Simulation("7", how=CALM, at="gitlab")
        self.hands, self.repo = self.simulation.hands, self.simulation.repo
        self.history: History = self.simulation.evidence.history
        self.base = self.hands.tip(MAIN)
        self.old = self._written(self.base, "old")
        self.pull = self.hands.open("bob", "old", MAIN, "Change")
        self.moved = self._commit("ann", MAIN, {"net/edge/a.yaml": b"# stamped\nv: 1\n"}, "")

    def _commit(self, who: str, branch: str, files: dict[str, bytes | None], onto: str) -> str:
        return self.hands.commit(who, branch, files, branch, onto=onto, author="bob")

    def _written(self, onto: str, branch: str, second: bytes = b"# stamped\nv: 3\n") -> str:
        self._say(branch, onto, "app/a.yaml", b"# stamped\nv: 2\n", "one")
        return self._say(branch, "", "app/b.yaml", second, "two")

    def _say(self, branch: str, onto: str, path: str, data: bytes, message: str) -> str:
        files: dict[str, bytes | None] = {path: data}
        return self.hands.commit("eve", branch, files, message, onto=onto, author="bob")

    def made(self, what: str) -> str:
        """What the head came to."""
        match what:
            case "anew":
                return self._written(self.moved, "new")
            case "without a commit":
                return self._say("new", self.moved, "app/b.yaml", b"# stamped\nv: 3\n", "two")
            case "otherwise":
                return self._written(self.moved, "new", b"# stamped\nv: other\n")
            case "in other words":
                self._say("new", self.moved, "app/a.yaml", b"# stamped\nv: 2\n", "one")
                return self._say("new", "", "app/b.yaml", b"# stamped\nv: 3\n", "three")
            case "on top":
                return self._say("old", "", "app/b.yaml", b"# stamped\nv: 4\n", "more")
        return self.moved


@pytest.mark.parametrize(
    ("what", "is_one"),
    [
        ("anew", True),
        ("without a commit", False),
        ("otherwise", False),
        ("in other words", False),
        ("on top", False),
        ("main", False),
    ],
)
def test_a_rebase_holds_what_there_was_and_nothing_else(what: str, is_one: bool) -> None:
    """Short-cuts refused: any push of the bot's over others' is excused where a project rebases; or
    none, so that every fast-forward is told as a loss."""
    place = Place()
    assert place.history.rebased(place.old, place.made(what)) is is_one


def test_who_pushed_before_a_rebase_is_an_author_after_it() -> None:
    """The short-cut asks whom the commits name: eve pushed in bob's name, and GitLab rebased it."""
    place = Place()
    hands, mr = place.hands, place.pull
    assert isinstance(mr, MergeRequest)
    hands.chance = lambda share: True  # type: ignore[method-assign]
    hands.update_branch("ann", mr)
    head, evidence = mr.head_sha, place.simulation.evidence
    assert head != place.old
    assert place.history.rebased(place.old, head)
    assert isinstance(evidence, Evidence)
    assert "eve" in evidence.authors(place.moved, head, mr.number, "refs/heads/old")


def test_projects_of_all_kinds_are_drawn_and_most_are_of_the_free_tier() -> None:
    """The short-cut draws one kind, or gives Free what it has not."""
    drawn = [ways(Random(number)) for number in range(300)]
    methods, tiers = Counter(w.method for w in drawn), Counter(w.tier for w in drawn)
    assert {*methods} == {MERGE, SEMI_LINEAR, FAST_FORWARD}
    assert tiers.most_common(1)[0][0] == FREE
    assert len(tiers) == 3
    assert all(not w.asks and not w.services for w in drawn if w.tier == FREE)
    assert any(OURS in w.services for w in drawn)
    assert str(Ways(issues=True)) == "free, merge, issues"
