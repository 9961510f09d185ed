"""Freezes, windows and exceptions as gates: what holds a proposal, for whom, and until when.

Longer than 400 lines: tables of what is refused, and of what an exception is for.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lifecycle import timing
from lifecycle.access import AccessAction, Role, RoleSource
from lifecycle.actions import KeepFreezes, Merge, Reply, Tag
from lifecycle.decide import conclude, decide
from lifecycle.due import due
from lifecycle.events import Event, Frozen, Log, Thawed, decode, encode
from lifecycle.facts.checks import AwaitedCheck, CheckState, Required
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal, Rules
from lifecycle.judgement import Gate
from lifecycle.ledger import LedgerChange, LedgerEntry, ListedState
from lifecycle.names import Sha
from lifecycle.policy import AccessRule, PathAccess, Policy
from lifecycle.replay import compact, freezes, frozen_since, pack
from lifecycle.windows import Cron, Window, WindowKind
from tests.lifecycle.samples import (
    APPROVER,
    AUTHOR,
    CORE,
    MERGE,
    NOW,
    OTHER,
    OUTSIDER,
    PROPOSAL,
    approved_by,
    changed,
    facts,
    said,
)
from tests.lifecycle.settling import settled

APPROVED = approved_by(PROPOSAL, "approver")
HOUR = timedelta(hours=1)


def frozen(path: str = "", *, until: datetime | None = None, number: int = 40) -> Frozen:
    return Frozen(
        person="owner", at=NOW - HOUR, comment=number, path=path, until=until, reason="fire"
    )


def thawed(*names: str, number: int = 41) -> Thawed:
    return Thawed(person="a", at=NOW, comment=number, lifts=names)


def open_gates(found: Facts) -> dict[str, Gate]:
    """Name to gate of what does not hold, once everything has settled."""
    waits = conclude(settled(found)).waits
    return {gate.name: gate for gate in waits.get(7, ())}


def publishes(found: Facts) -> bool:
    return any(isinstance(a, Merge | Tag) for a in decide(settled(found), publishing=True))


FREEZES: dict[str, tuple[Log, bool]] = {
    "everything": (frozenset({frozen()}), True),
    "its folder": (frozenset({frozen("net")}), True),
    "a part of the package": (frozenset({frozen("net/core/sub")}), True),
    "another folder": (frozenset({frozen("apps")}), False),
    "a name that only begins alike": (frozenset({frozen("net/co")}), False),
    "until later": (frozenset({frozen(until=NOW + HOUR)}), True),
    "until now": (frozenset({frozen(until=NOW)}), False),
    "thawed since": (
        frozenset({frozen(), Thawed(person="a", at=NOW, comment=41)}), False
    ),
    "thawed before": (
        frozenset({frozen(), Thawed(person="a", at=NOW - 2 * HOUR, comment=30)}), True
    ),
    "thawed elsewhere": (
        frozenset({frozen(), Thawed(person="a", at=NOW, comment=41, path="net")}), True
    ),
    "thawed by its name": (frozenset({frozen(), thawed("40")}), False),
    "thawed by its name, of another folder": (
        frozenset({frozen("net"), frozen("apps"), thawed("40 apps")}), True
    ),
    "not seen by whoever thawed later": (
        frozenset({frozen("net", number=39), frozen(number=40), thawed("39 net")}), True
    ),
}  # fmt: skip


@pytest.mark.parametrize(("log", "expected"), FREEZES.values(), ids=FREEZES)
@pytest.mark.parametrize("merged", [False, True])
def test_what_is_frozen_is_neither_merged_nor_tagged(
    log: Log, expected: bool, merged: bool
) -> None:
    """Short-cut refused: only the merge waits, and what a person merged by hand is tagged."""
    proposal = APPROVED
    if merged:
        proposal = changed(APPROVED, merged=True, closed=True, merged_at=NOW, merge_commit=MERGE)
    found = facts(proposal, freezes=log)

    assert ("freeze" in open_gates(found)) is expected
    assert publishes(found) is not expected


def test_a_freeze_says_who_why_and_until_when_and_is_looked_at_again_then() -> None:
    """Short-cut refused: a freeze that ends with nobody looking."""
    until = NOW + 3 * HOUR
    found = settled(facts(APPROVED, freezes=frozenset({frozen("net", until=until)})))

    (gate,) = conclude(found).waits[7]

    assert gate.actual == "`owner` froze `net` until Sun 2026-03-01 15:00 UTC: fire"
    assert gate.wanted == "`/thaw`, or wait until Sun 2026-03-01 15:00 UTC"
    assert due(found) == until


COMMANDS: dict[str, tuple[str, str, str, datetime | None]] = {
    "everything, for ever": ("/freeze the database burns", "", "the database burns", None),
    "a folder": ("/freeze net/ fire", "net", "fire", None),
    "a folder below": ("/freeze net/core fire", "net/core", "fire", None),
    "all of it": ("/freeze . fire", "", "fire", None),
    "a while": ("/freeze for 2h fire", "", "fire", NOW + 2 * HOUR),
    "until a day": (
        "/freeze net/ until 2026-03-03 fire", "net", "fire", datetime(2026, 3, 3, tzinfo=UTC)
    ),
    "until a time of another zone": (
        "/freeze until 2026-03-03 18:00+02:00 fire", "", "fire",
        datetime(2026, 3, 3, 16, tzinfo=UTC),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "path", "reason", "until"), COMMANDS.values(), ids=COMMANDS)
def test_a_freeze_is_remembered_for_the_whole_repository(
    text: str, path: str, reason: str, until: datetime | None
) -> None:
    actions = decide(facts(changed(PROPOSAL, comments=(said(APPROVER, text),))))

    (kept,) = (a for a in actions if isinstance(a, KeepFreezes))
    (event,) = kept.log
    assert event == Frozen(
        person="approver", at=NOW, comment=100, path=path, until=until, reason=reason
    )
    (reply,) = (a for a in actions if isinstance(a, Reply))
    assert encode(event) in reply.record["events"]  # type: ignore[operator] # a list


REFUSED: dict[str, tuple[str, str]] = {
    "no reason": ("/freeze", "`/freeze` takes a reason after it"),
    "no reason after a folder": ("/freeze net/", "`/freeze` takes a reason after it"),
    "an end that is none": ("/freeze until we know more", "takes an end time such as"),
    "a day that there is not": ("/freeze until 2026-02-30 fire", "takes an end time such as"),
    "an end that has come": (
        "/freeze until 2026-02-01 fire", "refused: Sun 2026-02-01 00:00 UTC is in the past"
    ),
    "out of the repository": ("/freeze ../other fire", "takes a folder of the repository"),
    "a gate that has no exceptions": (
        "/override approved fire", "for `window`, `freeze` and `check:<name>`"
    ),
    "a gate that nobody closed": ("/override freeze fire", "does not prevent publishing"),
    "no reason for an exception": ("/override freeze", "`/override` takes a reason after it"),
    "nothing to thaw": ("/thaw", "Nothing is frozen by a comment"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "answer"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_says_what_to_do(text: str, answer: str) -> None:
    actions = decide(facts(changed(PROPOSAL, comments=(said(APPROVER, text),))))

    assert not [a for a in actions if isinstance(a, KeepFreezes)]
    (reply,) = (a for a in actions if isinstance(a, Reply))
    assert answer in reply.body


@pytest.mark.parametrize("merged", [False, True])
def test_checks_of_others_are_waited_for_and_can_be_excepted_at_this_head(merged: bool) -> None:
    """Short-cut refused: only the merge waits; an exception for whatever is pushed later."""
    scan = AwaitedCheck("License scan", "my-scanner", CheckState.FAILURE)
    place = {"merged": True, "closed": True, "merged_at": NOW - 2 * HOUR, "merge_commit": MERGE}
    proposal = changed(APPROVED, outside=(scan,), **(place if merged else {}))

    gate = open_gates(facts(proposal))["check License scan"]
    assert (gate.actual, gate.wanted) == (
        "failure",
        "success on the head commit, by the App `my-scanner`",
    )
    assert gate.who.endswith('`/override "check:License scan" <reason>`')
    found = excepted(proposal, '"check:License scan"')
    assert publishes(found)
    (after,) = found.proposals
    moved = changed(after, head=Sha("d" * 40))
    assert "check License scan" in open_gates(
        replace(found, head=Sha("d" * 40), proposals=(moved,))
    )


def test_two_apps_with_checks_of_one_name_are_two_gates() -> None:
    """Short-cut refused: a gate by the name of the check: one exception lets past both."""
    checks = [AwaitedCheck("scan", app, CheckState.FAILURE) for app in ("one", "two", "")]
    proposal = changed(APPROVED, outside=tuple(checks))

    assert {"check scan@one", "check scan@two", "check scan"} <= open_gates(facts(proposal)).keys()
    left = open_gates(excepted(proposal, "check:scan@one"))
    assert {"check scan@two", "check scan"} <= left.keys()
    assert "check scan@one" not in left
    clash = changed(proposal, outside=(*checks, AwaitedCheck("scan@one", "", CheckState.FAILURE)))
    assert not timing.has_exceptions(clash, "check scan@one")
    assert timing.has_exceptions(clash, "check scan@two")


def test_what_the_branch_itself_requires_has_no_exceptions() -> None:
    """Short-cut refused: any check by its name."""
    scan = AwaitedCheck("scan", "", CheckState.MISSING)
    both = changed(PROPOSAL, outside=(scan,), required=(Required("scan", CheckState.MISSING),))

    assert timing.has_exceptions(changed(PROPOSAL, outside=(scan,)), "check scan")
    assert not timing.has_exceptions(both, "check scan")


@pytest.mark.parametrize("gate", ["approved", "rendered", "valid", "up to date", "no hold"])
def test_nothing_lets_a_proposal_past_what_is_no_matter_of_time(gate: str) -> None:
    """Short-cut refused: any gate by its name."""
    assert not timing.has_exceptions(PROPOSAL, gate)


def test_who_may_not_freeze_does_not() -> None:
    proposal = changed(PROPOSAL, comments=(said(OUTSIDER, "/freeze fire"),))

    actions = decide(facts(proposal))

    assert not [a for a in actions if isinstance(a, KeepFreezes)]


CLOSED = Window(
    kind=WindowKind.ALLOW,
    begins=Cron("0 8 * * *", UTC),
    ends=Cron("0 10 * * *", UTC),
    reason="somebody is there",
)
TIMED = Rules(policy=Policy(calendars=((CLOSED,),)), digest=Policy().digest)


def excepted(proposal: Proposal, gate: str, log: Log = frozenset()) -> Facts:
    """A proposal with an answered `/override`, said an hour ago."""
    comment = said(APPROVER, f"/override {gate} a hotfix", minutes=-60)
    before = changed(proposal, comments=(comment,), looked_at=NOW - HOUR)
    found = settled(facts(before, freezes=log))
    (after,) = found.proposals
    return replace(found, proposals=(changed(after, looked_at=NOW),))


def test_an_exception_is_for_what_was_frozen_then_and_no_later_freeze() -> None:
    """Short-cut refused: an exception by the gate's name, for ever."""
    log = frozenset({frozen()})
    found = excepted(APPROVED, "freeze", log)

    assert publishes(found)
    (gate,) = (g for g in _gates(found) if g.name == "freeze")
    assert gate.actual == "overridden by `approver`: a hotfix (`owner` froze everything: fire)"
    again = Frozen(person="owner", at=NOW, comment=200, reason="fire again")
    assert not publishes(replace(found, freezes=log | {again}))


def test_an_exception_takes_whom_the_folders_in_a_package_name() -> None:
    """Short-cut refused: the rule around the package alone, which a Kptfile further out evades."""
    rule = {AccessAction.OVERRIDE: AccessRule(2)}
    reaching = changed(
        APPROVED,
        policy=Policy(paths=(PathAccess("net/core/prod", rule),)),
        touched=(replace(CORE, inside=("net/core/prod",)),),
    )
    beside = changed(reaching, touched=(CORE,))
    log = frozenset({frozen()})

    assert publishes(excepted(beside, "freeze", log))
    assert not publishes(excepted(reaching, "freeze", log))


def test_an_exception_for_an_entry_of_the_ledger_takes_whom_its_package_names() -> None:
    """Short-cut refused: where no package is touched, the rule of the root, which others are in."""
    entry = LedgerChange(
        package="net/core",
        revision=3,
        path=".porchbot/ledger/net/core.yaml",
        before=None,
        after=LedgerEntry(ListedState.DEPRECATED, "use v4"),
    )
    rule = {AccessAction.OVERRIDE: AccessRule(1, sources=(RoleSource(Role.ADMIN),))}
    listing = changed(
        APPROVED,
        policy=Policy(paths=(PathAccess("net", rule),)),
        touched=(),
        verdicts=(),
        ledger=(entry,),
        configures=True,
        comments=(said(APPROVER, "/override freeze a hotfix"),),
    )

    (after,) = settled(facts(listing, freezes=frozenset({frozen()}))).proposals

    answers = [c.body for c in after.talk.answers if not c.summary]
    assert any(
        body.startswith("@approver `/override` refused: only people with admin access")
        for body in answers
    ), answers
    elsewhere = changed(listing, policy=Policy(paths=(PathAccess("apps", rule),)))
    (after,) = settled(facts(elsewhere, freezes=frozenset({frozen()}))).proposals
    assert not any("takes admin access" in c.body for c in after.talk.answers if not c.summary)


def test_an_exception_from_a_window_ends_when_the_window_opens() -> None:
    found = excepted(changed(APPROVED, rules=TIMED), "window")
    (proposal,) = found.proposals
    tomorrow = changed(proposal, looked_at=NOW + timedelta(days=1))

    assert publishes(found)
    assert not publishes(replace(found, proposals=(tomorrow,)))


def test_an_exception_falls_with_the_content_and_with_an_edit_of_its_comment() -> None:
    """Short-cut refused: an exception for whatever is pushed after it."""
    log = frozenset({frozen()})
    found = excepted(APPROVED, "freeze", log)
    (proposal,) = found.proposals
    other = replace(CORE, tree=OTHER, head_tree=OTHER)
    edited = tuple(replace(c, edited=True) for c in proposal.talk.comments)

    for fallen in (changed(proposal, touched=(other,)), changed(proposal, comments=edited)):
        assert "freeze" in open_gates(replace(found, proposals=(fallen,)))


def test_authors_make_no_exception_of_their_own_work() -> None:
    log = frozenset({frozen()})
    proposal = changed(APPROVED, comments=(said(AUTHOR, "/override freeze please"),))

    assert "freeze" in open_gates(facts(proposal, freezes=log))


def test_what_a_merge_went_by_is_told_with_it() -> None:
    """Short-cut refused: a freeze set between look and merge that nobody can see."""
    log = frozenset({frozen("apps", number=40), Thawed(person="a", at=NOW, comment=41)})
    found = settled(facts(changed(APPROVED, rules=TIMED, looked_at=NOW - 3 * HOUR), freezes=log))

    (merge,) = (a for a in decide(found, publishing=True) if isinstance(a, Merge))

    assert (merge.until, merge.freezes) == (NOW - 2 * HOUR, frozenset({40}))


def test_freezes_and_exceptions_are_written_and_read_again() -> None:
    log: Log = frozenset(
        {frozen("net", until=NOW), Thawed(person="a", at=NOW, comment=41, path="net"), thawed("40")}
    )

    assert frozenset(decode(encode(e)) for e in log) == log
    assert freezes(compact(log) | log) == freezes(log) == ()
    assert freezes(compact(frozenset({frozen()}))) == (frozen(),)


def test_a_thaw_names_the_freezes_that_were_judged() -> None:
    """Short-cut refused: "all up to now", which lifts what another look still has to read."""
    log: Log = frozenset({frozen("net", number=39), frozen("net", number=40), frozen("apps")})
    proposal = changed(PROPOSAL, comments=(said(APPROVER, "/thaw net"),))

    actions = decide(facts(proposal, freezes=log))

    (kept,) = (a for a in actions if isinstance(a, KeepFreezes))
    (event,) = kept.log
    assert event == Thawed(
        person="approver", at=NOW, comment=100, path="net", lifts=("39 net", "40 net")
    )
    unseen = Frozen(person="owner", at=NOW - HOUR, comment=90, path="net", reason="breach")
    assert freezes(log | {event, unseen}) == (frozen("apps"), unseen)


def test_what_is_remembered_of_freezes_has_an_end() -> None:
    """Short-cut refused: everything that was ever frozen, until the issue cannot be written."""
    log: set[Event] = {frozen("net", number=1), frozen("old", number=2, until=NOW)}
    for number in range(3, 2000, 2):
        log |= {frozen("a/folder", number=number), thawed(f"{number} a/folder", number=number + 1)}

    kept = frozen_since(log, NOW)

    assert len(str(pack(kept))) < 10_000
    assert freezes(kept) == (frozen("net", number=1),)
    assert frozen_since(kept, NOW) == kept
    recent = frozen("a/folder", number=1999)
    assert freezes(kept | {recent}) == freezes(kept)  # an old copy revives nothing
    assert freezes(frozen_since(log | {thawed()}, NOW)) == ()  # as older versions wrote it


def test_what_cannot_be_remembered_is_not_frozen_but_everything_always_can_be() -> None:
    """Short-cut refused: freezes until the issue that keeps them cannot be written any more."""
    reason = "\N{FIRE}" * 500
    many: Log = frozenset(replace(frozen("net", number=n), reason=reason) for n in range(1, 7))

    def kept(words: str, log: Log) -> bool:
        proposal = changed(PROPOSAL, comments=(said(APPROVER, words),))
        return any(isinstance(a, KeepFreezes) for a in decide(facts(proposal, freezes=log)))

    assert kept("/freeze net/ fire", frozenset({frozen("net")}))
    assert not kept("/freeze net/ fire", many | {replace(frozen(number=9), reason=reason)})
    assert not kept("/freeze fire", many | {replace(frozen(number=9), reason=reason)})
    assert kept("/freeze fire", many)
    over = replace(frozen(number=9), reason=reason, until=NOW)
    assert kept("/freeze net/ fire", frozenset({over, *list(many)[:5]}))


def test_where_the_dashboard_cannot_be_read_nothing_is_published() -> None:
    """Short-cut refused: what nobody can read is taken for empty."""
    found = facts(APPROVED, freezes_unread="403 Forbidden")

    assert not publishes(found)
    gate = open_gates(found)["freeze"]
    assert "cannot be read: 403 Forbidden" in gate.actual
    assert "Issues" in gate.wanted
    assert open_gates(facts(changed(APPROVED, touched=()), freezes_unread="403")) == {}


def _gates(found: Facts) -> tuple[Gate, ...]:
    from lifecycle import memory
    from lifecycle.gates import judge

    (proposal,) = found.proposals
    return judge(found, proposal, memory.read(proposal)).gates
