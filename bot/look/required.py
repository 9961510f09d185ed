"""Required checks of others: how each stands at a commit, and when the forge may be asked again."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

from bot.forges.port import UNREAD, Context, NativeReview, RequiredCheck
from lifecycle.events import Approval, Log
from lifecycle.facts.checks import (
    OURS,
    PUBLISH,
    AwaitedCheck,
    CheckRun,
    CheckState,
    Conclusion,
    Required,
    Status,
)
from lifecycle.policy import OutsideCheck

_OPEN = (CheckState.MISSING, CheckState.SUCCESS)
"""What a run leaves open to a status: one that runs, or failed, is no better for that."""

_WORST = (CheckState.FAILURE, CheckState.UNKNOWN, CheckState.PENDING, CheckState.SUCCESS)


def of_others(required: Iterable[RequiredCheck]) -> tuple[RequiredCheck, ...]:
    """The required checks that we cannot report: one of our names may be another's to report."""
    return tuple(c for c in required if c.name not in OURS or not c.ours)


def enforces(required: Iterable[RequiredCheck]) -> bool:
    """Whether nothing can be merged without our verdict."""
    return any(c.name == PUBLISH and c.ours for c in required)


def needs_statuses(required: Iterable[RequiredCheck], runs: Sequence[CheckRun]) -> bool:
    """Whether a commit status could change what check runs say.

    A status of the same name counts beside a run that passed, as on GitHub.
    """
    return any(
        check.source is None and check_states([check], runs, {})[0].state in _OPEN
        for check in required
    )


def check_states(
    required: Iterable[RequiredCheck],
    runs: Iterable[CheckRun],
    statuses: Mapping[Context, CheckState],
) -> tuple[Required, ...]:
    """How each required check stands; of several runs of one name the worst counts, as on GitHub.

    Who set a status is not told, so it answers only a check that may come from anybody. Where none
    could be read, one of any such check may have failed.
    """
    found = []
    for check in required:
        states = [
            _state(run)
            for run in runs
            if run.name == check.name and check.source in (None, run.source)
        ]
        if check.source is None:
            states += [statuses[name] for name in (check.name, UNREAD) if name in statuses]
        state = next((s for s in _WORST if s in states), CheckState.MISSING)
        found.append(Required(check.name, state))
    return tuple(found)


def outside(
    wanted: Iterable[OutsideCheck],
    runs: Sequence[CheckRun],
    makers: Mapping[tuple[Context, Context], CheckState],
) -> tuple[AwaitedCheck, ...]:
    """How each check stands that the configuration waits for; of several the worst counts.

    A check by another App of the same name does not count, and neither does a person's status
    where an App is named.

    Args:
        wanted: The checks.
        runs: Check runs at the head.
        makers: Commit statuses there by context and App, as `Forge.statuses_by` has them.
    """
    found = []
    for check in wanted:
        states = [_state(run) for run in _runs_of(check, runs)]
        put = {
            app if app is UNREAD else app.lower(): state
            for (context, app), state in makers.items()
            if context == check.name or (context is UNREAD and app is UNREAD)
        }
        # The newest of an App stands for all that it put before.
        counts = (check.app,) if check.app in put else (check.app, UNREAD)
        states += [s for app, s in put.items() if not check.app or app in counts]
        state = next((s for s in _WORST if s in states), CheckState.MISSING)
        found.append(AwaitedCheck(check.name, check.app, state))
    return tuple(found)


def _runs_of(check: OutsideCheck, runs: Iterable[CheckRun]) -> list[CheckRun]:
    return [
        run
        for run in runs
        if run.name == check.name and not run.ours and check.app in ("", run.app.lower())
    ]


def said(
    reviews: Iterable[NativeReview],
    remembered: Log,
    runs: Iterable[CheckRun],
    statuses: Mapping[Context, CheckState],
) -> str:
    """Digest of what people and programs said that a merge may wait for.

    Reviews, approvals, and what others have reported to the end at the head: a merge that the forge
    refused is tried again when it changes, for a rule that we may not see may have waited for it.
    """
    done = sorted([r.name, r.id, r.conclusion] for r in runs if not r.ours and r.conclusion)
    states = sorted(
        [name is UNREAD, str(name), state]
        for name, state in statuses.items()
        if state is not CheckState.PENDING
    )
    reviewed = sorted([review.id, review.state] for review in reviews)
    approved = sorted(each.comment for each in remembered if isinstance(each, Approval))
    told = [done, states, reviewed, approved]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def merge_inputs(told: str, rules: str) -> str:
    """What the forge's answer to a merge may depend on, beside head and base."""
    return f"{told}:{rules}"


def _state(run: CheckRun) -> CheckState:
    """How a check run of others counts."""
    if run.status is not Status.COMPLETED:
        return CheckState.PENDING
    return CheckState.SUCCESS if run.conclusion is Conclusion.SUCCESS else CheckState.FAILURE
