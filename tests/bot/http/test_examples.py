"""Every recorded payload goes through the real endpoint: it wakes keys, or is told why not."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import httpx
import pytest

from bot.forges.gitlab.deliveries import GitLabWebhooks
from bot.http import web
from bot.http.webhooks import WebhookSource
from bot.store.port import Deliveries
from bot.store.postgres import PostgresStore
from bot.store.values import Delivered
from tests.bot.http.test_web import PATH, SECRET, SETTINGS, _Forge, _headers, client, ready

T = TypeVar("T")

_SHARED = Path(__file__).resolve().parents[3] / "../shared/forge"
EXAMPLES = _SHARED / "github/webhook-examples"
GITLAB = _SHARED / "gitlab/webhook-examples"

HEAD, REPOSITORY, SWEEP = {"ProposalKey"}, {"RepositoryKey"}, {"SweepKey"}

WAKES: dict[str, set[str]] = {
    "check_run/completed": HEAD,
    "check_run/requested_action": HEAD,
    "check_run/rerequested": HEAD,
    "check_suite/completed": HEAD,
    "check_suite/rerequested": HEAD,
    "create/": REPOSITORY,
    "delete/": REPOSITORY,
    "installation/": SWEEP,
    "installation_repositories/": SWEEP,
    "merge_group/": {"GroupKey"},
    "pull_request/closed": HEAD,
    "pull_request/converted_to_draft": HEAD,
    "pull_request/labeled": HEAD,
    "pull_request/opened": HEAD,
    "pull_request/ready_for_review": HEAD,
    "pull_request/reopened": HEAD,
    "pull_request/synchronize": HEAD,
    "pull_request/unlabeled": HEAD,
    "pull_request_review/": HEAD,
    "push/with-new-branch": {"BaseKey", "ProposalKey", "RepositoryKey"},
    "push/": REPOSITORY,  # of tags
    "repository/": {"RepositoryKey", "SweepKey"},
    "status/": {"CommitKey"},
}
"""Beginning of a payload's path to the kinds of keys that it wakes; the first that fits counts."""

IGNORED: dict[str, str] = {
    "check_run/created": "A check counts when it has ended",
    "check_suite/requested": "A suite counts when it has ended",
    "deployment": "Deployments are not followed.",
    "issue_comment/": "not the dashboard",  # all of those recorded are on issues
    "issues/": "only boxes of the dashboard count",
    "label/": "Labels show the stage",
    "ping/": "the webhook works",
    "pull_request/assigned": "changes nothing that is decided",
    "pull_request/locked": "changes nothing that is decided",
    "pull_request/review_request": "changes nothing that is decided",
    "pull_request/unassigned": "changes nothing that is decided",
    "pull_request/unlocked": "changes nothing that is decided",
}
"""Beginning of a payload's path to a part of why it wakes nothing."""


class _Kept(PostgresStore):
    """Keeps in memory what is woken."""

    def __init__(self) -> None:
        self.woken: list[str] = []
        self.deliveries = cast(Deliveries, self)

    async def add(self, delivery: Delivered, wakes: Any) -> bool:
        self.woken = [type(key).__name__ for key in wakes]
        return bool(delivery.body)


@pytest.mark.skipif(not EXAMPLES.exists(), reason=f"GitHub's recorded payloads: no {EXAMPLES}")
async def test_each_recorded_payload_wakes_or_is_told_why_not() -> None:
    """Fails when a payload is refused, or taken without a word while nothing follows."""
    store, wrong = _Kept(), []
    paths = sorted(EXAMPLES.glob("*/*.json"))
    async with client(store) as bot:
        for path in paths:
            name, body = f"{path.parent.name}/{path.name}", path.read_bytes()
            store.woken = []
            headers = _headers(body, **{"X-GitHub-Event": path.parent.name})
            answer = await bot.post(PATH, content=body, headers=headers)
            said = answer.json()["ignored"] if answer.content else ""
            wanted = next(
                (kinds for start, kinds in WAKES.items() if name.startswith(start)), set()
            )
            reason = next((text for start, text in IGNORED.items() if name.startswith(start)), "")
            right = answer.status_code == 202 and set(store.woken) == wanted
            if not right or bool(said) == bool(store.woken) or reason not in said:
                wrong.append((name, answer.status_code, store.woken, said))
            if not wanted and not reason:
                wrong.append((name, 0, [], "neither expected to wake nor to be ignored"))

    assert wrong == []
    assert len(paths) > 80


BRANCHES = {"BaseKey", "ProposalKey", "RepositoryKey"}

WAKES_AT_GITLAB: dict[str, set[str]] = {
    "access_token": SWEEP,
    "branch_create": {"BaseKey", "ProposalKey"},
    "branch_delete": {"BaseKey", "ProposalKey"},
    "group_destroy": SWEEP,
    "group_rename": SWEEP,
    "job": {"CommitKey"},
    "member": SWEEP,
    "merge_request_comment": {"PullKey"},
    "merge_request": HEAD,
    "note_merge_request": {"PullKey"},
    "pipeline": {"CommitKey", "PullKey"},
    "project.project_": SWEEP,
    "project_create": SWEEP,
    "project_destroy": SWEEP,
    "project_": REPOSITORY | SWEEP,
    "pull_request_merge": BRANCHES,
    "pull_request_": HEAD,
    "push": BRANCHES,
    "repository_update": BRANCHES,
    "resource_access_token": SWEEP,
    "review_comment": {"PullKey"},
    "tag_": REPOSITORY,
    "user_add_to_group": SWEEP,
    "user_add_to_team": REPOSITORY,
    "user_remove_from_group": SWEEP,
    "user_remove_from_team": REPOSITORY,
    "user_update_for_group": SWEEP,
    "user_update_for_team": REPOSITORY,
}
"""Beginning of a payload's name, without whose it is, to the kinds of keys that it wakes."""

IGNORED_AT_GITLAB: dict[str, str] = {
    "deployment": "Deployments are not followed.",
    "emoji": "Nothing follows from reactions.",
    "group_create": "Events of this kind are not used.",
    "issue_comment": "not the dashboard",
    "issue": "only boxes of the dashboard count",
    "merge_request-event-update-milestone": "changes nothing that is decided",
    "note_commit": "on a commit",
    "note_issue": "not the dashboard",
    "release": "nothing follows from them",
    "user_create": "Events of this kind are not used.",
    "user_destroy": "Events of this kind are not used.",
}
"""Beginning of a payload's name to a part of why it wakes nothing; asked first."""


def _named(path: Path) -> str:
    """What a payload is of: "atlantis.gitlab-merge-request-event.json" of a merge request."""
    name = path.stem.removeprefix("go-scm.").removeprefix("atlantis.gitlab-")
    return name.replace("merge-request", "merge_request").replace(
        "request-comment", "request_comment"
    )


@pytest.mark.skipif(not GITLAB.exists(), reason=f"GitLab's recorded payloads: no {GITLAB}")
async def test_each_payload_of_gitlab_wakes_or_is_told_why_not() -> None:
    """Fails when a payload is refused, or taken without a word while nothing follows."""
    store, wrong = _Kept(), []
    paths = sorted(GITLAB.glob("*/*.json"))
    source = WebhookSource(GitLabWebhooks("gitlab", [SECRET]), _Forge().identity)
    application = web.app(SETTINGS, store, ready(store), [source])
    transport = httpx.ASGITransport(app=application)
    async with httpx.AsyncClient(transport=transport, base_url="http://bot") as bot:
        for path in paths:
            store.woken, name = [], _named(path)
            system = path.parent.name == "system-hooks"
            headers = {
                "X-Gitlab-Event": "System Hook" if system else "Push Hook",
                "X-Gitlab-Token": SECRET.decode(),
                "Content-Type": "application/json",
            }
            answer = await bot.post("/webhooks/gitlab", content=path.read_bytes(), headers=headers)
            said = answer.json()["ignored"] if answer.content else ""
            reason = _first(IGNORED_AT_GITLAB, name, "")
            wanted = set() if reason else _first(WAKES_AT_GITLAB, name, set[str]())
            right = answer.status_code == 202 and set(store.woken) == wanted
            if not right or bool(said) == bool(store.woken) or reason not in said:
                wrong.append((name, answer.status_code, store.woken, said))
            if not wanted and not reason:
                wrong.append((name, 0, [], "neither expected to wake nor to be ignored"))

    assert wrong == []
    assert len(paths) == 70


def _first(table: Mapping[str, T], name: str, default: T) -> T:
    """What stands in a table for the first beginning that fits."""
    return next((value for start, value in table.items() if name.startswith(start)), default)
