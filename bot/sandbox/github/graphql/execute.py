"""GitHub's GraphQL: executes queries over `schema.graphql`, with GitHub's errors inside a 200.

Source: docs/design.md, "GitHub: pull requests and merging", and GitHub's documentation of rate
limits, node limits and global ids. What each field holds is in `fields`.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    GraphQLObjectType,
    GraphQLSchema,
    build_schema,
    execute_sync,
    parse,
    validate,
)

from bot.sandbox.api import ApiResponse
from bot.sandbox.errors import RefusedError
from bot.sandbox.fields import parsed
from bot.sandbox.github.graphql.connections import QueryError
from bot.sandbox.github.graphql.fields import ABSTRACT, FIELDS
from bot.sandbox.github.routing import ApiRequest

SCHEMA = Path(__file__).with_name("schema.graphql")
"""What is answered, in GraphQL's own language."""

_MOST_TOKENS = 5_000  # far more than any client's query; keeps validation quick
# GitHub's server merges `state` of an issue and of a pull request in one query, as `gh` asks.
_MERGED = re.compile(r"^Fields '\w+' conflict because they return conflicting types")
_UNKNOWN_FIELD = re.compile(r"Cannot query field '(\w+)' on type '(\w+)'")


def answer(request: ApiRequest) -> ApiResponse:
    """Answer a GraphQL request.

    Raises:
        RefusedError: 401 without a token, 400 for a body that holds no query.
    """
    request.user  # noqa: B018 - refuses those without a token
    body = parsed(request.raw)
    given = body if isinstance(body, dict) else {}
    query, variables, name = (given.get(key) for key in ("query", "variables", "operationName"))
    if not isinstance(query, str):
        raise RefusedError(400, "A query attribute must be specified and must be a string.")
    if not isinstance(variables or {}, dict) or not isinstance(name or "", str):
        raise RefusedError(400, "Variables must be an object and operationName a string.")
    return ApiResponse(body=_shown(_execute(request, query, variables or {}, name or None)))


@cache
def schema() -> GraphQLSchema:
    """The schema with its resolvers."""
    made = build_schema(SCHEMA.read_text(encoding="utf-8"))
    for type_name, fields in FIELDS.items():
        kind = made.type_map[type_name]
        if not isinstance(kind, GraphQLObjectType):
            raise TypeError(f"{type_name} has no fields of its own")
        for field_name, resolve in fields.items():
            kind.fields[field_name].resolve = resolve
    for type_name, choose in ABSTRACT.items():
        made.type_map[type_name].resolve_type = choose  # type: ignore[attr-defined]  # interfaces and unions have it, other types not
    return made


def _execute(
    request: ApiRequest, query: str, variables: dict[str, Any], name: str | None
) -> ExecutionResult:
    try:
        document, wrong = _read(query)
        if wrong:
            return ExecutionResult(None, wrong)
        return execute_sync(
            schema(),
            document,
            context_value=request,
            variable_values=variables,
            operation_name=name,
        )
    except GraphQLError as error:
        return ExecutionResult(None, [error])
    except RecursionError:
        return ExecutionResult(None, [GraphQLError("Query is nested too deeply.")])


@lru_cache(maxsize=64)
def _read(query: str) -> tuple[DocumentNode, list[GraphQLError]]:
    """Parse a query and tell what is wrong with it; clients send a few, again and again."""
    document = parse(query, max_tokens=_MOST_TOKENS)
    wrong = validate(schema(), document, max_errors=20)
    return document, [each for each in wrong if not _MERGED.search(each.message)]


def _shown(result: ExecutionResult) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if result.data is not None or not result.errors:
        made["data"] = result.data
    elif any(isinstance(error.original_error, QueryError) for error in result.errors):
        made["data"] = None
    if result.errors:
        made["errors"] = [_error(error) for error in result.errors]
    return made


def _error(error: GraphQLError) -> dict[str, Any]:
    made: dict[str, Any] = {}
    original = error.original_error
    if isinstance(original, QueryError):
        made["type"] = original.kind
    if error.path is not None:
        made["path"] = list(error.path)
    made["locations"] = [{"line": at.line, "column": at.column} for at in error.locations or ()]
    unknown = _UNKNOWN_FIELD.match(error.message)
    if unknown is not None:
        made["extensions"] = {
            "code": "undefinedField",
            "typeName": unknown[2],
            "fieldName": unknown[1],
        }
        made["message"] = f"Field '{unknown[1]}' doesn't exist on type '{unknown[2]}'"
    else:
        made["message"] = error.message
    return made
