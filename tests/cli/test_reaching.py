"""`porchbot check NUMBER`: which forge is asked, and where a person's token goes."""

import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli.root import main

TOKEN = "ghp_of_a_person"


class Listener(ThreadingHTTPServer):
    """A host that is no GitHub, and keeps what it is sent.

    Attributes:
        sent: Path and credentials of each request.
    """

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    """Answers that nothing is there."""

    def do_GET(self) -> None:
        assert isinstance(self.server, Listener)
        self.server.sent.append((self.path, self.headers.get("Authorization", "")))
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """The environment of somebody with a token for GitHub.com."""
    for name in ("GH_TOKEN", "PORCHBOT_GITHUB_API_URL", "PORCHBOT_GITHUB_APP_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path / "state"))
    return monkeypatch


def check(*args: str) -> Result:
    return CliRunner().invoke(main, ["check", *args], prog_name="porchbot")


ADDRESSES = {
    "another host": "http://127.0.0.1:{}/acme/blueprints/pull/1",
    "by its name": "http://localhost:{}/acme/blueprints/pull/1",
    "that calls itself ours": "http://github.com@127.0.0.1:{}/acme/blueprints/pull/1",
    "behind a password": "http://github.com:443@127.0.0.1:{}/acme/blueprints/pull/1",
    "behind a backslash": "http://127.0.0.1:{}\\@github.com/acme/blueprints/pull/1",
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_token_goes_to_no_host_that_an_address_names(
    person: pytest.MonkeyPatch, listener: Listener, address: str
) -> None:
    """Short-cut: the API is wherever the address says, and so is the token then."""
    said = check(ADDRESSES[address].format(listener.server_port))

    assert listener.sent == []
    assert said.exit_code == 2, said.output
    assert said.output.startswith("error: ")


def test_a_token_goes_to_no_host_that_a_clone_came_from(
    person: pytest.MonkeyPatch, listener: Listener, tmp_path: Path
) -> None:
    """Short-cut: addresses are looked at, and the remote of a folder is taken as it is."""
    origin = f"http://127.0.0.1:{listener.server_port}/acme/blueprints.git"
    for args in (("init", "-q"), ("remote", "add", "origin", origin)):
        subprocess.run(["git", *args], cwd=tmp_path, check=True)
    person.chdir(tmp_path)

    said = check("1")

    assert listener.sent == []
    assert said.exit_code == 2
    assert "your token is for GitHub.com, and #1 is at 127.0.0.1." in said.output


def test_a_token_goes_to_the_api_that_the_environment_names(
    person: pytest.MonkeyPatch, listener: Listener
) -> None:
    """Short-cut: a GitHub of one's own cannot be asked at all."""
    here = f"http://127.0.0.1:{listener.server_port}"
    person.setenv("PORCHBOT_GITHUB_API_URL", f"{here}/api/v3")

    assert check(f"{here}/acme/blueprints/pull/1").exit_code == 2
    assert listener.sent == [("/api/v3/repos/acme/blueprints", f"token {TOKEN}")]


GITLABS = {
    "an address": "http://127.0.0.1:{}/acme/blueprints/-/merge_requests/1",
    "in a subgroup": "http://127.0.0.1:{}/acme/net/blueprints/-/merge_requests/1/diffs",
    "that calls itself ours": "http://gitlab.com@127.0.0.1:{}/acme/blueprints/-/merge_requests/1",
}


@pytest.mark.parametrize("address", GITLABS)
def test_a_token_for_gitlab_goes_to_no_host_that_an_address_names(
    person: pytest.MonkeyPatch, listener: Listener, address: str
) -> None:
    """Short-cut: the instance is wherever the address says, and so is the token then."""
    person.setenv("GITLAB_TOKEN", "glpat-of-a-person")

    said = check(GITLABS[address].format(listener.server_port))

    assert listener.sent == []
    assert said.exit_code == 2, said.output
    assert said.output.startswith("error: ")


def test_gitlab_is_asked_where_the_environment_says(
    person: pytest.MonkeyPatch, listener: Listener
) -> None:
    """Short-cut: `!1` is looked for at GitHub, or a GitLab of one's own cannot be asked at all."""
    here = f"http://127.0.0.1:{listener.server_port}"
    said = check("acme/blueprints!1")
    assert "no token to read the merge request with. Set GITLAB_TOKEN" in said.output
    person.setenv("GITLAB_TOKEN", "glpat-of-a-person")
    person.setenv("PORCHBOT_GITLAB_URL", "gitlab.example")
    assert "PORCHBOT_GITLAB_URL is 'gitlab.example'. Set it to" in check("a/b!1").output
    person.setenv("PORCHBOT_GITLAB_URL", here)

    for named in ("acme/blueprints!1", f"{here}/acme/blueprints/-/merge_requests/1"):
        assert check(named).exit_code == 2
    assert {path.partition("?")[0] for path, _ in listener.sent} == {"/api/v4/users"}
    elsewhere = check("https://gitlab.com/acme/blueprints/-/merge_requests/1")
    assert f"your token is for {here}, and !1 is at https://gitlab.com." in elsewhere.output


@pytest.mark.parametrize("command", ["check", "impact"])
def test_a_token_for_gitlab_alone_says_which_forge_is_meant(
    person: pytest.MonkeyPatch, listener: Listener, command: str
) -> None:
    """Short-cuts: `#1` is asked of GitHub, for whose token everybody is asked then; or of GitLab,
    though a token for GitHub is at hand as well. Groups nest at GitLab alone."""
    person.setenv("GITLAB_TOKEN", "glpat-of-a-person")
    person.setenv("PORCHBOT_GITLAB_URL", f"http://127.0.0.1:{listener.server_port}")

    def asked(named: str) -> set[str]:
        listener.sent.clear()
        said = CliRunner().invoke(main, [command, named], prog_name="porchbot")
        assert said.exit_code == 2
        return {path.partition("?")[0] for path, _ in listener.sent}

    assert asked("acme/net/blueprints#1") == {"/api/v4/users"}
    person.setenv("PORCHBOT_GITHUB_API_URL", f"http://127.0.0.1:{listener.server_port}/api/v3")
    assert asked("acme/blueprints#1") == {"/api/v3/repos/acme/blueprints"}
    person.delenv("PORCHBOT_GITHUB_API_URL")
    person.delenv("GITHUB_TOKEN")
    assert asked("acme/blueprints#1") == {"/api/v4/users"}
    person.delenv("GITLAB_TOKEN")
    said = check("acme/blueprints#1").output
    assert "Set GITHUB_TOKEN to" in said
    assert "For a merge request of GitLab set GITLAB_TOKEN" in said


@pytest.mark.parametrize("address", ["http://[", "https://github.corp:x/api/v3", "github.corp"])
@pytest.mark.parametrize(
    "args", [["check", "a/b#1"], ["rpkg", "approve", "--repository", "a/b", "12"]]
)
def test_an_address_that_is_none_is_named(
    person: pytest.MonkeyPatch, args: list[str], address: str
) -> None:
    """Short-cut: the client takes it apart, and what it raises is "a bug of porchbot"."""
    person.setenv("PORCHBOT_GITHUB_API_URL", address)

    said = CliRunner().invoke(main, args, prog_name="porchbot")

    assert said.exit_code
    assert f"error: PORCHBOT_GITHUB_API_URL is '{address}'. Set it to an address" in said.output


@pytest.mark.parametrize("as_bot", [False, True], ids=["a person", "the bot"])
def test_an_address_elsewhere_is_not_looked_up_here(
    person: pytest.MonkeyPatch, listener: Listener, tmp_path: Path, *, as_bot: bool
) -> None:
    """Short-cut: the host of an address is passed over, and another repository is judged."""
    person.setenv("PORCHBOT_GITHUB_API_URL", f"http://127.0.0.1:{listener.server_port}/api/v3")
    if as_bot:
        for name, value in MACHINE.items():
            person.setenv(name, value)

    for address in ("https://github.com", "http://127.0.0.1:1"):
        said = check(f"{address}/acme/blueprints/pull/1")
        assert said.exit_code == 2
        assert f"#1 is at {address}, and this porchbot is set up for http://" in said.output
    assert listener.sent == []


MACHINE = {
    "PORCHBOT_GITHUB_TOKEN": "ghp_of_the_bot",
    "PORCHBOT_WEBHOOK_SECRETS": "secret",
    "PORCHBOT_MASTER_KEY": "0" * 64,
}


@pytest.mark.parametrize(
    "args", [("1", "--base", "main"), ("1", "--rules", "/nonexistent"), ("1", "--runner-ca", "x")]
)
def test_no_answer_is_2_and_not_that_it_is_not_ready(
    person: pytest.MonkeyPatch, tmp_path: Path, args: tuple[str, ...]
) -> None:
    """Short-cut: a command that cannot be carried out ends like one that found it not ready."""
    person.chdir(tmp_path)
    assert check(*args).exit_code == 2
    assert check("1").exit_code == 2  # no clone of anything
