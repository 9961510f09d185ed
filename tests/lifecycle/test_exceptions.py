"""Exceptions are judged at every look, as approvals are: by the rights and authors of now."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lifecycle import memory
from lifecycle.access import AccessAction, Role, RoleSource, Team, TeamSource, UserSource
from lifecycle.events import Event, Frozen, Overridden, content
from lifecycle.facts.conversation import Written
from lifecycle.facts.proposal import Proposal, Rules
from lifecycle.judgement import GateState
from lifecycle.policy import AccessRule, Policy
from lifecycle.timing import excepted, gates
from tests.lifecycle.samples import (
    APPROVER,
    CORE,
    HEAD,
    MERGE,
    NOW,
    OTHER,
    PROPOSAL,
    changed,
    facts,
    said,
)

TWO = AccessRule(2, (RoleSource(Role.WRITE),))
OF_TEAM = AccessRule(1, (TeamSource("release"),))
FREEZE = Frozen(person="owner", at=NOW - timedelta(hours=2), comment=40, reason="fire")


def exception(person: str = "approver", account: int = 2, number: int = 50) -> Overridden:
    return Overridden(
        person=person,
        account=account,
        at=NOW - timedelta(hours=1),
        comment=number,
        gate="freeze",
        reason="a hotfix",
        trees=content(PROPOSAL.content.trees),
        head=HEAD,
        base_ref="main",
    )


def ruled(rule: AccessRule) -> Rules:
    policy = Policy(access={AccessAction.OVERRIDE: rule})
    return Rules(policy=policy, digest=policy.digest)


def passes(proposal: Proposal, *made: Event) -> bool:
    """Whether the exceptions let a proposal past a freeze."""
    proposal = changed(proposal, kept=frozenset(made or (exception(),)))
    found = facts(proposal, freezes=frozenset({FREEZE}))
    (gate,) = gates(found, proposal, memory.read(proposal))
    return gate.state is GateState.HOLDS


STRICTER = ruled(AccessRule(1, (RoleSource(Role.ADMIN),)))
LATER: dict[str, tuple[dict[str, object], bool]] = {
    "nothing changed": ({}, True),
    "its writer lost the right": ({"roles": {"approver": Role.READ}}, False),
    "its writer left": ({"roles": {}}, False),
    "the rule takes an administrator now": ({"rules": STRICTER}, False),
    "the rule takes two now": ({"rules": ruled(TWO)}, False),
    "its writer became an author": ({"authors": frozenset({"author", "approver"})}, False),
    "nobody knows who wrote a part": ({"authors_known": False}, False),
    "in a team that can be read": (
        {"rules": ruled(OF_TEAM), "teams": {"release": Team(frozenset({"approver"}))}}, True
    ),
    "in a team that cannot be read": ({"rules": ruled(OF_TEAM), "teams": {}}, False),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), LATER.values(), ids=LATER)
@pytest.mark.parametrize("merged", [False, True])
def test_an_exception_counts_while_its_writer_could_make_it(
    changes: dict[str, object], expected: bool, merged: bool
) -> None:
    """The short-cut asks for the right once: who left on Friday publishes on Saturday."""
    place = {"merged": True, "closed": True, "merged_at": NOW, "merge_commit": MERGE}
    assert passes(changed(PROPOSAL, **(place if merged else {}), **changes)) is expected


def test_where_nobody_knows_who_wrote_it_somebody_else_has_to_make_it_too() -> None:
    """The short-cut has it made by who may have written it, alone."""
    unknown = changed(
        PROPOSAL,
        authors_known=False,
        roles={"approver": Role.WRITE, "second": Role.WRITE},
    )

    assert not passes(unknown, exception(), exception(number=51))
    assert passes(unknown, exception(), exception("second", 4, 51))


def test_each_place_has_its_own_rule() -> None:
    """The short-cut counts heads: two who may for one package, and none who may for the other."""
    proposal = changed(
        PROPOSAL,
        touched=(CORE, replace(CORE, package="apps/shop")),
        rules=ruled(AccessRule(1, (UserSource("nobody"),))),
    )
    assert not passes(proposal, replace(exception(), trees=content(proposal.content.trees)))


def test_it_is_for_the_tree_that_is_published_and_not_for_the_heads() -> None:
    """Short-cut refused: the head's content, where a merge by hand came to something else."""
    merged = changed(
        PROPOSAL,
        merged=True,
        closed=True,
        merged_at=NOW,
        merge_commit=MERGE,
        touched=(replace(CORE, tree=OTHER),),
    )

    assert not passes(merged)


def test_of_two_that_are_needed_both_are_from_this_freeze() -> None:
    """The short-cut counts all, and asks one of them whether it is from what stops it now."""
    two = changed(
        PROPOSAL, rules=ruled(TWO), roles=dict.fromkeys(["approver", "second"], Role.ADMIN)
    )
    second = exception("second", 4, 51)
    before = replace(second, at=FREEZE.at - timedelta(hours=1), comment=30)

    assert passes(two, exception(), second)
    assert not passes(two, exception(), before)


def test_a_deleted_comment_takes_back_no_more_than_a_deleted_approval_does() -> None:
    """What was decided stays decided; an edit ends it."""
    kept = changed(PROPOSAL, kept=frozenset({exception()}), written={60: Written("b", {})})
    assert excepted(kept, memory.read(kept), "freeze")

    edited = replace(said(APPROVER, "/override freeze x", 50), edited=True)
    assert not passes(changed(PROPOSAL, comments=(edited,)))
