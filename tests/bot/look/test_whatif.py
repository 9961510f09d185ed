"""What a change of the rules would do to others is found out within bounds, and kept."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from bot.forges.port import (
    Forge,
    ForgeBusyError,
    ForgeMissingError,
    ListedProposal,
    Repository,
)
from bot.git.port import GitBusyError, GitRefusedError, MissingObjectError, ObjectTooLargeError
from bot.look.states import HeadBranch
from bot.look.whatif import HOUR, KEPT, MOST_AN_HOUR, MOST_JUDGED, SECONDS, WhatIf
from lifecycle.effects import running
from lifecycle.facts.effects import FunctionsEffect, RulesEffect
from lifecycle.facts.head import Facts
from lifecycle.messages import effects
from lifecycle.names import Sha
from lifecycle.policy import AccessRule, BrokenPolicy, GuardrailFunction, Policy
from tests.ids import on_github
from tests.lifecycle.samples import HEAD, PROPOSAL, changed, facts
from tests.memory.clock import ManualClock

RULES = changed(PROPOSAL, number=1000, touched=(), configures=True, configuration_changed=True)
STRICTER = Policy(approve=AccessRule(require=2))
REPOSITORY = Repository(
    id=on_github(1),
    full_name="acme/a",
    default_branch="main",
    clone_url="https://x.test/a",
    installation=3,
    installed_at=datetime(2026, 1, 1, tzinfo=UTC),
)


def listed(number: int, **more: Any) -> ListedProposal:
    made = ListedProposal(
        number=number,
        title="",
        author=PROPOSAL.people.author,
        draft=False,
        open=True,
        head=HEAD,
        head_ref=f"b{number}",
        head_repository=1,
        base_ref="main",
        merge_commit=None,
        merged_at=None,
        updated_at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number),
        assigned=(),
    )
    return replace(made, **more)


class Open:
    """A forge with these open proposals; each takes some seconds to be judged."""

    def __init__(self, pulls: list[ListedProposal], clock: ManualClock, takes: float = 0) -> None:
        self.pulls, self.clock, self.takes = pulls, clock, takes
        self.judged: list[int] = []

    async def open_proposals(self) -> tuple[ListedProposal, ...]:
        return tuple(self.pulls)

    async def judge(self, head: HeadBranch, number: int, rules: Sha) -> tuple[Facts, Facts]:
        assert head.ref == f"b{number}"
        self.judged.append(number)
        self.clock.seconds += self.takes
        now = changed(PROPOSAL, number=number)
        return facts(now), facts(changed(now, policy=STRICTER, digest=STRICTER.digest))


def what_if(there: Open) -> WhatIf:
    return WhatIf(REPOSITORY, cast(Forge, there), there.clock)


async def test_five_hundred_open_proposals_cost_no_more_than_twenty() -> None:
    """Fails when each is judged: a push to the rules would take four thousand requests."""
    clock = ManualClock()
    there = Open([listed(number) for number in range(1, 501)], clock)

    found = await what_if(there).of(RULES, there.judge)

    assert found is not None
    assert sorted(there.judged) == list(range(501 - MOST_JUDGED, 501))  # those that changed last
    assert (found.looked, found.left) == (MOST_JUDGED, 500 - MOST_JUDGED)
    assert [change.number for change in found.changes] == sorted(there.judged)
    assert found.changes[0].before == ("approved by 0 of 1",)
    assert found.changes[0].after == ("approved by 0 of 2",)


async def test_it_ends_in_time_and_says_what_is_left() -> None:
    """Fails when a slow function of one proposal holds up the check of another for ever."""
    clock = ManualClock()
    there = Open([listed(number) for number in range(1, 6)], clock, takes=SECONDS)

    found = await what_if(there).of(RULES, there.judge)

    assert found is not None
    assert (found.looked, found.left) == (2, 3)


async def test_it_is_kept_for_a_while() -> None:
    """Fails when each comment on the proposal has all others judged again."""
    clock = ManualClock()
    there = Open([listed(2)], clock)
    asked = what_if(there)
    first = await asked.of(RULES, there.judge)
    assert await asked.of(RULES, there.judge) == first
    assert there.judged == [2]

    clock.seconds += KEPT + 1
    await asked.of(RULES, there.judge)
    await asked.of(changed(RULES, head=Sha("f" * 40)), _none)

    assert there.judged == [2, 2]


async def _none(*_: object) -> tuple[Facts, Facts]:
    return facts(PROPOSAL), facts(PROPOSAL)


@pytest.mark.parametrize(
    ("more", "judged"),
    [
        ({"draft": True}, []),
        ({"base_ref": "release"}, [2]),
        ({"number": 1000}, []),
    ],
)
async def test_whom_a_change_of_the_default_branch_concerns(
    more: dict[str, Any], judged: list[int]
) -> None:
    """Fails when only proposals of the same base count: its rules hold on other branches, too."""
    clock = ManualClock()
    there = Open([replace(listed(2), **more)], clock)

    await what_if(there).of(RULES, there.judge)

    assert there.judged == judged


async def test_nothing_is_judged_by_rules_that_cannot_be_read_or_are_not_changed() -> None:
    """Fails when every proposal pays for it."""
    clock = ManualClock()
    there = Open([listed(2)], clock)
    asked = what_if(there)

    assert await asked.of(PROPOSAL, there.judge) is None
    broken = changed(RULES, configuration=(cast(Any, object()),))
    assert await asked.of(broken, there.judge) is None
    assert await asked.of(changed(RULES, closed=True), there.judge) is None
    assert there.judged == []
    assert RulesEffect() != await asked.of(RULES, there.judge)


async def test_a_hundred_are_judged_in_an_hour_whatever_is_pushed() -> None:
    """Short-cut: a bound for each look alone; a push a minute takes all that the forge grants."""
    clock = ManualClock()
    there = Open([listed(number) for number in range(1, 21)], clock)
    asked = what_if(there)

    for push in range(30):
        clock.seconds += 60
        await asked.of(changed(RULES, head=Sha(f"{push:040x}")), there.judge)
    assert len(there.judged) == MOST_AN_HOUR

    clock.seconds += HOUR
    found = await asked.of(RULES, there.judge)
    assert found is not None
    assert (found.looked, found.left) == (20, 0)


SLOW = GuardrailFunction(image="evil/slow")
NETS = GuardrailFunction(image="set-namespace:v0.4", config_map={"namespace": "a"})
HELD = Policy(mutators=(NETS,), validators=(GuardrailFunction(image="kept"),), allow=(("a/*",),))
TRIED = Policy(
    approve=AccessRule(require=2),
    mutators=(SLOW, replace(NETS, config_map={"namespace": "b"})),
    validators=HELD.validators,
)


def test_functions_run_by_the_rules_that_hold() -> None:
    """Short-cut: the whole file is tried out; its images run on packages of others."""
    runs = running(TRIED, HELD)

    assert isinstance(runs, Policy)
    assert (runs.mutators, runs.validators) == (HELD.mutators, HELD.validators)
    assert (runs.allow, runs.approve) == (HELD.allow, TRIED.approve)
    broken = BrokenPolicy(())
    assert running(TRIED, broken) is broken
    assert running(broken, HELD) == HELD


async def test_functions_that_were_not_tried_are_told() -> None:
    """Short-cut: nothing is said of them, and the check looks as if they had been tried."""
    clock = ManualClock()
    there = Open([listed(2)], clock)

    async def judge(head: HeadBranch, number: int, rules: Sha) -> tuple[Facts, Facts]:
        now = changed(PROPOSAL, number=number, policy=HELD)
        return facts(now), facts(changed(now, policy=TRIED))

    found = await what_if(there).of(RULES, judge)

    assert found is not None
    both = ("evil/slow", "set-namespace:v0.4")
    assert found.functions == FunctionsEffect(both, ("set-namespace:v0.4",), allowed=True)
    said = effects.rules_effect(found)
    assert "It would also run `evil/slow`, `set-namespace:v0.4`, no longer run" in said
    assert "allow other functions in packages" in said


@pytest.mark.parametrize(
    "error",
    [
        ObjectTooLargeError("a folder of more than 50000 entries"),
        MissingObjectError("pushed over"),
        GitBusyError("slow"),
        GitRefusedError("no"),
        ForgeBusyError("answer", "502"),
        ForgeMissingError("answer", "404"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_proposal_that_cannot_be_read_stops_no_change_of_the_rules(
    error: Exception,
) -> None:
    """Short-cut: the first one breaks the look; a stranger's pull request blocks every change."""
    clock = ManualClock()
    there = Open([listed(number) for number in (2, 3, 4)], clock)

    async def judge(head: HeadBranch, number: int, rules: Sha) -> tuple[Facts, Facts]:
        if number == 3:
            raise error
        return await there.judge(head, number, rules)

    found = await what_if(there).of(RULES, judge)

    assert found is not None
    assert (there.judged, found.looked, found.left, found.unread) == ([4, 2], 2, 0, 1)
    assert "- 1 open proposal could not be read, and was not checked." in effects.rules_effect(
        found
    )
