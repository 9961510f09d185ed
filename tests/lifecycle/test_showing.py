"""What is so once a decision was carried out that only shows, told without a second look."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from lifecycle import actions as a
from lifecycle.decide import decide
from lifecycle.facts.head import Facts
from lifecycle.showing import shown
from tests.lifecycle.samples import APPROVER, PROPOSAL, approved_by, changed, facts, said
from tests.lifecycle.settling import carry_out
from tests.lifecycle.test_decide import BROKEN, situations

SHOWS = a.SetCheck | a.Say | a.SetLabels | a.Keep
NEW = changed(PROPOSAL, draft=True, comments=(), answers=(), kept=frozenset(), written={})


@settings(max_examples=60)
@given(start=situations())
def test_what_only_shows_leaves_what_a_look_would_find(start: Facts) -> None:
    """The short-cut ends the look there, whatever is left; or tells what the forge would not."""
    quiet = (
        changed(
            p,
            comments=(),
            answers=(),
            draft=True,
            merged=False,
            closed=False,
            merge_commit=None,
            merged_at=None,
            doubt=None,
        )
        for p in start.proposals
    )
    start = replace(start, proposals=tuple(quiet), head=PROPOSAL.place.head)
    actions = decide(start)
    then = shown(start, actions)
    assert (then is None) == any(not isinstance(each, SHOWS) for each in actions)
    if then is None:
        return

    left = decide(then)

    assert {type(each) for each in left} <= {a.Keep}
    last = shown(then, left)
    assert last is not None
    assert decide(last) == []
    read = decide(carry_out(start, actions))
    assert [each for each in read if not isinstance(each, a.Keep)] == []


def test_a_new_draft_is_shown_without_a_second_look() -> None:
    """The short-cut forgets what we wrote: the summary would be told to the database once more."""
    start = facts(changed(NEW, labels=frozenset()))
    actions = decide(start)
    assert {type(each) for each in actions} == {a.Keep, a.SetCheck, a.Say, a.SetLabels}

    then = shown(start, actions)

    assert then is not None
    assert decide(then) == []


@pytest.mark.parametrize(
    "start",
    [
        facts(changed(NEW, comments=(said(APPROVER, "hello", 100),))),
        facts(approved_by(NEW, "approver")),
        facts(changed(NEW, closed=True)),
        facts(changed(NEW, draft=False)),
        facts(NEW, head="9" * 40),
        facts(changed(NEW, pressed=(said(APPROVER, "/approve", -1),))),
        facts(NEW, rerun=True),
        facts(NEW, pending=True),
        facts(NEW, watched=True),
        replace(facts(NEW), proposals=()),
    ],
)
def test_where_somebody_has_a_part_the_forge_is_asked_again(start: Facts) -> None:
    """The short-cut goes by the actions alone: what people said may want something read."""
    assert shown(start, [a.SetLabels(NEW.place.number, ("a",))]) is None


@pytest.mark.parametrize(
    "action",
    [
        a.Reply(NEW.place.number, "hello", {}),
        a.SetDraft(NEW.place.number, draft=True),
        a.AskPublish(base_ref="main", number=NEW.place.number),
    ],
)
def test_of_what_does_more_than_show_the_forge_tells_what_came(action: a.Action) -> None:
    """The short-cut passes over what it does not know."""
    assert shown(facts(NEW), [action]) is None


def test_a_broken_configuration_is_shown_once() -> None:
    """Fails where the check shown is not the one that is wanted again."""
    start = facts(changed(NEW, policy=BROKEN))
    then = shown(start, decide(start))
    assert then is not None
    assert not [each for each in decide(then) if isinstance(each, a.SetCheck | a.Say)]
