"""`mode: observe`: whose rules say so, and what a head shows that another base does not observe."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import get_args

from bot import config
from lifecycle import dashboard
from lifecycle.actions import Action, AskPublish, CloseProposal, Keep, Reply, SetCheck, SetTitle
from lifecycle.decide import conclude, decide
from lifecycle.events import CommentAnswered
from lifecycle.facts.checks import Conclusion
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal, Rules
from lifecycle.facts.releases import ReleaseMark, ReleaseNotes
from lifecycle.ledger import (
    LedgerChange,
    LedgerEntry,
    ListedState,
    ProposedState,
    RevisionState,
)
from lifecycle.policy import AccessRule, BrokenPolicy, Policy
from tests.lifecycle.samples import (
    APPROVER,
    BASE,
    FACTS,
    MERGE,
    NOW,
    PROPOSAL,
    changed,
    facts,
    said,
)
from tests.lifecycle.settling import carry_out, settled
from tests.lifecycle.test_decide import PUBLISHED, RULES
from tests.lifecycle.test_doubles import LATER, _again, _answered
from tests.lifecycle.test_memory import approved, edited
from tests.lifecycle.test_updates import ITSELF, MERGES

ENTRY = LedgerEntry(ListedState.WITHDRAWN, "leaks")
WITHDRAWAL = LedgerChange(
    package="net/core",
    revision=3,
    path=".porchbot/ledger.yaml",
    before=None,
    after=ENTRY,
    tag="9" * 40,
    ours=True,
)


def withdrawn() -> Facts:
    """A withdrawal that was approved and merged."""
    asked = changed(
        PROPOSAL,
        touched=(),
        verdicts=(),
        ledger=(WITHDRAWAL,),
        configures=True,
        comments=(said(APPROVER, "/approve", minutes=1),),
    )
    approved = settled(facts(asked)).proposals[0]
    at = NOW + timedelta(hours=1)
    return facts(changed(approved, merged=True, closed=True, merge_commit=MERGE, merged_at=at))


NOTES = ReleaseNotes(tag="net/core/v5", package="net/core", revision=5, there=False)
ASKED = ProposedState(branch="porchbot/withdraw/net/core/v3")
THIRD = RevisionState(
    package="net/core",
    revision=3,
    base_ref="main",
    base=BASE,
    path=".porchbot/ledger.yaml",
    tag="9" * 40,
    withdraws=ASKED,
    deprecates=ASKED,
)
RESTED, ANSWER = _answered()
TALK = RESTED.proposals[0].talk
MORE: dict[str, tuple[Facts, bool]] = {
    "labels follow the stage": (facts(changed(PROPOSAL, labels=frozenset({"bug"}))), False),
    "an answer that somebody edited": (edited(approved(), "x", summary=False), False),
    "an answer that was given twice": (
        replace(
            RESTED,
            proposals=(
                changed(
                    RESTED.proposals[0],
                    answers=(*TALK.answers, _again(ANSWER, 9_000)),
                    looked_at=LATER,
                ),
            ),
        ),
        False,
    ),
    "the base goes on": (facts(changed(ITSELF, update=MERGES)), False),
    "it is in a merge queue": (facts(changed(PROPOSAL, in_queue=True, enqueued=True)), False),
    "everything is frozen": (
        facts(changed(PROPOSAL, comments=(said(APPROVER, "/freeze fire", minutes=1),))),
        False,
    ),
    "a release is to be made": (
        facts(changed(PUBLISHED, notes=(NOTES,))),
        False,
    ),
    "a release is to be marked": (
        facts(
            changed(
                PUBLISHED,
                ledger=(replace(WITHDRAWAL, after=LedgerEntry(ListedState.DEPRECATED, "leaks")),),
                marks=(ReleaseMark("net/core/v3", done=False),),
            )
        ),
        False,
    ),
    "a revision was withdrawn": (withdrawn(), True),
    "somebody wants a revision withdrawn": (
        facts(
            changed(
                PROPOSAL,
                revisions={("net/core", 3): THIRD},
                comments=(said(APPROVER, "/delete net/core@v3 it leaks", minutes=1),),
            )
        ),
        False,
    ),
}
"""What the bot has to do beside the rows of `test_decide`: facts, and whether it publishes."""

OBSERVING = Policy(observe=True, approve=AccessRule(0))


def under(policy: Policy | BrokenPolicy, **changes: object) -> Proposal:
    return changed(PROPOSAL, **{"rules": Rules(policy=policy), **changes})


def test_an_observed_proposal_gets_neutral_checks_and_nothing_waits() -> None:
    """The short-cut shows nothing at all, or a wait that nobody can end."""
    decision = conclude(facts(under(OBSERVING)))

    assert {type(action) for action in decision.actions} == {SetCheck}
    assert {a.conclusion for a in decision.actions if isinstance(a, SetCheck)} == {
        Conclusion.NEUTRAL
    }
    assert decision.waits == {}
    assert decide(facts(under(OBSERVING)), publishing=True) == decision.actions
    settled(facts(under(OBSERVING)))


def test_a_rerun_shows_them_again() -> None:
    again = settled(facts(under(OBSERVING)), rerun=True)

    assert len(decide(again)) == 3
    assert all(isinstance(a, SetCheck) and a.after for a in decide(again))


def test_a_merge_made_meanwhile_is_not_published() -> None:
    merged = under(OBSERVING, merged=True, closed=True, merge_commit="c" * 40, merged_at=NOW)

    assert decide(facts(merged), publishing=True) == []


def test_a_head_that_another_base_does_not_observe_shows_that_ones_checks() -> None:
    """The short-cut lets the neutral run, which passes, stand at a head that waits elsewhere."""
    active = under(Policy(), number=8, base_ref="release")
    both = replace(FACTS, proposals=(under(OBSERVING), active))
    alone = replace(FACTS, proposals=(active,))
    apart = replace(facts(under(OBSERVING)), others=(alone,))

    assert decide(both) == decide(alone)
    assert decide(apart) == []


def test_a_draft_without_a_pull_request_is_left_alone() -> None:
    draft = replace(
        FACTS, proposals=(), draft_touched=PROPOSAL.content.touched, draft_policy=OBSERVING
    )

    assert decide(draft) == []
    assert decide(replace(draft, draft_policy=Policy())) != []


def test_what_was_said_during_a_trial_is_no_order_afterwards() -> None:
    """The short-cut reads comments as if they had come in today, and merges."""
    words = {"comments": (said(APPROVER, "/approve", minutes=1),)}
    tried = carry_out(facts(under(OBSERVING, **words)), decide(facts(under(OBSERVING, **words))))

    after = replace(tried, proposals=(changed(tried.proposals[0], policy=Policy()),))
    assert not [a for a in decide(after) if isinstance(a, AskPublish)]
    done = settled(after)
    assert decide(done) == []
    new = replace(done, checks={}, proposals=(under(Policy(), **words),))
    assert [a for a in decide(new) if isinstance(a, AskPublish)]


def test_who_commands_right_after_a_trial_is_told_to_say_it_again() -> None:
    """Short-cut refused: what came before the bot saw the end is left without a word."""
    tried = carry_out(facts(under(OBSERVING)), decide(facts(under(OBSERVING))))
    young = (said(APPROVER, "/thaw", minutes=60), said(APPROVER, "Nice.", minutes=61))
    late = NOW + timedelta(minutes=62)

    def after(looked_at: datetime) -> Facts:
        proposal = changed(tried.proposals[0], policy=Policy(), comments=young, looked_at=looked_at)
        return replace(tried, proposals=(proposal,))

    (reply,) = [a for a in decide(after(late)) if isinstance(a, Reply)]
    assert reply.body == (
        "@approver The bot only observed when you wrote this, or when it last looked at this"
        " pull request (`mode: observe`), and commands from that time are not carried out. It is"
        " active now: comment again."
    )
    done = settled(after(late))
    assert not [a for a in decide(done) if isinstance(a, Reply)]
    # Whoever said it hours ago waits for no answer.
    assert not [a for a in decide(after(late + timedelta(hours=2))) if isinstance(a, Reply)]


def test_a_broken_file_that_says_so_is_only_observed() -> None:
    """The short-cut takes a broken file for the strictest: somebody tries, and gets comments."""
    for text, observes in (
        ("mode: observe\nunknown: 1\n", True),
        ("unknown: 1\n", False),
        ("mode: observe\n  : [", True),
        ("a: [\n'mode' : \"observe\" # a trial\r\n", True),
        ("mode: active\n  : [", False),
        ("a: [\n  mode: observe\n", False),
        ("# mode: observe\na: [", False),
        ("mode: observe\nmode: active\n", False),
        ("mode: observe\n" + "#" * config.MOST_BYTES, True),
        ("- mode: observe\n", False),
        ("mode: watch\n", False),
    ):
        found = config.read(text.encode())
        assert isinstance(found, BrokenPolicy)
        assert found.observe is observes, text
    decided = decide(facts(under(config.read(b"mode: observe\nunknown: 1\n"))))
    assert {a.conclusion for a in decided if isinstance(a, SetCheck)} == {Conclusion.NEUTRAL}
    good = config.read(b"mode: observe\n")
    assert isinstance(good, Policy)
    assert good.observe


def observing(start: Facts) -> Facts:
    """The same facts where the bot only observes."""
    return replace(
        start,
        proposals=tuple(
            replace(p, rules=replace(p.rules, policy=replace(p.rules.policy, observe=True)))
            for p in start.proposals
        ),
        others=tuple(map(observing, start.others)),
        draft_policy=replace(start.draft_policy or Policy(), observe=True),
    )


def test_no_action_but_the_observing_check_whatever_there_is_to_do() -> None:
    """Short-cut refused: the mode is asked about merges and tags, and forgotten by other actions.

    Everything that `test_decide` and what stands beside has the bot do, each where it only watches.
    """
    active: set[type] = set()
    rows = {name: row[:2] for name, row in RULES.items()} | MORE
    for name, (start, publishing) in rows.items():
        active |= {type(action) for action in decide(start, publishing=publishing)}
        anyhow = replace(start, watched=True)
        for tried in (observing(start), replace(observing(start), rerun=True), anyhow):
            for action in decide(tried, publishing=publishing):
                assert isinstance(action, SetCheck), (name, action)
                assert action.conclusion is Conclusion.NEUTRAL, name
                assert action.buttons == (), name
    active |= {
        CloseProposal,
        SetTitle,
    }  # variants alone do these, and not here
    assert active == set(get_args(Action)), "each kind of action has facts that lead to it"


def test_what_is_said_on_the_dashboard_meanwhile_does_not_count_later() -> None:
    """Short-cut refused: it is left until the mode ends, and freezes everything then."""
    watching = Policy(observe=True)
    issue = changed(
        PROPOSAL,
        issue=True,
        closed=True,
        touched=(),
        rules=Rules(policy=watching, digest=watching.digest),
        comments=(said(APPROVER, "/freeze fire"), said(APPROVER, "thanks", 101)),
    )

    (kept,) = dashboard.decide(facts(issue))

    assert kept == Keep(issue.place.number, frozenset({CommentAnswered(comment=100)}))
    active = Policy()
    later = changed(
        issue, rules=Rules(policy=active, digest=active.digest), kept=frozenset(kept.log)
    )
    assert dashboard.decide(facts(later)) == []
