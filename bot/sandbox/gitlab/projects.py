"""GitLab's operations on projects."""

from __future__ import annotations

from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab import json as basic
from bot.sandbox.gitlab.routing import SEEN, ApiRequest, route

_PROJECT = "/projects/{id}"


@route("GET", _PROJECT, SEEN)
def get_project(request: ApiRequest) -> ApiResponse:
    """A project."""
    return ApiResponse(
        body=basic.project(request.state, request.links, request.project, request.caller.user)
    )
