"""The bot as a machine user with a token: no App, no check runs, a webhook of the repository."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from tests.stories.github_people import at_github
from tests.stories.people import wait_for
from tests.stories.real import RealWorld
from tests.stories.test_main import BAD
from tests.stories.world import CONFIG, SECRET, Staging, package, resized, seconds_pass

pytestmark = [pytest.mark.real_parts, pytest.mark.only_github("a machine user at GitHub")]

ROBOT = "robot"


@pytest.fixture
def robot(staged: Staging) -> Iterator[RealWorld]:
    """A bot that is a collaborator, as its owner sets it up."""
    with staged(CONFIG) as stage:
        assert isinstance(stage, RealWorld)
        state = stage.forge.state
        for installation in list(state.data.installations.values()):
            state.uninstall(installation)
        state.add_user(ROBOT)
        state.add_member(stage.repository, ROBOT, "write")
        stage.environment |= {
            "PORCHBOT_GITHUB_TOKEN": state.token(ROBOT),
            "PORCHBOT_MASTER_KEY": "ab" * 32,
        }
        for name in ("APP_ID", "PRIVATE_KEY"):
            del stage.environment[f"PORCHBOT_GITHUB_{name}"]
        stage.start_bot()
        url = f"http://127.0.0.1:{stage.port}/webhooks/github"
        config = {"url": url, "content_type": "json", "secret": SECRET}
        at_github(stage.owner).create_hook("web", config, events=["*"])
        wait_for("the repository to be adopted", lambda: stage.is_adopted() or None)
        stage.rests()
        seconds_pass(stage.forge, 1)
        yield stage


def statuses(stage: RealWorld, sha: str) -> Mapping[str, str]:
    """Context to state, as people see them."""
    combined = at_github(stage.author).get_commit(sha).get_combined_status()
    return {each.context: each.state for each in combined.statuses}


def waits_for_status(stage: RealWorld, number: int, context: str, state: str) -> None:
    def there() -> bool | None:
        head = stage.author.pull(number).head
        return statuses(stage, head).get(context) == state or None

    wait_for(f"{context} to be {state} on #{number}", there)


def test_from_a_draft_to_a_revision_with_statuses_that_nobody_can_forge(robot: RealWorld) -> None:
    """Short-cuts ask for check runs, which only Apps may make; take the bot's comments for
    people's; or believe a status by its name, which anybody with write access can put.
    """
    author, approver = robot.author, robot.approver
    author.pushes("drafts/net/core/first", {**package("net/core"), "net/core/router.yaml": BAD})
    pull = author.pull_of("drafts/net/core/first")
    waits_for_status(robot, pull.number, "porchbot/validate", "failure")
    told = author.waits_for_summary(pull.number, "<code>porchbot/validate</code>")
    assert "net/core/router.yaml:8" in told  # two lines further: a label was added above
    author.pushes("drafts/net/core/first", {"net/core/router.yaml": None})
    waits_for_status(robot, pull.number, "porchbot/validate", "success")
    author.says(pull.number, "/propose")
    waits_for_status(robot, pull.number, "porchbot/publish", "pending")
    robot.rests()

    head = author.pull(pull.number).head
    author.reports(head, "porchbot/publish")
    waits_for_status(robot, pull.number, "porchbot/publish", "pending")
    robot.rests()
    assert author.tags() == {}
    path = f"{at_github(author).url}/commits/{head}/statuses"
    _, listed = at_github(author).requester.requestJsonAndCheck("GET", path)
    newest = next(each for each in listed if each["context"] == "porchbot/publish")
    assert newest["creator"]["login"] == ROBOT
    assert newest["description"].startswith("net/core v1 is waiting: approved by 0 of 1")

    approver.says(pull.number, "/approve")
    target = author.waits_for_tag("net/core/v1")
    robot.rests()

    merged = author.pull(pull.number)
    assert target == merged.merge_commit
    assert (merged.author, merged.merged_by) == (ROBOT, ROBOT)
    assert statuses(robot, head)["porchbot/publish"] == "success"
    assert robot.failing() == []
    found = [c.author for c in author.comments(pull.number)]
    assert (
        found.count(ROBOT) == len(found) - 2
    )  # and /propose and /approve: it answers none of its own

    _a_commit_that_a_writer_has_filled(robot)


def _a_commit_that_a_writer_has_filled(robot: RealWorld) -> None:
    """Short-cuts leave people with what the writer put there, or put the status at each look.

    It is told where no one else can write it, and keeps nothing back.
    """
    author, state = robot.author, robot.forge.state
    author.pushes("drafts/net/edge/w", resized("net/edge", 3))
    number = author.pull_of("drafts/net/edge/w").number
    waits_for_status(robot, number, "porchbot/publish", "pending")
    robot.rests()
    head = author.pull(number).head
    with state.lock:
        one = robot.repository.statuses[head][-1]
        more = {"state": "success", "context": "porchbot/publish", "creator": state.user("author")}
        robot.repository.statuses[head] += [replace(one, **more)] * 1000
    author.says(number, "/propose")
    author.waits_for_summary(
        number, "`porchbot/publish` cannot be shown at this commit: somebody with write access"
    )
    robot.rests()
    tried = [c for c in robot.forge.faults.calls(ROBOT) if c.status == 422]
    assert len([c for c in tried if "/statuses/" in c.template]) <= 2

    robot.approver.says(number, "/approve")
    author.waits_for_tag("net/edge/v1")
