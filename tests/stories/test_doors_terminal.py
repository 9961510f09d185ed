"""The command line as a door: each command, run by each role, changes nothing at the forge.

What a command does there it does by whoever's token it is given; none asks the bot for anything,
so what `access` is about is out of its reach. Which modules may speak with a forge at all:
`tests/cli/test_doors.py`.
"""

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from bot.cli.root import main
from tests.stories.real import RealWorld
from tests.stories.world import package

pytestmark = [pytest.mark.only_github("permissions of an App"), pytest.mark.real_parts]

STARTED: Mapping[str, str] = {
    "demo": "starts a forge of its own, and is run by `make demo`",
    "function-server": "serves functions until it is ended",
    "playground": "starts a forge of its own, and is tried in `tests/cli/test_playground.py`",
    "runner": "serves functions until it is ended",
    "serve": "is the bot, which asks `authorise`",
    "setup": "waits for an owner to confirm an App, as `tests/cli/test_setup.py` does",
    "setup gitlab": "asks another forge, as in `tests/cli/test_setup_gitlab.py`",
    "setup machine-user": "makes webhooks alone, as in `tests/cli/test_setup_user.py`",
    "worker": "is the bot, which asks `authorise`",
}
"""Commands that are not run here, each with where it is, or why it needs no lock."""

_ASKED = ("--repository", "acme/nowhere", "--timeout", "0")
"""A comment in the caller's name would be theirs to write: they are asked where they may not.
What the bot makes of it where they may is told in `test_drafts.py`."""

ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "audit": (),
    "check": ("acme/blueprints#NUMBER",),
    "completion": ("bash",),
    "doctor": ("--fix",),
    "fn doc": ("--image", "set-labels:v0.2"),
    "fn eval": ("net/core", "--image", "set-labels:v0.2", "--", "a=b"),
    "fn list": (),
    "fn render": ("net/core",),
    "fn sink": ("out",),
    "fn source": ("net/core",),
    "help": (),
    "impact": ("acme/blueprints#NUMBER",),
    "live": (),
    "pkg cat": ("net/core",),
    "pkg diff": ("net/core",),
    "pkg get": ("URL.git/net/core@v1", "got"),
    "pkg init": ("new",),
    "pkg merge": (),
    "pkg tree": ("net/core",),
    "pkg update": ("got",),
    "rpkg approve": ("--repository", "acme/nowhere", "1"),
    "rpkg clone": (*_ASKED, "net/core@v1", "apps/mine"),
    "rpkg diff": ("net/core@v1", "net/core@v1"),
    "rpkg edit": (*_ASKED, "net/core"),
    "rpkg eval": (*_ASKED, "--package", "net/core", "set-labels:v0.2", "a=b"),
    "rpkg get": (),
    "rpkg graph": (),
    "rpkg init": (*_ASKED, "net/mine"),
    "rpkg list": (),
    "rpkg propose": ("--repository", "acme/nowhere", "1"),
    "rpkg rebase": (*_ASKED, "--on", "NUMBER"),
    "rpkg resume": (*_ASKED, "net/core"),
    "rpkg rollback": (*_ASKED, "net/core@v1"),
    "rpkg set": (*_ASKED, "--package", "net/core", "data.size=9"),
    "rpkg upgrade": (*_ASKED, "net/core"),
    "secret list": (),
    "secret put": ("name",),
    "secret remove": ("name",),
    "verify": ("net/core@v1",),
    "version": (),
}

LOCAL = ("fn", "pkg cat", "pkg diff", "pkg init", "pkg merge", "pkg tree", "completion", "help")
"""Beginnings of commands that take no token, as `tests/cli/test_doors.py` shows by their imports:
they are run by one person."""

READS = "/graphql"
"""Reading a conversation is a POST."""


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Every command that can be run, by its words."""
    if not isinstance(command, click.Group):
        yield " ".join(path)
        return
    if path == ("setup",):
        yield "setup"
    for name in command.list_commands(click.Context(command)):
        inner = command.get_command(click.Context(command), name)
        assert inner is not None
        yield from leaves(inner, (*path, name))


def test_every_command_is_run_or_says_why_not() -> None:
    """Fails when a command is added and nobody asks what it can do at a forge."""
    assert set(leaves(main)) == {*STARTED, *ARGUMENTS}


def test_no_command_changes_anything_for_anybody(
    play: RealWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Short-cuts: a command that approves, tags or comments by the token that it finds.

    `doctor --fix` makes rules by an owner's token, and by no other's.
    """
    number = play.opens("topic", package("net/core"))
    play.approver.says(number, "/approve")
    play.author.waits_for_tag("net/core/v1")
    number = play.opens("next", package("apps/shop"))
    play.rests()
    url = play.forge.clone_url("acme", "blueprints")
    for name in (n for n in play.environment if n.startswith("PORCHBOT_") and "API" not in n):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    for name in ("PORCHBOT_GITHUB_API_URL", "PORCHBOT_RUNNER_ADDRESS"):
        monkeypatch.setenv(name, play.environment[name])
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("KPT_CACHE_DIR", str(tmp_path / "cache"))
    before = snapshot(play)

    for login in play.people:
        folder = tmp_path / login
        token = play.forge.state.token(login)
        cloned = url.replace("://", f"://x:{token}@")
        subprocess.run(["git", "clone", "--quiet", cloned, str(folder)], check=True)
        monkeypatch.chdir(folder)
        monkeypatch.setenv("GITHUB_TOKEN", token)
        mark = play.forge.faults.mark()
        for words, arguments in ARGUMENTS.items():
            if login == "owner" and words == "doctor":
                continue
            if login != "author" and words.startswith(LOCAL):
                continue
            given = [a.replace("NUMBER", str(number)).replace("URL", cloned) for a in arguments]
            done = CliRunner().invoke(main, [*words.split(), *given], input="")
            crashed = done.exception is not None and not isinstance(done.exception, SystemExit)
            assert not crashed, (login, words, done.exception)
        calls = play.forge.faults.calls(login, since=mark)
        assert any(c.kind == "api" for c in calls), login
        written = [c for c in calls if c.kind == "api" and c.method != "GET" and c.status < 300]
        assert [c.template for c in written if c.template != READS] == [], login
        assert not [c for c in calls if "receive-pack" in str(c)], login
        assert snapshot(play) == before, login
    play.rests()
    assert set(play.author.tags()) == {"net/core/v1"}
    assert play.author.pull(number).merged is False


def snapshot(play: RealWorld) -> Any:
    """All at the repository that a person could change."""
    state = play.forge.state
    with state.lock:
        repo = state.data.repositories[play.repository.id]
        return (
            {ref: repo.refs[ref] for ref in repo.refs.below("refs/")},
            [
                (p.number, p.state, p.draft, len(p.comments), len(p.reviews), len(p.labels))
                for p in repo.pulls.values()
            ],
            len(repo.releases),
            repo.archived,
        )
