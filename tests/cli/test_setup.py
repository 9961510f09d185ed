"""`porchbot setup` against the sandbox forge, driven as a browser does."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
import pytest
from click.testing import CliRunner

from bot import apps
from bot.cli.root import main
from bot.forges.github import manifest
from bot.forges.github.registration import path
from bot.sandbox.serve import SandboxForge
from bot.settings import Settings
from bot.vault import open_vault
from tests.bot.test_settings import APP
from tests.contract.watch import watched
from tests.ports import free_port
from tests.stories.world import MANIFEST


class Setup:
    """The command as a process, and a browser."""

    def __init__(self, folder: Path, forge: SandboxForge, *options: str) -> None:
        self.forge = forge
        self.environ = {"PATH": os.environ["PATH"], "PORCHBOT_STATE": str(folder / "state")}
        command = [sys.executable, "-m", "bot.cli", "setup", "--github", forge.web_url]
        command += ["--url", "https://bot.example", "--listen", f"127.0.0.1:{free_port()}"]
        self.process = subprocess.Popen(
            [*command, *options],
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said = ""
        self.address = ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line
            if line.strip().startswith("http"):
                self.address = line.strip()
                break
        self.browser = httpx.Client(follow_redirects=True, timeout=60, verify=False)

    def opens(self) -> httpx.Response:
        """The browser opens the address that was printed, and somebody presses Continue."""
        asked = self.browser.get(self.address)
        (token,) = re.findall(r'name="token" value="([^"]+)"', asked.text)
        (action,) = re.findall(r'action="([^"]+)"', asked.text)
        return self.browser.post(urljoin(self.address, unescape(action)), data={"token": token})

    def posts(self, page: httpx.Response) -> tuple[str, httpx.Response]:
        """The browser presses the page's button; the state it carries, and the forge's page."""
        action = unescape(re.findall(r'action="([^"]+)"', page.text)[0])
        manifest = unescape(re.findall(r'name="manifest" value="([^"]+)"', page.text)[0])
        state = parse_qs(urlsplit(action).query)["state"][0]
        return state, self.browser.post(action, data={"manifest": manifest})

    def confirms(self, shown: httpx.Response) -> str:
        """Somebody presses "Create GitHub App"; where the forge sends the browser."""
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', shown.text))
        given = {name: unescape(value) for name, value in fields.items()} | {"name": "porchbot"}
        answer = self.browser.post(
            f"{self.forge.web_url}/settings/apps", data=given, follow_redirects=False
        )
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    def ends(self) -> tuple[int, str]:
        """The command's exit status, and all that it said."""
        assert self.process.stdout is not None
        self.said += self.process.stdout.read()
        return self.process.wait(60), self.said

    def close(self) -> None:
        """End what still runs."""
        self.browser.close()
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[SandboxForge]:
    with SandboxForge(tmp_path / "forge") as made, watched(made):
        made.state.add_user("owner")
        made.state.add_repository("owner", "packages")
        yield made


def test_an_app_is_registered_without_a_secret_in_sight(
    tmp_path: Path, forge: SandboxForge
) -> None:
    """The short-cut shows the key in a page, takes any code without `state`, or lets in whoever
    finds the port."""
    setup = Setup(tmp_path, forge)
    try:
        preview = httpx.get(setup.address)
        stranger = httpx.get(setup.address.partition("?")[0])
        guessed = httpx.get(setup.address + "x")
        page = setup.opens()
        again = httpx.get(setup.address)
        state, shown = setup.posts(page)
        back = setup.confirms(shown)
        assert parse_qs(urlsplit(back).query)["state"] == [state]
        foreign = httpx.get(back)
        store = open_vault(setup.environ, tmp_path / "state")
        store.put("github-token", "swordfish")  # of the machine user that the bot was
        forge.faults.fail("POST /app-manifests/{code}/conversions", 502, {"message": "Bad gateway"})
        failed = setup.browser.get(back)
        page = setup.browser.get(setup.address.partition("?")[0])
        state, shown = setup.posts(page)
        done = setup.browser.get(setup.confirms(shown))
        status, said = setup.ends()
    finally:
        setup.close()

    assert [stranger.status_code, guessed.status_code, again.status_code] == [403, 403, 403]
    assert (preview.status_code, list(preview.cookies)) == (200, [])  # of a chat program
    assert foreign.status_code == 403
    told = unescape(failed.text)  # nobody tries it again but whoever reads this
    assert "Bad gateway. Try again later. Delete the App on GitHub, fix the problem," in told
    assert page.status_code == 200
    assert "token=" not in str(page.url)
    assert "https://bot.example/webhooks/github" in page.text
    assert done.status_code == 200
    assert f"{forge.web_url}/apps/porchbot/installations/new" in done.text
    assert (status, "porchbot is registered: " in said) == (0, True)
    assert f"{forge.web_url}/apps/porchbot/installations/new" in said
    assert "To use this App, run `porchbot secret remove github-token`." in said
    store.put("github-token", "")
    # Kept, and shown to nobody.
    app = list(forge.state.data.apps.values())[-1]
    settings = Settings.from_env(setup.environ)
    assert settings.github_app_id == str(app.id)
    assert settings.github_api_url == forge.api_url
    assert settings.webhook_secrets == (app.webhook_secret.encode(),)
    known = apps.read(open_vault(setup.environ, settings.state))[0]
    hidden = (known.private_key.split("\n")[1], known.webhook_secret, known.client_secret)
    for place in (page.text, shown.text, done.text, said):
        assert not any(secret in place for secret in hidden)
    for file in settings.state.rglob("*"):
        if file.is_file():
            assert not any(secret in file.read_text() for secret in hidden)
            assert file.stat().st_mode & 0o077 == 0 or file.name.endswith(".lock")
    assert app.permissions == dict(MANIFEST["default_permissions"])
    assert set(app.events) == set(MANIFEST["default_events"])


def test_what_cannot_be_registered_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path))
    for option, value, told in (
        ("--github", "https://github.corp/acme", "is not the address of a GitHub server"),
        ("--org", "acme/net", "is not the name of an organization. Give its name alone"),
        ("--url", "porchbot", "is not a usable address. Give the one where GitHub can reach"),
        ("--listen", "8099", "--listen is '8099'. Give host:port"),
        ("--page", "https://host/prefix", "Give an address without a path"),
        ("--ca", str(tmp_path / "missing.pem"), "No such file"),
    ):
        found = CliRunner().invoke(main, ["setup", "--url", "https://bot.example", option, value])
        assert (found.exit_code, told in found.output) == (1, True), found.output


def test_one_app_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut registers a second one, and the bot is somebody else after the next start.

    The page waits for nobody for ever, either.
    """
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path))
    command = ["setup", "--url", "https://bot.example", "--listen", f"127.0.0.1:{free_port()}"]
    command += ["--minutes", "0"]

    alone = CliRunner().invoke(main, command)
    apps.keep(open_vault({}, tmp_path), APP)
    refused = CliRunner().invoke(main, command)
    replacing = CliRunner().invoke(main, [*command, "--replace"])

    assert "Setup was not completed within 0 minutes, so nothing was registered." in alone.output
    assert "The bot is already registered, as https://ghes.corp/apps/porchbot." in refused.output
    assert "Setup was not completed within 0 minutes" in replacing.output


def test_a_second_github_has_a_name_and_an_address_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts replace the first one's App, or serve one GitHub under two names."""
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path))
    apps.keep(open_vault({}, tmp_path, make=True), APP)
    command = ["setup", "--url", "https://bot.example", "--listen", f"127.0.0.1:{free_port()}"]
    command += ["--minutes", "0"]

    def told(*options: str) -> str:
        return CliRunner().invoke(main, [*command, *options]).output

    unnamed = told()
    named = told("--as", "dotcom")
    twice = told("--as", "corp", "--github", "https://ghes.corp")
    taken = told("--as", "gitlab")

    assert "To serve this GitHub as well, give it a name of its own with --as." in unnamed
    assert "Setup was not completed within 0 minutes" in named
    assert "This GitHub is known as 'github' already. Run this with --as github" in twice
    assert "A further GitHub cannot be named 'gitlab'." in taken
    assert manifest.filled("", "https://bot.example", "x", path("dotcom"))["hook_attributes"] == {
        "url": "https://bot.example/webhooks/github/dotcom",
        "active": True,
    }


def test_an_app_that_is_gone_can_be_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut has doctor say "remove it", and nothing that does."""
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path))
    vault = open_vault({}, tmp_path, make=True)
    apps.keep(vault, APP)

    unknown = CliRunner().invoke(main, ["setup", "--forget", str(APP.id + 1)])
    known = apps.read(vault)
    forgotten = CliRunner().invoke(main, ["setup", "--forget", str(APP.id)])

    assert (unknown.exit_code, forgotten.exit_code) == (1, 0)
    assert f"Registered: {APP.id} (https://ghes.corp/apps/porchbot)." in unknown.output
    assert (known, apps.read(vault)) == ((APP,), ())


def test_an_app_is_forgotten_at_its_own_github(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut removes every App of the number: each GitHub counts its own."""
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path))
    vault = open_vault({}, tmp_path, make=True)
    web, api = "https://github.com/apps/p", "https://api.github.com"
    other = replace(APP, api_url=api, web_url=web, forge="com")
    apps.keep(vault, APP)
    apps.keep(vault, other)

    unsure = CliRunner().invoke(main, ["setup", "--forget", str(APP.id)])
    assert unsure.exit_code == 1
    assert unsure.output == (
        f"error: App {APP.id} is registered more than once, as https://github.com/apps/p and"
        f" {APP.web_url}. Say at which GitHub with --github URL.\n"
    )
    assert len(apps.read(vault)) == 2
    spelled = "HTTPS://GHES.corp.:443/"
    CliRunner().invoke(main, ["setup", "--forget", str(APP.id), "--github", spelled])
    assert apps.read(vault) == (other,)
    CliRunner().invoke(main, ["setup", "--forget", str(APP.id), "--as", "com"])
    assert apps.read(vault) == ()
