"""`extends:` at work: defaults that the organisation keeps, at a commit that somebody pinned."""

import pytest

from bot.sandbox.records.protection import QueueRule
from tests.stories.world import CONFIG, Staging, World, minutes_pass, package

BRANCH = "drafts/net/core/w"
STRICT = CONFIG.replace("require: 1", "require: 2")


def _extending(stage: World, text: str) -> str:
    """The organisation's repository with a file of defaults; a reference to it."""
    organisation = stage.forge.state.add_repository("acme", ".porchbot")
    stage.forge.state.add_member(organisation, "owner", "admin")
    return f"acme/.porchbot@{_publishes(stage, 'defaults.yaml', text)}:defaults.yaml"


def _publishes(stage: World, path: str, text: str, branch: str = "main") -> str:
    """A commit of the organisation's repository with a file."""
    return stage.owner.at("acme/.porchbot").adds_file(path, text, branch)


def test_the_organisations_defaults_judge_and_a_stray_commit_does_not(staged: Staging) -> None:
    """The short-cut asks the forge for whatever commit is named: forges show those of forks too.

    Another one goes on without what it cannot read, by rules that nobody chose.
    """
    with staged("version: 1\n") as stage:
        organisation = stage.forge.state.add_repository("acme", ".porchbot")
        stage.forge.state.add_member(organisation, "owner", "admin")
        good = _publishes(stage, "defaults.yaml", STRICT)
        stage.owner.at("acme/.porchbot").makes_ref("heads/topic", good)
        stray = _publishes(stage, "free.yaml", "access: {approve: {require: 0}}\n", "topic")

        def extends(reference: str) -> None:
            stage.owner.pushes("main", {".porchbot.yaml": f"extends: {reference}\n"})
            stage.rests()

        extends(f"acme/.porchbot@{good}:defaults.yaml")
        stage.start_bot()
        stage.rests()
        number = stage.proposes(BRANCH, package("net/core"))
        stage.approver.says(number, "/approve")
        said = stage.author.waits_for_summary(number, "1 of 2")
        assert "1 of 2" in said
        for reference, told in (
            (f"acme/.porchbot@{stray}:free.yaml", "is not on 'main', the default branch there"),
            (
                f"acme/.porchbot@{'0' * 40}:defaults.yaml",
                "it does not exist, or the bot has no access to it",
            ),
            (
                f"acme/.porchbot@{good}:missing.yaml",
                "it does not exist, or the bot has no access to it",
            ),
            (f"other/.porchbot@{good}:defaults.yaml", "belong to another owner"),
        ):
            extends(reference)
            stage.author.says(number, "/check")
            stage.rests()
            head = stage.author.pull(number).head
            run = stage.author.checks(head)["porchbot/publish"]
            assert (run.conclusion, told in str(run.text)) == ("failure", True), reference
        assert stage.author.tags() == {}


@pytest.mark.only_github("merge queues")
def test_a_merge_queue_judges_by_what_the_organisation_keeps(staged: Staging) -> None:
    """The short-cut reads rules for groups in a way of its own: what they extend is never there."""
    with staged("version: 1\n") as stage:
        rules = _extending(stage, CONFIG)
        stage.owner.pushes("main", {".porchbot.yaml": f"version: 1\nextends: {rules}\n"})
        with stage.forge.state.lock:
            checks = [("porchbot/publish", stage.app.id)]
            stage.repository.rulesets.clear()
            stage.forge.state.rules.add(
                stage.repository, merge_queue=QueueRule(), required_checks=checks
            )
        stage.start_bot()
        stage.rests()
        number = stage.proposes(BRANCH, package("net/core"))
        stage.approver.says(number, "/approve")
        stage.author.waits_for_tag("net/core/v1")


def test_a_sweep_looks_at_what_the_defaults_let_through_alone(
    staged: Staging, is_real: bool
) -> None:
    """The short-cut reads no defaults in a sweep: what nobody approves waits for a day."""
    if is_real:
        pytest.skip("waits for minutes")
    free = CONFIG.replace('{require: 1, from: ["role:maintain"]}', "{require: 0, self: true}")
    with staged("version: 1\n") as stage:
        rules = _extending(stage, f"{free}publish:\n  checks: [scan]\n")
        stage.owner.pushes("main", {".porchbot.yaml": f"version: 1\nextends: {rules}\n"})
        stage.start_bot()
        stage.rests()
        number = stage.proposes(BRANCH, package("net/core"))
        head = stage.author.pull(number).head
        for _ in range(2):  # of what changed lately, a sweep has everything looked at
            minutes_pass(stage, 3)
            stage.wake(f"{stage.name}:{stage.repository.id}:repository")
            stage.rests()
        assert stage.author.tags() == {}
        stage.stop_bot()
        for event in stage.status_events:
            stage.forge.faults.hooks.drop(event, None)
        stage.owner.reports(head, "scan")

        stage.start_bot()
        stage.author.waits_for_tag("net/core/v1")
