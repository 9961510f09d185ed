"""GitLab's operations on members of projects and groups, inherited ones too.

Source: https://docs.gitlab.com/api/project_members/, https://docs.gitlab.com/api/group_members/
"""

from __future__ import annotations

from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab import json as basic
from bot.sandbox.gitlab import levels, member_roles
from bot.sandbox.gitlab.errors import bad_parameter, bad_request, conflict, forbidden, missing
from bot.sandbox.gitlab.json import Json, stamp
from bot.sandbox.gitlab.routing import SEEN, SIGNED_IN, ApiRequest, at_least, page, route
from bot.sandbox.records.accounts import Organization, Role, User
from bot.sandbox.records.gitlab import AccessLevel, level_of

_GIVEN = (
    AccessLevel.GUEST,
    AccessLevel.REPORTER,
    AccessLevel.DEVELOPER,
    AccessLevel.MAINTAINER,
    AccessLevel.OWNER,
)
_PROJECT, _GROUP = "/projects/{id}/members", "/groups/{id}/members"


def _is_group(request: ApiRequest) -> bool:
    return request.template.startswith("/groups/")


def _roles(request: ApiRequest) -> dict[str, Role]:
    """What direct members may do, by login."""
    if _is_group(request):
        group = request.group
        named = {"admin": Role.ADMIN, "member": Role.READ}
        return {login: named[word] for login, word in group.members.items()} | group.roles
    roles = dict(request.project.members)
    owner = request.project.owner
    return roles if owner.kind == "Organization" else {owner.login: Role.ADMIN, **roles}


def _level(request: ApiRequest, user: User) -> AccessLevel:
    """What somebody may do, inherited or not."""
    if _is_group(request):
        return level_of(request.group.role(0, user))
    return level_of(request.state.member_role(request.project, user))


def _list(request: ApiRequest) -> ApiResponse:
    found = [(request.state.user(login), role) for login, role in _roles(request).items() if role]
    return page(request, _asked(request, found), lambda m: _shown(request, m[0], level_of(m[1])))


def _list_all(request: ApiRequest) -> ApiResponse:
    everybody = [u for u in request.state.data.users.values() if u.kind != "Organization"]
    found = [(u, level.role) for u in everybody if (level := _level(request, u))]
    return page(request, _asked(request, found), lambda m: _shown(request, m[0], level_of(m[1])))


def _asked(request: ApiRequest, found: list[tuple[User, Role]]) -> list[tuple[User, Role]]:
    query, ids = (request.input.text("query") or "").lower(), request.input.numbers("user_ids")
    return [
        (user, role)
        for user, role in found
        if query in f"{user.login}\n{user.name}".lower() and (ids is None or user.id in ids)
    ]


def _get(request: ApiRequest) -> ApiResponse:
    user = _person(request)
    role = _roles(request).get(user.login)
    if not role:
        raise missing()
    return ApiResponse(body=_shown(request, user, level_of(role)))


def _get_all(request: ApiRequest) -> ApiResponse:
    user = _person(request)
    level = _level(request, user)
    if not level:
        raise missing()
    return ApiResponse(body=_shown(request, user, level))


def _add(request: ApiRequest) -> ApiResponse:
    number, login = request.input.number("user_id"), request.input.text("username")
    if (number is None) == (login is None):
        raise bad_parameter("user_id, username are missing, exactly one parameter must be provided")
    user = request.person(number) if number is not None else _by_login(request, str(login))
    level = _given(request)
    if user.login in _roles(request):
        raise conflict("Member already exists")
    member_roles.give(request, _place(request), user, level)
    _keep(request, user, level)
    return ApiResponse(status=201, body=_shown(request, user, level))


def _edit(request: ApiRequest) -> ApiResponse:
    user, level = _person(request), _given(request)
    if user.login not in _roles(request):
        raise missing()
    member_roles.give(request, _place(request), user, level)
    _keep(request, user, level)
    return ApiResponse(body=_shown(request, user, level))


def _remove(request: ApiRequest) -> ApiResponse:
    user = _person(request)
    kept = request.group.roles if _is_group(request) else request.project.members
    if kept.pop(user.login, None) is None:
        raise missing()
    return ApiResponse(status=204)


_PEOPLE = SIGNED_IN
for _path, _need in (
    (_PROJECT, at_least(AccessLevel.MAINTAINER)),
    (_GROUP, at_least(AccessLevel.OWNER)),
):
    route("GET", f"{_path}/all", _PEOPLE)(_list_all)
    route("GET", f"{_path}/all/{{user_id}}", _PEOPLE)(_get_all)
    route("GET", _path, _PEOPLE)(_list)
    route("GET", f"{_path}/{{user_id}}", _PEOPLE)(_get)
    route("POST", _path, _need)(_add)
    route("PUT", f"{_path}/{{user_id}}", _need)(_edit)
    route("DELETE", f"{_path}/{{user_id}}", _need)(_remove)


# Groups.


@route("GET", "/groups", SEEN)
def list_groups(request: ApiRequest) -> ApiResponse:
    """Groups; `min_access_level` and `search` choose, `top_level_only` too."""
    least, search = request.input.number("min_access_level"), request.input.text("search")
    groups = sorted(request.state.data.organizations.values(), key=lambda g: g.account.login)
    if least is not None:
        viewer = request.caller.user
        groups = [g for g in groups if levels.group_level(request.state, g, viewer) >= least]
    if search:
        groups = [g for g in groups if search.lower() in g.account.login.lower()]
    if request.input.flag("top_level_only"):
        groups = [g for g in groups if g.parent is None]
    return page(request, groups, lambda g: basic.group(request.links, g))


@route("POST", "/groups", SIGNED_IN)
def create_group(request: ApiRequest) -> ApiResponse:
    """Make a group, or one below a group that the caller maintains; the caller owns it."""
    state, path = request.state, request.input.filled("path")
    parent = request.input.text("parent_id")
    name = request.input.filled("name")
    if parent:
        above = levels.group_at(state, parent)
        if levels.group_level(state, above, request.user) < AccessLevel.MAINTAINER:
            raise forbidden()
        path = f"{above.account.login}/{path}"
    if path.lower() in state.data.users:
        raise bad_request('Failed to save group {:path=>["has already been taken"]}')
    account = state.organizations.add(path, roles={request.user.login: Role.ADMIN})
    account.name = name
    group = state.organizations.find(path)
    return ApiResponse(status=201, body=basic.group(request.links, group))


@route("GET", "/groups/{id}", SEEN)
def get_group(request: ApiRequest) -> ApiResponse:
    """A group with its projects, unless `with_projects=false`."""
    made = basic.group(request.links, request.group)
    if request.input.flag("with_projects") is not False:
        made["projects"] = [
            basic.project(request.state, request.links, repo, request.caller.user)
            for repo in request.state.data.repositories.values()
            if repo.owner is request.group.account
            and levels.sees(request.state, repo, request.caller.user)
        ]
    return ApiResponse(body=made)


@route("GET", "/groups/{id}/subgroups", SEEN)
def list_subgroups(request: ApiRequest) -> ApiResponse:
    """Groups right below a group."""
    found = [g for g in request.state.data.organizations.values() if g.parent is request.group]
    return page(request, found, lambda g: basic.group(request.links, g))


@route("GET", "/groups/{id}/projects", SEEN)
def list_projects(request: ApiRequest) -> ApiResponse:
    """Projects of a group; `include_subgroups` and `with_shared` add to them."""
    state, group, given = request.state, request.group, request.input
    owners = {group.account.id}
    if given.flag("include_subgroups"):
        owners |= {g.account.id for g in state.data.organizations.values() if _below(g, group)}
    shared = given.flag("with_shared") is not False
    found = [
        repo
        for repo in state.data.repositories.values()
        if (repo.owner.id in owners or (shared and group.account.login.lower() in repo.shares))
        and levels.sees(state, repo, request.caller.user)
    ]
    return page(
        request, found, lambda r: basic.project(state, request.links, r, request.caller.user)
    )


@route("POST", "/projects/{id}/share", at_least(AccessLevel.MAINTAINER))
def share(request: ApiRequest) -> ApiResponse:
    """Share a project with a group: its members get their own level, up to `group_access`."""
    group = levels.group_at(request.state, request.input.filled("group_id"))
    level, path = request.input.needed_number("group_access"), group.account.login.lower()
    if level not in _GIVEN:
        raise bad_parameter("group_access does not have a valid value")
    if path in request.project.shares:
        raise conflict("Group has already been taken")
    request.project.shares[path] = AccessLevel(level).role
    return ApiResponse(
        status=201,
        body={
            "id": request.state.next_id(),
            "project_id": request.project.id,
            "group_id": group.account.id,
            "group_access": level,
            "expires_at": None,
        },
    )


@route("DELETE", "/projects/{id}/share/{group_id}", at_least(AccessLevel.MAINTAINER))
def unshare(request: ApiRequest) -> ApiResponse:
    """End the sharing with a group."""
    group = levels.group_at(request.state, request.params["group_id"])
    if request.project.shares.pop(group.account.login.lower(), None) is None:
        raise missing()
    return ApiResponse(status=204)


def _below(group: Organization, above: Organization) -> bool:
    parent = group.parent
    return parent is not None and (parent is above or _below(parent, above))


def _given(request: ApiRequest) -> AccessLevel:
    number = request.input.needed_number("access_level")
    if number not in _GIVEN:
        raise bad_parameter("access_level does not have a valid value")
    # Nobody gives more than they have.
    own = (
        levels.group_level(request.state, request.group, request.user)
        if _is_group(request)
        else request.level
    )
    if number > own:
        raise forbidden()
    return AccessLevel(number)


def _keep(request: ApiRequest, user: User, level: AccessLevel) -> None:
    kept = request.group.roles if _is_group(request) else request.project.members
    kept[user.login] = level.role


def _place(request: ApiRequest) -> int:
    return request.group.account.id if _is_group(request) else request.project.id


def _person(request: ApiRequest) -> User:
    return request.person(request.number("user_id"))


def _by_login(request: ApiRequest, login: str) -> User:
    found = request.state.data.users.get(login.lower())
    if found is None or found.kind == "Organization":
        raise missing("User")
    return found


def _shown(request: ApiRequest, user: User, level: AccessLevel) -> Json:
    return basic.user(request.links, user) | {
        "access_level": int(level),
        "created_at": stamp(user.created_at),
        "expires_at": None,
        "membership_state": "active",
        **member_roles.shown(request.state, _place(request), user),
    }
