"""Refusals in GitLab's shapes.

Source: https://docs.gitlab.com/api/rest/troubleshooting/ and the recordings in
`tests/contract/forge_gitlab`: `message` with a text, a list or a mapping; `error` for parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bot.sandbox.errors import RefusedError


class GitLabRefusedError(RefusedError):
    """A refusal whose body is said in full."""

    def __init__(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        said = body.get("message", body.get("error", body)) if isinstance(body, dict) else body
        super().__init__(status, str(said), headers=headers)
        self.body = body


def refused(
    status: int, message: str | Sequence[str] | Mapping[str, Sequence[str]]
) -> RefusedError:
    """A refusal with a `message`: a text, a list of texts, or texts by field."""
    return GitLabRefusedError(status, {"message": message})


def bad_parameter(text: str) -> RefusedError:
    """400 for a parameter: `title is missing`, `page is invalid`."""
    return GitLabRefusedError(400, {"error": text})


def bad_request(text: str) -> RefusedError:
    """400 with a reason, or `400 Bad request - …`."""
    return refused(400, text)


def unauthorized() -> RefusedError:
    """401 for nobody, and for who may not merge."""
    return refused(401, "401 Unauthorized")


def forbidden(reason: str = "") -> RefusedError:
    """403 for who may see it and do less."""
    return refused(403, f"403 Forbidden - {reason}" if reason else "403 Forbidden")


def missing(what: str = "") -> RefusedError:
    """404 for what is not there, or may not be seen: `404 Branch Not Found`."""
    return refused(404, f"404 {what} Not Found" if what else "404 Not found")


def not_allowed(reason: str = "405 Method Not Allowed") -> RefusedError:
    """405 for what cannot be done now."""
    return refused(405, reason)


def conflict(reason: str) -> RefusedError:
    """409 for what is there already, or has moved."""
    return refused(409, reason)


def unprocessable(reason: str) -> RefusedError:
    """422 for what failed."""
    return refused(422, reason)


def insufficient_scope(scopes: Sequence[str]) -> RefusedError:
    """403 for a token without one of some scopes."""
    text = "The request requires higher privileges than provided by the access token."
    body = {
        "error": "insufficient_scope",
        "error_description": text,
        "scope": " ".join(scopes),
    }
    return GitLabRefusedError(403, body)


def invalid_token(reason: str) -> RefusedError:
    """401 for a token that was revoked or is too old."""
    return GitLabRefusedError(401, {"error": "invalid_token", "error_description": reason})
