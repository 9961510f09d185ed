"""GitHub's operations on branches, their protection, and tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from bot.sandbox import refnames
from bot.sandbox.api import ApiResponse
from bot.sandbox.errors import RefusedError
from bot.sandbox.github import commit_json
from bot.sandbox.github import json as basic
from bot.sandbox.github.routing import ApiRequest, page, route
from bot.sandbox.records.protection import Protection

_REPO = "/repos/{owner}/{repo}"


@route("GET", f"{_REPO}/branches/{{branch}}/protection")
def get_protection(request: ApiRequest) -> ApiResponse:
    """Classic protection of a branch; 404 "Branch not protected" without."""
    repo, branch = request.repo, request.params["branch"]
    rules = request.state.rules.protection(repo, branch)
    if rules is None:
        raise RefusedError(404, "Branch not protected")
    url = f"{basic.repo_url(request.links, repo)}/branches/{quote(branch)}/protection"
    body: dict[str, Any] = {
        "url": url,
        "enforce_admins": {"url": f"{url}/enforce_admins", "enabled": True},
        "required_linear_history": {"enabled": False},
        "allow_force_pushes": {"enabled": False},
        "allow_deletions": {"enabled": False},
    }
    if rules.required_checks:
        body["required_status_checks"] = _status_checks(rules, url)
    if rules.required_reviews:
        body["required_pull_request_reviews"] = {
            "url": f"{url}/required_pull_request_reviews",
            "dismiss_stale_reviews": rules.dismiss_stale,
            "require_code_owner_reviews": False,
            "require_last_push_approval": False,
            "required_approving_review_count": rules.required_reviews,
        }
    return ApiResponse(body=body)


def _status_checks(rules: Protection, url: str) -> basic.Json:
    return {
        "url": f"{url}/required_status_checks",
        "contexts_url": f"{url}/required_status_checks/contexts",
        "strict": rules.strict,
        "contexts": [context for context, _ in rules.required_checks],
        "checks": [{"context": c, "app_id": app} for c, app in rules.required_checks],
    }


@route("GET", f"{_REPO}/branches/{{branch}}/protection/required_status_checks")
def get_required_checks(request: ApiRequest) -> ApiResponse:
    """Checks that classic protection requires; 404 where it requires none."""
    repo, branch = request.repo, request.params["branch"]
    rules = request.state.rules.protection(repo, branch)
    if rules is None:
        raise RefusedError(404, "Branch not protected")
    if not rules.required_checks:
        raise RefusedError(404, "Required status checks not enabled")
    url = f"{basic.repo_url(request.links, repo)}/branches/{quote(branch)}/protection"
    return ApiResponse(body=_status_checks(rules, url))


@route("GET", f"{_REPO}/branches")
def list_branches(request: ApiRequest) -> ApiResponse:
    """Branches, by name."""
    repo = request.repo
    only = request.query.get("protected")
    refs: Sequence[str] = repo.refs.below(refnames.branch_ref(""))
    if only == "true":
        refs = [
            ref
            for name in sorted(repo.protections)
            if (ref := refnames.branch_ref(name)) in repo.refs
        ]
    elif only == "false":
        refs = [ref for ref in refs if refnames.branch_name(ref) not in repo.protections]
    found = page(request, refs)
    url = basic.repo_url(request.links, repo)
    body = [
        {
            "name": refnames.branch_name(ref),
            "commit": {"sha": repo.refs[ref], "url": f"{url}/commits/{repo.refs[ref]}"},
            "protected": refnames.branch_name(ref) in repo.protections,
        }
        for ref in found.body
    ]
    return ApiResponse(body=body, headers=found.headers)


@route("GET", f"{_REPO}/branches/{{branch}}")
def get_branch(request: ApiRequest) -> ApiResponse:
    """A branch and its newest commit."""
    repo, name = request.repo, request.params["branch"]
    sha = repo.branch(name)
    if sha is None:
        raise RefusedError(404, "Branch not found")
    url = f"{basic.repo_url(request.links, repo)}/branches/{quote(name)}"
    rules = request.state.rules.protection(repo, name)
    checks = rules.required_checks if rules else ()
    commit = request.state.git(repo).commit(sha)
    body = {
        "name": name,
        "commit": commit_json.commit(request.state, request.links, repo, commit),
        "_links": {
            "self": url,
            "html": f"{basic.repo_html(request.links, repo)}/tree/{quote(name)}",
        },
        "protected": rules is not None,
        "protection": {
            "enabled": rules is not None,
            "required_status_checks": {
                "enforcement_level": "everyone" if checks else "off",
                "contexts": [context for context, _ in checks],
                "checks": [{"context": c, "app_id": app} for c, app in checks],
            },
        },
        "protection_url": f"{url}/protection",
    }
    return ApiResponse(body=body)


@route("GET", f"{_REPO}/tags")
def list_tags(request: ApiRequest) -> ApiResponse:
    """Tags, newest name first, each with the commit behind it."""
    repo = request.repo
    url, html = basic.repo_url(request.links, repo), basic.repo_html(request.links, repo)
    found = page(request, repo.refs.below(refnames.tag_ref("")).backwards())
    body = []
    for ref in found.body:
        name = refnames.tag_name(ref)
        sha = request.state.peel(repo, repo.refs[ref])
        body.append(
            {
                "name": name,
                "commit": {"sha": sha, "url": f"{url}/commits/{sha}"},
                "zipball_url": f"{html}/zipball/{quote(ref)}",
                "tarball_url": f"{html}/tarball/{quote(ref)}",
                "node_id": f"REF_{repo.id}:{ref}",
            }
        )
    return ApiResponse(body=body, headers=found.headers)
