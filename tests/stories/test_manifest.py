"""The App's manifest against what the bot does: nothing missing, nothing spare.

Every story runs with the manifest's permissions and events, so that too little fails where it is
needed. This one does everything that the bot can do, and says what was never used.
"""

import pytest

from bot.sandbox.records.protection import QueueRule
from bot.sandbox.records.repository import MergeGroup
from bot.sandbox.rules.permissions import NEEDS, granted
from tests.stories.people import wait_for
from tests.stories.real import RealWorld
from tests.stories.test_main import BAD
from tests.stories.world import CONFIG, MANIFEST, package

pytestmark = [pytest.mark.real_parts, pytest.mark.only_github("permissions of an App")]

GIT_NEEDS = {"git-upload-pack": "contents=read", "git-receive-pack": "contents=write"}

NOT_YET = ["deployments: write"]
"""Asked for before it is used: each owner has to accept anew what an App asks for later."""

EVENT_NEEDS = {"issue_comment": "issues=read", "merge_group": "merge_queues=read"}
"""Events that a permission stands for beside calls
(docs/design.md, "GitHub: permissions and events")."""


def test_the_manifest_asks_for_what_is_used_and_no_more(stage: RealWorld) -> None:
    """Fails when a permission is kept because it might be of use one day."""
    named = CONFIG.replace('"role:maintain"', '"role:maintain", "team:network"')
    stage.owner.pushes("main", {".porchbot.yaml": named})
    stage.forge.state.rules.add(
        stage.repository,
        bypass=[stage.repository.owner],
        required_checks=[("security-scan", None)],
        merge_queue=QueueRule(),
    )
    stage.repository.has_issues = True
    woken: set[str] = set()
    stage.forge.webhook_observers.append(lambda event, _headers, _payload: woken.add(event))
    stage.start_bot()
    stage.rests()
    author, approver = stage.author, stage.approver

    author.pushes("drafts/net/core/w", {**package("net/core"), "net/core/router.yaml": BAD})
    pull = author.pull_of("drafts/net/core/w")
    author.waits_for_check(pull.number, "porchbot/validate", "failure")
    author.pushes("drafts/net/core/w", {"net/core/router.yaml": None})
    author.waits_for_check(pull.number, "porchbot/validate", "success")
    author.says(pull.number, "/propose")
    wait_for("the proposal", lambda: not author.pull(pull.number).draft or None)
    author.says(pull.number, "/reject not yet")
    wait_for("the draft", lambda: author.pull(pull.number).draft or None)
    author.says(pull.number, "/propose")
    wait_for("the proposal", lambda: not author.pull(pull.number).draft or None)
    author.waits_for_summary(pull.number, "security-scan")
    approver.reviews(pull.number)
    head = author.pull(pull.number).head
    stage.owner.reports(head, "security-scan")
    queues, proposed = stage.forge.state.queues, stage.repository.pulls[1]

    def grouped() -> MergeGroup | None:
        # The entry is there a moment before its group.
        entry = queues.entry(proposed)
        return entry.group if entry else None

    group = wait_for("the group", grouped)
    stage.owner.reports(group.head_sha, "security-scan")
    author.waits_for_tag("net/core/v1")
    stage.wake(f"{stage.name}:{stage.repository.id}:dashboard")
    wait_for("the dashboard", lambda: bool(stage.repository.issues) or None)
    stage.rests()
    stage.forge.state.admin.rename(stage.repository, "platform")
    stage.rests()

    permissions = dict(MANIFEST["default_permissions"])
    needs = {EVENT_NEEDS[event] for event in woken if event in EVENT_NEEDS}
    for call in stage.forge.faults.calls("porchbot[bot]"):
        if call.kind == "git":
            needs |= {need for path, need in GIT_NEEDS.items() if call.path.endswith(path)}
        elif call.name in NEEDS:
            needs.add(NEEDS[call.name].app)
    needs = {need for need in needs if "=" in need}
    print("\nNeeds of the calls and events:", *sorted(needs), sep="\n  ")

    assert all(granted(permissions, need) for need in needs)
    spare = [
        f"{name}: {level}"
        for name, level in permissions.items()
        if all(granted(less(permissions, name), need) for need in needs)
    ]
    assert spare == NOT_YET
    assert set(MANIFEST["default_events"]) <= woken


def less(permissions: dict[str, str], name: str) -> dict[str, str]:
    """The permissions with one taken down a step."""
    less = {other: level for other, level in permissions.items() if other != name}
    return {**less, name: "read"} if permissions[name] == "write" else less
