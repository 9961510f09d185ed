"""Boxes of the dashboard: which commands they give, and what is told of them."""

from dataclasses import replace

import pytest

from lifecycle import boxes, dashboard, records
from lifecycle.access import Person
from lifecycle.actions import Keep, Reply, Restore
from lifecycle.facts.conversation import Comment, Discussion
from lifecycle.facts.head import Facts
from lifecycle.facts.whole import Whole
from lifecycle.policy import Policy
from tests.lifecycle.samples import APPROVER, PROPOSAL, changed, facts

TICKED: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "one that was free": (
        "- [ ] `/upgrade net/core v3`: x",
        "- [x] `/upgrade net/core v3`: x",
        ("upgrade net/core v3",),
    ),
    "in GitLab's words, with a capital and a star": (
        "* [ ] `@porchbot upgrade net/core v3`: x",
        "* [X] `@porchbot upgrade net/core v3`: x",
        ("upgrade net/core v3",),
    ),
    "one that was ticked before": ("- [x] `/upgrade a v3`", "- [x] `/upgrade a v3`", ()),
    "one that is freed": ("- [x] `/upgrade a v3`", "- [ ] `/upgrade a v3`", ()),
    "one that somebody writes into it": ("", "- [x] `/upgrade a v3`", ("upgrade a v3",)),
    "another command": ("", "- [x] `/delete a@v3`", ()),
    "an approval": ("", "- [x] `/approve`", ()),
    "one inside another list": ("", "  - [x] `/upgrade a v3`", ()),
    "one in a quote": ("", "> - [x] `/upgrade a v3`", ()),
    "two, one of them twice": (
        "",
        "- [x] `/upgrade b v1`\n- [x] `/upgrade a v1`\r\n- [x] `/upgrade b v1`",
        ("upgrade b v1", "upgrade a v1"),
    ),
}


@pytest.mark.parametrize(("before", "after", "commands"), TICKED.values(), ids=TICKED)
def test_what_an_edit_ticks(before: str, after: str, commands: tuple[str, ...]) -> None:
    """Short-cuts refused: any box of the text; any command beside one."""
    assert boxes.newly_ticked(before, after) == commands


def test_a_name_that_would_break_out_of_its_box_has_none() -> None:
    assert boxes.fits("upgrade net/core v3")
    assert not boxes.fits("upgrade a`b v3")
    assert not boxes.fits("upgrade a\n- [x] b v3")


def issue(*pressed: Comment, answers: tuple[Comment, ...] = ()) -> Facts:
    """The dashboard issue, on which boxes were ticked."""
    made = changed(PROPOSAL, head="", issue=True, closed=True)
    talk = Discussion(pressed=pressed, answers=answers)
    whole = Whole(policy=Policy(), packages=frozenset())
    return facts(replace(made, talk=talk, whole=whole))


def tick(number: int, person: Person, command: str) -> Comment:
    at = PROPOSAL.times.looked_at or PROPOSAL.times.installed_at
    return Comment(id=-number, author=person, body=f"/{command}", at=at, button=True)


NOBODY = Person(0, "", bot=False)


def test_where_nobody_can_tell_who_ticked_nothing_happens_and_it_is_said() -> None:
    """The short-cut takes the bot's own rights, or stays silent."""
    reply, keep = dashboard.decide(issue(tick(5, NOBODY, "upgrade net/core v3")))
    assert isinstance(reply, Reply)
    assert isinstance(keep, Keep)
    assert reply.body == (
        "What became of the boxes that were ticked above, the newest first:\n\n"
        "- `/upgrade net/core v3`: nothing was done, because the forge does not tell which person"
        " ticked the box. Tick it again, or comment the command."
    )


def test_all_boxes_are_told_of_in_one_comment() -> None:
    """The short-cut answers each box, and the issue becomes a list of answers."""
    first = tick(5, NOBODY, "upgrade a v3")
    reply, _ = dashboard.decide(issue(first))
    assert isinstance(reply, Reply)
    there = Comment(
        id=9, author=APPROVER, body=reply.body, at=first.at, ours=True, records=(reply.record,)
    )

    edited, keep = dashboard.decide(issue(first, tick(6, NOBODY, "upgrade b v3"), answers=(there,)))

    assert isinstance(edited, Restore)
    assert isinstance(keep, Keep)
    assert edited.comment == 9
    assert [line.split("`")[1] for line in edited.body.split("\n")[2:]] == [
        "/upgrade b v3",
        "/upgrade a v3",
    ]
    assert records.sign(edited.record, b"k")
