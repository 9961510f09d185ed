"""`extends:` at work: defaults that the organisation keeps, at a commit that somebody pinned."""

from typing import Any

from tests.stories.world import CONFIG, Staging, World, package

BRANCH = "drafts/net/core/w"
STRICT = CONFIG.replace("require: 1", "require: 2")


def _publishes(stage: World, path: str, text: str, branch: str = "main") -> str:
    """A commit of the organisation's repository with a file."""
    place: Any = stage.owner.client().get_repo("acme/.porchbot")
    return str(place.create_file(path, "Defaults", text, branch=branch)["commit"].sha)


def test_the_organisations_defaults_judge_and_a_stray_commit_does_not(staged: Staging) -> None:
    """The short-cut asks the forge for whatever commit is named: forges show those of forks too.

    Another one goes on without what it cannot read, by rules that nobody chose.
    """
    with staged("version: 1\n") as stage:
        organisation = stage.forge.state.add_repository("acme", ".porchbot")
        stage.forge.state.add_member(organisation, "owner", "admin")
        good = _publishes(stage, "defaults.yaml", STRICT)
        place: Any = stage.owner.client().get_repo("acme/.porchbot")
        place.create_git_ref("refs/heads/topic", good)
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
            (f"acme/.porchbot@{'0' * 40}:defaults.yaml", "it is not there, or may not be seen"),
            (f"acme/.porchbot@{good}:missing.yaml", "it is not there, or may not be seen"),
            (f"other/.porchbot@{good}:defaults.yaml", "belong to another owner"),
        ):
            extends(reference)
            stage.author.says(number, "/check")
            stage.rests()
            head = stage.author.pull(number).head.sha
            run = stage.author.checks(head)["porchbot/publish"]
            assert (run.conclusion, told in str(run.output.summary)) == ("failure", True), reference
        assert stage.author.tags() == {}
