"""How GitHub words a refusal."""

from __future__ import annotations

from typing import Any

from bot.sandbox.api import ApiResponse
from bot.sandbox.errors import RefusedError

DOCS = "https://docs.github.com/rest"


def refusal(refused: RefusedError) -> ApiResponse:
    """The answer to a request that is refused, as GitHub words it."""
    body: dict[str, Any] = {"message": refused.message}
    if refused.errors is not None:
        body["errors"] = refused.errors
    body["documentation_url"] = DOCS
    body["status"] = str(refused.status)
    if refused.message.startswith("Missing or invalid User Agent"):
        text = (
            "\r\nRequest forbidden by administrative rules. Missing or invalid User Agent string."
        )
        return ApiResponse(status=403, body=text.encode(), media_type="application/octet-stream")
    return ApiResponse(status=refused.status, body=body, headers=refused.headers)
