"""What a merge group comes to."""

from dataclasses import replace

import pytest

from lifecycle import groups
from lifecycle.actions import CloseProposal, Reply, SetCheck
from lifecycle.facts.checks import PUBLISH, CheckRun, Conclusion, Status
from lifecycle.facts.head import Facts
from lifecycle.facts.packages import Content
from lifecycle.groups import Group, GroupEntry
from lifecycle.ledger import LedgerChange, LedgerEntry, ListedState
from lifecycle.names import Sha
from lifecycle.policy import Policy
from tests.ids import FIRST

READY = GroupEntry(number=1, ready=True)
LAST = GroupEntry(number=2, ready=True)
GROUP = Group(
    base_ref="main",
    content=Content(touched=()),
    verdicts=(),
    policy=Policy(),
    entries=(READY, LAST),
)
FACTS = Facts(
    repository="acme/blueprints",
    repository_id=FIRST,
    head_ref="gh-readonly-queue/main/pr-2-" + "a" * 40,
    head=Sha("b" * 40),
    same_repository=True,
    default_ref="main",
)


def _shown(group: Group, facts: Facts = FACTS) -> tuple[Conclusion | None, str]:
    (check,) = groups.decide(facts, group)
    assert isinstance(check, SetCheck)
    assert check.name == PUBLISH
    return check.conclusion, f"{check.title}\n{check.summary}"


def test_a_group_passes_where_each_proposal_in_it_does() -> None:
    assert _shown(GROUP)[0] is Conclusion.SUCCESS
    assert not groups.waits(GROUP)


def test_a_group_that_is_only_observed_keeps_no_queue_waiting() -> None:
    """Short-cut refused: nothing is written where the bot observes: the queue waits till its end.

    And what proposals show at the very commit is theirs.
    """
    observed = replace(GROUP, policy=Policy(observe=True), entries=(replace(READY, ready=False),))
    (check,) = groups.decide(FACTS, observed)

    assert isinstance(check, SetCheck)
    assert (check.status, check.conclusion) == (Status.COMPLETED, Conclusion.NEUTRAL)
    assert check.title.startswith("Observing: ")
    run = CheckRun(
        id=1, name=PUBLISH, status=check.status, conclusion=check.conclusion, ours=True,
        digest=check.digest,
    )  # fmt: skip
    again = replace(FACTS, checks={PUBLISH: run})
    assert groups.decide(again, observed) == []
    assert groups.decide(again, replace(observed, policy=Policy())) != []
    assert groups.decide(FACTS, replace(observed, shared=(7,))) == []


@pytest.mark.parametrize(
    ("entry", "conclusion", "words"),
    [
        (replace(READY, ready=False), None, "#1 itself is not ready"),
        (replace(READY, other={"net/core": "t"}), Conclusion.FAILURE, "approved in #1"),
        (replace(READY, rules=True), Conclusion.FAILURE, "changes the rules"),
        (replace(READY, behind=True), Conclusion.FAILURE, "were judged without that"),
    ],
)
def test_an_earlier_proposal_of_the_group_counts_as_the_last_does(
    entry: GroupEntry, conclusion: Conclusion | None, words: str
) -> None:
    """The short-cut asks the last one: a queue may merge them all by its check alone."""
    for entries in ((entry, LAST), (LAST, entry)):
        shown, said = _shown(replace(GROUP, entries=entries))
        assert (shown, words in said) == (conclusion, True), said
    assert groups.waits(replace(GROUP, entries=(entry, LAST))) is (conclusion is None)


def test_what_is_withdrawn_is_used_by_nothing_in_the_group() -> None:
    """The short-cut asks the proposal alone: what came ahead of it in the queue may use it."""
    gone = LedgerChange(
        package="net/core",
        revision=1,
        path=".porchbot/ledger/net/core.yaml",
        before=None,
        after=LedgerEntry(ListedState.WITHDRAWN, "broken"),
        used_by=("net/mine",),
    )
    shown, said = _shown(replace(GROUP, content=Content(touched=(), ledger=(gone,))))
    assert shown is Conclusion.FAILURE
    assert "`net/core/v1` is the upstream of `net/mine`" in said

    users = tuple(f"net/u{n}" for n in range(7))  # a list that ends after five says not which
    _, said = _shown(
        replace(GROUP, content=Content(touched=(), ledger=(replace(gone, used_by=users),)))
    )
    assert all(f"`{each}`" in said for each in users)

    free = Content(touched=(), ledger=(replace(gone, used_by=()),))
    assert _shown(replace(GROUP, content=free))[0] is Conclusion.SUCCESS


def test_what_others_show_at_the_commit_is_not_turned_green() -> None:
    """The short-cut overwrites their check: they wait on a branch that this one is not for."""
    shared = replace(GROUP, shared=(7,))
    shown, said = _shown(shared)
    assert (shown, "head of #7" in said) == (None, True)
    assert groups.waits(shared)

    run = CheckRun(
        id=1, name=PUBLISH, ours=True, status=Status.COMPLETED, conclusion=Conclusion.SUCCESS
    )
    assert _shown(shared, replace(FACTS, checks={PUBLISH: run}))[0] is None
    theirs = replace(run, status=Status.IN_PROGRESS, conclusion=None)
    assert groups.decide(replace(FACTS, checks={PUBLISH: theirs}), shared) == []


def test_what_forks_propose_of_the_groups_commit_is_closed_first() -> None:
    """Short-cut refused: the group waits for them, or is green while they are open.

    Nothing is closed where the bot only observes.
    """
    forked = replace(GROUP, forks=(7, 8))
    first, second, *rest, check = groups.decide(FACTS, forked)

    assert (first, second) == (CloseProposal(7), CloseProposal(8))
    told = {each.number: each.body for each in rest if isinstance(each, Reply)}
    assert list(told) == [7, 8]
    assert "the merge queue of `main`" in told[7]
    assert isinstance(check, SetCheck)
    assert check.conclusion is Conclusion.SUCCESS
    assert not groups.waits(forked)
    (observed,) = groups.decide(FACTS, replace(forked, policy=Policy(observe=True)))
    assert isinstance(observed, SetCheck)
