"""`porchbot doctor`: what an operator has to change at the forge; the exit status says whether."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli.root import main
from bot.sandbox.serve import SandboxForge
from tests.stories.real import keys
from tests.stories.world import MANIFEST

SECRET = "a secret of the doctor"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    private, _ = keys()
    monkeypatch.setenv("PORCHBOT_GITHUB_PRIVATE_KEY", private)
    monkeypatch.setenv("PORCHBOT_WEBHOOK_SECRETS", SECRET)
    monkeypatch.setenv("PORCHBOT_GITHUB_APP_ID", "1")
    return monkeypatch


def test_what_is_wrong_at_the_forge_is_printed_and_ends_with_1(
    tmp_path: Path, environment: pytest.MonkeyPatch
) -> None:
    """The short-cut looks at the environment only, or ends with 0 once it has printed."""
    with SandboxForge(tmp_path) as forge:
        forge.state.add_user("owner")
        app = forge.state.register_app(
            "porchbot",
            keys()[1],
            owner="owner",
            permissions=MANIFEST["default_permissions"],
            events=MANIFEST["default_events"],
            webhook_url="http://127.0.0.1:9/webhooks/github",
            webhook_secret=SECRET,
        )
        environment.setenv("PORCHBOT_GITHUB_API_URL", forge.api_url)
        environment.setenv("PORCHBOT_GITHUB_APP_ID", str(app.id))
        well = CliRunner().invoke(main, ["doctor"])
        app.permissions = {**app.permissions, "checks": "read"}
        app.webhook_secret = ""
        ill = CliRunner().invoke(main, ["doctor"])
        environment.setenv("PORCHBOT_WEBHOOK_URL", "https://bot.example/webhooks/github")
        elsewhere = CliRunner().invoke(main, ["doctor"])

    assert (well.exit_code, well.output.splitlines()[-1]) == (0, "All is well.")
    assert ill.exit_code == 1
    assert "wrong: The App's permission checks is Read-only; " in ill.output
    assert "wrong: The webhook's secret is empty; " in ill.output
    assert ill.output.splitlines()[-1] == "2 things are wrong."
    assert "it has to be https://bot.example/webhooks/github. Set it at" in elsewhere.output
    assert SECRET not in well.output + ill.output + elsewhere.output


def test_a_forge_that_does_not_answer_ends_with_1(environment: pytest.MonkeyPatch) -> None:
    """The short-cut shows a traceback, or calls it well."""
    environment.setenv("PORCHBOT_GITHUB_API_URL", "http://127.0.0.1:9")

    found = CliRunner().invoke(main, ["doctor"])

    assert found.exit_code == 1
    assert "The forge did not read the App's registration" in found.output
