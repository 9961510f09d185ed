"""Drafts of variants in which nobody has a part: no comment, and nothing of it is lost."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from cadlib.findings import Severity
from lifecycle import actions as a
from lifecycle.decide import decide
from lifecycle.facts.checks import PUBLISH
from lifecycle.facts.head import Facts
from lifecycle.facts.verdicts import Verdict
from lifecycle.quiet import is_quiet
from tests.lifecycle.samples import APPROVER, BLOCKING, BOT, PROPOSAL, changed, facts, ours, said

REF = "drafts/net/core/packagevariant-1"
WARNING = replace(BLOCKING, message="a warning of a function", severity=Severity.WARNING)
MADE = changed(
    PROPOSAL,
    draft=True,
    for_variant=True,
    author=BOT,
    us=BOT.login,
    authors=frozenset(),
    comments=(),
    answers=(),
    labels=frozenset(),
    verdicts=(Verdict(package="net/core", findings=(WARNING,)),),
)
QUIET = facts(MADE, head_ref=REF)


def noisy(**changes: object) -> Facts:
    """The same with something in it."""
    return facts(changed(MADE, **changes), head_ref=REF)


def test_what_the_summary_would_say_stands_in_the_check() -> None:
    """Short-cuts refused: the comment is left out, with what it alone says; its record is lost."""
    (p,) = QUIET.proposals
    assert is_quiet(QUIET, p)
    actions = decide(QUIET)
    assert not [each for each in actions if isinstance(each, a.Say)]
    assert [each.number for each in actions if isinstance(each, a.Keep) and each.log] == [7]
    (check,) = [each for each in actions if isinstance(each, a.SetCheck) and each.name == PUBLISH]
    for told in ("a warning of a function", "**Packages**", "There is no summary comment yet"):
        assert told in check.text

    loud = decide(noisy(for_variant=False))
    (say,) = [each for each in loud if isinstance(each, a.Say)]
    kept = check.summary + check.text
    assert not [line for line in say.body.split("\n")[1:] if line not in kept]


LOUD: Mapping[str, Facts] = {
    "a comment": noisy(comments=(said(APPROVER, "hello", 100),)),
    "a summary that is there": noisy(
        answers=(replace(ours("old", {}, 900, summary=True), records=()),)
    ),
    "a push of a person, and any other draft": noisy(for_variant=False),
    "a proposal": noisy(draft=False),
    "opened by a person": noisy(author=APPROVER),
    "what must be mended": noisy(verdicts=(Verdict(package="net/core", findings=(BLOCKING,)),)),
    "what could not be rendered": noisy(verdicts=(Verdict(package="net/core", broken="away"),)),
    "checks of one line": replace(QUIET, line_checks=True),
    "a check that cannot be shown": replace(QUIET, unshown=frozenset({PUBLISH})),
    "a head that moved": replace(QUIET, head=None),
}


@pytest.mark.parametrize("start", LOUD.values(), ids=LOUD)
def test_where_somebody_has_a_part_or_must_act_there_is_a_comment(start: Facts) -> None:
    """Fails on each that is left out of the rule."""
    (p,) = start.proposals
    assert not is_quiet(start, p)


def test_who_changed_the_rule_has_no_part_in_each_of_its_packages() -> None:
    """The short-cut counts authors: whoever wrote the rule is one of every package."""
    start = noisy(authors=frozenset({"author"}), ruled=frozenset({"author"}))
    (p,) = start.proposals
    assert is_quiet(start, p)
