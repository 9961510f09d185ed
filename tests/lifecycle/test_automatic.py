"""Rules that approve by themselves: what has to be so, one condition at a time."""

from dataclasses import replace

import pytest

from cadlib.diff.values import Change, ChangeKind
from cadlib.findings import ResourceRef
from lifecycle import memory
from lifecycle.access import VARIANTS, AppSource, Person
from lifecycle.approvals import approvals_of
from lifecycle.facts.packages import NotByRule, Unpublished
from lifecycle.facts.proposal import Proposal
from lifecycle.gates import judge
from lifecycle.messages import summary
from lifecycle.needs import needs_of
from lifecycle.policy import AccessRule, Policy
from tests.lifecycle.samples import CORE, FACTS, NOW, OLD, OTHER, PROPOSAL, changed

RENOVATE = Person(7, "renovate[bot]", True)
RULE = AccessRule(automatic=(AppSource("renovate"),))
REF = ResourceRef(kind="Deployment", name="cart")


def change(old: str | None, new: str | None, **more: object) -> Change:
    given = {"path": "a.yaml", "kind": ChangeKind.CHANGED, "resource": REF, "field": "spec.image"}
    return Change(**{**given, "old": old, "new": new, **more})  # type: ignore[arg-type]


PATCH = change("acme/cart:1.2.3", "acme/cart:1.2.10")
VERDICT = replace(PROPOSAL.verdicts[0], diff=(PATCH,))
GOOD = changed(
    PROPOSAL,
    author=RENOVATE,
    authors=frozenset({"renovate[bot]"}),
    policy=Policy(approve=RULE),
    verdicts=(VERDICT,),
)


def needed(made: Proposal) -> int:
    assert isinstance(made.rules.policy, Policy)
    return approvals_of(made, made.rules.policy, memory.read(made)).needed


def test_a_patch_of_a_named_app_needs_nobody() -> None:
    assert needed(GOOD) == 0
    shown = summary.gate_list(judge(replace(FACTS, proposals=(GOOD,)), GOOD, memory.read(GOOD)))
    assert "**approved**: by rule" in shown
    assert "no approval required, because the App `renovate` made this patch-level change" in shown


@pytest.mark.parametrize(
    ("opener", "approvals"), [("acme-packages[bot]", 0), ("other[bot]", 1), ("", 1)]
)
def test_the_bot_is_named_porchbot_however_its_app_is_called(opener: str, approvals: int) -> None:
    """Short-cut refused: the rule goes by the App's name, which each owner chooses."""
    made = changed(
        GOOD,
        author=Person(1, opener, True),
        authors=frozenset(),
        us="acme-packages[bot]" if opener else "",
        policy=Policy(approve=AccessRule(automatic=(AppSource("porchbot"),))),
    )
    assert needed(made) == approvals


def test_what_the_bot_made_alone_needs_nobody_where_the_rule_names_it() -> None:
    """Short-cut refused: nobody is an author of it, so that no rule speaks of it."""
    by_us = AccessRule(automatic=(AppSource("porchbot"),))
    ours = changed(
        GOOD,
        author=Person(1, "porchbot[bot]", True),
        authors=frozenset(),
        policy=Policy(approve=by_us),
    )

    assert needed(ours) == 0
    assert needed(changed(ours, authors=frozenset({"ann"}))) == 1
    assert needed(changed(ours, policy=Policy(approve=RULE))) == 1


FALL: dict[str, Proposal] = {
    "a person opened it": changed(GOOD, author=Person(1, "author", False)),
    "a person pushed a part": changed(GOOD, authors=frozenset({"renovate[bot]", "ann"})),
    "another App pushed a part": changed(GOOD, authors=frozenset({"other[bot]"})),
    "nobody knows who pushed": changed(GOOD, authors_known=False),
    "something is merged beside it": changed(GOOD, beside="x"),
    "it changes the rules": changed(GOOD, configures=True),
    "the package is new": changed(GOOD, touched=(replace(CORE, origin=""),)),
    "the package goes": changed(GOOD, touched=(replace(CORE, tree=""),)),
    "more is published with it": changed(
        GOOD,
        touched=(replace(CORE, unpublished=Unpublished(revision=4, published=OTHER, base=OLD)),),
    ),
    "the merge changes it": changed(GOOD, touched=(replace(CORE, outside=True),)),
    "a person aimed it at another base": changed(GOOD, base_at=NOW),
    "it is not rendered": changed(GOOD, verdicts=(replace(VERDICT, changes={"a": b"x"}),)),
    "a function is missing": changed(GOOD, verdicts=(replace(VERDICT, broken="no runner"),)),
    "nobody can tell what changed": changed(GOOD, verdicts=(replace(VERDICT, diff=()),)),
    "another package beside it": changed(GOOD, touched=(CORE, replace(CORE, package="net/edge"))),
    "no rule": changed(GOOD, policy=Policy()),
}


@pytest.mark.parametrize("made", FALL.values(), ids=FALL)
def test_one_thing_less_and_a_person_approves(made: Proposal) -> None:
    """Short-cut refused: the author of the pull request and its title tell what it is."""
    assert needed(made) >= 1


CHANGES: dict[str, tuple[Change, bool]] = {
    "the last number of an image's tag": (PATCH, True),
    "a version alone": (change("v1.2.3", "v1.2.4"), True),
    "a version that its field tells": (change("1.2.3", "1.2.4", field="data.app_version"), True),
    "a version by its label": (
        change("1.2.3", "1.2.4", field='metadata.labels["app.kubernetes.io/version"]'),
        True,
    ),
    "numbers that are no version": (change("10.0.1", "10.0.9", field="spec.clusterIP"), False),
    "numbers below a version": (change("10.0.1", "10.0.9", field="version.address"), False),
    "a function that renders the package": (
        change(
            "a:1.2.3",
            "a:1.2.4",
            resource=ResourceRef(kind="Kptfile", name="cart"),
            field="pipeline.mutators[0].image",
        ),
        False,
    ),
    "a minor version": (change("1.2.3", "1.3.0"), False),
    "a major version": (change("1.2.3", "2.2.4"), False),
    "a version that goes down": (change("1.2.3", "1.2.2"), False),
    "another image": (change("acme/cart:1.2.3", "evil/cart:1.2.4"), False),
    "a version before a release": (change("1.2.3", "1.2.4-rc.1"), False),
    "a digest beside it": (change("a:1.2.3", "a:1.2.4@sha256:aa"), False),
    "an address": (change("10.0.0.1", "10.0.0.2"), False),
    "a number": (change("1", "2"), False),
    "a value that is not shown": (change(None, None), False),
    "a field that is new": (change(None, "1.2.3", kind=ChangeKind.ADDED), False),
    "a resource that goes": (change("1.2.3", None, kind=ChangeKind.REMOVED), False),
    "comments": (change("1.2.3", "1.2.4", kind=ChangeKind.COMMENTS), False),
    "a file": (change("1.2.3", "1.2.4", resource=None), False),
}


@pytest.mark.parametrize(("one", "small"), CHANGES.values(), ids=CHANGES)
def test_what_is_patch_level(one: Change, small: bool) -> None:
    """Short-cut refused: whatever looks like a version at its end."""
    made = changed(GOOD, verdicts=(replace(VERDICT, diff=(PATCH, one)),))

    assert needed(made) == (0 if small else 1)


def test_approvals_bind_to_the_rule() -> None:
    """Short-cut refused: a digest without it, so that nothing falls where the rule is added."""
    assert Policy(approve=RULE).digest != Policy().digest


VARIANT = changed(
    PROPOSAL,
    author=Person(1, "porchbot[bot]", True),
    authors=frozenset(),
    policy=Policy(approve=AccessRule(automatic=(VARIANTS,))),
    variant="net/core",
    touched=(CORE,),
    verdicts=(replace(PROPOSAL.verdicts[0], diff=()),),
)
RENDERED = replace(PROPOSAL.verdicts[0], changes={"a.yaml": b""})


@pytest.mark.parametrize(
    ("made", "approvals", "why"),
    [
        (VARIANT, 0, None),
        (changed(VARIANT, touched=(replace(CORE, origin=""),)), 0, None),
        (changed(VARIANT, variant=""), 1, None),
        (
            changed(VARIANT, variant="", not_by_rule=NotByRule.UPSTREAM),
            1,
            NotByRule.UPSTREAM,
        ),
        (changed(VARIANT, variant="net/other"), 1, NotByRule.MORE),
        (changed(VARIANT, touched=(CORE, replace(CORE, package="net/other"))), 1, NotByRule.MORE),
        (changed(VARIANT, authors=frozenset({"ann"})), 1, NotByRule.AUTHORS),
        (changed(VARIANT, authors=frozenset({"ann"}), ruled=frozenset({"ann"})), 0, None),
        (changed(VARIANT, ruled_known=False), 0, None),
        (
            changed(VARIANT, authors=frozenset({"ann", "bob"}), ruled=frozenset({"ann"})),
            1,
            NotByRule.AUTHORS,
        ),
        (changed(VARIANT, author=Person(7, "ann", bot=False)), 1, NotByRule.AUTHORS),
        (changed(VARIANT, beside="d"), 1, NotByRule.MORE),
        (changed(VARIANT, configures=True), 1, NotByRule.MORE),
        (changed(VARIANT, verdicts=(RENDERED,)), 1, NotByRule.UNJUDGED),
        (changed(VARIANT, verdicts=()), 1, NotByRule.UNJUDGED),
        (changed(VARIANT, policy=Policy(approve=RULE)), 1, None),
        (changed(VARIANT, policy=Policy(approve=AccessRule())), 1, None),
    ],
    ids=[
        *(
            "as its rule asks",
            "a new package",
            "of no variant",
            "of a tag of somebody",
            "of another package",
        ),
        *("with another package", "pushed by somebody", "by somebody's rule"),
        "by a rule of nobody knows whom",
        *("by a rule and pushed by another", "opened by somebody", "with other files"),
        *("with rules", "not rendered", "not judged", "a rule for Apps", "no such rule"),
    ],
)
def test_what_a_variant_asks_for_needs_nobody_where_the_rule_says_so(
    made: Proposal, approvals: int, why: NotByRule | None
) -> None:
    """The short-cut goes by the branch's name, which anybody may push to; or says nothing of why
    the rule does not approve."""
    assert needed(made) == approvals
    assert isinstance(made.rules.policy, Policy)
    (need, *_) = needs_of(made, made.rules.policy, rules=False)
    assert need.not_by_rule is why
