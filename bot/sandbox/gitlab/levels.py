"""What members may do: access levels in projects and groups, and who sees what.

Source: https://docs.gitlab.com/user/permissions/
"""

from __future__ import annotations

from bot.sandbox.gitlab.errors import missing
from bot.sandbox.records.accounts import Organization, User
from bot.sandbox.records.gitlab import PREMIUM, TIERS, AccessLevel, level_of
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.context import Context


def level(state: Context, repo: Repository, user: User | None) -> AccessLevel:
    """What an account may do in a project; NO_ACCESS for who is no member, however public."""
    if user is None or user.id in state.data.gitlab.blocked:
        return AccessLevel.NO_ACCESS
    if user.id in state.data.gitlab.admins:
        return AccessLevel.OWNER
    return level_of(state.member_role(repo, user))


def sees(state: Context, repo: Repository, user: User | None) -> bool:
    """Whether an account may know of a project."""
    return not repo.private or level(state, repo, user) >= AccessLevel.GUEST


def reads_code(state: Context, repo: Repository, user: User | None) -> bool:
    """Whether an account may read files and merge requests: guests of private projects do not."""
    return not repo.private or level(state, repo, user) >= AccessLevel.REPORTER


def group_level(state: Context, group: Organization, user: User | None) -> AccessLevel:
    """What an account may do in a group."""
    if user is None or user.id in state.data.gitlab.blocked:
        return AccessLevel.NO_ACCESS
    if user.id in state.data.gitlab.admins:
        return AccessLevel.OWNER
    return level_of(group.role(0, user))  # no project has the number 0: no team speaks for it


def project_at(state: Context, name: str) -> Repository:
    """A project by its number or its path, in any case; 404 where there is none."""
    if name.isascii() and name.isdigit() and len(name) <= 18:
        found = state.data.repositories.get(int(name))
        if found is not None:
            return found
    for repo in state.data.repositories.values():
        if repo.full_name.lower() == name.lower():
            return repo
    raise missing("Project")


def group_at(state: Context, name: str) -> Organization:
    """A group by its number or its path, in any case; 404 where there is none."""
    if name.isascii() and name.isdigit():
        for group in state.data.organizations.values():
            if group.account.id == int(name):
                return group
    found = state.data.organizations.get(name.lower())
    if found is None:
        raise missing("Group")
    return found


def has_tier(state: Context, repo: Repository | None, wanted: str = PREMIUM) -> bool:
    """Whether a project (None: the instance) has the features of an edition."""
    tier = (repo.gitlab.tier if repo is not None else None) or state.data.gitlab.tier
    return TIERS.index(tier) >= TIERS.index(wanted)
