"""What is merged and waits: when a sweep has it looked at."""

from datetime import UTC, datetime

from bot.loop import parked
from bot.loop.parked import CHECKS_AGAIN
from bot.store.values import Parked, Swept

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
