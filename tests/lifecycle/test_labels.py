"""Labels mirror the stage, and nothing follows from a label."""

from dataclasses import replace

import pytest

from lifecycle.actions import SetLabels
from lifecycle.decide import decide
from lifecycle.facts.proposal import Proposal
from lifecycle.labels import mirrored
from lifecycle.policy import LABELS, BrokenPolicy, Policy, ShownStage
from tests.lifecycle.samples import CORE, MERGE, PROPOSAL, changed, facts
from tests.lifecycle.settling import settled

DRAFT, PROPOSED, DELETED, PUBLISHED = (LABELS[stage] for stage in ShownStage)
NONE = Policy(labels={})


def _labelled(proposal: Proposal, *labels: str) -> Proposal:
    return changed(proposal, labels=frozenset(labels))


def _removing(proposal: Proposal) -> Proposal:
    gone = replace(CORE, tree="", head_tree="")
    return replace(proposal, content=replace(proposal.content, touched=(gone,)))


ROWS: dict[str, tuple[Proposal, list[SetLabels]]] = {
    "a forge that was not asked for labels gets none": (PROPOSAL, []),
    "a proposal is labelled": (_labelled(PROPOSAL), [SetLabels(7, (PROPOSED,))]),
    "what others put on stays": (_labelled(PROPOSAL, "bug", PROPOSED), []),
    "case does not tell labels apart": (_labelled(PROPOSAL, PROPOSED.upper()), []),
    "the label of the stage before goes": (
        _labelled(PROPOSAL, "bug", DRAFT),
        [SetLabels(7, (PROPOSED,), (DRAFT,))],
    ),
    "somebody's label does not make it published": (
        _labelled(PROPOSAL, PUBLISHED),
        [SetLabels(7, (PROPOSED,), (PUBLISHED,))],
    ),
    "a draft": (_labelled(changed(PROPOSAL, draft=True)), [SetLabels(7, (DRAFT,))]),
    "a removal is a deletion proposed": (
        _labelled(_removing(PROPOSAL)),
        [SetLabels(7, (DELETED,))],
    ),
    "closed without a merge": (
        _labelled(changed(PROPOSAL, closed=True), PROPOSED),
        [SetLabels(7, (), (PROPOSED,))],
    ),
    "merged and about to be tagged": (
        _labelled(changed(PROPOSAL, closed=True, merged=True, merge_commit=MERGE), PROPOSED),
        [],
    ),
    "no labels configured": (
        replace(_labelled(PROPOSAL, DRAFT), rules=replace(PROPOSAL.rules, policy=NONE)),
        [],
    ),
    "rules that cannot be read": (
        replace(_labelled(PROPOSAL), rules=replace(PROPOSAL.rules, policy=BrokenPolicy(()))),
        [],
    ),
}


@pytest.mark.parametrize(("proposal", "expected"), ROWS.values(), ids=ROWS)
def test_labels(proposal: Proposal, expected: list[SetLabels]) -> None:
    """The short-cut sets all labels: whatever people put there goes."""
    assert mirrored(proposal) == expected


def test_a_label_changes_nothing_but_itself() -> None:
    """The short-cut takes a label for what it says: anybody who may triage would publish."""
    plain = facts(_labelled(PROPOSAL, PROPOSED))
    odd = facts(_labelled(PROPOSAL, PROPOSED, PUBLISHED, "approved", "porchbot: hold"))

    assert decide(odd) == [*decide(plain), SetLabels(7, (), (PUBLISHED,))]
    assert not any(isinstance(action, SetLabels) for action in decide(settled(plain)))
