"""GitLab's operations on projects: finding, making, changing, forking and moving them.

Source: https://docs.gitlab.com/api/projects/, https://docs.gitlab.com/api/project_forks/
"""

from __future__ import annotations

import re

from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab import json as basic
from bot.sandbox.gitlab import levels
from bot.sandbox.gitlab.errors import bad_parameter, bad_request, conflict, forbidden, refused
from bot.sandbox.gitlab.routing import (
    SEEN,
    SIGNED_IN,
    ApiRequest,
    at_least,
    listed,
    page,
    route,
)
from bot.sandbox.records.accounts import User
from bot.sandbox.records.gitlab import AccessLevel, Allowance, ProtectedRef
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.context import FileChange

_PROJECT = "/projects/{id}"
_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_CHOICES = {
    "merge_method": ("merge", "rebase_merge", "ff"),
    "squash_option": ("never", "always", "default_on", "default_off"),
}
_ORDERS = ("id", "name", "path", "created_at", "updated_at", "last_activity_at", "star_count")


@route("GET", _PROJECT, SEEN)
def get_project(request: ApiRequest) -> ApiResponse:
    """A project."""
    return _answer(request, request.project)


@route("GET", "/projects", SEEN)
def list_projects(request: ApiRequest) -> ApiResponse:
    """Projects that the caller sees; newest first unless `order_by` and `sort` say otherwise."""
    return _list(request, list(request.state.data.repositories.values()))


@route("GET", "/users/{user_id}/projects", SEEN)
def list_of_user(request: ApiRequest) -> ApiResponse:
    """Projects in somebody's own namespace."""
    name = request.params["user_id"]
    found = [
        repo
        for repo in request.state.data.repositories.values()
        if name in (str(repo.owner.id), repo.owner.login)
    ]
    return _list(request, found)


@route("POST", "/projects", SIGNED_IN)
def create_project(request: ApiRequest) -> ApiResponse:
    """Make a project in the caller's namespace or a group's; its default branch is protected."""
    state, given = request.state, request.input
    name, path = given.text("name"), given.text("path")
    if not name and not path:
        raise bad_parameter("name, path are missing, at least one parameter must be provided")
    path = path or re.sub(r"[^A-Za-z0-9_.-]+", "-", str(name)).strip("-").lower()
    owner = _namespace(request, given.text("namespace_id"))
    _free(request, owner, path)
    private = given.choice("visibility", ("private", "internal", "public")) != "public"
    repo = state.add_repository(owner.login, path, private=private)
    repo.description = given.text("description")
    branch = given.text("default_branch") or "main"
    repo.default_branch = branch
    if given.flag("initialize_with_readme"):
        first = FileChange(path="README.md", content=f"# {name or path}\n".encode())
        state.commit_files(repo, branch, [first], "Initial commit", actor=request.user)
    if owner.kind == "Organization":
        repo.members[request.user.login] = AccessLevel.OWNER.role
    _protect_default(request, repo)
    _set(request, repo)
    state.emit("repository", "created", repo, request.user)
    return _answer(request, repo, 201)


@route("PUT", _PROJECT, at_least(AccessLevel.MAINTAINER))
def update_project(request: ApiRequest) -> ApiResponse:
    """Change settings; name and path, and who sees it, take an Owner."""
    state, repo, given = request.state, request.project, request.input
    path, visibility = given.text("path"), given.text("visibility")
    branch, issues = given.text("default_branch"), given.flag("issues_enabled")
    if path is not None or visibility is not None:
        request.need(AccessLevel.OWNER)
    if branch is not None and repo.branch(branch) is None:
        raise bad_request(f"Could not change HEAD: branch '{branch}' does not exist")
    _set(request, repo)
    if path is not None and path != repo.name:
        _free(request, repo.owner, path)
        state.admin.rename(repo, path, request.user)
    if visibility is not None and (visibility != "public") != repo.private:
        state.admin.set_private(repo, visibility != "public", request.user)
    state.admin.edit(
        repo,
        description=given.text("description"),
        default_branch=branch,
        has_issues=issues,
        actor=request.user,
    )
    return _answer(request, repo)


@route("DELETE", _PROJECT, at_least(AccessLevel.OWNER))
def delete_project(request: ApiRequest) -> ApiResponse:
    """Take a project away."""
    request.state.delete_repository(request.project)
    return ApiResponse(status=202, body={"message": "202 Accepted"})


@route("POST", f"{_PROJECT}/archive", at_least(AccessLevel.OWNER))
def archive(request: ApiRequest) -> ApiResponse:
    """Make a project read-only."""
    request.state.admin.archive(request.project, actor=request.user)
    return _answer(request, request.project, 201)


@route("POST", f"{_PROJECT}/unarchive", at_least(AccessLevel.OWNER))
def unarchive(request: ApiRequest) -> ApiResponse:
    """Let a project be written again."""
    request.state.admin.archive(request.project, False, actor=request.user)
    return _answer(request, request.project, 201)


@route("PUT", f"{_PROJECT}/transfer", at_least(AccessLevel.OWNER))
def transfer(request: ApiRequest) -> ApiResponse:
    """Give a project to another namespace; the old path leads to it."""
    owner = _namespace(request, request.input.filled("namespace"))
    _free(request, owner, request.project.name)
    request.state.admin.transfer(request.project, owner.login, request.user)
    return _answer(request, request.project)


@route("GET", f"{_PROJECT}/forks", SEEN)
def list_forks(request: ApiRequest) -> ApiResponse:
    """Forks of a project that the caller sees."""
    kept = request.state.data.repositories.values()
    return _list(request, [repo for repo in kept if repo.parent is request.project])


@route("POST", f"{_PROJECT}/fork", SIGNED_IN)
def fork(request: ApiRequest) -> ApiResponse:
    """Copy a project to the caller's namespace, or to a group's."""
    state, repo, given = request.state, request.project, request.input
    if not levels.reads_code(state, repo, request.user):
        raise forbidden()
    wish = given.text("namespace_id") or given.text("namespace_path") or given.text("namespace")
    owner, name = _namespace(request, wish), given.text("path") or repo.name
    taken = f"{owner.login}/{name}".lower()
    if any(r.full_name.lower() == taken for r in state.data.repositories.values()):
        raise conflict("Project namespace name has already been taken, Name has already been taken")
    made = state.fork(repo, owner.login, name)
    _protect_default(request, made)
    return _answer(request, made, 201)


def _answer(request: ApiRequest, repo: Repository, status: int = 200) -> ApiResponse:
    made = basic.project(request.state, request.links, repo, request.caller.user)
    return ApiResponse(status=status, body=made)


def _list(request: ApiRequest, repos: list[Repository]) -> ApiResponse:
    """What a list of projects is asked for: whose, which, in what order, how much of each."""
    state, given, viewer = request.state, request.input, request.caller.user
    found = [repo for repo in repos if levels.sees(state, repo, viewer)]
    least = given.number("min_access_level")
    if given.flag("membership") or least is not None:
        found = [r for r in found if levels.level(state, r, viewer) >= max(least or 0, 1)]
    if given.flag("owned"):
        found = [r for r in found if levels.level(state, r, viewer) >= AccessLevel.OWNER]
    archived, search = given.flag("archived"), (given.text("search") or "").lower()
    if archived is not None:
        found = [r for r in found if r.archived == archived]
    found = [r for r in found if search in r.name.lower()]
    after, before = given.when("last_activity_after"), given.when("last_activity_before")
    found = [r for r in found if after is None or r.updated_at > after]
    found = [r for r in found if before is None or r.updated_at < before]
    above, below = given.number("id_after"), given.number("id_before")
    found = [r for r in found if (above is None or r.id > above) and (not below or r.id < below)]
    order = given.choice("order_by", _ORDERS) or "created_at"
    falling = given.choice("sort", ("asc", "desc")) != "asc"
    keys = {
        "name": lambda r: (r.name.lower(), r.id),
        "path": lambda r: (r.name.lower(), r.id),
        "created_at": lambda r: (r.created_at, r.id),
        "updated_at": lambda r: (r.updated_at, r.id),
        "last_activity_at": lambda r: (r.updated_at, r.id),
    }
    found.sort(key=keys.get(order, lambda r: r.id), reverse=falling)
    simple = given.flag("simple") or viewer is None

    def shown(repo: Repository) -> object:
        if simple:
            return basic.simple_project(state, request.links, repo)
        return basic.project(state, request.links, repo, viewer)

    if order == "id":
        return listed(request, found, lambda r: str(r.id), shown)
    return page(request, found, shown)


def _set(request: ApiRequest, repo: Repository) -> None:
    """Take over the settings that the request names, those of the edition only."""
    for name, first in basic.known_settings(request.state, repo).items():
        if name not in request.input:
            continue
        if isinstance(first, bool):
            value: object = request.input.flag(name)
        elif name in _CHOICES:
            value = request.input.choice(name, _CHOICES[name])
        else:
            value = request.input.text(name)
        if value is not None or first is None:
            repo.gitlab.settings[name] = value
    issues = request.input.text("issues_access_level")
    repo.has_issues = repo.has_issues if issues is None else issues != "disabled"
    topics = request.input.texts("topics")
    repo.topics = repo.topics if topics is None else list(topics)
    repo.updated_at = request.state.now()


def _namespace(request: ApiRequest, name: str | None) -> User:
    """The account that a project shall be in: the caller's own, or a group they maintain."""
    if not name or name in (str(request.user.id), request.user.login):
        return request.user
    group = levels.group_at(request.state, name)
    if levels.group_level(request.state, group, request.user) < AccessLevel.DEVELOPER:
        raise refused(400, {"namespace": ["is not valid"]})
    return group.account


def _free(request: ApiRequest, owner: User, path: str) -> None:
    if not _PATH.fullmatch(path) or path.endswith((".git", ".atom", ".")):
        text = (
            "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-',"
            " end in '.git' or end in '.atom'"
        )
        raise refused(400, {"path": [text]})
    wanted = f"{owner.login}/{path}".lower()
    if any(r.full_name.lower() == wanted for r in request.state.data.repositories.values()):
        taken = ["has already been taken"]
        raise refused(400, {"project_namespace.name": taken, "name": taken, "path": taken})


def _protect_default(request: ApiRequest, repo: Repository) -> None:
    """Protect the default branch for Maintainers, as GitLab does in new projects."""
    number = request.state.next_id
    maintainers = tuple(Allowance(id=number(), level=AccessLevel.MAINTAINER) for _ in range(2))
    repo.gitlab.protected_branches[repo.default_branch] = ProtectedRef(
        id=number(), name=repo.default_branch, push=maintainers[:1], merge=maintainers[1:]
    )
