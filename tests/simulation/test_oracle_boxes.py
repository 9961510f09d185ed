"""The oracle of boxes: its checks fail on what is wrong, none on what is proper."""

import pytest

from bot.sandbox.records.repository import Issue, Pull
from tests.simulation.boxes import FREE, TICKED
from tests.simulation.ending_boxes import untold
from tests.simulation.setting import MAIN, resource
from tests.simulation.test_oracle_variants import Variants

TITLE = "What became of the boxes that were ticked above, the newest first:"


class Boxed(Variants):
    """A dashboard issue, and somebody who acts as if they were the bot."""

    def begin_boxes(self, *lines: str) -> None:
        """The bot writes an issue with boxes."""
        repo, state = self.hands.repo, self.hands.state
        repo.has_issues = True
        text = "\n".join(f"{FREE}{line}" for line in lines)
        with self.simulation.forge.change():
            self.issue: Issue = state.issues.open(repo, self.simulation.forge.us, "Board", text)
        self.rest()

    def ticks(self, who: str, said: str, *, beside: str = "") -> None:
        """Somebody ticks a box, beside which somebody may have written."""
        text = self.issue.body or ""
        with self.simulation.forge.change():
            self.hands.rewrite(who, self.issue, f"{_ticking(text, said)}{beside}")
        self.rest()

    def says(self, *lines: str) -> set[str]:
        """The checks that it violates to say so of boxes."""
        text = "\n".join([TITLE, "", *(f"- {line}" for line in lines)])
        with self.simulation.forge.change():
            self.hands.state.talk.comment(self.issue, self.simulation.forge.us, text)
        found = self.judged()
        self.rest()
        return found

    def untold(self) -> list[str]:
        """What is not told at the end."""
        s = self.simulation
        return list(untold(s.evidence, self.hands.repo, 0))


def _ticking(text: str, said: str) -> str:
    assert f"{FREE}`/{said}`" in text
    return text.replace(f"{FREE}`/{said}`", f"{TICKED}`/{said}`")


@pytest.mark.parametrize(
    ("who", "of", "beside", "right"),
    [
        ("ann", "head", "", True),
        ("bob", "head", "", False),  # its author
        ("cat", "head", "", False),  # may write, and tick no boxes
        ("ann", "other", "", False),
        ("ann", "head", "\nand I do not", False),
    ],
)
def test_a_box_approves_its_commit_for_who_may_tick_it(
    who: str, of: str, beside: str, right: bool
) -> None:
    """Short-cuts refused: whoever may approve may do so by a box; whatever the head is; whatever
    stands beside the box."""
    there = Boxed()
    there.begin()
    pull = _pull(there)
    named = pull.head_sha if of == "head" else "0" * 40
    there.begin_boxes(f"`/approve {named}` in [#{pull.number}](x)")
    there.ticks(who, f"approve {named}", beside=beside)
    there.merge(pull)
    there.tag(pull, "old/v1")
    assert there.judged() == (set() if right else {"approved"})


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        (("`/upgrade app v2`, ticked by `cat`: done",), False),
        (("`/upgrade app v2`, ticked by `cat`: done",) * 2, True),
        (("`/upgrade app v2`, ticked by `ann`: done",), True),
        (("`/upgrade app v3`, ticked by `cat`: done",), True),
    ],
)
def test_what_is_told_of_boxes_is_what_was_ticked(lines: tuple[str, ...], wrong: bool) -> None:
    """Short-cuts refused: the bot's word is believed; one tick is told twice."""
    there = Boxed()
    there.begin()
    there.begin_boxes("`/upgrade app v2`: x", "`/upgrade app v3`: x")
    there.ticks("cat", "upgrade app v2")
    assert there.says(*lines) == ({"boxes"} if wrong else set())


@pytest.mark.parametrize(
    ("who", "times", "wrong"), [("ann", 1, False), ("ann", 2, True), ("cat", 1, True)]
)
def test_an_upgrade_is_made_once_for_who_may_tick_its_box(
    who: str, times: int, wrong: bool
) -> None:
    """Short-cuts refused: whoever ticks is obeyed; a tick has effect again and again."""
    there = Boxed()
    there.begin()
    there.begin_boxes("`/upgrade app v2`: x")
    there.ticks(who, "upgrade app v2")
    state, us, branch = there.hands.state, there.simulation.forge.us, "drafts/app/upgrade"
    for number in range(times):
        with there.simulation.forge.change():
            there.hands.commit(
                "bob",
                branch,
                {"app/a.yaml": resource("a", f"v{number}")},
                "x",
                onto=there.hands.tip(MAIN),
            )
            pull = state.pulls.open(there.hands.repo, us, title="Up", head=branch, base=MAIN)
        with there.simulation.forge.change():
            state.pulls.edit(pull, us, state="closed")
    assert ("boxes" in there.judged()) is wrong


@pytest.mark.parametrize(
    ("asks", "who", "wrong"),
    [("", "", True), ("comment", "bob", False), ("box", "ann", False), ("box", "cat", True)],
)
def test_a_draft_is_proposed_for_who_asks(asks: str, who: str, wrong: bool) -> None:
    """The short-cut proposes whatever is ready, or for whoever ticks."""
    there = Boxed()
    there.begin()
    pull = _pull(there, draft=True)
    there.begin_boxes(f"`/propose {pull.head_sha}` in [#{pull.number}](x)")
    if asks == "box":
        there.ticks(who, f"propose {pull.head_sha}")
    elif asks:
        with there.simulation.forge.change():
            there.hands.say(who, pull, "/propose", "propose")
        there.rest()
    with there.simulation.forge.change():
        there.hands.state.pulls.set_draft(pull, there.simulation.forge.us, False)
    assert there.judged() == ({"boxes"} if wrong else set())


def _pull(there: Boxed, *, draft: bool = False) -> Pull:
    with there.simulation.forge.change():
        there.hands.commit(
            "bob", "w", {"old/a.yaml": resource("a", "v2")}, "x", onto=there.hands.tip(MAIN)
        )
        pull = there.hands.open("bob", "w", MAIN, "Change", draft=draft)
    there.rest()
    return pull


def test_each_box_is_told_of_at_the_end_and_why_nothing_came_of_it() -> None:
    """Short-cuts refused: silence; a line that gives no reason; a refusal somewhere else."""
    there = Boxed()
    there.begin()
    pull = _pull(there)
    box = f"approve {pull.head_sha}"
    there.begin_boxes(f"`/{box}` in [#{pull.number}](x)", "`/upgrade app v2`: x")
    there.ticks("cat", "upgrade app v2")
    assert "nothing says what became" in there.untold()[0]
    there.says("`/upgrade app v2`, ticked by `cat`: done")
    assert "cat may not tick" in there.untold()[0]
    there.says("`/upgrade app v2`, ticked by `cat`: `/upgrade` refused: only ann (`access.bulk`)")
    assert there.untold() == []

    there.ticks("dan", box)
    there.says(f"`/{box}` in #{pull.number}, ticked by `dan`: passed on to the pull request.")
    assert "dan may not tick" in there.untold()[0]
    us = there.simulation.forge.us
    for text, right in (
        ("@dan Approved.", False),
        ("@bob `/approve` refused: with boxes, only ann", False),
        ("@dan `/approve` refused: with boxes, only ann", True),
    ):
        with there.simulation.forge.change():
            there.hands.state.talk.comment(pull, us, text)
        assert (there.untold() == []) is right
