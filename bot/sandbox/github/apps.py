"""GitHub's operations on Apps, installations, people and the forge itself."""

from __future__ import annotations

from bot.sandbox.api import ApiResponse
from bot.sandbox.errors import RefusedError, not_found
from bot.sandbox.github import json as basic
from bot.sandbox.github.routing import ApiRequest, page, route
from bot.sandbox.records.accounts import Role
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules import manifests


@route("GET", "/app")
def get_app(request: ApiRequest) -> ApiResponse:
    """The App of the JWT."""
    body = basic.app(request.links, request.app)
    installed = [i for i in request.state.data.installations.values() if i.app is request.app]
    return ApiResponse(body=body | {"installations_count": len(installed)})


@route("POST", "/app-manifests/{code}/conversions")
def create_from_manifest(request: ApiRequest) -> ApiResponse:
    """Make the App of a manifest that was confirmed, and tell its secrets, once."""
    app, told = manifests.convert(request.state, request.params["code"])
    body = basic.app(request.links, app) | {"client_id": app.client_id, **told}
    return ApiResponse(status=201, body=body)


@route("GET", "/apps/{app_slug}")
def get_app_by_slug(request: ApiRequest) -> ApiResponse:
    """Any App, by its slug."""
    for app in request.state.data.apps.values():
        if app.slug == request.params["app_slug"]:
            return ApiResponse(body=basic.app(request.links, app))
    raise not_found()


@route("GET", "/app/installations")
def list_installations(request: ApiRequest) -> ApiResponse:
    """Installations of the App."""
    found = [i for i in request.state.data.installations.values() if i.app is request.app]
    return page(request, [basic.installation(request.links, i) for i in found])


@route("GET", "/app/installations/{installation_id}")
def get_installation(request: ApiRequest) -> ApiResponse:
    """One installation of the App."""
    found = request.state.data.installations.get(request.number("installation_id"))
    if found is None or found.app is not request.app:
        raise not_found()
    return ApiResponse(body=basic.installation(request.links, found))


@route("GET", "/repos/{owner}/{repo}/installation")
def get_repo_installation(request: ApiRequest) -> ApiResponse:
    """The App's installation that covers a repository."""
    found = request.state.installation_of(request.app, request.repo)
    if found is None:
        raise not_found()
    return ApiResponse(body=basic.installation(request.links, found))


@route("POST", "/app/installations/{installation_id}/access_tokens")
def create_access_token(request: ApiRequest) -> ApiResponse:
    """Mint an installation token, for all or for some of its repositories and permissions."""
    found = request.state.data.installations.get(request.number("installation_id"))
    if found is None or found.app is not request.app:
        raise not_found()
    fields = request.fields
    chosen = _chosen(request, fields.texts("repositories"), fields.numbers("repository_ids"))
    token, made = request.accounts.mint(found, fields.mapping("permissions"), chosen)
    answer: basic.Json = {
        "token": token,
        "expires_at": basic.stamp(made.expires_at),
        "permissions": made.permissions,
        "repository_selection": "selected",
    }
    if chosen is not None:
        answer["repositories"] = [basic.repository(request.links, repo) for repo in chosen]
    return ApiResponse(status=201, body=answer)


def _chosen(
    request: ApiRequest, names: list[str] | None, ids: list[int] | None
) -> list[Repository] | None:
    if names is None and ids is None:
        return None
    wanted_names, wanted_ids = {name.lower() for name in names or ()}, set(ids or ())
    return [
        repo
        for repo in request.state.data.repositories.values()
        if repo.id in wanted_ids or repo.name.lower() in wanted_names
    ]


@route("GET", "/installation/repositories")
def list_installation_repositories(request: ApiRequest) -> ApiResponse:
    """Repositories that the installation's token reaches."""
    token = request.caller.token
    if token is None:
        raise RefusedError(403, "You must authenticate with an installation access token")
    ids = token.repository_ids
    found = [r for r in token.installation.repositories if ids is None or r.id in ids]
    listed = [basic.repository(request.links, repo) for repo in found]
    return page(
        request,
        listed,
        lambda part: {
            "total_count": len(listed),
            "repository_selection": "selected",
            "repositories": part,
        },
    )


@route("DELETE", "/installation/token")
def revoke_token(request: ApiRequest) -> ApiResponse:
    """End the installation token that is used."""
    if request.caller.token is not None:
        request.caller.token.revoked = True
    return ApiResponse(status=204)


@route("GET", "/user")
def get_authenticated(request: ApiRequest) -> ApiResponse:
    """The account that asks."""
    return ApiResponse(body=_full(request, request.user.login))


@route("GET", "/user/repos")
def list_own_repositories(request: ApiRequest) -> ApiResponse:
    """Repositories that the account owns, works in, or has a role in by a team."""
    user = request.user
    repos = request.state.data.repositories.values()
    found = [repo for repo in repos if repo.owner is user or user.login in repo.members]
    listed = [
        basic.repository(request.links, repo)
        | {"permissions": basic.rights(request.state.role(repo, user))}
        for repo in found
    ]
    return page(request, listed)


@route("GET", "/users/{username}")
def get_user(request: ApiRequest) -> ApiResponse:
    """Any account."""
    return ApiResponse(body=_full(request, request.params["username"]))


def _full(request: ApiRequest, login: str) -> basic.Json:
    user = request.state.user(login)
    repos = request.state.data.repositories.values()
    public = sum(repo.owner is user and not repo.private for repo in repos)
    return basic.full_user(request.links, user, public)


@route("GET", "/meta")
def get_meta(_request: ApiRequest) -> ApiResponse:
    """What the forge says of itself."""
    body = {
        "verifiable_password_authentication": False,
        "hooks": ["127.0.0.1/32"],
        "web": ["127.0.0.1/32"],
        "api": ["127.0.0.1/32"],
        "git": ["127.0.0.1/32"],
    }
    return ApiResponse(body=body)


@route("GET", "/repos/{owner}/{repo}/collaborators")
def list_collaborators(request: ApiRequest) -> ApiResponse:
    """People with a role of their own, the owner first."""
    repo = request.repo
    users = [repo.owner, *(request.state.user(login) for login in repo.members)]
    return page(request, [_collaborator(request, user.login) for user in dict.fromkeys(users)])


@route("GET", "/repos/{owner}/{repo}/collaborators/{username}/permission")
def get_permission(request: ApiRequest) -> ApiResponse:
    """What a user may do: `permission` in four steps, `role_name` in six."""
    user = request.state.user(request.params["username"])
    role = request.state.role(request.repo, user)
    steps = {Role.MAINTAIN: Role.WRITE, Role.TRIAGE: Role.READ}
    body = {
        "permission": steps.get(role, role).word,
        "role_name": role.word,
        "user": _collaborator(request, user.login),
    }
    return ApiResponse(body=body)


@route("GET", "/repos/{owner}/{repo}/collaborators/{username}")
def check_collaborator(request: ApiRequest) -> ApiResponse:
    """204 for a collaborator, 404 for anybody else."""
    user = request.state.user(request.params["username"])
    if user is not request.repo.owner and user.login not in request.repo.members:
        raise not_found()
    return ApiResponse(status=204)


def _collaborator(request: ApiRequest, login: str) -> basic.Json:
    user = request.state.user(login)
    role = request.state.role(request.repo, user)
    rights = {"permissions": basic.rights(role), "role_name": role.word}
    return basic.user(request.links, user) | rights
