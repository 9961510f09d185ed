"""Emoji on merge requests, issues and notes.

Source: https://docs.gitlab.com/api/emoji_reactions/
"""

from __future__ import annotations

from bot.sandbox.gitlab import levels
from bot.sandbox.gitlab.errors import missing, unauthorized
from bot.sandbox.records.accounts import User
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.repository import Comment, Repository, Thread
from bot.sandbox.records.talk import Reaction
from bot.sandbox.rules.context import Context

ALIASES = {"+1": "thumbsup", "-1": "thumbsdown"}


def award(state: Context, on: Comment | Thread, user: User, name: str) -> Reaction:
    """React; 404 for the same emoji again, as GitLab answers."""
    name = ALIASES.get(name, name)
    if not name.replace("_", "").replace("-", "").isalnum():
        raise missing("Award Emoji Name is not a valid emoji name")
    if any(one.user is user and one.content == name for one in on.reactions):
        raise missing("Award Emoji Name has already been taken")
    made = Reaction(state.next_id(), user, name, state.now())
    on.reactions.append(made)
    state.emit("emoji", "award", _repo(on), user, reaction=made, on=on)
    return made


def find(on: Comment | Thread, number: int) -> Reaction:
    """An emoji by its number; 404 where there is none."""
    found = next((one for one in on.reactions if one.id == number), None)
    if found is None:
        raise missing("Award Emoji")
    return found


def revoke(state: Context, on: Comment | Thread, user: User, number: int) -> None:
    """Take an emoji back: one's own, or any as a Maintainer."""
    found = find(on, number)
    repo = _repo(on)
    if found.user is not user and levels.level(state, repo, user) < AccessLevel.OWNER:
        raise unauthorized()
    on.reactions.remove(found)
    state.emit("emoji", "revoke", repo, user, reaction=found, on=on)


def _repo(on: Comment | Thread) -> Repository:
    return on.thread.repo if isinstance(on, Comment) else on.repo
