"""`porchbot check !1` at a GitLab whose certificate a private authority signed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cli import dryrun
from bot.cli.fn.options import RunnerOptions
from bot.gitlabs import GIVEN
from bot.sandbox.rules.context import FileChange
from bot.sandbox.serve import SandboxForge
from bot.trust import READ_BY
from tests.bot.sandbox.gitlab.inprocess import client
from tests.cli.test_setup_gitlab import Place
from tests.fnrunner.wire.test_tls import Authority
from tests.memory.pipeline import PipelineMaker

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "corp")


@pytest.fixture
def place(tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A GitLab behind TLS with one merge request, and nothing in the environment but its address.

    What a command sets for the libraries is taken back after the test.
    """
    for name in ("GITLAB_TOKEN", *READ_BY, *(f"PORCHBOT_GITLAB_{each}" for each in GIVEN)):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    signed = authority.sign("forge")
    with SandboxForge(
        tmp_path / "forge", dialect="gitlab", tls=(signed.certificate, signed.key)
    ) as forge:
        found = Place(tmp_path, forge, monkeypatch)
        forge.state.add_user("porchbot")
        kptfile = b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: core\n"
        with forge.state.lock:
            forge.state.commit_files(
                found.repositories[0],
                "drafts/net/core/first",
                [FileChange(path="net/core/Kptfile", content=kptfile)],
                "Add core",
                actor=forge.state.user("owner"),
            )
        client(forge, found.token).projects.get("acme/blueprints").mergerequests.create(
            {"source_branch": "drafts/net/core/first", "target_branch": "main", "title": "Add core"}
        )
        monkeypatch.setenv("PORCHBOT_GITLAB_URL", forge.web_url)
        yield found


@pytest.mark.parametrize("as_bot", [False, True], ids=["a person", "the bot"])
def test_a_gitlab_behind_an_authority_of_ones_own_is_read(
    place: Place,
    authority: Authority,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Printed,
    *,
    as_bot: bool,
) -> None:
    """Short-cuts refused: the API's client knows the file and git does not; a command that tries
    nothing again says that it does."""
    token = place.forge.tokens.make("owner", scopes=("api",)).value
    monkeypatch.setenv("PORCHBOT_GITLAB_TOKEN" if as_bot else "GITLAB_TOKEN", token)
    if as_bot:
        monkeypatch.setenv("PORCHBOT_GITLAB_WEBHOOK_SECRETS", "s" * 40)
        monkeypatch.setenv("PORCHBOT_MASTER_KEY", "0f" * 32)

    def check() -> tuple[int, str]:
        status = dryrun.run(
            "acme/blueprints!1", RunnerOptions(), None, as_json=False, maker=PipelineMaker
        )
        said = capsys.readouterr()
        return status, said.out or said.err

    status, untrusted = check()
    assert status == 2, untrusted
    assert "its certificate is not trusted (name its authority's certificates in" in untrusted
    assert "again" not in untrusted

    monkeypatch.setenv("PORCHBOT_GITLAB_CA", str(authority.path))
    status, text = check()
    assert status == 1, text
    assert text.startswith("acme/blueprints!1: "), text
