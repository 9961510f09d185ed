"""Where a GitHub's API is, and what the manifest says."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from bot.forges.github.manifest import Addresses, AppManifestError, addresses, convert, filled
from bot.sandbox.rules import manifests
from bot.sandbox.serve import SandboxForge

COM = Addresses("https://github.com", "https://api.github.com")
DATA = Addresses("https://acme.ghe.com", "https://api.acme.ghe.com")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("https://github.com", COM),
        ("github.com", COM),
        ("https://www.github.com/", COM),
        ("https://api.github.com", COM),
        ("https://acme.ghe.com", DATA),
        ("https://api.acme.ghe.com/", DATA),
        ("https://GitHub.corp", Addresses("https://github.corp", "https://github.corp/api/v3")),
        (
            "http://127.0.0.1:8000",
            Addresses("http://127.0.0.1:8000", "http://127.0.0.1:8000/api/v3"),
        ),
    ],
)
def test_where_the_api_is(given: str, found: Addresses) -> None:
    """The short-cut puts /api/v3 behind every address; ghe.com has a host for it."""
    assert addresses(given) == found


@pytest.mark.parametrize("given", ["", "ftp://github.corp", "https://github.com/acme", "https://"])
def test_what_is_no_github(given: str) -> None:
    with pytest.raises(AppManifestError, match="is not the address of a GitHub server"):
        addresses(given)


@pytest.mark.parametrize(
    "given", ["http://github.corp", "http://10.0.0.7:8080", "http://127.evil.corp"]
)
def test_a_key_comes_over_no_open_line(given: str) -> None:
    """The short-cut takes any address: the App's private key is there for whoever listens."""
    with pytest.raises(AppManifestError, match="is not encrypted"):
        addresses(given)


def test_whose_app_it_becomes() -> None:
    assert COM.new_app("", "a b") == "https://github.com/settings/apps/new?state=a%20b"
    assert DATA.new_app("acme", "s") == (
        "https://acme.ghe.com/organizations/acme/settings/apps/new?state=s"
    )


def test_the_webhook_goes_to_the_bot_wherever_it_is() -> None:
    """The short-cut sends webhooks to the example that the manifest ships with."""
    for url in ("https://bot.example/", "https://bot.example/webhooks/github"):
        made = filled("mine", url, "http://127.0.0.1:8099/setup/created")
        assert made["hook_attributes"] == {
            "url": "https://bot.example/webhooks/github",
            "active": True,
        }
        assert (made["name"], made["public"]) == ("mine", False)
    assert filled("", "https://bot.example", "http://x/")["name"] == "porchbot"


async def test_an_app_of_somebody_else_is_not_taken(tmp_path: Path) -> None:
    """The short-cut keeps what comes back: whoever opened the page first makes the bot his App."""
    with SandboxForge(tmp_path / "forge") as forge:
        mallory = forge.state.add_user("mallory")
        made = filled("mine", "https://bot.example", "https://page.example/setup/created")
        for organization in ("acme", "Mallory"):
            back = manifests.confirm(forge.state, mallory, made, f"mine {organization}", "")
            (code,) = parse_qs(urlsplit(back).query)["code"]
            if organization == "acme":
                with pytest.raises(AppManifestError, match="belongs to mallory, and not to acme"):
                    await convert(forge.api_url, code, organization)
            else:
                app = await convert(forge.api_url, code, organization)
                assert app.slug == "mine-mallory"
