"""The validator finds what is wrong, and passes what GitHub itself sent.

Longer than 400 lines: what is wrong, an example for each rule.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.contract.coverage import report
from tests.contract.descriptions import Validator
from tests.contract.trim import EVENTS, OPERATIONS
from tests.contract.watch import Watch, watched
from tests.counting import lines

GITHUB = Path(__file__).resolve().parents[2] / "../shared/forge/github"
needs_recordings = pytest.mark.skipif(
    not GITHUB.is_dir(), reason="the recordings (shared/forge/github) are not beside the checkout"
)

REPO = "/repos/{owner}/{repo}"
NOT_FOUND = {"message": "Not Found", "documentation_url": "https://docs.example", "status": "404"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One exchange as a forge's observers get it."""

    method: str = "GET"
    path: str = "/repos/a/b"
    template: str | None = REPO
    query: Mapping[str, str] = field(default_factory=dict)
    request_body: Any = None
    status: int = 200
    response_headers: Mapping[str, str] = field(
        default_factory=lambda: {"Content-Type": "application/json; charset=utf-8"}
    )
    response_body: Any = None
    fault: bool = False


USER: dict[str, Any] = {
    "login": "ann",
    "id": 1,
    "node_id": "U_1",
    "avatar_url": "https://forge.example/a",
    "gravatar_id": None,
    "url": "https://forge.example/u",
    "html_url": "https://forge.example/u",
    "followers_url": "https://forge.example/u",
    "following_url": "https://forge.example/u{/other}",
    "gists_url": "https://forge.example/u{/gist}",
    "starred_url": "https://forge.example/u{/owner}{/repo}",
    "subscriptions_url": "https://forge.example/u",
    "organizations_url": "https://forge.example/u",
    "repos_url": "https://forge.example/u",
    "events_url": "https://forge.example/u{/privacy}",
    "received_events_url": "https://forge.example/u",
    "type": "User",
    "site_admin": False,
}
REACTION: dict[str, Any] = {
    "id": 1,
    "node_id": "R_1",
    "user": USER,
    "content": "eyes",
    "created_at": "2026-01-02T03:04:05Z",
}
REACTIONS = f"{REPO}/issues/comments/{{comment_id}}/reactions"


def reaction(**changes: Any) -> Seen:
    """A reaction that was just created, with changes to its body."""
    return Seen(
        method="POST",
        template=REACTIONS,
        request_body={"content": "eyes"},
        status=201,
        response_body=REACTION | changes,
    )


def without(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: part for name, part in value.items() if name != key}


class TestAnswers:
    def test_a_missing_required_field_is_named_with_its_place(self) -> None:
        """Short-cut: check the outermost object alone."""
        found = Validator().answer(reaction(user=without(USER, "node_id")))
        assert found == [
            f"POST {REACTIONS} -> 201: /user: 'node_id' is a required property",
        ]

    def test_passes_a_right_one(self) -> None:
        assert Validator().answer(reaction()) == []

    def test_null_is_right_only_where_it_is_described(self) -> None:
        """Short-cut: ignore `nullable`, or take null everywhere."""
        assert Validator().answer(reaction(user=None)) == []
        assert Validator().answer(reaction(id=None)) != []

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            ({"id": "1"}, "/id: '1' is not of type 'integer'"),
            ({"content": "shrug"}, "/content: 'shrug' is not one of"),
            ({"created_at": "2026-01-02 03:04:05"}, "is not a 'date-time'"),
            ({"created_at": "2026-13-02T03:04:05Z"}, "is not a 'date-time'"),
            ({"user": USER | {"url": "/u"}}, "is not a 'uri'"),
            ({"mergable": True}, "/mergable: GitHub does not describe this key"),
            ({"user": USER | {"nick": ""}}, "/user/nick: GitHub does not describe this key"),
        ],
    )
    def test_finds(self, changes: dict[str, Any], told: str) -> None:
        found = Validator().answer(reaction(**changes))
        assert any(told in line for line in found), found

    def test_checks_the_request_that_was_accepted(self) -> None:
        """Short-cut: look at answers alone; a misspelt key is then never found."""
        body = {"body": "hello", "bodi": "hello"}
        seen = Seen(
            method="POST",
            template=f"{REPO}/issues/{{issue_number}}/comments",
            request_body=body,
            status=201,
        )
        assert any("request body /bodi" in line for line in Validator().answer(seen))
        missing = Seen(method="POST", template=REACTIONS, status=201, response_body=REACTION)
        assert any("request body: missing" in line for line in Validator().answer(missing))

    def test_does_not_check_the_request_that_was_refused(self) -> None:
        seen = Seen(
            method="POST",
            template=REACTIONS,
            request_body={"content": "shrug"},
            status=422,
            response_body={"message": "Validation Failed", "documentation_url": "https://d"},
        )
        assert Validator().answer(seen) == []

    def test_query_parameters_are_described_ones(self) -> None:
        def answer(**query: str) -> list[str]:
            seen = Seen(template=f"{REPO}/pulls", response_body=[], query=query)
            return Validator().answer(seen)

        assert answer(state="open", per_page="100") == []
        assert answer(state="merged") != []
        assert answer(stat="open") != []

    def test_a_status_that_is_not_listed_is_a_problem(self) -> None:
        found = Validator().answer(Seen(status=202, response_body={}))
        assert found == [f"GET {REPO} -> 202: the operation does not list this status"]

    def test_an_operation_that_is_not_described_is_a_problem(self) -> None:
        found = Validator().answer(Seen(template=f"{REPO}/gizmos"))
        assert "no such operation" in found[0]
        assert Validator().answer(Seen(template=None, path="/gizmos", response_body={})) != []

    @pytest.mark.parametrize("status", [401, 403, 404, 429])
    def test_an_unlisted_refusal_has_the_shape_of_an_error(self, status: int) -> None:
        """Short-cut: the description's error schema, which requires nothing and passes `{}`."""
        right = {"message": "No", "documentation_url": "https://d", "status": str(status)}
        template = f"{REPO}/check-runs/{{check_run_id}}"

        def answer(body: Any) -> list[str]:
            return Validator().answer(Seen(template=template, status=status, response_body=body))

        assert answer(right) == []
        assert answer({}) != []
        assert answer(without(right, "message")) != []
        assert answer(right | {"status": "418"}) != []
        assert answer("<html>") != []

    @pytest.mark.parametrize(
        "errors",
        [
            [{"resource": "PullRequest", "code": "custom", "message": "Already exists"}],
            ["Reference already exists"],
            None,
        ],
    )
    def test_422_has_three_shapes(self, errors: list[Any] | None) -> None:
        template = f"{REPO}/issues/{{issue_number}}/labels"
        body: dict[str, Any] = {"message": "Validation Failed", "documentation_url": "https://d"}
        if errors is not None:
            body["errors"] = errors
        seen = Seen(method="POST", template=template, status=422, response_body=body)
        bad = Seen(
            method="POST",
            template=template,
            status=422,
            response_body=body | {"errors": [{"message": "no code"}]},
        )
        assert Validator().answer(seen) == []
        assert Validator().answer(bad) != []

    def test_a_server_error_may_be_a_page(self) -> None:
        html = {"Content-Type": "text/html"}
        assert Validator().answer(Seen(status=502, response_body={"error": "Server Error"})) == []
        assert Validator().answer(Seen(status=503, response_headers=html)) == []
        assert Validator().answer(Seen(status=500, response_body={})) != []
        assert Validator().answer(Seen(status=404, response_headers=html)) != []

    def test_a_missing_user_agent_is_refused_with_text(self) -> None:
        binary = {"Content-Type": "application/octet-stream"}
        assert Validator().answer(Seen(status=403, response_headers=binary)) == []

    @pytest.mark.parametrize("status", [204, 304])
    def test_an_answer_without_a_body_has_none(self, status: int) -> None:
        template = f"{REPO}/git/refs/{{ref}}" if status == 204 else REPO
        method = "DELETE" if status == 204 else "GET"
        bare = Seen(method=method, template=template, status=status)
        full = Seen(method=method, template=template, status=status, response_body={"a": 1})
        assert Validator().answer(bare) == []
        assert len(Validator().answer(full)) == 1

    def test_raw_content_is_text(self) -> None:
        raw = {
            "Content-Type": "application/vnd.github.raw+json; charset=utf-8",
            "X-GitHub-Media-Type": "github.v3; param=raw",
        }
        template = f"{REPO}/contents/{{path}}"
        text = Seen(template=template, response_headers=raw, response_body="kind: X\n")
        assert Validator().answer(text) == []
        assert Validator().answer(Seen(template=template, response_body="kind: X\n")) != []


class TestGraphql:
    def answer(self, **sent: Any) -> list[str]:
        mutation = "mutation M($input: ConvertPullRequestToDraftInput!) { x }"
        return Validator().answer(
            Seen(
                method="POST",
                template="/graphql",
                request_body={"query": mutation, "variables": {"input": sent}},
                response_body={"data": {}},
            )
        )

    def test_input_fields_are_described_ones(self) -> None:
        assert self.answer(pullRequestId="PR_1") == []
        assert "no such field" in self.answer(pullRequestId="PR_1", pull="1")[0]
        assert "a required field" in self.answer()[0]


def ping() -> dict[str, Any]:
    return {
        "zen": "Design for failure.",
        "hook_id": 1,
        "hook": {
            "active": True,
            "config": {},
            "created_at": "2026-01-02T03:04:05Z",
            "events": ["push"],
            "id": 1,
            "name": "web",
            "type": "App",
            "updated_at": "2026-01-02T03:04:05Z",
        },
    }


class TestWebhooks:
    def test_the_action_is_part_of_the_event(self) -> None:
        """Short-cut: check against any description of the event."""
        assert (
            "no such event and action" in Validator().payload("ping", ping() | {"action": "x"})[0]
        )
        assert "no such event and action" in Validator().payload("pull_request", {})[0]

    def test_finds_missing_wrong_and_invented(self) -> None:
        assert Validator().payload("ping", ping()) == []
        wrong = ping() | {"hook_id": "1", "invented_key": 1}
        del wrong["hook"]["active"]
        told = "\n".join(Validator().payload("ping", wrong))
        assert "'active' is a required property" in told
        assert "/hook_id: '1' is not of type 'integer'" in told
        assert "/invented_key: GitHub does not describe this key" in told


class Forge:
    """The part of a forge that a watch uses."""

    def __init__(self) -> None:
        self.observers: list[Callable[[Any], None]] = []
        self.webhook_observers: list[Callable[[str, Mapping[str, str], Any], None]] = []


class TestWatch:
    def test_fails_at_the_end_and_names_each_problem_once(self) -> None:
        forge = Forge()
        watch = Watch(Validator())
        watch.attach(forge)
        for _ in range(3):
            forge.observers[0](reaction(id=None))
        with pytest.raises(AssertionError, match=r"3x POST .*/id: None is not of type 'integer'"):
            watch.verify()

    def test_answers_of_ordered_faults_are_left_out(self) -> None:
        watch = Watch(Validator())
        watch.exchange(Seen(status=200, response_body={}, fault=True))
        assert watch.problems == {}

    def test_the_header_names_the_event(self) -> None:
        watch = Watch(Validator())
        watch.webhook("ping", {"X-GitHub-Event": "push"}, ping())
        watch.webhook("ping", {"x-github-event": "ping"}, ping())
        assert list(watch.problems) == ["webhook ping: the header X-GitHub-Event says 'push'"]

    def test_a_clean_block_passes(self) -> None:
        with watched(Forge()) as watch:
            assert watch.problems == {}


def test_the_report_counts_used_and_unused() -> None:
    validator = Validator()
    validator.answer(reaction())
    validator.payload("ping", ping())
    lines = report(validator.answers, validator.webhooks, validator)
    total = sum(len(methods.split()) for methods in OPERATIONS.values())
    assert lines[0] == f"operations used: 1 of {total}; answers validated: 1"
    assert f"  POST   {REACTIONS}  201x1" in lines
    assert f"  unused: GET {REPO}" in lines
    assert f"events used: 1 of {len(validator.events)}; webhooks validated: 1" in lines


def _recorded() -> Iterator[tuple[str, Seen]]:
    """Yield the recorded exchanges of kept operations, each with the verdict beside it."""
    spec = json.loads((GITHUB / "openapi.json").read_text(encoding="utf-8"))
    operations = {
        operation["operationId"]: (method, template)
        for template, methods in spec["paths"].items()
        for method, operation in methods.items()
    }
    for line in (GITHUB / "exchanges.jsonl").read_text(encoding="utf-8").splitlines():
        exchange = json.loads(line)
        method, template = operations.get(exchange["op"], ("", ""))
        if method not in OPERATIONS.get(template, "").split():
            continue
        request, response = exchange["request"], exchange["response"]
        yield (
            exchange.get("verdict", ""),
            Seen(
                method=method.upper(),
                path=request["path"],
                template=template,
                query={name: str(value) for name, value in (request["query"] or {}).items()},
                request_body=request.get("body"),
                status=response["status"],
                response_headers=response["headers"],
                response_body=response["body"],
            ),
        )


def _told(validator: Validator, seen: Seen, told: list[str]) -> None:
    told += validator.answer(seen)


@needs_recordings
def test_passes_what_github_was_recorded_to_send() -> None:
    """The recordings keep few request bodies; what is said of a missing one is left out."""
    validator, judged, spent = Validator(closed=False), Counter[str](), []
    for verdict, seen in _recorded():
        told: list[str] = []
        spent.append(lines(partial(_told, validator, seen, told), ("/tests/contract/",)))
        found = [line for line in told if "request body: missing" not in line]
        if verdict in ("valid", "no body"):
            judged[verdict] += 1
            assert found == []
        elif verdict == "old-shape":
            assert all("is a required property" in line or "schema" in line for line in found)
    assert judged["valid"] >= 60
    # Short-cut: a schema put together anew for each answer, 5,000 lines; 253 were measured.
    assert sorted(spent)[len(spent) // 2] < 800


def repaired(value: Any, key: str = "") -> Any:
    """Return an old payload with the fields that GitHub's description added since."""
    if isinstance(value, list):
        return [repaired(part, key) for part in value]
    if not isinstance(value, dict):
        if key in ("created_at", "updated_at") and not isinstance(value, str | None):
            return "2019-05-15T15:20:41Z"
        return value.replace(" ", "T") + "Z" if key.endswith("_at") and " " in str(value) else value
    old = {name: repaired(part, name) for name, part in value.items()}
    if "pushed_at" in value:  # a repository, whose times are numbers in a push
        old |= {name: value[name] for name in ("created_at", "pushed_at", "updated_at")}
        old = {"has_discussions": False, "disabled": False} | old
    if key == "check_run":
        old = {"node_id": "CR_1", "details_url": "https://forge.example/run"} | old
    if key == "verification":
        old.setdefault("verified_at", None)
    if key == "installation" and "account" in value:
        old.setdefault("app_slug", "app")
    if key == "app":
        old = {"permissions": {}, "events": []} | old
    return old


def _payloads() -> list[Path]:
    if not GITHUB.is_dir():
        return []
    return sorted(
        path
        for path in GITHUB.glob("webhook-examples/*/*.json")
        if path.stem.split(".")[0] in EVENTS.get(path.parent.name, "").split()
        or EVENTS.get(path.parent.name) == ""
    )


@needs_recordings
@pytest.mark.parametrize("path", _payloads(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_passes_real_webhooks_with_the_fields_added_since(path: Path) -> None:
    payload = json.loads(path.read_text(encoding="utf-8"))
    event = path.parent.name
    assert Validator(closed=False).payload(event, repaired(payload)) == []
    if "action" in payload:
        twisted = deepcopy(payload) | {"action": "exploded"}
        assert "no such event and action" in Validator().payload(event, twisted)[0]
    lost = without(payload, "sender")
    if "sender" in payload and event not in ("ping", "merge_group"):  # there it may be missing
        assert Validator().payload(event, lost) != []
