"""Exceptions are judged at every look, as approvals are: by the rights and authors of now."""

from dataclasses import replace
from datetime import UTC, timedelta

import pytest

from lifecycle import memory, timing
from lifecycle.access import (
    AccessAction,
    OwnersSource,
    Role,
    RoleSource,
    Team,
    TeamSource,
    UserSource,
)
from lifecycle.actions import Reply
from lifecycle.decide import decide
from lifecycle.events import Event, Frozen, Overridden, content
from lifecycle.facts.conversation import Written
from lifecycle.facts.proposal import Proposal, Rules
from lifecycle.judgement import GateState
from lifecycle.owners import Owned
from lifecycle.policy import AccessRule, Policy
from lifecycle.timing import excepted, gates
from lifecycle.windows import Cron, FixedTime, Window, WindowKind
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


HOUR = timedelta(hours=1)


def window(begins: float, ends: float, reason: str = "a holiday") -> Window:
    """A window that closes everything, so many hours from now."""
    return Window(
        kind=WindowKind.FREEZE,
        begins=FixedTime(NOW + begins * HOUR),
        ends=FixedTime(NOW + ends * HOUR),
        reason=reason,
    )


THEN = window(-9, 9)
DAILY = Window(
    kind=WindowKind.FREEZE, begins=Cron("0 0 * * *", UTC), ends=Cron("0 23 * * *", UTC), reason="x"
)
ALLOWS = Window(
    kind=WindowKind.ALLOW, begins=Cron("0 2 * * *", UTC), ends=Cron("0 3 * * *", UTC), reason="y"
)
WINDOWS: dict[str, tuple[tuple[Window, ...], tuple[Window, ...], float, bool]] = {
    "as it was": ((THEN,), (THEN,), 0, True),
    "one of two has ended": ((THEN, window(-9, 1)), (THEN, window(-9, 1)), 2, True),
    "one of two was taken out": ((THEN, window(-9, 8)), (THEN,), 0, True),
    "one that began before it was merged since, and ends as it does": (
        (THEN,), (THEN, window(-9, 9, "an incident")), 0, False
    ),
    "one was merged in its place": ((THEN,), (window(-9, 9, "an incident"),), 0, False),
    "one begins later and ends before it": (
        (THEN, window(1, 8, "x")), (THEN, window(1, 8, "x")), 2, False
    ),
    "one that began later is over": ((THEN, window(1, 3)), (THEN, window(1, 3)), 4, True),
    "the same, the next day": ((DAILY,), (DAILY,), 24, False),
    "the same, the next day, while another closes all the time": (
        (DAILY, window(-30, 90)), (DAILY, window(-30, 90)), 24, False
    ),
    "one that allows": ((ALLOWS,), (ALLOWS,), 0, True),
    "one that allows, after it did": ((ALLOWS,), (ALLOWS,), 24, False),
    "no window closed then": ((), (THEN,), 0, False),
}  # fmt: skip


def timed(*windows: Window) -> Rules:
    policy = Policy(calendars=(windows,))
    return Rules(policy=policy, digest=policy.digest)


@pytest.mark.parametrize(("then", "now", "hours", "expected"), WINDOWS.values(), ids=WINDOWS)
def test_an_exception_is_past_the_windows_that_closed_then(
    then: tuple[Window, ...], now: tuple[Window, ...], hours: float, expected: bool
) -> None:
    """Short-cut refused: then is judged by the calendars of now, and by the end alone."""
    before = changed(PROPOSAL, rules=timed(*then))
    made = replace(exception(), gate="window", windows=timing.closed_since(before, exception().at))
    later = changed(
        PROPOSAL, rules=timed(*now), looked_at=NOW + hours * HOUR, kept=frozenset({made})
    )

    (gate,) = gates(facts(later), later, memory.read(later))
    assert (gate.state is GateState.HOLDS) is expected


@pytest.mark.parametrize(
    ("gate", "closes", "expected"),
    [
        ("window", window(-9, 9), "recorded"),
        ("window", window(-1, 9), "for a new reason since you wrote this"),
        ("freeze", replace(FREEZE, at=NOW - 2 * HOUR), "recorded"),
        ("freeze", replace(FREEZE, at=NOW, comment=60), "for a new reason since you wrote this"),
    ],
    ids=["a window", "a window of later", "a freeze", "a freeze of later"],
)
def test_an_exception_that_is_read_late_is_for_what_its_writer_knew(
    gate: str, closes: Window | Frozen, expected: str
) -> None:
    """Short-cut refused: what closes when it is read, which nobody meant; or not a word of that."""
    comment = said(APPROVER, f"/override {gate} a hotfix", 50, minutes=-90)
    proposal = changed(PROPOSAL, comments=(comment,))
    log = frozenset[Event]()
    if isinstance(closes, Frozen):
        log = frozenset({closes})
    else:
        proposal = changed(proposal, rules=timed(closes))

    (reply,) = (a for a in decide(facts(proposal, freezes=log)) if isinstance(a, Reply))
    assert expected in reply.body


def test_the_owners_of_each_file_have_to_make_it() -> None:
    """Short-cut refused: the owner of any one file speaks for all of them."""
    rule = AccessRule(1, (OwnersSource(),))
    owned = (
        Owned(owners=("@approver",), files=("net/core/a",), count=1),
        Owned(owners=("@second",), files=("net/core/b",), count=1),
    )
    proposal = changed(
        PROPOSAL,
        rules=ruled(rule),
        owners={"net/core": owned},
        roles=dict.fromkeys(["approver", "second"], Role.WRITE),
    )

    assert not passes(proposal, exception())
    assert passes(proposal, exception(), exception("second", 4, 51))
