"""GitHub's webhooks: bytes in, one verified value out: which keys to look at again. Pure.

Longer than 400 lines: the table of events, and for each the few lines that read it, are one.

The signature is checked on the raw body before anything in it is parsed, and only fields in use are
read. What an event says is used for two things: which keys it wakes, and what it says exists (the
hint), so that a look that sees less is known to be too early: `head` (commit), `comment`, `review`,
`number` (a pull request that matters even if it is closed), `rerun` (the delivery in which Re-run
was pressed). Nothing is decided here. What we caused
ourselves wakes nothing, a merge excepted: looking again after our own actions is the loop's business
(docs/design.md, "Work").

| Event | wakes |
| --- | --- |
| push, create, delete of a branch | its draft or proposal; outside `drafts/` the base branch of that name too; for the default branch all that is open |
| the same of a tag | the repository |
| pull request, review, thread | its head branch; merged: the base branch and all that is open |
| comment on a pull request | the pull request by its number: the event has no head |
| check or status of others ended, Re-run | the proposals at that commit |
| merge group | the base branch |
| repository renamed …, rule or member changed | the repository |
| installation changed | rediscovery |

Source: https://docs.github.com/webhooks/webhook-events-and-payloads
"""  # noqa: E501 (a table)

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import parse_qs

from bot.forges.github.signature import WebhookError, WebhookSignature
from bot.keys import (
    BaseKey,
    CommitKey,
    InstallationsKey,
    Key,
    ProposalKey,
    PullKey,
    RepositoryKey,
    parse,
)
from bot.store.hints import NOTHING, Hint, Rerun
from lifecycle.identity import GITHUB, RepositoryId

JSONObject = Mapping[str, Any]

KEPT_HEADERS = frozenset(
    {
        "content-type",
        "user-agent",
        "x-github-delivery",
        "x-github-enterprise-host",
        "x-github-enterprise-version",
        "x-github-event",
        "x-github-hook-id",
        "x-github-hook-installation-target-id",
        "x-github-hook-installation-target-type",
    }
)
"""Headers that are stored: an allow-list, since a forge once put secrets into a header
(trap 16)."""

UNHEARD = frozenset(
    {
        "assigned",
        "unassigned",
        "locked",
        "unlocked",
        "milestoned",
        "demilestoned",
        "review_requested",
        "review_request_removed",
    }
)
"""What happens to a pull request and changes nothing that a decision knows."""

NEW_HEAD = frozenset({"opened", "reopened", "synchronize"})
"""Actions after which the head must be there; later it may be gone with its branch."""

RERUN = frozenset({"rerequested", "requested_action"})
"""What a press on a button of a check is called."""


MOST_TEXT = 1_000
"""Bytes of a text that is a part of a key: a ref on GitHub has at most 255."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One verified delivery.

    Attributes:
        id: GitHub's GUID; a redelivery has the same.
        event: Such as "pull_request".
        action: Such as "opened"; "" for events without one.
        repository_id: Which repository; None for events of the App itself.
        repository: Its full name; "" likewise.
        installation_id: Number of the App's installation; None when it does not say.
        sender: Login of who caused it; "" when it does not say.
        headers: Those on the allow-list.
        wakes: Key to what the event said exists; empty for what concerns nobody.
    """

    id: str
    event: str
    action: str
    repository_id: RepositoryId | None
    repository: str
    installation_id: int | None
    sender: str
    headers: Mapping[str, str]
    wakes: Mapping[Key, Hint]


def read_headers(headers: Mapping[str, str], secrets: Sequence[bytes]) -> WebhookSignature:
    """Refuse what is no delivery before anything of its body is read.

    Args:
        headers: Request headers, names in lower case.
        secrets: See `WebhookSignature`.

    Raises:
        WebhookError: It is not signed (401), or no delivery (400, 415).
    """
    signature = WebhookSignature(headers.get("x-hub-signature-256", ""), secrets)
    _header(headers, "x-github-delivery")
    _header(headers, "x-github-event")
    kind = _content_type(headers)
    if kind not in _CONTENT_TYPES:
        raise WebhookError(415, f"The content type is {kind[:100]}. Choose application/json.")
    return signature


def read_verified(headers: Mapping[str, str], body: bytes, app_login: str = "") -> Delivery:
    """Say what to look at again, of a delivery whose signature was verified.

    Args:
        headers: Request headers, names in lower case; see `read_headers`.
        body: Request body, byte for byte as received.
        app_login: Our own login, such as "porchbot[bot]"; "" while it is not known.

    Raises:
        WebhookError: It is no delivery (400, 415).
    """
    guid = _header(headers, "x-github-delivery")
    event = _header(headers, "x-github-event")
    payload = _parse(_content_type(headers), body)
    try:
        delivery = _delivery(guid, event, payload, headers, app_login)
        _check_storable(delivery)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        # GitHub marks it as failed, and it can be redelivered once we read it.
        what = str(error).encode("ascii", "backslashreplace").decode()[:200]
        raise WebhookError(
            400,
            f"A {event} delivery lacks a field that is needed, or has another kind there: {what}."
            " Report this to the makers of the bot.",
        ) from error
    return delivery


def _check_storable(delivery: Delivery) -> None:
    """Refuse what no forge sends and no database takes: it would fail at every look.

    Raises:
        TypeError, ValueError: Something is no text, or no number, of a kind that is stored.
    """
    repository = delivery.repository_id
    for number in (repository and repository.number, delivery.installation_id):
        if number is not None:
            _check_value(number)
    _check_value(delivery.action)
    for key, hint in delivery.wakes.items():
        _check_value(str(key))
        if parse(str(key)) != key:
            raise ValueError("a key that cannot be read back")
        row = hint.to_json()
        for value in (value for values in row.values() for value in values):
            _check_value(value)
        if Hint.from_json(row) != hint:
            raise TypeError("a number or a text of another kind")


def _check_value(value: object) -> None:
    match value:
        case bool():
            raise TypeError("a truth value")
        case int() if not 0 <= value < 2**63:
            raise ValueError("a number out of bounds")
        case str() if "\0" in value or len(value.encode()) > MOST_TEXT:  # encode: no surrogates
            raise ValueError("a text that cannot be stored")
        case int() | str():
            return
        case _:
            raise TypeError(f"a {type(value).__name__}")


def _header(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name, "")
    if not 0 < len(value) <= 100 or not value.isascii() or not value.isprintable():
        raise WebhookError(400, f"{name} is missing or no short text: not GitHub's.")
    return value


_FORM = "application/x-www-form-urlencoded"
_CONTENT_TYPES = frozenset({_FORM, "application/json", ""})


def _content_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _parse(kind: str, body: bytes) -> JSONObject:
    try:
        if kind == _FORM:
            payload = json.loads(parse_qs(body.decode())["payload"][0])
        else:
            payload = json.loads(body)
    except (ValueError, KeyError, RecursionError) as error:
        raise WebhookError(400, "The body is no JSON. It was signed, so report this.") from error
    if not isinstance(payload, dict):
        raise WebhookError(400, "The body is no JSON object. It was signed, so report this.")
    return payload


def _delivery(
    guid: str, event: str, payload: JSONObject, headers: Mapping[str, str], app_login: str
) -> Delivery:
    sender = payload.get("sender") or {}
    login = sender.get("login", "")
    repository = payload.get("repository") or {}
    # A login alone could be a person's who took the name; the type could not.
    ours = bool(app_login) and sender.get("type") == "Bot" and login == app_login
    silent = ours and not (event == "pull_request" and _merged(payload))
    return Delivery(
        id=guid,
        event=event,
        action=payload.get("action") or "",
        repository_id=_id(payload) if repository.get("id") is not None else None,
        repository=repository.get("full_name", ""),
        installation_id=(payload.get("installation") or {}).get("id"),
        sender=login,
        headers={name: value for name, value in headers.items() if name in KEPT_HEADERS},
        wakes={} if silent else dict(_wakes(guid, event, payload)),
    )


Wakes = Iterable[tuple[Key, Hint]]


def _wakes(guid: str, event: str, payload: JSONObject) -> Wakes:
    """Which keys a delivery wakes; an event that is not in the table wakes none."""
    if event in _COUNTED:
        return _COUNTED[event](guid, payload)
    reader = _READERS.get(event)
    return reader(payload) if reader else ()


def _id(payload: JSONObject) -> RepositoryId:
    number = payload["repository"]["id"]
    if not isinstance(number, int):
        raise TypeError("repository.id is no number")
    return RepositoryId(GITHUB, number)


def _push(payload: JSONObject) -> Wakes:
    ref = payload["ref"]
    if not ref.startswith("refs/heads/"):
        return _whole(payload)
    hint = NOTHING if payload.get("deleted") else Hint(heads=frozenset({payload["after"]}))
    return _branch(payload, ref.removeprefix("refs/heads/"), hint)


def _ref(payload: JSONObject) -> Wakes:
    """Of `create` and `delete`, which spell the ref in short and its kind apart."""
    if payload["ref_type"] != "branch":
        return _whole(payload)
    return _branch(payload, payload["ref"], NOTHING)


def _branch(payload: JSONObject, branch: str, hint: Hint) -> Wakes:
    repository = _id(payload)
    yield ProposalKey(repository, repository.number, branch), hint
    if not branch.startswith("drafts/"):
        yield BaseKey(repository, branch), NOTHING
    if branch == payload["repository"]["default_branch"]:
        yield RepositoryKey(repository), NOTHING


def _pull_request(payload: JSONObject) -> Wakes:
    if payload["action"] in UNHEARD:
        return
    pull = payload["pull_request"]
    heads = {pull["head"]["sha"]} if payload["action"] in NEW_HEAD else ()
    yield _head(payload, Hint(heads=frozenset(heads)))
    if _merged(payload):
        yield BaseKey(_id(payload), pull["base"]["ref"]), NOTHING
        # Others may be outdated by it; and the push of our own merge wakes nothing.
        yield RepositoryKey(_id(payload)), NOTHING


def _merged(payload: JSONObject) -> bool:
    return payload.get("action") == "closed" and payload["pull_request"].get("merged") is True


def _review(payload: JSONObject) -> Wakes:
    return [_head(payload, Hint(reviews=frozenset({payload["review"]["id"]})))]


def _thread(payload: JSONObject) -> Wakes:
    return [_head(payload, NOTHING)]


def _head(payload: JSONObject, hint: Hint) -> tuple[Key, Hint]:
    """The head branch of a pull request; by its number once the fork is gone."""
    pull = payload["pull_request"]
    head, numbered = pull["head"], replace(hint, numbers=frozenset({pull["number"]}))
    if head.get("repo") is None:
        return PullKey(_id(payload), pull["number"]), numbered
    return ProposalKey(_id(payload), head["repo"]["id"], head["ref"]), numbered


def _comment(payload: JSONObject) -> Wakes:
    issue = payload["issue"]
    if issue.get("pull_request") is None:
        return
    there = {payload["comment"]["id"]} if payload["action"] != "deleted" else ()
    yield PullKey(_id(payload), issue["number"]), Hint(comments=frozenset(there))


def _check(event: str, guid: str, payload: JSONObject) -> Wakes:
    """A check of others ended, or somebody pressed Re-run on one of ours."""
    if payload["action"] not in {*RERUN, "completed"}:
        return []
    who = payload.get("sender") or {}
    pressed = Rerun(guid, who["id"], who["login"]) if who.get("id") else Rerun(guid)
    hint = Hint(rerun=frozenset({str(pressed)} if payload["action"] in RERUN else ()))
    check, repository = payload[event], _id(payload)
    pulls: list[tuple[Key, Hint]] = [
        (ProposalKey(repository, pull["head"]["repo"]["id"], pull["head"]["ref"]), hint)
        for pull in check.get("pull_requests") or []
        if pull["base"]["repo"]["id"] == repository.number
    ]
    if pulls:
        return pulls
    suite = check["check_suite"] if event == "check_run" else check
    if suite.get("head_branch"):
        return [(ProposalKey(repository, repository.number, suite["head_branch"]), hint)]
    # For a fork GitHub names neither the branch nor the pull requests.
    return [(CommitKey(repository, check["head_sha"]), hint)]


def _status(payload: JSONObject) -> Wakes:
    repository, sha = _id(payload), payload["sha"]
    # `branches` holds every branch that contains the commit; those that end in it are meant.
    ending = [b["name"] for b in payload.get("branches") or [] if b["commit"]["sha"] == sha]
    if not ending:
        return [(CommitKey(repository, sha), NOTHING)]
    return [(ProposalKey(repository, repository.number, branch), NOTHING) for branch in ending]


def _merge_group(payload: JSONObject) -> Wakes:
    branch = payload["merge_group"]["base_ref"].removeprefix("refs/heads/")
    return [(BaseKey(_id(payload), branch), NOTHING)]


def _repository(guid: str, payload: JSONObject) -> Wakes:
    yield InstallationsKey(), NOTHING
    if payload["action"] != "deleted":
        yield RepositoryKey(_id(payload)), Hint(everything=frozenset({guid}))


def _whole(payload: JSONObject) -> Wakes:
    """Everything in a repository; nothing for what an organization has."""
    return [(RepositoryKey(_id(payload)), NOTHING)] if payload.get("repository") else []


def _rights(guid: str, payload: JSONObject) -> Wakes:
    """Rules and roles: no list of proposals tells that they changed (ADR 23)."""
    return [(key, Hint(everything=frozenset({guid}))) for key, _ in _whole(payload)]


def _installations(_: JSONObject) -> Wakes:
    return [(InstallationsKey(), NOTHING)]


_READERS: Mapping[str, Callable[[JSONObject], Wakes]] = {
    "push": _push,
    "create": _ref,
    "delete": _ref,
    "pull_request": _pull_request,
    "pull_request_review": _review,
    "pull_request_review_comment": _thread,
    "pull_request_review_thread": _thread,
    "issue_comment": _comment,
    "status": _status,
    "merge_group": _merge_group,
    "installation": _installations,
    "installation_repositories": _installations,
}

_COUNTED: Mapping[str, Callable[[str, JSONObject], Wakes]] = {
    "check_run": partial(_check, "check_run"),
    "check_suite": partial(_check, "check_suite"),
    "repository": _repository,
    "branch_protection_rule": _rights,
    "repository_ruleset": _rights,
    "member": _rights,
}
"""What counts each time that it comes, even while a look deals with the last: the delivery tells
one from the next, and is the same when redelivered."""
