"""GitHub's operations on the conversation: issue, comments, reactions, labels."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.sandbox import github_pull_json as more
from bot.sandbox.fields import Fields, moment, parsed
from bot.sandbox.model import Comment, Pull
from bot.sandbox.routing import Answer, Request, page, route

_REPO = "/repos/{owner}/{repo}"
_ISSUE = f"{_REPO}/issues/{{issue_number}}"
_COMMENT = f"{_REPO}/issues/comments/{{comment_id}}"


def _pull(request: Request) -> Pull:
    return request.state.pulls.find(request.repo, request.number("issue_number"))


def _comment(request: Request) -> Comment:
    return request.state.talk.find(request.repo, request.number("comment_id"))


def _since(request: Request) -> datetime:
    text = request.query.get("since")
    if not text:
        return datetime.fromtimestamp(0, UTC)
    return moment(text)


@route("GET", f"{_REPO}/issues/comments")
def list_repo_comments(request: Request) -> Answer:
    """Comments of all conversations, by id or by the time they changed."""
    since, query = _since(request), request.query
    found = [
        comment
        for pull in request.repo.pulls.values()
        for comment in pull.comments
        if comment.updated_at >= since
    ]
    if query.get("sort") == "updated":
        descending = query.get("direction", "desc") == "desc"
        found.sort(key=lambda c: (c.updated_at, c.id), reverse=descending)
    else:
        descending = query.get("sort") == "created" and query.get("direction", "desc") == "desc"
        found.sort(key=lambda c: c.id, reverse=descending)
    return _comments(request, found)


@route("GET", f"{_ISSUE}/comments")
def list_comments(request: Request) -> Answer:
    """Comments of one conversation, oldest first."""
    since = _since(request)
    return _comments(request, [c for c in _pull(request).comments if c.updated_at >= since])


def _comments(request: Request, found: list[Comment]) -> Answer:
    listed = page(request, found)
    body = [more.comment(request.links, comment) for comment in listed.body]
    return Answer(body=body, headers=listed.headers)


@route("POST", f"{_ISSUE}/comments")
def create_comment(request: Request) -> Answer:
    """Write a comment."""
    made = request.state.talk.comment(_pull(request), request.user, request.required("body"))
    body = more.comment(request.links, made)
    return Answer(status=201, body=body, headers={"Location": body["url"]})


@route("GET", _COMMENT)
def get_comment(request: Request) -> Answer:
    """One comment."""
    return Answer(body=more.comment(request.links, _comment(request)))


@route("PATCH", _COMMENT)
def update_comment(request: Request) -> Answer:
    """Change a comment's text."""
    comment = _comment(request)
    request.state.talk.edit(comment, request.user, request.required("body"))
    return Answer(body=more.comment(request.links, comment))


@route("DELETE", _COMMENT)
def delete_comment(request: Request) -> Answer:
    """Take a comment away."""
    request.state.talk.delete(_comment(request), request.user)
    return Answer(status=204)


@route("GET", f"{_COMMENT}/reactions")
def list_comment_reactions(request: Request) -> Answer:
    """Reactions on a comment."""
    return _reactions(request, _comment(request))


@route("POST", f"{_COMMENT}/reactions")
def create_comment_reaction(request: Request) -> Answer:
    """React to a comment: 201 for a new reaction, 200 for one that is there."""
    return _react(request, _comment(request))


@route("DELETE", f"{_COMMENT}/reactions/{{reaction_id}}")
def delete_comment_reaction(request: Request) -> Answer:
    """Take a reaction back."""
    reaction_id = request.number("reaction_id")
    request.state.talk.unreact(_comment(request), request.user, reaction_id)
    return Answer(status=204)


@route("GET", f"{_ISSUE}/reactions")
def list_reactions(request: Request) -> Answer:
    """Reactions on a pull request."""
    return _reactions(request, _pull(request))


@route("POST", f"{_ISSUE}/reactions")
def create_reaction(request: Request) -> Answer:
    """React to a pull request."""
    return _react(request, _pull(request))


def _reactions(request: Request, on: Comment | Pull) -> Answer:
    content = request.query.get("content")
    found = [r for r in on.reactions if not content or r.content == content]
    return page(request, [more.reaction(request.links, r) for r in found])


def _react(request: Request, on: Comment | Pull) -> Answer:
    made, fresh = request.state.talk.react(on, request.user, request.required("content"))
    return Answer(status=201 if fresh else 200, body=more.reaction(request.links, made))


@route("GET", _ISSUE)
def get_issue(request: Request) -> Answer:
    """The issue that a pull request is too."""
    return Answer(body=more.issue(request.links, _pull(request)))


@route("PATCH", _ISSUE)
def update_issue(request: Request) -> Answer:
    """Change title, text, state, labels or assignees."""
    pull, labels = _pull(request), request.fields.names("labels")
    assignees = request.fields.names("assignees")
    request.state.pulls.edit(
        pull,
        request.user,
        title=request.text("title"),
        body=request.text("body"),
        state=request.text("state"),
    )
    if labels is not None:
        request.state.talk.set_labels(pull, request.user, labels)
    if assignees is not None:
        request.state.talk.assign(pull, assignees)
    return Answer(body=more.issue(request.links, pull))


@route("GET", f"{_ISSUE}/labels")
def list_issue_labels(request: Request) -> Answer:
    """Labels on a pull request."""
    return _labels(request, _pull(request))


@route("POST", f"{_ISSUE}/labels")
def add_labels(request: Request) -> Answer:
    """Put labels on."""
    pull = _pull(request)
    request.state.talk.add_labels(pull, request.user, _given(request))
    return _labels(request, pull)


@route("PUT", f"{_ISSUE}/labels")
def set_labels(request: Request) -> Answer:
    """Make the labels exactly these."""
    pull = _pull(request)
    request.state.talk.set_labels(pull, request.user, _given(request))
    return _labels(request, pull)


@route("DELETE", f"{_ISSUE}/labels")
def remove_labels(request: Request) -> Answer:
    """Take all labels off."""
    request.state.talk.set_labels(_pull(request), request.user, [])
    return Answer(status=204)


@route("DELETE", f"{_ISSUE}/labels/{{name}}")
def remove_label(request: Request) -> Answer:
    """Take one label off; answers those left."""
    pull = _pull(request)
    request.state.talk.remove_label(pull, request.user, request.params["name"])
    return _labels(request, pull)


def _labels(request: Request, pull: Pull) -> Answer:
    return page(request, [more.label(request.links, pull.repo, made) for made in pull.labels])


def _given(request: Request) -> list[str]:
    # GitHub takes a bare list too, which is what PyGithub sends.
    bare = request.raw.lstrip().startswith(b"[")
    fields = Fields({"labels": parsed(request.raw)}) if bare else request.fields
    return fields.names("labels") or []


@route("GET", f"{_REPO}/labels")
def list_labels(request: Request) -> Answer:
    """Labels of a repository."""
    repo = request.repo
    return page(request, [more.label(request.links, repo, made) for made in repo.labels.values()])


@route("POST", f"{_REPO}/labels")
def create_label(request: Request) -> Answer:
    """Make a label."""
    made = request.state.talk.create_label(
        request.repo,
        request.required("name"),
        request.text("color") or "",
        request.text("description"),
    )
    body = more.label(request.links, request.repo, made)
    return Answer(status=201, body=body, headers={"Location": body["url"]})


@route("GET", f"{_REPO}/labels/{{name}}")
def get_label(request: Request) -> Answer:
    """One label."""
    found = request.state.talk.label(request.repo, request.params["name"])
    return Answer(body=more.label(request.links, request.repo, found))
