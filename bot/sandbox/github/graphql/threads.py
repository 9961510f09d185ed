"""What `gh` reads of pull requests and issues besides `fields`: labels, people, files.

Source: GitHub's GraphQL reference; which fields are asked for, the command line's own queries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bot.sandbox import refnames
from bot.sandbox.github import json as basic
from bot.sandbox.github.graphql.connections import QueryError, connection
from bot.sandbox.github.graphql.entries import (
    PULLS,
    TALK,
    Info,
    NodeOf,
    Resolver,
    need,
    ordered,
    request_of,
)
from bot.sandbox.github.graphql.search import mentions
from bot.sandbox.github.pull_json import association
from bot.sandbox.records.repository import Comment, Issue, Pull, Repository, Review, Thread
from bot.sandbox.rules.ids import node_id

_REACTIONS: Mapping[str, str] = {
    "+1": "THUMBS_UP",
    "-1": "THUMBS_DOWN",
    "laugh": "LAUGH",
    "hooray": "HOORAY",
    "confused": "CONFUSED",
    "heart": "HEART",
    "rocket": "ROCKET",
    "eyes": "EYES",
}


def _pages(field: str, read: Callable[[Any, Info], Sequence[Any]]) -> Resolver:
    return lambda thing, info, **given: connection(field, read(thing, info), given, info)


def _reactions(on: Thread | Comment, _info: Info) -> list[dict[str, Any]]:
    users = {word: [r.user for r in on.reactions if r.content == word] for word in _REACTIONS}
    return [{"content": _REACTIONS[word], "who": who} for word, who in users.items()]


def _commits(pull: Pull, info: Info) -> list[Any]:
    need(info, PULLS)
    found = request_of(info).state.pulls.commits(pull)
    return [NodeOf("PullRequestCommit", commit, pull.repo, pull) for commit in found]


def _files(pull: Pull, info: Info) -> Sequence[Any]:
    need(info, PULLS)
    return request_of(info).state.pulls.files(pull)


def _sum(field: str) -> Resolver:
    return lambda pull, info: sum(getattr(each, field) for each in _files(pull, info))


def _latest_reviews(pull: Pull, _info: Info) -> list[Review]:
    """The newest verdict of each person; comments count only where there is none."""
    newest: dict[str, Review] = {}
    for review in pull.reviews:
        before = newest.get(review.user.login)
        if before is None or review.state != "COMMENTED" or before.state == "COMMENTED":
            newest[review.user.login] = review
    return list(newest.values())


def _decision(pull: Pull, info: Info) -> str | None:
    return request_of(info).state.rules.review_decision(pull)


def _protection(ref: Any, info: Info) -> dict[str, Any] | None:
    branch = refnames.branch_name(ref.what)
    found = request_of(info).state.rules.protection(ref.repo, branch)
    if found is None:
        return None
    return {
        "requiredApprovingReviewCount": found.required_reviews,
        "requiresApprovingReviews": found.required_reviews > 0,
        "requiresStrictStatusChecks": found.strict,
    }


def _base(pull: Pull, _info: Info) -> Any:
    there = pull.repo.branch(pull.base_ref)
    return NodeOf("Ref", refnames.branch_ref(pull.base_ref), pull.repo) if there else None


def _authors(commit: Any, info: Info) -> list[dict[str, Any]]:
    who = commit.what.author
    user = request_of(info).state.account_of(who.email)
    return [{
        "date": basic.stamp(who.when), "email": who.email, "name": who.name,
        "user": user if user is not None and user.kind == "User" and not user.app else None,
    }]  # fmt: skip


# Issues of a repository.


def issue(repo: Repository, info: Info, number: int) -> Issue:
    """An issue by its number."""
    need(info, "issues=read")
    found = repo.issues.get(number)
    if found is None:
        message = f"Could not resolve to an Issue with the number of {number}."
        raise QueryError("NOT_FOUND", message)
    return found


def either(repo: Repository, info: Info, number: int) -> Thread:
    """An issue or a pull request by the number that they share."""
    need(info, TALK)
    found = repo.issues.get(number) or repo.pulls.get(number)
    if found is None:
        message = f"Could not resolve to an issue or pull request with the number of {number}."
        raise QueryError("NOT_FOUND", message)
    return found


def issues(repo: Repository, info: Info, **given: Any) -> Any:
    """Issues by state, labels and people."""
    need(info, "issues=read")
    wanted = given.get("filterBy") or {}
    states = wanted.get("states") or given.get("states")
    labels = {*(given.get("labels") or ()), *(wanted.get("labels") or ())}
    found = [
        each
        for each in repo.issues.values()
        if (not states or each.state.upper() in states)
        and (not labels or labels & {label.name for label in each.labels})
        and _of_people(each, wanted)
    ]
    return connection("issues", ordered(found, given), given, info)


def _of_people(thread: Thread, wanted: Mapping[str, str | None]) -> bool:
    author, assignee, mentioned = (
        wanted.get(key) for key in ("createdBy", "assignee", "mentioned")
    )
    return (
        (not author or thread.user.login.lower() == author.lower())
        and (not assignee or any(w.login.lower() == assignee.lower() for w in thread.assignees))
        and (not mentioned or mentions(thread, mentioned))
    )


def _none(field: str) -> Resolver:
    return lambda _thing, info, **given: connection(field, (), given, info)


_LISTED: Mapping[str, Resolver] = {
    "assignees": _pages("assignees", lambda t, _: t.assignees),
    "authorAssociation": lambda t, _info: association(t.repo, t.user),
    "labels": _pages("labels", lambda t, _: t.labels),
    "milestone": lambda _t, _info: None,
    "projectCards": _none("projectCards"),
    "reactionGroups": _reactions,
}

FIELDS: Mapping[str, Mapping[str, Resolver]] = {
    "Commit": {
        "authoredDate": lambda f, _info: basic.stamp(f.what.author.when),
        "authors": _pages("authors", _authors),
        "messageBody": lambda f, _info: f.what.message.partition("\n")[2].strip("\n"),
    },
    "Ref": {"branchProtectionRule": _protection},
    "Repository": {
        "description": lambda r, _info: r.description,
        "hasIssuesEnabled": lambda _r, _info: True,
        "issue": issue,
        "issueOrPullRequest": either,
        "issues": issues,
    },
    "PullRequest": {
        **_LISTED,
        "additions": _sum("additions"),
        "autoMergeRequest": lambda _p, _info: None,
        "baseRef": _base,
        "changedFiles": lambda p, info: len(_files(p, info)),
        "commits": _pages("commits", _commits),
        "deletions": _sum("deletions"),
        "files": _pages("files", _files),
        "headRepositoryOwner": lambda p, _info: p.head_repo.owner if p.head_repo else None,
        "latestReviews": _pages("latestReviews", _latest_reviews),
        "maintainerCanModify": lambda p, _info: p.maintainer_can_modify,
        "reviewDecision": _decision,
        "reviewRequests": _pages(
            "reviewRequests",
            lambda p, _: [{"requestedReviewer": who} for who in p.requested_reviewers],
        ),
    },
    "IssueComment": {
        "authorAssociation": lambda c, _info: association(c.thread.repo, c.user),
        "isMinimized": lambda _c, _info: False,
        "issue": lambda c, _info: c.thread if isinstance(c.thread, Issue) else None,
        "minimizedReason": lambda _c, _info: None,
        "reactionGroups": _reactions,
    },
    "PullRequestReview": {
        "authorAssociation": lambda r, _info: association(r.pull.repo, r.user),
        "reactionGroups": lambda _r, _info: [
            {"content": each, "who": ()} for each in _REACTIONS.values()
        ],
    },
    "Label": {"id": lambda each, _info: node_id("LA", each.id)},
    "ReactionGroup": {"users": _pages("users", lambda group, _: group["who"])},
    "Issue": {
        **_LISTED,
        "state": lambda i, _info: i.state.upper(),
        "stateReason": lambda i, _info: i.state_reason and i.state_reason.upper(),
        "userContentEdits": _pages("userContentEdits", lambda i, _info: i.edits[::-1]),
    },
    "UserContentEdit": {
        "editedAt": lambda e, _info: basic.stamp(e.at),
        "editor": lambda e, _info: e.editor,
    },
}
"""Type and field to what it holds."""
