"""GitHub's operations on forks: make one, list them, bring one up to date."""

from __future__ import annotations

from bot.sandbox import refnames
from bot.sandbox.api import ApiResponse
from bot.sandbox.errors import RefusedError, not_found, plain
from bot.sandbox.git import history
from bot.sandbox.git.protocol import NewCommit
from bot.sandbox.github import json as basic
from bot.sandbox.github.routing import ApiRequest, page, route
from bot.sandbox.records.accounts import Role

_FORKS = "/repos/{owner}/{repo}/forks"


@route("GET", _FORKS)
def list_forks(request: ApiRequest) -> ApiResponse:
    """Forks of a repository that the caller may see."""
    state, user = request.state, request.caller.user
    found = [
        fork
        for fork in state.data.repositories.values()
        if fork.parent is request.repo and state.role(fork, user) >= Role.READ
    ]
    return page(request, [basic.repository(request.links, fork) for fork in found])


@route("POST", _FORKS)
def create_fork(request: ApiRequest) -> ApiResponse:
    """Copy a repository to the caller's account, or to an organization's; 202 as on GitHub."""
    state, repo = request.state, request.repo
    owner = state.user(request.text("organization") or request.user.login)
    name = request.text("name") or repo.name
    kept = [r for r in state.data.repositories.values() if r.parent is repo and r.owner is owner]
    if not kept and owner is repo.owner:
        raise RefusedError(403, "You can't fork your own repository.")
    if owner is not request.user and state.organizations.find(owner.login).members.get(
        request.user.login
    ) is None:  # fmt: skip
        raise not_found()
    taken = (r.full_name.lower() for r in state.data.repositories.values())
    if not kept and f"{owner.login}/{name}".lower() in taken:
        raise plain("Name already exists on this account")
    if not all(c.isalnum() or c in "-_." for c in name) or not name.isascii() or len(name) > 100:
        raise plain("Repository name is not valid")
    fork = kept[0] if kept else state.fork(repo, owner.login, name)
    return ApiResponse(status=202, body=basic.full_repository(request.links, fork, Role.ADMIN))


@route("POST", "/repos/{owner}/{repo}/merge-upstream")
def sync_fork(request: ApiRequest) -> ApiResponse:
    """Bring a branch of a fork up to its parent's branch of the same name."""
    state, repo, branch = request.state, request.repo, request.required("branch")
    parent = repo.parent
    tip = repo.branch(branch)
    theirs = parent.branch(branch) if parent is not None else None
    if parent is None or tip is None or theirs is None:
        raise RefusedError(404, "Branch not found")
    git = state.git(repo)
    git.fetch(state.git(parent), theirs)
    kind, after = "none", tip
    if not history.contains(git, tip, theirs):
        kind, after = "fast-forward", theirs
        if not history.contains(git, theirs, tip):
            tree = git.merge_tree(tip, theirs)
            if tree is None:
                raise RefusedError(409, "There are merge conflicts")
            new = NewCommit(
                tree=tree,
                parents=(tip, theirs),
                message=f"Merge branch '{parent.owner.login}:{branch}' into {branch}",
                author=state.person(request.user),
                committer=state.web_flow(),
            )
            kind, after = "merge", git.write_commit(new)
        state.update_ref(repo, refnames.branch_ref(branch), after, request.user)
    words = "This branch is not behind the upstream." if kind == "none" else "Successfully fetched."
    body = {
        "message": words,
        "merge_type": kind,
        "base_branch": f"{parent.owner.login}:{branch}",
    }
    return ApiResponse(body=body)
