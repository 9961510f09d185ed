"""Required checks of others: how each stands at a commit, and when the forge may be asked again."""

import hashlib
import json
from collections.abc import Iterable, Mapping

from bot.forges.port import RequiredCheck
from lifecycle.facts.checks import (
    PUBLISH,
    RENDER,
    VALIDATE,
    CheckRun,
    CheckState,
    Conclusion,
    Required,
    Status,
)

OURS = frozenset({RENDER, VALIDATE, PUBLISH})

_WORST = (CheckState.FAILURE, CheckState.PENDING, CheckState.SUCCESS)


def of_others(required: Iterable[RequiredCheck]) -> tuple[RequiredCheck, ...]:
    """The required checks that we cannot report: one of our names may be another's to report."""
    return tuple(c for c in required if c.name not in OURS or not c.ours)


def enforces(required: Iterable[RequiredCheck]) -> bool:
    """Whether nothing can be merged without our verdict."""
    return any(c.name == PUBLISH and c.ours for c in required)


def needs_statuses(required: Iterable[RequiredCheck], runs: Iterable[CheckRun]) -> bool:
    """Whether a commit status could still answer what no check run answers."""
    reported = {run.name for run in runs}
    return any(c.source is None and c.name not in reported for c in required)


def check_states(
    required: Iterable[RequiredCheck], runs: Iterable[CheckRun], statuses: Mapping[str, CheckState]
) -> tuple[Required, ...]:
    """How each required check stands; of several runs of one name the worst counts, as on GitHub.

    Who set a status is not told, so it answers only a check that may come from anybody.
    """
    found = []
    for check in required:
        states = [
            _state(run)
            for run in runs
            if run.name == check.name and check.source in (None, run.source)
        ]
        if check.source is None and check.name in statuses:
            states.append(statuses[check.name])
        state = next((s for s in _WORST if s in states), CheckState.MISSING)
        found.append(Required(check.name, state))
    return tuple(found)


def ended(runs: Iterable[CheckRun], statuses: Mapping[str, CheckState]) -> str:
    """Digest of what others have reported to the end at a commit.

    A merge that the forge refused is tried again when it changes: a rule that we may not see may
    have waited for one of them.
    """
    done = sorted([r.name, r.id, r.conclusion] for r in runs if not r.ours and r.conclusion)
    said = sorted(
        [name, state] for name, state in statuses.items() if state is not CheckState.PENDING
    )
    return hashlib.sha256(json.dumps([done, said]).encode()).hexdigest()


def _state(run: CheckRun) -> CheckState:
    """How a check run of others counts."""
    if run.status is not Status.COMPLETED:
        return CheckState.PENDING
    return CheckState.SUCCESS if run.conclusion is Conclusion.SUCCESS else CheckState.FAILURE
