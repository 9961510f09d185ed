"""Parts of the bot as processes of their own: what they need, and what they leave to others."""

import os
from pathlib import Path
from typing import cast

import pytest
from click.testing import CliRunner
from structlog.testing import capture_logs

from bot.cli.root import main
from bot.connecting import tell_what_is_missing
from bot.forges.port import Forges
from bot.git.mirror import own_folder
from bot.http.ready import OK, Readiness, ReadinessCheck
from bot.serve import Parts, run
from tests.app_key import keys
from tests.stories.forked import Forked
from tests.stories.world import SECRET


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Settings that are enough for `porchbot serve`."""
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("PORCHBOT_GITHUB_APP_ID", "1")
    monkeypatch.setenv("PORCHBOT_GITHUB_PRIVATE_KEY", keys()[0])
    monkeypatch.setenv("PORCHBOT_WEBHOOK_SECRETS", SECRET)
    # Below a file: what is started all the same ends at once.
    (tmp_path / "file").touch()
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path / "file" / "state"))


def test_settings_that_are_missing_are_told_a_line_each(
    environment: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The short-cut joins them: `… such as 1.; PORCHBOT_… is not set`, on one line."""
    monkeypatch.delenv("PORCHBOT_GITHUB_PRIVATE_KEY")
    monkeypatch.delenv("PORCHBOT_WEBHOOK_SECRETS")
    told = [
        "PORCHBOT_GITHUB_PRIVATE_KEY_FILE is not set. Set it to the PEM file that you downloaded"
        " from GitHub.",
        "PORCHBOT_WEBHOOK_SECRETS is not set. Set it to the App's webhook secret.",
    ]

    assert run(Parts(), until_stdin_closes=False) == 1
    assert capsys.readouterr().err.splitlines() == [f"porchbot serve: {each}" for each in told]

    doctor = CliRunner().invoke(main, ["doctor"])
    assert doctor.exit_code == 1
    assert doctor.stderr.splitlines() == [f"error: {told[0]}", told[1]]


@pytest.mark.parametrize(
    ("parts", "name"), [(Parts(work=False), "serve"), (Parts(web=False), "worker")]
)
def test_a_part_of_the_bot_needs_a_database_to_share(
    environment: None, parts: Parts, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The short-cut starts a database of its own, and webhooks wait there for nobody."""
    assert run(parts, until_stdin_closes=False) == 1
    assert capsys.readouterr().err == (
        f"porchbot {name}: DATABASE_URL is not set. Set it to a PostgreSQL server: the processes"
        " that receive webhooks and the workers share one database\n"
    )


def test_a_database_that_is_not_there_is_told_in_a_line(environment: None, tmp_path: Path) -> None:
    """The short-cut lets the error through as it was raised: a page of stack, the reason last."""
    environ = {
        **os.environ,
        "DATABASE_URL": "postgresql://porchbot@127.0.0.1:1/porchbot",
        "PORCHBOT_LISTEN": "127.0.0.1:0",
    }
    # Processes: a log that is configured here would go on into the next tests, whose file is gone.
    logs = [tmp_path / name for name in ("both", "web", "work")]
    bots = [
        Forked(command, environ, log)
        for command, log in zip(
            (["serve"], ["serve", "--no-worker"], ["worker"]), logs, strict=True
        )
    ]

    for bot, log in zip(bots, logs, strict=True):
        assert bot.wait(120) == 1
        [line] = log.read_text().splitlines()
        assert "The database cannot be reached: " in line
        assert line.endswith("Start it, or set DATABASE_URL.")


def test_replicas_with_one_state_folder_have_mirrors_of_their_own(tmp_path: Path) -> None:
    """The short-cut shares the folder: what a mirror remembers of its refs is another's by then."""
    wanted = tmp_path / "state" / "mirrors"
    with own_folder(wanted) as one:
        with own_folder(wanted) as two:
            assert (one.name, two.name) == ("mirrors", "mirrors-2")
        with own_folder(wanted) as next_one:
            assert next_one.name == "mirrors-2"
    with own_folder(wanted) as again:
        assert again == one


async def test_who_ends_is_not_ready_though_all_is_well() -> None:
    async def well() -> None:
        return None

    readiness = Readiness({"database": ReadinessCheck(well, 1)})
    assert await readiness.read() == {"database": OK}
    readiness.end()
    assert await readiness.read() == {"bot": "shutting down"}


async def test_what_a_forge_answers_that_cannot_be_read_ends_no_bot() -> None:
    """The short-cut expects its own errors alone: a proxy's page ends every process at once."""

    class Broken:
        async def drift(self) -> object:
            answer: dict[str, object] = {}
            return answer["permissions"]

    with capture_logs() as said:
        await tell_what_is_missing(cast(Forges, Broken()))

    assert [each["event"] for each in said] == ["the token cannot be checked"]
    assert "its answer cannot be read (KeyError: 'permissions')" in said[0]["reason"]
