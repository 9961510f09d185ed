"""The part of GitLab's GraphQL that REST lacks: whose account the author of a commit is.

Source: https://docs.gitlab.com/api/graphql/reference/#commit
"""

from __future__ import annotations

from typing import Any

from graphql import build_schema, graphql_sync

from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab.routing import ApiRequest, Need, route
from bot.sandbox.gitlab.rules import merging
from bot.sandbox.records.accounts import User
from bot.sandbox.records.merge_requests import MergeRequest

_NEED = Need(signed_in=True, scopes=("api", "read_api"))

_SCHEMA = build_schema(
    """
    scalar UserID
    type Query { project(fullPath: ID!): Project }
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

    body = request.input
    asked = body.inner("variables")
    result = graphql_sync(
        _SCHEMA,
        body.filled("query"),
        root_value={"project": project},
        variable_values=dict(asked.plain()) if asked else {},
    )
    return ApiResponse(body=result.formatted)


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
