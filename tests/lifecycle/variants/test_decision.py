"""What is done about a variant's package, as a table; `pytest -v` prints it as a specification.

Longer than 400 lines: a table of the rules, read as one.

Each row: what is so, how the package stands then, and the kinds of action that follow, in order.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.variants import actions as a
from lifecycle.variants.decision import VariantState as S
from lifecycle.variants.decision import decide
from lifecycle.variants.facts import (
    REMOVED,
    DraftFacts,
    PublishedFacts,
    Recipe,
    RevisionStage,
    VariantFacts,
)
from lifecycle.variants.upstreams import UpstreamRevision, UpstreamState
from lifecycle.variants.values import Propose, VariantUpstream
from tests.lifecycle.variants.samples import (
    ADOPTS,
    ASAP,
    BEHIND,
    BRANCH,
    DRAFT,
    FACTS,
    FOLLOWS,
    HEAD,
    NEW,
    ORPHANS,
    OURS,
    PROPOSED,
    PUBLISHED,
    REFUSED,
    REMOVES,
    STALE,
    THEIRS,
    TOUCHED,
    V1,
    V2,
    V3,
    recipe,
    state,
    variant,
)
from tests.lifecycle.variants.settling import done, ended

HELD = "rolled back to v3"
GONE = replace(FACTS, removed=True)
MINE = replace(PUBLISHED, owners=frozenset())

RULES: dict[str, tuple[VariantFacts, S, list[type]]] = {
    # --- made ---
    "a package that is not there is cloned": (FACTS, S.DRAFTED, [a.CreateDraft]),
    "with `propose: asap` it is proposed at once": (
        replace(FACTS, variant=ASAP),
        S.PROPOSED,
        [a.CreateDraft],
    ),
    "a draft that is as it should be is left alone": (
        replace(FACTS, drafts=(DRAFT,)),
        S.DRAFTED,
        [],
    ),
    "a package made of the named revision is in step": (
        replace(FACTS, published=PUBLISHED),
        S.IN_STEP,
        [],
    ),
    "a package made of an older one is brought up": (
        replace(FACTS, published=BEHIND),
        S.DRAFTED,
        [a.CreateDraft],
    ),
    "a package made of a newer one is brought back to the named one": (
        replace(FACTS, published=replace(PUBLISHED, lock="net/core/v3")),
        S.DRAFTED,
        [a.CreateDraft],
    ),
    "a package made of a draft is brought up": (
        replace(FACTS, published=replace(PUBLISHED, lock="drafts/net/core/v2")),
        S.DRAFTED,
        [a.CreateDraft],
    ),
    "a package made of another package is put onto this one": (
        replace(FACTS, published=replace(PUBLISHED, lock_is_ours=False)),
        S.DRAFTED,
        [a.CreateDraft],
    ),
    "a package without a lock counts as up to date": (
        replace(FACTS, published=replace(PUBLISHED, lock="")),
        S.IN_STEP,
        [],
    ),
    "a package that lacks what the rule wants in it gets that": (
        replace(FACTS, published=replace(PUBLISHED, shaped=False)),
        S.DRAFTED,
        [a.CreateDraft],
    ),
    # --- the upstream ---
    "nothing is made while the named revision is not published": (
        replace(FACTS, revisions=(V1,)),
        S.WAITING,
        [],
    ),
    "nothing is made of a withdrawn revision": (
        replace(FACTS, revisions=(V1, state(V2, UpstreamState.WITHDRAWN))),
        S.WAITING,
        [],
    ),
    "a deprecated revision that is named is obeyed": (
        replace(FACTS, revisions=(V1, state(V2, UpstreamState.DEPRECATED))),
        S.DRAFTED,
        [a.CreateDraft],
    ),
    "a revision whose tag names another commit by now is told, and not taken": (
        replace(FACTS, published=replace(PUBLISHED, locked="e" * 40)),
        S.MOVED,
        [],
    ),
    "a lock that names the tag's own object, as kpt writes it, is the same": (
        replace(
            FACTS,
            revisions=(V1, replace(V2, tag="e" * 40)),
            published=replace(PUBLISHED, locked="e" * 40),
        ),
        S.IN_STEP,
        [],
    ),
    "a draft of a tag that another number has by now is made anew": (
        replace(FACTS, drafts=(replace(DRAFT, recipe=replace(NEW, number=9)),)),
        S.DRAFTED,
        [a.UpdateDraft],
    ),
    "a new revision is not followed without being told": (
        replace(FACTS, revisions=(V1, V2, V3), published=PUBLISHED),
        S.IN_STEP,
        [],
    ),
    "`follow: latest` goes on to a new revision": (
        replace(FACTS, variant=FOLLOWS, revisions=(V1, V2, V3), published=PUBLISHED),
        S.DRAFTED,
        [a.CreateDraft],
    ),
    "`follow: latest` goes past one that its package was rolled back from": (
        replace(
            FACTS,
            variant=FOLLOWS,
            revisions=(V1, V2, state(V3, UpstreamState.HELD)),
            published=PUBLISHED,
        ),
        S.IN_STEP,
        [],
    ),
    # --- drafts ---
    "a draft that the bot alone made is made anew in place": (
        replace(FACTS, drafts=(STALE,)),
        S.DRAFTED,
        [a.UpdateDraft],
    ),
    "a draft that people committed to is merged into": (
        replace(FACTS, drafts=(TOUCHED,)),
        S.DRAFTED,
        [a.MergeIntoDraft],
    ),
    "a proposal that people committed to stays one": (
        replace(FACTS, drafts=(replace(TOUCHED, stage=RevisionStage.PROPOSED),)),
        S.PROPOSED,
        [a.MergeIntoDraft],
    ),
    "a draft is made anew when another revision was published under it": (
        replace(FACTS, published=BEHIND, drafts=(replace(DRAFT, recipe=NEW),)),
        S.DRAFTED,
        [a.UpdateDraft],
    ),
    "a draft is made anew when what is injected changes": (
        replace(FACTS, drafts=(DRAFT,), sources="other"),
        S.DRAFTED,
        [a.UpdateDraft],
    ),
    "a draft with nothing left in it is closed": (
        replace(FACTS, published=PUBLISHED, drafts=(DRAFT,)),
        S.IN_STEP,
        [a.CloseDraft],
    ),
    "one with commits of people stays open": (
        replace(FACTS, published=PUBLISHED, drafts=(TOUCHED,)),
        S.IN_STEP,
        [],
    ),
    "of two drafts the newer one is kept": (
        replace(FACTS, drafts=(DRAFT, replace(DRAFT, branch="drafts/edge/core/packagevariant-10"))),
        S.DRAFTED,
        [a.CloseDraft],
    ),
    "a person's draft is nobody's business": (
        replace(FACTS, drafts=(THEIRS,)),
        S.DRAFTED,
        [a.CreateDraft],
    ),
    # --- proposing ---
    "a draft is proposed with `propose: asap`": (
        replace(FACTS, variant=ASAP, drafts=(replace(DRAFT, recipe=recipe(ASAP, "")),)),
        S.PROPOSED,
        [a.ProposeDraft],
    ),
    "not while a conflict or a check is in its way": (
        replace(
            FACTS, variant=ASAP, drafts=(replace(DRAFT, recipe=recipe(ASAP, ""), ready=False),)
        ),
        S.DRAFTED,
        [],
    ),
    "not after a person has turned it back into a draft": (
        replace(
            FACTS, variant=ASAP, drafts=(replace(DRAFT, recipe=recipe(ASAP, ""), by_person=True),)
        ),
        S.DRAFTED,
        [],
    ),
    "not with commits of people, who say themselves when they are ready": (
        replace(
            FACTS, variant=ASAP, drafts=(replace(DRAFT, recipe=recipe(ASAP, ""), people=True),)
        ),
        S.DRAFTED,
        [],
    ),
    "what a person proposed stays proposed": (
        replace(FACTS, drafts=(PROPOSED,)),
        S.PROPOSED,
        [],
    ),
    # --- closed by a person ---
    "what a person closed is not opened again": (
        replace(FACTS, drafts=(REFUSED,)),
        S.CLOSED,
        [],
    ),
    "until its upstream changes": (
        replace(FACTS, drafts=(replace(REFUSED, recipe=recipe(base="", upstream=V1)),)),
        S.DRAFTED,
        [a.CreateDraft],
    ),
    "until the rule changes": (
        replace(FACTS, variant=variant(labels={"a": "b"}), drafts=(REFUSED,)),
        S.DRAFTED,
        [a.CreateDraft],
    ),
    "and not because somebody published something else there": (
        replace(FACTS, published=BEHIND, drafts=(REFUSED,)),
        S.CLOSED,
        [],
    ),
    "what the bot closed is opened again": (
        replace(FACTS, drafts=(replace(REFUSED, by_person=False),)),
        S.DRAFTED,
        [a.CreateDraft],
    ),
    # --- held after a rollback ---
    "nothing is proposed after a rollback": (
        replace(FACTS, published=BEHIND, held=HELD),
        S.HELD,
        [],
    ),
    "not even what the rule wants in the package": (
        replace(FACTS, published=replace(PUBLISHED, shaped=False), held=HELD),
        S.HELD,
        [],
    ),
    "what the bot had open then is closed": (
        replace(FACTS, published=BEHIND, drafts=(STALE,), held=HELD),
        S.HELD,
        [a.CloseDraft],
    ),
    "what people committed to stays open": (
        replace(FACTS, published=BEHIND, drafts=(TOUCHED,), held=HELD),
        S.HELD,
        [],
    ),
    # --- whose it is ---
    "a package that somebody else made is left alone": (
        replace(FACTS, published=MINE),
        S.NOT_OURS,
        [],
    ),
    "a folder that was never published too": (replace(FACTS, present=True), S.NOT_OURS, []),
    "`adoptExisting` takes it over": (
        replace(FACTS, variant=ADOPTS, published=MINE),
        S.IN_STEP,
        [],
    ),
    "and brings it up": (
        replace(FACTS, variant=ADOPTS, published=replace(MINE, lock="net/core/v1")),
        S.DRAFTED,
        [a.CreateDraft],
    ),
    "a draft that is adopted is merged into": (
        replace(FACTS, variant=ADOPTS, drafts=(THEIRS,)),
        S.DRAFTED,
        [a.MergeIntoDraft],
    ),
    "nothing happens where the repository does not allow it": (
        replace(FACTS, allowed=False),
        S.NOT_ALLOWED,
        [],
    ),
    "what was made of itself is not followed": (
        replace(FACTS, published=BEHIND, circle=("acme/a//x", "acme/b//y")),
        S.CIRCLE,
        [],
    ),
    # --- the rule is there no more ---
    "without its rule a package goes, by a pull request": (
        replace(GONE, published=PUBLISHED),
        S.REMOVED,
        [a.RemovePackage],
    ),
    "once": (replace(GONE, published=PUBLISHED, drafts=(REMOVES,)), S.REMOVED, []),
    "that is opened where it was pushed alone": (
        replace(
            GONE,
            published=PUBLISHED,
            drafts=(replace(REMOVES, stage=RevisionStage.DRAFT, number=0),),
        ),
        S.REMOVED,
        [a.OpenDraft],
    ),
    "and made anew where the package changed since": (
        replace(GONE, published=replace(PUBLISHED, commit="c" * 40), drafts=(REMOVES,)),
        S.REMOVED,
        [a.RemovePackage],
    ),
    "unless people have committed to it": (
        replace(
            GONE,
            published=replace(PUBLISHED, commit="c" * 40),
            drafts=(replace(REMOVES, people=True),),
        ),
        S.REMOVED,
        [],
    ),
    "it stays where a person closes that": (
        replace(
            GONE,
            published=PUBLISHED,
            drafts=(replace(REMOVES, stage=RevisionStage.CLOSED, by_person=True),),
        ),
        S.REMOVED,
        [],
    ),
    "and is asked for again once it changed": (
        replace(
            GONE,
            published=replace(PUBLISHED, commit="c" * 40),
            drafts=(replace(REMOVES, stage=RevisionStage.CLOSED, by_person=True),),
        ),
        S.REMOVED,
        [a.RemovePackage],
    ),
    "or turns it back into a draft": (
        replace(
            GONE,
            published=PUBLISHED,
            drafts=(replace(REMOVES, stage=RevisionStage.DRAFT, by_person=True),),
        ),
        S.REMOVED,
        [],
    ),
    "what would remove a package that is gone is closed": (
        replace(GONE, drafts=(REMOVES,)),
        S.REMOVED,
        [a.CloseDraft],
    ),
    "with `orphan` it stays, and its draft too": (
        replace(GONE, variant=ORPHANS, published=PUBLISHED, drafts=(DRAFT,)),
        S.REMOVED,
        [],
    ),
    "its draft is closed": (replace(GONE, drafts=(DRAFT,)), S.REMOVED, [a.CloseDraft]),
    "its update too, and the package goes": (
        replace(GONE, published=PUBLISHED, drafts=(DRAFT,)),
        S.REMOVED,
        [a.CloseDraft, a.RemovePackage],
    ),
    "one with commits of people is theirs": (replace(GONE, drafts=(TOUCHED,)), S.REMOVED, []),
    "what it never made is left alone": (
        replace(GONE, published=MINE, drafts=(THEIRS,)),
        S.REMOVED,
        [],
    ),
    "a rule that comes back takes the deletion back": (
        replace(FACTS, published=PUBLISHED, drafts=(REMOVES,)),
        S.IN_STEP,
        [a.CloseDraft],
    ),
    # --- what was half done ---
    "what was marked as closed is closed": (
        replace(FACTS, published=PUBLISHED, drafts=(replace(DRAFT, ended=True),)),
        S.IN_STEP,
        [a.EndDraft],
    ),
    "whatever else is so": (
        replace(FACTS, allowed=False, drafts=(replace(DRAFT, ended=True),)),
        S.NOT_ALLOWED,
        [a.EndDraft],
    ),
    "a draft that was pushed alone is opened": (
        replace(FACTS, drafts=(replace(DRAFT, number=0),)),
        S.DRAFTED,
        [a.OpenDraft],
    ),
    "a title of ours says what it is made of by now": (
        replace(
            FACTS,
            drafts=(
                replace(
                    DRAFT,
                    title="Create edge/core from net/core@v2",
                    shown="Create edge/core from net/core@v1",
                ),
            ),
        ),
        S.DRAFTED,
        [a.RetitleDraft],
    ),
    "a title of somebody's stays": (
        replace(FACTS, drafts=(replace(DRAFT, title="Create edge/core", shown="Mine"),)),
        S.DRAFTED,
        [],
    ),
    "a branch that holds nothing yet is gone on with": (
        replace(FACTS, drafts=(DraftFacts(branch=BRANCH, head=HEAD, empty=True),)),
        S.DRAFTED,
        [a.UpdateDraft],
    ),
}


@pytest.mark.parametrize(("facts", "stands", "expected"), RULES.values(), ids=RULES)
def test_decide(facts: VariantFacts, stands: S, expected: list[type]) -> None:
    found = decide(facts)

    assert (found.state, [type(each) for each in found.actions]) == (stands, expected)


@pytest.mark.parametrize(("facts", "stands", "expected"), RULES.values(), ids=RULES)
def test_deciding_again_gives_nothing(facts: VariantFacts, stands: S, expected: list[type]) -> None:
    """The short-cut compares with what was asked for last, and not with what is so."""
    decided = decide(facts)
    for action in decided.actions:
        facts = done(facts, action)

    again = decide(ended(facts))

    assert (again.actions, again.state) == ((), decided.state)


revisions = st.lists(
    st.builds(
        UpstreamRevision,
        number=st.integers(1, 5),
        commit=st.sampled_from(["1" * 40, "2" * 40, "3" * 40]),
        workspace=st.sampled_from(["", "w1", "w2"]),
        state=st.sampled_from(UpstreamState),
    ),
    max_size=4,
    unique_by=lambda each: each.number,
).map(tuple)
owners = st.sampled_from([frozenset(), OURS, frozenset({"other"}), OURS | {"other"}])
recipes = st.builds(
    Recipe,
    upstream=st.sampled_from(["1" * 40, "2" * 40, "3" * 40]),
    rule=st.sampled_from([each.digest for each in (FACTS.variant, ADOPTS, ORPHANS, ASAP, FOLLOWS)]),
    base=st.sampled_from(["", "b" * 40]),
) | st.sampled_from([Recipe("", REMOVED, "b" * 40), Recipe("", REMOVED, "c" * 40)])
drafts = st.lists(
    st.builds(
        DraftFacts,
        branch=st.sampled_from([BRANCH, f"{BRANCH}0", "drafts/edge/core/mine"]),
        head=st.just(HEAD),
        stage=st.sampled_from([RevisionStage.DRAFT, RevisionStage.PROPOSED, RevisionStage.CLOSED]),
        owners=owners,
        recipe=st.none() | recipes,
        people=st.booleans(),
        number=st.sampled_from([0, 5]),
        by_person=st.booleans(),
        ready=st.booleans(),
    ),
    max_size=3,
    unique_by=lambda each: each.branch,
).map(tuple)
published = st.builds(
    PublishedFacts,
    number=st.just(4),
    commit=st.just("b" * 40),
    owners=owners,
    lock=st.sampled_from(
        ["", "drafts/net/core/a", "main", *(f"net/core/v{n}" for n in range(1, 6))]
    ),
    lock_is_ours=st.booleans(),
    shaped=st.booleans(),
)
upstreams = st.builds(
    VariantUpstream,
    repo=st.just("base"),
    package=st.just("net/core"),
    revision=st.integers(-1, 5),
    workspace=st.sampled_from(["", "main", "w1", "w2"]),
)
rules = st.builds(
    variant,
    upstream=upstreams,
    adoption_policy=st.sampled_from(["", "adoptExisting"]),
    deletion_policy=st.sampled_from(["", "orphan"]),
    follow=st.booleans(),
    propose=st.sampled_from(Propose),
)
every = st.builds(
    VariantFacts,
    variant=rules,
    removed=st.booleans(),
    allowed=st.booleans(),
    revisions=revisions,
    published=st.none() | published,
    present=st.booleans(),
    drafts=drafts,
    held=st.sampled_from(["", HELD]),
    sources=st.sampled_from(["", "s"]),
)


@given(every)
def test_whatever_is_so_it_settles_and_touches_nobody_elses_work(facts: VariantFacts) -> None:
    """The short-cut is right for the rows of the table, and wrong for what nobody thought of."""
    decided = decide(facts)
    before = {each.branch: each for each in facts.drafts}
    for action in decided.actions:
        if isinstance(action, a.UpdateDraft | a.CloseDraft | a.RemovePackage) and action.head:
            draft = before[action.branch]
            assert not draft.people, "what people committed to is neither made anew nor closed"
            assert draft.recipe is not None or draft.empty, "not its to change"
            assert action.head == draft.head
        if isinstance(action, a.CreateDraft):
            assert action.branch not in before
        facts = done(facts, action)

    facts = ended(facts)
    again = decide(facts)

    assert (again.actions, again.state) == ((), decided.state)
    alone = [each for each in facts.drafts if each.open and "edges" in each.owners]
    assert sum(not each.people and each.recipe is not None for each in alone) <= 1 or (
        decided.state in (S.NOT_ALLOWED, S.NOT_OURS, S.WAITING, S.REMOVED)
    )


def test_a_draft_says_what_it_is_made_of_and_where_it_stands() -> None:
    """The short-cut numbers a branch by how many there are, and brings up what it should clone."""
    used = replace(FACTS, workspaces=frozenset({"packagevariant-7", "mine"}), published=BEHIND)

    (made,) = decide(used).actions
    (cloned,) = decide(FACTS).actions

    assert made == a.CreateDraft(
        "drafts/edge/core/packagevariant-8", V2, recipe(), propose=False, new=False
    )
    assert cloned == a.CreateDraft(BRANCH, V2, NEW, propose=False, new=True)


def test_what_only_the_rule_changes_is_not_merged_with_the_upstream() -> None:
    """The short-cut upgrades from a revision to itself, which asks for a fetch of it."""
    (made,) = decide(replace(FACTS, published=replace(PUBLISHED, shaped=False))).actions

    assert isinstance(made, a.CreateDraft)
    assert (made.upstream, made.new) == (None, False)


def test_people_are_told_why_nothing_happens() -> None:
    """The short-cut says the state, and leaves people to guess what to do about it."""
    assert decide(replace(FACTS, allowed=False)).why == (
        "The repository of this package does not let the variant's repository write to it. List"
        " that one under `variants_from` in its .porchbot.yaml."
    )
    assert decide(replace(FACTS, revisions=())).why == (
        "could not find upstream package revision net/core@v2 in base: no such revision is"
        " published"
    )
    assert "adoptionPolicy: adoptExisting" in decide(replace(FACTS, present=True)).why
    assert "reopen it" in decide(replace(FACTS, drafts=(REFUSED,))).why
    assert decide(replace(FACTS, held=HELD)).why == HELD
