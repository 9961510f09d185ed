"""Protected branches and tags: what they refuse, to pushes and to the API alike.

A deploy key lets in whoever added it, however they come: GitLab asks an account, not a key
(`ProtectedRefDeployKeyAccess#check_access`), when it judges pushes, merges and `can_push` alike.

Source: https://docs.gitlab.com/user/project/repository/branches/protected/,
https://docs.gitlab.com/user/project/protected_tags/; the texts are `Gitlab::Checks`'.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from bot.sandbox import refnames
from bot.sandbox.gitlab import levels
from bot.sandbox.records.accounts import User
from bot.sandbox.records.gitlab import AccessLevel, Allowance, ProtectedRef
from bot.sandbox.records.refs import RefChange
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.context import Context

_OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def matching(protected: Iterable[ProtectedRef], name: str) -> list[ProtectedRef]:
    """The rules that hold for a branch or tag; `*` in a rule's name stands for any text."""
    return [
        rule
        for rule in protected
        if re.fullmatch(re.escape(rule.name).replace(r"\*", ".*"), name, re.DOTALL)
    ]


def branch_rules(repo: Repository, branch: str) -> list[ProtectedRef]:
    """The rules that hold for a branch."""
    return matching(repo.gitlab.protected_branches.values(), branch)


def tag_rules(repo: Repository, tag: str) -> list[ProtectedRef]:
    """The rules that hold for a tag."""
    return matching(repo.gitlab.protected_tags.values(), tag)


def may_push(state: Context, repo: Repository, branch: str, user: User | None) -> bool:
    """Whether an account may push to a branch, protected or not."""
    level = levels.level(state, repo, user)
    rules = branch_rules(repo, branch)
    if not rules or not repo.refs:
        return level >= AccessLevel.DEVELOPER
    return any(_allowed(state, repo, rule.push, user) for rule in rules)


def may_merge(state: Context, repo: Repository, branch: str, user: User | None) -> bool:
    """Whether an account may merge into a branch: by either allowance."""
    rules = branch_rules(repo, branch)
    if not rules:
        return levels.level(state, repo, user) >= AccessLevel.DEVELOPER
    return any(
        _allowed(state, repo, rule.merge, user) or _allowed(state, repo, rule.push, user)
        for rule in rules
    )


def may_create_tag(state: Context, repo: Repository, tag: str, user: User | None) -> bool:
    """Whether an account may make a tag of a name, protected or not."""
    rules = tag_rules(repo, tag)
    if not rules:
        return levels.level(state, repo, user) >= AccessLevel.DEVELOPER
    return any(_allowed(state, repo, rule.push, user) for rule in rules)


def refusal(
    state: Context,
    repo: Repository,
    change: RefChange,
    user: User | None,
    forced: Callable[[], bool],
    *,
    web: bool,
) -> str:
    """Why a change of a ref is refused; "" where it is not.

    Args:
        state: The forge; the caller holds its lock.
        repo: Where.
        change: What shall change.
        user: Who changes it.
        forced: Whether the old tip is left behind; asked only where it matters.
        web: Whether it comes by the API or a page, which may delete what git may not.
    """
    if levels.level(state, repo, user) < AccessLevel.DEVELOPER:
        return "You are not allowed to push code to this project."
    if refnames.is_branch(change.ref):
        return _branch_refusal(state, repo, change, user, forced, web=web)
    if refnames.is_tag(change.ref):
        return _tag_refusal(state, repo, change, user, web=web)
    return "" if web else "deny updating a hidden ref"


def _branch_refusal(
    state: Context,
    repo: Repository,
    change: RefChange,
    user: User | None,
    forced: Callable[[], bool],
    *,
    web: bool,
) -> str:
    name = refnames.branch_name(change.ref)
    rules = branch_rules(repo, name)
    if change.deletes and name == repo.default_branch:
        return "The default branch of a project cannot be deleted."
    if change.creates and _OBJECT_ID.fullmatch(name):
        return "You cannot create a branch with a SHA-1 or SHA-256 branch name."
    if not rules:
        return ""
    if change.deletes and levels.level(state, repo, user) < AccessLevel.MAINTAINER:
        return (
            "You are not allowed to delete protected branches from this project."
            " Only a project maintainer or owner can delete a protected branch."
        )
    if change.deletes:
        return "" if web else "You can only delete protected branches using the web interface."
    may = may_push(state, repo, name, user)
    if change.creates and not may:
        return "You are not allowed to create protected branches on this project."
    if not change.creates and forced() and not (all(r.allow_force_push for r in rules) and may):
        return "You are not allowed to force push code to a protected branch on this project."
    return "" if may else "You are not allowed to push code to protected branches on this project."


def _tag_refusal(
    state: Context, repo: Repository, change: RefChange, user: User | None, *, web: bool
) -> str:
    rules = tag_rules(repo, refnames.tag_name(change.ref))
    maintains = levels.level(state, repo, user) >= AccessLevel.MAINTAINER
    if not change.creates and not maintains and not rules:
        # Whoever may push may also take a tag away that nothing protects, but not move it.
        moved = "You are not allowed to change existing tags on this project."
        return "" if change.deletes else moved
    if not rules:
        return ""
    if change.deletes and not maintains:
        return (
            "You are not allowed to delete protected tags from this project."
            " Only a project maintainer or owner can delete a protected tag."
        )
    if change.deletes:
        return "" if web else "You can only delete protected tags using the web interface."
    if not change.creates:
        return "Protected tags cannot be updated."
    if may_create_tag(state, repo, refnames.tag_name(change.ref), user):
        return ""
    return "You are not allowed to create this tag as it is protected."


def _allowed(
    state: Context, repo: Repository, allowances: Iterable[Allowance], user: User | None
) -> bool:
    return user is not None and any(_fits(state, repo, a, user) for a in allowances)


def _fits(state: Context, repo: Repository, allowance: Allowance, user: User) -> bool:
    level = levels.level(state, repo, user)
    if allowance.user_id is not None:
        return allowance.user_id == user.id and level >= AccessLevel.DEVELOPER
    if allowance.group_id is not None:
        group = levels.group_at(state, str(allowance.group_id))
        return levels.group_level(state, group, user) >= AccessLevel.DEVELOPER
    if allowance.deploy_key_id is not None:
        key = state.data.gitlab.deploy_keys[allowance.deploy_key_id]
        pushes = repo.gitlab.deploy_keys.get(key.id, False)
        return pushes and key.user_id == user.id and level >= AccessLevel.DEVELOPER
    if allowance.level is None or allowance.level is AccessLevel.NO_ACCESS:
        return False
    return level >= allowance.level
