"""`porchbot check NUMBER` at GitLab: what the bot would say; nothing is written."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bot.cli import dryrun
from bot.cli.fn.options import RunnerOptions
from tests.memory.pipeline import PipelineMaker
from tests.stories.real import RealWorld
from tests.stories.world import package

pytestmark = [
    pytest.mark.real_parts,
    pytest.mark.parametrize("forge", ["gitlab"], indirect=True),
]

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def number(play: RealWorld, monkeypatch: pytest.MonkeyPatch) -> int:
    """A proposal that waits for an approval, and an environment without tokens."""
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PORCHBOT_STATE", "/nonexistent")
    found = play.opens("topic", package("net/core"))
    play.rests()
    return found


def as_person(play: RealWorld, monkeypatch: pytest.MonkeyPatch, login: str) -> None:
    """With a token of a person that can only read, and a runner: a start of one takes a second."""
    runner = "PORCHBOT_RUNNER_ADDRESS"
    monkeypatch.setenv(runner, play.environment[runner])
    made = play.forge.tokens.make(login, scopes=("read_api", "read_repository"))
    monkeypatch.setenv("GITLAB_TOKEN", made.value)
    monkeypatch.setenv("PORCHBOT_GITLAB_URL", play.forge.web_url)


def check(named: str, printed: Printed) -> tuple[int, str]:
    """The exit status, and what is printed for people."""
    printed.readouterr()
    status = dryrun.run(named, RunnerOptions(), None, as_json=False, maker=PipelineMaker)
    said = printed.readouterr()
    return status, said.out or said.err


def test_the_bot_says_what_its_statuses_say_and_writes_nothing(
    play: RealWorld, number: int, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts: it is looked for at GitHub; a look that comments, or exchanges its token.

    The bot rests while it runs, so that every call is the command's.
    """
    for name, value in play.environment.items():
        if name.startswith("PORCHBOT_"):
            monkeypatch.setenv(name, value)
    before = play.forge.faults.mark()
    notes = len(play.author.comments(number))
    named = f"{play.forge.web_url}/acme/blueprints/-/merge_requests/{number}/diffs"
    capsys.readouterr()

    status = dryrun.run(named, RunnerOptions(), None, as_json=True, maker=PipelineMaker)

    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (status, found["answer"], found["repository"]) == (1, "not ready", "acme/blueprints")
    waits = [gate for gate in found["gates"] if gate["state"] == "waits"]
    assert [(gate["name"], gate["actual"]) for gate in waits] == [("approved", "0 of 1")]
    assert "@porchbot approve" in waits[0]["wanted"]
    head = play.author.pull(number).head
    said = {name: each.conclusion for name, each in play.author.checks(head).items()}
    assert {each["name"]: each["conclusion"] for each in found["checks"]} == said
    assert found["next"] == []  # the bot has done it
    mine = play.forge.faults.calls("porchbot", since=before)
    assert mine
    assert [
        (each.method, each.path)
        for each in mine
        if each.kind == "api" and each.method != "GET" and not each.path.endswith("/graphql")
    ] == []
    assert not [each for each in mine if each.path.endswith("git-receive-pack")]
    assert len(play.author.comments(number)) == notes
    assert not play.author.tags()


def test_a_person_sees_it_in_a_clone_with_a_token_that_can_only_read(
    play: RealWorld,
    number: int,
    capsys: Printed,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Short-cut: it takes the bot's token, so that only operators can ask."""
    as_person(play, monkeypatch, "approver")
    origin = play.author.clone_url
    for args in (("init", "-q"), ("remote", "add", "origin", origin)):
        subprocess.run(["git", *args], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)

    for named in (f"{number}", f"!{number}", f"acme/blueprints!{number}"):
        status, text = check(named, capsys)
        assert status == 1, text
        assert text.splitlines()[0].startswith(f"acme/blueprints!{number}: ")
        assert "  waits: approved: 0 of 1. Needed: " in text


def test_what_cannot_be_read_ends_with_2_and_says_why(
    play: RealWorld, number: int, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut: a merge request that is not there is one that is not ready."""
    as_person(play, monkeypatch, "approver")
    for named, words in {
        "acme/blueprints!77": "unknown whether !77 is ready: GitLab refused: ",
        "acme/elsewhere!1": "unknown whether !1 is ready: GitLab refused: 404 Project Not Found",
    }.items():
        status, text = check(named, capsys)
        assert (status, words in text) == (2, True), text
    monkeypatch.setenv("PORCHBOT_GITLAB_LOGIN", "nobody")
    assert "nobody there is called nobody" in check(f"acme/blueprints!{number}", capsys)[1]
    monkeypatch.setenv("GITLAB_TOKEN", "glpat-wrong")
    status, text = check(f"acme/blueprints!{number}", capsys)
    assert (status, "401 Unauthorized" in text) == (2, True), text
