"""GitLab's deliveries: who may send one, what each wakes, and what is left alone.

Longer than 400 lines: one table of events.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.clock import SystemClock
from bot.forges.gitlab.deliveries import GitLabWebhooks, delivery_id, read_verified
from bot.forges.gitlab.hooks import INSTANCE, HookOwner
from bot.forges.port import BotIdentity
from bot.forges.webhooks import Delivery, WebhookError
from bot.keys import parse
from bot.store.hints import Hint
from lifecycle import boxes

EXAMPLES = Path(__file__).resolve().parents[4] / "../shared/forge/gitlab/webhook-examples"
FILES = sorted(EXAMPLES.rglob("*.json")) if EXAMPLES.is_dir() else []

SIGNING = b"whsec_" + base64.b64encode(b"a key of the webhook")
NOW = datetime(2026, 11, 24, 1, 0, tzinfo=UTC)
ME = BotIdentity("porchbot", "porchbot@gitlab.example", 99)


class Stopped(SystemClock):
    def now(self) -> datetime:
        return NOW


def headers_of(**more: str) -> dict[str, str]:
    named = {name.replace("_", "-"): value for name, value in more.items()}
    return {"content-type": "application/json", "x-gitlab-event": "Push Hook"} | named


def signed(body: bytes, key: bytes = SIGNING, at: datetime = NOW) -> dict[str, str]:
    stamp = str(int(at.timestamp()))
    secret = base64.b64decode(key.removeprefix(b"whsec_"))
    digest = hmac.new(secret, f"one.{stamp}.".encode() + body, hashlib.sha256).digest()
    return headers_of(
        webhook_id="one",
        webhook_timestamp=stamp,
        webhook_signature=f"v1,{base64.b64encode(digest).decode()}",
    )


def taken(secrets: list[bytes], headers: Mapping[str, str], body: bytes = b"{}") -> None:
    signing = [secret for secret in secrets if secret.startswith(b"whsec_")]
    tokens = [secret for secret in secrets if secret not in signing]
    reader = GitLabWebhooks("gitlab", tokens, signing, clock=Stopped())
    signature = reader.read_headers(headers)
    for at in range(0, len(body), 7):
        signature.update(body[at : at + 7])
    signature.verify()


OTHER = b"whsec_" + base64.b64encode(b"another key")
LATE = datetime(2026, 11, 24, 1, 5, 1, tzinfo=UTC)

GOOD: dict[str, tuple[list[bytes], dict[str, str]]] = {
    "the secret token": ([b"hush"], headers_of(x_gitlab_token="hush")),
    "the older of two while one is replaced": (
        [b"new", b"hush"],
        headers_of(x_gitlab_token="hush"),
    ),
    "a signature": ([SIGNING], signed(b"{}")),
    "one by the older of two keys": ([OTHER, SIGNING], signed(b"{}")),
    "several signatures, one of which fits": (
        [SIGNING],
        signed(b"{}")
        | {"webhook-signature": f"v1,bm9uZQ== {signed(b'{}')['webhook-signature']} v2,x"},
    ),
    "the secret token of a hook that does not sign, beside one that does": (
        [SIGNING, b"hush"],
        headers_of(x_gitlab_token="hush"),
    ),
}


@pytest.mark.parametrize(("secrets", "headers"), GOOD.values(), ids=GOOD)
def test_what_is_taken(secrets: list[bytes], headers: dict[str, str]) -> None:
    taken(secrets, headers)


BAD: dict[str, tuple[list[bytes], dict[str, str], str]] = {
    "no token": ([b"hush"], headers_of(), "X-Gitlab-Token is missing"),
    "another token": ([b"hush"], headers_of(x_gitlab_token="loud"), "does not match"),
    "the beginning of the token": ([b"hush"], headers_of(x_gitlab_token="hus"), "does not match"),
    "a token that is no ASCII": ([b"hush"], headers_of(x_gitlab_token="\udcff"), "does not match"),
    "no signature where all hooks sign": ([SIGNING], headers_of(), "signature is missing"),
    "a token where all hooks sign": (
        [SIGNING],
        headers_of(x_gitlab_token=SIGNING.decode()),
        "signature is missing",
    ),
    "a signature of another body": ([SIGNING], signed(b"{ }"), "does not match"),
    "a signature by another key": ([OTHER], signed(b"{}"), "does not match"),
    "a wrong signature is not made good by a token": (
        [SIGNING, b"hush"],
        signed(b"{ }") | {"x-gitlab-token": "hush"},
        "does not match",
    ),
    "an old signature, played again": ([SIGNING], signed(b"{}", at=LATE), "at another time"),
    "a time that is none": (
        [SIGNING],
        signed(b"{}") | {"webhook-timestamp": "soon"},
        "no webhook-id or webhook-timestamp",
    ),
    "a time of another number of digits": (
        [SIGNING],
        signed(b"{}") | {"webhook-timestamp": "9" * 5_000},
        "at another time",
    ),
    "a signature of an older kind only": (
        [SIGNING],
        signed(b"{}") | {"webhook-signature": "v0,bm9uZQ=="},
        "does not match",
    ),
}


@pytest.mark.parametrize(("secrets", "headers", "text"), BAD.values(), ids=BAD)
def test_what_is_refused_and_never_echoed(
    secrets: list[bytes], headers: dict[str, str], text: str
) -> None:
    """Fails when a delivery with any right header is taken, or the error shows what was sent."""
    with pytest.raises(WebhookError, match=text) as raised:
        taken(secrets, headers)

    assert raised.value.status == 401
    for shown in ("hush", "loud", "whsec", "bm9u"):
        assert shown not in str(raised.value)


def test_a_form_is_refused_before_its_body_is_read() -> None:
    with pytest.raises(WebhookError, match="Choose application/json"):
        taken([b"hush"], headers_of(x_gitlab_token="hush") | {"content-type": "text/plain"})


@pytest.mark.parametrize(
    ("tokens", "signing"),
    [([], []), ([b""], []), ([b"hush"], [b"whsec_no Base64!"]), ([], [b"whsec_"])],
)
def test_secrets_that_verify_nothing_are_refused_at_the_start(
    tokens: list[bytes], signing: list[bytes]
) -> None:
    """Fails when an empty secret fits an empty header."""
    with pytest.raises(ValueError, match=r"secret|signing token"):
        GitLabWebhooks("gitlab", tokens, signing)


def test_a_delivery_is_the_same_when_it_is_sent_again() -> None:
    """Fails when the event's UUID alone tells: all that one event sets off has the same."""
    uuid = {"x-gitlab-event-uuid": "u-1"}

    assert delivery_id({"idempotency-key": "k-1", **uuid}, b"1") == "k-1"
    assert delivery_id(uuid, b"1") == delivery_id(uuid, b"1")
    assert delivery_id(uuid, b"1") != delivery_id(uuid, b"2")
    assert delivery_id({}, b"1") != delivery_id({}, b"2")
    assert len(delivery_id({"x-gitlab-event-uuid": "u" * 9_000}, b"1")) == 32


def read(
    payload: Mapping[str, Any],
    me: BotIdentity | None = ME,
    speaker: HookOwner | None = INSTANCE,
    **more: str,
) -> Delivery:
    headers = headers_of(idempotency_key="k-1", **more)
    return read_verified("gitlab", headers, json.dumps(payload).encode(), me, speaker)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_all_that_gitlab_was_seen_to_send_is_read(file: Path) -> None:
    """Fails when a field is needed that some version does not send: it would send it in vain."""
    delivery = read(json.loads(file.read_bytes()))

    assert delivery.event
    assert bool(delivery.wakes) != bool(delivery.ignored)
    for key in delivery.wakes:
        assert parse(str(key)) == key


PROJECT = {"id": 7, "path_with_namespace": "acme/net", "default_branch": "main"}
USER = {"id": 3, "username": "ann"}
HEAD, BEFORE, ZERO = "a" * 40, "b" * 40, "0" * 40


def push(ref: str, after: str = HEAD, **more: object) -> dict[str, object]:
    made = {"object_kind": "push", "project": PROJECT, "ref": ref, "before": BEFORE, "user_id": 3}
    return {**made, "after": after, **more}


def merge_request(action: str, changes: object = None, **more: object) -> dict[str, object]:
    attributes = {
        "iid": 12,
        "action": action,
        "source_project_id": 7,
        "target_project_id": 7,
        "source_branch": "drafts/core/one",
        "target_branch": "main",
        "last_commit": {"id": HEAD},
        **more,
    }
    about = {"object_kind": "merge_request", "project": PROJECT, "user": USER}
    return {**about, "object_attributes": attributes, "changes": changes or {}}


def note(on: str, about: Mapping[str, object], **more: object) -> dict[str, object]:
    attributes = {"id": 31, "noteable_type": on, "author_id": 3, **more}
    made = {"object_kind": "note", "project": PROJECT, "user": USER, **about}
    return {**made, "object_attributes": attributes}


def pipeline(status: str, **more: object) -> dict[str, object]:
    attributes = {"sha": HEAD, "status": status, "source": "push", **more}
    made = {"object_kind": "pipeline", "project": PROJECT, "user": USER}
    return {**made, "object_attributes": attributes, "merge_request": None}


def job(status: str) -> dict[str, object]:
    made = {"object_kind": "build", "project_id": 7, "user": USER, "sha": HEAD}
    return {**made, "build_status": status}


DRAFT = "gitlab:7:proposal:7:drafts/core/one"
RECORD = f"<!-- porchbot:record {{}} {'0' * 64} -->"
MOVED = Hint(heads=frozenset({HEAD}), numbers=frozenset({12}))
NUMBER = Hint(numbers=frozenset({12}))
NOTHING = Hint()
EVERYTHING = Hint(everything=frozenset({"k-1"}))
SWEEP = {"gitlab:app:sweep:changes": NOTHING}

BOXES = f"- [x] `@porchbot upgrade a v2`\n{RECORD}"
(TICK,) = boxes.newly_ticked(-3, "", BOXES, shows=True)
TICKED: dict[str, object] = {"action": "update", "iid": 3, "description": BOXES}
BOX: dict[str, object] = {
    "object_kind": "issue",
    "project": PROJECT,
    "user": USER,
    "object_attributes": TICKED,
    "changes": {"description": {"previous": f"- [ ] `@porchbot upgrade a v2`\n{RECORD}"}},
}

WAKES: dict[str, tuple[dict[str, object], dict[str, Hint]]] = {
    "a push to a draft": (
        push("refs/heads/drafts/core/one"),
        {DRAFT: Hint(heads=frozenset({HEAD}))},
    ),
    "a draft that was deleted is there no more": (
        push("refs/heads/drafts/core/one", ZERO),
        {DRAFT: NOTHING},
    ),
    "a push to the default branch": (
        push("refs/heads/main"),
        {
            "gitlab:7:proposal:7:main": Hint(heads=frozenset({HEAD})),
            "gitlab:7:base:main": NOTHING,
            "gitlab:7:repository": NOTHING,
        },
    ),
    "a box of the dashboard, ticked by the hook's user": (
        BOX,
        {"gitlab:7:dashboard": Hint(pressed=frozenset({f"k-1 3 ann {TICK}"}))},
    ),
    "a box of which the hook names no user": (
        {**BOX, "user": {}},
        {"gitlab:7:dashboard": Hint(pressed=frozenset({f"k-1 0 - {TICK}"}))},
    ),
    "a box in somebody's own issue, with a record of ours in it": (
        {**BOX, "object_attributes": {**TICKED, "author_id": 3}},
        {},
    ),
    "a box in an issue that the bot opened": (
        {**BOX, "object_attributes": {**TICKED, "author_id": ME.account}},
        {"gitlab:7:dashboard": Hint(pressed=frozenset({f"k-1 3 ann {TICK}"}))},
    ),
    "another change of an issue": ({**BOX, "changes": {"title": {}}}, {}),
    "a tag": (
        push("refs/tags/core/v1", object_kind="tag_push"),
        {"gitlab:7:repository": NOTHING},
    ),
    "a system hook tells of more refs than push hooks do": (
        {
            "event_name": "repository_update",
            "project_id": 7,
            "project": {"path_with_namespace": "acme/net", "default_branch": "main"},
            "changes": [
                {"ref": f"refs/heads/drafts/core/{name}", "before": BEFORE, "after": HEAD}
                for name in ("one", "two")
            ],
        },
        {
            DRAFT: Hint(heads=frozenset({HEAD})),
            "gitlab:7:proposal:7:drafts/core/two": Hint(heads=frozenset({HEAD})),
        },
    ),
    "more refs at once than are looked at one by one": (
        {
            "event_name": "repository_update",
            "project_id": 7,
            "project": {"path_with_namespace": "acme/net", "default_branch": "main"},
            "changes": [
                {"ref": f"refs/heads/drafts/core/{n}", "before": BEFORE, "after": HEAD}
                for n in range(51)
            ],
        },
        {"gitlab:7:repository": NOTHING},
    ),
    "a merge request was opened": (merge_request("open"), {DRAFT: MOVED}),
    "commits came": (merge_request("update", oldrev=BEFORE), {DRAFT: MOVED}),
    "its draft state changed": (merge_request("update", {"draft": {}}), {DRAFT: NUMBER}),
    "an update that does not say what of": (merge_request("update"), {DRAFT: NUMBER}),
    "a milestone changes nothing": (
        merge_request("update", {"milestone_id": {}, "updated_at": {}}),
        {},
    ),
    "an approval": (merge_request("approval"), {DRAFT: NUMBER}),
    "an approval was withdrawn": (merge_request("unapproval"), {DRAFT: NUMBER}),
    "the fork is gone": (
        merge_request("close", source_project_id=None),
        {"gitlab:7:pull:12": NUMBER},
    ),
    "from a fork": (
        merge_request("open", source_project_id=8),
        {"gitlab:7:proposal:8:drafts/core/one": MOVED},
    ),
    "merged": (
        merge_request("merge"),
        {DRAFT: NUMBER, "gitlab:7:base:main": NOTHING, "gitlab:7:repository": NOTHING},
    ),
    "a comment": (
        note("MergeRequest", {"merge_request": {"iid": 12}}),
        {"gitlab:7:pull:12": Hint(comments=frozenset({31}))},
    ),
    "GitLab's own words": (note("MergeRequest", {"merge_request": {"iid": 12}}, system=True), {}),
    "a comment on an issue": (note("Issue", {"issue": {"description": "Hi"}}), {}),
    "a comment on the dashboard": (
        note("Issue", {"issue": {"iid": 3, "description": RECORD}}),
        {"gitlab:7:dashboard": Hint(comments=frozenset({31}), numbers=frozenset({3}))},
    ),
    "a comment in somebody's own issue, with a record of ours in it": (
        note("Issue", {"issue": {"iid": 3, "description": RECORD, "author_id": 3}}),
        {},
    ),
    "a comment on a commit": (note("Commit", {}), {}),
    "a pipeline ended": (pipeline("success"), {f"gitlab:7:commit:{HEAD}": NOTHING}),
    "a pipeline goes on": (pipeline("running"), {}),
    "a pipeline of a tag": (pipeline("success", tag=True), {}),
    "a job ended": (job("failed"), {f"gitlab:7:commit:{HEAD}": NOTHING}),
    "a job goes on": (job("pending"), {}),
    "a project has another name": (
        {"event_name": "project_rename", "project_id": 7, "path_with_namespace": "acme/web"},
        {**SWEEP, "gitlab:7:repository": EVERYTHING},
    ),
    "a project is gone": ({"event_name": "project_destroy", "project_id": 7}, SWEEP),
    "a role in a project": (
        {"event_name": "user_update_for_team", "project_id": 7},
        {"gitlab:7:repository": EVERYTHING},
    ),
    "a role in a group": ({"event_name": "user_add_to_group", "group_id": 5}, SWEEP),
    "the token ends soon": (
        {"object_kind": "access_token", "project": PROJECT, "object_attributes": {"id": 1}},
        {"gitlab:app:sweep:health": NOTHING},
    ),
    "a kind that came later": ({"object_kind": "moon_phase", "project": PROJECT}, {}),
    "nothing that is known": ({}, {}),
}


@pytest.mark.parametrize(("payload", "expected"), WAKES.values(), ids=WAKES)
def test_what_wakes(payload: dict[str, object], expected: dict[str, Hint]) -> None:
    delivery = read(payload)

    assert {str(key): hint for key, hint in delivery.wakes.items()} == expected
    assert bool(delivery.ignored) != bool(expected)


OURS = {"user": {"id": 99, "username": "porchbot"}}


def test_what_we_did_ourselves_wakes_nothing_but_our_merge() -> None:
    """Fails when our own comment causes a look, and that look the next comment."""
    mine = note("MergeRequest", {"merge_request": {"iid": 12}}) | OURS
    merged = merge_request("merge") | OURS

    assert dict(read(mine).wakes) == {}
    assert read(mine).ignored == "The bot did that itself, and goes on by itself."
    assert [str(key) for key in read(merged).wakes] == ["gitlab:7:repository"]


def test_a_person_with_our_login_is_not_us() -> None:
    """Fails when the login tells: it can be taken over."""
    theirs = note("MergeRequest", {"merge_request": {"iid": 12}}, author_id=5)
    theirs |= {"user": {"id": 5, "username": "porchbot"}}

    assert [str(key) for key in read(theirs).wakes] == ["gitlab:7:pull:12"]


def test_a_key_of_a_delivery_that_says_who_ticked_is_refused() -> None:
    """The short-cut takes any short text: before GitLab 17.4 it is a header that a Maintainer
    chooses, and what follows its blank is read as the person who ticked a box."""
    headers, body = headers_of(idempotency_key="k-1 99 alice"), json.dumps(BOX).encode()
    with pytest.raises(WebhookError, match="an id with a blank"):
        read_verified("gitlab", headers, body, ME, INSTANCE)


def test_a_pipeline_of_our_statuses_tells_of_those_of_others() -> None:
    """Fails when it is left alone as ours: a status of others joins the pipeline that we made."""
    assert [str(key) for key in read(pipeline("failed") | OURS).wakes] == [
        f"gitlab:7:commit:{HEAD}"
    ]


def test_what_is_stored_holds_no_secret() -> None:
    """Fails when headers are stored as they came: the secret token is one of them."""
    delivery = read(push("refs/heads/main"), x_gitlab_token="hush", x_custom="hush")

    assert set(delivery.headers) == {
        *("content-type", "idempotency-key", "x-gitlab-event", "porchbot-speaker")
    }


BROKEN: dict[str, dict[str, object]] = {
    "no ref": {"object_kind": "push", "project": PROJECT},
    "an id that is a text": push("refs/heads/main") | {"project": {"id": "7"}},
    "a number that is a truth value": merge_request("open", iid=True),
    "no project": {"object_kind": "push", "ref": "refs/heads/main", "after": HEAD},
}


@pytest.mark.parametrize("payload", BROKEN.values(), ids=BROKEN)
def test_what_lacks_a_field_is_refused_and_not_lost(payload: dict[str, object]) -> None:
    """Fails when it is swallowed: it would stand in the hook's log as delivered."""
    with pytest.raises(WebhookError, match="lacks a field that is needed") as raised:
        read(payload)

    assert raised.value.status == 400


@pytest.mark.parametrize("kind", ["\ud800", "a\0b", "x" * 1_001], ids=["half", "zero", "long"])
@pytest.mark.parametrize("named", ["object_kind", "event_name"])
def test_a_kind_that_cannot_be_stored_is_refused_in_words_that_can_be_said(
    kind: str, named: str
) -> None:
    """The short-cut checks what an event wakes alone: a project's template chooses its kind too,
    which the database or the answer then fails at."""
    with pytest.raises(WebhookError, match="lacks a field that is needed") as raised:
        read({named: kind, "project": PROJECT})

    assert raised.value.status == 400
    assert str(raised.value).isascii()
    assert len(str(raised.value)) < 500
