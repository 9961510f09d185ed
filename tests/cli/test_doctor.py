"""`porchbot doctor`: what an operator has to change at the forge; the exit status says whether."""

from pathlib import Path
from urllib.parse import urlsplit

import click
import pytest
from click.testing import CliRunner

from bot.cli.doctor import token_forge
from bot.cli.root import main
from bot.forges.github.registration import PERMISSIONS, WITHOUT
from bot.sandbox.serve import SandboxForge
from tests.app_key import keys
from tests.contract.watch import watched
from tests.stories.test_manifest import less
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
    """The short-cut looks at the environment only, or ends with 0 once it has printed.

    Another one knows some of the permissions: each is taken down a step, and is told with what is
    lost without it, also the two that no story of a repository needs.
    """
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
        asked, lacking = dict(app.permissions), {}
        for name in asked:
            app.permissions = less(asked, name)
            lacking[name] = CliRunner().invoke(main, ["doctor"])
        app.permissions = {**asked, "checks": "read"}
        app.webhook_secret = ""
        ill = CliRunner().invoke(main, ["doctor"])
        environment.setenv("PORCHBOT_WEBHOOK_URL", "https://bot.example/webhooks/github")
        elsewhere = CliRunner().invoke(main, ["doctor"])

    assert (well.exit_code, well.output.splitlines()[-1]) == (0, "No problems found.")
    for name, found in lacking.items():
        (line,) = (each for each in found.output.splitlines() if each.startswith("wrong: "))
        assert (found.exit_code, found.output.splitlines()[-1]) == (1, "1 problem found.")
        assert line.startswith(f"wrong: The App's permission {name}: ")
        assert f"until then {WITHOUT.get(name, '')}" in line or name == "metadata"
    assert set(lacking) == set(PERMISSIONS)
    assert ill.exit_code == 1
    assert "wrong: The App's permission checks: Read-only. " in ill.output
    assert "wrong: The webhook's secret: empty. " in ill.output
    assert ill.output.splitlines()[-1] == "2 problems found."
    assert "Needed: https://bot.example/webhooks/github. Set it at" in elsewhere.output
    assert SECRET not in well.output + ill.output + elsewhere.output


def test_a_forge_that_does_not_answer_ends_with_1(environment: pytest.MonkeyPatch) -> None:
    """The short-cut shows a traceback, or calls it well."""
    environment.setenv("PORCHBOT_GITHUB_API_URL", "http://127.0.0.1:9")

    found = CliRunner().invoke(main, ["doctor"])

    assert found.exit_code == 1
    assert "The forge did not read the App's registration" in found.output


@pytest.mark.parametrize("address", ["http://[", "https://github.corp:x/api/v3", "github.corp"])
def test_an_address_that_is_none_is_named(environment: pytest.MonkeyPatch, address: str) -> None:
    """The short-cut takes it apart before it is judged: "this is a bug of porchbot"."""
    environment.setenv("PORCHBOT_GITHUB_API_URL", address)

    found = CliRunner().invoke(main, ["doctor"])

    assert found.exit_code == 1
    assert f"PORCHBOT_GITHUB_API_URL is '{address}'. Give an address such as" in found.output


def test_rules_of_repositories_are_compared_and_added(
    tmp_path: Path, environment: pytest.MonkeyPatch
) -> None:
    """The short-cut says that all is well where anybody may merge and tag past the bot.

    Another one adds rules with whatever token there is, or again each time.
    """
    source = tmp_path / "source" / "net"
    source.mkdir(parents=True)
    (source / "Kptfile").write_text("kind: Kptfile\n")
    (source.parent / ".porchbot.yaml").write_text(
        "version: 1\naccess:\n"
        '  approve: {require: 1, from: ["user:author", "user:reader", "team:net"]}\n'
    )
    with SandboxForge(tmp_path) as forge, watched(forge):
        forge.state.add_user("owner")
        forge.state.add_user("author")
        forge.state.add_user("reader")
        repository = forge.state.add_repository("owner", "packages", source.parent)
        forge.state.add_member(repository, "author", "write")
        app = forge.state.register_app(
            "porchbot",
            keys()[1],
            owner="owner",
            permissions=MANIFEST["default_permissions"],
            events=MANIFEST["default_events"],
            webhook_url="http://127.0.0.1:9/webhooks/github",
            webhook_secret=SECRET,
        )
        forge.faults.hooks.drop(times=None)
        forge.state.install(app, repository)
        environment.setenv("PORCHBOT_GITHUB_API_URL", forge.api_url)
        environment.setenv("PORCHBOT_GITHUB_APP_ID", str(app.id))
        ill = CliRunner().invoke(main, ["doctor"])
        elsewhere = CliRunner().invoke(main, ["doctor", "owner/other"])
        needs = CliRunner().invoke(main, ["doctor", "--fix"])
        environment.setenv("PORCHBOT_OWNER_TOKEN", forge.state.token("author"))
        refused = CliRunner().invoke(main, ["doctor", "--fix", "Owner/packages"])
        before = dict(repository.rulesets)
        environment.setenv("PORCHBOT_OWNER_TOKEN", forge.state.token("owner"))
        fixed = CliRunner().invoke(main, ["doctor", "--fix"])
        after = dict(repository.rulesets)
        again = CliRunner().invoke(main, ["doctor", "--fix"])
        assert dict(repository.rulesets) == after

    assert ill.exit_code == 1
    assert "wrong: owner/packages, branch main: porchbot/publish is not required. " in ill.output
    assert "wrong: owner/packages, release tags: anyone with write access" in ill.output
    assert "access in .porchbot.yaml: named without write access: @reader, team net." in ill.output
    assert f"{forge.web_url}/owner/packages/settings/rules" in ill.output
    assert "The bot has no access to owner/other. Install the App there" in elsewhere.output
    assert "Set PORCHBOT_OWNER_TOKEN" in needs.output
    assert (refused.exit_code, before) == (1, {})
    assert "not fixed: owner/packages, branch main:" in refused.output
    assert fixed.output.count("fixed: ") == 2
    assert (fixed.exit_code, again.exit_code) == (0, 0), fixed.output
    assert "fixed" not in again.output
    branch, tags = after.values()
    assert (branch.required_checks, branch.bypass) == ((("porchbot/publish", app.id),), ())
    assert (tags.creation, tags.update, tags.deletion) == (True, True, True)
    assert [(b.actor_type, b.actor_id) for b in tags.bypass] == [("Integration", app.id)]


def test_an_owners_token_goes_to_the_forge_that_is_named() -> None:
    """Short-cut refused: it is sent to the first GitHub, whoever's it is."""
    hosts = {"github": "github.com", "corp": "github.corp"}

    assert token_forge({"corp"}, hosts) == "corp"
    with pytest.raises(click.ClickException, match=r"Add --host with github\.com or github\.corp"):
        token_forge({"github", "corp"}, hosts)


def test_of_two_githubs_the_one_that_is_named_gets_the_token(
    tmp_path: Path, environment: pytest.MonkeyPatch
) -> None:
    """Short-cuts: both get it, or the first one; one of two repositories of a name is taken."""
    with SandboxForge(tmp_path / "one") as one, SandboxForge(tmp_path / "two") as two:
        for forge, middle in ((one, ""), (two, "_CORP")):
            forge.state.add_user("owner")
            repository = forge.state.add_repository("owner", "packages")
            app = forge.state.register_app(
                "porchbot",
                keys()[1],
                owner="owner",
                permissions=MANIFEST["default_permissions"],
                events=MANIFEST["default_events"],
                webhook_secret=SECRET,
            )
            forge.state.install(app, repository)
            environment.setenv(f"PORCHBOT_GITHUB{middle}_API_URL", forge.api_url)
            environment.setenv(f"PORCHBOT_GITHUB{middle}_APP_ID", str(app.id))
        environment.setenv("PORCHBOT_GITHUB_NAMES", "corp")
        environment.setenv("PORCHBOT_GITHUB_CORP_PRIVATE_KEY", keys()[0])
        environment.setenv("PORCHBOT_GITHUB_CORP_WEBHOOK_SECRETS", SECRET)
        environment.setenv("PORCHBOT_OWNER_TOKEN", two.state.token("owner"))
        host = urlsplit(two.api_url).netloc
        told = [
            CliRunner().invoke(main, ["doctor", "--fix", *options])
            for options in ([], ["owner/packages"], ["--host", "x.example"])
        ]
        before = [dict(each.state.repository("owner", "packages").rulesets) for each in (one, two)]
        fixed = CliRunner().invoke(main, ["doctor", "--fix", "--host", host])
        rules = [len(each.state.repository("owner", "packages").rulesets) for each in (one, two)]

    assert "belongs to one forge, and the bot serves several. Add --host with" in told[0].output
    assert "owner/packages is at 127.0.0.1:" in told[1].output
    assert "The bot serves no forge at x.example. Give one of: 127.0.0.1:" in told[2].output
    assert [each.exit_code for each in told] == [1, 1, 1]
    assert before == [{}, {}]
    assert rules == [0, 2], fixed.output
