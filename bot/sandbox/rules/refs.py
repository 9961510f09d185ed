"""The rules for refs that are changed through the API: GitHub's refusals, then the change."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from bot.sandbox.errors import RefusedError, invalid, plain
from bot.sandbox.git import history
from bot.sandbox.records.accounts import User
from bot.sandbox.records.refs import ZERO, RefChange
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules import workflows
from bot.sandbox.rules.accounts import Caller
from bot.sandbox.rules.state import ForgeState

_KIND = re.compile(r"^refs/(?:heads|tags)/")
_OBJECT_ID = re.compile(r"[0-9a-fA-F]{40}")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_MALFORMED = re.compile(r"[\0-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|[./]\Z")


def create(state: ForgeState, repo: Repository, ref: str, sha: str, caller: Caller) -> None:
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
    if not well_formed(ref) or refused_name(ref):
        raise invalid("Reference", "ref")
    _check(state, repo, RefChange(ref=ref, before=ZERO, after=sha), caller)
    try:
        state.update_ref(repo, ref, sha, acting(caller))
    except RefusedError:
        if repo.refs.below(ref + "/"):
            raise plain("Reference already exists") from None
        raise


def move(
    state: ForgeState, repo: Repository, ref: str, sha: str, caller: Caller, *, force: bool
) -> None:
    """Move a ref as `PATCH /git/refs` does; 422 as there."""
    if ref not in repo.refs:
        raise plain("Reference does not exist")
    git = state.git(repo)
    if git.kind(sha) is None:
        raise plain("Object does not exist")
    if not force and not history.contains(git, state.peel(repo, sha), repo.refs[ref]):
        raise plain("Update is not a fast forward")
    _check(state, repo, RefChange(ref=ref, before=repo.refs[ref], after=sha), caller)
    state.update_ref(repo, ref, sha, acting(caller))


def delete(state: ForgeState, repo: Repository, ref: str, caller: Caller) -> None:
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


def _check(state: ForgeState, repo: Repository, change: RefChange, caller: Caller) -> None:
    workflows.check_ref(state, repo, change, caller)
    state.rules.check_api(repo, change, acting(caller))


def refused_name(ref: str) -> str:
    """Why the forge takes no new branch or tag of a name that git would; "" where it does.

    Source: https://docs.github.com/get-started/using-git/dealing-with-special-characters-in-branch-and-tag-names
    """
    name = _KIND.sub("", ref)
    if _OBJECT_ID.fullmatch(name):
        return "branch or tag names consisting of 40 hex characters are not allowed."
    if name.startswith("refs/"):
        return "branch or tag names starting with 'refs/' are not allowed."
    if _SURROGATE.search(name):  # how bytes that are not UTF-8 come here; JSON could not hold them
        return "branch or tag names that are not UTF-8 are not allowed."
    return ""


def well_formed(ref: str) -> bool:
    """Whether a ref obeys `git check-ref-format`."""
    parts = ref.split("/")
    return not _MALFORMED.search(ref) and not any(
        part.startswith(".") or part.endswith(".lock") or not part for part in parts
    )
