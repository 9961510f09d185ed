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
class Need:
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


def _with(prefix: str, table: Mapping[str, Need]) -> dict[str, Need]:
    return {f"{key.split(' ')[0]} {prefix}{key.split(' ', 1)[1]}": n for key, n in table.items()}


NEEDS: dict[str, Need] = {
    "GET /app": Need("jwt"),
    "GET /app/hook/config": Need("jwt"),
    "PATCH /app/hook/config": Need("jwt"),
    "GET /app/hook/deliveries": Need("jwt"),
    "GET /app/hook/deliveries/{delivery_id}": Need("jwt"),
    "POST /app/hook/deliveries/{delivery_id}/attempts": Need("jwt"),
    "GET /app/installations": Need("jwt"),
    "GET /app/installations/{installation_id}": Need("jwt"),
    "POST /app/installations/{installation_id}/access_tokens": Need("jwt"),
    "GET /installation/repositories": Need("app"),
    "DELETE /installation/token": Need("app"),
    "GET /apps/{app_slug}": Need(""),
    "GET /meta": Need(""),
    "POST /app-manifests/{code}/conversions": Need(""),
    "GET /rate_limit": Need(""),
    "GET /orgs/{org}/installation": Need("jwt"),
    "GET /users/{username}/installation": Need("jwt"),
    "GET /orgs/{org}/hooks": Need("user"),
    "POST /orgs/{org}/hooks": Need("user"),
    "PATCH /orgs/{org}/hooks/{hook_id}": Need("user"),
    "GET /orgs/{org}/members/{username}": Need("members=read"),
    "GET /orgs/{org}/memberships/{username}": Need("members=read"),
    "GET /orgs/{org}/teams/{team_slug}": Need("members=read"),
    "GET /orgs/{org}/teams/{team_slug}/members": Need("members=read"),
    "GET /orgs/{org}/teams/{team_slug}/memberships/{username}": Need("members=read"),
    "GET /orgs/{org}/teams/{team_slug}/repos/{owner}/{repo}": Need("members=read"),
    "GET /user": Need("user"),
    "GET /user/repos": Need("user"),
    "GET /users/{username}": Need(""),
    **_with(
        _REPO,
        {
            "GET ": Need(),
            "GET /installation": Need("jwt"),
            "GET /activity": Need("contents=read", elsewhere=False),
            "GET /branches": Need("contents=read"),
            "GET /branches/{branch}": Need("contents=read"),
            "GET /branches/{branch}/protection": Need("administration=read", Role.ADMIN),
            "GET /branches/{branch}/protection/required_status_checks": Need(
                "administration=read", Role.ADMIN
            ),
            "GET /rules/branches/{branch}": Need(),
            "GET /rulesets": Need(),
            "POST /rulesets": Need("administration=write", Role.ADMIN),
            "GET /rulesets/{ruleset_id}": Need(),
            "GET /tags": Need("contents=read"),
            "GET /contents/{path}": Need("contents=read"),
            "PUT /contents/{path}": Need("contents=write", _WRITE),
            "DELETE /contents/{path}": Need("contents=write", _WRITE),
            "GET /commits": Need("contents=read"),
            "GET /commits/{ref}": Need("contents=read"),
            "GET /commits/{commit_sha}/pulls": Need("pull_requests=read; contents=read"),
            "GET /compare/{basehead}": Need("contents=read"),
            "GET /git/ref/{ref}": Need("contents=read"),
            "GET /git/matching-refs/{ref}": Need("contents=read"),
            "POST /git/refs": Need("contents=write", _WRITE),
            "PATCH /git/refs/{ref}": Need("contents=write", _WRITE),
            "DELETE /git/refs/{ref}": Need("contents=write", _WRITE),
            "POST /git/tags": Need("contents=write", _WRITE),
            "GET /git/tags/{tag_sha}": Need("contents=read"),
            "GET /git/commits/{commit_sha}": Need("contents=read"),
            "POST /git/commits": Need("contents=write", _WRITE),
            "POST /git/blobs": Need("contents=write", _WRITE),
            "GET /git/blobs/{file_sha}": Need("contents=read"),
            "POST /git/trees": Need("contents=write", _WRITE),
            "GET /git/trees/{tree_sha}": Need("contents=read"),
            "POST /merges": Need("contents=write", _WRITE),
            "GET /teams": Need("administration=read", Role.ADMIN),
            "GET /collaborators": Need("metadata=read", _WRITE),
            "GET /collaborators/{username}": Need("metadata=read", _WRITE),
            "GET /collaborators/{username}/permission": Need("metadata=read", _WRITE),
            "GET /pulls": Need("pull_requests=read"),
            "POST /pulls": Need("pull_requests=write", _READ),
            "GET /pulls/{pull_number}": Need("pull_requests=read; contents=read"),
            "PATCH /pulls/{pull_number}": Need("pull_requests=write", _READ),
            "GET /pulls/{pull_number}/commits": Need("pull_requests=read"),
            "GET /pulls/{pull_number}/files": Need("pull_requests=read"),
            "GET /pulls/{pull_number}/merge": Need("pull_requests=read; contents=read"),
            "PUT /pulls/{pull_number}/merge": Need("contents=write", _WRITE),
            "PUT /pulls/{pull_number}/update-branch": Need("pull_requests=write", _WRITE),
            "GET /pulls/{pull_number}/comments": Need("pull_requests=read"),
            "POST /pulls/{pull_number}/comments": Need("pull_requests=write"),
            "POST /pulls/{pull_number}/comments/{comment_id}/replies": Need("pull_requests=write"),
            "GET /pulls/comments": Need("pull_requests=read"),
            "GET /pulls/comments/{comment_id}": Need("pull_requests=read"),
            "PATCH /pulls/comments/{comment_id}": Need("pull_requests=write"),
            "DELETE /pulls/comments/{comment_id}": Need("pull_requests=write"),
            "GET /releases": Need("contents=read"),
            "POST /releases": Need("contents=write", _WRITE),
            "GET /releases/latest": Need("contents=read"),
            "GET /releases/tags/{tag}": Need("contents=read"),
            "GET /releases/{release_id}": Need("contents=read"),
            "PATCH /releases/{release_id}": Need("contents=write", _WRITE),
            "DELETE /releases/{release_id}": Need("contents=write", _WRITE),
            "GET /forks": Need(),
            "POST /forks": Need("administration=write"),
            "POST /merge-upstream": Need("contents=write", _WRITE),
            "GET /pulls/{pull_number}/requested_reviewers": Need("pull_requests=read"),
            "POST /pulls/{pull_number}/requested_reviewers": Need("pull_requests=write", _WRITE),
            "DELETE /pulls/{pull_number}/requested_reviewers": Need("pull_requests=write", _WRITE),
            "GET /pulls/{pull_number}/reviews": Need("pull_requests=read"),
            "POST /pulls/{pull_number}/reviews": Need("pull_requests=write", _READ),
            "GET /pulls/{pull_number}/reviews/{review_id}": Need("pull_requests=read"),
            "PUT /pulls/{pull_number}/reviews/{review_id}/dismissals": Need(
                "pull_requests=write", _WRITE
            ),
            "GET /issues": Need("issues=read"),
            "POST /issues": Need("issues=write"),
            "POST /issues/{issue_number}/assignees": Need(_TALK_WRITE, _TRIAGE),
            "DELETE /issues/{issue_number}/assignees": Need(_TALK_WRITE, _TRIAGE),
            "PUT /issues/{issue_number}/lock": Need(_TALK_WRITE, _WRITE),
            "DELETE /issues/{issue_number}/lock": Need(_TALK_WRITE, _WRITE),
            "PATCH /labels/{name}": Need(_TALK_WRITE, _WRITE),
            "DELETE /labels/{name}": Need(_TALK_WRITE, _WRITE),
            "GET /issues/{issue_number}": Need(_TALK_READ),
            "PATCH /issues/{issue_number}": Need(_TALK_WRITE, _READ),
            "GET /issues/{issue_number}/comments": Need(_TALK_READ),
            "POST /issues/{issue_number}/comments": Need(_TALK_WRITE, _READ),
            "GET /issues/comments": Need(_TALK_READ),
            "GET /issues/comments/{comment_id}": Need(_TALK_READ),
            "PATCH /issues/comments/{comment_id}": Need(_TALK_WRITE, _READ),
            "DELETE /issues/comments/{comment_id}": Need(_TALK_WRITE, _READ),
            "GET /issues/comments/{comment_id}/reactions": Need(_TALK_READ),
            "POST /issues/comments/{comment_id}/reactions": Need(_TALK_WRITE, _READ),
            "DELETE /issues/comments/{comment_id}/reactions/{reaction_id}": Need(
                _TALK_WRITE, _READ
            ),
            "GET /issues/{issue_number}/reactions": Need(_TALK_READ),
            "POST /issues/{issue_number}/reactions": Need(_TALK_WRITE, _READ),
            "GET /issues/{issue_number}/timeline": Need(_TALK_READ),
            "GET /issues/{issue_number}/labels": Need(_TALK_READ),
            "POST /issues/{issue_number}/labels": Need(_TALK_WRITE, _TRIAGE),
            "PUT /issues/{issue_number}/labels": Need(_TALK_WRITE, _TRIAGE),
            "DELETE /issues/{issue_number}/labels": Need(_TALK_WRITE, _TRIAGE),
            "DELETE /issues/{issue_number}/labels/{name}": Need(_TALK_WRITE, _TRIAGE),
            "GET /hooks": Need("repository_hooks=read", Role.ADMIN),
            "POST /hooks": Need("repository_hooks=write", Role.ADMIN),
            "GET /hooks/{hook_id}": Need("repository_hooks=read", Role.ADMIN),
            "PATCH /hooks/{hook_id}": Need("repository_hooks=write", Role.ADMIN),
            "DELETE /hooks/{hook_id}": Need("repository_hooks=write", Role.ADMIN),
            "POST /hooks/{hook_id}/pings": Need("repository_hooks=read", Role.ADMIN),
            "GET /hooks/{hook_id}/deliveries": Need("repository_hooks=read", Role.ADMIN),
            "GET /hooks/{hook_id}/deliveries/{delivery_id}": Need(
                "repository_hooks=read", Role.ADMIN
            ),
            "POST /hooks/{hook_id}/deliveries/{delivery_id}/attempts": Need(
                "repository_hooks=write", Role.ADMIN
            ),
            "GET /labels": Need(_TALK_READ),
            "POST /labels": Need(_TALK_WRITE, _WRITE),
            "GET /labels/{name}": Need(_TALK_READ),
            "POST /check-runs": Need("checks=write", apps_only=True),
            "GET /check-runs/{check_run_id}": Need("checks=read"),
            "PATCH /check-runs/{check_run_id}": Need("checks=write", apps_only=True),
            "GET /check-runs/{check_run_id}/annotations": Need("checks=read"),
            "POST /check-runs/{check_run_id}/rerequest": Need("checks=write", _WRITE),
            "POST /check-suites": Need("checks=write", apps_only=True),
            "GET /check-suites/{check_suite_id}": Need("checks=read"),
            "GET /check-suites/{check_suite_id}/check-runs": Need("checks=read"),
            "POST /check-suites/{check_suite_id}/rerequest": Need("checks=write", _WRITE),
            "GET /commits/{ref}/check-runs": Need("checks=read"),
            "GET /commits/{ref}/check-suites": Need("checks=read"),
            "GET /commits/{ref}/status": Need("statuses=read"),
            "GET /commits/{ref}/statuses": Need("statuses=read"),
            "POST /statuses/{sha}": Need("statuses=write", _WRITE),
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
