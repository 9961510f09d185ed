"""Two bots on one repository, staging and production: each keeps to its own."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifecycle import records
from tests.app_key import keys
from tests.ports import free_port
from tests.stories.people import wait_for
from tests.stories.real import RealWorld
from tests.stories.world import MANIFEST, package

pytestmark = pytest.mark.real_parts

STAGING = 4712
BRANCH = "topic"
OWN, OTHER = "porchbot/publish", "porchbot/publish (staging)"

Twin = Callable[..., RealWorld]


@pytest.fixture
def twin(play: RealWorld, bare_database_url: str, tmp_path: Path) -> Iterator[Twin]:
    """Makes a second bot, with a database of its own; it hears of no webhook, and sweeps."""
    made: list[RealWorld] = []

    def make(**settings: str) -> RealWorld:
        port = free_port()
        environment = {
            **play.environment,
            "DATABASE_URL": bare_database_url,
            "PORCHBOT_LISTEN": f"127.0.0.1:{port}",
            "PORCHBOT_STATE": str(tmp_path / "staging"),
            "PORCHBOT_INSTANCE": "staging",
            **settings,
        }
        other = replace(
            play, environment=environment, port=port, _loop=None, _stop=None, _thread=None
        )
        made.append(other)
        other.start_bot()
        other.rests()
        return other

    yield make
    for each in made:
        each.stop_bot()


def looks(bot: RealWorld) -> None:
    """A bot looks at everything."""
    bot.sweep()
    bot.rests()


def looks_at_it(bot: RealWorld) -> None:
    """A bot looks at the proposal."""
    me = bot.repository.id
    bot.wake(f"{bot.name}:{me}:proposal:{me}:{BRANCH}")
    bot.rests()


def summaries(play: RealWorld, number: int) -> dict[str, Any]:
    """The summaries under a proposal, by the names of the bots in their markers."""
    found: dict[str, Any] = {}
    for comment in play.author.comments(number):
        for name in ("porchbot", "staging"):
            if records.is_summary(comment.body, name):
                assert name not in found, f"{name} has two"
                found[name] = comment
    return found


@pytest.mark.only_github("permissions of an App")
def test_two_bots_of_one_app_leave_each_others_comments_and_checks(
    play: RealWorld, twin: Twin
) -> None:
    """Short-cuts refused: what the App wrote is ours. Each then restores what people did to the
    other's comments, asks for fresh approvals for it, makes a check anew at each look, as the
    forge shows the newest of a name alone, and tags a merge that the other one tagged.
    """
    number = play.opens(BRANCH, package("net/core"))
    play.rests()
    staging = twin()
    looks_at_it(staging)
    looks_at_it(play)
    before = summaries(play, number)
    assert before.keys() == {"porchbot", "staging"}

    # A person edits what staging wrote: production leaves that, and staging puts it right.
    play.approver.edits(number, before["staging"].id, before["staging"].body + "\n\nAll is well.")
    looks_at_it(play)
    assert summaries(play, number)["staging"].body.endswith("All is well.")
    assert "edited" not in summaries(play, number)["porchbot"].body
    looks_at_it(staging)
    after = summaries(play, number)
    assert "All is well." not in after["staging"].body
    assert "edited by somebody else" in after["staging"].body

    shown = play.author.every_check(play.author.pull(number).head)
    runs = [run.name for run in shown]
    assert {run.mark.startswith("staging:") for run in shown if "(staging)" in run.name} == {True}
    assert not any("staging" in run.mark for run in shown if "(staging)" not in run.name)
    assert sorted(name for name in runs if "publish" in name) == [OWN, OTHER]
    assert len(runs) == len(set(runs))

    play.approver.says(number, "/approve")
    play.author.waits_for_tag("net/core/v1")
    play.rests()
    looks(staging)
    assert set(play.author.tags()) == {"net/core/v1"}
    assert play.failing() == staging.failing() == []
    wait_for(
        "staging to say so",
        lambda: "mark of another porchbot" in summaries(play, number)["staging"].body or None,
    )


@pytest.mark.only_github("permissions of an App")
def test_a_bot_of_another_app_only_observes_by_its_own_setting(
    play: RealWorld, twin: Twin, tmp_path: Path
) -> None:
    """Short-cuts refused: `mode: observe` of the repository's file, which both of them read."""
    private, public = keys()
    app = play.forge.state.register_app(
        "porchbot-staging",
        public,
        owner="acme",
        app_id=STAGING,
        permissions=MANIFEST["default_permissions"],
        events=[],
        webhook_url="",
        webhook_secret="",
    )
    play.forge.state.install(app, play.repository)
    staging = twin(
        PORCHBOT_GITHUB_APP_ID=str(STAGING),
        PORCHBOT_GITHUB_PRIVATE_KEY=private,
        PORCHBOT_MODE="observe",
    )
    number = play.opens(BRANCH, package("net/core"))
    play.rests()
    looks(staging)
    assert summaries(play, number).keys() == {"porchbot"}
    shown = play.author.checks(play.author.pull(number).head)
    runs = {run.name: run.conclusion for run in shown.values()}
    assert runs[OTHER] == "neutral"
    assert runs[OWN] is None

    play.approver.says(number, "/approve")
    play.author.waits_for_tag("net/core/v1")
    play.rests()
    looks(staging)
    assert set(play.author.tags()) == {"net/core/v1"}
    writes = {
        call.template
        for call in play.forge.faults.calls("porchbot-staging[bot]")
        if call.method != "GET" and "graphql" not in call.template
    }
    assert writes <= {
        "/app/installations/{installation_id}/access_tokens",
        "/repos/{owner}/{repo}/check-runs",
        "/{owner}/{repo}.git/git-upload-pack",
    }
