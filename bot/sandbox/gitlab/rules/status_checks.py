"""External status checks: which hold for a merge request, and what they answered.

Source: https://docs.gitlab.com/api/status_checks/ (Ultimate)
"""

from __future__ import annotations

from bot.sandbox.gitlab import levels
from bot.sandbox.records.gitlab import ULTIMATE
from bot.sandbox.records.merge_requests import MergeRequest
from bot.sandbox.records.premium import StatusCheck
from bot.sandbox.rules.context import Context

ANSWERS = ("passed", "failed", "pending")


def of(state: Context, mr: MergeRequest) -> list[StatusCheck]:
    """The checks that hold for a merge request; none below Ultimate."""
    if not levels.has_tier(state, mr.repo, ULTIMATE):
        return []
    found = mr.repo.gitlab.status_checks.values()
    return [check for check in found if not check.branches or mr.base_ref in check.branches]


def answer(check: StatusCheck, mr: MergeRequest) -> str:
    """What a check says of the head; "pending" until it has answered for that."""
    head, said = check.answers.get(mr.number, ("", "pending"))
    return said if head == mr.head_sha else "pending"
