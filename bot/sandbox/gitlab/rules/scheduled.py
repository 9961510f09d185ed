"""Merges that are to be made later, by themselves or by a merge train, and are given up.

Source: https://docs.gitlab.com/user/project/merge_requests/auto_merge/
"""

from __future__ import annotations

from bot.sandbox.gitlab.rules import threads
from bot.sandbox.records.accounts import User
from bot.sandbox.records.merge_requests import MergeRequest
from bot.sandbox.rules.context import Context


def give_up(state: Context, mr: MergeRequest, user: User, why: str) -> None:
    """Give up what is to be merged later, if it is; cars behind it are tested anew when needed."""
    if mr.auto_merge is not None:
        mr.auto_merge = None
        threads.system(state, mr, user, f"aborted the automatic merge because {why}", "merge")
    if mr.car is not None:
        mr.car = None
        words = f"removed this merge request from the merge train because {why}"
        threads.system(state, mr, user, words, "merge")


def done(mr: MergeRequest) -> None:
    """It is merged: nothing is left to be made."""
    mr.auto_merge, mr.car = None, None
