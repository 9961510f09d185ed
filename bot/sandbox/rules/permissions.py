"""What each operation of the API needs: permissions of an installation, the role of a user.

Source: docs/design.md, "GitHub: permissions and events"; header `x-accepted-github-permissions`
uses the same spelling (`;` alternatives, `,` all of).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from bot.sandbox.records.accounts import Role

_READ, _TRIAGE, _WRITE = Role.READ, Role.TRIAGE, Role.WRITE
_REPO = "/repos/{owner}/{repo}"
_TALK_READ = "issues=read; pull_requests=read"
_TALK_WRITE = "issues=write; pull_requests=write"


@dataclass(frozen=True, slots=True)
class PermissionRequirement:
    """What an operation needs.

    Attributes:
        app: Permissions of an installation (`contents=write; …`), "" for none, "jwt" where only
            the App itself may call, "user" where an installation may not, "app" where only
            an installation may.
        role: Least role of a user in the repository.
        apps_only: Whether no user may, whatever the role.
        elsewhere: An installation may do it in public repositories that it is not in. Who pushed to
            a fork is not told there: nobody has seen GitHub tell it.
    """

    app: str = "metadata=read"
    role: Role = Role.READ
    apps_only: bool = False
    elsewhere: bool = True

    @property
    def public(self) -> bool:
        """Whether any installation may do it in a public repository."""
        reads = self.role is Role.READ and self.app in {"metadata=read", "contents=read"}
        return reads and self.elsewhere


def _with(
    prefix: str, table: Mapping[str, PermissionRequirement]
) -> dict[str, PermissionRequirement]:
    return {f"{key.split(' ')[0]} {prefix}{key.split(' ', 1)[1]}": n for key, n in table.items()}


NEEDS: dict[str, PermissionRequirement] = {
    "GET /app": PermissionRequirement("jwt"),
    "GET /app/hook/config": PermissionRequirement("jwt"),
    "PATCH /app/hook/config": PermissionRequirement("jwt"),
    "GET /app/hook/deliveries": PermissionRequirement("jwt"),
    "GET /app/hook/deliveries/{delivery_id}": PermissionRequirement("jwt"),
    "POST /app/hook/deliveries/{delivery_id}/attempts": PermissionRequirement("jwt"),
    "GET /app/installations": PermissionRequirement("jwt"),
    "GET /app/installations/{installation_id}": PermissionRequirement("jwt"),
    "POST /app/installations/{installation_id}/access_tokens": PermissionRequirement("jwt"),
    "GET /installation/repositories": PermissionRequirement("app"),
    "DELETE /installation/token": PermissionRequirement("app"),
    "GET /apps/{app_slug}": PermissionRequirement(""),
    "GET /meta": PermissionRequirement(""),
    "POST /app-manifests/{code}/conversions": PermissionRequirement(""),
    "GET /rate_limit": PermissionRequirement(""),
    "GET /orgs/{org}/installation": PermissionRequirement("jwt"),
    "GET /users/{username}/installation": PermissionRequirement("jwt"),
    "GET /orgs/{org}/hooks": PermissionRequirement("user"),
    "POST /orgs/{org}/hooks": PermissionRequirement("user"),
    "PATCH /orgs/{org}/hooks/{hook_id}": PermissionRequirement("user"),
    "GET /orgs/{org}/members/{username}": PermissionRequirement("members=read"),
    "GET /orgs/{org}/memberships/{username}": PermissionRequirement("members=read"),
    "GET /orgs/{org}/teams/{team_slug}": PermissionRequirement("members=read"),
    "GET /orgs/{org}/teams/{team_slug}/members": PermissionRequirement("members=read"),
    "GET /orgs/{org}/teams/{team_slug}/memberships/{username}": PermissionRequirement(
        "members=read"
    ),
    "GET /orgs/{org}/teams/{team_slug}/repos/{owner}/{repo}": PermissionRequirement("members=read"),
    "GET /user": PermissionRequirement("user"),
    "GET /user/repos": PermissionRequirement("user"),
    "GET /users/{username}": PermissionRequirement(""),
    **_with(
        _REPO,
        {
            "GET ": PermissionRequirement(),
            "GET /installation": PermissionRequirement("jwt"),
            "GET /activity": PermissionRequirement("contents=read", elsewhere=False),
            "GET /branches": PermissionRequirement("contents=read"),
            "GET /branches/{branch}": PermissionRequirement("contents=read"),
            "GET /branches/{branch}/protection": PermissionRequirement(
                "administration=read", Role.ADMIN
            ),
            "GET /branches/{branch}/protection/required_status_checks": PermissionRequirement(
                "administration=read", Role.ADMIN
            ),
            "GET /rules/branches/{branch}": PermissionRequirement(),
            "GET /rulesets": PermissionRequirement(),
            "POST /rulesets": PermissionRequirement("administration=write", Role.ADMIN),
            "GET /rulesets/{ruleset_id}": PermissionRequirement(),
            "GET /tags": PermissionRequirement("contents=read"),
            "GET /contents/{path}": PermissionRequirement("contents=read"),
            "PUT /contents/{path}": PermissionRequirement("contents=write", _WRITE),
            "DELETE /contents/{path}": PermissionRequirement("contents=write", _WRITE),
            "GET /commits": PermissionRequirement("contents=read"),
            "GET /commits/{ref}": PermissionRequirement("contents=read"),
            "GET /commits/{commit_sha}/pulls": PermissionRequirement(
                "pull_requests=read; contents=read"
            ),
            "GET /compare/{basehead}": PermissionRequirement("contents=read"),
            "GET /git/ref/{ref}": PermissionRequirement("contents=read"),
            "GET /git/matching-refs/{ref}": PermissionRequirement("contents=read"),
            "POST /git/refs": PermissionRequirement("contents=write", _WRITE),
            "PATCH /git/refs/{ref}": PermissionRequirement("contents=write", _WRITE),
            "DELETE /git/refs/{ref}": PermissionRequirement("contents=write", _WRITE),
            "POST /git/tags": PermissionRequirement("contents=write", _WRITE),
            "GET /git/tags/{tag_sha}": PermissionRequirement("contents=read"),
            "GET /git/commits/{commit_sha}": PermissionRequirement("contents=read"),
            "POST /git/commits": PermissionRequirement("contents=write", _WRITE),
            "POST /git/blobs": PermissionRequirement("contents=write", _WRITE),
            "GET /git/blobs/{file_sha}": PermissionRequirement("contents=read"),
            "POST /git/trees": PermissionRequirement("contents=write", _WRITE),
            "GET /git/trees/{tree_sha}": PermissionRequirement("contents=read"),
            "POST /merges": PermissionRequirement("contents=write", _WRITE),
            "GET /teams": PermissionRequirement("administration=read", Role.ADMIN),
            "GET /collaborators": PermissionRequirement("metadata=read", _WRITE),
            "GET /collaborators/{username}": PermissionRequirement("metadata=read", _WRITE),
            "GET /collaborators/{username}/permission": PermissionRequirement(
                "metadata=read", _WRITE
            ),
            "GET /pulls": PermissionRequirement("pull_requests=read"),
            "POST /pulls": PermissionRequirement("pull_requests=write", _READ),
            "GET /pulls/{pull_number}": PermissionRequirement("pull_requests=read; contents=read"),
            "PATCH /pulls/{pull_number}": PermissionRequirement("pull_requests=write", _READ),
            "GET /pulls/{pull_number}/commits": PermissionRequirement("pull_requests=read"),
            "GET /pulls/{pull_number}/files": PermissionRequirement("pull_requests=read"),
            "GET /pulls/{pull_number}/merge": PermissionRequirement(
                "pull_requests=read; contents=read"
            ),
            "PUT /pulls/{pull_number}/merge": PermissionRequirement("contents=write", _WRITE),
            "PUT /pulls/{pull_number}/update-branch": PermissionRequirement(
                "pull_requests=write", _WRITE
            ),
            "GET /pulls/{pull_number}/comments": PermissionRequirement("pull_requests=read"),
            "POST /pulls/{pull_number}/comments": PermissionRequirement("pull_requests=write"),
            "POST /pulls/{pull_number}/comments/{comment_id}/replies": PermissionRequirement(
                "pull_requests=write"
            ),
            "GET /pulls/comments": PermissionRequirement("pull_requests=read"),
            "GET /pulls/comments/{comment_id}": PermissionRequirement("pull_requests=read"),
            "PATCH /pulls/comments/{comment_id}": PermissionRequirement("pull_requests=write"),
            "DELETE /pulls/comments/{comment_id}": PermissionRequirement("pull_requests=write"),
            "GET /releases": PermissionRequirement("contents=read"),
            "POST /releases": PermissionRequirement("contents=write", _WRITE),
            "GET /releases/latest": PermissionRequirement("contents=read"),
            "GET /releases/tags/{tag}": PermissionRequirement("contents=read"),
            "GET /releases/{release_id}": PermissionRequirement("contents=read"),
            "PATCH /releases/{release_id}": PermissionRequirement("contents=write", _WRITE),
            "DELETE /releases/{release_id}": PermissionRequirement("contents=write", _WRITE),
            "GET /forks": PermissionRequirement(),
            "POST /forks": PermissionRequirement("administration=write"),
            "POST /merge-upstream": PermissionRequirement("contents=write", _WRITE),
            "GET /pulls/{pull_number}/requested_reviewers": PermissionRequirement(
                "pull_requests=read"
            ),
            "POST /pulls/{pull_number}/requested_reviewers": PermissionRequirement(
                "pull_requests=write", _WRITE
            ),
            "DELETE /pulls/{pull_number}/requested_reviewers": PermissionRequirement(
                "pull_requests=write", _WRITE
            ),
            "GET /pulls/{pull_number}/reviews": PermissionRequirement("pull_requests=read"),
            "POST /pulls/{pull_number}/reviews": PermissionRequirement(
                "pull_requests=write", _READ
            ),
            "GET /pulls/{pull_number}/reviews/{review_id}": PermissionRequirement(
                "pull_requests=read"
            ),
            "PUT /pulls/{pull_number}/reviews/{review_id}/dismissals": PermissionRequirement(
                "pull_requests=write", _WRITE
            ),
            "GET /issues": PermissionRequirement("issues=read"),
            "POST /issues": PermissionRequirement("issues=write"),
            "POST /issues/{issue_number}/assignees": PermissionRequirement(_TALK_WRITE, _TRIAGE),
            "DELETE /issues/{issue_number}/assignees": PermissionRequirement(_TALK_WRITE, _TRIAGE),
            "PUT /issues/{issue_number}/lock": PermissionRequirement(_TALK_WRITE, _WRITE),
            "DELETE /issues/{issue_number}/lock": PermissionRequirement(_TALK_WRITE, _WRITE),
            "PATCH /labels/{name}": PermissionRequirement(_TALK_WRITE, _WRITE),
            "DELETE /labels/{name}": PermissionRequirement(_TALK_WRITE, _WRITE),
            "GET /issues/{issue_number}": PermissionRequirement(_TALK_READ),
            "PATCH /issues/{issue_number}": PermissionRequirement(_TALK_WRITE, _READ),
            "GET /issues/{issue_number}/comments": PermissionRequirement(_TALK_READ),
            "POST /issues/{issue_number}/comments": PermissionRequirement(_TALK_WRITE, _READ),
            "GET /issues/comments": PermissionRequirement(_TALK_READ),
            "GET /issues/comments/{comment_id}": PermissionRequirement(_TALK_READ),
            "PATCH /issues/comments/{comment_id}": PermissionRequirement(_TALK_WRITE, _READ),
            "DELETE /issues/comments/{comment_id}": PermissionRequirement(_TALK_WRITE, _READ),
            "GET /issues/comments/{comment_id}/reactions": PermissionRequirement(_TALK_READ),
            "POST /issues/comments/{comment_id}/reactions": PermissionRequirement(
                _TALK_WRITE, _READ
            ),
            "DELETE /issues/comments/{comment_id}/reactions/{reaction_id}": PermissionRequirement(
                _TALK_WRITE, _READ
            ),
            "GET /issues/{issue_number}/reactions": PermissionRequirement(_TALK_READ),
            "POST /issues/{issue_number}/reactions": PermissionRequirement(_TALK_WRITE, _READ),
            "GET /issues/{issue_number}/timeline": PermissionRequirement(_TALK_READ),
            "GET /issues/{issue_number}/labels": PermissionRequirement(_TALK_READ),
            "POST /issues/{issue_number}/labels": PermissionRequirement(_TALK_WRITE, _TRIAGE),
            "PUT /issues/{issue_number}/labels": PermissionRequirement(_TALK_WRITE, _TRIAGE),
            "DELETE /issues/{issue_number}/labels": PermissionRequirement(_TALK_WRITE, _TRIAGE),
            "DELETE /issues/{issue_number}/labels/{name}": PermissionRequirement(
                _TALK_WRITE, _TRIAGE
            ),
            "GET /hooks": PermissionRequirement("repository_hooks=read", Role.ADMIN),
            "POST /hooks": PermissionRequirement("repository_hooks=write", Role.ADMIN),
            "GET /hooks/{hook_id}": PermissionRequirement("repository_hooks=read", Role.ADMIN),
            "PATCH /hooks/{hook_id}": PermissionRequirement("repository_hooks=write", Role.ADMIN),
            "DELETE /hooks/{hook_id}": PermissionRequirement("repository_hooks=write", Role.ADMIN),
            "POST /hooks/{hook_id}/pings": PermissionRequirement(
                "repository_hooks=read", Role.ADMIN
            ),
            "GET /hooks/{hook_id}/deliveries": PermissionRequirement(
                "repository_hooks=read", Role.ADMIN
            ),
            "GET /hooks/{hook_id}/deliveries/{delivery_id}": PermissionRequirement(
                "repository_hooks=read", Role.ADMIN
            ),
            "POST /hooks/{hook_id}/deliveries/{delivery_id}/attempts": PermissionRequirement(
                "repository_hooks=write", Role.ADMIN
            ),
            "GET /labels": PermissionRequirement(_TALK_READ),
            "POST /labels": PermissionRequirement(_TALK_WRITE, _WRITE),
            "GET /labels/{name}": PermissionRequirement(_TALK_READ),
            "POST /check-runs": PermissionRequirement("checks=write", apps_only=True),
            "GET /check-runs/{check_run_id}": PermissionRequirement("checks=read"),
            "PATCH /check-runs/{check_run_id}": PermissionRequirement(
                "checks=write", apps_only=True
            ),
            "GET /check-runs/{check_run_id}/annotations": PermissionRequirement("checks=read"),
            "POST /check-runs/{check_run_id}/rerequest": PermissionRequirement(
                "checks=write", _WRITE
            ),
            "POST /check-suites": PermissionRequirement("checks=write", apps_only=True),
            "GET /check-suites/{check_suite_id}": PermissionRequirement("checks=read"),
            "GET /check-suites/{check_suite_id}/check-runs": PermissionRequirement("checks=read"),
            "POST /check-suites/{check_suite_id}/rerequest": PermissionRequirement(
                "checks=write", _WRITE
            ),
            "GET /commits/{ref}/check-runs": PermissionRequirement("checks=read"),
            "GET /commits/{ref}/check-suites": PermissionRequirement("checks=read"),
            "GET /commits/{ref}/status": PermissionRequirement("statuses=read"),
            "GET /commits/{ref}/statuses": PermissionRequirement("statuses=read"),
            "POST /statuses/{sha}": PermissionRequirement("statuses=write", _WRITE),
        },
    ),
}
"""Operation (`METHOD template`) to what it needs."""


def granted(permissions: Mapping[str, str], need: str) -> bool:
    """Whether permissions meet a need such as `issues=write; pull_requests=write`."""
    return any(
        all(grants(permissions, name, level) for name, level in alternative)
        for alternative in _parsed(need)
    )


@cache
def _parsed(need: str) -> tuple[tuple[tuple[str, str], ...], ...]:
    """The alternatives of a need, each of them permissions with their levels."""
    return tuple(
        tuple((name, level) for name, _, level in (p.strip().partition("=") for p in each))
        for each in (alternative.split(",") for alternative in need.split(";"))
    )


def grants(permissions: Mapping[str, str], name: str, level: str) -> bool:
    """Whether permissions hold one at a level or above it."""
    order = ("read", "write", "admin")
    have = permissions.get(name)
    if have is None or level not in order:
        return False
    return order.index(have) >= order.index(level)
