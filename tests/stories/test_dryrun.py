"""`porchbot check NUMBER`: what the bot would say, by its own look; nothing is written."""

import asyncio
import json
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from bot.cli import dryrun
from bot.cli.fn.options import RunnerOptions
from bot.cli.reaching import place_of
from bot.cli.references import ProposalReference
from bot.dryrun import DryRunScope
from bot.forges.github.forge import GitHub
from tests.memory.pipeline import PipelineMaker
from tests.stories.real import RealWorld
from tests.stories.test_upstreams import publishes
from tests.stories.test_variants import RULES, SHOP, variant
from tests.stories.test_variants_approved import ASAP, BY_RULE
from tests.stories.world import CONFIG, package

pytestmark = [pytest.mark.real_parts, pytest.mark.only_github("permissions of an App")]

READS = {"/app/installations/{installation_id}/access_tokens", "/graphql"}
"""What is no GET and writes nothing: a token that can only read, and questions."""


class Command:
    """The command, run beside the bot.

    Args:
        play: Where.
        capsys: What it prints.
        monkeypatch: Its environment.
    """

    def __init__(
        self,
        play: RealWorld,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        self._play, self._capsys, self._monkeypatch = play, capsys, monkeypatch
        for name in ("GITHUB_TOKEN", "GH_TOKEN", "DATABASE_URL"):
            monkeypatch.delenv(name, raising=False)
        self.as_app()

    def as_app(self) -> None:
        """With the settings that the service has."""
        for name, value in self._play.environment.items():
            if name.startswith("PORCHBOT_"):
                self._monkeypatch.setenv(name, value)

    def as_person(self, login: str) -> None:
        """With a token of a person, and nothing of the App."""
        for name in self._play.environment:
            if name.startswith("PORCHBOT_") and "RUNNER" not in name and "API" not in name:
                self._monkeypatch.delenv(name, raising=False)
        self._monkeypatch.setenv("PORCHBOT_STATE", "/nonexistent")
        self._monkeypatch.setenv("GITHUB_TOKEN", self._play.forge.state.token(login))

    def sets(self, name: str, value: str) -> None:
        """Another setting."""
        self._monkeypatch.setenv(name, value)

    def __call__(self, number: int, rules: Path | None = None) -> tuple[int, Any]:
        """The exit status, and what it prints as JSON."""
        self._capsys.readouterr()
        named = f"acme/blueprints#{number}"
        status = dryrun.run(named, RunnerOptions(), rules, as_json=True, maker=PipelineMaker)
        return status, json.loads(self._capsys.readouterr().out)

    def prints(self, number: int, rules: Path | None = None) -> str:
        """What it prints for people."""
        self._capsys.readouterr()
        named = f"acme/blueprints#{number}"
        dryrun.run(named, RunnerOptions(), rules, as_json=False, maker=PipelineMaker)
        said = self._capsys.readouterr()
        return said.out or said.err


@pytest.fixture
def command(
    play: RealWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Command:
    return Command(play, capsys, monkeypatch)


def test_it_says_what_the_check_runs_say_and_writes_nothing(
    play: RealWorld, command: Command, tmp_path: Path
) -> None:
    """Short-cuts: gates of its own that drift from the bot's; a look that comments or remembers.

    The bot rests while it runs, so that every call is the command's; its tokens can only read.
    """
    number = play.opens("topic", package("net/core"))
    play.rests()
    said = play.author.checks(play.author.pull(number).head)
    before = len(play.forge.faults.calls("porchbot[bot]"))
    comments = len(play.author.answers(number))

    status, found = command(number)

    assert (status, found["answer"]) == (1, "not ready")
    shown = {each["name"]: (each["conclusion"], each["title"]) for each in found["checks"]}
    assert shown == {
        name: (run.conclusion, run.title) for name, run in said.items() if "porch" in name
    }
    publish = next(each for each in found["checks"] if each["name"] == "porchbot/publish")
    assert publish["summary"] == said["porchbot/publish"].text
    waits = [gate for gate in found["gates"] if gate["state"] == "waits"]
    assert [(gate["name"], gate["actual"]) for gate in waits] == [("approved", "0 of 1")]
    assert found["next"] == []  # the bot has done it

    # Other rules, tried out here alone.
    rules = tmp_path / "rules.yaml"
    rules.write_text(CONFIG.replace("require: 1", "require: 0"))
    status, found = command(number, rules)
    assert (status, found["answer"]) == (0, "ready")
    assert "AskPublish" in [each["action"] for each in found["next"]]
    rules.write_text("version: many\n")
    assert command(number, rules)[0] == 1
    # As the bot is set up: it may only observe, whatever the repository says.
    assert not found["observe"]
    command.sets("PORCHBOT_MODE", "observe")
    assert command(number)[1]["observe"]

    calls = play.forge.faults.calls("porchbot[bot]")[before:]
    written = [
        c for c in calls if c.kind == "api" and c.method != "GET" and c.template not in READS
    ]
    assert calls
    assert written == []
    assert not [c for c in calls if c.path.endswith("git-receive-pack")]
    tokens = play.forge.state.data.installation_tokens.values()
    assert any(set(token.permissions.values()) == {"read"} for token in tokens)
    play.rests()
    assert len(play.author.answers(number)) == comments
    assert not play.author.tags()


async def seen(number: int, folder: Path) -> DryRunScope:
    async with AsyncExitStack() as stack:
        return await place_of(ProposalReference(number, "acme/blueprints"), stack, folder)


def test_a_person_sees_it_with_a_token_that_can_only_read(
    play: RealWorld, command: Command, tmp_path: Path
) -> None:
    """Short-cut: it takes the App's key, so that only operators can ask."""
    number = play.opens("topic", package("net/core"))
    play.approver.says(number, "/hold until monday")
    play.rests()
    command.as_person("approver")

    text = command.prints(number)

    assert text.splitlines()[0].startswith(f"acme/blueprints#{number}: ")
    assert "net/core v1" in text.splitlines()[0]
    assert text.splitlines()[1] == "not ready"
    assert "  waits: approved: 0 of 1. Needed: " in text
    assert "check porchbot/publish: in progress: " in text
    assert "The bot would" in text
    # What only the bot's database knows is not passed over in silence.
    assert "was not asked" not in text
    command.sets("DATABASE_URL", "postgresql://nobody.invalid/bot")
    assert "database (DATABASE_URL) was not asked" in command.prints(number)
    # One of two bots is told from the other, whose checks are nobody's then.
    command.sets("PORCHBOT_INSTANCE", "staging")
    command.sets("PORCHBOT_MODE", "observe")
    place = asyncio.run(seen(number, tmp_path))
    assert isinstance(place.forge, GitHub)
    assert (place.forge.access.instance, place.instance) == ("staging", "staging")
    assert place.observes
    # Who may not see what others may do is told so.
    play.approver.says(number, "/approve")
    command.as_person("outsider")
    assert command.prints(number).startswith(
        f"error: unknown whether #{number} is ready: the forge refused: 403 Must have admin rights"
    )


def test_what_cannot_be_read_ends_with_2(
    play: RealWorld, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    """Short-cut: a pull request that is not there is one that is not ready."""
    assert dryrun.run("acme/blueprints#77", RunnerOptions(), None, as_json=False) == 2
    assert dryrun.run("acme/elsewhere#1", RunnerOptions(), None, as_json=False) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "is ready: the App is not installed in acme/elsewhere" in said.err


def test_what_a_rule_for_variants_may_approve_is_not_said_to_lack_an_approval(
    play: RealWorld, command: Command, tmp_path: Path
) -> None:
    """Short-cuts refused: "not ready" where the bot merges it; "ready" where no rule wants it."""
    publishes(play, "net/base", package("net/base"), 1)
    play.owner.pushes("main", {".porchbot.yaml": RULES, **variant(annotations=ASAP)})
    play.rests()
    pull = play.author.pull_of(f"{SHOP}-1").number
    play.rests()
    play.stop_bot()  # it has done its part
    status, found = command(pull)
    assert (status, found["answer"], found["ifWanted"]) == (1, "not ready", False)

    rules = tmp_path / "rules.yaml"
    rules.write_text(BY_RULE)
    status, found = command(pull, rules)
    assert (status, found["answer"], found["ifWanted"]) == (2, "unknown", True)
    assert "A rule for variants may approve this" in command.prints(pull, rules)

    play.author.pushes(f"{SHOP}-1", {"apps/shop/more.txt": "mine\n"})
    status, found = command(pull, rules)
    assert (status, found["answer"], found["ifWanted"]) == (1, "not ready", False)


def test_what_is_printed_is_the_answer_alone(play: RealWorld, tmp_path: Path) -> None:
    """Short-cut refused: a line of the log stands among the JSON where functions cannot be run.

    In a process of its own: in this one, stories have set up logs as the bot does.
    """
    number = play.opens("topic", package("net/core"))
    play.rests()
    asked = ["check", f"acme/blueprints#{number}", "--json", "--runner", f"unix:{tmp_path}/none"]

    done = subprocess.run(
        [sys.executable, "-m", "bot.cli", *asked],
        env=play.environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert json.loads(done.stdout)["answer"] == "unknown"
    assert "functions not run" in done.stderr
