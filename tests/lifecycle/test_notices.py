"""What people are told once: the texts, word for word, and that none is told twice."""

from dataclasses import replace

import pytest

from lifecycle.actions import OpenProposal, Reply
from lifecycle.decide import decide
from lifecycle.facts.checks import VALIDATE
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.verdicts import Verdict
from lifecycle.messages import commits
from lifecycle.policy import Policy
from tests.lifecycle.samples import (
    APPROVER,
    BLOCKING,
    BOT,
    CORE,
    FACTS,
    OTHER,
    PROPOSAL,
    changed,
    check,
    facts,
    said,
)
from tests.lifecycle.settling import carry_out, settled

BAD = Verdict(package="net/core", findings=(BLOCKING, BLOCKING))
OUTDATED = replace(CORE, base=OTHER, changed_by=("#5",))
OUT_OF_DATE = (
    "@author This proposal is out of date: `net/core` changed in `main` since (#5). To continue,"
    " comment `/rebase`, or merge `main` into this branch, so that it contains both."
)
AFTER_PUSH = (
    "@author `porchbot/validate` fails with 2 errors after a push by `approver`, at `aaaaaaaaaa`."
    " The check shows each one at its line."
)


def told(given: Facts) -> list[str]:
    return [action.body for action in decide(given) if isinstance(action, Reply)]


TOLD: dict[str, tuple[Proposal, list[str]]] = {
    "a proposal that went out of date": (changed(PROPOSAL, touched=(OUTDATED,)), [OUT_OF_DATE]),
    "a draft may be out of date": (changed(PROPOSAL, touched=(OUTDATED,), draft=True), []),
    "a check that fails after somebody else's push": (
        changed(PROPOSAL, verdicts=(BAD,), pushed_by="approver"),
        [AFTER_PUSH],
    ),
    "also of a draft": (
        changed(PROPOSAL, verdicts=(BAD,), pushed_by="approver", draft=True),
        [AFTER_PUSH],
    ),
    "a check that fails after the author's own push": (
        changed(PROPOSAL, verdicts=(BAD,), pushed_by="author"),
        [],
    ),
    "who pushed is not known": (replace(PROPOSAL, verdicts=(BAD,)), []),
    "whose it is, is not known": (
        changed(PROPOSAL, author=BOT, verdicts=(BAD,), pushed_by="approver"),
        [],
    ),
    "what the bot opened belongs to whom it is assigned": (
        changed(PROPOSAL, author=BOT, assigned=("author",), verdicts=(BAD,), pushed_by="approver"),
        [AFTER_PUSH],
    ),
    "what is closed is over": (
        changed(PROPOSAL, touched=(OUTDATED,), verdicts=(BAD,), pushed_by="approver", closed=True),
        [],
    ),
    "nothing is wrong": (changed(PROPOSAL, pushed_by="approver"), []),
}


@pytest.mark.parametrize(("proposal", "texts"), TOLD.values(), ids=TOLD)
def test_what_the_author_is_told(proposal: Proposal, texts: list[str]) -> None:
    """The short-cut is a check run, of which forges notify nobody."""
    assert told(facts(proposal)) == texts


@pytest.mark.parametrize(("proposal", "texts"), TOLD.values(), ids=TOLD)
def test_it_is_told_once_and_everything_settles(proposal: Proposal, texts: list[str]) -> None:
    """The short-cut is told at every look."""
    at_rest = settled(facts(proposal))

    assert decide(at_rest) == []
    bodies = [c.body for c in at_rest.proposals[0].talk.answers if not c.summary]
    assert bodies == texts


def test_a_head_that_passed_and_now_fails_is_told_though_nobody_pushed() -> None:
    """The short-cut looks at pushes alone: the rules of the base change too."""
    passed = check(VALIDATE)
    proposal = changed(PROPOSAL, verdicts=(BAD,), pushed_by="author")

    (text,) = told(facts(proposal, checks={VALIDATE: passed}))

    assert text == (
        "@author `porchbot/validate` passed at `aaaaaaaaaa` and now fails there with 2 errors."
        " Nobody pushed, so the rules on `main` or a function changed. The check shows each one at"
        " its line."
    )
    assert told(settled(facts(proposal, checks={VALIDATE: passed}))) == []


def test_another_push_and_another_outdating_are_told_again() -> None:
    first = settled(
        facts(changed(PROPOSAL, touched=(OUTDATED,), verdicts=(BAD,), pushed_by="approver"))
    )
    merged = replace(OUTDATED, origin=OTHER, base="4" * 40, changed_by=("#6",))
    again = changed(first.proposals[0], touched=(merged,))

    (text,) = told(replace(first, proposals=(again,)))
    assert "(#6)" in text


def test_a_rejection_is_told_to_whose_proposal_it_is() -> None:
    """The short-cut is a reaction to the comment of whoever rejected."""
    proposal = changed(
        PROPOSAL,
        author=BOT,
        assigned=("author",),
        comments=(said(APPROVER, "/reject too @many racks"),),
    )

    assert told(facts(proposal)) == [
        "@approver @author: `approver` sent it back: too @<!-- -->many racks. This is a draft"
        " again:"
        " push your changes, then comment `/propose`."
    ]
    after = carry_out(facts(proposal), decide(facts(proposal)))
    assert told(after) == []


DRAFT = replace(
    FACTS,
    proposals=(),
    draft_touched=(CORE,),
    draft_policy=Policy(),
    draft_subjects=("Add the core",),
    draft_pusher="author",
)


def test_a_draft_is_opened_for_whoever_pushed_it() -> None:
    (opened,) = [a for a in decide(DRAFT) if isinstance(a, OpenProposal)]

    assert opened.title == "Add the core"
    assert opened.assignee == "author"
    assert opened.body.startswith("Draft of `net/core`, pushed by @author.\n")


TITLES = {
    "one commit": (["Add the core"], "Add the core"),
    "several": (["Add the core", "Fix it", "More"], "Add the core (and 2 more commits)"),
    "none that says anything": (["", " "], "net/core: w1"),
    "what cannot be seen": (["Add\u200b the\u202e  core\t"], "Add the core"),
    "a mention": (["Thank @team, mail a@b.example"], "Thank team, mail a@b.example"),
    "a trailer": (['kpt:{"package":"x"}'], '{"package":"x"}'),
    "a long one": (["x" * 500], "x" * 200),
}


@pytest.mark.parametrize(("subjects", "title"), TITLES.values(), ids=TITLES)
def test_titles(subjects: list[str], title: str) -> None:
    assert commits.proposal_title(subjects, ["net/core"], "drafts/net/core/w1") == title
