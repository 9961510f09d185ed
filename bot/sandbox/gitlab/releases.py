"""GitLab's operations on releases, deployments and environments.

Source: https://docs.gitlab.com/api/releases/, https://docs.gitlab.com/api/deployments/,
https://docs.gitlab.com/api/environments/
"""

from __future__ import annotations

from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab import release_json as more
from bot.sandbox.gitlab.errors import bad_parameter, missing
from bot.sandbox.gitlab.routing import CODE, ApiRequest, at_least, page, route
from bot.sandbox.gitlab.rules import releases
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.pipelines import Deployment, Environment
from bot.sandbox.records.repository import Release

_RELEASES = "/projects/{id}/releases"
_RELEASE = f"{_RELEASES}/{{tag_name}}"
_DEPLOYMENTS = "/projects/{id}/deployments"
_DEPLOYMENT = f"{_DEPLOYMENTS}/{{deployment_id}}"
_ENVIRONMENTS = "/projects/{id}/environments"


def _shown(request: ApiRequest, found: Release, status: int = 200) -> ApiResponse:
    body = more.release(request.state, request.links, request.project, found)
    return ApiResponse(status=status, body=body)


@route("GET", _RELEASES, CODE)
def list_releases(request: ApiRequest) -> ApiResponse:
    """Releases, newest first."""
    found = sorted(request.project.releases.values(), key=lambda one: one.id, reverse=True)
    repo = request.project
    return page(request, found, lambda one: more.release(request.state, request.links, repo, one))


@route("POST", _RELEASES, at_least(AccessLevel.DEVELOPER))
def create_release(request: ApiRequest) -> ApiResponse:
    """Make a release of a tag, which is made from `ref` where it is missing."""
    given = request.input
    made = releases.create(
        request.state,
        request.project,
        request.user,
        given.filled("tag_name"),
        name=given.text("name"),
        description=given.text("description"),
        ref=given.text("ref"),
        tag_message=given.text("tag_message"),
        released_at=given.when("released_at"),
    )
    return _shown(request, made, 201)


def _release(request: ApiRequest) -> Release:
    return releases.find(request.project, request.params["tag_name"])


@route("GET", _RELEASE, CODE)
def get_release(request: ApiRequest) -> ApiResponse:
    """The release of a tag."""
    return _shown(request, _release(request))


@route("PUT", _RELEASE, at_least(AccessLevel.DEVELOPER))
def update_release(request: ApiRequest) -> ApiResponse:
    """Change a release's name or text."""
    found, given = _release(request), request.input
    name, text = given.text("name"), given.text("description")
    releases.edit(request.state, request.project, request.user, found, name, text)
    return _shown(request, found)


@route("DELETE", _RELEASE, at_least(AccessLevel.DEVELOPER))
def delete_release(request: ApiRequest) -> ApiResponse:
    """Take a release away; its tag stays."""
    found = _release(request)
    body = more.release(request.state, request.links, request.project, found)
    releases.delete(request.state, request.project, request.user, found)
    return ApiResponse(body=body)


@route("GET", _DEPLOYMENTS, CODE)
def list_deployments(request: ApiRequest) -> ApiResponse:
    """Deployments, oldest first unless `sort` says otherwise."""
    given, repo = request.input, request.project
    name, word = given.text("environment"), given.text("status")
    found = [
        one
        for one in repo.gitlab.deployments.values()
        if name in (None, one.environment.name) and word in (None, one.status)
    ]
    found.sort(key=lambda one: one.id, reverse=given.choice("sort", ("asc", "desc")) == "desc")
    return page(request, found, lambda one: more.deployment(request.links, repo, one))


@route("POST", _DEPLOYMENTS, at_least(AccessLevel.DEVELOPER))
def create_deployment(request: ApiRequest) -> ApiResponse:
    """Tell of a deployment; its environment is made where it is missing."""
    given = request.input
    tag = given.flag("tag")
    if tag is None:
        raise bad_parameter("tag is missing")
    status = given.choice("status", releases.STATUSES)
    if status is None:
        raise bad_parameter("status is missing")
    made = releases.deploy(
        request.state,
        request.project,
        request.user,
        given.filled("environment"),
        given.filled("sha"),
        given.filled("ref"),
        tag=tag,
        status=status,
    )
    return _deployed(request, made, 201)


def _deployment(request: ApiRequest) -> Deployment:
    found = request.project.gitlab.deployments.get(request.number("deployment_id"))
    if found is None:
        raise missing("Deployment")
    return found


def _deployed(request: ApiRequest, found: Deployment, status: int = 200) -> ApiResponse:
    body = more.deployment(request.links, request.project, found)
    return ApiResponse(status=status, body=body)


@route("GET", _DEPLOYMENT, CODE)
def get_deployment(request: ApiRequest) -> ApiResponse:
    """A deployment."""
    return _deployed(request, _deployment(request))


@route("PUT", _DEPLOYMENT, at_least(AccessLevel.DEVELOPER))
def update_deployment(request: ApiRequest) -> ApiResponse:
    """Tell how a deployment went on."""
    found = _deployment(request)
    status = request.input.choice("status", releases.STATUSES)
    if status is None:
        raise bad_parameter("status is missing")
    releases.turn(request.state, request.project, request.user, found, status)
    return _deployed(request, found)


@route("GET", _ENVIRONMENTS, CODE)
def list_environments(request: ApiRequest) -> ApiResponse:
    """Environments, by name."""
    repo, name = request.project, request.input.text("name")
    found = [one for one in repo.gitlab.environments.values() if name in (None, one.name)]
    found.sort(key=lambda one: one.name)
    return page(request, found, lambda one: more.environment(repo, one))


@route("POST", _ENVIRONMENTS, at_least(AccessLevel.DEVELOPER))
def create_environment(request: ApiRequest) -> ApiResponse:
    """Make an environment; 400 for a name that is taken."""
    name = request.input.filled("name")
    made = releases.create_environment(request.state, request.project, name)
    made.external_url = request.input.text("external_url")
    return ApiResponse(status=201, body=more.environment(request.project, made))


@route("GET", f"{_ENVIRONMENTS}/{{environment_id}}", CODE)
def get_environment(request: ApiRequest) -> ApiResponse:
    """An environment."""
    found = _environment(request)
    return ApiResponse(body=more.environment(request.project, found))


def _environment(request: ApiRequest) -> Environment:
    found = request.project.gitlab.environments.get(request.number("environment_id"))
    if found is None:
        raise missing("Environment")
    return found
