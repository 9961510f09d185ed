"""Apps of manifests: what is refused, and that a code counts once, for an hour."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.forges.github import manifest
from bot.sandbox.errors import RefusedError
from bot.sandbox.rules import manifests
from bot.sandbox.rules.manifests import CODE_LIFE
from bot.sandbox.serve import SandboxForge
from tests.stories.world import seconds_pass

MANIFEST: Mapping[str, Any] = {
    "name": "porchbot",
    "url": "https://porchbot.example",
    "hook_attributes": {"url": "https://porchbot.example/webhooks/github"},
    "redirect_url": "http://127.0.0.1:1/setup/created?by=setup",
    "default_permissions": {"contents": "write"},
    "default_events": ["push"],
}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"url": ""}, "Homepage URL can't be blank"),
        ({"hook_attributes": {"active": True}}, "Hook url can't be blank"),
        ({"redirect_url": None}, "Redirect url can't be blank"),
        ({"callback_urls": ["https://a.example"] * 11}, "Callback urls can't be more than 10"),
        ({"default_permissions": {"contents": "all"}}, "Default permission contents: all is not"),
        ({"default_events": ["push", "merge_group"]}, "Default events unsupported: merge_group"),
    ],
)
def test_a_manifest_that_github_refuses(changes: Mapping[str, Any], reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        manifests.check({**MANIFEST, **changes})


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[SandboxForge]:
    made = SandboxForge(tmp_path)  # not served: nothing is asked of it over HTTP
    for login in ("owner", "author"):
        made.state.add_user(login)
    yield made
    made.stop()


def test_a_code_counts_once_and_for_an_hour(forge: SandboxForge) -> None:
    """The short-cut keeps the code: whoever finds it in a history gets the App's key."""
    state, owner = forge.state, forge.state.user("owner")
    leads = manifests.confirm(state, owner, MANIFEST, "Porch Bot", "a state")
    page, _, query = leads.partition("&code=")
    code, _, asked = query.partition("&")
    assert (page, asked) == ("http://127.0.0.1:1/setup/created?by=setup", "state=a+state")

    app, told = manifests.convert(state, code)
    assert (app.slug, app.name, app.permissions["contents"]) == ("porch-bot", "Porch Bot", "write")
    assert set(told) == {"pem", "webhook_secret", "client_secret"}
    with pytest.raises(RefusedError, match="404"):
        manifests.convert(state, code)
    with pytest.raises(RefusedError, match="Name is already taken"):
        manifests.confirm(state, owner, MANIFEST, "porch-bot", "")
    late = manifests.confirm(state, owner, MANIFEST, "other", "").partition("code=")[2]
    seconds_pass(forge, CODE_LIFE.total_seconds() + 1)
    with pytest.raises(RefusedError, match="404"):
        manifests.convert(state, late)


def test_an_organization_is_its_owners(forge: SandboxForge) -> None:
    state = forge.state
    with pytest.raises(RefusedError, match="404"):
        manifests.owner(state, state.user("author"), "missing")
    with pytest.raises(RefusedError, match="401"):
        manifests.owner(state, None, "")
    assert manifests.owner(state, state.user("author"), "").login == "author"


def test_an_app_has_by_default_what_the_bot_asks_for(forge: SandboxForge) -> None:
    """The short-cut is a list of its own: a box that somebody ticks, and a new name, are found by
    the next sweep alone wherever no events are named."""
    app = forge.state.register_app("porchbot", "", owner="owner")

    shipped = manifest.read()
    assert set(app.events) == set(shipped["default_events"])
    assert app.permissions == shipped["default_permissions"]
