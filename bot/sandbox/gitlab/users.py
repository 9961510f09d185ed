"""GitLab's operations on the instance and on people."""

from __future__ import annotations

from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab import json as basic
from bot.sandbox.gitlab.routing import SIGNED_IN, AccessRequirement, ApiRequest, page, route
from bot.sandbox.records.gitlab import FREE

_SELF = AccessRequirement(signed_in=True, scopes=("api", "read_api", "read_user"))
_REVISION = "5a0b1c2d3e4"


@route("GET", "/version", SIGNED_IN)
def get_version(request: ApiRequest) -> ApiResponse:
    """Version of the instance."""
    return ApiResponse(
        body={"version": _version(request), "revision": _REVISION},
    )


@route(
    "GET", "/metadata", AccessRequirement(signed_in=True, scopes=("api", "read_api", "read_user"))
)
def get_metadata(request: ApiRequest) -> ApiResponse:
    """Version and edition of the instance."""
    return ApiResponse(
        body={
            "version": _version(request),
            "revision": _REVISION,
            "kas": {"enabled": False, "externalUrl": None, "version": None},
            "enterprise": request.state.data.gitlab.tier != FREE,
        }
    )


@route("GET", "/user", _SELF)
def get_current_user(request: ApiRequest) -> ApiResponse:
    """Whose token it is."""
    user = request.user
    admin = user.id in request.state.data.gitlab.admins
    return ApiResponse(
        body=basic.current_user(request.links, user, admin=admin, now=request.state.now())
    )


@route("GET", "/users", SIGNED_IN)
def list_users(request: ApiRequest) -> ApiResponse:
    """People, by `username` or by what `search` finds."""
    wanted, search = request.input.text("username"), request.input.text("search")
    users = [u for u in request.state.data.users.values() if u.kind != "Organization"]
    if wanted is not None:
        users = [u for u in users if u.login.lower() == wanted.lower()]
    elif search is not None:
        found = search.lower()
        users = [u for u in users if found in u.login.lower() or found in u.name.lower()]
    users.sort(key=lambda u: u.id, reverse=True)
    return page(request, users, lambda u: basic.user(request.links, u))


@route("GET", "/users/{user_id}", SIGNED_IN)
def get_user(request: ApiRequest) -> ApiResponse:
    """A person."""
    return ApiResponse(
        body=basic.public_user(request.links, request.person(request.number("user_id")))
    )


def _version(request: ApiRequest) -> str:
    instance = request.state.data.gitlab
    return instance.version + ("" if instance.tier == FREE else "-ee")
