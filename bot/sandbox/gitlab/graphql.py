"""The parts of GitLab's GraphQL that REST lacks: accounts of authors, and when notes were edited.

Source: https://docs.gitlab.com/api/graphql/reference/#commit,
https://docs.gitlab.com/api/graphql/reference/#note
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    build_schema,
    execute_sync,
    parse,
    validate,
)

from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab.routing import AccessRequirement, ApiRequest, route
from bot.sandbox.gitlab.rules import merging
from bot.sandbox.records.accounts import User
from bot.sandbox.records.merge_requests import MergeRequest, Note

_NEED = AccessRequirement(signed_in=True, scopes=("api", "read_api"))

_SCHEMA = build_schema(
    """
    scalar UserID
    scalar NoteID
    scalar Time
    type Query { project(fullPath: ID!): Project note(id: NoteID!): Note }
    type Note { id: NoteID! lastEditedAt: Time updatedAt: Time! }
    type Project { mergeRequest(iid: String!): MergeRequest }
    type MergeRequest { commits(first: Int): CommitConnection }
    type CommitConnection { nodes: [Commit] }
    type Commit { sha: String! authorEmail: String author: UserCore }
    type UserCore { id: UserID! username: String! }
    """
)


@route("POST", "/api/graphql", _NEED)
def query(request: ApiRequest) -> ApiResponse:
    """Answer a query; what it may not see is null."""

    def project(_info: Any, fullPath: str) -> dict[str, Any] | None:  # noqa: N803 # GitLab's name
        wanted = fullPath.lower()
        repositories = request.state.data.repositories.values()
        repo = next((r for r in repositories if r.full_name.lower() == wanted), None)
        if repo is None or not request.reads_code(repo):
            return None

        def merge_request(_info: Any, iid: str) -> dict[str, Any] | None:
            found = repo.pulls.get(int(iid)) if iid.isdecimal() else None
            return _merge_request(request, found) if isinstance(found, MergeRequest) else None

        return {"mergeRequest": merge_request}

    def note(_info: Any, id: Any) -> dict[str, Any] | None:  # noqa: A002 # GitLab's name
        return _note(request, str(id))

    body = request.input
    asked = body.inner("variables")
    document, wrong = _read(body.filled("query"))
    if wrong:
        return ApiResponse(body=ExecutionResult(None, wrong).formatted)
    result = execute_sync(
        _SCHEMA,
        document,
        root_value={"project": project, "note": note},
        variable_values=dict(asked.plain()) if asked else {},
    )
    return ApiResponse(body=result.formatted)


@lru_cache(maxsize=64)
def _read(query: str) -> tuple[DocumentNode, list[GraphQLError]]:
    """Parse a query and tell what is wrong with it; clients send a few, again and again."""
    try:
        document = parse(query)
    except GraphQLError as error:
        return DocumentNode(), [error]
    return document, validate(_SCHEMA, document)


def _note(request: ApiRequest, name: str) -> dict[str, Any] | None:
    """A note that the asker sees; null for others."""
    number = name.rpartition("/")[2]
    for repo in request.state.data.repositories.values():
        found = repo.comments.get(int(number)) if number.isdecimal() else None
        if isinstance(found, Note) and request.reads_code(repo) and not found.internal:
            edited = found.last_edited_at
            return {
                "id": name,
                "lastEditedAt": edited.isoformat() if edited else None,
                "updatedAt": found.updated_at.isoformat(),
            }
    return None


def _merge_request(request: ApiRequest, mr: MergeRequest) -> dict[str, Any]:
    def commits(_info: Any, first: int = 100) -> dict[str, Any]:
        found = merging.commits(request.state, mr)[::-1][: min(first, 100)]
        return {
            "nodes": [
                {
                    "sha": each.sha,
                    "authorEmail": each.author.email,
                    "author": _user(request.state.account_of(each.author.email)),
                }
                for each in found
            ]
        }

    return {"commits": commits}


def _user(who: User | None) -> dict[str, Any] | None:
    return {"id": f"gid://gitlab/User/{who.id}", "username": who.login} if who else None
