"""GitLab's operations on approvals.

Source: https://docs.gitlab.com/api/merge_request_approvals/
"""

from __future__ import annotations

from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab import levels
from bot.sandbox.gitlab import merge_request_json as more
from bot.sandbox.gitlab.errors import forbidden, missing
from bot.sandbox.gitlab.merge_requests import at
from bot.sandbox.gitlab.routing import CODE, WITH_CODE, ApiRequest, at_least, route
from bot.sandbox.gitlab.rules import approvals
from bot.sandbox.records.gitlab import AccessLevel

_PROJECT = "/projects/{id}/approvals"
_MR = "/projects/{id}/merge_requests/{iid}"
_SETTINGS = {
    "approvals_before_merge": 0,
    "reset_approvals_on_push": True,
    "selective_code_owner_removals": False,
    "disable_overriding_approvers_per_merge_request": False,
    "merge_requests_author_approval": False,
    "merge_requests_disable_committers_approval": False,
    "require_reauthentication_to_approve": False,
}
_NUMBERS = ("approvals_before_merge",)


@route("GET", _PROJECT, CODE)
def get_settings(request: ApiRequest) -> ApiResponse:
    """How approvals are dealt with; Premium."""
    return ApiResponse(body=_settings(request))


@route("POST", _PROJECT, at_least(AccessLevel.MAINTAINER))
def set_settings(request: ApiRequest) -> ApiResponse:
    """Change how approvals are dealt with; Premium."""
    _settings(request)
    given, kept = request.input, request.project.gitlab.approvals
    for name in _SETTINGS:
        if name in given:
            kept[name] = given.number(name) if name in _NUMBERS else given.flag(name)
    return ApiResponse(status=201, body=_settings(request))


def _settings(request: ApiRequest) -> dict[str, object]:
    if not levels.has_tier(request.state, request.project):
        raise missing()
    kept = request.project.gitlab.approvals
    return {name: kept.get(name, default) for name, default in _SETTINGS.items()}


@route("GET", f"{_MR}/approvals", CODE)
def get_approvals(request: ApiRequest) -> ApiResponse:
    """Who approved."""
    return _shown(request)


@route("GET", f"{_MR}/approval_state", CODE)
def get_state(request: ApiRequest) -> ApiResponse:
    """How the rules of approvals stand."""
    return ApiResponse(body=more.rules_state(request.state, request.links, at(request)))


@route("POST", f"{_MR}/approve", WITH_CODE)
def approve(request: ApiRequest) -> ApiResponse:
    """Approve, with `sha` only while the head is that commit."""
    approvals.approve(request.state, at(request), request.user, request.input.text("sha"))
    return _shown(request, 201)


@route("POST", f"{_MR}/unapprove", WITH_CODE)
def unapprove(request: ApiRequest) -> ApiResponse:
    """Take one's approval back."""
    approvals.unapprove(request.state, at(request), request.user)
    return _shown(request, 201)


@route("PUT", f"{_MR}/reset_approvals", WITH_CODE)
def reset(request: ApiRequest) -> ApiResponse:
    """Take all approvals back, as bots may."""
    if request.user.kind != "Bot" or request.level < AccessLevel.DEVELOPER:
        raise forbidden()
    approvals.reset(request.state, at(request), request.user)
    return ApiResponse(status=202, body={"message": "202 Accepted"})


def _shown(request: ApiRequest, status: int = 200) -> ApiResponse:
    mr = at(request)
    body = more.approval_state(request.state, request.links, mr, request.caller.user)
    return ApiResponse(status=status, body=body)
