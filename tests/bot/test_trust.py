"""A GitHub whose certificate is signed by an authority of its owner's."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot import trust
from bot.forges.github.app import AppClients
from bot.forges.github.forges import GitHubForges
from bot.forges.port import ForgeBusyError, Repository
from bot.git.connections import CONNECTIONS
from bot.git.mirror import DiskMirrors
from bot.git.port import BRANCHES, GitBusyError
from bot.sandbox.serve import SandboxForge
from lifecycle.identity import GITHUB, RepositoryId
from tests.app_key import keys
from tests.fnrunner.wire.test_tls import Authority

APP = 7


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "corp")


@pytest.fixture
def forge(tmp_path: Path, authority: Authority) -> Iterator[SandboxForge]:
    """Behind TLS; one webhook could not be delivered."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "words.md").write_text("Words.\n")
    signed = authority.sign("forge")
    tls = (signed.certificate, signed.key)
    with SandboxForge(tmp_path / "forge", tls=tls) as made:
        made.state.add_user("acme")
        repository = made.state.add_repository("acme", "net", source)
        app = made.state.register_app(
            "porchbot",
            keys()[1],
            owner="acme",
            app_id=APP,
            permissions={"contents": "read", "metadata": "read"},
            webhook_url="http://127.0.0.1:9/webhooks/github",
        )
        made.state.install(app, repository)
        assert made.hooks.idle()
        yield made
        CONNECTIONS.close()  # TLS ends with a word of both sides


@pytest.fixture
def trusts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody named a file yet; what is named goes with the test."""
    for name in (*trust.READ_BY, "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


async def asks(forge: SandboxForge) -> tuple[Repository, str, int]:
    """What a bot asks of the API: its repository, credentials for git, failed deliveries."""
    app = AppClients(forge.api_url, str(APP), keys()[0])
    try:
        forges = GitHubForges(app)
        (place,) = await forges.installations()
        (repository,) = await forges.repositories_of(place.number)
        credentials = await forges.of(repository).git_credentials()
        return repository, credentials, len((await forges.failed_deliveries()).tries)
    finally:
        app.close()


@pytest.mark.usefixtures("trusts")
def test_api_git_and_deliveries_go_by_the_file_of_certificates(
    tmp_path: Path, forge: SandboxForge, authority: Authority
) -> None:
    """Short-cuts give the file to the API alone, so that git is refused; or check nothing."""
    assert forge.web_url.startswith("https://")
    trust.use(str(authority.path))

    repository, credentials, failed = asyncio.run(asks(forge))
    mirror = DiskMirrors(tmp_path / "mirrors").of(repository.id, repository.clone_url)
    mirror.fetch(credentials, None, BRANCHES)

    assert failed == 1
    assert mirror.tags(credentials) == {}
    with mirror.open(credentials) as history:
        assert history.ref("refs/heads/main")


@pytest.mark.usefixtures("trusts")
@pytest.mark.parametrize("other", [False, True])
def test_nobody_else_is_believed(tmp_path: Path, forge: SandboxForge, *, other: bool) -> None:
    """The short-cut switches the check off where certificates are not the public ones."""
    if other:
        trust.use(str(Authority(tmp_path, "other").path))

    with pytest.raises(ForgeBusyError, match=r"certificate is not trusted .*PORCHBOT_GITHUB_CA"):
        asyncio.run(asks(forge))
    number = next(iter(forge.state.data.repositories))
    repository = f"{forge.web_url}/acme/net.git"
    mirror = DiskMirrors(tmp_path / "mirrors").of(RepositoryId(GITHUB, number), repository)
    with pytest.raises(GitBusyError):
        mirror.fetch("x-access-token:none", None, BRANCHES)
    with pytest.raises(GitBusyError):
        mirror.tags("x-access-token:none")
