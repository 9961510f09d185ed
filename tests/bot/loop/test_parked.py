"""What is merged and waits: when a sweep has it looked at."""

from dataclasses import replace
from datetime import UTC, datetime

from bot.loop import parked
from bot.loop.parked import CHECKS_AGAIN
from bot.store.values import Parked, Swept, Wait, Waiting
from lifecycle.decide import conclude
from lifecycle.facts.conversation import Review, ReviewState
from tests.lifecycle.samples import APPROVER, PROPOSAL, changed, facts

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LONG = 86400.0


def _woken(gates: set[str], before: Swept | None, rules: str = "rules") -> bool:
    known = {"key": before} if before else {}
    return parked.to_look_at({"key": frozenset(gates)}, known, rules, NOW) == ["key"]


def test_what_is_merged_is_looked_at_where_something_changed_that_it_may_wait_for() -> None:
    """Short-cuts refused: at every sweep, which each merge brings; and never."""
    seen = Swept("rules", 60.0)
    assert _woken({"window"}, None)
    assert not _woken({"window"}, seen)
    assert _woken({"window"}, seen, "other rules")
    assert _woken({"window"}, Swept("rules", LONG))


def test_a_check_of_which_no_event_told_is_asked_for_now_and_then() -> None:
    """The short-cut trusts events; another asks at each sweep, for each that waits."""
    late = Swept("rules", CHECKS_AGAIN + 1)
    assert _woken({"check scan", "freeze"}, late)
    assert not _woken({"check scan"}, Swept("rules", CHECKS_AGAIN - 1))
    assert not _woken({"freeze"}, late)


def test_proposals_of_one_branch_wait_together() -> None:
    rows = [Parked(1, "a", frozenset({"freeze"})), Parked(2, "a", frozenset({"check x"}))]
    assert parked.by_key(rows) == {"a": {"freeze", "check x"}}


def test_who_waits_for_a_request_for_changes_to_be_withdrawn() -> None:
    """The short-cut waits for an event that some forges do not send."""
    wait = Wait(gate="no objection", reason="no_objection", actual="", wanted="", who="")
    other = replace(wait, gate="approved")
    rows = [
        Waiting(
            place=(1, n), repository="acme/x", number=n, key="k", waits=tuple((NOW, w) for w in ws)
        )
        for n, ws in ((1, (wait, other)), (2, (other,)))
    ]
    assert parked.objected(rows) == {1}


def test_the_gate_of_objections_is_called_so() -> None:
    """The short-cut goes on looking for a gate that has another name by now."""
    review = Review(
        id=1,
        author=APPROVER,
        state=ReviewState.CHANGES_REQUESTED,
        head=PROPOSAL.place.head,
        trees=None,
        at=NOW,
    )
    waits = conclude(facts(changed(PROPOSAL, reviews=(review,)))).waits
    assert parked.OBJECTION in {gate.name for gate in waits[PROPOSAL.place.number]}
