"""One bot serves GitHub.com and an Enterprise Server: repositories of one number at each."""

from pathlib import Path

import pytest

from tests.stories.people import wait_for
from tests.stories.real import RealWorld, world
from tests.stories.world import CONFIG, Staging, package, seconds_pass

pytestmark = [pytest.mark.real_parts, pytest.mark.only_github("two GitHubs")]

BRANCH = "drafts/net/core/first"
OWN = ("APP_ID", "PRIVATE_KEY", "API_URL")


def test_one_bot_serves_two_githubs_and_takes_neither_for_the_other(
    staged: Staging, tmp_path: Path
) -> None:
    """Short-cuts know a repository by its number, or read the events of all with one secret.

    Both forges count from one: repository, pull request and App have the same numbers.
    """
    with staged(CONFIG) as one:
        assert isinstance(one, RealWorld)
        database, runner = (
            one.environment[name] for name in ("DATABASE_URL", "PORCHBOT_RUNNER_ADDRESS")
        )
        with world(tmp_path / "corp", database, runner) as two, two.waits():
            assert (one.repository.id, one.app.id) == (two.repository.id, two.app.id)
            for kind in OWN:
                one.environment[f"PORCHBOT_GITHUB_CORP_{kind}"] = two.environment[
                    f"PORCHBOT_GITHUB_{kind}"
                ]
            one.environment["PORCHBOT_GITHUB_NAMES"] = "corp"
            one.environment["PORCHBOT_GITHUB_CORP_WEBHOOK_SECRETS"] = "another secret"
            two.app.webhook_url = f"http://127.0.0.1:{one.port}/webhooks/github/corp"
            two.app.webhook_secret = "another secret"
            one.start_bot()
            wait_for("both to be adopted", lambda: len(_adopted(one)) == 2 or None)
            one.rests()
            seconds_pass(one.forge, 1)
            seconds_pass(two.forge, 1)

            numbers = [stage.proposes(BRANCH, package("net/core")) for stage in (one, two)]
            assert numbers == [1, 1]
            two.approver.says(1, "/approve")
            two.author.waits_for_tag("net/core/v1")
            one.rests()

            assert one.author.tags() == {}
            assert not one.author.pull(1).merged
            assert "**approved**: 0 of 1" in one.author.summary(1)
            assert one.failing() == []
            keys = {key for (key,) in one.database("SELECT key FROM work")}
            assert {key.partition(":")[0] for key in keys} == {"github", "corp"}


def _adopted(stage: RealWorld) -> list[tuple[object, ...]]:
    return stage.database("SELECT 1 FROM adoption")
