"""How much deciding takes as a proposal grows: lines that are run, whatever the machine."""

import gc
import sys
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest

from lifecycle import replay
from lifecycle.decide import decide
from lifecycle.events import Answered
from lifecycle.facts.head import Facts
from lifecycle.facts.verdicts import Verdict
from lifecycle.records import JSON
from tests.lifecycle.samples import (
    APPROVER,
    CORE,
    OUTSIDER,
    PROPOSAL,
    REPOSITORY,
    changed,
    facts,
    ours,
    said,
)


def lines(work: Callable[[], object]) -> int:
    """Lines that a piece of work runs; those of a comprehension count each time round.

    Of our own code and what it does to values, as ``_DECIDING`` lists it: neither what measuring
    coverage does whenever it has seen enough of a function, nor what garbage has to end. The
    smaller count of two runs, since the first may import and compile.
    """
    return min(_counted(work), _counted(work))


_DECIDING = ("/lifecycle/", "/cadlib/", "/dataclasses.py", "<string>")


def _counted(work: Callable[[], object]) -> int:
    count = 0

    def traced(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        return traced

    def called(frame: FrameType, _event: str, _: object) -> Any:
        ours = any(part in frame.f_code.co_filename for part in _DECIDING)
        return traced if ours else None

    before, collecting = sys.gettrace(), gc.isenabled()
    gc.disable()
    sys.settrace(called)
    try:
        work()
    finally:
        sys.settrace(before)
        if collecting:
            gc.enable()
    return count


class Record(dict[str, JSON]):
    """A record whose comparisons are lines as well."""

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)


def touching(packages: int) -> Facts:
    touched = tuple(replace(CORE, package=f"g{n % 50}/p{n}") for n in range(packages))
    verdicts = tuple(Verdict(package=each.package) for each in touched)
    return facts(changed(PROPOSAL, touched=touched, verdicts=verdicts))


def answered(comments: int) -> Facts:
    """A conversation in which each comment has its answer, and nothing is new."""
    place = PROPOSAL.place
    record = {"repository": str(REPOSITORY.spelled), "number": place.number, "mark": "x"}
    answers = tuple(
        ours(
            f"@outsider no {n}",
            {"kind": "answer", **record, "head": str(place.head), "rules": "y"}
            | replay.pack([Answered(comment=1000 + n)]),
            100_000 + n,
        )
        for n in range(comments)
    )
    answers = tuple(replace(c, records=tuple(map(Record, c.records))) for c in answers)
    asked = tuple(said(OUTSIDER, f"/approve\n\n{n}", 1000 + n) for n in range(comments))
    talk = replace(PROPOSAL.talk, comments=asked, answers=answers)
    return facts(replace(PROPOSAL, talk=talk))


def holding(comments: int) -> Facts:
    """Comments that wait, each of which holds the proposal and lets it go."""
    asked = tuple(said(APPROVER, f"/hold {n}\n/unhold", 1000 + n) for n in range(comments))
    return facts(replace(PROPOSAL, talk=replace(PROPOSAL.talk, comments=asked)))


@pytest.mark.parametrize("made", [touching, answered, holding])
def test_deciding_takes_time_in_proportion(made: Callable[[int], Facts]) -> None:
    """Short-cuts refused: all packages gone through for each of them; all answers for each; all
    words about holds replayed at each.
    """
    small, large = made(50), made(400)
    few, many = lines(lambda: decide(small)), lines(lambda: decide(large))
    assert many < 12 * few, (few, many)
