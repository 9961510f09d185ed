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
        "diverged_commits_count",
        "prepared_at",
        "public_email",
        "rebase_in_progress",
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
        # https://docs.gitlab.com/api/protected_tags/, /api/tags/
        "created_at",
        "deploy_key_id",
        # https://docs.gitlab.com/api/commits/, /api/repositories/: examples of clients are older
        "authored_date",
        "collapsed",
        "committed_date",
        "compare_same_ref",
        "compare_timeout",
        "generated_file",
        "too_large",
        "web_url",
        # https://docs.gitlab.com/api/members/#add-a-member (Ultimate)
        "member_role",
        # https://docs.gitlab.com/api/merge_request_approvals/
        "approved_at",
        # https://docs.gitlab.com/api/discussions/#create-a-new-merge-request-thread
        "commit_id",
        "resolved_at",
        "suggestions",
        # https://docs.gitlab.com/api/merge_request_approvals/, of which clients kept a part
        "approved",
        "approval_rules_left",
        "approver_groups",
        "approvers",
        "has_approval_rules",
        "invalid_approvers_rules",
        "merge_request_approvers_available",
        "multiple_approval_rules_available",
        "require_password_to_approve",
        "suggested_approvers",
        "user_can_approve",
        "user_has_approved",
        # https://docs.gitlab.com/api/pipelines/, /api/commits/, /api/projects/, /api/labels/
        "archived",
        "description_html",
        "iid",
        "is_project_label",
        "only_allow_merge_if_all_status_checks_passed",
        "pipeline_id",
        "source",
        "text_color",
        "visibility",
    }
)
"""Keys of answers that are newer than the recordings they would be in."""

ABSENT: Json = {}
"""Says that a part may be missing, whatever it is."""

OTHERWISE: tuple[tuple[str, str, Json], ...] = (
    # https://docs.gitlab.com/api/discussions/: on a line of the new side, `old_line` is null.
    # https://docs.gitlab.com/api/tags/ and /api/commits/: a tag without a release, a commit
    # without pipelines.
    # https://docs.gitlab.com/api/projects/, /api/groups/, /api/members/: what nobody set
    ("project", "forked_from_project/description", {"type": ["string", "null"]}),
    ("GET_groups_id", "avatar_url", {"type": ["string", "null"]}),
    ("GET_groups_id", "projects", {"type": "array"}),
    ("member", "expires_at", {"type": ["string", "null"]}),
    ("protected_tag", "create_access_levels", {"type": "array"}),
    ("tag", "release", {"type": ["object", "null"]}),
    ("commit", "last_pipeline", {"type": ["object", "null"]}),
    ("commit", "status", {"type": ["string", "null"]}),
    ("note", "position/old_line", {"type": ["integer", "null"]}),
    ("note", "position/new_line", {"type": ["integer", "null"]}),
    ("note", "position/line_range", {}),
    # https://docs.gitlab.com/api/merge_requests/ and /api/issues/: no description was given.
    ("merge_request", "description", {"type": ["string", "null"]}),
    ("merge_request_basic", "description", {"type": ["string", "null"]}),
    ("issue", "description", {"type": ["string", "null"]}),
    ("webhook merge_request", "object_attributes/description", {"type": ["string", "null"]}),
    ("webhook issue", "object_attributes/description", {"type": ["string", "null"]}),
    ("commit_status", "description", {"type": ["string", "null"]}),
    # https://docs.gitlab.com/api/merge_request_approvals/: whole users, and when
    ("merge_request_approvals", "approved_by", {"type": "array"}),
    # https://docs.gitlab.com/user/project/integrations/webhook_events/#pipeline-events
    ("webhook pipeline", "merge_request", {"type": ["object", "null"]}),
    ("webhook pipeline", "source_pipeline", ABSENT),
    ("webhook pipeline", "object_attributes/finished_at", {"type": ["string", "null"]}),
    ("webhook pipeline", "project/description", {"type": ["string", "null"]}),
    ("webhook pipeline", "builds", {"type": "array"}),
    # As of merge requests: no description, and merge_params hold what was sent, of any type.
    ("webhook note/MergeRequest", "merge_request/description", {"type": ["string", "null"]}),
    ("webhook note/MergeRequest", "merge_request/merge_params", {"type": "object"}),
    ("webhook note/Issue", "issue/description", {"type": ["string", "null"]}),
    # The example has a project with a picture, and a job that deployed.
    ("webhook release", "project", {"type": "object"}),
    ("webhook deployment", "project", {"type": "object"}),
    ("webhook deployment", "environment_external_url", {"type": ["string", "null"]}),
    ("webhook deployment", "deployable_url", {"type": ["string", "null"]}),
    ("webhook deployment", "deployable_id", {"type": ["integer", "null"]}),
    # Of 2016: an issue has no branch.
    ("webhook note/Issue", "issue/branch_name", ABSENT),
    # webhook-examples/recorded: labels of a project
    ("webhook issue", "changes/labels", {"type": "object"}),
    ("webhook issue", "labels", {"type": "array"}),
    ("webhook issue", "object_attributes/labels", {"type": "array"}),
    ("webhook merge_request", "changes/labels", {"type": "object"}),
    ("webhook merge_request", "object_attributes/labels", {"type": "array"}),
    # webhook-examples/recorded/atlantis…mark-as-ready: a project without a description.
    ("webhook issue", "project/description", {"type": ["string", "null"]}),
    ("webhook issue", "repository/description", {"type": ["string", "null"]}),
)
"""Parts of shapes that were seen in one state alone: shape, place, what leads."""

IN_PART = frozenset({"pipeline", "pipeline_basic", "deployment", "environment"})
"""Shapes of which clients kept a part: other keys are no problem."""

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
        elif header != _header_of(payload, header):
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
        if about is None or status in (202, 301, 304):
            return
        if about["array"] and not isinstance(body, list):
            yield "the answer is not a list"
            return
        shape = self._shapes[about["schema"]]
        closed = self.closed and about["schema"] not in IN_PART
        schema = self._schema(about["schema"], shape, closed=closed)
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
        # Clients kept a part of each note of a discussion; they are notes as any other.
        found["discussion"]["properties"]["notes"]["items"] = found["note"]
        # Lists of projects, and groups, were seen on one edition alone; projects on several.
        found["project_basic"] = found["project"]
        found["GET_groups_id"].pop("required")
        return _with_otherwise(found, "")

    @cached_property
    def _answers(self) -> Json:
        found: Json = json.loads((FOLDER / "answers.json").read_text(encoding="utf-8"))
        return found

    @cached_property
    def _events(self) -> Json:
        found: Json = json.loads((FOLDER / "webhooks.json").read_text(encoding="utf-8"))["webhooks"]
        return _with_otherwise(found, "webhook ")

    def _schema(self, name: str, schema: Json, *, closed: bool) -> Schema:
        if name not in self._made:
            self._made[name] = Schema(
                schema, {"schemas": {}}, closed=closed, elsewhere=NEWER, forge=self.forge
            )
        return self._made[name]


def _with_otherwise(found: Json, prefix: str) -> Json:
    """Let the shapes of answers, or of webhooks, allow what `OTHERWISE` names."""
    for name, place, leading in OTHERWISE:
        if not name.startswith(prefix) or (name.startswith("webhook ") != bool(prefix)):
            continue
        *above, last = place.split("/")
        part = found[name.removeprefix(prefix)]
        for key in above:
            part = part["properties"][key]
        part["properties"][last] = leading
        if leading is ABSENT:
            part["required"].remove(last)
    return found


def _header_of(payload: Any, default: str) -> str:
    """What `X-Gitlab-Event` says for a payload; the default for one of an unknown kind."""
    if payload.get("event_type") == "confidential_note":
        return "Confidential Note Hook"
    return EVENT_HEADERS.get(str(payload.get("object_kind")), default)
