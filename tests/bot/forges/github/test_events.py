"""Deliveries: verified before they are read, and each event wakes what it concerns, no more.

Longer than 400 lines: a table with a row for each event.
"""

import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.forges.github.deliveries import GitHubWebhooks
from bot.forges.port import BotIdentity
from bot.forges.webhooks import Delivery, WebhookError
from bot.keys import (
    BaseKey,
    CommitKey,
    DashboardKey,
    GroupKey,
    Key,
    ProposalKey,
    PullKey,
    RepositoryKey,
    Sweep,
    SweepKey,
)
from bot.store.hints import NOTHING, Hint
from lifecycle import boxes
from lifecycle.identity import GITHUB
from tests.ids import on_github

SECRET = b"a secret"
EXAMPLES = Path(__file__).resolve().parents[4] / "../shared/forge/github/webhook-examples"
GUID = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
SHA, OLD = "a" * 40, "b" * 40
Payload = dict[str, Any]

PERSON = {"login": "author", "type": "User"}
OURSELVES = {"login": "porchbot[bot]", "type": "Bot"}
REPOSITORY = {"id": 1, "full_name": "acme/blueprints", "default_branch": "main"}
PULL = {
    "number": 7,
    "merged": False,
    "head": {"ref": "drafts/net/core/v1", "sha": SHA, "repo": {"id": 1}},
    "base": {"ref": "main", "sha": OLD, "repo": {"id": 1}},
}
FORK = {**PULL, "head": {**PULL["head"], "repo": {"id": 9}}}  # type: ignore[dict-item] # a payload
GONE = {**PULL, "head": {**PULL["head"], "repo": None}}  # type: ignore[dict-item] # a payload
SUITE = {"head_branch": "drafts/net/core/v1", "head_sha": SHA, "pull_requests": []}
RUN = {"id": 5, "head_sha": SHA, "pull_requests": [], "check_suite": SUITE}
QUEUED = f"gh-readonly-queue/release/1/pr-7-{OLD}"
GROUP = {"base_ref": "refs/heads/main", "head_ref": f"refs/heads/{QUEUED}", "head_sha": SHA}
DRAFT = ProposalKey(on_github(1), 1, "drafts/net/core/v1")
Wakes = dict[Key, Hint]


def sign(body: bytes, secret: bytes = SECRET) -> str:
    return "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()


def headers(event: str, body: bytes, **more: str) -> dict[str, str]:
    return {
        "content-type": "application/json",
        "x-github-event": event,
        "x-github-delivery": GUID,
        "x-hub-signature-256": sign(body),
        **{name.replace("_", "-"): value for name, value in more.items()},
    }


US = BotIdentity("porchbot[bot]", "")


def read_delivery(
    given: Mapping[str, str],
    body: bytes,
    secrets: Sequence[bytes],
    me: BotIdentity | None = None,
) -> Delivery:
    """Read a delivery step by step, as the door does while its body comes in."""
    reader = GitHubWebhooks(secrets)
    signature = reader.read_headers(given)
    signature.update(body)
    signature.verify()
    return reader.read_verified(given, body, me)


def read(event: str, payload: Payload, *, sender: Payload | None = None) -> Delivery:
    body = json.dumps(
        {"repository": REPOSITORY, "sender": sender or PERSON, "installation": {"id": 3}, **payload}
    ).encode()
    return read_delivery(headers(event, body), body, [SECRET], me=US)


def pull(action: str, pull_request: Payload = PULL, **more: object) -> Payload:
    return {"action": action, "pull_request": {**pull_request, **more}}


RECORD = f"<!-- porchbot:record {{}} {'0' * 64} -->"


def comment(action: str = "created", **issue: object) -> Payload:
    about = {"number": 7, "pull_request": {"url": "…"}, **issue}
    return {"action": action, "issue": about, "comment": {"id": 31, "body": "/approve"}}


BOXES = "- [ ] `/upgrade a v2`\n- [x] `/upgrade b v2`"
(TICK,) = boxes.ticked(7, BOXES + RECORD)


def ticked(before: str, kind: str, record: str = RECORD, **issue: object) -> Payload:
    return {
        "action": "edited",
        "issue": {"number": 7, "body": BOXES + record, **issue},
        "changes": {"body": {"from": before + record}},
        "sender": {"id": 12, "login": "bob", "type": kind},
    }


AT_HEAD: Wakes = {DRAFT: Hint(heads=frozenset({SHA}), numbers=frozenset({7}))}
ALL: Wakes = {RepositoryKey(on_github(1)): Hint(everything=frozenset({GUID}))}
NUMBERED: Wakes = {DRAFT: Hint(numbers=frozenset({7}))}
MERGED: Wakes = {
    **NUMBERED,
    BaseKey(on_github(1), "main"): NOTHING,
    RepositoryKey(on_github(1)): NOTHING,
}

EVENTS: dict[str, tuple[str, Payload, Wakes]] = {
    "a push to a draft wakes the draft, and its head is known to exist": (
        "push",
        {"ref": "refs/heads/drafts/net/core/v1", "after": SHA, "deleted": False},
        {DRAFT: Hint(heads=frozenset({SHA}))},
    ),
    "a push to any other branch may be to a base": (
        "push",
        {"ref": "refs/heads/release", "after": SHA},
        {
            ProposalKey(on_github(1), 1, "release"): Hint(heads=frozenset({SHA})),
            BaseKey(on_github(1), "release"): NOTHING,
        },
    ),
    "a push to the default branch wakes all that is open": (
        "push",
        {"ref": "refs/heads/main", "after": SHA},
        {
            ProposalKey(on_github(1), 1, "main"): Hint(heads=frozenset({SHA})),
            BaseKey(on_github(1), "main"): NOTHING,
            RepositoryKey(on_github(1)): NOTHING,
        },
    ),
    "a deleted branch has no head": (
        "push",
        {"ref": "refs/heads/drafts/net/core/v1", "after": "0" * 40, "deleted": True},
        {DRAFT: NOTHING},
    ),
    "a pushed tag wakes the repository": (
        "push",
        {"ref": "refs/tags/net/core/v5", "after": SHA},
        {RepositoryKey(on_github(1)): NOTHING},
    ),
    "a branch named like a tag is a branch": (
        "create",
        {"ref": "refs/tags/v1", "ref_type": "branch"},
        {
            ProposalKey(on_github(1), 1, "refs/tags/v1"): NOTHING,
            BaseKey(on_github(1), "refs/tags/v1"): NOTHING,
        },
    ),
    "a deleted tag wakes the repository": (
        "delete",
        {"ref": "net/core/v5", "ref_type": "tag"},
        {RepositoryKey(on_github(1)): NOTHING},
    ),
    "an opened pull request": ("pull_request", pull("opened"), AT_HEAD),
    "a labelled one may be on hold": ("pull_request", pull("labeled"), NUMBERED),
    "one closed without a merge": ("pull_request", pull("closed"), NUMBERED),
    "a merge wakes its base, and all that it may have outdated": (
        "pull_request",
        pull("closed", merged=True),
        MERGED,
    ),
    "assigning somebody concerns nobody": ("pull_request", pull("assigned"), {}),
    "a fork's branch is another's": (
        "pull_request",
        pull("synchronize", FORK),
        {
            ProposalKey(on_github(1), 9, "drafts/net/core/v1"): Hint(
                heads=frozenset({SHA}), numbers=frozenset({7})
            )
        },
    ),
    "a fork that is gone leaves the number": (
        "pull_request",
        pull("closed", GONE),
        {PullKey(on_github(1), 7): Hint(numbers=frozenset({7}))},
    ),
    "a review": (
        "pull_request_review",
        {**pull("submitted"), "review": {"id": 81}},
        {DRAFT: Hint(reviews=frozenset({81}), numbers=frozenset({7}))},
    ),
    "a resolved thread": (
        "pull_request_review_thread",
        pull("resolved"),
        {DRAFT: Hint(numbers=frozenset({7}))},
    ),
    "a comment": (
        "issue_comment",
        comment(),
        {PullKey(on_github(1), 7): Hint(comments=frozenset({31}))},
    ),
    "a deleted comment does not exist": (
        "issue_comment",
        comment("deleted"),
        {PullKey(on_github(1), 7): NOTHING},
    ),
    "a comment on an issue concerns nobody": ("issue_comment", comment(pull_request=None), {}),
    "a box of the dashboard, ticked by a person": (
        "issues",
        ticked("- [ ] `/upgrade a v2`\n- [ ] `/upgrade b v2`", "User"),
        {DashboardKey(on_github(1)): Hint(pressed=frozenset({f"{GUID} 12 bob {TICK}"}))},
    ),
    "a box in somebody's own issue, with a record of ours in it": (
        "issues",
        ticked("- [ ] `/upgrade b v2`", "User", user={"id": 12, "login": "bob", "type": "User"}),
        {},
    ),
    "a box in an issue that the bot opened": (
        "issues",
        ticked("- [ ] `/upgrade b v2`", "User", user={"id": 9, "login": US.login, "type": "Bot"}),
        {DashboardKey(on_github(1)): Hint(pressed=frozenset({f"{GUID} 12 bob {TICK}"}))},
    ),
    "a comment there": (
        "issue_comment",
        comment(pull_request=None, body=RECORD, user={"id": 12, "login": "bob", "type": "User"}),
        {},
    ),
    "a box that a machine ticks is nobody's": (
        "issues",
        ticked("- [x] `/upgrade a v2`", "Bot"),
        {DashboardKey(on_github(1)): Hint(pressed=frozenset({f"{GUID} 0 - {TICK}"}))},
    ),
    "an edit that ticks nothing concerns nobody": (
        "issues",
        ticked("- [x] `/upgrade a v2`\n- [x] `/upgrade b v2`", "User"),
        {},
    ),
    "a box in an issue that is no dashboard concerns nobody": (
        "issues",
        ticked("- [ ] `/upgrade b v2`", "User", record=""),
        {},
    ),
    "Re-run on one check": (
        "check_run",
        {"action": "rerequested", "check_run": RUN},
        {DRAFT: Hint(rerun=frozenset({GUID}))},
    ),
    "Re-run, and who pressed it": (
        "check_run",
        {"action": "rerequested", "check_run": RUN, "sender": {"id": 12, "login": "bob"}},
        {DRAFT: Hint(rerun=frozenset({f"{GUID} 12 bob"}))},
    ),
    "a button of ours is no Re-run": (
        "check_run",
        {
            "action": "requested_action",
            "check_run": RUN,
            "requested_action": {"identifier": "propose"},
            "sender": {"id": 12, "login": "bob", "type": "User"},
        },
        {DRAFT: Hint(pressed=frozenset({f"{GUID} 12 bob propose"}))},
    ),
    "a button of ours on a check of a fork": (
        "check_run",
        {
            "action": "requested_action",
            "check_run": {**RUN, "check_suite": {**SUITE, "head_branch": None}},
            "requested_action": {"identifier": "why"},
            "sender": {"id": 12, "login": "bob", "type": "User"},
        },
        {CommitKey(on_github(1), SHA): Hint(pressed=frozenset({f"{GUID} 12 bob why"}))},
    ),
    "a button that we do not have is no command": (
        "check_run",
        {
            "action": "requested_action",
            "check_run": RUN,
            "requested_action": {"identifier": "approve"},
            "sender": {"id": 12, "login": "bob", "type": "User"},
        },
        {DRAFT: NOTHING},
    ),
    "a button that a machine presses is no command": (
        "check_run",
        {
            "action": "requested_action",
            "check_run": RUN,
            "requested_action": {"identifier": "render"},
            "sender": {"id": 12, "login": "bob", "type": "Bot"},
        },
        {DRAFT: NOTHING},
    ),
    "Re-run on all checks": (
        "check_suite",
        {"action": "rerequested", "check_suite": {**SUITE, "pull_requests": [PULL]}},
        {DRAFT: Hint(rerun=frozenset({GUID}))},
    ),
    "a check of a fork names the commit only": (
        "check_run",
        {
            "action": "completed",
            "check_run": {**RUN, "check_suite": {**SUITE, "head_branch": None}},
        },
        {CommitKey(on_github(1), SHA): NOTHING},
    ),
    "a check that another repository's pull request shares": (
        "check_suite",
        {
            "action": "completed",
            "check_suite": {
                **SUITE,
                "pull_requests": [{**PULL, "base": {"ref": "main", "repo": {"id": 2}}}],
            },
        },
        {DRAFT: NOTHING},
    ),
    "a check that has begun concerns nobody": (
        "check_run",
        {"action": "created", "check_run": RUN},
        {},
    ),
    "a status wakes the branches whose head it is on": (
        "status",
        {
            "sha": SHA,
            "branches": [
                {"name": "drafts/net/core/v1", "commit": {"sha": SHA}},
                {"name": "main", "commit": {"sha": OLD}},
            ],
        },
        {DRAFT: NOTHING},
    ),
    "a status on no branch's head": (
        "status",
        {"sha": SHA, "branches": []},
        {CommitKey(on_github(1), SHA): NOTHING},
    ),
    "a merge group": (
        "merge_group",
        {"action": "checks_requested", "merge_group": GROUP},
        {GroupKey(on_github(1), QUEUED): Hint(heads=frozenset({SHA}))},
    ),
    "a merge group that is gone: it may have been merged": (
        "merge_group",
        {"action": "destroyed", "reason": "merged", "merge_group": GROUP},
        {GroupKey(on_github(1), QUEUED): NOTHING, BaseKey(on_github(1), "main"): NOTHING},
    ),
    "a push of a merge queue, whose webhook may be lost": (
        "push",
        {"ref": f"refs/heads/{QUEUED}", "after": SHA},
        {GroupKey(on_github(1), QUEUED): Hint(heads=frozenset({SHA}))},
    ),
    "a status on a merge group's head": (
        "status",
        {"sha": SHA, "branches": [{"name": QUEUED, "commit": {"sha": SHA}}]},
        {GroupKey(on_github(1), QUEUED): NOTHING},
    ),
    "Re-run at a merge group": (
        "check_suite",
        {
            "action": "rerequested",
            "check_suite": {"head_branch": QUEUED, "head_sha": SHA, "pull_requests": []},
        },
        {GroupKey(on_github(1), QUEUED): Hint(rerun=frozenset({GUID}))},
    ),
    "a renamed repository": (
        "repository",
        {"action": "renamed"},
        {SweepKey(Sweep.CHANGES, GITHUB): NOTHING, **ALL},
    ),
    "a deleted repository is looked for, not at": (
        "repository",
        {"action": "deleted"},
        {SweepKey(Sweep.CHANGES, GITHUB): NOTHING},
    ),
    "another role, which no list of proposals tells": ("member", {"action": "edited"}, ALL),
    "another rule of a branch": ("branch_protection_rule", {"action": "edited"}, ALL),
    "another ruleset": ("repository_ruleset", {"action": "edited"}, ALL),
    "an organization's ruleset": (
        "repository_ruleset",
        {"action": "edited", "repository": None},
        {},
    ),
    "an installation": (
        "installation",
        {"action": "created", "repository": None},
        {SweepKey(Sweep.CHANGES, GITHUB): NOTHING},
    ),
    "repositories added to it": (
        "installation_repositories",
        {"action": "added", "repository": None},
        {SweepKey(Sweep.CHANGES, GITHUB): NOTHING},
    ),
    "a ping": ("ping", {"zen": "Keep it logically awesome.", "hook_id": 1}, {}),
    "an event that we do not know": ("sponsorship", {"action": "created"}, {}),
}


@given(
    st.binary(max_size=64),
    st.text(max_size=80) | st.from_regex("sha256=[0-9a-f]{64}", fullmatch=True),
)
def test_nothing_is_read_before_the_signature_is_right(body: bytes, signature: str) -> None:
    """The short-cut parses first: then what is no JSON answers 400 to anybody who asks."""
    if signature == sign(body):
        return
    with pytest.raises(WebhookError, match="X-Hub-Signature-256") as caught:
        read_delivery({**headers("push", body), "x-hub-signature-256": signature}, body, [SECRET])

    assert caught.value.status == 401


@pytest.mark.parametrize(("event", "payload", "wakes"), EVENTS.values(), ids=EVENTS)
def test_event(event: str, payload: Payload, wakes: Wakes) -> None:
    assert read(event, payload).wakes == wakes


@pytest.mark.parametrize("event", ["push", "pull_request", "issue_comment", "check_run"])
def test_what_we_caused_ourselves_wakes_nothing(event: str) -> None:
    """The short-cut wakes on every push: each render commit then causes one more look, for ever."""
    payload = {
        "push": {"ref": "refs/heads/drafts/net/core/v1", "after": SHA},
        "pull_request": pull("synchronize"),
        "issue_comment": comment(),
        "check_run": {"action": "completed", "check_run": RUN},
    }[event]

    delivery = read(event, payload, sender=OURSELVES)

    assert (delivery.sender, delivery.wakes) == ("porchbot[bot]", {})


def test_our_own_merge_wakes_what_else_is_open() -> None:
    """The short-cut wakes the merge's own proposal too: it is looked at while it is published."""
    found = read("pull_request", pull("closed", merged=True), sender=OURSELVES).wakes
    assert found == {RepositoryKey(on_github(1)): NOTHING}
    assert read("pull_request", pull("closed"), sender=OURSELVES).wakes == {}


@pytest.mark.parametrize(
    "sender", [{"login": "porchbot[bot]", "type": "User"}, {"login": "other[bot]", "type": "Bot"}]
)
def test_others_are_not_taken_for_us(sender: Payload) -> None:
    assert read("issue_comment", comment(), sender=sender).wakes != {}


def test_the_old_and_the_new_secret_are_both_accepted() -> None:
    body = json.dumps({"zen": "…"}).encode()
    for secret in (b"old", b"new"):
        signed = headers("ping", body, x_hub_signature_256=sign(body, secret))
        assert read_delivery(signed, body, [b"new", b"old"]).event == "ping"

        with pytest.raises(WebhookError, match=r"does not match\. Set one secret in both the App"):
            read_delivery(signed, body, [b"another"])


@pytest.mark.parametrize("secrets", [[], [b""], [b"good", b""]])
def test_without_a_secret_nothing_is_accepted(secrets: list[bytes]) -> None:
    """The short-cut skips the check when none is set, as some bots do."""
    with pytest.raises(ValueError, match="needs a secret, and none may be empty"):
        read_delivery(headers("ping", b"{}"), b"{}", secrets)


def test_the_older_signature_counts_for_nothing() -> None:
    body = b"{}"
    old = headers("ping", body)
    old["x-hub-signature"] = "sha1=" + hmac.new(SECRET, body, hashlib.sha1).hexdigest()
    del old["x-hub-signature-256"]

    with pytest.raises(WebhookError, match="X-Hub-Signature-256 is missing"):
        read_delivery(old, body, [SECRET])


def test_a_form_is_read_too() -> None:
    body = urlencode({"payload": json.dumps({"repository": REPOSITORY, **comment()})}).encode()
    form = headers("issue_comment", body, content_type="application/x-www-form-urlencoded")

    assert read_delivery(form, body, [SECRET]).wakes == EVENTS["a comment"][2]


BROKEN: dict[str, tuple[dict[str, str], bytes, int, str]] = {
    "text": ({"content-type": "text/plain"}, b"{}", 415, "Choose application/json"),
    "no JSON": ({}, b"{", 400, "is no JSON"),
    "nested for ever": ({}, b"[" * 200_000, 400, "is no JSON"),
    "a list": ({}, b"[]", 400, "no JSON object"),
    "no event": ({"x-github-event": ""}, b"{}", 400, "x-github-event is missing"),
    "no id": ({"x-github-delivery": ""}, b"{}", 400, "x-github-delivery is missing"),
    "a long id": ({"x-github-delivery": "x" * 101}, b"{}", 400, "no short text"),
    "a field is gone": ({}, b'{"ref": "refs/heads/x"}', 400, "lacks a field.*'after'.*Report"),
    "a field is another kind": ({}, b'{"ref": 7}', 400, "A push delivery lacks a field"),
    "a sender of another kind": ({}, b'{"sender": 7}', 400, "A push delivery lacks a field"),
    "an id of another kind": (
        {},
        b'{"ref": "refs/tags/x", "repository": {"id": "1"}}',
        400,
        "repository.id is no number",
    ),
}


@pytest.mark.parametrize(("more", "body", "status", "says"), BROKEN.values(), ids=BROKEN)
def test_refused(more: dict[str, str], body: bytes, status: int, says: str) -> None:
    with pytest.raises(WebhookError, match=says) as caught:
        read_delivery({**headers("push", body), **more}, body, [SECRET])

    assert caught.value.status == status


def test_of_the_headers_an_allow_list_is_kept() -> None:
    body = b"{}"
    found = read_delivery(
        headers("ping", body, authorization="secret", x_github_hook_secret="secret"), body, [SECRET]
    )

    assert found.headers == {
        "content-type": "application/json",
        "x-github-delivery": GUID,
        "x-github-event": "ping",
    }


def test_what_a_delivery_says_about_itself() -> None:
    found = read("pull_request", pull("opened"))

    assert (found.id, found.event, found.action) == (GUID, "pull_request", "opened")
    assert (found.repository_id, found.repository, found.installation_id) == (
        on_github(1),
        "acme/blueprints",
        3,
    )
    assert found.sender == "author"


@pytest.mark.skipif(not EXAMPLES.exists(), reason=f"GitHub's recorded payloads: no {EXAMPLES}")
def test_recorded_payloads_are_read() -> None:
    woken: Counter[str] = Counter()
    for path in sorted(EXAMPLES.glob("*/*.json")):
        body, event = path.read_bytes(), path.parent.name
        found = read_delivery(headers(event, body), body, [SECRET])
        kinds = sorted({type(key).__name__ for key in found.wakes})
        woken[f"{event}.{found.action}: {', '.join(kinds) or 'nothing'}"] += 1

    print(*(f"{line} ({times})" for line, times in sorted(woken.items())), sep="\n")
    assert sum(woken.values()) > 80


@pytest.mark.parametrize("name", sorted(n for n, (_, p, _) in EVENTS.items() if "sender" in p))
def test_nobody_presses_what_a_machine_user_shows(name: str) -> None:
    """The short-cut believes the delivery: whoever administers one of the repositories knows the
    secret that all of their webhooks share, and presses buttons in the name of others."""
    event, payload, _ = EVENTS[name]
    body = json.dumps({"repository": REPOSITORY, "sender": PERSON, **payload}).encode()
    given = headers(event, body)

    found = GitHubWebhooks([SECRET], presses=False).read_verified(given, body, None)

    assert found.wakes.keys() == GitHubWebhooks([SECRET]).read_verified(given, body).wakes.keys()
    assert not any(hint.rerun for hint in found.wakes.values())
    pressed = [each for hint in found.wakes.values() for each in hint.pressed]
    assert [each for each in pressed if each.split()[1:3] != ["0", "-"]] == []
