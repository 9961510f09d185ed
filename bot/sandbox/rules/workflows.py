"""Workflow files: an App needs the permission `workflows` to change them, as on GitHub.

A new ref is compared with the default branch's tip, as GitHub does: a branch or tag on an older
commit is refused too where workflows changed since.
"""

from __future__ import annotations

from bot.sandbox.errors import GitError, RefusedError
from bot.sandbox.records.refs import RefChange
from bot.sandbox.records.repository import Pull, Repository
from bot.sandbox.rules.accounts import Caller
from bot.sandbox.rules.permissions import granted
from bot.sandbox.rules.state import ForgeState

FOLDER = ".github/workflows/"


def free(caller: Caller) -> bool:
    """Whether a caller may change workflows: people may, Apps with the permission."""
    return caller.token is None or granted(caller.token.permissions, "workflows=write")


def refusal(path: str) -> str:
    """GitHub's words for a workflow that an App may not change."""
    return (
        f"refusing to allow a GitHub App to create or update workflow `{path}` without"
        " `workflows` permission"
    )


def start_of(repo: Repository, change: RefChange) -> str | None:
    """What a changed ref is compared with: its old tip, or the default branch's for a new one."""
    return repo.branch(repo.default_branch) if change.creates else change.before


def check_file(caller: Caller, path: str) -> None:
    """Refuse the change of one file; 403."""
    if path.startswith(FOLDER) and not free(caller):
        raise RefusedError(403, refusal(path))


def check_ref(state: ForgeState, repo: Repository, change: RefChange, caller: Caller) -> None:
    """Refuse a change of a ref by the API that brings other workflows; 403."""
    if free(caller) or change.deletes:
        return
    old, git = start_of(repo, change), state.git(repo)
    try:
        before = None if old is None else state.peel(repo, old)
        files = git.diff(before, state.peel(repo, change.after))
    except GitError:
        return  # a ref on something else than a commit holds no workflows
    if any(file.path.startswith(FOLDER) for file in files):
        raise RefusedError(403, "Resource not accessible by integration")


def check_merge(state: ForgeState, pull: Pull, caller: Caller) -> None:
    """Refuse a merge that changes workflows; 403."""
    if free(caller):
        return
    for file in state.pulls.files(pull):
        check_file(caller, file.path)
