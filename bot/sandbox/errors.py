"""Refusals of the forge as values: status, message, list of errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class RefusedError(Exception):
    """The forge refuses a request; holds status, message and errors of the response.

    Source: docs/design.md, "GitHub: answers and errors": `message` always, `errors` as a list of
    mappings or of strings where GitHub sends them.
    """

    def __init__(
        self,
        status: int,
        message: str,
        errors: Sequence[Mapping[str, Any] | str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{status}: {message} {list(errors or ())}".strip())
        self.status = status
        self.message = message
        self.errors = list(errors) if errors is not None else None
        self.headers = dict(headers or {})


def not_found() -> RefusedError:
    """Answer for what is not there, or may not be seen by the caller."""
    return RefusedError(404, "Not Found")


def invalid(resource: str, field: str, code: str = "invalid") -> RefusedError:
    """First shape of 422: a field with a code such as `missing_field` or `invalid`."""
    return RefusedError(
        422, "Validation Failed", [{"resource": resource, "code": code, "field": field}]
    )


def custom(resource: str, message: str, field: str | None = None) -> RefusedError:
    """First shape of 422 with `code: custom` and a text of its own."""
    error = {"resource": resource, "code": "custom", "message": message}
    if field is not None:
        error["field"] = field
    return RefusedError(422, "Validation Failed", [error])


def unprocessable(*reasons: str) -> RefusedError:
    """Second shape of 422: `errors` is a list of strings."""
    return RefusedError(422, "Unprocessable Entity", list(reasons))


def plain(message: str) -> RefusedError:
    """Third shape of 422: a message and no `errors`."""
    return RefusedError(422, message)


class GitError(Exception):
    """Git could not do what was asked of it; the text is git's own."""
