"""Which approvals count: what each binds to, and when its writer can have seen it.

Longer than 400 lines: a table of what makes an approval fall, and its exceptions.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lifecycle import memory
from lifecycle.access import Person, Role
from lifecycle.actions import Say
from lifecycle.approvals import Approvals, Fallen, approvals_of
from lifecycle.decide import decide
from lifecycle.events import Approval, Fell, TakenBack, content
from lifecycle.facts.checks import VALIDATE
from lifecycle.facts.conversation import Review, ReviewState
from lifecycle.facts.head import Facts
from lifecycle.facts.packages import Unpublished
from lifecycle.facts.proposal import Proposal
from lifecycle.gates import judge
from lifecycle.messages import answers as texts
from lifecycle.messages.gates import FALLEN
from lifecycle.names import Sha
from lifecycle.policy import AccessRule, Policy
from lifecycle.replay import words
from tests.lifecycle.samples import (
    APPROVER,
    AUTHOR,
    BOT,
    CORE,
    FACTS,
    HEAD,
    NOW,
    OLD,
    OTHER,
    OUTSIDER,
    PROPOSAL,
    TREE,
    approved_by,
    changed,
    check,
    facts,
    said,
)
from tests.lifecycle.settling import settled

SECOND = timedelta(seconds=1)
OTHER_HEAD = Sha("f" * 40)


def given(start: Facts) -> Approvals:
    """The approvals of the one proposal, at rest."""
    rested = settled(start).proposals[0]
    assert isinstance(rested.rules.policy, Policy)
    return approvals_of(rested, rested.rules.policy, memory.read(rested))


def why(start: Facts) -> Fallen | str:
    """Why the approver's approval does not count; "counts" when it does."""
    found = given(start)
    if [approval.person for approval in found.counted] == ["approver"]:
        return "counts"
    return found.fallen.get("approver", "none was given")


# --- what an approval binds ----------------------------------------------------------------------

SEEN = changed(PROPOSAL, origin=OLD)
"""A proposal that is compared with this merge base."""

APPROVED = settled(facts(approved_by(SEEN, "approver"))).proposals[0]

STRAY = Unpublished(revision=4, published=OTHER, base=OLD)

BOUND: dict[str, tuple[Mapping[str, object], Fallen | str]] = {
    "the same counts": ({}, "counts"),
    "a rebase that leaves the content alone keeps it": ({"head": OTHER_HEAD}, "counts"),
    "a draft that is proposed again keeps it": ({"draft": True}, "counts"),
    "it binds the trees": ({"touched": (replace(CORE, tree=OTHER),)}, Fallen.TREE),
    "it binds which packages are touched": (
        {"touched": (CORE, replace(CORE, package="net/edge"))},
        Fallen.TREE,
    ),
    "a rebase that takes back what the base gained ends it": (
        {"head": OTHER_HEAD, "takes_back": frozenset({OLD})},
        Fallen.TAKES_BACK,
    ),
    "what others saw is their approval's affair": ({"takes_back": frozenset({OTHER})}, "counts"),
    "it binds what stands beside": ({"beside": "x"}, Fallen.BESIDE),
    "it binds what stood in the base unpublished": (
        {"touched": (replace(CORE, unpublished=STRAY),)},
        Fallen.UNPUBLISHED,
    ),
    "what stood there before the bot came is the baseline": (
        {"touched": (replace(CORE, unpublished=replace(STRAY, adopted=True)),)},
        "counts",
    ),
    "it binds the configuration": ({"digest": "other"}, Fallen.CONFIGURATION),
    "it binds the base branch": ({"base_ref": "release"}, Fallen.BASE),
    "going back to the base does not bring it back": (
        {"base_at": NOW + timedelta(minutes=1)},
        Fallen.BASE,
    ),
    "a change of base within its second may have come after": ({"base_at": NOW}, Fallen.BASE),
    "a change of base before it does not matter": ({"base_at": NOW - SECOND}, "counts"),
    "it does not outlive the installation": (
        {"installed_at": NOW + timedelta(minutes=1)},
        Fallen.INSTALLATION,
    ),
    "within the second of the installation it may have come before": (
        {"installed_at": NOW},
        Fallen.INSTALLATION,
    ),
    "who lost the right does not approve": ({"roles": {"approver": Role.READ}}, Fallen.ACCESS),
}


@pytest.mark.parametrize(("change", "expected"), BOUND.values(), ids=BOUND)
def test_an_approval_binds(change: Mapping[str, object], expected: Fallen | str) -> None:
    """Fails when a part of what the approver saw may be exchanged."""
    start = replace(FACTS, proposals=(changed(APPROVED, **change),))

    assert why(start) == expected


def review(number: int = 7, *, at: datetime = NOW, **values: object) -> Review:
    """A native approval of the head, that stood for a minute."""
    found = Review(
        id=number,
        author=APPROVER,
        state=ReviewState.APPROVED,
        head=HEAD,
        trees={"net/core": TREE},
        at=at,
        head_at=at - timedelta(minutes=1),
    )
    return replace(found, **values)  # type: ignore[arg-type] # any field


@pytest.mark.parametrize(("change", "expected"), BOUND.values(), ids=BOUND)
def test_a_native_approval_binds_the_same(
    change: Mapping[str, object], expected: Fallen | str
) -> None:
    """Fails when native reviews are held to less than `/approve`."""
    start = settled(facts(changed(SEEN, reviews=(review(),)))).proposals[0]

    assert why(replace(FACTS, proposals=(changed(start, **change),))) == expected


def test_an_approval_of_before_the_base_was_kept_counts_for_nothing() -> None:
    """Fails when a record without a base branch matches any."""
    old = changed(APPROVED, kept=frozenset(), answers=())
    (word,) = memory.read(APPROVED).words.values()
    assert isinstance(word, Approval)
    old = changed(old, kept=frozenset({replace(word, base_ref="")}))

    assert why(replace(FACTS, proposals=(old,))) == Fallen.BASE


# --- when its writer can have seen the head -------------------------------------------------------


def at_head(**values: object) -> Facts:
    """A proposal at rest whose head the forge says nothing about, and no check or word of ours."""
    return facts(changed(PROPOSAL, **{"head_at": None, **values}))


def judged(start: Facts, at: datetime) -> Facts:
    """Our check was completed then, with what the forge told of the head."""
    run = check(VALIDATE, completed_at=at, digest=f"digest.{start.head_mark}")
    return replace(start, checks={VALIDATE: run})


SAW: dict[str, tuple[Callable[[], Facts], bool]] = {
    "pushed a second before": (lambda: at_head(head_at=NOW - SECOND), True),
    "two pushes long before": (lambda: at_head(head_at=NOW - timedelta(days=2)), True),
    "pushed in the same second": (lambda: at_head(head_at=NOW), False),
    "pushed a second later": (lambda: at_head(head_at=NOW + SECOND), False),
    "nothing is told": (at_head, False),
    "our check was completed a second before": (lambda: judged(at_head(), NOW - SECOND), True),
    "our check was completed in the same second": (lambda: judged(at_head(), NOW), False),
    "our check was completed later": (lambda: judged(at_head(), NOW + SECOND), False),
    "a later push overrules our check": (
        lambda: judged(at_head(head_at=NOW), NOW - SECOND),
        False,
    ),
    "the branch was forced since our check": (
        lambda: replace(
            judged(at_head(), NOW - SECOND),
            proposals=at_head(head_mark="1" * 12).proposals,
        ),
        False,
    ),
    "the forge does not tell of forced pushes": (
        lambda: judged(at_head(head_mark=""), NOW - SECOND),
        False,
    ),
    "a check that still runs proves nothing": (
        lambda: replace(
            at_head(), checks={VALIDATE: check(VALIDATE, status="in_progress", completed_at=None)}
        ),
        False,
    ),
    "a check of another App proves nothing": (
        lambda: replace(
            at_head(),
            checks={
                VALIDATE: check(
                    VALIDATE,
                    ours=False,
                    completed_at=NOW - SECOND,
                    digest=f"x.{at_head().head_mark}",
                )
            },
        ),
        False,
    ),
}


@pytest.mark.parametrize(("start", "counts"), SAW.values(), ids=SAW)
def test_an_approval_counts_if_its_writer_saw_the_head(
    start: Callable[[], Facts], counts: bool
) -> None:
    """Fails when a swap of the head right before, or within the second, goes unnoticed."""
    begun = start()
    p = changed(begun.proposals[0], comments=(said(APPROVER, "/approve", 100),))

    found = settled(replace(begun, proposals=(p,)))

    answer = next(c.body for c in found.proposals[0].talk.answers if not c.summary)
    assert ("approved head" in answer, "approve again" in answer) == (counts, not counts)
    assert (why(found) == "counts") == counts


@pytest.mark.parametrize(("start", "counts"), SAW.values(), ids=SAW)
def test_a_native_approval_counts_if_its_writer_saw_the_head(
    start: Callable[[], Facts], counts: bool
) -> None:
    """Fails when the commit that a review names is believed to have been looked at."""
    begun = start()
    p = begun.proposals[0]
    p = changed(p, reviews=(review(head_at=p.times.head_at),))

    assert why(replace(begun, proposals=(p,))) == ("counts" if counts else Fallen.UNSEEN)


def test_within_one_second_a_comment_of_ours_proves_the_order() -> None:
    """Fails when honest people are refused as often as they are fast: numbers have no seconds."""
    start = facts(changed(PROPOSAL, head_at=NOW))
    rested = settled(start)
    summary = next(c for c in rested.proposals[0].talk.answers if c.summary)
    seen = {}
    for number in (summary.id - 1, summary.id + 1):
        p = changed(rested.proposals[0], comments=(said(APPROVER, "/approve", number),))
        seen[number - summary.id] = why(replace(rested, proposals=(p,)))

    assert seen == {-1: "none was given", 1: "counts"}


@pytest.mark.parametrize(
    "change",
    [
        {"head": OTHER_HEAD},
        {"head_mark": "9" * 12},
        {"head_mark": ""},
        {"head_at": NOW + SECOND},
    ],
    ids=["another head", "forced since", "the forge does not tell", "pushed later"],
)
def test_a_comment_of_ours_about_another_head_proves_nothing(change: Mapping[str, object]) -> None:
    """Fails when any comment of ours is taken for a proof of the present head."""
    rested = settled(facts(changed(PROPOSAL, head_at=NOW))).proposals[0]
    late = NOW + SECOND if "head_at" in change else NOW
    comment = replace(said(APPROVER, "/approve", 5000), at=late)
    moved = changed(rested, comments=(comment,), **change)

    assert why(facts(moved, head=moved.place.head)) == "none was given"


def test_the_second_try_after_a_refusal_counts_at_once() -> None:
    """Fails when "approve again" cannot be followed within the same second."""
    start = facts(changed(PROPOSAL, head_at=NOW, comments=(said(APPROVER, "/approve", 100),)))
    refused = settled(start).proposals[0]
    answer = max(c.id for c in refused.talk.answers)
    again = changed(
        refused, comments=(*refused.talk.comments, said(APPROVER, "/approve", answer + 1))
    )

    assert why(replace(FACTS, proposals=(again,))) == "counts"


def test_an_approval_of_two_in_one_look_is_no_proof_for_the_second() -> None:
    """Fails when an answer that is not written yet proves what stood before the next comment."""
    comments = (said(OUTSIDER, "/why", 100), said(APPROVER, "/approve", 101))
    start = facts(changed(PROPOSAL, head_at=NOW, comments=comments))

    assert why(start) == "none was given"


def test_a_review_of_an_older_commit_with_the_same_content_counts() -> None:
    """Fails when a rebase while the bot was away drops what was seen of the same content."""
    start = facts(changed(PROPOSAL, reviews=(review(head=OTHER_HEAD),)))

    assert why(start) == "counts"


def test_a_review_of_another_content_waits_and_never_counts() -> None:
    start = facts(changed(PROPOSAL, reviews=(review(head=OTHER_HEAD, trees={"net/core": OTHER}),)))

    assert why(start) == Fallen.TREE


# --- what was said before -------------------------------------------------------------------------


def test_what_was_approved_before_the_first_sight_of_an_old_proposal_counts_for_nothing() -> None:
    """Fails when a lost database and deleted comments let an old approval merge by itself."""
    comments = (said(APPROVER, "/approve", 100),)
    adopted = changed(PROPOSAL, adopted_at=NOW, looked_at=NOW)
    start = facts(changed(adopted, comments=comments, reviews=(review(),)))

    rested = settled(start).proposals[0]

    assert any(
        "before the bot kept a record" in c.body for c in rested.talk.answers if not c.summary
    )
    assert why(start) == Fallen.ADOPTION
    newer = said(APPROVER, "/approve", 5000)  # in the same second, but written after we looked
    again = changed(rested, comments=(*comments, newer), reviews=())
    assert why(replace(FACTS, proposals=(again,))) == "counts"


def test_what_the_bot_opens_in_the_second_of_its_coming_is_no_older() -> None:
    """Fails when whole seconds make the bot's own first proposal wait for one approval more."""
    adopted = NOW + timedelta(milliseconds=300)
    same = changed(PROPOSAL, opened_at=NOW, adopted_at=adopted, looked_at=adopted)

    def waits(proposal: Proposal) -> bool:
        said_ = [a.body for a in decide(facts(proposal)) if isinstance(a, Say)]
        return any("a record of it" in body for body in said_)

    assert waits(same)
    assert not waits(changed(same, author=BOT, assigned=("author",)))


def test_the_first_sweep_merges_nothing_even_where_nobody_has_to_approve() -> None:
    """Fails when "no approvals needed" publishes everything that is open on the first day."""
    nobody = Policy(approve=AccessRule(require=0))
    old = changed(PROPOSAL, policy=nobody, digest=nobody.digest, adopted_at=NOW)

    rested = settled(facts(old)).proposals[0]
    judgement = judge(facts(rested), rested, memory.read(rested))

    assert [g.name for g in judgement.open] == ["fresh approval"]
    new = changed(old, opened_at=NOW + SECOND)
    rested = settled(facts(new)).proposals[0]
    assert judge(facts(rested), rested, memory.read(rested)).holds


@pytest.mark.parametrize(("newest", "waits"), [(0, True), (-1, False)], ids=["old", "new"])
@pytest.mark.parametrize("hours", [-1, 1], ids=["forge behind", "forge ahead"])
def test_the_first_sweep_tells_old_from_new_by_numbers(
    hours: int, newest: int, waits: bool
) -> None:
    """Fails when the forge's clock is compared with ours: approvals of before count, or new ones
    fall."""
    nobody = Policy(approve=AccessRule(require=0))
    known = changed(PROPOSAL, adopted_at=NOW, adopted_number=PROPOSAL.place.number + newest)
    told = changed(known, opened_at=NOW + timedelta(hours=hours))

    rested = settled(facts(changed(told, policy=nobody, digest=nobody.digest))).proposals[0]

    judgement = judge(facts(rested), rested, memory.read(rested))
    assert [g.name for g in judgement.open] == ["fresh approval"] * waits


def test_a_proposal_with_a_record_of_ours_is_not_adopted_again() -> None:
    """Fails when losing the database alone voids honest approvals."""
    lost = changed(APPROVED, kept=frozenset(), written={}, adopted_at=NOW + timedelta(days=1))

    assert why(replace(FACTS, proposals=(lost,))) == "counts"


@pytest.mark.parametrize(("minutes", "counts"), [(-1, False), (0, False), (1, True)])
def test_where_the_forge_tells_no_base_the_first_sight_counts(minutes: int, counts: bool) -> None:
    """Fails when an untold change of base is taken for none."""
    start = facts(
        changed(
            PROPOSAL,
            base_told=False,
            head_at=NOW - timedelta(hours=1),
            comments=(said(APPROVER, "/approve", 100, minutes=minutes),),
        )
    )

    assert (why(start) == "counts") == counts


# --- a person's last word -------------------------------------------------------------------------


def talk(*lines: tuple[Person, str]) -> Facts:
    """People wrote, a minute apart."""
    comments = tuple(
        said(person, words, 100 + n, minutes=n + 1) for n, (person, words) in enumerate(lines)
    )
    return facts(changed(PROPOSAL, comments=comments))


WORDS: dict[str, tuple[list[tuple[Person, str]], str]] = {
    "an approval counts": ([(APPROVER, "/approve")], "counts"),
    "taken back it does not": (
        [(APPROVER, "/approve"), (APPROVER, "/unapprove")],
        "none was given",
    ),
    "given again it counts again": (
        [(APPROVER, "/approve"), (APPROVER, "/unapprove"), (APPROVER, "/approve")],
        "counts",
    ),
    "in one comment the later word counts: approve": (
        [(APPROVER, "/approve"), (APPROVER, "/unapprove\n/approve")],
        "counts",
    ),
    "in one comment the later word counts: unapprove": (
        [(APPROVER, "/approve\n/unapprove")],
        "none was given",
    ),
    "who rejects no longer approves": (
        [(APPROVER, "/approve"), (APPROVER, "/reject no")],
        "none was given",
    ),
    "approved and rejected in one comment is rejected": (
        [(APPROVER, "/approve\n/reject no")],
        "none was given",
    ),
    "somebody else's word takes nothing back": (
        [(APPROVER, "/approve"), (AUTHOR, "/unapprove")],
        "counts",
    ),
}


@pytest.mark.parametrize(("lines", "expected"), WORDS.values(), ids=WORDS)
def test_a_persons_last_word_counts(lines: list[tuple[Person, str]], expected: str) -> None:
    assert why(talk(*lines)) == expected


RENAMED = Person(APPROVER.id, "renamed", False)

ONE_PERSON: dict[str, tuple[list[tuple[Person, str]], list[tuple[Person, str]], set[str]]] = {
    # what was said and answered, what is said after somebody's login changed, who counts
    "who approves again under a new login is one": (
        [(APPROVER, "/approve")],
        [(RENAMED, "/approve")],
        {"renamed"},
    ),
    "an approval goes by the new login": (
        [(APPROVER, "/approve")],
        [(RENAMED, "words")],
        {"renamed"},
    ),
    "it is taken back under the new login": (
        [(APPROVER, "/approve")],
        [(RENAMED, "/unapprove")],
        set(),
    ),
    "whoever takes over the old login is another": (
        [(APPROVER, "/approve")],
        [(RENAMED, "words"), (Person(77, "approver", False), "/approve")],
        {"renamed", "approver"},
    ),
    "nor takes back what the other gave": (
        [(APPROVER, "/approve")],
        [(RENAMED, "words"), (Person(77, "approver", False), "/unapprove")],
        {"renamed"},
    ),
}


@pytest.mark.parametrize(("before", "after", "counts"), ONE_PERSON.values(), ids=ONE_PERSON)
def test_a_person_is_an_account_and_no_login(
    before: list[tuple[Person, str]], after: list[tuple[Person, str]], counts: set[str]
) -> None:
    """The short-cut goes by logins: whoever changes theirs approves twice."""
    renamed = {p.id: p for p, _ in after}
    first = settled(talk(*before)).proposals[0]
    lines = [(renamed.get(p.id, p), text) for p, text in before] + after
    later = changed(
        first,
        comments=talk(*lines).proposals[0].talk.comments,
        policy=Policy(approve=AccessRule(require=2)),
        roles=dict.fromkeys(("renamed", "approver"), Role.WRITE),
    )
    later = changed(later, digest=first.rules.digest)

    assert {a.person for a in given(facts(later)).counted} == counts


def test_a_word_that_was_kept_without_an_account_gives_way_to_a_later_one() -> None:
    """The short-cut takes the two for two people: what an older version kept counts beside it."""
    old = Approval(
        person="approver",
        at=NOW,
        comment=50,
        head=PROPOSAL.place.head,
        trees=content(PROPOSAL.content.trees),
        digest=PROPOSAL.rules.digest,
        base_ref=PROPOSAL.place.base_ref,
    )
    back = TakenBack(person="approver", account=2, at=NOW + timedelta(minutes=1), comment=51)
    again = replace(old, person="renamed", account=2, at=NOW + timedelta(minutes=2), comment=52)

    assert words({old}) == {"approver": old}
    assert words({old, back}) == {"approver": back}
    assert words({old, back, again}) == {"renamed": again}
    assert words({old, again}).keys() == {"approver", "renamed"}, "nobody can tell any more"


def test_an_approval_whose_comment_is_edited_falls_and_says_so() -> None:
    """Fails when the text that was answered is all that matters: nobody sees what was asked."""
    rested = settled(talk((APPROVER, "/approve"))).proposals[0]
    edited = changed(
        rested, comments=tuple(replace(c, edited=True, body="/hold") for c in rested.talk.comments)
    )
    start = replace(FACTS, proposals=(edited,))

    assert why(start) == Fallen.EDITED
    summary = next(c.body for c in settled(start).proposals[0].talk.answers if c.summary)
    assert "the comment was edited afterwards" in summary
    # Nothing brings it back, neither another edit nor a stale answer that shows none.
    assert why(replace(start, proposals=(changed(settled(start).proposals[0],
        comments=rested.talk.comments),))) == Fallen.EDITED  # fmt: skip


@pytest.mark.parametrize("words", ["/approve", "/unhold", "/propose"])
def test_an_edited_comment_is_no_command(words: str) -> None:
    """Fails when an edit within the second of writing is taken for the writer's first words."""
    comment = replace(said(APPROVER, words, 100, minutes=1), edited=True)

    rested = settled(facts(changed(PROPOSAL, draft=words == "/propose", comments=(comment,))))

    (answer,) = (c.body for c in rested.proposals[0].talk.answers if not c.summary)
    assert texts.EDITED in answer
    assert why(rested) == "none was given"


def test_an_approval_of_replaced_content_falls_for_good() -> None:
    """Fails when pushing the approved head back brings the approval back by itself."""
    other = replace(CORE, tree=OTHER, head_tree=OTHER)
    moved = changed(APPROVED, head=OTHER_HEAD, touched=(other,))
    away = settled(facts(moved, head=OTHER_HEAD)).proposals[0]
    back = changed(away, head=HEAD, touched=(CORE,))

    assert why(facts(back)) == Fallen.TREE
    assert [type(w) for w in memory.read(back).words.values()] == [Fell]


def test_a_stale_look_makes_nothing_fall_for_good() -> None:
    """Fails when a forge's old answer voids an approval of what came after it."""
    other = replace(CORE, tree=OTHER, head_tree=OTHER)
    stale = changed(APPROVED, head=OTHER_HEAD, touched=(other,))
    looked = settled(facts(stale, head=HEAD)).proposals[0]  # git knows better

    assert why(facts(changed(looked, head=HEAD, touched=(CORE,)))) == "counts"


def test_rules_that_are_changed_and_changed_back_judge_the_same() -> None:
    changed_rules = settled(facts(changed(APPROVED, digest="other"))).proposals[0]

    assert why(facts(changed(changed_rules, digest=PROPOSAL.rules.digest))) == "counts"


REVIEWS: dict[str, tuple[tuple[Review, ...], Fallen | str]] = {
    "dismissed": ((review(state=ReviewState.DISMISSED),), "none was given"),
    "followed by a request for changes": (
        (review(), review(8, at=NOW + SECOND, state=ReviewState.CHANGES_REQUESTED)),
        "none was given",
    ),
    "followed by a dismissed one": (
        (review(), review(8, at=NOW + SECOND, state=ReviewState.DISMISSED)),
        "none was given",
    ),
    "given again after a dismissal": (
        (review(state=ReviewState.DISMISSED), review(8, at=NOW + SECOND)),
        "counts",
    ),
    "of a commit that is gone": ((review(trees=None),), Fallen.UNSEEN),
}


@pytest.mark.parametrize(("found", "expected"), REVIEWS.values(), ids=REVIEWS)
def test_the_last_native_verdict_counts(found: tuple[Review, ...], expected: Fallen | str) -> None:
    assert why(facts(changed(PROPOSAL, reviews=found))) == expected


def test_a_dismissal_ends_an_approval_that_was_recorded() -> None:
    """Fails when the record outlives the review."""
    rested = settled(facts(changed(PROPOSAL, reviews=(review(),)))).proposals[0]
    assert why(facts(rested)) == "counts"

    dismissed = changed(rested, reviews=(review(state=ReviewState.DISMISSED),))

    assert why(facts(dismissed)) == "none was given"


def test_unapprove_takes_a_native_approval_back() -> None:
    rested = settled(facts(changed(PROPOSAL, reviews=(review(),)))).proposals[0]
    comment = said(APPROVER, "/unapprove", 100, minutes=1)

    assert why(facts(changed(rested, comments=(comment,)))) == "none was given"


# --- who may lift a hold --------------------------------------------------------------------------

READER = {**PROPOSAL.people.roles, "author": Role.READ}

HOLDS: dict[str, tuple[list[tuple[Person, str]], list[str]]] = {
    "who held may lift it": ([(AUTHOR, "/hold"), (AUTHOR, "/unhold")], []),
    "who can write may lift it": ([(AUTHOR, "/hold"), (APPROVER, "/unhold")], []),
    "an author who cannot write lifts nobody else's": (
        [(APPROVER, "/hold"), (AUTHOR, "/unhold")],
        ["approver"],
    ),
    "holding as well gives no right to lift the other's": (
        [(APPROVER, "/hold"), (AUTHOR, "/hold"), (AUTHOR, "/unhold")],
        ["approver"],
    ),
    "an outsider lifts nothing": ([(APPROVER, "/hold"), (OUTSIDER, "/unhold")], ["approver"]),
    "in one comment the later word counts": ([(APPROVER, "/hold\n/unhold")], []),
    "in one comment the later hold counts": (
        [(APPROVER, "/hold\n/unhold\n/hold once more")],
        ["approver"],
    ),
}


@pytest.mark.parametrize(("lines", "holding"), HOLDS.values(), ids=HOLDS)
def test_who_may_lift_a_hold(lines: list[tuple[Person, str]], holding: list[str]) -> None:
    """Fails when any author may release what a maintainer holds."""
    start = talk(*lines)
    rested = settled(facts(changed(start.proposals[0], roles=READER))).proposals[0]

    assert [h.person for h in memory.read(rested).holds] == holding


def test_every_reason_is_told_with_what_to_do() -> None:
    for reason in Fallen:
        assert "approve again" in texts.approved_too_early(reason)


# --- the rules when it was given ------------------------------------------------------------------

RULES: dict[str, tuple[Mapping[str, object], bool]] = {
    "rules that did not change": ({}, True),
    "rules that changed before": ({"changed_at": NOW}, True),
    "rules that changed within its second": ({"changed_at": NOW + timedelta(minutes=1)}, False),
    "rules that changed after": ({"changed_at": NOW + timedelta(minutes=2)}, False),
    "nobody can tell": ({"changes_told": False}, False),
}


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(("change", "counts"), RULES.values(), ids=RULES)
def test_an_approval_is_bound_to_the_rules_that_held_when_it_was_given(
    change: Mapping[str, object], counts: bool, native: bool
) -> None:
    """Fails when it binds the rules of the look, which come later."""
    first = settled(facts(PROPOSAL)).proposals[0]
    comment = said(APPROVER, "/approve", 5000, minutes=1)
    review = Review(
        id=9,
        author=APPROVER,
        state=ReviewState.APPROVED,
        head=PROPOSAL.place.head,
        trees=PROPOSAL.content.head_trees,
        at=comment.at,
        head_at=NOW,
    )
    asked = changed(first, reviews=(review,)) if native else changed(first, comments=(comment,))
    asked = changed(asked, head_at=NOW, **change)

    after = settled(facts(asked)).proposals[0]

    found = approvals_of(after, Policy(), memory.read(after))
    assert [x.person for x in found.counted] == (["approver"] if counts else [])
    if native and not counts:
        assert found.fallen == {"approver": Fallen.CONFIGURATION}
    if counts:  # bound once, its digest tells from then on
        later = changed(after, changed_at=NOW + timedelta(days=1))
        assert approvals_of(later, Policy(), memory.read(later)).counted


def test_our_answer_shows_the_rules_where_the_forge_has_no_log() -> None:
    """Fails when nobody can ever approve there, or when a change that is told is overlooked."""
    asked = changed(PROPOSAL, head_at=NOW, changes_told=False)
    asked = changed(asked, comments=(said(APPROVER, "/approve", 5000, minutes=1),))
    first = settled(facts(asked)).proposals[0]
    again = said(APPROVER, "/approve", 6000, minutes=5)
    second = changed(first, comments=(*first.talk.comments, again))

    def counted(p: Proposal) -> int:
        after = settled(facts(p)).proposals[0]
        return len(approvals_of(after, Policy(), memory.read(after)).counted)

    assert counted(first) == 0
    assert counted(second) == 1
    assert counted(changed(second, digest="other")) == 0
    assert counted(changed(second, changed_at=again.at)) == 0


def test_an_approval_counts_only_after_what_stands_unpublished_was_told() -> None:
    """The short-cut approves the difference to the merge base: the tag holds the whole package."""
    stray = changed(PROPOSAL, touched=(replace(CORE, unpublished=STRAY),))
    early = changed(stray, comments=(said(APPROVER, "/approve"),))
    reviewed = changed(stray, reviews=(review(),))

    told = settled(facts(early)).proposals[0]
    assert FALLEN[Fallen.UNPUBLISHED] in told.talk.answers[0].body
    assert why(facts(told)) == "none was given"
    assert why(settled(facts(reviewed))) == Fallen.UNPUBLISHED

    (notice,) = [c for c in told.talk.answers if "Also published" in c.body and not c.summary]
    later = said(APPROVER, "/approve", notice.id + 1, minutes=1)
    assert why(settled(facts(changed(told, comments=(*told.talk.comments, later))))) == "counts"
    again = changed(told, reviews=(review(at=NOW + timedelta(minutes=1)),))
    assert why(settled(facts(again))) == "counts"


@pytest.mark.parametrize("words", ["/approve", ""], ids=["command", "review"])
def test_an_approval_says_what_it_was_compared_with(words: str) -> None:
    """Short-cut refused: only the trees are kept, so that nobody can tell what changed below."""
    proposal = changed(SEEN, head_at=NOW - timedelta(hours=1))
    if words:
        proposal = changed(proposal, comments=(said(APPROVER, words),))
    else:
        proposal = changed(proposal, reviews=(review(),))
    rested = settled(facts(proposal)).proposals[0]

    kept = memory.read(rested).words["approver"]

    assert isinstance(kept, Approval)
    assert kept.origin == OLD


# --- approvals of what the forge does not tell ----------------------------------------------------

UNTOLD = review(head=Sha(""), trees=None, head_at=None, at=NOW + timedelta(minutes=5))


def test_an_approval_of_an_unknown_version_counts_for_nothing_and_is_asked_for_once() -> None:
    """The short-cut takes it for one of the head that stands there now."""
    at_rest = settled(facts(changed(SEEN, reviews=(UNTOLD,))))
    asked = [c.body for c in at_rest.proposals[0].talk.answers if "does not count yet" in c.body]

    assert why(at_rest) == Fallen.UNTOLD
    assert decide(at_rest) == []
    assert asked == [
        "@approver Your approval does not count yet: GitHub does not say which version of this it"
        f" was given for. Review `{HEAD[:10]}`, and comment `/approve`."
    ]


def test_who_was_asked_for_it_anew_approves_by_a_comment() -> None:
    """The short-cut lets the approval that does not count stand in the way of the one that does."""
    asked = settled(facts(changed(SEEN, reviews=(UNTOLD,))))
    comment = said(APPROVER, "/approve", 900, minutes=9)
    given = replace(
        asked, proposals=tuple(changed(p, comments=(comment,)) for p in asked.proposals)
    )

    assert why(settled(given)) == "counts"


def test_nobody_is_asked_for_an_approval_of_what_is_a_draft_or_was_given_too_early() -> None:
    """The short-cut asks for each that it finds, whenever the bot came."""
    early = replace(UNTOLD, at=SEEN.times.installed_at)
    for p in (changed(SEEN, reviews=(UNTOLD,), draft=True), changed(SEEN, reviews=(early,))):
        answers = settled(facts(p)).proposals[0].talk.answers
        assert [c.body for c in answers if "does not count yet" in c.body] == []


@pytest.mark.parametrize(
    ("draft", "authors", "self_allowed", "who"),
    [
        (True, (), False, "people with write access, except the authors"),
        (True, ("ann",), False, "people with write access, except `ann` (the author)"),
        (True, (), True, "people with write access"),
        (False, (), False, "people with write access"),
    ],
)
def test_who_may_approve_leaves_out_authors_whom_nobody_has_looked_for(
    draft: bool, authors: tuple[str, ...], self_allowed: bool, who: str
) -> None:
    """Short-cuts refused: the draft that somebody pushed and the bot opened tells its author that
    they may approve it; a request for each draft to find out who that is."""
    policy = Policy(approve=AccessRule(self_allowed=self_allowed))
    proposal = changed(PROPOSAL, draft=draft, authors=frozenset(authors), policy=policy)
    judged = judge(facts(proposal), proposal, memory.read(proposal))
    assert next(gate.who for gate in judged.gates if gate.name == "approved") == who
