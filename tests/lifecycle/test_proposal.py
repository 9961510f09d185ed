"""A proposal as a decision sees it: what it is made of, and what follows from two of its parts."""

from collections import Counter
from dataclasses import fields, is_dataclass, replace

from lifecycle.facts.drafts import DraftKind, DraftRequest, DraftState, DraftWait
from lifecycle.facts.lookups import Lookups
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.whole import Whole
from lifecycle.ledger import ProposedState
from lifecycle.policy import Policy
from tests.lifecycle.samples import APPROVER, BASE, NOW, OUTSIDER, PROPOSAL, changed


def test_a_proposal_has_parts_and_no_loose_field() -> None:
    """The short-cut adds one more fact to the proposal itself, where nobody looks for it."""
    loose = [p.name for p in fields(Proposal) if not is_dataclass(getattr(PROPOSAL, p.name))]
    assert loose == ["verdicts"]  # one for each package
    assert len(fields(Proposal)) <= 12


def test_no_two_parts_have_a_field_of_one_name() -> None:
    """The short-cut has the tests change another part than they mean."""
    parts = [v for p in fields(Proposal) if is_dataclass(v := getattr(PROPOSAL, p.name))]
    names = Counter(each.name for part in parts for each in fields(part))
    names.update(p.name for p in fields(Proposal))
    assert [name for name, count in names.items() if count > 1] == []


def test_what_is_about_the_repository_goes_by_the_default_branch_where_that_was_read() -> None:
    """The short-cut takes the rules of the branch that the proposal happens to be for."""
    here, wide = Policy(observe=True), Policy()
    p = changed(PROPOSAL, policy=here)
    assert p.repository_policy is here
    assert changed(p, whole=Whole(policy=wide)).repository_policy is wide
    assert Lookups().known_packages == frozenset()
    assert Lookups(whole=Whole(policy=wide, packages=frozenset({"a"}))).known_packages == {"a"}


def test_one_thing_waits_once_whoever_asks_and_not_what_was_given_up() -> None:
    """The short-cut tells of it for each of those who ask, and for ever."""
    wait = DraftWait(since=NOW, again=NOW, tries=1)
    one = DraftRequest(kind=DraftKind.CLONE, package="net/core")
    other = replace(one, package="net/edge")

    def state(request: DraftRequest, waits: DraftWait | None) -> DraftState:
        there = ProposedState(branch="drafts/x/y")
        return DraftState(request=request, base_ref="main", there=there, start=BASE, waits=waits)

    asked = {replace(one, asker=each): state(one, wait) for each in (APPROVER, OUTSIDER)}
    over = {other: state(other, replace(wait, over=True))}
    made = {replace(other, value="3"): state(other, None)}
    assert Lookups(drafts=asked | over | made).waiting_drafts == {one: wait}
