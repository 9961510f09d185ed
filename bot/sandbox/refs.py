"""The rules for refs that are changed through the API: GitHub's refusals, then the change."""

from __future__ import annotations

from pathlib import PurePosixPath

from bot.sandbox import git as gitlib
from bot.sandbox import workflows
from bot.sandbox.accounts import Caller
from bot.sandbox.errors import RefusedError, invalid, plain
from bot.sandbox.model import ZERO, RefChange, Repository, User
from bot.sandbox.state import State


def create(state: State, repo: Repository, ref: str, sha: str, caller: Caller) -> None:
    """Make a ref as `POST /git/refs` does.

    Raises:
        RefusedError: 422 for a malformed name, an object that is not there, a ref that is.
    """
    if ref.count("/") < 2 or not ref.startswith("refs/"):
        raise plain("Reference name must start with 'refs/' and contain at least two slashes.")
    if ref in repo.refs:
        raise plain("Reference already exists")
    if state.git(repo).kind(sha) is None:
        raise plain("Object does not exist")
    if any(str(folder) in repo.refs for folder in PurePosixPath(ref).parents):
        raise plain("Reference already exists")  # a name cannot be a folder of names too
    if not _well_formed(ref):
        raise invalid("Reference", "ref")
    _check(state, repo, RefChange(ref=ref, before=ZERO, after=sha), caller)
    try:
        state.update_ref(repo, ref, sha, acting(caller))
    except RefusedError:
        if any(r.startswith(ref + "/") for r in repo.refs):
            raise plain("Reference already exists") from None
        raise


def move(
    state: State, repo: Repository, ref: str, sha: str, caller: Caller, *, force: bool
) -> None:
    """Move a ref as `PATCH /git/refs` does; 422 as there."""
    if ref not in repo.refs:
        raise plain("Reference does not exist")
    git = state.git(repo)
    if git.kind(sha) is None:
        raise plain("Object does not exist")
    if not force and not gitlib.contains(git, state.peel(repo, sha), repo.refs[ref]):
        raise plain("Update is not a fast forward")
    _check(state, repo, RefChange(ref=ref, before=repo.refs[ref], after=sha), caller)
    state.update_ref(repo, ref, sha, acting(caller))


def delete(state: State, repo: Repository, ref: str, caller: Caller) -> None:
    """Remove a ref as `DELETE /git/refs` does; 422 as there."""
    if ref not in repo.refs:
        raise plain("Reference does not exist")
    _check(state, repo, RefChange(ref=ref, before=repo.refs[ref], after=ZERO), caller)
    state.update_ref(repo, ref, ZERO, acting(caller))


def acting(caller: Caller) -> User:
    """The account that acts; 401 for nobody."""
    if caller.user is None:
        raise RefusedError(401, "Requires authentication")
    return caller.user


def _check(state: State, repo: Repository, change: RefChange, caller: Caller) -> None:
    workflows.check_ref(state, repo, change, caller)
    state.rules.check_api(repo, change, acting(caller))


def _well_formed(ref: str) -> bool:
    bad = (" ", "~", "^", ":", "?", "*", "[", "\\", "..", "@{", "//")
    ends = (".", "/", ".lock")
    parts = ref.split("/")
    return (
        not any(mark in ref for mark in bad)
        and not ref.endswith(ends)
        and not any(part.startswith(".") or part.endswith(".lock") or not part for part in parts)
        and ref.isprintable()
    )
