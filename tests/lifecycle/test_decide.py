"""The rules of the lifecycle, as a table; `pytest -v` prints them as a specification.

Longer than 400 lines: a table of the rules, read as one.

Each row: what is so, and the kinds of action that follow, in order. What an action says is compared
in the tests of messages and checks, and in the stories.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cadlib.diff.patch import Suggestion
from cadlib.errors import Place
from cadlib.findings import Finding, Severity
from lifecycle import actions as a
from lifecycle import memory
from lifecycle.access import Person, Role
from lifecycle.decide import conclude, decide
from lifecycle.events import Approval, content
from lifecycle.facts.checks import CONFIGURE, PUBLISH, RENDER, VALIDATE, CheckState, Required
from lifecycle.facts.commits import PushRefusal
from lifecycle.facts.conversation import Comment, Review, ReviewState
from lifecycle.facts.head import Facts
from lifecycle.facts.merging import MergeObstacle, MergeWait
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.verdicts import Verdict
from lifecycle.merges import Effect, UnknownRules
from lifecycle.names import Sha
from lifecycle.policy import AccessRule, BrokenPolicy, ConfigurationProblem, Policy, RenderMode
from lifecycle.tags import Foreign, Tagging, TagLoss
from tests.choices import each_of
from tests.lifecycle.samples import (
    APPROVER,
    AUTHOR,
    BASE,
    BLOCKING,
    BOT,
    CORE,
    FACTS,
    HEAD,
    MERGE,
    NOW,
    OTHER,
    OUTSIDER,
    PROPOSAL,
    REPOSITORY,
    approved_by,
    changed,
    check,
    facts,
    said,
)
from tests.lifecycle.settling import settled

DRAFT = changed(PROPOSAL, draft=True)
NO_APPROVAL = Policy(approve=AccessRule(require=0))
UNRENDERED = replace(
    PROPOSAL, verdicts=(Verdict(package="net/core", changes={"net/core/a.yaml": b"a: 1\n"}),)
)
SUGGESTIBLE = replace(
    UNRENDERED,
    verdicts=(
        replace(
            UNRENDERED.verdicts[0], suggestions=(Suggestion("net/core/a.yaml", 1, 1, "a: 1\n"),)
        ),
    ),
)
INVALID = replace(PROPOSAL, verdicts=(Verdict(package="net/core", findings=(BLOCKING,)),))
APPROVED = approved_by(PROPOSAL, "approver")
MERGED = changed(
    APPROVED, merged=True, closed=True, merge_commit=MERGE, merged_at=NOW + timedelta(minutes=1)
)
MERGED_OTHERWISE = changed(MERGED, touched=(replace(CORE, tree=OTHER),))
DOUBTED = changed(MERGED, doubt=UnknownRules.BASE)
LOST = changed(
    MERGED, touched=(replace(CORE, tagging=Tagging(5, lost=TagLoss.GONE, tag="9" * 40)),)
)
OF_ANOTHER_BOT = Foreign("net/core/v4", before=False, marked=True)
PUBLISHED = changed(MERGED, touched=(replace(CORE, tagging=Tagging(5, tagged=True)),))
CLOSED = changed(PROPOSAL, closed=True)
GONE = replace(CORE, tree="", head_tree="", tagging=Tagging(0))
REMOVED = changed(
    approved_by(changed(PROPOSAL, touched=(GONE,), verdicts=()), "approver"),
    merged=True,
    closed=True,
    merge_commit=MERGE,
    merged_at=NOW + timedelta(minutes=1),
)
BROKEN = BrokenPolicy(
    (ConfigurationProblem(Place(".porchbot.yaml", 3), "no such key", "Remove it"),)
)
NOTHING = changed(PROPOSAL, touched=(), verdicts=())


def asks(proposal: Proposal, person: Person, words: str, *, minutes: int = 0) -> Proposal:
    """The proposal with one more comment."""
    number = 100 + len(proposal.talk.comments)
    comment = said(person, words, number, minutes=minutes)
    return changed(proposal, comments=(*proposal.talk.comments, comment))


CHECKS: list[type] = [a.SetCheck, a.SetCheck, a.SetCheck]

REFUSED = MergeWait(MergeObstacle.METHOD, "Merge commits are not allowed")
LATER = MergeWait(MergeObstacle.FORGE, "502 Server Error", given_up=False)

RULES: dict[str, tuple[Facts, bool, list[type]]] = {
    "a draft branch without a pull request gets one": (
        replace(FACTS, proposals=(), draft_touched=(CORE,), draft_policy=Policy()),
        False,
        [a.OpenProposal],
    ),
    "one that the bot made for a variant gets it from there": (
        replace(
            FACTS,
            proposals=(),
            draft_touched=(CORE,),
            draft_policy=Policy(),
            draft_of_variant=True,
        ),
        False,
        [],
    ),
    "a draft branch is rendered before it is proposed": (
        replace(
            FACTS,
            proposals=(),
            draft_touched=(CORE,),
            draft_verdicts=UNRENDERED.verdicts,
            draft_policy=Policy(),
        ),
        False,
        [a.PushRender, a.OpenProposal],
    ),
    "a branch outside of drafts/ is left alone": (
        replace(FACTS, proposals=(), head_ref="topic", draft_touched=(CORE,)),
        False,
        [],
    ),
    "a draft branch whose pull request was closed is left alone": (
        replace(FACTS, proposals=(), ended=True, draft_touched=(CORE,)),
        False,
        [],
    ),
    "a proposal without a package has one check and no comment": (
        facts(NOTHING),
        False,
        [a.SetCheck],
    ),
    "a proposal gets three checks and one summary": (facts(PROPOSAL), False, [*CHECKS, a.Say]),
    "a draft is rendered, and nothing is said about the head that goes": (
        facts(changed(UNRENDERED, draft=True)),
        False,
        [a.PushRender, a.Say],
    ),
    "a function that never settles is stopped after one commit": (
        facts(UNRENDERED, rendered_by_us=True),
        False,
        [*CHECKS, a.Say],
    ),
    "whoever asks gets one more render commit: the rules may have changed": (
        facts(asks(UNRENDERED, AUTHOR, "/render"), rendered_by_us=True),
        False,
        [a.PushRender, a.Forget, a.React, a.Say],
    ),
    "a merge whose result the forge does not name yet is not asked for in turns": (
        facts(changed(MERGED, merge_commit=None)),
        False,
        [],
    ),
    "render: check never pushes": (
        facts(changed(UNRENDERED, policy=Policy(render=RenderMode.CHECK))),
        False,
        [*CHECKS, a.Say],
    ),
    "a fork is never pushed to": (
        facts(UNRENDERED, same_repository=False),
        False,
        [*CHECKS, a.Say],
    ),
    "on a fork the rendering is suggested where it fits": (
        facts(SUGGESTIBLE, same_repository=False),
        False,
        [*CHECKS, a.Suggest, a.Say],
    ),
    "it is suggested once at a commit": (
        facts(changed(SUGGESTIBLE, suggested=frozenset({HEAD})), same_repository=False),
        False,
        [*CHECKS, a.Say],
    ),
    "whoever goes on pushing without it is left with the check": (
        facts(
            changed(SUGGESTIBLE, suggested=frozenset(map(Sha, ("1" * 40, "2" * 40, "3" * 40)))),
            same_repository=False,
        ),
        False,
        [*CHECKS, a.Say],
    ),
    "what the bot renders itself is suggested to nobody": (
        facts(SUGGESTIBLE),
        False,
        [a.PushRender, a.Say],
    ),
    "what never settles is suggested to nobody": (
        facts(SUGGESTIBLE, rendered_by_us=True),
        False,
        [*CHECKS, a.Say],
    ),
    "/render pushes once where the configuration only checks": (
        facts(asks(changed(UNRENDERED, policy=Policy(render=RenderMode.CHECK)), AUTHOR, "/render")),
        False,
        [a.PushRender, a.Forget, a.React, a.Say],
    ),
    "a broken configuration fails one check and says so": (
        facts(changed(PROPOSAL, policy=BROKEN, digest="")),
        False,
        [a.SetCheck, a.Say],
    ),
    "an approved proposal asks for publishing": (
        facts(APPROVED),
        False,
        [a.SetCheck, a.SetCheck, a.Say, a.AskPublish],
    ),
    "an approved proposal is merged at its head by the base branch's look": (
        settled(facts(changed(APPROVED, queued=True))),
        True,
        [a.SetCheck, a.Merge],
    ),
    "a blocked proposal is not merged": (
        settled(facts(approved_by(INVALID, "approver"))),
        True,
        [],
    ),
    "an approval of another tree does not count": (
        settled(facts(changed(APPROVED, touched=(replace(CORE, tree=OTHER, head_tree=OTHER),)))),
        True,
        [],
    ),
    "an approval under other rules does not count": (
        settled(facts(changed(APPROVED, digest="other"))),
        True,
        [],
    ),
    "an author's own approval does not count": (
        settled(facts(approved_by(PROPOSAL, "author"))),
        True,
        [],
    ),
    "an approval by somebody who lost the right does not count": (
        settled(facts(changed(APPROVED, roles={"approver": Role.READ}))),
        True,
        [],
    ),
    "an unknown author takes one more approval": (
        settled(facts(changed(APPROVED, authors_known=False))),
        True,
        [],
    ),
    "so does a rule that nobody knows who changed": (
        settled(facts(changed(APPROVED, ruled_known=False))),
        True,
        [],
    ),
    "an outdated proposal is blocked": (
        settled(facts(changed(APPROVED, touched=(replace(CORE, base=OTHER),)))),
        True,
        [],
    ),
    "a request for changes blocks": (
        settled(
            facts(
                changed(
                    APPROVED,
                    roles={"approver": Role.MAINTAIN, "owner": Role.ADMIN},
                    reviews=(
                        Review(
                            id=5,
                            author=Person(5, "owner", False),
                            state=ReviewState.CHANGES_REQUESTED,
                            head=HEAD,
                            trees=None,
                            at=NOW,
                        ),
                    ),
                )
            )
        ),
        True,
        [],
    ),
    "a required check of others that did not pass blocks": (
        settled(facts(changed(APPROVED, required=(Required("scan", CheckState.PENDING),)))),
        True,
        [],
    ),
    "a merge that the forge refused is not tried again": (
        settled(facts(changed(APPROVED, wait=REFUSED))),
        True,
        [],
    ),
    "a merge that is to be tried later is not tried now": (
        settled(facts(changed(APPROVED, wait=LATER))),
        True,
        [],
    ),
    "/check lets the forge be asked once more": (
        facts(asks(changed(APPROVED, wait=REFUSED), AUTHOR, "/check")),
        False,
        [a.Forget, a.React, a.SetCheck, a.SetCheck, a.Say, a.AskPublish],
    ),
    "a merge result with the approved tree is tagged": (
        settled(facts(changed(MERGED, queued=True), head=None)),
        True,
        [a.Tag],
    ),
    "a merge that another porchbot tagged is not tagged again": (
        settled(
            facts(
                changed(
                    MERGED,
                    queued=True,
                    touched=(replace(CORE, tagging=Tagging(5, foreign=(OF_ANOTHER_BOT,))),),
                ),
                head=None,
            )
        ),
        True,
        [],
    ),
    "a package that a merge removes gets no tag beside one that does": (
        settled(
            facts(
                approved_by(
                    changed(
                        MERGED,
                        answers=(),
                        queued=True,
                        touched=(CORE, replace(CORE, package="net/edge", tree="", head_tree="")),
                    ),
                    "approver",
                ),
                head=None,
            )
        ),
        True,
        [a.Tag],
    ),
    "a merge that nobody approved here is reported, however green its head was elsewhere": (
        facts(changed(MERGED, answers=()), head=None, checks={PUBLISH: check(PUBLISH)}),
        True,
        [a.Reply, a.Say],
    ),
    "a merge is reported that was approved for another base branch": (
        facts(
            changed(
                MERGED,
                answers=approved_by(changed(PROPOSAL, base_ref="topic"), "approver").talk.answers,
            ),
            head=None,
            checks={PUBLISH: check(PUBLISH)},
        ),
        True,
        [a.Reply, a.Say],
    ),
    "a removal that was approved is published with its merge": (
        facts(REMOVED, head=MERGE),
        False,
        [a.Say],
    ),
    "a removal that nobody approved is reported, whoever merged it": (
        facts(changed(REMOVED, answers=())),
        True,
        [a.Reply, a.Say],
    ),
    "a merge result that nobody approved is reported and not tagged": (
        facts(MERGED_OTHERWISE, head=None),
        True,
        [a.Reply, a.Say],
    ),
    "a merge on an unknown base is reported: what was approved may have been under other rules": (
        facts(DOUBTED, head=None),
        True,
        [a.Reply, a.Say],
    ),
    "an unknown base takes an approval also where the rules ask for none": (
        settled(facts(changed(DOUBTED, answers=(), policy=NO_APPROVAL), head=None)),
        True,
        [],
    ),
    "/approve on the result of a merge on an unknown base publishes it": (
        settled(
            facts(DOUBTED, head=None),
            then=lambda p: asks(p, APPROVER, "/approve", minutes=10),
        ),
        False,
        [a.Reply, a.React, a.AskPublish],
    ),
    "a merge that changed another package is reported, also where nobody must approve": (
        facts(
            changed(
                MERGED,
                answers=(),
                policy=NO_APPROVAL,
                digest=NO_APPROVAL.digest,
                touched=(CORE, replace(CORE, package="net/edge", outside=True)),
            ),
            head=None,
        ),
        True,
        [a.Reply, a.Say],
    ),
    "a proposal without a package whose merge changes one fails": (
        facts(changed(NOTHING, effect=Effect(packages=("net/edge",)))),
        False,
        [a.SetCheck],
    ),
    "a merge that would do more than is shown is not made": (
        settled(facts(changed(APPROVED, queued=True, effect=Effect(packages=("net/edge",))))),
        True,
        [],
    ),
    "a tag that git cannot hold is not tried": (
        settled(
            facts(
                changed(
                    APPROVED,
                    queued=True,
                    touched=(replace(CORE, tagging=Tagging(5, clash="refs/tags/net")),),
                )
            )
        ),
        True,
        [],
    ),
    "a tag that is gone is reported and not made again": (
        facts(LOST, head=None),
        True,
        [a.Reply, a.Say],
    ),
    "tags that the forge refused are reported and not tried again": (
        facts(changed(MERGED, wait=REFUSED, queued=True), head=None),
        True,
        [a.Reply, a.Say],
    ),
    "a published proposal loses its draft branch": (
        facts(PUBLISHED, checks={n: check(n) for n in (RENDER, VALIDATE, PUBLISH)}),
        False,
        [a.SetCheck, a.Say, a.DeleteBranch],
    ),
    "the checks of a branch that moved on are those of another commit": (
        facts(PUBLISHED, head=Sha("d" * 40), checks={PUBLISH: check(PUBLISH)}),
        False,
        [a.Say],
    ),
    "while packages are rendered nothing else is decided": (
        facts(APPROVED, pending=True),
        False,
        [a.SetCheck, a.SetCheck, a.SetCheck],
    ),
    "what is only observed shows no check that waits": (
        facts(changed(APPROVED, policy=Policy(observe=True)), pending=True),
        False,
        [],
    ),
    "what was rendered before stays shown while it is rendered again": (
        facts(
            asks(APPROVED, AUTHOR, "/hold"),
            pending=True,
            checks={n: check(n) for n in (RENDER, VALIDATE, PUBLISH)},
        ),
        False,
        [a.React],
    ),
    "a command is seen at once where packages are rendered first": (
        facts(asks(PROPOSAL, AUTHOR, "/hold"), pending=True),
        False,
        [a.SetCheck, a.SetCheck, a.SetCheck, a.React],
    ),
    "a re-run shows at once that it began": (
        facts(
            APPROVED,
            pending=True,
            rerun=True,
            checks={n: check(n) for n in (RENDER, VALIDATE, PUBLISH)},
        ),
        False,
        [a.SetCheck, a.SetCheck, a.SetCheck],
    ),
    "a draft branch that the forge keeps is left": (
        facts(
            PUBLISHED,
            checks={n: check(n) for n in (RENDER, VALIDATE, PUBLISH)},
            push_refused=PushRefusal("deletions are restricted"),
        ),
        False,
        [a.SetCheck, a.Say],
    ),
    "a branch that moved on after the merge stays": (
        facts(PUBLISHED, head=Sha("d" * 40)),
        False,
        [a.Say],
    ),
    "a closed proposal that we never spoke in is left alone": (facts(CLOSED), False, []),
    "/propose turns a draft into a proposal": (
        facts(asks(DRAFT, AUTHOR, "/propose")),
        False,
        [a.SetDraft, a.React, *CHECKS, a.Say],
    ),
    "/reject turns a proposal into a draft": (
        facts(asks(PROPOSAL, AUTHOR, "/reject not yet")),
        False,
        [a.SetDraft, a.Reply, a.React, *CHECKS, a.Say],
    ),
    "/approve by somebody who may is answered with a record": (
        settled(facts(PROPOSAL), then=lambda p: asks(p, APPROVER, "/approve", minutes=1)),
        False,
        [a.Reply, a.React, a.AskPublish],
    ),
    "/approve of the commit that stands there is answered": (
        settled(
            facts(PROPOSAL), then=lambda p: asks(p, APPROVER, f"/approve {HEAD[:7]}", minutes=1)
        ),
        False,
        [a.Reply, a.React, a.AskPublish],
    ),
    "/approve of any other commit is refused, however late it comes": (
        settled(facts(PROPOSAL), then=lambda p: asks(p, APPROVER, f"/approve {BASE}", minutes=1)),
        False,
        [a.Reply, a.React],
    ),
    "/approve by an outsider is refused with a reason": (
        settled(facts(PROPOSAL), then=lambda p: asks(p, OUTSIDER, "/approve", minutes=1)),
        False,
        [a.Reply, a.React],
    ),
    "/approve by the author is refused with a reason": (
        settled(facts(PROPOSAL), then=lambda p: asks(p, AUTHOR, "/approve", minutes=1)),
        False,
        [a.Reply, a.React],
    ),
    "/approve of a head pushed after the comment is refused": (
        settled(
            facts(changed(PROPOSAL, head_at=NOW + timedelta(minutes=2))),
            then=lambda p: asks(p, APPROVER, "/approve", minutes=1),
        ),
        False,
        [a.Reply, a.React],
    ),
    "/hold stops an approved proposal, with no comment but the summary": (
        settled(facts(PROPOSAL), then=lambda p: asks(p, AUTHOR, "/hold", minutes=1)),
        False,
        [a.React, a.SetCheck, a.Say],
    ),
    "/why is answered": (
        settled(facts(PROPOSAL), then=lambda p: asks(p, OUTSIDER, "/why", minutes=1)),
        False,
        [a.Reply, a.React],
    ),
    "a comment of a bot is no command": (
        settled(facts(PROPOSAL), then=lambda p: asks(p, BOT, "/approve", minutes=1)),
        False,
        [],
    ),
    "a quoted /approve is no command": (
        settled(facts(PROPOSAL), then=lambda p: asks(p, APPROVER, "> /approve", minutes=1)),
        False,
        [],
    ),
    "a comment older than the installation is no command": (
        settled(
            facts(changed(PROPOSAL, installed_at=NOW)),
            then=lambda p: asks(p, APPROVER, "/approve", minutes=-10),
        ),
        False,
        [],
    ),
    "/approve on a merge result that was reported publishes it": (
        settled(
            facts(MERGED_OTHERWISE, head=None),
            then=lambda p: asks(p, APPROVER, "/approve", minutes=10),
        ),
        False,
        [a.Reply, a.React, a.AskPublish],
    ),
    "a Re-run makes all three checks again": (
        settled(facts(PROPOSAL), rerun=True),
        False,
        CHECKS,
    ),
}


@pytest.mark.parametrize(("start", "publishing", "expected"), RULES.values(), ids=RULES)
def test_decide(start: Facts, publishing: bool, expected: list[type]) -> None:
    # What the database is told besides is the business of test_memory.
    found = [type(action) for action in decide(start, publishing=publishing)]
    assert [kind for kind in found if kind is not a.Keep] == expected


def test_one_gate_is_asked_about_by_its_name() -> None:
    """The short-cut looks for a field of that name, and says that there is nothing about it."""
    start = settled(facts(PROPOSAL), then=lambda p: asks(p, OUTSIDER, "/why approved", minutes=1))

    (said,) = (x for x in decide(start) if isinstance(x, a.Reply))

    assert "**approved**: 0 of 1" in said.body
    assert "rendered" not in said.body


def test_a_proposal_without_a_package_is_not_green_while_its_merge_changes_one() -> None:
    """Fails when what touches no package is nobody's business: histories may criss-cross."""
    hidden = changed(NOTHING, effect=Effect(packages=("net/edge",)))

    (shown,) = (x for x in decide(facts(hidden)) if isinstance(x, a.SetCheck))

    assert shown.conclusion == "failure"
    assert "leave `net/edge` different from what is shown here" in shown.summary
    assert "merge `main` into this branch" in shown.summary


@pytest.mark.parametrize("start", [NOTHING, PROPOSAL], ids=["rules alone", "with a package"])
def test_an_error_of_the_rules_stands_at_its_line_once(start: Proposal) -> None:
    """The short-cut has each check show all that it fails for: two threads at one line."""
    places = [Place(path=p, line=3) for p in (".porchbot.yaml", "variants/a.yaml")]
    found = tuple(Finding(message="no", severity=Severity.ERROR, place=each) for each in places)
    wrong = changed(start, configures=True, configuration_changed=True, configuration=found)

    checks = [x for x in decide(facts(wrong)) if isinstance(x, a.SetCheck)]

    shown = [(each.place.path, x.name) for x in checks for each in x.annotations]
    (other,) = {name for path, name in shown if path == "variants/a.yaml"}
    assert sorted(shown) == [(places[0].path, "porchbot/config"), (places[1].path, other)]
    assert all(".porchbot.yaml:3" in x.summary for x in checks if x.name in (CONFIGURE, other))


def test_nothing_is_merged_while_nobody_knows_what_that_would_do() -> None:
    """Fails when only packages that are known to change count."""
    unknown = Effect(unknown=True)

    (shown,) = (
        x for x in decide(facts(changed(NOTHING, effect=unknown))) if isinstance(x, a.SetCheck)
    )
    waiting = settled(facts(changed(APPROVED, queued=True, effect=unknown)), publishing=True)

    assert (shown.conclusion, "merge `main` into this branch" in shown.summary) == ("failure", True)
    assert not waiting.proposals[0].place.merged
    assert "git takes too long" in "".join(c.body for c in waiting.proposals[0].talk.answers)


def test_a_removal_that_nobody_approved_is_not_published() -> None:
    """The short-cut asks for the tags of what remains: where nothing does, that holds at once."""
    by_hand = settled(facts(changed(REMOVED, answers=(), queued=True)), publishing=True)
    text = "".join(c.body for c in by_hand.proposals[0].talk.answers)

    assert by_hand.head is not None, "its branch is kept while it is not approved"
    assert "### Merged, but not approved: net/core removed" in text
    assert "**Merged, but not approved**: net/core removed at" in text

    approved = settled(
        replace(by_hand, proposals=(asks(by_hand.proposals[0], APPROVER, "/approve", minutes=9),))
    )
    text = "".join(c.body for c in approved.proposals[0].talk.answers)

    assert approved.head is None
    assert "### Published net/core removed" in text


def test_an_approved_removal_stays_published_whatever_the_rules_become() -> None:
    """The short-cut judges it again at every look: it has no tag that says that it was judged."""
    done = settled(facts(changed(REMOVED, queued=True)), publishing=True)
    assert done.head is None
    stricter = changed(done.proposals[0], digest="0" * 64, roles={}, kept=frozenset())

    found = decide(replace(done, proposals=(stricter,)), publishing=True)
    assert [type(action) for action in found] == [a.Keep]  # in the database again, nothing else


def test_what_was_published_is_not_published_again_under_another_number() -> None:
    """Fails when the index alone knows: lost together with the tag, the same content is v6 then."""
    published = changed(
        MERGED, touched=(replace(CORE, tagging=Tagging(5, tagged=True, tag="9" * 40)),)
    )
    rested = settled(facts(published, head=None)).proposals[0]
    forgotten = changed(
        rested, touched=(replace(CORE, tagging=Tagging(6)),), queued=True, kept=frozenset()
    )

    found = decide(facts(forgotten, head=None), publishing=True)
    withdrawn = Tagging(6, listed=frozenset({5}))
    quiet = changed(forgotten, touched=(replace(CORE, tagging=withdrawn),))

    assert not [x for x in found if isinstance(x, a.Tag)]
    assert not [x for x in decide(facts(quiet, head=None)) if isinstance(x, a.Reply | a.Tag)]
    text = "".join(x.body for x in found if isinstance(x, a.Say | a.Reply))
    assert "`net/core/v5` was published, and its tag is gone" in text
    assert f"git push --force origin {'9' * 40}:refs/tags/net/core/v5" in text


def test_who_asked_for_a_rendering_is_named_with_it() -> None:
    """Fails when the bot is the author: whoever asks for a change does not approve it."""
    asked = asks(changed(UNRENDERED, policy=Policy(render=RenderMode.CHECK)), AUTHOR, "/render")

    (push, *_) = decide(facts(asked))

    assert isinstance(push, a.PushRender)
    assert push.asker == "author (1)"


def test_an_approval_in_the_second_of_the_merge_is_of_the_head() -> None:
    """Fails when `at >= merged_at` decides: forges tell whole seconds, and it may be the older."""
    merged = changed(MERGED_OTHERWISE, merged_at=NOW)
    reported = settled(facts(merged, head=None, checks={VALIDATE: check(VALIDATE)})).proposals[0]
    report = memory.report_of(reported, REPOSITORY)
    assert report is not None
    before, after = (said(APPROVER, "/approve", report.id + offset) for offset in (-1, 1))

    bound = {}
    for comment in (before, after):
        start = changed(reported, comments=(comment,))
        rested = settled(facts(start, head=None, checks={VALIDATE: check(VALIDATE)}))
        word = memory.read(rested.proposals[0]).words["approver"]
        bound[comment.id] = word.trees if isinstance(word, Approval) else ""

    trees = {
        n: content({"net/core": tree}) for n, tree in ((before.id, CORE.tree), (after.id, OTHER))
    }
    assert bound == trees


def test_a_proposal_without_packages_does_not_hold_up_the_other_of_the_same_head() -> None:
    """Fails when what publishes nothing counts as not ready: the other would wait for ever."""
    other = changed(NOTHING, number=8, base_ref="elsewhere")
    start = replace(FACTS, proposals=(changed(APPROVED, queued=True), other))

    rested = settled(start, publishing=True)

    assert [p.place.merged for p in rested.proposals] == [True, False]


ELSEWHERE = changed(NOTHING, base_ref="topic", elsewhere=("main",))


def test_a_head_is_not_green_where_it_is_not_judged() -> None:
    """The short-cut passes it, or is neutral: both let it be merged where approval is needed."""
    rested = settled(facts(ELSEWHERE))
    (shown,) = (x for x in decide(facts(ELSEWHERE)) if isinstance(x, a.SetCheck))

    assert rested.checks[PUBLISH].conclusion is None
    assert shown.title == "Not checked: packages are published from main, not from topic"
    assert "change the base branch of this pull request to `main`" in shown.summary
    assert "To merge it into `topic`, this check is not needed" in shown.summary


def test_where_a_head_is_judged_nobody_is_sent() -> None:
    """The short-cut shows the first of two that wait: it would say to propose what is proposed."""
    start = replace(FACTS, proposals=(changed(ELSEWHERE, number=6), changed(APPROVED, queued=True)))
    waits = replace(start, proposals=(start.proposals[0], PROPOSAL))

    assert [p.place.merged for p in settled(start, publishing=True).proposals] == [False, True]
    (shown,) = (x for x in decide(waits) if isinstance(x, a.SetCheck) and x.name == PUBLISH)
    assert shown.title.startswith("net/core v5 is waiting: ")


def test_the_same_head_in_two_bases_is_green_for_neither_while_one_waits() -> None:
    """Fails when each pull request is judged alone: the check belongs to their common commit."""
    other = changed(PROPOSAL, number=8, base_ref="release")
    start = replace(FACTS, proposals=(changed(APPROVED, queued=True), other))

    rested = settled(start, publishing=True)

    assert rested.checks[PUBLISH].status == "in_progress"
    assert not any(p.place.merged for p in rested.proposals)


@pytest.mark.parametrize("other", [APPROVED, ELSEWHERE], ids=["approved", "nothing to publish"])
def test_in_a_crowd_nothing_passes(other: Proposal) -> None:
    """The short-cut looks at the first few of a commit, or at none, and takes that for all."""
    start = replace(FACTS, proposals=(changed(other, queued=True),), crowded=True)

    rested = settled(start, publishing=True)

    assert not rested.proposals[0].place.merged
    for name in rested.checks:
        assert rested.checks[name].status == "in_progress"
    shown = [x for x in decide(start) if isinstance(x, a.SetCheck) and x.name == PUBLISH]
    assert [x.title for x in shown] == ["More than 5 other proposals share this commit"]
    assert "--allow-empty" in shown[0].summary


def test_a_wait_for_others_at_a_commit_is_told_once() -> None:
    """Short-cut refused: for those that are known, and for the crowd: two gates of one name."""
    other = changed(PROPOSAL, number=8, base_ref="release")
    start = replace(FACTS, proposals=(PROPOSAL, other), crowded=True)

    for gates in conclude(start).waits.values():
        names = [gate.name for gate in gates]
        assert names.count("same head") == 1


def test_a_name_that_is_not_utf8_can_be_sent() -> None:
    """Fails when a folder's name goes into texts as it is: nothing would be said at all."""
    odd = "net/caf\udce9"
    verdict = Verdict(package=odd, changes={f"{odd}/a.yaml": b"a: 1\n"})
    proposal = changed(PROPOSAL, touched=(replace(CORE, package=odd),), verdicts=(verdict,))

    for found in (decide(facts(proposal)), decide(facts(proposal, rendered_by_us=True))):
        texts = [
            text
            for x in found
            for text in (
                x.message if isinstance(x, a.PushRender) else "",
                x.body if isinstance(x, a.Say) else "",
                f"{x.title}{x.summary}" if isinstance(x, a.SetCheck) else "",
            )
        ]
        assert "caf?" in "".join(texts).encode().decode()


def test_texts_stay_below_what_a_forge_takes() -> None:
    """Fails when only the summary comment is cut: a check refused for its size never appears."""
    many = tuple(
        Verdict(package=f"{'p' * 200}/{n}", changes={f"{n}.yaml": b"a: 1\n"}) for n in range(500)
    )
    touched = tuple(replace(CORE, package=v.package) for v in many)
    big = asks(changed(PROPOSAL, touched=touched, verdicts=many), AUTHOR, "/why\n" * 19)

    found = decide(facts(big, same_repository=False))

    assert max(len(x.summary) for x in found if isinstance(x, a.SetCheck)) <= 60_000
    assert max(len(x.body) for x in found if isinstance(x, a.Reply)) <= 60_000


def test_an_unhold_before_a_merge_by_hand_does_not_come_too_late() -> None:
    """Fails when the answer goes by how things stand once it is given: the hold ended in time."""
    found = decide(facts(asks(PUBLISHED, APPROVER, "/unhold")))

    assert [x.body for x in found if isinstance(x, a.Reply) and "late" in x.body] == []
    assert [x.reaction for x in found if isinstance(x, a.React)] == [a.Reaction.DONE]
    late = decide(facts(asks(PUBLISHED, APPROVER, "/hold")))
    assert [x.reaction for x in late if isinstance(x, a.React)] == [a.Reaction.REFUSED]


PEOPLE = [AUTHOR, APPROVER, OUTSIDER, BOT]
WORDS = [
    *("/approve", "/unapprove", "/propose", "/reject no", "/hold", "/unhold", "/render"),
    *("/check", "/why", "/help", "/upgrade", "/aprove", "hello", "> /approve"),
    "/approve\n/hold wait",
]


TAGGINGS = [
    Tagging(5),
    Tagging(5, tagged=True),
    Tagging(5, tagged=True, foreign=(Foreign("net/core/v4", before=False),)),
    Tagging(5, foreign=(OF_ANOTHER_BOT,)),
    Tagging(5, lost=TagLoss.GONE, tag="9" * 40),
    Tagging(5, clash="refs/tags/net"),
    Tagging(5, missing=("net/core/v3",)),
]
POLICIES: list[Policy | BrokenPolicy] = [Policy(), Policy(render=RenderMode.CHECK), BROKEN]


TRUTHS = [False, True]
_PACKAGES = each_of(
    [CORE.tree, OTHER, ""],
    [CORE.base, OTHER],
    TAGGINGS,
    [{}, {"net/core/a.yaml": b"a: 1\n"}],
    [(), (BLOCKING,)],
    ["", "the runner is away"],
)
_PLACES = each_of([HEAD, None], TRUTHS, ["drafts/net/core/w1", "topic"], TRUTHS)
_TURNS = each_of(*[TRUTHS] * 6)
_STATES = each_of(
    POLICIES,
    [None, NOW - timedelta(hours=1), NOW + timedelta(hours=9)],
    [(), (Required("scan", CheckState.MISSING),)],
    [None, REFUSED, LATER],
    [Effect(), Effect(conflicts=("a",)), Effect(files=("b",))],
    [None, *UnknownRules],
)
_SAID = st.lists(each_of(PEOPLE, WORDS), max_size=4)


@st.composite
def situations(draw: st.DrawFn) -> Facts:
    """Facts in any combination, likely or not."""
    tree, base, tagging, changes, findings, broken = draw(_PACKAGES)
    core = replace(CORE, tree=tree, base=base, tagging=tagging)
    verdict = Verdict(package="net/core", changes=changes, findings=findings, broken=broken)
    draft, merged, closed, touched, authors_known, approved = draw(_TURNS)
    policy, head_at, required, wait, effect, doubt = draw(_STATES)
    proposal = changed(
        PROPOSAL,
        draft=draft,
        merged=merged,
        closed=merged or closed,
        merge_commit=MERGE if merged else None,
        merged_at=NOW if merged else None,
        touched=(core,) if touched else (),
        verdicts=(verdict,),
        policy=policy,
        authors_known=authors_known,
        head_at=head_at,
        required=required,
        wait=wait,
        effect=effect,
        doubt=doubt if merged else None,
        comments=_comments(draw(_SAID)),
    )
    head, same_repository, head_ref, rendered_by_us = draw(_PLACES)
    return facts(
        approved_by(proposal, "approver") if approved else proposal,
        head=head,
        same_repository=same_repository,
        head_ref=head_ref,
        rendered_by_us=rendered_by_us,
    )


def _comments(given_: Sequence[tuple[Person, str]]) -> tuple[Comment, ...]:
    return tuple(
        said(person, words, 100 + place, minutes=place)
        for place, (person, words) in enumerate(given_)
    )


@settings(max_examples=300)
@given(start=situations(), publishing=st.booleans())
def test_every_reachable_state_settles(start: Facts, publishing: bool) -> None:
    """Fails on any action that is repeated once it was done."""
    rested = settled(start, publishing=publishing)

    assert decide(rested, publishing=publishing) == []


@settings(max_examples=300)
@given(start=situations())
def test_nothing_is_merged_or_tagged_outside_of_publishing(start: Facts) -> None:
    """Fails when a proposal's own look merges: two of them would race."""
    kinds = {type(action) for action in decide(start)}

    assert not kinds & {a.Merge, a.Tag}


def test_rules_that_only_the_merge_would_change_are_a_gate() -> None:
    """Fails when a change of the rules is compared with one merge base, and its merge is not."""
    hidden = changed(NOTHING, configures=True, effect=Effect(files=(".porchbot.yaml",)))

    actions = decide(facts(hidden))

    (shown,) = (x for x in actions if isinstance(x, a.SetCheck))
    assert shown.conclusion is None
    assert "merging would change `.porchbot.yaml`" in shown.summary


@pytest.mark.parametrize("status", ["in_progress", "completed"])
def test_trouble_that_was_told_of_a_merged_proposal_is_taken_back(status: str) -> None:
    """Fails when only open proposals have their checks brought up to date."""
    told = check(PUBLISH, id=5, status=status, digest="trouble.0123456789")
    start = facts(MERGED_OTHERWISE, checks={PUBLISH: told}, head=None)

    sent = [one for one in decide(start) if isinstance(one, a.SetCheck)]

    assert [(s.head, s.title, s.conclusion) for s in sent] == [
        (MERGED.place.head, "Merged, but not published", "failure")
    ]
    assert sent[0].run == (5 if status == "in_progress" else None)
    assert [one for one in decide(settled(start)) if isinstance(one, a.SetCheck)] == []
