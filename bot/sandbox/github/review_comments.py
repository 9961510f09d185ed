"""GitHub's operations on review comments: remarks at lines of a pull request's files."""

from __future__ import annotations

from bot.sandbox.api import ApiResponse
from bot.sandbox.errors import RefusedError, custom, invalid, not_found, plain
from bot.sandbox.github import json as basic
from bot.sandbox.github import pull_json as more
from bot.sandbox.github.json import Json
from bot.sandbox.github.routing import ApiRequest, page, route
from bot.sandbox.records.accounts import Role
from bot.sandbox.records.repository import Pull
from bot.sandbox.records.talk import LastEdit, ReviewComment
from bot.sandbox.rules import limits
from bot.sandbox.rules.ids import node_id

_PULLS = "/repos/{owner}/{repo}/pulls"
_OF_PULL = "/repos/{owner}/{repo}/pulls/{pull_number}/comments"
_ONE = "/repos/{owner}/{repo}/pulls/comments/{comment_id}"


def _pull(request: ApiRequest) -> Pull:
    return request.state.pulls.find(request.repo, request.number("pull_number"))


@route("GET", _OF_PULL)
def list_of_pull(request: ApiRequest) -> ApiResponse:
    """Remarks of a pull request, oldest first."""
    pull = _pull(request)
    return page(request, [_shown(request, pull, made) for made in pull.remarks])


@route("GET", f"{_PULLS}/comments")
def list_of_repository(request: ApiRequest) -> ApiResponse:
    """Remarks of all pull requests."""
    found = [
        _shown(request, pull, made) for pull in request.repo.pulls.values() for made in pull.remarks
    ]
    return page(request, found)


@route("POST", _OF_PULL)
def create(request: ApiRequest) -> ApiResponse:
    """Remark at a line of a file that the pull request changes, or answer a remark."""
    pull, fields = _pull(request), request.fields
    answered = fields.number("in_reply_to")
    if answered is not None:
        return _reply(request, pull, answered)
    path, line = request.required("path"), fields.number("line") or fields.number("position")
    commit = request.required("commit_id")
    if request.state.git(pull.repo).kind(commit) != "commit":
        raise invalid("PullRequestReviewComment", "commit_id")
    if all(file.path != path for file in request.state.pulls.files(pull)):
        raise invalid("PullRequestReviewComment", "path")
    if fields.text("subject_type") != "file" and (line is None or line < 1):
        raise custom("PullRequestReviewComment", "line must be part of the diff", "line")
    side = request.text("side") or "RIGHT"
    if side not in ("LEFT", "RIGHT"):
        raise plain(f"Invalid request.\n\n{side} is not a possible side.")
    return _write(request, pull, path=path, line=line, side=side, commit=commit, answers=None)


@route("POST", f"{_OF_PULL}/{{comment_id}}/replies")
def reply(request: ApiRequest) -> ApiResponse:
    """Answer a remark."""
    return _reply(request, _pull(request), request.number("comment_id"))


def _reply(request: ApiRequest, pull: Pull, answered: int) -> ApiResponse:
    first = next((made for made in pull.remarks if made.id == answered), None)
    if first is None:
        raise not_found()
    return _write(
        request,
        pull,
        path=first.path,
        line=first.line,
        side=first.side,
        commit=first.commit_id,
        answers=first.answers or first.id,
    )


def _write(
    request: ApiRequest,
    pull: Pull,
    *,
    path: str,
    line: int | None,
    side: str,
    commit: str,
    answers: int | None,
) -> ApiResponse:
    body, now = request.required("body"), request.state.now()
    _check(body)
    made = ReviewComment(
        id=request.state.next_id(),
        user=request.user,
        body=body,
        path=path,
        line=line,
        side=side,
        commit_id=commit,
        answers=answers,
        created_at=now,
        updated_at=now,
    )
    pull.remarks.append(made)
    shown = _shown(request, pull, made)
    return ApiResponse(status=201, body=shown, headers={"Location": shown["url"]})


@route("GET", _ONE)
def get(request: ApiRequest) -> ApiResponse:
    """One remark."""
    return ApiResponse(body=_shown(request, *_found(request)))


@route("PATCH", _ONE)
def update(request: ApiRequest) -> ApiResponse:
    """Change a remark's text."""
    pull, made = _found(request)
    _own(request, pull, made)
    body = request.required("body")
    _check(body)
    made.body, made.updated_at = body, request.state.now()
    made.edit = LastEdit(request.user, made.updated_at)
    return ApiResponse(body=_shown(request, pull, made))


@route("DELETE", _ONE)
def delete(request: ApiRequest) -> ApiResponse:
    """Take a remark away."""
    pull, made = _found(request)
    _own(request, pull, made)
    pull.remarks.remove(made)
    return ApiResponse(status=204)


def _found(request: ApiRequest) -> tuple[Pull, ReviewComment]:
    wanted = request.number("comment_id")
    for pull in request.repo.pulls.values():
        for made in pull.remarks:
            if made.id == wanted:
                return pull, made
    raise not_found()


def _own(request: ApiRequest, pull: Pull, made: ReviewComment) -> None:
    user = request.user
    if made.user is user or user.app is not None:
        return  # what an App may change is decided by its permissions
    if request.state.role(pull.repo, user) < Role.WRITE:
        raise RefusedError(403, "Must have admin rights to Repository.")


def _check(body: str) -> None:
    if not body.strip():
        raise custom("PullRequestReviewComment", "body cannot be blank", "body")
    limits.check_body("PullRequestReviewComment", body)


def _shown(request: ApiRequest, pull: Pull, made: ReviewComment) -> Json:
    """Schema `pull-request-review-comment`."""
    links, repo = request.links, pull.repo
    pull_url = f"{basic.repo_url(links, repo)}/pulls/{pull.number}"
    url = f"{basic.repo_url(links, repo)}/pulls/comments/{made.id}"
    html = f"{basic.repo_html(links, repo)}/pull/{pull.number}#discussion_r{made.id}"
    shown: Json = {
        "url": url,
        "pull_request_review_id": made.review,
        "id": made.id,
        "node_id": node_id("PRRC", made.id),
        "diff_hunk": _hunk(request, pull, made.path),
        "path": made.path,
        "commit_id": made.commit_id,
        "original_commit_id": made.commit_id,
        "user": basic.user(links, made.user),
        "body": made.body,
        "created_at": basic.stamp(made.created_at),
        "updated_at": basic.stamp(made.updated_at),
        "html_url": html,
        "pull_request_url": pull_url,
        "author_association": more.association(repo, made.user),
        "_links": {
            "self": {"href": url},
            "html": {"href": html},
            "pull_request": {"href": pull_url},
        },
        "side": made.side,
        "subject_type": "line" if made.line else "file",
        "reactions": more.rollup(url, []),
    }
    if made.line:
        shown |= {"line": made.line, "original_line": made.line}
    if made.first:
        shown |= {"start_line": made.first, "original_start_line": made.first}
        shown["start_side"] = made.side
    if made.answers is not None:
        shown["in_reply_to_id"] = made.answers
    return shown


def _hunk(request: ApiRequest, pull: Pull, path: str) -> str:
    files = request.state.pulls.files(pull)
    return next((file.patch or "" for file in files if file.path == path), "")
