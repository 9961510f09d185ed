"""What is told of projects: made, renamed, given away, changed, taken away.

Source: https://docs.gitlab.com/administration/system_hooks/,
https://docs.gitlab.com/user/project/integrations/webhook_events/#project-events
"""

from __future__ import annotations

from collections.abc import Iterator

from bot.sandbox.api import Links
from bot.sandbox.gitlab.deliveries import HookEvent, payload
from bot.sandbox.gitlab.json import Json
from bot.sandbox.records.memory import Happening
from bot.sandbox.rules.state import ForgeState

_EVENTS = {
    "created": "project_create",
    "deleted": "project_destroy",
    "renamed": "project_rename",
    "transferred": "project_transfer",
}
"""Names of the events by the action of the happening; any other is `project_update`."""


@payload("repository")
def changed(_state: ForgeState, _links: Links, happening: Happening) -> Iterator[HookEvent]:
    """What became of a project: each system hook hears of it, webhooks of groups that ask for it.

    Those hear of projects made and taken away alone, as GitLab's page has examples of no other.
    """
    repo, extra = happening.repo, happening.extra
    if repo is None:
        return
    event = _EVENTS.get(str(happening.action), "project_update")
    body: Json = {
        "created_at": repo.created_at.isoformat(),
        "updated_at": repo.updated_at.isoformat(),
        "event_name": event,
        "name": repo.name,
        "path": repo.name,
        "path_with_namespace": repo.full_name,
        "project_id": repo.id,
        "owner_name": repo.owner.name,
        "owner_email": "",
        "project_visibility": "private" if repo.private else "public",
    }
    if event == "project_rename":
        before = extra["changes"]["repository"]["name"]["from"]
        body["old_path_with_namespace"] = f"{repo.owner.login}/{before}"
    if event == "project_transfer":
        body["old_path_with_namespace"] = f"{extra['old_owner'].login}/{repo.name}"
    yield HookEvent(event="System Hook", flag="", body=body, action=event, system=True)
    if event in ("project_create", "project_destroy"):
        yield HookEvent(event="Project Hook", flag="project_events", body=body, action=event)
