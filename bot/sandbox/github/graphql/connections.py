"""Pages of GraphQL: `first`/`after` and `last`/`before` over a list, with GitHub's limits."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from graphql import FieldNode, GraphQLResolveInfo


class QueryError(Exception):
    """An error inside a 200: its type, such as `NOT_FOUND`, and its message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


_MOST = 100  # GitHub: nodes of one page


def connection(
    field: str,
    found: Sequence[Any],
    given: Mapping[str, Any],
    info: GraphQLResolveInfo[Any] | None = None,
) -> dict[str, Any]:
    """One page of a list.

    Args:
        field: The connection's name, for messages.
        found: The whole list, in order.
        given: The field's arguments; `first` or `last` is needed, at most 100.
        info: What is asked of it: who only counts needs neither.

    Raises:
        QueryError: Neither is given, or too much.
    """
    first, last = given.get("first"), given.get("last")
    if first is None and last is None and info is not None and _counts(info):
        return {"totalCount": len(found)}
    _check(field, first, last)
    start, end = 0, len(found)
    if given.get("after"):
        start = min(_place(given["after"]), end)
    if given.get("before"):
        end = max(start, min(end, _place(given["before"]) - 1))
    if first is not None:
        end = min(end, start + first)
    if last is not None:
        start = max(start, end - last)
    return {
        "edges": [
            {"cursor": _cursor(at), "node": each}
            for at, each in enumerate(found[start:end], start + 1)
        ],
        "nodes": list(found[start:end]),
        "pageInfo": {
            "endCursor": _cursor(end) if end > start else None,
            "hasNextPage": end < len(found),
            "hasPreviousPage": start > 0,
            "startCursor": _cursor(start + 1) if end > start else None,
        },
        "totalCount": len(found),
    }


def _counts(info: GraphQLResolveInfo[Any]) -> bool:
    """Whether nothing but how many there are is asked."""
    asked = [each for node in info.field_nodes if node.selection_set
             for each in node.selection_set.selections]  # fmt: skip
    return all(isinstance(each, FieldNode) and each.name.value == "totalCount" for each in asked)


def _check(field: str, first: int | None, last: int | None) -> None:
    if first is None and last is None:
        raise QueryError(
            "MISSING_PAGINATION_BOUNDARIES",
            "You must provide a `first` or `last` value to properly paginate the"
            f" `{field}` connection.",
        )
    for name, value in (("first", first), ("last", last)):
        if value is not None and value > _MOST:
            raise QueryError(
                "EXCESSIVE_PAGINATION",
                f"Requesting {value} records on the `{field}` connection exceeds the `{name}`"
                f" limit of {_MOST} records.",
            )
        if value is not None and value < 0:
            raise QueryError(
                "ARGUMENT_LIMIT",
                f"`{name}` on the `{field}` connection cannot be less than zero.",
            )


def _cursor(number: int) -> str:
    return base64.b64encode(f"cursor:v2:{number}".encode()).decode()


def _place(cursor: str) -> int:
    try:
        text = base64.b64decode(cursor, validate=True).decode()
        return max(0, int(text.removeprefix("cursor:v2:")))
    except ValueError:
        message = f"`{cursor}` does not appear to be a valid cursor."
        raise QueryError("INVALID_CURSOR_ARGUMENTS", message) from None
