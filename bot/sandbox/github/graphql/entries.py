"""Where GraphQL queries begin: repositories, nodes, mutations; what a caller may see of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from graphql import GraphQLResolveInfo

from bot.sandbox.errors import RefusedError
from bot.sandbox.git.objects import Commit
from bot.sandbox.github import json as basic
from bot.sandbox.github.graphql.connections import QueryError, connection
from bot.sandbox.github.routing import ApiRequest
from bot.sandbox.records.accounts import User
from bot.sandbox.records.repository import Comment, Issue, Pull, Repository, Review, Thread
from bot.sandbox.records.talk import TimelineEvent
from bot.sandbox.rules.ids import numbered
from bot.sandbox.rules.permissions import granted

Info = GraphQLResolveInfo[ApiRequest]
Resolver = Callable[..., Any]
T = TypeVar("T", bound=Thread)

TALK = "issues=read; pull_requests=read"
PULLS = "pull_requests=read"


@dataclass(frozen=True, slots=True)
class NodeOf:
    """A commit or an event, with the pull request or repository that it is of."""

    kind: str
    what: Commit | TimelineEvent | str
    repo: Repository
    pull: Pull | None = None


def request_of(info: Info) -> ApiRequest:
    """The request that a query came in."""
    return info.context


def need(info: Info, need: str) -> None:
    """Refuse an installation without a permission; null and an error in the answer."""
    token = request_of(info).caller.token
    if token is not None and not granted(token.permissions, need):
        raise QueryError("FORBIDDEN", "Resource not accessible by integration")


# Entry points.


def repository(_root: Any, info: Info, owner: str, name: str, **more: bool) -> Repository:
    """A repository by its name, or by one that it had."""
    request = request_of(info)
    found = request.state.moved(owner, name) if more.get("followRenames", True) else None
    try:
        found = found or request.state.repository(owner, name)
    except RefusedError:
        found = None
    if found is None or not request.accounts.sees(request.caller, found):
        message = f"Could not resolve to a Repository with the name '{owner}/{name}'."
        raise QueryError("NOT_FOUND", message)
    return found


def ref(repo: Repository, _info: Info, qualifiedName: str) -> NodeOf | None:  # noqa: N803 - GitHub's name
    """A branch or tag by its full name; None where there is none."""
    return NodeOf("Ref", qualifiedName, repo) if qualifiedName in repo.refs else None


def pull_request(repo: Repository, info: Info, number: int) -> Pull:
    """A pull request by its number."""
    need(info, PULLS)
    found = repo.pulls.get(number)
    if found is None:
        message = f"Could not resolve to a PullRequest with the number of {number}."
        raise QueryError("NOT_FOUND", message)
    return found


def pull_requests(repo: Repository, info: Info, **given: Any) -> Any:
    """Pull requests by state and branches."""
    need(info, PULLS)
    states, base, head = (given.get(k) for k in ("states", "baseRefName", "headRefName"))
    found = [
        pull
        for pull in repo.pulls.values()
        if (not states or state_word(pull) in states)
        and (not base or pull.base_ref == base)
        and (not head or pull.head_ref == head)
    ]
    labels = set(given.get("labels") or ())
    found = [p for p in found if not labels or labels & {label.name for label in p.labels}]
    return connection("pullRequests", ordered(found, given), given, info)


def ordered(found: list[T], given: Mapping[str, Any]) -> list[T]:
    """Issues or pull requests as the argument `orderBy` wants them; else the oldest first."""
    by = given.get("orderBy") or {"field": "CREATED_AT", "direction": "ASC"}
    keys: Mapping[str, Callable[[Thread], Any]] = {
        "COMMENTS": lambda each: len(each.comments),
        "CREATED_AT": lambda each: each.created_at,
        "UPDATED_AT": lambda each: each.updated_at,
    }
    key = keys[by["field"]]
    return sorted(
        found, key=lambda each: (key(each), each.number), reverse=by["direction"] == "DESC"
    )


def visible(info: Info) -> list[Thread]:
    """Every issue and pull request that the caller may see."""
    request, found = request_of(info), list[Thread]()
    token = request.caller.token
    for repo in request.state.data.repositories.values():
        if not request.accounts.sees(request.caller, repo):
            continue
        for threads, wanted in ((repo.issues, "issues=read"), (repo.pulls, PULLS)):
            if token is None or granted(token.permissions, wanted):
                found += threads.values()
    return found


def pull_by_id(info: Info, wanted: str) -> Pull:
    """A pull request by its global id."""
    found = _by_id(request_of(info), wanted)
    if not isinstance(found, Pull):
        message = f"Could not resolve to a node with the global id of '{wanted}'"
        raise QueryError("NOT_FOUND", message)
    return found


def node(_root: Any, info: Info, id: str) -> Any:  # noqa: A002 - GitHub's name
    """Anything by its global id."""
    found = _by_id(request_of(info), id)
    if found is None:
        message = f"Could not resolve to a node with the global id of '{id}'"
        raise QueryError("NOT_FOUND", message)
    if isinstance(found, Pull | Comment | Review | Issue):
        talk = {Comment: TALK, Issue: "issues=read"}
        need(info, talk.get(type(found), PULLS))
    return found


def _by_id(request: ApiRequest, wanted: str) -> Any:
    prefix, number = numbered(wanted)
    data = request.state.data
    if prefix in ("U", "BOT", "O"):
        return next((u for u in data.users.values() if u.id == number), None)
    for repo in data.repositories.values():
        if not request.accounts.sees(request.caller, repo):
            continue
        if prefix == "R" and repo.id == number:
            return repo
        for thing in _things(repo, prefix):
            if thing.id == number:
                return thing
    return None


def _things(repo: Repository, prefix: str) -> Sequence[Thread | Comment | Review]:
    if prefix == "PR":
        return list(repo.pulls.values())
    if prefix == "I":
        return list(repo.issues.values())
    if prefix == "IC":
        return list(repo.comments.values())
    if prefix == "PRR":
        return [review for pull in repo.pulls.values() for review in pull.reviews]
    return []


def viewer(_root: Any, info: Info) -> User:
    """Who asks."""
    return request_of(info).user


def rate_limit(_root: Any, info: Info, **_given: bool) -> dict[str, Any]:
    """A limit that is never reached; reaching it is a fault to be ordered."""
    now = basic.stamp(request_of(info).state.now())
    return {
        "cost": 1, "limit": 5000, "nodeCount": 0, "remaining": 4999, "resetAt": now, "used": 1,
    }  # fmt: skip


# Mutations.


def set_draft(draft: bool) -> Resolver:
    """The mutation that makes a draft of a pull request, or a draft ready."""

    def resolve(_root: Any, info: Info, input: dict[str, Any]) -> dict[str, Any]:  # noqa: A002 - GitHub's name
        request, wanted = request_of(info), input["pullRequestId"]
        pull = pull_by_id(info, wanted)
        # An App needs contents: write as well (docs/design.md, "GitHub: permissions and events").
        need(info, "contents=write,pull_requests=write")
        try:
            request.state.pulls.set_draft(pull, request.user, draft)
        except RefusedError as refused:
            kind = "FORBIDDEN" if refused.status == 403 else "UNPROCESSABLE"
            raise QueryError(kind, str((refused.errors or [refused.message])[0])) from None
        return {"clientMutationId": input.get("clientMutationId"), "pullRequest": pull}

    return resolve


def state_word(pull: Pull) -> str:
    """GitHub's word for how a pull request stands: OPEN, CLOSED or MERGED."""
    return "MERGED" if pull.merged else pull.state.upper()
