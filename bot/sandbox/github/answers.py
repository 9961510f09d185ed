"""Answers that belong to no operation: refusals, failures that tests ordered; bodies as bytes."""

from __future__ import annotations

import json
from typing import Any

from bot.sandbox.errors import RefusedError
from bot.sandbox.faults.calls import OrderedFailure
from bot.sandbox.github.routing import ApiResponse

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


def failure(ordered: OrderedFailure) -> ApiResponse:
    """The answer that a test ordered in place of the right one."""
    body = ordered.body
    if body is None:
        body = {"message": "Server Error"}
    if isinstance(body, str):
        return ApiResponse(
            status=ordered.status,
            body=body.encode(),
            headers=ordered.headers,
            media_type="text/html; charset=utf-8",
        )
    return ApiResponse(status=ordered.status, body=body, headers=ordered.headers)


def encoded(answer: ApiResponse) -> bytes:
    """The body of an answer in bytes."""
    if answer.body is None:
        return b""
    if isinstance(answer.body, bytes):
        return answer.body
    return json.dumps(answer.body, ensure_ascii=False, separators=(",", ":")).encode()
