"""Tests of `/rebase`: when a merge of the base is pushed, and what is told where it is not."""

from dataclasses import replace
from typing import Any

import pytest

from lifecycle import actions as a
from lifecycle.decide import decide
from lifecycle.facts.head import PushRefusal
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.update import Update, UpdateConflict
from lifecycle.policy import Policy, UpdateMode
from tests.lifecycle.samples import AUTHOR, CORE, PROPOSAL, changed, facts, said

CLASH = UpdateConflict(
    path="net/core/web.yaml",
    resource="apps/v1/Deployment/web",
    field="spec.replicas",
    base="1",
    ours="<3>",
    theirs="2",
    reason="changed on both sides",
)
MERGES, CLASHES = Update(behind=True), Update(behind=True, conflicts=(CLASH,))
OUTDATED = changed(PROPOSAL, touched=(replace(CORE, base="9" * 40),))
ITSELF = changed(OUTDATED, policy=Policy(update=UpdateMode.AUTO))
REFUSED = PushRefusal("no merges here", 1 << 40)

CASES: dict[str, tuple[Proposal, Update | None, bool, dict[str, Any], bool, str]] = {
    "asked": (OUTDATED, MERGES, True, {}, True, "into this branch"),
    "not asked": (OUTDATED, MERGES, False, {}, False, ""),
    "unasked where the base says so": (ITSELF, MERGES, False, {}, True, ""),
    "unasked and refused before": (
        ITSELF, MERGES, False, {"push_refused": PushRefusal("no", 0)}, False, "",
    ),
    "unasked on a branch of any name": (ITSELF, MERGES, False, {"head_ref": "x"}, False, ""),
    "conflicts, unasked": (ITSELF, CLASHES, False, {}, False, "here `<3>`, in `main` `2`"),
    "conflicts": (OUTDATED, CLASHES, True, {}, False, "`spec.replicas`: was `1`, here `<3>`"),
    "nothing to do": (PROPOSAL, Update(), True, {}, False, "already up to date"),
    "a fork": (OUTDATED, None, True, {"same_repository": False}, False, "is in a fork"),
    "published from": (OUTDATED, MERGES, True, {"head_ref": "main"}, False, "published from"),
    "forbidden": (OUTDATED, MERGES, True, {"push_refused": REFUSED}, False, "no merges here"),
    "related to nothing": (
        OUTDATED, Update(behind=True, problem="no *history*"), True, {}, False, r"no \*history\*",
    ),
}  # fmt: skip


def asked_for(proposal: Proposal) -> Proposal:
    """The proposal with a comment of its author."""
    return changed(proposal, comments=(said(AUTHOR, "/rebase", 100),))


@pytest.mark.parametrize("case", CASES)
def test_when_it_is_pushed(case: str) -> None:
    """Fails where a command alone is enough, or where a conflict is settled for somebody."""
    proposal, update, asked, given, pushed, told = CASES[case]
    proposal = replace(proposal, update=update)
    proposal = asked_for(proposal) if asked else proposal
    found = decide(facts(proposal, **given))
    pushes = [each for each in found if isinstance(each, a.PushUpdate)]
    assert bool(pushes) == pushed
    assert told in "".join(each.body for each in found if isinstance(each, a.Reply | a.Say))
    for each in pushes:
        assert (each.head, each.base) == (proposal.place.head, proposal.place.base)
        assert each is found[0]  # before its answer: what was not done is found again


def test_a_long_list_of_conflicts_is_cut_and_counted() -> None:
    """Fails where a hostile package fills the comment."""
    update = Update(behind=True, conflicts=(CLASH,) * 50, more=1000)
    proposal = asked_for(replace(OUTDATED, update=update))
    replies = [each.body for each in decide(facts(proposal)) if isinstance(each, a.Reply)]
    [text] = [body for body in replies if "`/rebase` refused" in body]
    assert "1050 conflicts" in text
    assert "and 1020 more" in text
    assert text.count("spec.replicas") == 30
