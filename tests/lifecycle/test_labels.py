"""Labels mirror the stage, and nothing follows from a label."""

from dataclasses import replace

import pytest

from lifecycle.access import Person
from lifecycle.actions import SetLabels
from lifecycle.decide import decide
from lifecycle.facts.proposal import Proposal
from lifecycle.labels import mirrored
from lifecycle.policy import LABELS, BrokenPolicy, Policy, ShownStage
from lifecycle.tags import Tagging, TagLoss
from tests.lifecycle.samples import CORE, MERGE, PROPOSAL, changed, facts
from tests.lifecycle.settling import settled

DRAFT, PROPOSED, DELETION, MERGED, PUBLISHED, DELETED, VARIANT = (
    LABELS[stage] for stage in ShownStage
)
HEAD_REF = "drafts/net/core/w"
IN_MAIN = changed(
    PROPOSAL, closed=True, merged=True, merge_commit=MERGE, labels=frozenset({PROPOSED})
)
TAGGED = (replace(CORE, tagging=Tagging(5, tagged=True)),)
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
        [SetLabels(7, (DELETION,))],
    ),
    "closed without a merge": (
        _labelled(changed(PROPOSAL, closed=True), PROPOSED),
        [SetLabels(7, (), (PROPOSED,))],
    ),
    "published": (changed(IN_MAIN, touched=TAGGED), [SetLabels(7, (PUBLISHED,), (PROPOSED,))]),
    "a merged removal deploys nothing": (
        changed(IN_MAIN, touched=(replace(TAGGED[0], tree="", head_tree=""),)),
        [SetLabels(7, (DELETED,), (PROPOSED,))],
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
    assert mirrored(proposal, HEAD_REF, waits=False) == expected


def test_what_is_merged_and_waits_is_not_proposed_any_more() -> None:
    """Short-cuts refused: the label of before, for days in a freeze; and one more label, put on
    and taken off, for each merge that is tagged at once.
    """
    assert mirrored(IN_MAIN, HEAD_REF, waits=True) == [SetLabels(7, (MERGED,), (PROPOSED,))]
    assert mirrored(IN_MAIN, HEAD_REF, waits=False) == []
    lost = replace(CORE, tagging=Tagging(5, lost=TagLoss.GONE))
    assert mirrored(changed(IN_MAIN, touched=(lost,)), HEAD_REF, waits=True) == []


@pytest.mark.parametrize(
    ("branch", "opener", "labels"),
    [
        ("drafts/net/core/packagevariant-1", "porchbot[bot]", (PROPOSED, VARIANT)),
        ("drafts/net/core/packagevariant-1", "ann", (PROPOSED,)),
        ("drafts/net/core/w", "porchbot[bot]", (PROPOSED,)),
    ],
)
def test_what_the_bot_made_for_a_variant_says_so(
    branch: str, opener: str, labels: tuple[str, ...]
) -> None:
    """The short-cut goes by the name of the branch: whoever pushes passes for a machine."""
    opened = changed(_labelled(PROPOSAL), author=Person(1, opener, True), us="porchbot[bot]")
    assert mirrored(opened, branch, waits=False) == [SetLabels(7, labels)]


def test_a_label_changes_nothing_but_itself() -> None:
    """The short-cut takes a label for what it says: anybody who may triage would publish."""
    plain = facts(_labelled(PROPOSAL, PROPOSED))
    odd = facts(_labelled(PROPOSAL, PROPOSED, PUBLISHED, "approved", "porchbot: hold"))

    assert decide(odd) == [*decide(plain), SetLabels(7, (), (PUBLISHED,))]
    assert not any(isinstance(action, SetLabels) for action in decide(settled(plain)))
