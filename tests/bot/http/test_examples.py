"""Every recorded payload goes through the real endpoint: it wakes keys, or is told why not."""

from pathlib import Path
from typing import Any, cast

import pytest

from bot.store.port import Deliveries
from bot.store.postgres import PostgresStore
from bot.store.values import Delivered
from tests.bot.http.test_web import PATH, _headers, client

EXAMPLES = Path(__file__).resolve().parents[3] / "../shared/forge/github/webhook-examples"

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
    "issues/": "an issue changes none of them",
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
