"""What the shared rules do in GitLab's way, once a forge speaks its dialect."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bot.sandbox.gitlab.rules import following
from bot.sandbox.records.refs import RefChange
from bot.sandbox.rules.context import Context

_MOST_TOLD = 3  # `push_event_hooks_limit`: refs that one push may change and still be told


def adopt(state: Context) -> None:
    """Let a forge's shared rules follow GitLab's conventions."""
    state.announced = _few
    state.branch_listeners[:] = [partial(following.branch_moved, state)]
    state.pull_ref = "refs/merge-requests/{}/head"


def _few(changes: Sequence[RefChange]) -> Sequence[RefChange]:
    """GitLab tells nothing of a push that changes more than three branches or tags."""
    return changes if len(changes) <= _MOST_TOLD else ()
