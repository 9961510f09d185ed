"""GitHub's operations on pull requests and reviews."""

from __future__ import annotations

from collections.abc import Iterable

from bot.sandbox.api import ApiResponse
from bot.sandbox.errors import invalid, not_found, plain
from bot.sandbox.fields import BodyFields
from bot.sandbox.github import commit_json
from bot.sandbox.github import json as basic
from bot.sandbox.github import pull_json as more
from bot.sandbox.github.routing import ApiRequest, page, route
from bot.sandbox.records.repository import Pull, Review
from bot.sandbox.rules import workflows
from bot.sandbox.rules.reviews import DraftReviewComment

_PULLS = "/repos/{owner}/{repo}/pulls"
_PULL = "/repos/{owner}/{repo}/pulls/{pull_number}"
_MOST_FILES = 3000  # GitHub's cap on a pull request's list of files
_MOST_COMMITS = 250  # GitHub's cap on a pull request's list of commits


def _pull(request: ApiRequest) -> Pull:
    return request.state.pulls.find(request.repo, request.number("pull_number"))


@route("GET", _PULLS)
def list_pulls(request: ApiRequest) -> ApiResponse:
    """Pull requests; `head` without an owner is ignored, as on GitHub."""
    query, repo = request.query, request.repo
    state, base, head = query.get("state", "open"), query.get("base"), query.get("head", "")
    if state not in ("open", "closed", "all"):
        raise invalid("PullRequest", "state")
    owner, colon, branch = head.partition(":")
    known: Iterable[Pull] = (repo.open_pulls if state == "open" else repo.pulls).values()
    if colon:
        known = repo.pulls_by_head.get(branch, ())
    found = [
        pull
        for pull in known
        if state in ("all", pull.state)
        and (not base or pull.base_ref == base)
        and (not colon or pull.head_owner.lower() == owner.lower())
    ]
    updated = query.get("sort") == "updated"
    descending = query.get("direction", "asc" if "sort" in query else "desc") == "desc"
    found.sort(
        key=lambda p: (p.updated_at if updated else p.created_at, p.number), reverse=descending
    )
    listed = page(request, found)
    body = [more.simple_pull(request.links, pull) for pull in listed.body]
    return ApiResponse(body=body, headers=listed.headers)


@route("POST", _PULLS)
def create_pull(request: ApiRequest) -> ApiResponse:
    """Open a pull request."""
    pull = request.state.pulls.open(
        request.repo,
        request.user,
        title=request.text("title") or "",
        head=request.required("head"),
        base=request.required("base"),
        body=request.text("body"),
        draft=request.fields.flag("draft"),
        maintainer_can_modify=request.fields.flag("maintainer_can_modify", default=True),
    )
    made = more.pull(request.state, request.links, pull)
    return ApiResponse(status=201, body=made, headers={"Location": made["url"]})


@route("GET", _PULL)
def get_pull(request: ApiRequest) -> ApiResponse:
    """A pull request; reading it starts the search for `mergeable`."""
    pull = _pull(request)
    mergeable = request.state.mergeability.shown(pull)
    return ApiResponse(body=more.pull(request.state, request.links, pull, mergeable))


@route("PATCH", _PULL)
def update_pull(request: ApiRequest) -> ApiResponse:
    """Change title, text, base or state."""
    pull = _pull(request)
    request.state.pulls.edit(
        pull,
        request.user,
        title=request.text("title"),
        body=request.text("body"),
        base=request.text("base"),
        state=request.text("state"),
    )
    return ApiResponse(body=more.pull(request.state, request.links, pull))


@route("GET", f"{_PULL}/files")
def list_files(request: ApiRequest) -> ApiResponse:
    """Files that a pull request changes."""
    pull = _pull(request)
    repo = pull.head_repo or pull.repo
    found = page(request, request.state.pulls.files(pull)[:_MOST_FILES])
    body = [commit_json.file(request.links, repo, pull.head_sha, f) for f in found.body]
    return ApiResponse(body=body, headers=found.headers)


@route("GET", f"{_PULL}/commits")
def list_commits(request: ApiRequest) -> ApiResponse:
    """Commits of a pull request, oldest first."""
    pull = _pull(request)
    found = page(request, request.state.pulls.commits(pull)[:_MOST_COMMITS])
    body = [commit_json.commit(request.state, request.links, pull.repo, c) for c in found.body]
    return ApiResponse(body=body, headers=found.headers)


@route("GET", f"{_PULL}/merge")
def check_merged(request: ApiRequest) -> ApiResponse:
    """204 when it is merged, else 404."""
    if not _pull(request).merged:
        raise not_found()
    return ApiResponse(status=204)


@route("PUT", f"{_PULL}/merge")
def merge(request: ApiRequest) -> ApiResponse:
    """Merge, if the rules allow it now and the head is the one asked for."""
    pull = _pull(request)
    workflows.check_merge(request.state, pull, request.caller)
    sha = request.state.pulls.merge(
        pull,
        request.user,
        sha=request.text("sha"),
        method=request.text("merge_method") or "merge",
        title=request.text("commit_title"),
        message=request.text("commit_message"),
    )
    body = {"sha": sha, "merged": True, "message": "Pull Request successfully merged"}
    return ApiResponse(body=body)


@route("PUT", f"{_PULL}/update-branch")
def update_branch(request: ApiRequest) -> ApiResponse:
    """Merge the base into the head."""
    pull = _pull(request)
    request.state.pulls.update_branch(pull, request.user, request.text("expected_head_sha"))
    url = f"{basic.repo_url(request.links, pull.repo)}/pulls/{pull.number}"
    return ApiResponse(status=202, body={"message": "Updating pull request branch.", "url": url})


@route("GET", f"{_PULL}/reviews")
def list_reviews(request: ApiRequest) -> ApiResponse:
    """Reviews, oldest first."""
    found = page(request, _pull(request).reviews)
    body = [more.review(request.links, r) for r in found.body]
    return ApiResponse(body=body, headers=found.headers)


@route("POST", f"{_PULL}/reviews")
def create_review(request: ApiRequest) -> ApiResponse:
    """Submit a review."""
    pull = _pull(request)
    lines = [_remark(each) for each in request.fields.objects("comments")]
    if lines:
        request.state.reviews.check_lines(request.state.pulls.files(pull), lines)
    review = request.state.reviews.submit(
        pull,
        request.user,
        request.required("event"),
        request.text("body") or "",
        request.text("commit_id"),
    )
    request.state.reviews.remark(review, lines)
    return ApiResponse(body=more.review(request.links, review))


def _remark(given: BodyFields) -> DraftReviewComment:
    """A remark that comes with a review, at lines of the head."""
    last = given.number("line")
    if last is None:
        raise plain('Invalid request.\n\n"line" wasn\'t supplied.')
    return DraftReviewComment(
        given.required("path"), given.number("start_line") or last, last, given.required("body")
    )


def _review(request: ApiRequest) -> Review:
    wanted = request.number("review_id")
    found = next((r for r in _pull(request).reviews if r.id == wanted), None)
    if found is None:
        raise not_found()
    return found


@route("GET", f"{_PULL}/reviews/{{review_id}}")
def get_review(request: ApiRequest) -> ApiResponse:
    """One review."""
    return ApiResponse(body=more.review(request.links, _review(request)))


@route("PUT", f"{_PULL}/reviews/{{review_id}}/dismissals")
def dismiss_review(request: ApiRequest) -> ApiResponse:
    """Dismiss a review."""
    review = _review(request)
    request.state.reviews.dismiss(review, request.user, request.required("message"))
    return ApiResponse(body=more.review(request.links, review))


@route("GET", f"{_PULL}/requested_reviewers")
def list_reviewers(request: ApiRequest) -> ApiResponse:
    """People who are asked for a review and have not given one yet."""
    people = [basic.user(request.links, who) for who in _pull(request).requested_reviewers]
    return ApiResponse(body={"users": people, "teams": []})


@route("POST", f"{_PULL}/requested_reviewers")
def request_reviewers(request: ApiRequest) -> ApiResponse:
    """Ask people for a review."""
    pull, logins = _pull(request), request.fields.texts("reviewers") or []
    request.state.reviews.ask(pull, request.user, logins)
    return ApiResponse(status=201, body=more.simple_pull(request.links, pull))


@route("DELETE", f"{_PULL}/requested_reviewers")
def remove_reviewers(request: ApiRequest) -> ApiResponse:
    """Ask no more."""
    pull, logins = _pull(request), request.fields.texts("reviewers")
    if logins is None:
        raise plain('Invalid request.\n\n"reviewers" wasn\'t supplied.')
    request.state.reviews.unask(pull, request.user, logins)
    return ApiResponse(body=more.simple_pull(request.links, pull))
