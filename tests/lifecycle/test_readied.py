"""Who made a proposal ready on the forge, by the rules that are written for it."""

from dataclasses import replace

import pytest

from lifecycle.access import AccessAction, Person, Role, RoleSource, Team, TeamSource, Unreadable
from lifecycle.actions import Merge, Reply, SetDraft
from lifecycle.decide import decide
from lifecycle.facts.conversation import ReadyForReview
from lifecycle.facts.proposal import Proposal, Rules
from lifecycle.policy import AccessRule, PathAccess, Policy
from tests.lifecycle.samples import AUTHOR, NOW, PROPOSAL, approved_by, changed, facts
from tests.lifecycle.settling import carry_out

MAINTAINERS = {AccessAction.PROPOSE: AccessRule(sources=(RoleSource(Role.MAINTAIN),))}
TEAM = {AccessAction.PROPOSE: AccessRule(sources=(TeamSource("net"),))}
TRIAGER = Person(77, "triager", False)
HELD = Policy(access=MAINTAINERS)


def ready(policy: Policy, proposal: Proposal = PROPOSAL, who: Person = AUTHOR) -> Proposal:
    """One that its author, or another, pressed the button of; approved."""
    rules = Rules(policy=policy, digest=policy.digest)
    made = approved_by(changed(proposal, rules=rules), "approver")
    return replace(made, talk=replace(made.talk, readied=ReadyForReview(who, NOW, "RFRE_1")))


NOBODY = replace(ready(HELD), talk=replace(ready(HELD).talk, readied=None))
CASES: dict[str, tuple[Proposal, list[type]]] = {
    "a rule for all": (ready(HELD), [Reply, SetDraft]),
    "a rule for its folder": (
        ready(Policy(paths=(PathAccess("net", MAINTAINERS),))),
        [Reply, SetDraft],
    ),
    "a rule of the default branch": (ready(Policy(above=HELD)), [Reply, SetDraft]),
    "a rule for another folder": (ready(Policy(paths=(PathAccess("apps", MAINTAINERS),))), [Merge]),
    "no rule": (ready(Policy()), [Merge]),
    "no rule, by somebody of whom nothing is asked": (ready(Policy(), who=TRIAGER), [Merge]),
    "nobody's press, or ours": (NOBODY, [Merge]),
    "a team that cannot be read": (ready(Policy(access=TEAM)), []),
    "no package": (ready(HELD, changed(PROPOSAL, touched=())), []),
    "closed": (ready(HELD, changed(PROPOSAL, closed=True)), []),
}


@pytest.mark.parametrize("case", CASES)
def test_a_press_is_held_to_the_rule_that_is_written(case: str) -> None:
    """Short-cuts refused: the rule that holds by default is enforced on every repository; a press
    that is not allowed is merged before the draft is back; an unknown is a no."""
    proposal, wanted = CASES[case]
    proposal = replace(
        proposal,
        people=replace(proposal.people, teams={"net": Team(None, Unreadable.PERMISSION)}),
    )
    done = decide(facts(proposal), publishing=True)
    assert [type(a) for a in done if isinstance(a, Reply | SetDraft | Merge)] == wanted


def test_a_press_is_answered_once_and_undone_until_it_is() -> None:
    """Short-cuts refused: a notice at each look; and a crash after the notice leaves it ready."""
    given = facts(ready(HELD))
    actions = decide(given)
    (notice,) = (a for a in actions if isinstance(a, Reply))
    assert notice.body.startswith("@author The bot turned this back into a draft: only ")

    crashed = decide(carry_out(given, [notice]))
    assert [a for a in crashed if isinstance(a, Reply | SetDraft)] == [
        SetDraft(PROPOSAL.place.number, draft=True)
    ]
