"""GitHub's operations on organizations: members, teams, installations on accounts."""

from __future__ import annotations

from bot.sandbox.api import ApiResponse
from bot.sandbox.errors import not_found
from bot.sandbox.github import json as basic
from bot.sandbox.github.json import Json
from bot.sandbox.github.routing import ApiRequest, page, route
from bot.sandbox.records.accounts import Organization, Role, Team, User
from bot.sandbox.rules.ids import node_id

_TEAM = "/orgs/{org}/teams/{team_slug}"


def _org(request: ApiRequest) -> Organization:
    return request.state.organizations.find(request.params["org"])


def _team(request: ApiRequest) -> Team:
    return request.state.organizations.team(request.params["org"], request.params["team_slug"])


def _member(request: ApiRequest) -> User:
    return request.state.user(request.params["username"])


@route("GET", "/orgs/{org}/installation")
def get_org_installation(request: ApiRequest) -> ApiResponse:
    """The App's installation on an organization."""
    return _installation(request, _org(request).account)


@route("GET", "/users/{username}/installation")
def get_user_installation(request: ApiRequest) -> ApiResponse:
    """The App's installation on an account."""
    return _installation(request, _member(request))


def _installation(request: ApiRequest, account: User) -> ApiResponse:
    for found in request.state.data.installations.values():
        if found.app is request.app and found.account is account:
            return ApiResponse(body=basic.installation(request.links, found))
    raise not_found()


@route("GET", "/orgs/{org}/members/{username}")
def check_member(request: ApiRequest) -> ApiResponse:
    """204 for a member, 404 for anybody else."""
    if _member(request).login not in _org(request).members:
        raise not_found()
    return ApiResponse(status=204)


@route("GET", "/orgs/{org}/memberships/{username}")
def get_membership(request: ApiRequest) -> ApiResponse:
    """What a member is: `admin` or `member`."""
    org, user = _org(request), _member(request)
    role = org.members.get(user.login)
    if role is None:
        raise not_found()
    url = f"{request.links.api}/orgs/{org.account.login}"
    body = {
        "url": f"{url}/memberships/{user.login}",
        "state": "active",
        "role": role,
        "organization_url": url,
        "organization": basic.organization(request.links, org.account),
        "user": basic.user(request.links, user),
    }
    return ApiResponse(body=body)


@route("GET", _TEAM)
def get_team(request: ApiRequest) -> ApiResponse:
    """A team."""
    org, team = _org(request), _team(request)
    account = org.account
    created = basic.stamp(account.created_at)
    body = _shown(request, org, team) | {
        "created_at": basic.stamp(team.created_at),
        "updated_at": basic.stamp(team.created_at),
        "members_count": len(org.people(team)),
        "repos_count": len(team.roles),
        "organization": basic.organization(request.links, account)
        | {
            "html_url": f"{request.links.web}/{account.login}",
            "name": account.name,
            "type": "Organization",
            "has_organization_projects": False,
            "has_repository_projects": False,
            "public_repos": 0,
            "public_gists": 0,
            "followers": 0,
            "following": 0,
            "created_at": created,
            "updated_at": created,
            "archived_at": None,
        },
    }
    return ApiResponse(body=body)


@route("GET", f"{_TEAM}/members")
def list_team_members(request: ApiRequest) -> ApiResponse:
    """Members of a team and of its child teams."""
    people = _org(request).people(_team(request))
    return page(request, [basic.user(request.links, user) for user in people])


@route("GET", f"{_TEAM}/memberships/{{username}}")
def get_team_membership(request: ApiRequest) -> ApiResponse:
    """What somebody is in a team; 404 for who is not in it."""
    team, user = _team(request), _member(request)
    if user not in _org(request).people(team):
        raise not_found()
    org = _org(request).account.login
    url = f"{request.links.api}/orgs/{org}/teams/{team.slug}/memberships/{user.login}"
    return ApiResponse(body={"url": url, "role": "member", "state": "active"})


@route("GET", f"{_TEAM}/repos/{{owner}}/{{repo}}")
def check_team_repository(request: ApiRequest) -> ApiResponse:
    """204 where a team reaches a repository, 404 where it does not."""
    if request.repo.id not in _team(request).roles:
        raise not_found()
    return ApiResponse(status=204)


@route("GET", "/repos/{owner}/{repo}/teams")
def list_teams(request: ApiRequest) -> ApiResponse:
    """Teams that reach a repository; none where a person owns it."""
    repo = request.repo
    org = request.state.data.organizations.get(repo.owner.login.lower())
    found = [t for t in org.teams.values() if repo.id in t.roles] if org else []
    shown = [_shown(request, org, team, team.roles[repo.id]) for team in found if org]
    return page(request, shown)


def _parent(request: ApiRequest, org: Organization, team: Team) -> Json | None:
    """A team's parent, in short: without its own."""
    if team.parent is None:
        return None
    shown = _shown(request, org, team.parent)
    return {key: value for key, value in shown.items() if key != "parent"}


def _shown(request: ApiRequest, org: Organization, team: Team, role: Role = Role.READ) -> Json:
    url = f"{request.links.api}/organizations/{org.account.id}/team/{team.id}"
    steps = {Role.READ: "pull", Role.WRITE: "push"}
    return {
        "id": team.id,
        "node_id": node_id("T", team.id),
        "url": url,
        "html_url": f"{request.links.web}/orgs/{org.account.login}/teams/{team.slug}",
        "name": team.name,
        "slug": team.slug,
        "description": "",
        "privacy": "closed",
        "notification_setting": "notifications_enabled",
        "permission": steps.get(role, role.word),
        "members_url": f"{url}/members{{/member}}",
        "repositories_url": f"{url}/repos",
        "parent": _parent(request, org, team),
        "type": "organization",
        "organization_id": org.account.id,
    }
