"""The validator of GitLab's dialect finds what is wrong, and passes what GitLab itself sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.contract import trim_gitlab
from tests.contract.gitlab import GitLabValidator
from tests.contract.watch import Watch

needs_recordings = pytest.mark.skipif(
    not trim_gitlab.SOURCE.is_dir(),
    reason="the recordings (shared/forge/gitlab) are not beside the checkout",
)
PROJECT = "/projects/{id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One exchange as a forge's observers get it."""

    method: str = "GET"
    path: str = "/projects/1"
    template: str | None = PROJECT
    query: Mapping[str, str] = field(default_factory=dict)
    request_body: Any = None
    status: int = 200
    response_headers: Mapping[str, str] = field(default_factory=dict)
    response_body: Any = None
    fault: bool = False


PERSON = {
    "id": 1,
    "username": "ann",
    "name": "Ann",
    "state": "active",
    "avatar_url": "https://forge.example/a",
    "web_url": "https://forge.example/ann",
}
EMOJI = Seen(
    method="POST",
    template=f"{PROJECT}/merge_requests/{{merge_request_iid}}/notes/{{note_id}}/award_emoji",
    status=201,
    response_body={
        "id": 1,
        "name": "eyes",
        "user": PERSON,
        "created_at": "2026-01-02T03:04:05.678Z",
        "updated_at": "2026-01-02T03:04:05.678Z",
        "awardable_id": 1,
        "awardable_type": "Note",
        "url": None,
    },
)


def emoji(**changes: Any) -> Seen:
    """An emoji that was just awarded, with changes to its body."""
    return replace(EMOJI, response_body=EMOJI.response_body | changes)


def test_finds_what_is_wrong_at_its_place() -> None:
    """Short-cut: check the outermost object alone, or take any key and any type."""
    check = GitLabValidator().answer
    unnamed = {key: value for key, value in PERSON.items() if key != "username"}
    nameless = emoji(user=unnamed)

    assert check(emoji()) == []
    assert [each.partition(" -> 201: ")[2] for each in check(nameless)] == [
        "/user: 'username' is a required property"
    ]
    assert "is not of type 'integer'" in check(emoji(id="1"))[0]
    assert "/shape: GitLab does not describe this key" in check(emoji(shape=1))[0]
    assert "the answer is not a list" in check(replace(EMOJI, method="GET", status=200))[0]


@pytest.mark.parametrize(
    "body",
    [
        {"message": "404 Project Not Found"},
        {"message": ["Another open merge request already exists for this source branch: !1"]},
        {"message": {"name": ["has already been taken"]}},
        {"error": "title is missing"},
        {"error": "insufficient_scope", "error_description": "too little", "scope": "api"},
    ],
)
def test_errors_are_of_a_shape_that_was_seen(body: dict[str, Any]) -> None:
    """Short-cut: take any JSON for an error."""
    check = GitLabValidator().answer

    assert check(Seen(status=404, response_body=body)) == []
    assert check(Seen(status=404, response_body={"documentation_url": "https://x"})) != []
    assert check(Seen(status=404, response_body={"message": 404})) != []


def test_a_route_that_does_not_exist_is_404() -> None:
    """Short-cut: nothing is said of what has no template."""
    assert GitLabValidator().answer(Seen(template="", status=404)) == []
    assert "no route was found" in GitLabValidator().answer(Seen(template="", status=200))[0]


def test_a_webhook_names_itself_in_its_headers_and_lacks_nothing() -> None:
    """Short-cut: believe the header, or look at the payload alone."""
    path = trim_gitlab.TARGET / "webhooks.json"
    needed = json.loads(path.read_text())["webhooks"]["push"]["required"]
    headers = {
        "X-Gitlab-Event": "Push Hook",
        "X-Gitlab-Event-UUID": "1",
        "X-Gitlab-Webhook-UUID": "2",
        "Idempotency-Key": "3",
    }
    watch = Watch(GitLabValidator())
    watch.webhook("push", headers | {"X-Gitlab-Event": "Note Hook"}, {"object_kind": "push"})
    watch.webhook("push", {"X-Gitlab-Event": "Push Hook"}, {"object_kind": "push"})

    told = "\n".join(watch.problems)
    assert "the header X-Gitlab-Event says 'Note Hook'" in told
    assert "the header idempotency-key is missing" in told
    assert f"'{needed[0]}' is a required property" in told
    with pytest.raises(AssertionError, match="does not keep to GitLab's descriptions"):
        watch.verify()


@needs_recordings
def test_passes_what_gitlab_sent() -> None:
    """Short-cut: shapes that no real answer has."""
    validator = GitLabValidator(closed=False)
    lines = (trim_gitlab.SOURCE / "exchanges.jsonl").read_text(encoding="utf-8").splitlines()
    problems, seen = [], 0
    for each in map(json.loads, lines):
        method, _, path = each["op"].partition(" ")
        answer = each["response"]
        if method == "DELETE" or answer["body"] is None:
            continue
        seen += 1
        problems += validator.answer(
            Seen(
                method=method,
                template=path.removeprefix("/api/v4"),
                status=answer["status"],
                response_body=answer["body"],
            )
        )

    assert problems == []
    assert seen > 100


@needs_recordings
def test_copies_are_up_to_date() -> None:
    expected = trim_gitlab.trimmed(trim_gitlab.SOURCE)
    actual = {each.name: each.read_text(encoding="utf-8") for each in trim_gitlab.TARGET.iterdir()}
    stale = sorted(
        name for name in expected.keys() | actual.keys() if expected.get(name) != actual.get(name)
    )
    assert not stale, f"run `python -m tests.contract.trim_gitlab`: {', '.join(stale)} differ"


def test_shapes_are_inferred_from_all_samples() -> None:
    """Short-cut: take the first sample for the shape."""
    samples = [{"a": 1, "b": [{"c": None}]}, {"a": None, "b": [{"c": "x"}], "d": True}]

    assert trim_gitlab.loosened(trim_gitlab.inferred(samples)) == {
        "type": "object",
        "required": ["a", "b"],
        "properties": {
            "a": {"type": ["integer", "null"]},
            "b": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["c"],
                    "properties": {"c": {"type": ["null", "string"]}},
                },
            },
            "d": {"type": ["boolean", "null"]},
        },
    }
