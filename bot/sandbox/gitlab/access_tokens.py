"""GitLab's operations on tokens, of people, projects and groups, and on service accounts.

Source: https://docs.gitlab.com/api/personal_access_tokens/,
https://docs.gitlab.com/api/project_access_tokens/, https://docs.gitlab.com/api/group_access_tokens/,
https://docs.gitlab.com/api/service_accounts/
"""

from __future__ import annotations

import secrets

from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab import json as basic
from bot.sandbox.gitlab import levels
from bot.sandbox.gitlab.errors import bad_parameter, bad_request, forbidden, missing, unauthorized
from bot.sandbox.gitlab.json import Json, stamp, stamp_or_none
from bot.sandbox.gitlab.routing import (
    ADMIN,
    SIGNED_IN,
    AccessRequirement,
    ApiRequest,
    at_least,
    page,
    route,
)
from bot.sandbox.gitlab.tokens import LONGEST_LIFE
from bot.sandbox.records.accounts import User
from bot.sandbox.records.gitlab import AccessLevel, AccessToken

_SELF = "/personal_access_tokens/self"
_ROTATING = AccessRequirement(signed_in=True, scopes=("api", "self_rotate"))
_KNOWING = AccessRequirement(
    signed_in=True,
    scopes=("api", "read_api", "read_user", "read_repository", "write_repository", "self_rotate"),
)
_MAINTAINER, _OWNER = at_least(AccessLevel.MAINTAINER), at_least(AccessLevel.OWNER)
_OF_ACCOUNT = "/groups/{id}/service_accounts/{user_id}/personal_access_tokens"
_MOST_ACCOUNTS = 100  # service accounts of a Free instance


# One's own token.


@route("GET", _SELF, _KNOWING)
def get_self(request: ApiRequest) -> ApiResponse:
    """The token that the request is made with."""
    return ApiResponse(body=_shown(request, _own(request)))


@route("POST", f"{_SELF}/rotate", _ROTATING)
def rotate_self(request: ApiRequest) -> ApiResponse:
    """Revoke the token that the request is made with, and answer a new one."""
    return _rotated(request, _own(request))


@route("DELETE", _SELF, _KNOWING)
def revoke_self(request: ApiRequest) -> ApiResponse:
    """Revoke the token that the request is made with."""
    _own(request).revoked = True
    return ApiResponse(status=204)


@route("GET", "/personal_access_tokens", SIGNED_IN)
def list_personal(request: ApiRequest) -> ApiResponse:
    """Tokens of the caller, or all of them for an administrator."""
    everybody = request.user.id in request.state.data.gitlab.admins
    wanted = request.input.number("user_id")
    found = [
        token
        for token in request.state.data.gitlab.tokens.values()
        if (everybody or token.user is request.user) and wanted in (None, token.user.id)
    ]
    return page(request, found, lambda token: _shown(request, token))


@route("GET", "/personal_access_tokens/{token_id}", SIGNED_IN)
def get_personal(request: ApiRequest) -> ApiResponse:
    """A token of the caller."""
    return ApiResponse(body=_shown(request, _personal(request)))


@route("POST", "/personal_access_tokens/{token_id}/rotate", SIGNED_IN)
def rotate_personal(request: ApiRequest) -> ApiResponse:
    """Revoke a token of the caller, and answer a new one."""
    return _rotated(request, _personal(request))


@route("DELETE", "/personal_access_tokens/{token_id}", SIGNED_IN)
def revoke_personal(request: ApiRequest) -> ApiResponse:
    """Revoke a token of the caller."""
    _personal(request).revoked = True
    return ApiResponse(status=204)


# Tokens of projects and groups: each acts as a bot of its own.


def _list(request: ApiRequest) -> ApiResponse:
    kind, owner = _place(request)
    tokens = request.state.data.gitlab.tokens.values()
    found = [t for t in tokens if (t.kind, t.owner_id) == (kind, owner) and not t.revoked]
    return page(request, found, lambda token: _shown(request, token))


def _get(request: ApiRequest) -> ApiResponse:
    return ApiResponse(body=_shown(request, _found(request)))


def _create(request: ApiRequest) -> ApiResponse:
    kind, owner = _place(request)
    given, state = request.input, request.state
    name, scopes = given.filled("name"), given.texts("scopes")
    if scopes is None:
        raise bad_parameter("scopes is missing")
    level = given.number("access_level") or int(AccessLevel.MAINTAINER)
    if level not in (10, 20, 30, 40, 50):
        raise bad_parameter("access_level does not have a valid value")
    own = _level(request)
    if level > own:
        raise bad_request("400 Bad request - Access level is higher than your own")
    until = given.day("expires_at") or state.now().date() + LONGEST_LIFE
    request.tokens.check_day(until)
    bot = state.add_user(f"{kind}_{owner}_bot_{secrets.token_hex(16)}", name)
    bot.kind = "Bot"
    if kind == "project":
        request.project.members[bot.login] = AccessLevel(level).role
    else:
        request.group.roles[bot.login] = AccessLevel(level).role
    made = request.tokens.make(
        bot,
        name,
        scopes,
        kind=kind,
        expires_at=until,
        owner_id=owner,
        description=given.text("description") or "",
    )
    return ApiResponse(status=201, body=_shown(request, made, secret=True))


def _rotate(request: ApiRequest) -> ApiResponse:
    return _rotated(request, _found(request))


def _revoke(request: ApiRequest) -> ApiResponse:
    _found(request).revoked = True
    return ApiResponse(status=204)


for _path, _need in (
    ("/projects/{id}/access_tokens", _MAINTAINER),
    ("/groups/{id}/access_tokens", _OWNER),
):
    route("POST", f"{_path}/self/rotate", _ROTATING)(rotate_self)
    route("GET", _path, _need)(_list)
    route("POST", _path, _need)(_create)
    route("GET", f"{_path}/{{token_id}}", _need)(_get)
    route("POST", f"{_path}/{{token_id}}/rotate", _need)(_rotate)
    route("DELETE", f"{_path}/{{token_id}}", _need)(_revoke)


# Service accounts.


@route("POST", "/service_accounts", ADMIN)
def create_account(request: ApiRequest) -> ApiResponse:
    """Make a service account of the instance."""
    return _account(request, None)


@route("GET", "/service_accounts", ADMIN)
def list_accounts(request: ApiRequest) -> ApiResponse:
    """Service accounts of the instance."""
    return _accounts(request, None)


@route("POST", "/groups/{id}/service_accounts", _OWNER)
def create_group_account(request: ApiRequest) -> ApiResponse:
    """Make a service account of a top-level group."""
    if request.group.parent is not None:
        raise bad_request("Group is not a top-level group")
    return _account(request, request.group.account.id)


@route("GET", "/groups/{id}/service_accounts", _OWNER)
def list_group_accounts(request: ApiRequest) -> ApiResponse:
    """Service accounts of a group."""
    return _accounts(request, request.group.account.id)


@route("POST", _OF_ACCOUNT, _OWNER)
def create_account_token(request: ApiRequest) -> ApiResponse:
    """Make a token of a group's service account."""
    return _personal_of(request, _account_of(request))


@route("GET", _OF_ACCOUNT, _OWNER)
def list_account_tokens(request: ApiRequest) -> ApiResponse:
    """Tokens of a group's service account."""
    user = _account_of(request)
    tokens = request.state.data.gitlab.tokens.values()
    return page(request, [t for t in tokens if t.user is user], lambda t: _shown(request, t))


@route("DELETE", f"{_OF_ACCOUNT}/{{token_id}}", _OWNER)
def revoke_account_token(request: ApiRequest) -> ApiResponse:
    """Revoke a token of a group's service account."""
    user = _account_of(request)
    token = request.tokens.find(request.number("token_id"))
    if token is None or token.user is not user:
        raise missing("Personal Access Token")
    token.revoked = True
    return ApiResponse(status=204)


def _account_of(request: ApiRequest) -> User:
    user = request.person(request.number("user_id"))
    if request.state.data.gitlab.service_accounts.get(user.id) != request.group.account.id:
        raise missing("Service Account")
    return user


@route("POST", "/users/{user_id}/personal_access_tokens", ADMIN)
def create_token_of(request: ApiRequest) -> ApiResponse:
    """Make a token of anybody, a service account too."""
    return _personal_of(request, request.person(request.number("user_id")))


def _personal_of(request: ApiRequest, user: User) -> ApiResponse:
    made = request.tokens.make(
        user,
        request.input.filled("name"),
        request.input.texts("scopes") or [],
        expires_at=request.input.day("expires_at"),
        description=request.input.text("description") or "",
    )
    return ApiResponse(status=201, body=_shown(request, made, secret=True))


def _account(request: ApiRequest, group: int | None) -> ApiResponse:
    state, kept = request.state, request.state.data.gitlab.service_accounts
    if not levels.has_tier(state, None) and len(kept) >= _MOST_ACCOUNTS:
        raise forbidden("No more service accounts can be created")
    prefix = "service_account" if group is None else f"service_account_group_{group}"
    login = request.input.text("username") or f"{prefix}_{secrets.token_hex(16)}"
    if login.lower() in state.data.users:
        raise bad_request("Username has already been taken")
    user = state.add_user(login, request.input.text("name") or "Service account user")
    user.kind = "Bot"
    kept[user.id] = group
    return ApiResponse(status=201, body=_who(request, user))


def _accounts(request: ApiRequest, group: int | None) -> ApiResponse:
    kept = request.state.data.gitlab.service_accounts
    found = [number for number, of in kept.items() if of == group]
    return page(request, found, lambda number: _who(request, request.person(number)))


def _who(request: ApiRequest, user: User) -> Json:
    shown = basic.user(request.links, user)
    return {k: shown[k] for k in ("id", "username", "name")} | {"email": user.email}


def _own(request: ApiRequest) -> AccessToken:
    if request.caller.token is None:
        raise unauthorized()
    return request.caller.token


def _personal(request: ApiRequest) -> AccessToken:
    found = request.tokens.find(request.number("token_id"))
    admin = request.user.id in request.state.data.gitlab.admins
    if found is None or not (admin or found.user is request.user):
        raise missing()
    return found


def _place(request: ApiRequest) -> tuple[str, int]:
    if request.template.startswith("/projects/"):
        return "project", request.project.id
    return "group", request.group.account.id


def _level(request: ApiRequest) -> AccessLevel:
    if request.template.startswith("/projects/"):
        return request.level
    return levels.group_level(request.state, request.group, request.user)


def _found(request: ApiRequest) -> AccessToken:
    found = request.tokens.find(request.number("token_id"))
    if found is None or (found.kind, found.owner_id) != _place(request):
        raise missing("Access Token")
    return found


def _rotated(request: ApiRequest, token: AccessToken) -> ApiResponse:
    if token.revoked:
        raise unauthorized()
    made = request.tokens.rotate(token, request.input.day("expires_at"))
    return ApiResponse(body=_shown(request, made, secret=True))


def _shown(request: ApiRequest, token: AccessToken, *, secret: bool = False) -> Json:
    today = request.state.now().date()
    alive = token.expires_at is None or token.expires_at > today
    made: Json = {
        "id": token.id,
        "name": token.name,
        "description": token.description,
        "revoked": token.revoked,
        "created_at": stamp(token.created_at),
        "scopes": list(token.scopes),
        "user_id": token.user.id,
        "last_used_at": stamp_or_none(token.last_used_at),
        "active": alive and not token.revoked,
        "expires_at": token.expires_at.isoformat() if token.expires_at else None,
    }
    if token.kind != "personal" and "{id}" in request.template:
        made |= _of_place(request, token)
    return made | ({"token": token.value} if secret else {})


def _of_place(request: ApiRequest, token: AccessToken) -> Json:
    """What is told of a token where it is one of a project's or a group's."""
    if token.kind == "project":
        level = levels.level(request.state, request.project, token.user)
    else:
        level = levels.group_level(request.state, request.group, token.user)
    return {
        "access_level": int(level),
        "resource_type": token.kind,
        "resource_id": token.owner_id,
    }
