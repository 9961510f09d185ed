"""Validates one answer or one webhook of the sandbox forge against what GitLab was seen to send.

The shapes are the copies in `forge_gitlab/` (see `trim_gitlab`). They were inferred: what every
recording has is required, and types are those that were seen. What is newer than the recordings, or
was seen otherwise elsewhere, stands in the tables here, each with its source.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.contract.descriptions import Exchange, Schema, prefixed
from tests.contract.trim_gitlab import event_name, plain

FOLDER = Path(__file__).parent / "forge_gitlab"
"""The copies."""

Json = dict[str, Any]

EVENT_HEADERS: Mapping[str, str] = {
    "push": "Push Hook",
    "tag_push": "Tag Push Hook",
    "issue": "Issue Hook",
    "note": "Note Hook",
    "merge_request": "Merge Request Hook",
    "pipeline": "Pipeline Hook",
    "build": "Job Hook",
    "deployment": "Deployment Hook",
    "release": "Release Hook",
    "emoji": "Emoji Hook",
}
"""What `object_kind` is called in the header.

Source: https://docs.gitlab.com/user/project/integrations/webhook_events/
"""

NEWER: frozenset[str] = frozenset(
    {
        # https://docs.gitlab.com/api/merge_requests/ and /api/notes/, since these recordings
        "approvals_before_merge",
        "imported",
        "imported_from",
        "merge_after",
        "prepared_at",
        "public_email",
        "locked",
        "expanded",
        # https://docs.gitlab.com/api/project_webhooks/
        "alert_status",
        "branch_filter_strategy",
        "custom_headers",
        "custom_webhook_template",
        "description",
        "disabled_until",
        "emoji_events",
        "feature_flag_events",
        "name",
        "project_id",
        "push_events_branch_filter",
        "releases_events",
        "milestone_events",
        "repository_update_events",
        "resource_access_token_events",
        "resource_deploy_token_events",
        "signing_token_set",
        "token_present",
        "url_variables",
        "vulnerability_events",
        # https://docs.gitlab.com/api/protected_branches/, /api/commits/, /api/users/
        "extended_trailers",
        "inherited",
        "last_pipeline",
        "trailers",
        "protected",
        "bot",
        # https://docs.gitlab.com/api/merge_request_approvals/
        "approved_at",
        # https://docs.gitlab.com/api/discussions/#create-a-new-merge-request-thread
        "commit_id",
        "resolved_at",
        "suggestions",
    }
)
"""Keys of answers that are newer than the recordings they would be in."""

OTHERWISE: tuple[tuple[str, str, Json], ...] = (
    # https://docs.gitlab.com/api/discussions/: on a line of the new side, `old_line` is null.
    ("note", "position/old_line", {"type": ["integer", "null"]}),
    ("note", "position/new_line", {"type": ["integer", "null"]}),
    ("note", "position/line_range", {}),
)
"""Parts of shapes that were seen in one state alone: shape, place, what leads."""

ERROR_BODY: Json = {
    "type": "object",
    "anyOf": [
        {
            "required": ["message"],
            "properties": {
                "message": {
                    "anyOf": [
                        {"type": "string", "minLength": 1},
                        {"type": "array", "items": {"type": "string"}},
                        {
                            "type": "object",
                            "additionalProperties": {
                                "anyOf": [
                                    {"type": "array", "items": {"type": "string"}},
                                    {"type": "object"},
                                ]
                            },
                        },
                    ]
                }
            },
        },
        {
            "required": ["error"],
            "properties": {
                "error": {"type": "string", "minLength": 1},
                "error_description": {"type": "string"},
                "scope": {"type": "string"},
            },
        },
    ],
}
"""What GitLab's errors look like (recorded: texts, lists, and texts by field).

Source: https://docs.gitlab.com/api/rest/troubleshooting/
"""

_TEXT_ERRORS = frozenset({429, 500, 502, 503})
"""Errors that GitLab sends as text: its limiter and its outer servers."""


class GitLabValidator:
    """Checks answers and webhooks, and counts which operations and events it saw.

    Attributes:
        closed: Whether a key of an answer that was never seen is a problem.
        answers: How often each (method, template, status) was seen.
        webhooks: How often each kind was seen.
    """

    forge = "GitLab"

    def __init__(self, *, closed: bool = True) -> None:
        self.closed = closed
        self.answers: Counter[tuple[str, str, int]] = Counter()
        self.webhooks: Counter[str] = Counter()
        self._made: dict[str, Schema] = {}

    def answer(self, exchange: Exchange) -> list[str]:
        """Return what is wrong with an answer, as `descriptions.Validator` does."""
        method, template, status = exchange.method.upper(), exchange.template, exchange.status
        if not template:
            expected = status in (401, 404, 405, 429) or status >= 500
            where = f"{method} {exchange.path} -> {status}"
            return [] if expected else [f"{where}: no route was found, so 404 was expected"]
        self.answers[method, template, status] += 1
        where = f"{method} {template} -> {status}"
        return prefixed(where, self._problems(exchange, plain(f"{method} {template}")))

    def webhook(self, event: str, headers: Mapping[str, str], payload: Any) -> list[str]:
        """Return what is wrong with a webhook.

        Args:
            event: What the sandbox calls it; the payload says it as well.
            headers: As they were sent.
            payload: The body as parsed JSON.
        """
        sent = {name.lower(): value for name, value in headers.items()}
        header = sent.get("x-gitlab-event", "")
        found = []
        name = event_name(payload)
        if header == "System Hook":
            name = f"system/{name}"
        elif EVENT_HEADERS.get(str(payload.get("object_kind")), header) != header:
            found.append(f"the header X-Gitlab-Event says {header!r}")
        for needed in ("x-gitlab-event-uuid", "x-gitlab-webhook-uuid", "idempotency-key"):
            if not sent.get(needed):
                found.append(f"the header {needed} is missing")
        self.webhooks[name] += 1
        if name in self._events:
            schema = self._schema(f"webhook {name}", self._events[name], closed=False)
            found += schema.problems(payload)
        return prefixed(f"webhook {name or event}", found)

    def _problems(self, exchange: Exchange, operation: str) -> Iterator[str]:
        status, body = exchange.status, exchange.response_body
        if status >= 400:
            if isinstance(body, dict):
                yield from self._schema("error", ERROR_BODY, closed=False).problems(body)
            elif status not in _TEXT_ERRORS:
                yield "the error is not a JSON object"
            return
        if status == 204 or exchange.method.upper() == "HEAD":
            if body not in (None, "", b""):
                yield "a 204 has no body"
            return
        about = self._operations.get(operation)
        if about is None or status in (202, 304):
            return
        if about["array"] and not isinstance(body, list):
            yield "the answer is not a list"
            return
        shape = self._shapes[about["schema"]]
        schema = self._schema(about["schema"], shape, closed=self.closed)
        for index, each in enumerate(body if about["array"] else [body]):
            for problem in schema.problems(each):
                yield f"[{index}]{problem}" if about["array"] else problem

    @cached_property
    def described(self) -> frozenset[str]:
        """The operations whose answers have a shape, such as "GET /projects/{}/hooks"."""
        return frozenset(self._operations)

    @cached_property
    def _operations(self) -> Json:
        found: Json = self._answers["operations"]
        return found

    @cached_property
    def _shapes(self) -> Json:
        found: Json = self._answers["schemas"]
        for name, place, leading in OTHERWISE:
            *above, last = place.split("/")
            part = found[name]
            for key in above:
                part = part["properties"][key]
            part["properties"][last] = leading
        return found

    @cached_property
    def _answers(self) -> Json:
        found: Json = json.loads((FOLDER / "answers.json").read_text(encoding="utf-8"))
        return found

    @cached_property
    def _events(self) -> Json:
        found: Json = json.loads((FOLDER / "webhooks.json").read_text(encoding="utf-8"))["webhooks"]
        return found

    def _schema(self, name: str, schema: Json, *, closed: bool) -> Schema:
        if name not in self._made:
            self._made[name] = Schema(
                schema, {"schemas": {}}, closed=closed, elsewhere=NEWER, forge=self.forge
            )
        return self._made[name]
