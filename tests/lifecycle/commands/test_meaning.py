"""A comment means what it meant when it was written, whatever the rules come to say later."""

from datetime import timedelta

import pytest

from lifecycle import memory
from lifecycle.access import AccessAction, AppSource, Person, Role, RoleSource
from lifecycle.actions import React, Reaction, Reply
from lifecycle.assess import assess
from lifecycle.commands.answers import by_rules_since, pending
from lifecycle.facts.proposal import Proposal, Rules
from lifecycle.policy import AccessRule, Policy
from tests.lifecycle.samples import APPROVER, NOW, PROPOSAL, changed, facts, said
from tests.lifecycle.settling import settled

RENOVATE = Person(7, "renovate[bot]", bot=True)
EITHER = AccessRule(sources=(RoleSource(Role.WRITE), AppSource("renovate")))
POLICY = Policy(aliases={"nack": "hold"}, access={AccessAction.HOLD: EITHER})
WRITTEN = NOW - timedelta(days=3)


def ruled(days: float | None, *, told: bool = True) -> Rules:
    """Rules that were changed so many days ago."""
    at = None if days is None else NOW - timedelta(days=days)
    return Rules(policy=POLICY, digest=POLICY.digest, changed_at=at, changes_told=told)


def asked(person: Person, body: str, rules: Rules, *, days: float = 3) -> Proposal:
    comment = said(person, body, minutes=-int(days * 24 * 60))
    return changed(PROPOSAL, comments=(comment,), rules=rules)


def held(proposal: Proposal) -> bool:
    (rested,) = settled(facts(proposal)).proposals
    return bool(memory.read(rested).holds)


CASES: dict[str, tuple[Rules, bool]] = {
    "the rules are older": (ruled(4), True),
    "they were never changed": (ruled(None), True),
    "they are younger": (ruled(2), False),
    "they are of the same second": (ruled(3), False),
    "the forge does not tell": (ruled(None, told=False), False),
}


@pytest.mark.parametrize(("rules", "expected"), CASES.values(), ids=CASES)
@pytest.mark.parametrize(
    ("person", "body"),
    [(APPROVER, "/nack"), (RENOVATE, "/hold")],
    ids=["an alias", "an App that is named"],
)
def test_what_is_a_command_by_the_rules_alone_has_to_be_younger_than_they(
    person: Person, body: str, rules: Rules, expected: bool
) -> None:
    """The short-cut reads years of old talk by today's configuration, and obeys it all."""
    proposal = asked(person, body, rules)

    assert by_rules_since(proposal, memory.read(proposal)) == WRITTEN
    assert held(proposal) is expected


@pytest.mark.parametrize("rules", [rules for rules, _ in CASES.values()], ids=list(CASES))
def test_what_needs_no_rules_is_a_command_whenever_it_was_written(rules: Rules) -> None:
    """Short-cut refused: all comments of before a change are dropped."""
    proposal = asked(APPROVER, "/hold", rules)

    assert by_rules_since(proposal, memory.read(proposal)) is None
    assert held(proposal)
    assert held(asked(APPROVER, "/nack\n/hold", rules))


def test_what_meant_nothing_is_left_for_good_and_without_a_word() -> None:
    """Short-cuts refused: an answer under every old pull request; a question at each look."""
    found = settled(facts(asked(APPROVER, "/nack", ruled(2))))
    (rested,) = found.proposals

    assert not [c for c in rested.talk.answers if "@approver" in c.body]
    assert by_rules_since(rested, memory.read(rested)) is None
    later = changed(rested, rules=ruled(None))
    assert pending(later, memory.read(later)) == ()


def test_who_may_wait_for_an_answer_gets_one() -> None:
    young = asked(APPROVER, "/nack", ruled(0), days=0.01)

    actions = assess(facts(young), young).actions

    (reply,) = (each for each in actions if isinstance(each, Reply))
    assert "changed after you wrote this" in reply.body
    assert not held(young)


@pytest.mark.parametrize(("days", "told"), [(2, True), (4, False)])
def test_a_line_that_meant_nothing_beside_a_command_is_told(days: float, told: bool) -> None:
    """Short-cut refused: a rocket for all of a comment of which half was done."""
    proposal = asked(APPROVER, "/nack\n/hold", ruled(days))

    actions = assess(facts(proposal), proposal).actions

    said_so = [a.body for a in actions if isinstance(a, Reply) and "another line" in a.body]
    assert bool(said_so) is told
    assert (Reaction.CONFUSED in {a.reaction for a in actions if isinstance(a, React)}) is told
