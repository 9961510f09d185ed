"""`porchbot setup machine-user` against the sandbox forge: made once, mended, and nothing shown."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli.root import main
from bot.forges.github.registration import EVENTS
from bot.sandbox.rules.context import FileChange
from bot.sandbox.serve import SandboxForge
from bot.settings import Settings
from bot.vault import open_vault
from tests.contract.watch import watched

HOOK = "https://bot.example/webhooks/github"


class Place:
    """A forge with two repositories, of which the owner administers one."""

    def __init__(self, folder: Path, forge: SandboxForge) -> None:
        self.forge = forge
        self.folder = folder
        forge.state.add_user("owner")
        forge.state.add_user("robot")
        forge.state.add_user("stranger")
        self.mine = forge.state.add_repository("owner", "net")
        self.other = forge.state.add_repository("stranger", "web")

    def setup(self, *names: str) -> Result:
        """Run the command."""
        command = ["setup", "machine-user", "--github", self.forge.web_url]
        return CliRunner().invoke(main, [*command, "--url", "https://bot.example/", *names])


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    for name in ("PORCHBOT_MASTER_KEY", "PORCHBOT_SECRETS_STORE", "PORCHBOT_WEBHOOK_SECRETS"):
        monkeypatch.delenv(name, raising=False)
    with SandboxForge(tmp_path / "forge") as forge, watched(forge):
        made = Place(tmp_path, forge)
        monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path / "state"))
        monkeypatch.setenv("PORCHBOT_OWNER_TOKEN", forge.state.token("owner"))
        monkeypatch.setenv("PORCHBOT_BOT_TOKEN", forge.state.token("robot"))
        yield made


def test_the_webhook_of_a_repository_is_made_once_and_mended(place: Place) -> None:
    """Short-cuts make a second one at each run, leave one that hears of nothing, keep the owner's
    token, or print a secret.
    """
    tried = place.setup("--dry-run", "owner/net")
    assert (tried.exit_code, dict(place.mine.hooks)) == (0, {})
    assert "owner/net: would make the webhook" in tried.output

    first = place.setup("owner/net", "stranger/web")
    (hook,) = place.mine.hooks.values()
    again = place.setup("owner/net")
    hook.events, hook.active = ("push",), False
    mended = place.setup("owner/net")

    assert (first.exit_code, again.exit_code, mended.exit_code) == (1, 0, 0)
    assert "owner/net: webhook made" in first.output
    assert "stranger/web: not made: " in first.output
    assert "Use the token of an administrator of this repository" in first.output
    assert "owner/net: webhook is there already" in again.output
    assert "owner/net: webhook mended" in mended.output
    assert list(place.mine.hooks) == [hook.id]
    assert (hook.url, hook.active, {*hook.events}) == (HOOK, True, {*EVENTS})
    settings = Settings.from_env({"PORCHBOT_STATE": str(place.folder / "state")})
    assert settings.webhook_secrets == (hook.secret.encode(),)
    assert settings.github_token == os.environ["PORCHBOT_BOT_TOKEN"]
    for told in (first, again, mended):
        assert hook.secret not in told.output
        assert os.environ["PORCHBOT_BOT_TOKEN"] not in told.output
    assert open_vault({}, settings.state).names() == ("github-token", "webhook-secrets")


def test_one_webhook_of_an_organization_serves_all_its_repositories(place: Place) -> None:
    """Short-cuts: one for each repository that is there today; events of others are dropped."""
    state = place.forge.state
    acme = state.organizations.add("acme", admins=("owner",), members=("stranger",))
    state.organizations.add("other", admins=("stranger",))

    sent: list[tuple[str, str]] = []
    place.forge.webhook_observers.append(
        lambda event, headers, _: sent.append(
            (event, headers["X-GitHub-Hook-Installation-Target-Type"])
        )
    )

    made = place.setup("acme")
    (hook,) = state.organizations.find("acme").hooks.values()
    later = state.add_repository(acme.login, "later")
    with state.lock:
        change = [FileChange(path="a.yaml", content=b"a: 1\n")]
        state.commit_files(later, "main", change, "Change", actor=state.user("owner"))
    again = place.setup("acme")
    hook.events, hook.secret = ("fork",), ""
    mended = place.setup("acme")
    refused = place.setup("other", "acme")

    assert (made.exit_code, again.exit_code, mended.exit_code) == (0, 0, 0)
    assert "acme: webhook made" in made.output
    assert "acme: webhook is there already" in again.output
    assert "acme: webhook mended" in mended.output
    assert {*hook.events} == {*EVENTS, "fork"}
    assert hook.url == HOOK
    assert hook.secret
    assert {*sent} == {("ping", "organization"), ("push", "organization")}
    assert not later.hooks
    assert refused.exit_code == 1
    assert "other: not made: " in refused.output
    assert "Use the token of an owner of this organization" in refused.output
    assert "acme: webhook is there already" in refused.output


def test_what_cannot_be_set_up_is_said(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails when a name that is none goes into an address, or when an owner's token for one GitHub
    is sent to another, which is the usual one."""
    monkeypatch.setenv("PORCHBOT_GITHUB_CORP_API_URL", "https://github.corp/api/v3")
    for options, told in (
        (["a/b/c"], "'a/b/c' is neither a repository nor an organization. Write OWNER/NAME, or"),
        (["--as", "gitlab", "owner/net"], "A further GitHub cannot be named 'gitlab'."),
        (["--github", "https://github.corp/x", "owner/net"], "is not the address of a GitHub"),
        (["--as", "corp", "owner/net"], "your token would be sent to another GitHub."),
        (
            ["--as", "lab", "--github", "https://github.com", "owner/net"],
            "It is not known where the GitHub 'lab' is, and your token would be sent to",
        ),
    ):
        found = place.setup(*options)
        assert (found.exit_code, told in found.output) == (1, True), found.output


def test_what_is_refused_leaves_the_stored_token_as_it_is(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut refused: the token is stored first, and a slip replaces the one that works.

    Whatever is stored anew changes the file, as it is encrypted anew.
    """
    place.setup("owner/net")
    (kept,) = {file.read_bytes() for file in place.folder.rglob("secrets.json")}
    for variable, value, names, told in (
        ("PORCHBOT_BOT_TOKEN", "ghp_typo", ["owner/net"], "the token of the bot's account: 401"),
        ("PORCHBOT_OWNER_TOKEN", "ghp_typo", ["owner/net"], "the administrator's token: 401"),
        ("PORCHBOT_OWNER_TOKEN", "", ["owner/net"], "No administrator's token."),
        ("PORCHBOT_BOT_TOKEN", "ghp_\u2026", ["owner/net"], "characters that no token has"),
        ("PORCHBOT_BOT_TOKEN", "ghp_a b", ["owner/net"], "contains white space"),
        ("PORCHBOT_BOT_TOKEN", os.environ["PORCHBOT_OWNER_TOKEN"], ["owner/net"], "belong to own"),
        ("PORCHBOT_GITHUB_API_URL", "https://github.corp/api/v3", ["owner/net"], "another GitHub"),
        ("PORCHBOT_GITHUB_CA", "missing.pem", ["owner/net"], "missing.pem cannot be read: No such"),
        ("PORCHBOT_GITHUB_CA", "", ["a/b/c"], "'a/b/c' is neither"),
    ):
        with monkeypatch.context() as patched:
            patched.setenv(variable, value)
            refused = place.setup(*names)
        assert (refused.exit_code, told in refused.output) == (1, True), refused.output
        assert "Next:" not in refused.output
        assert {file.read_bytes() for file in place.folder.rglob("secrets.json")} == {kept}


def test_a_token_that_github_forbids_is_said_without_a_bug(place: Place) -> None:
    """The short-cut catches a 401 alone: single sign-on forbids with 403, and people are told of a
    bug of porchbot's and of an App that they do not have."""
    place.forge.faults.fail("GET /user", 403, {"message": "Resource protected by SAML."})
    refused = place.setup("owner/net")

    assert refused.exit_code == 1
    assert "GitHub does not accept the administrator's token: 403 Resource protected by SAML." in (
        refused.output
    )
    for foreign in ("bug", "App"):
        assert foreign not in refused.output


def test_a_token_that_is_not_stored_is_said(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut goes on in silence: the bot then starts without its token."""
    monkeypatch.setenv("PORCHBOT_WEBHOOK_SECRETS", "given-by-hand")
    made = place.setup("owner/net")

    assert made.exit_code == 0
    assert (
        "PORCHBOT_BOT_TOKEN is not stored, because PORCHBOT_WEBHOOK_SECRETS is set" in made.output
    )
    assert "Set PORCHBOT_GITHUB_TOKEN to it for the bot." in made.output


def test_what_is_no_github_is_said(place: Place) -> None:
    """Short-cuts: another token is asked for, or a bug of porchbot's is told."""
    place.forge.faults.fail("GET /user", 404, {"message": "Not Found"})
    refused = place.setup("owner/net")

    assert refused.exit_code == 1
    assert f"No GitHub answers at {place.forge.api_url}: 404" in refused.output
    assert "Check --github." in refused.output
