"""Each permission of `app-manifest.yml`, taken down a step: a named story fails, and only for that.

The other way round, that nothing is asked for in vain, is `test_manifest.py`'s.
"""

from collections.abc import Callable, Mapping

import pytest

from bot.sandbox.records.protection import QueueRule
from tests.stories.people import wait_for
from tests.stories.rendering import Rendering
from tests.stories.simulated import SimulatedWorld, simulated
from tests.stories.test_access import organize, ruled
from tests.stories.test_manifest import less
from tests.stories.world import MANIFEST, package

pytestmark = pytest.mark.only_github("permissions of an App")

PERMISSIONS: Mapping[str, str] = MANIFEST["default_permissions"]
BRANCH = "drafts/net/core/w"
PATIENCE = 600.0
"""Seconds, simulated: somebody would have given up."""

Story = Callable[[SimulatedWorld], None]


def a_draft_gets_a_pull_request(stage: SimulatedWorld) -> None:
    stage.author.pushes(BRANCH, package("net/core"))
    wait_for("the pull request", lambda: stage.author.pulls() or None, PATIENCE)


def a_pull_request_gets_its_checks(stage: SimulatedWorld) -> None:
    number = _proposed(stage)

    def shown() -> bool | None:
        return "porchbot/validate" in _checks(stage, number) or None

    wait_for("the checks", shown, PATIENCE)


def an_approved_proposal_is_published(stage: SimulatedWorld) -> None:
    number = _proposed(stage)
    stage.rests()
    stage.approver.says(number, "/approve")
    wait_for("the tag", lambda: stage.author.tags().get("net/core/v1"), PATIENCE)


def a_required_status_of_others_is_waited_for(stage: SimulatedWorld) -> None:
    bypass = [stage.repository.owner]
    stage.forge.state.rules.add(stage.repository, bypass=bypass, required_checks=[("scan", None)])
    number = _proposed(stage)
    stage.rests()
    stage.approver.says(number, "/approve")
    stage.rests()
    head = stage.author.pull(number).head
    stage.owner.reports(head, "scan")
    wait_for("the tag", lambda: stage.author.tags().get("net/core/v1"), PATIENCE)


def a_repository_has_its_dashboard(stage: SimulatedWorld) -> None:
    _proposed(stage)
    stage.rests()
    stage.wake(f"{stage.name}:{stage.repository.id}:dashboard")
    wait_for("the dashboard", lambda: bool(stage.repository.issues) or None, PATIENCE)


def somebody_in_a_team_approves(stage: SimulatedWorld) -> None:
    organize(stage)
    stage.owner.pushes("main", {".porchbot.yaml": ruled('"team:network"')})
    number = _proposed(stage)
    stage.rests()
    stage.outsider.says(number, "/approve")
    wait_for("the tag", lambda: stage.author.tags().get("net/core/v1"), PATIENCE)


def a_merge_group_is_judged_though_its_push_is_lost(stage: SimulatedWorld) -> None:
    checks = [("porchbot/publish", stage.app.id)]
    queue = QueueRule()
    stage.forge.state.rules.add(stage.repository, merge_queue=queue, required_checks=checks)
    number = _proposed(stage)
    stage.rests()
    stage.forge.faults.hooks.drop("push", None)
    stage.approver.says(number, "/approve")
    wait_for("the tag", lambda: stage.author.tags().get("net/core/v1"), PATIENCE)


STORIES: Mapping[str, Story] = {
    "contents": an_approved_proposal_is_published,
    "pull_requests": a_draft_gets_a_pull_request,
    "issues": a_repository_has_its_dashboard,
    "checks": a_pull_request_gets_its_checks,
    "statuses": a_required_status_of_others_is_waited_for,
    "members": somebody_in_a_team_approves,
    "merge_queues": a_merge_group_is_judged_though_its_push_is_lost,
}

NEEDED = {"contents", "pull_requests", "checks"}
"""Without these nothing works; each of the others takes its own feature with it, and no other."""

ELSEWHERE: Mapping[str, str] = {
    "metadata": "every App has it: GitHub lets nobody take it away",
    "deployments": "asked for now, so that nobody has to accept it later; not used yet",
}
"""Permissions that cannot be taken away here, and why."""


def _proposed(stage: SimulatedWorld) -> int:
    stage.author.pushes(BRANCH, package("net/core"))
    made = stage.author.opens(BRANCH, "Core")
    return int(made.number)


def _checks(stage: SimulatedWorld, number: int) -> set[str]:
    return set(stage.author.checks(stage.author.pull(number).head))


def _told(rendering: Rendering, story: Story, permissions: Mapping[str, str]) -> None:
    with simulated(rendering) as stage:
        for one in stage.forge.state.data.installations.values():
            one.permissions = dict(permissions)
        stage.app.permissions = dict(permissions)
        stage.repository.has_issues = True
        stage.start_bot()
        stage.rests()
        story(stage)


@pytest.mark.parametrize("permission", sorted(STORIES))
def test_without_a_permission_its_story_fails(rendering: Rendering, permission: str) -> None:
    """The short-cut asks for all that might be of use, and nobody can say what for.

    Another one stops at the first refusal: without a permission nothing is published any more.

    Two permissions have no story here: `metadata`, which GitHub gives to every App and lets
    nobody take away; and `deployments`, which is asked for in advance, so that no owner has to
    accept a new permission once something uses it. What fails without them is an owner's
    `porchbot doctor` (`tests/cli/test_doctor.py`).
    """
    _told(rendering, STORIES[permission], PERMISSIONS)
    without = less(dict(PERMISSIONS), permission)
    with pytest.raises(Exception) as failed:  # noqa: PT011 (each fails in its own way)
        _told(rendering, STORIES[permission], without)
    print(f"\nwithout {permission}: {STORIES[permission].__name__}: {failed.value}")
    if permission not in NEEDED:
        _told(rendering, an_approved_proposal_is_published, without)


def test_no_permission_is_without_a_story() -> None:
    assert set(PERMISSIONS) - set(STORIES) <= set(ELSEWHERE)
