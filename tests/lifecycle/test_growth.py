"""How much deciding takes as a proposal grows: lines that are run, whatever the machine."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from lifecycle import replay, spelling
from lifecycle.access import Person
from lifecycle.actions import SetCheck
from lifecycle.decide import decide
from lifecycle.events import CommentAnswered
from lifecycle.facts.head import Facts
from lifecycle.facts.overview import ListedBehind, ListedPackage, Overview
from lifecycle.facts.verdicts import ReadinessGate, Verdict
from lifecycle.messages import markdown
from lifecycle.messages.dashboard import dashboard
from lifecycle.records import JSON
from lifecycle.tags import Foreign
from tests.counting import OURS, assert_in_proportion, lines
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
            | replay.pack([CommentAnswered(comment=1000 + n)]),
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


def waiting(person: Person, *texts: str) -> Callable[[int], Facts]:
    """Comments of one person that wait, with these texts in turn."""

    def made(comments: int) -> Facts:
        asked = tuple(said(person, texts[n % len(texts)], 1000 + n) for n in range(comments))
        return facts(replace(PROPOSAL, talk=replace(PROPOSAL.talk, comments=asked)))

    return made


GROWING: dict[str, Callable[[int], Facts]] = {
    "packages": touching,
    "answered comments": answered,
    "holds": holding,
    "why, by a stranger": waiting(OUTSIDER, "/why"),
    "approvals, by a stranger": waiting(OUTSIDER, "/approve", "/unapprove"),
    "approvals": waiting(APPROVER, "/approve"),
    "approvals, taken back": waiting(APPROVER, "/approve", "/unapprove"),
    "approvals, and holds": waiting(APPROVER, "/approve", "/hold"),
}


@pytest.mark.parametrize("made", GROWING.values(), ids=GROWING)
def test_deciding_takes_time_in_proportion(made: Callable[[int], Facts]) -> None:
    """Short-cuts refused: all packages gone through for each of them; all answers for each; all
    words about holds, or all of the log, replayed at each command; everybody who said something
    listed at each.
    """

    def deciding(size: int) -> Callable[[], object]:
        known = made(size)
        return lambda: decide(known)

    assert_in_proportion(deciding, 50, lambda work: lines(work, (*OURS, __file__)))


@pytest.mark.parametrize("hidden", ["\u200b", "\u200d", "\u200b\u202e"])
def test_names_that_nobody_is_shown_are_not_written_out(
    monkeypatch: pytest.MonkeyPatch, hidden: str
) -> None:
    """The short-cut writes out all names and shows the first five: thousands of packages below a
    folder whose name is a thousand invisible characters take minutes."""
    name, packages = hidden * (1_000 // len(hidden)), range(1_000)
    touched = tuple(replace(CORE, package=f"{name}/p{n}") for n in packages)
    verdicts = tuple(Verdict(package=each.package) for each in touched)
    written, longest = list[str](), spelling.shown

    def shown(text: str) -> str:
        written.append(text)
        return longest(text)

    monkeypatch.setattr(spelling, "shown", shown)
    actions = decide(facts(changed(PROPOSAL, touched=touched, verdicts=verdicts)))

    assert any(isinstance(each, SetCheck) for each in actions)
    assert 0 < sum(text.startswith(name[:9]) for text in written) < 200


def test_a_long_text_has_no_middle() -> None:
    """The short-cut looks at each character of a name of a megabyte, however little is shown."""
    text = markdown.code("a" * 10_000 + "b" * 90_000)
    assert len(text) < markdown.LONGEST + 100
    assert "aaa […] 98000 characters […] bbb" in text


def test_lines_of_the_dashboard_that_have_no_room_are_not_written_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The short-cut writes out each package, and shows the first of them."""
    hidden, every = "\u200b" * 1_000, range(2_000)
    overview = Overview(
        packages=tuple(ListedPackage(package=f"{hidden}{n}", revision=1) for n in every),
        changes=(),
        behind=tuple(
            ListedBehind(package=f"{hidden}{n}", upstream="x", revision=1, newer=(2,))
            for n in every
        ),
    )
    written, plainly = list[str](), spelling.shown

    def shown(text: str) -> str:
        written.append(text)
        return plainly(text)

    monkeypatch.setattr(spelling, "shown", shown)
    text = dashboard(overview)

    assert "### Packages (2000)" in text
    assert 0 < sum(text.startswith(hidden) for text in written) < 200


def test_conditions_and_tags_that_nobody_is_shown_are_not_written_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The short-cut writes out each of a hundred thousand readiness gates in a Kptfile of anybody,
    and each tag that somebody put on a merge, to show a few."""
    hidden, every = "\u200b" * 99, range(2_000)
    gates = tuple(ReadinessGate(type=f"{hidden}{n}") for n in every)
    tags = tuple(Foreign(f"{hidden}/v{n}", before=False) for n in every)
    core = replace(CORE, tagging=replace(CORE.tagging, foreign=tags))
    verdicts = (Verdict(package=CORE.package, readiness=gates),)
    written, plainly = list[str](), spelling.shown

    def shown(text: str) -> str:
        written.append(text)
        return plainly(text)

    monkeypatch.setattr(spelling, "shown", shown)
    decide(facts(changed(PROPOSAL, touched=(core,), verdicts=verdicts)))

    assert 0 < sum(text.startswith(hidden) for text in written) < 200
