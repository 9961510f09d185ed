"""The rules for refs that are changed through the API: GitHub's refusals, then the change."""

from __future__ import annotations

from bot.sandbox import git as gitlib
from bot.sandbox.errors import invalid, plain
from bot.sandbox.model import ZERO, Repository, User
from bot.sandbox.state import State


def create(state: State, repo: Repository, ref: str, sha: str, actor: User) -> None:
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
    if any(r.startswith(ref + "/") or ref.startswith(r + "/") for r in repo.refs):
        raise plain("Reference already exists")  # a name cannot be a folder of names too
    if not _well_formed(ref):
        raise invalid("Reference", "ref")
    state.update_ref(repo, ref, sha, actor)


def move(state: State, repo: Repository, ref: str, sha: str, actor: User, *, force: bool) -> None:
    """Move a ref as `PATCH /git/refs` does; 422 as there."""
    if ref not in repo.refs:
        raise plain("Reference does not exist")
    git = state.git(repo)
    if git.kind(sha) is None:
        raise plain("Object does not exist")
    if not force and not gitlib.contains(git, state.peel(repo, sha), repo.refs[ref]):
        raise plain("Update is not a fast forward")
    _guard(state, repo, ref)
    state.update_ref(repo, ref, sha, actor)


def delete(state: State, repo: Repository, ref: str, actor: User) -> None:
    """Remove a ref as `DELETE /git/refs` does; 422 as there."""
    if ref not in repo.refs:
        raise plain("Reference does not exist")
    _guard(state, repo, ref)
    state.update_ref(repo, ref, ZERO, actor)


def _guard(state: State, repo: Repository, ref: str) -> None:
    branch = ref.removeprefix("refs/heads/")
    if ref.startswith("refs/heads/") and not state.may_push(repo, branch):
        raise plain("Cannot update this protected ref.")


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
