"""What time alone changes is known beforehand: a look comes back at the moment, not by chance.

Whatever is decided stays so until `due`, with no event in between; at `due` something is done.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.loop.timed import FIRST, LOGGED_WITHIN, SPREAD, may_be_told, seconds, sooner
from bot.store.values import Wait
from lifecycle.decide import decide
from lifecycle.due import due
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal, Rules
from lifecycle.merges import UnknownRules
from lifecycle.policy import Policy
from lifecycle.tags import Tagging
from lifecycle.upkeep import TOLD_WITHIN
from lifecycle.windows import Cron, Window, WindowKind
from tests.lifecycle.samples import (
    APPROVER,
    CORE,
    HEAD,
    MERGE,
    NOW,
    PROPOSAL,
    approved_by,
    changed,
    facts,
    said,
)
from tests.lifecycle.settling import settled

KEY = "a key"
WEEKDAYS = Window(
    kind=WindowKind.ALLOW, begins=Cron("0 8 * * *", UTC), ends=Cron("0 17 * * *", UTC)
)
BREAK = Window(
    kind=WindowKind.FREEZE, begins=Cron("30 12 * * *", UTC), ends=Cron("30 14 * * *", UTC)
)
SHORT = Window(kind=WindowKind.ALLOW, begins=Cron("0 18 * * *", UTC), ends=Cron("5 18 * * *", UTC))
TIMED = Rules(policy=Policy(calendars=((WEEKDAYS, BREAK),)), digest=Policy().digest)
MERGED = changed(PROPOSAL, merged=True, closed=True, merged_at=NOW, merge_commit=MERGE)


def _says(proposal: Proposal, words: str) -> Proposal:
    return changed(proposal, comments=(said(APPROVER, words),))


STATES: dict[str, Proposal] = {
    "asked": _says(PROPOSAL, "/why"),
    "approved": approved_by(PROPOSAL, "approver"),
    "held": _says(PROPOSAL, "/hold wait for the window"),
    "rejected": _says(PROPOSAL, "/reject no"),
    "draft": _says(changed(PROPOSAL, draft=True), "/help"),
    "merged": _says(MERGED, "/why"),
    "in a window": changed(PROPOSAL, rules=TIMED),
    "approved, outside of a window": approved_by(
        changed(PROPOSAL, rules=replace(TIMED, policy=Policy(calendars=((SHORT,),)))), "approver"
    ),
    "merged, with a window": changed(MERGED, rules=TIMED),
    "published, with a window": changed(
        MERGED, rules=TIMED, touched=(replace(CORE, tagging=Tagging(5, tagged=True)),)
    ),
    "closed": _says(changed(PROPOSAL, closed=True), "/why"),
}
SETTLED: dict[str, Facts] = {}

AGES = st.integers(-30, 240).map(lambda seconds: timedelta(seconds=seconds))
LATER = st.one_of(
    st.integers(1, 300), st.sampled_from([3_600, 86_400, 40 * 86_400, 400 * 86_400])
).map(lambda seconds: timedelta(seconds=seconds))


def _settled(name: str) -> Facts:
    """A state that has come to rest; worked out once."""
    if name not in SETTLED:
        SETTLED[name] = settled(facts(STATES[name]))
    return SETTLED[name]


def _with_doubles(found: Facts, ages: list[timedelta]) -> Facts:
    """Comments of ours that are there twice, and of which the database was not told."""
    (proposal,) = found.proposals
    answers = [c for c in proposal.talk.answers if c.records or c.summary]
    doubles = tuple(
        replace(answers[n % len(answers)], id=9_000 + n, at=NOW - age)
        for n, age in enumerate(ages if answers else [])
    )
    talk = replace(proposal.talk, answers=(*proposal.talk.answers, *doubles))
    return replace(found, proposals=(replace(proposal, talk=talk),))


def _at(found: Facts, moment: datetime) -> Facts:
    return replace(found, proposals=tuple(changed(p, looked_at=moment) for p in found.proposals))


@given(
    name=st.sampled_from(sorted(STATES)),
    ages=st.lists(AGES, max_size=3),
    later=st.lists(LATER, min_size=1, max_size=4),
    publishing=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_time_alone_opens_nothing_before_the_moment_and_something_at_it(
    name: str, ages: list[timedelta], later: list[timedelta], publishing: bool
) -> None:
    """The short-cut is a rule that asks for the time: what it lets through waits for a sweep."""
    found = _at(_with_doubles(_settled(name), ages), NOW)
    decided = decide(found, publishing=publishing)
    moment = due(found)

    for after in later:
        if moment is None or after < moment - NOW:
            assert decide(_at(found, NOW + after), publishing=publishing) == decided
    if moment is not None:
        assert moment > NOW
        assert decide(_at(found, moment), publishing=publishing) != decided


def test_a_comment_that_is_there_twice_is_waited_for() -> None:
    """The short-cut leaves it to the next event: nobody writes to a proposal that is done."""
    young = timedelta(seconds=20)
    found = _with_doubles(_settled("asked"), [young])

    assert due(found) == NOW - young + TOLD_WITHIN
    assert seconds(found, NOW, {}, KEY) == (TOLD_WITHIN - young).total_seconds()
    assert due(_settled("asked")) is None
    assert seconds(_settled("asked"), NOW, {}, KEY) is None


@pytest.mark.parametrize("age", [10.0, 60.0, 5_000.0])
def test_a_merge_whose_base_is_not_known_is_asked_for_again_less_and_less_often(age: float) -> None:
    """The short-cut leaves it to sweeps, which leave alone what is quiet; or asks for ever."""
    doubtful = changed(MERGED, doubt=UnknownRules.BASE, head=HEAD)

    now = NOW + timedelta(seconds=age)
    assert may_be_told(doubtful, now)
    assert seconds(facts(doubtful), now, {}, KEY) == max(FIRST, age)
    assert seconds(facts(doubtful), NOW + LOGGED_WITHIN, {}, KEY) is None
    assert not may_be_told(MERGED, now)


@pytest.mark.parametrize(
    ("gates", "wakes"),
    [
        (["window"], True),
        (["window", "freeze"], True),
        (["window", "same head"], True),  # the two of a head wait for one another
        (["window", "check scan"], True),
        (["proposed", "window"], False),
        (["approved", "window"], False),
        (["valid", "window"], False),
    ],
)
def test_a_window_that_opens_wakes_what_it_lets_through_alone_and_not_in_one_second(
    gates: list[str], wakes: bool
) -> None:
    """Short-cuts refused: five hundred drafts are looked at in the second in which a window opens;
    two proposals of a head that each wait for the other are never looked at."""
    found = _settled("approved, outside of a window")
    moment = due(found)
    assert moment is not None
    exactly = (moment - NOW).total_seconds()
    waits = {PROPOSAL.place.number: [_wait(gate) for gate in gates]}

    later = [seconds(found, NOW, waits, f"key {n}") for n in range(40)]
    told = [each - exactly for each in later if each is not None]
    assert len(told) == (40 if wakes else 0)
    assert all(0 <= each < SPREAD for each in told)
    assert not wakes or len(set(told)) > 10
    assert seconds(found, NOW, {}, KEY) == exactly  # one that may be published now, and not then


def _wait(gate: str) -> Wait:
    return Wait(gate=gate, reason=gate, actual="", wanted="", who="")


def test_of_two_waits_the_shorter_counts() -> None:
    """The short-cut takes the last: what the forge shows late would be waited for for a day."""
    assert [sooner(1, 2), sooner(None, 2), sooner(1, None), sooner(None, None)] == [1, 2, 1, None]
