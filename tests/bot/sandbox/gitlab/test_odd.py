"""What no client of GitLab sends is refused by the conversation's operations, never an error."""

from __future__ import annotations

import json
from typing import Any

from bot.sandbox.gitlab.routing import routes
from tests.bot.sandbox.gitlab.conftest import Hub

_VALUES: list[Any] = ["\0", 2**70, [{}], {"a": [1]}]
_NAMES = {
    "merge_requests": (
        *("source_branch", "target_branch", "title", "description", "labels", "assignee_ids"),
        *("reviewer_ids", "state_event", "sha", "squash", "body", "position", "resolved", "name"),
    ),
    "issues": ("title", "description", "labels", "assignee_ids", "state_event", "body", "name"),
    "statuses": ("state", "name", "ref", "pipeline_id", "description", "target_url", "coverage"),
    "labels": ("name", "color", "new_name", "description"),
    "releases": ("tag_name", "name", "description", "ref", "tag_message", "released_at"),
    "deployments": ("environment", "sha", "ref", "tag", "status"),
    "environments": ("name", "external_url"),
}
_GOOD = {
    "source_branch": "change",
    "target_branch": "main",
    "title": "x",
    "body": "x",
    "name": "eyes",
    "state": "success",
    "ref": "main",
    "color": "#fff",
    "tag_name": "v1",
    "environment": "e",
    "status": "running",
    "tag": False,
}


def test_odd_values_are_refused(hub: Hub) -> None:
    """Fails for a handler that looks into a value before it knows its type."""
    mr = hub.merge_request()
    note = mr.notes.create({"body": "x"})
    thread = mr.discussions.create({"body": "x"})
    hub.project("ann").issues.create({"title": "x"})
    client = hub.project("olga").manager.gitlab
    ids = {
        "id": str(hub.repo.id),
        "iid": "1",
        "sha": mr.sha,
        "note_id": str(note.id),
        "discussion_id": thread.id,
    }
    odd, before = [], len(hub.told)
    for method, template in routes():
        part = template.removeprefix("/projects/{id}/").split("/")[0]
        if method in ("GET", "DELETE") or part not in _NAMES:
            continue
        path = template
        for name in ("discussion_id", "note_id", "iid", "sha", "id"):
            path = path.replace(f"{{{name}}}", ids[name])
        path = path.replace("{name}", "one").replace("{tag_name}", "v1")
        for name in _NAMES[part]:
            for value in _VALUES:
                answer = client.session.request(
                    method,
                    f"{hub.forge.web_url}/api/v4{path}",
                    headers={
                        "PRIVATE-TOKEN": client.private_token or "",
                        "Content-Type": "application/json",
                    },
                    data=json.dumps(_GOOD | {name: value}),
                )
                if answer.status_code >= 500:
                    odd.append((method, path, name, value, answer.text[:200]))

    assert odd == []
    assert len(hub.told) > before
