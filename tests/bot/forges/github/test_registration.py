"""What of the App's registration is not as the bot needs it, and the change that mends it."""

from typing import Any

import pytest

from bot.forges.github.registration import EVENTS, PATH, PERMISSIONS, WITHOUT, drift
from tests.stories.world import MANIFEST

URL = f"https://bot.example{PATH}"
APP: dict[str, Any] = {
    "slug": "porchbot",
    "owner": {"login": "acme", "type": "Organization"},
    "html_url": "https://github.example/apps/porchbot",
    "permissions": dict(PERMISSIONS),
    "events": list(EVENTS),
}
HOOK = {"url": URL, "content_type": "json", "insecure_ssl": "0", "secret": "********"}
INSTALLED: dict[str, Any] = {
    "account": {"login": "acme"},
    "html_url": "https://github.example/settings/installations/7",
    "permissions": {**PERMISSIONS, "actions": "read"},
    "events": [*EVENTS, "team"],
    "suspended_at": None,
}
TRIED: list[dict[str, Any]] = [
    {"status_code": 502, "status": "failed to connect to host"},
    {"status_code": 202},
]
SETTINGS = "https://github.example/organizations/acme/settings/apps/porchbot"
ADMIN = {**PERMISSIONS, "contents": "admin", "actions": "read"}


def _told(
    app: dict[str, Any] | None = None,
    hook: dict[str, Any] | None = None,
    one: dict[str, Any] | None = None,
    tried: list[dict[str, Any]] | None = None,
    url: str = "",
) -> list[str]:
    found = drift(
        {**APP, **(app or {})},
        {**HOOK, **(hook or {})},
        [{**INSTALLED, **(one or {})}],
        TRIED if tried is None else tried,
        url,
    )
    return [f"{'wrong' if each.harmful else 'hint'}: {each}" for each in found]


def test_the_bot_needs_what_its_manifest_asks_for() -> None:
    """The short-cut is two lists that drift apart themselves."""
    assert MANIFEST["default_permissions"] == PERMISSIONS
    assert MANIFEST["default_events"] == list(EVENTS)
    assert str(MANIFEST["hook_attributes"]["url"]).endswith(PATH)


def test_what_is_as_it_has_to_be_is_not_told() -> None:
    """The short-cut tells of one delivery of many that failed, and of what an owner gave once."""
    assert _told() == _told(url=URL) == []
    assert _told(hook={"url": f"http://127.0.0.1:8080{PATH}"}) == []
    assert _told(tried=TRIED[:1] * 2) == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"app": {"permissions": {**PERMISSIONS, "checks": "read"}}},
            "wrong: The App's permission checks: Read-only. Needed: Read and write. Choose"
            f" 'Read and write' for it at {SETTINGS}/permissions; each owner then has to accept"
            f" it; until then {WITHOUT['checks']}.",
        ),
        (
            {"app": {"permissions": {k: v for k, v in PERMISSIONS.items() if k != "statuses"}}},
            "wrong: The App's permission statuses: No access. Needed: Read-only. Choose"
            f" 'Read-only' for it at {SETTINGS}/permissions; each owner then has to accept it;"
            f" until then {WITHOUT['statuses']}.",
        ),
        (
            {"app": {"events": [e for e in EVENTS if e != "check_suite"]}},
            "wrong: The App's event check_suite: not subscribed. Needed: subscribed. Select it"
            f" at {SETTINGS}/permissions.",
        ),
        (
            {"app": {"events": [*EVENTS, "star"]}},
            "hint: The App's event star: subscribed. Needed: not subscribed. Deselect it at"
            f" {SETTINGS}/permissions.",
        ),
        (
            {"url": "https://other.example/webhooks/github"},
            f"wrong: The webhook's address: {URL}. Needed:"
            f" https://other.example/webhooks/github. Set it at {SETTINGS}.",
        ),
        (
            {"hook": {"url": "http://bot.example/webhooks/github"}},
            "wrong: The webhook's address: http://bot.example/webhooks/github. Needed: the"
            f" bot's https address, ending in {PATH}. Set it at {SETTINGS}.",
        ),
        (
            {"hook": {"url": ""}},
            "wrong: The webhook's address: empty. Needed: the bot's https address, ending"
            f" in {PATH}. Set it at {SETTINGS}.",
        ),
        (
            {"hook": {"secret": ""}},
            "wrong: The webhook's secret: empty. Needed: a secret that the bot knows. Set one of"
            f" PORCHBOT_WEBHOOK_SECRETS at {SETTINGS}.",
        ),
        (
            {"hook": {"insecure_ssl": "1"}},
            "wrong: The webhook's SSL verification: off. Needed: on. Choose 'Enable SSL"
            f" verification' at {SETTINGS}.",
        ),
        (
            {"tried": []},
            "hint: The webhook's delivery log: empty, so nothing was sent for three days. Needed:"
            " an entry for each event. If there were events, select 'Active' below 'Webhook'"
            f" at {SETTINGS}.",
        ),
        (
            {"tried": [{"status_code": 401, "status": "Invalid HTTP Response: 401"}] * 3},
            "wrong: The last 3 webhook deliveries: refused because of a wrong signature. Needed:"
            " the answer 202. Set one of PORCHBOT_WEBHOOK_SECRETS as the secret at"
            f" {SETTINGS}/advanced.",
        ),
        (
            {"tried": TRIED[:1] * 3},
            "wrong: The last 3 webhook deliveries: failed (failed to connect to host). Needed: the"
            " answer 202. Check the bot's address, and that GitHub can reach it, at"
            f" {SETTINGS}/advanced.",
        ),
        (
            {"one": {"suspended_at": "2026-11-01T00:00:00Z"}},
            "wrong: The installation at acme: suspended. Needed: active. Its owner"
            " can unsuspend it at https://github.example/settings/installations/7.",
        ),
        (
            {"one": {"permissions": {**PERMISSIONS, "issues": ""}, "events": EVENTS[1:]}},
            "wrong: The installation at acme: missing issues: write, push. Needed: everything that"
            " the App requests. Its owner has to accept the App's request at"
            f" https://github.example/settings/installations/7; until then {WITHOUT['issues']}.",
        ),
    ],
)
def test_each_thing_that_is_wrong_is_told_with_the_change(given: dict[str, Any], told: str) -> None:
    """The short-cut says that something is wrong, and leaves it to the reader to find out what."""
    assert _told(**given) == [told]


def test_a_permission_that_an_owner_has_not_accepted_is_told_by_itself() -> None:
    """The short-cut looks at the events alone: the App asks for more, and nobody accepted it."""
    (told,) = _told(one={"permissions": {**PERMISSIONS, "checks": "read"}})

    assert "The installation at acme: missing checks: write. " in told


def test_more_than_is_needed_is_a_hint() -> None:
    """The short-cut fails where an operator has given more on purpose."""
    told = _told(app={"permissions": ADMIN})

    assert [": ".join(each.split(": ")[:2]) for each in told] == [
        "hint: The App's permission actions",
        "hint: The App's permission contents",
    ]


def test_a_person_changes_their_app_elsewhere() -> None:
    """The short-cut names the page of an organization that is none."""
    app = {"owner": {"login": "ann", "type": "User"}, "events": EVENTS[1:]}

    assert (
        "Select it at https://github.example/settings/apps/porchbot/permissions." in _told(app)[0]
    )


def test_each_permission_says_what_is_lost_without_it() -> None:
    """The short-cut names a permission, and the owner has to guess what to grant it for."""
    assert set(WITHOUT) == set(PERMISSIONS) - {"metadata"}
