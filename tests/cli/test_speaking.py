"""Where `porchbot rpkg` speaks, by the address of a repository."""

import pytest

from bot.cli.dropin import CommandFailure
from bot.cli.rpkg import speaking
from bot.cli.rpkg.speaking_github import GitHubSpeaker


@pytest.mark.parametrize(
    ("address", "refused"),
    [
        ("https://ghe.corp/acme/x", False),
        ("git@GHE.corp:acme/x.git", False),
        ("https://api.ghe.corp/acme/x", False),
        ("acme/x", False),
        ("https://github.com/acme/x", True),
        ("git@gitlab.com:acme/x.git", True),
    ],
)
def test_a_repository_of_another_host_is_not_that_of_the_same_name(
    address: str, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut looks at the host where GitHub.com is meant only."""
    monkeypatch.setattr(speaking, "_of_github", lambda _client, name: name)
    for name in ("GITLAB_TOKEN", "PORCHBOT_GITLAB_URL", "GH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GITHUB_TOKEN", "t")
    monkeypatch.setenv("PORCHBOT_GITHUB_API_URL", "https://api.ghe.corp/")
    if refused:
        with pytest.raises(CommandFailure, match=r"your token is for ghe\.corp"):
            speaking.place_of(address).__enter__()
        return
    with speaking.place_of(address) as place:
        assert isinstance(place, GitHubSpeaker)
