"""Whose webhook may say what: each has a secret of its own, and its deliveries count for it alone.

Whoever maintains a project writes the bodies of its webhook. So here every body is anybody's.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from bot.forges.gitlab.deliveries import GitLabWebhooks, read_verified
from bot.forges.gitlab.forges import GitLabForges
from bot.forges.gitlab.hooks import GROUP, INSTANCE, PROJECT, HookOwner, HookSecrets, OurHooks
from bot.forges.gitlab.user import GitLabUser
from bot.forges.webhooks import Delivery, WebhookError
from bot.store.hints import NOTHING
from tests.bot.forges.gitlab.test_deliveries import (
    BOX,
    WAKES,
    Stopped,
    headers_of,
    merge_request,
    note,
    push,
    signed,
)
from tests.bot.forges.gitlab.test_deliveries import (
    PROJECT as ABOUT,
)
from tests.bot.forges.gitlab.test_forges import HOOK, ME, OURS, TO, forges_of, project
from tests.bot.forges.gitlab.wire import URL, Wire
from tests.in_process import session

ROOT = b"the secret of the settings"
SECRETS = HookSecrets("gitlab", (ROOT,))
HERE, ELSEWHERE = HookOwner(PROJECT, 7), HookOwner(PROJECT, 8)
IN_GROUP = HookOwner(GROUP, 5)


@pytest.fixture
def wire() -> Wire:
    made = Wire()
    made.has("GET /user", ME)
    return made


def heard(payload: Mapping[str, Any], token: str, *roots: bytes) -> Delivery:
    """A delivery as the endpoint reads it, by the token that it shows."""
    reader, body = GitLabWebhooks("gitlab", roots or (ROOT,)), json.dumps(payload).encode()
    headers = headers_of(idempotency_key="k-1", x_gitlab_token=token, porchbot_speaker="system-0")
    signature = reader.read_headers(headers)
    signature.update(body)
    signature.verify()
    return reader.read_verified(headers, body)


FOREIGN: dict[str, dict[str, Any]] = {
    "a box that alice ticked": BOX,
    "a push": push("refs/heads/main"),
    "a comment": note("MergeRequest", {"merge_request": {"iid": 12}}),
    "a merge": merge_request("merge"),
    "a merge request whose project has no number": {**merge_request("merge"), "project": {}},
    "a role, as system hooks tell it": {"event_name": "user_update_for_team", "project_id": 7},
}


@pytest.mark.parametrize("payload", FOREIGN.values(), ids=FOREIGN)
def test_a_webhook_says_nothing_of_another_project(payload: dict[str, Any]) -> None:
    """The short-cut has one secret for the instance: a Maintainer of project 8 gives its webhook a
    template, and with the right token says of project 7 what they like."""
    with pytest.raises(WebhookError, match="is of project 8, and its delivery of project 7") as no:
        heard(payload, SECRETS.token(ELSEWHERE))

    assert no.value.status == 403
    assert (
        heard(payload, SECRETS.token(HERE)).wakes == heard(payload, SECRETS.token(INSTANCE)).wakes
    )


@pytest.mark.parametrize("payload", [each for each, _ in WAKES.values()], ids=WAKES)
def test_a_project_asks_for_no_sweep_of_the_instance(payload: dict[str, Any]) -> None:
    """The short-cut wakes what the event names: a project's webhook has all projects listed, as
    often as its Maintainers like."""
    delivery = heard({**payload, "project_id": 7}, SECRETS.token(HERE))

    assert [str(key) for key in delivery.wakes if not str(key).startswith("gitlab:7:")] == []


@pytest.mark.parametrize("payload", [each for each, _ in WAKES.values()], ids=WAKES)
def test_of_a_webhook_without_a_secret_of_its_own_only_where_to_look_counts(
    payload: dict[str, Any],
) -> None:
    """Short-cuts refused: it is refused, and nothing is looked at until the webhook is set anew; it
    counts as before, and whoever keeps one such webhook speaks for all projects."""
    old, own = heard(payload, ROOT.decode()), heard(payload, SECRETS.token(INSTANCE))

    assert old.wakes == dict.fromkeys(own.wakes, NOTHING)
    assert "porchbot-speaker" not in old.headers


def _tampered(token: str) -> dict[str, str]:
    return {
        "another project's number": token.replace("project-7", "project-8"),
        "a group of that number": token.replace("project-7", "group-7"),
        "the whole instance": token.replace("project-7", "system-0"),
        "the number written otherwise": token.replace("project-7", "project-07"),
        "no secret": token[: -len("0" * 64)],
        "another forge's": HookSecrets("corp", (ROOT,)).token(HERE),
        "another root's": HookSecrets("gitlab", (b"another",)).token(HERE),
    }


@pytest.mark.parametrize("token", _tampered(SECRETS.token(HERE)).values(), ids=_tampered(""))
def test_a_token_is_good_for_what_it_was_made_for(token: str) -> None:
    with pytest.raises(WebhookError, match="does not match") as raised:
        heard(push("refs/heads/main"), token)

    assert token not in str(raised.value)


def test_secrets_are_replaced_one_after_the_other() -> None:
    """The short-cut takes the newest alone: until each webhook is set anew, nothing is heard."""
    older = HookSecrets("gitlab", (b"older",)).token(HERE)

    assert heard(push("refs/heads/main"), older, b"newer", b"older").wakes
    with pytest.raises(WebhookError, match="does not match"):
        heard(push("refs/heads/main"), older, b"newer")


def test_a_signature_is_by_the_key_of_that_webhook() -> None:
    """Short-cuts refused: one signing token for the instance, by which GitLab signs for each
    project what its template says; a signature that is not looked at beside a right token."""
    body = b"{}"
    reader = GitLabWebhooks("gitlab", [ROOT], clock=Stopped())
    for speaker, right in ((HERE, True), (ELSEWHERE, False)):
        made = signed(body, SECRETS.signing_token(speaker).encode())
        signature = reader.read_headers({**made, "x-gitlab-token": SECRETS.token(HERE)})
        signature.update(body)
        if right:
            signature.verify()
        else:
            with pytest.raises(WebhookError, match="signature does not match"):
                signature.verify()


async def test_what_is_stored_counts_as_it_came(wire: Wire) -> None:
    """The short-cut reads a stored delivery again and believes it: what came by a webhook without a
    secret of its own ticks boxes once the project is adopted."""
    forges, body = forges_of(wire), json.dumps(BOX).encode()
    old, own = heard(BOX, ROOT.decode()), heard(BOX, SECRETS.token(HERE))

    assert forges.wakes_of(own.headers, body) == own.wakes
    assert forges.wakes_of(old.headers, body) == old.wakes != own.wakes
    of_group = heard(BOX, SECRETS.token(IN_GROUP))
    assert of_group.wakes == own.wakes
    unproved = of_group.unproved()
    assert forges.wakes_of(unproved.headers, body) == unproved.wakes == old.wakes


CHANGED: dict[str, dict[str, object]] = {
    "from before projects had secrets of their own": {"url": TO},
    "with an older secret": {"url": f"{TO}?for=project-7&secret=00000000"},
    "with another project's secret": OURS.shown(ELSEWHERE),
    "with a template": {"custom_webhook_template": '{"object_kind": "push"}'},
    "for one branch": {"push_events_branch_filter": "main"},
    "without comments": {"note_events": False},
    "to whoever answers": {"enable_ssl_verification": False},
    "without a token": {"token_present": False},
    "without a signature": {"signing_token_set": False},
}


@pytest.mark.parametrize("changed", CHANGED.values(), ids=CHANGED)
async def test_a_webhook_that_somebody_changed_is_set_again(
    wire: Wire, changed: dict[str, object]
) -> None:
    """Short-cuts refused: it stays as it is until an operator asks; what is well is set each time;
    that of others at the same place."""
    wire.has("GET /projects", [project(7, "acme/net")])
    theirs = {"id": 6, "url": f"{TO}s", "note_events": False}
    wire.has("GET /projects/7/hooks", [{**HOOK, **changed}, theirs])
    wire.has("GET /projects/7/hooks/5/events", [])
    wire.has("PUT /projects/7/hooks/5", {})
    forges = forges_of(wire)

    await forges.failed_deliveries()
    assert [each for each in wire.asked if not each.startswith("GET")] == [
        "PUT /projects/7/hooks/5"
    ]
    assert OURS.settings(HERE) in wire.bodies

    wire.has("GET /projects/7/hooks", [{**HOOK, "custom_webhook_template": None}])
    await forges.failed_deliveries()
    assert len([each for each in wire.asked if not each.startswith("GET")]) == 1


@pytest.mark.parametrize(
    ("groups", "made"), [(None, False), ((), True), (("other",), True), (("acme",), False)]
)
async def test_a_webhook_that_is_missing_is_made_where_nobody_else_tells(
    wire: Wire, groups: tuple[str, ...] | None, made: bool
) -> None:
    """Short-cuts refused: never, so that a project that came later is heard by sweeps alone; beside
    the group's, so that all comes twice; where an operator set webhooks up by hand."""
    wire.has("GET /projects", [project(7, "acme/net")])
    wire.has("GET /projects/7/hooks", [])
    wire.has("POST /projects/7/hooks", {}, 201)
    user = GitLabUser("gitlab", URL, lambda: "t", session=lambda: session(wire.answer))
    forges = GitLabForges(user, replace(OURS, groups=groups), project=lambda *_: None)  # type: ignore[arg-type] # not called

    await forges.failed_deliveries()

    assert ("POST /projects/7/hooks" in wire.asked) is made
    assert not made or wire.bodies[-1] == OURS.settings(HERE)


async def test_a_project_that_lets_no_webhook_be_set_stops_no_other(wire: Wire) -> None:
    """The short-cut lets the refusal end the sweep: all logs behind it go unread."""
    wire.has("GET /projects", [project(7, "acme/net"), project(8, "acme/web")])
    wire.has("GET /projects/7/hooks", [{**HOOK, "url": TO}])
    wire.has("GET /projects/8/hooks", [{**HOOK, **OURS.shown(ELSEWHERE)}])
    wire.has("PUT /projects/7/hooks/5", {"message": "403 Forbidden"}, 403)
    for number in (7, 8):
        wire.has(f"GET /projects/{number}/hooks/5/events", [])

    await forges_of(wire).failed_deliveries()

    assert wire.asked[-1].startswith("GET /projects/8/hooks/5/events")


def test_no_address_and_no_name_of_a_webhook_shows_a_secret() -> None:
    ours = OurHooks(TO, SECRETS)
    shown = json.dumps(ours.shown(HERE)) + repr(ours)

    for secret in (ROOT.decode(), SECRETS.token(HERE), SECRETS.signing_token(HERE)):
        assert secret not in shown
    assert ABOUT["id"] == HERE.number
    assert read_verified("gitlab", headers_of(), b"{}", None, HERE).headers["porchbot-speaker"]
