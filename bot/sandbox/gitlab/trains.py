"""GitLab's operations on merge trains.

Source: https://docs.gitlab.com/api/merge_trains/
"""

from __future__ import annotations

from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab import json as basic
from bot.sandbox.gitlab import merge_request_json, status_json
from bot.sandbox.gitlab.errors import missing
from bot.sandbox.gitlab.json import Json, stamp
from bot.sandbox.gitlab.merge_requests import at
from bot.sandbox.gitlab.routing import ApiRequest, at_least, page, route
from bot.sandbox.gitlab.rules import merging, trains
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.merge_requests import MergeRequest

_TRAINS = "/projects/{id}/merge_trains"
_CAR = f"{_TRAINS}/merge_requests/{{iid}}"


def _car(request: ApiRequest, mr: MergeRequest) -> Json:
    """Entity `MergeTrains::Car`."""
    if mr.car is None:
        raise missing()
    car, links = mr.car, request.links
    own = ("id", "iid", "project_id", "title", "description", "state", "created_at", "updated_at")
    shown = merge_request_json.merge_request(request.state, links, mr)
    return {
        "id": car.id,
        "merge_request": {name: shown[name] for name in (*own, "web_url")},
        "user": basic.user(links, car.order.user),
        "pipeline": status_json.simple_pipeline(links, car.pipeline, mr.repo),
        "created_at": stamp(car.created_at),
        "updated_at": stamp(car.updated_at),
        "target_branch": mr.base_ref,
        "status": "fresh",
        "merged_at": None,
        "duration": None,
    }


@route("GET", f"{_TRAINS}/{{branch}}", at_least(AccessLevel.DEVELOPER))
def list_cars(request: ApiRequest) -> ApiResponse:
    """Merge requests on the train of a branch, the last one first unless `sort` is `asc`."""
    trains.enabled(request.state, request.project)
    found = trains.cars(request.project, request.params["branch"])
    if request.input.choice("scope", ("active", "complete")) == "complete":
        found = []  # what was merged is no car any more, and this forge keeps no list of it
    if request.input.choice("sort", ("asc", "desc")) != "asc":
        found.reverse()
    return page(request, found, lambda mr: _car(request, mr))


@route("GET", _CAR, at_least(AccessLevel.DEVELOPER))
def get_car(request: ApiRequest) -> ApiResponse:
    """A merge request's place on its train; 404 where it is on none."""
    return ApiResponse(body=_car(request, at(request)))


@route("POST", _CAR, at_least(AccessLevel.DEVELOPER))
def add_car(request: ApiRequest) -> ApiResponse:
    """Put a merge request on the train of its target branch."""
    mr, given = at(request), request.input
    wish = merging.MergeOptions(sha=given.text("sha"), squash=given.flag("squash"))
    trains.add(request.state, mr, request.user, wish)
    cars = trains.cars(request.project, mr.base_ref)
    return ApiResponse(status=201, body=[_car(request, one) for one in cars])
