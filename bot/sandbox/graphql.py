"""The GraphQL mutations that REST lacks: a pull request to a draft, and back.

Errors come with HTTP 200, as GitHub's do (reference/forge.md 1, "Pull requests and merging").
"""

from __future__ import annotations

import re
from typing import Any

from bot.sandbox.accounts import granted
from bot.sandbox.errors import RefusedError
from bot.sandbox.model import Pull, Role
from bot.sandbox.routing import Answer, Request
from bot.sandbox.state import node_id

_MUTATIONS = {"convertPullRequestToDraft": True, "markPullRequestReadyForReview": False}
_CALL = re.compile(r"\b(\w+)\s*\(\s*input\s*:\s*(\$(\w+)|\{([^}]*)\})")


def answer(request: Request) -> Answer:
    """Answer a GraphQL request: one mutation, its input in a variable or in the text."""
    request.user  # noqa: B018 - refuses those without a token
    body = request.body()
    query = body.get("query")
    if not isinstance(query, str):
        raise RefusedError(400, "A query attribute must be specified and must be a string.")
    call = _CALL.search(query)
    if call is None or call[1] not in _MUTATIONS:
        field = call[1] if call is not None else "query"
        message = f"Field '{field}' doesn't exist on type 'Mutation'"
        return Answer(body={"errors": [{"message": message, "path": [field]}]})
    given = _input(call, body.get("variables") or {})
    return _mutate(request, call[1], given, query)


def _input(call: re.Match[str], variables: dict[str, Any]) -> dict[str, Any]:
    if call[3]:
        value = variables.get(call[3])
        return value if isinstance(value, dict) else {}
    return dict(re.findall(r'(\w+)\s*:\s*"([^"]*)"', call[4]))


def _mutate(request: Request, name: str, given: dict[str, Any], query: str) -> Answer:
    wanted = str(given.get("pullRequestId", ""))
    pull = _find(request, wanted)
    if pull is None:
        message = f"Could not resolve to a node with the global id of '{wanted}'"
        return _error(name, "NOT_FOUND", message)
    token = request.caller.token
    # Source: bots.md 2.4: an App needs contents:write besides pull_requests:write.
    if token is not None and not granted(token.permissions, "contents=write,pull_requests=write"):
        return _error(name, "FORBIDDEN", "Resource not accessible by integration")
    try:
        request.state.pulls.set_draft(pull, request.user, _MUTATIONS[name])
    except RefusedError as refused:
        return _error(name, "UNPROCESSABLE", (refused.errors or [refused.message])[0])
    shown = {
        "id": node_id("PR", pull.id),
        "number": pull.number,
        "isDraft": pull.draft,
        "state": "MERGED" if pull.merged else pull.state.upper(),
        "title": pull.title,
    }
    chosen = {key: value for key, value in shown.items() if re.search(rf"\b{key}\b", query)}
    done = {"clientMutationId": given.get("clientMutationId"), "pullRequest": chosen}
    return Answer(body={"data": {name: done}})


def _find(request: Request, wanted: str) -> Pull | None:
    caller, state = request.caller, request.state
    for repo in state.data.repositories.values():
        for pull in repo.pulls.values():
            if node_id("PR", pull.id) == wanted:
                if caller.token is not None:
                    ids = caller.token.repository_ids
                    seen = repo in caller.token.installation.repositories
                    return pull if seen and (ids is None or repo.id in ids) else None
                return pull if state.role(repo, caller.user) >= Role.READ else None
    return None


def _error(name: str, kind: str, message: object) -> Answer:
    error = {
        "type": kind,
        "path": [name],
        "locations": [{"line": 1, "column": 1}],
        "message": message,
    }
    return Answer(body={"data": {name: None}, "errors": [error]})
