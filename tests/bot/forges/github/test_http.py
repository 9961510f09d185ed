"""What an answer of GitHub means: its status and text decide, not what the client makes of it.

Longer than 400 lines: the answers of one client, and what each means.
"""

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from bot.forges.github import merging
from bot.forges.github.checks import _check, _required
from bot.forges.github.forge import GitHub
from bot.forges.github.http import Clients, graphql, pages, send
from bot.forges.github.user import UserClients
from bot.forges.marks import external, spelled
from bot.forges.port import (
    MERGED,
    UNREAD,
    AnnotatedTag,
    BotIdentity,
    ForgeBusyError,
    ForgeMissingError,
    ForgeRefusedError,
    ForgeRenamedError,
    MergeResult,
    Repository,
    Tagged,
    TagOutcome,
)
from lifecycle.facts.checks import CheckState, Conclusion, Status
from lifecycle.facts.merging import MergeObstacle
from lifecycle.names import Sha
from tests.ids import on_github


@dataclass
class Wire:
    """A server that gives one answer after the other, the last one for ever.

    What is asked side by side has answers of its own, by how its path ends.
    """

    answers: list[tuple[int, dict[str, str], str]] = field(default_factory=list)
    at: dict[str, object] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    pool: Clients = field(init=False)

    def gives(self, status: int, body: object, **headers: str) -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        self.answers.append((status, headers, text))


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire = Wire()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            wire.bodies.append(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
            wire.asked.append(f"{self.command} {self.path}")
            status, headers, text = wire.answers[0]
            end = self.path.partition("?")[0].rpartition("/")[2]
            if end in wire.at:
                text = json.dumps(wire.at[end])
            elif len(wire.answers) > 1:
                wire.answers.pop(0)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_PUT = do_POST = do_PATCH = answer  # noqa: N815 (the names that http.server looks for)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (its own name)
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    wire.pool = Clients(f"http://127.0.0.1:{server.server_port}/api/v3", lambda: None)
    yield wire
    wire.pool.close()
    server.shutdown()
    thread.join()
    server.server_close()


ANSWERS: dict[str, tuple[int, object, type[Exception], str]] = {
    "a redirect of a write is no success": (307, {"message": "Moved"}, ForgeMissingError, "307"),
    "any other redirect is none either": (302, {}, ForgeMissingError, "302"),
    "success in HTML is none": (200, "<html>Unicorn!</html>", ForgeBusyError, "no JSON"),
    "success cut short is none": (200, '{"merged": tr', ForgeBusyError, "no JSON"),
    "a proxy's page of an error is that error": (502, "<html>", ForgeBusyError, "502"),
    "the IP allow list is for an operator": (
        403,
        {"message": "the organization has an IP allow list enabled"},
        ForgeRefusedError,
        "IP allow list",
    ),
}


@pytest.mark.parametrize(("status", "body", "error", "text"), ANSWERS.values(), ids=ANSWERS)
def test_answers_that_are_no_success(
    wire: Wire, status: int, body: object, error: type[Exception], text: str
) -> None:
    """Fails when the client's own idea of success is taken: it lets 307 and text that is no JSON
    pass."""
    wire.gives(status, body)

    with pytest.raises(error, match=text) as raised:
        send(wire.pool, "comment", "POST", "/x", body={})

    assert type(raised.value) is error


MERGES: dict[str, tuple[int, object, MergeResult | type[Exception]]] = {
    "merged": (200, {"merged": True, "sha": "1"}, MERGED),
    "a redirect merged nothing": (307, {"message": "Moved Permanently"}, ForgeMissingError),
    "a page of HTML says nothing": (200, "<html></html>", ForgeBusyError),
    "a success that does not say merged": (200, {}, ForgeBusyError),
    "accepted, and not yet done": (202, {"message": "queued"}, ForgeBusyError),
    "the head moved": (
        409,
        {"message": "Head branch was modified."},
        MergeResult(MergeObstacle.HEAD_MOVED, "Head branch was modified."),
    ),
    "refused": (
        405,
        {"message": "Required status check is expected."},
        MergeResult(MergeObstacle.CHECK, "Required status check is expected."),
    ),
}


@pytest.mark.parametrize(("status", "body", "expected"), MERGES.values(), ids=MERGES)
def test_a_merge_is_one_only_where_the_answer_says_so(
    wire: Wire, status: int, body: object, expected: MergeResult | type[Exception]
) -> None:
    """Fails when every status under 400 counts as merged."""
    wire.gives(status, body)

    if isinstance(expected, MergeResult):
        assert merging.merge(wire.pool, "/repositories/1/pulls/2/merge", {}) == expected
    else:
        with pytest.raises(expected, match="merge"):
            merging.merge(wire.pool, "/repositories/1/pulls/2/merge", {})


async def test_a_list_that_shows_a_page_again_has_ended(wire: Wire) -> None:
    """Fails when the pager trusts `next`: a redirect that lost the page number never ends."""
    wire.gives(200, [{"id": 1}], Link='<https://x/?page=2>; rel="next"')

    found = [item async for item in pages(wire.pool, "list", "/x")]

    assert found == [{"id": 1}]
    assert len(wire.asked) == 2


def _moved(ref: str, after: str) -> dict[str, object]:
    time, kind = "2026-11-21T12:00:00Z", "push"
    ends = {"before": "0" * 40, "after": after}
    return {"ref": ref, "actor": None, "timestamp": time, "activity_type": kind, **ends}


async def test_moves_are_those_of_the_branch_whatever_the_forge_lists(wire: Wire) -> None:
    """Fails when the list is believed to be filtered: a move of `refs/heads/main` is not main's."""
    names = ("refs/heads/main", "refs/heads/refs/heads/main", "refs/tags/main", "refs/heads/Main")
    wire.gives(200, [_moved(ref, str(n) * 40) for n, ref in enumerate(names, 1)])
    forge = GitHub(UserClients("https://forge.example", "token"), REPOSITORY, wire.pool)

    long_ago = datetime(2026, 1, 1, tzinfo=UTC)
    assert [m.after for m in await forge.base_moves("main", long_ago)] == ["1" * 40]
    assert [m.after for m in await forge.pushes("main", 1)] == ["1" * 40]


async def test_an_issue_of_somebody_else_is_not_the_bots_whatever_the_forge_lists(
    wire: Wire,
) -> None:
    """The short-cut trusts the filter: a copied record makes anybody's issue the dashboard."""
    users = [{"id": number, "login": "robot", "type": "User"} for number in (7, 8)]
    issue = {"title": "t", "body": "b", "state": "open", "repository_url": REPOSITORY_URL}
    wire.gives(200, [issue | {"number": n, "user": user} for n, user in enumerate(users, 1)])
    user = UserClients("https://forge.example", "token")
    user.machine = BotIdentity("robot", "robot@example.com", 7)
    forge = GitHub(user, REPOSITORY, wire.pool)

    assert [issue.number for issue in await forge.own_issues()] == [1]


async def test_issues_that_a_token_may_not_read_are_unknown_not_none(wire: Wire) -> None:
    """The short-cut asks for the permissions of an App: a freeze of a machine user is lifted."""
    wire.gives(403, {"message": "Resource not accessible by personal access token"})
    user = UserClients("https://forge.example", "token")
    user.machine = BotIdentity("robot", "robot@example.com", 7)
    forge = GitHub(user, REPOSITORY, wire.pool)

    with pytest.raises(ForgeRefusedError, match="not accessible by personal access token"):
        await forge.own_issues()


GRAPHQL: dict[str, tuple[object, type[Exception]]] = {
    "a rate limit": (
        {"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]},
        ForgeBusyError,
    ),
    "an error of GitHub's own": (
        {"data": None, "errors": [{"message": "Something went wrong while executing your query."}]},
        ForgeBusyError,
    ),
    "data beside an error is not whole": (
        {"data": {"a": 1}, "errors": [{"type": "FORBIDDEN", "message": "not accessible"}]},
        ForgeRefusedError,
    ),
    "what was named is gone": (
        {"data": None, "errors": [{"type": "NOT_FOUND", "message": "Could not resolve"}]},
        ForgeMissingError,
    ),
    "no data at all": ({}, ForgeBusyError),
    "errors that are no list": ({"errors": "?"}, ForgeRefusedError),
}


@pytest.mark.parametrize(("body", "error"), GRAPHQL.values(), ids=GRAPHQL)
def test_errors_of_graphql_come_with_200(wire: Wire, body: object, error: type[Exception]) -> None:
    """Fails when the status alone tells, or when every error of GraphQL is a refusal."""
    wire.gives(200, body)

    with pytest.raises(error, match="The forge") as raised:
        graphql(wire.pool, "ask", "query { a }", {})

    assert type(raised.value) is error


def test_data_of_graphql(wire: Wire) -> None:
    wire.gives(200, {"data": {"a": 1}})

    assert graphql(wire.pool, "ask", "query { a }", {}) == {"a": 1}


def test_names_of_files_that_are_no_text_are_sent_as_text(wire: Wire) -> None:
    """Fails when half characters go out: the forge refuses the check, and nothing is ever shown."""
    wire.gives(200, {})
    name = b"net/core/\xff\xfe.yaml".decode("utf-8", "surrogateescape")

    send(wire.pool, "test", "POST", "/x", body={"a": [{"path": name}], "n": 1, "ok": "é"})

    assert json.loads(wire.bodies[-1]) == {"a": [{"path": "net/core/??.yaml"}], "n": 1, "ok": "é"}


WHEN = datetime(2026, 11, 21, 12, tzinfo=UTC)
REPOSITORY = Repository(
    id=on_github(1),
    full_name="acme/blueprints",
    default_branch="main",
    clone_url="",
    installation=3,
    installed_at=WHEN,
)
REPOSITORY_URL = "https://forge.example/repos/acme/blueprints"
TAG = AnnotatedTag(
    name="net/core/v1",
    target=Sha("c" * 40),
    message="net/core v1\nPorchbot-Tag: x\n",
    tagger=("porchbot[bot]", "bot@forge.example"),
    at=WHEN,
    object=Sha("a" * 40),
)
TAGS_MADE: dict[str, tuple[int, str, Tagged | type[Exception]]] = {
    "made": (201, "", Tagged(TagOutcome.MADE)),
    "there already": (
        422,
        "Reference already exists",
        Tagged(TagOutcome.TAKEN, "Reference already exists"),
    ),
    "locked": (409, "was modified", Tagged(TagOutcome.TAKEN, "was modified")),
    "a rule": (
        422,
        "Repository rule violations found",
        Tagged(TagOutcome.REFUSED, "Repository rule violations found"),
    ),
    "not shown yet": (422, "Object does not exist", ForgeBusyError),
    "forbidden": (403, "Resource not accessible by integration", ForgeRefusedError),
    "broken": (502, "", ForgeBusyError),
}


@pytest.mark.parametrize("name", TAGS_MADE)
async def test_a_tag_is_made_or_who_must_act_is_told(wire: Wire, name: str) -> None:
    """The short-cut takes every 422 for a tag that is there: nobody learns of the rule."""
    status, message, expected = TAGS_MADE[name]
    wire.gives(201, {"sha": TAG.object})
    wire.gives(status, {"message": message} if message else {})
    forge = GitHub(UserClients("https://forge.example", "token"), REPOSITORY, wire.pool)

    if isinstance(expected, Tagged):
        assert await forge.make_tag(TAG) == expected
    else:
        with pytest.raises(expected):
            await forge.make_tag(TAG)
    said = json.loads(wire.bodies[0])
    assert (said["message"], said["object"]) == (TAG.message, TAG.target)
    assert said["tagger"]["date"] == "2026-11-21T12:00:00Z"
    assert json.loads(wire.bodies[1]) == {"ref": "refs/tags/net/core/v1", "sha": TAG.object}


async def test_a_tag_that_the_forge_writes_otherwise_is_not_made(wire: Wire) -> None:
    """The short-cut points the tag at whatever came back: a message that changed has no record."""
    wire.gives(201, {"sha": "b" * 40})
    forge = GitHub(UserClients("https://forge.example", "token"), REPOSITORY, wire.pool)

    assert (await forge.make_tag(TAG)).outcome is TagOutcome.OTHERWISE
    assert wire.asked == ["POST /api/v3/repositories/1/git/tags"]


@pytest.mark.parametrize(
    ("kind", "latest", "told"),
    [
        ({"prerelease": True}, None, True),
        ({"draft": True}, None, True),
        ({}, (200, {"id": 5}), False),
        ({}, (200, {"id": 6}), True),
        ({}, (404, {"message": "Not Found"}), True),
    ],
    ids=["before others", "draft", "the latest", "another is", "none is"],
)
@pytest.mark.parametrize("off", [False, True])
async def test_a_mark_changes_nothing_else_of_a_release(
    wire: Wire, kind: dict[str, bool], latest: tuple[int, object] | None, told: bool, off: bool
) -> None:
    """Short-cuts refused: what people made a prerelease becomes a full one, and the reverse; the
    latest release loses that, or what was changed becomes it.
    """
    title = "The catalog (deprecated)" if off else "The catalog"
    found = {"id": 5, "tag_name": "a/v1", "name": title, "body": "N" if off else ""}
    wire.gives(200, {"prerelease": False, "draft": False, **found, **kind})
    if latest is not None:
        wire.gives(*latest)
    wire.gives(200, {})
    forge = GitHub(UserClients("https://forge.example", "token"), REPOSITORY, wire.pool)

    await forge.mark_release("a/v1", "deprecated", "N", off=off)

    assert wire.asked[-1] == "PATCH /api/v3/repositories/1/releases/5"
    assert json.loads(wire.bodies[-1]) == {
        "name": "The catalog" if off else "The catalog (deprecated)",
        "body": "" if off else "N",
        **({"make_latest": "false"} if told else {}),
    }


async def test_merged_pull_requests_are_listed_until_they_are_old(wire: Wire) -> None:
    """The short-cut reads one page: after a long absence the merges behind it are never tagged."""

    def listed(*hours: int) -> list[dict[str, Any]]:
        return [
            {
                "number": hour,
                "node_id": "",
                "title": "t",
                "user": None,
                "draft": False,
                "state": "closed",
                "head": {"sha": "a" * 40, "ref": "topic", "repo": None},
                "base": {"ref": "main", "repo": {"private": False, "full_name": "acme/blueprints"}},
                "merge_commit_sha": "b" * 40,
                "merged_at": f"2026-11-21T{hour:02}:00:00Z" if hour % 2 else None,
                "updated_at": f"2026-11-21T{hour:02}:00:00Z",
                "assignees": [],
            }
            for hour in hours
        ]

    wire.gives(200, listed(9, 8), Link='<https://x/>; rel="next"')
    wire.gives(200, listed(7, 6), Link='<https://x/>; rel="next"')
    wire.gives(200, listed(5, 4, 3), Link='<https://x/>; rel="next"')
    wire.gives(500, {})
    forge = GitHub(UserClients("https://forge.example", "token"), REPOSITORY, wire.pool)

    found = await forge.merged_proposals("main", datetime(2026, 11, 21, 5, tzinfo=UTC))
    assert [p.number for p in found] == [9, 7, 5]
    assert len(wire.asked) == 3


CONCLUSIONS = {
    ("queued", None): (Status.IN_PROGRESS, None),
    ("in_progress", None): (Status.IN_PROGRESS, None),
    ("completed", "success"): (Status.COMPLETED, Conclusion.SUCCESS),
    ("completed", "neutral"): (Status.COMPLETED, Conclusion.SUCCESS),
    ("completed", "skipped"): (Status.COMPLETED, Conclusion.SUCCESS),
    ("completed", "timed_out"): (Status.COMPLETED, Conclusion.FAILURE),
    ("completed", "action_required"): (Status.COMPLETED, Conclusion.FAILURE),
}


@pytest.mark.parametrize("who", ["", "staging", "production"])
@pytest.mark.parametrize("made_by", ["", "staging", "production"])
@pytest.mark.parametrize("app", [7, 8])
def test_of_two_bots_of_one_app_each_has_its_own_check_runs(
    who: str, made_by: str, app: int
) -> None:
    """Short-cut refused: the App's number alone; each bot then takes the other's for its own."""
    data = {
        "id": 1,
        "name": spelled("porchbot/publish", made_by),
        "status": "completed",
        "conclusion": "success",
        "external_id": external("d1.m1", made_by),
        "completed_at": None,
        "app": {"id": app, "slug": "porchbot"},
    }

    run = _check(data, 7, who)

    ours = app == 7 and who == made_by
    name = "porchbot/publish" if ours else spelled("porchbot/publish", made_by)
    assert (run.name, run.digest, run.ours) == (name, "d1.m1", ours)
    # What only observed says of nothing that it holds: a queue would take it for ready.
    neutral = _check(data | {"conclusion": "neutral"}, 7, who).conclusion
    assert neutral is (Conclusion.NEUTRAL if ours else Conclusion.SUCCESS)
    # Who puts its name into the run of another bot has not made that one's.
    assert not _check(data | {"external_id": "x:d1"}, 7, who).ours


@pytest.mark.parametrize(
    ("name", "app", "who", "wanted"),
    [
        ("porchbot/publish", 7, "", ("porchbot/publish", True)),
        ("porchbot/publish", None, "", ("porchbot/publish", True)),
        ("porchbot/publish", 8, "", ("porchbot/publish", False)),
        ("porchbot/publish (staging)", 7, "staging", ("porchbot/publish", True)),
        ("porchbot/publish (staging)", 7, "", ("porchbot/publish (staging)", False)),
        ("porchbot/publish", 7, "staging", ("porchbot/publish", False)),
        ("porchbot/publish (staging)", 8, "staging", ("porchbot/publish (staging)", False)),
        ("ci", None, "staging", ("ci", True)),
    ],
)
def test_a_branch_requires_the_check_of_one_bot(
    name: str, app: int | None, who: str, wanted: tuple[str, bool]
) -> None:
    """Short-cut refused: one name for both. What the branch requires is then whoever spoke last."""
    found = _required(name, app, 7, who)

    assert (found.name, found.ours) == wanted


@pytest.mark.parametrize("told", CONCLUSIONS)
def test_a_check_counts_as_the_forge_counts_it(told: tuple[str, str | None]) -> None:
    """The short-cut takes all but success for failure: a skipped check then blocks for ever."""
    data = {
        "id": 1,
        "name": "scan",
        "status": told[0],
        "conclusion": told[1],
        "external_id": None,
        "completed_at": None,
        "app": None,
    }

    run = _check(data, 7, "")
    assert (run.status, run.conclusion) == CONCLUSIONS[told]


@pytest.mark.parametrize("flooded", [0, 1, 300])
def test_a_flood_of_statuses_hides_no_failure(wire: Wire, flooded: int) -> None:
    """The short-cut reads the newest 300 and takes what is not there for never put: whoever may
    put statuses then hides the failure of a scan behind as many of another context.
    """
    status = {"state": "success", "creator": {"login": "eve"}}
    more = {"link": '<https://forge.example/next>; rel="next"'}
    for page in range(3):
        wire.gives(200, [status | {"context": f"{page}/{i}"} for i in range(100)], **more)
    others = [{"context": f"x{i}", "state": "success"} for i in range(flooded)]
    for at in range(0, max(flooded, 1), 100):
        scan = [{"context": "scan", "state": "failure"}] if at + 100 >= flooded else []
        end = {} if at + 100 >= flooded else more
        wire.gives(200, {"statuses": [*others[at : at + 100], *scan]}, **end)
    forge = GitHub(UserClients("https://forge.example", "token"), REPOSITORY, wire.pool)

    found = asyncio.run(forge.statuses_by(Sha("a" * 40)))

    unread = {context for context, app in found if app == UNREAD}
    assert ("scan" in unread) or unread == {UNREAD}
    assert {found[context, UNREAD] for context in unread} == {CheckState.UNKNOWN}


async def test_what_another_repository_says_is_not_what_this_one_says(wire: Wire) -> None:
    """The short-cut follows wherever a name or a number leads by now. Somebody transfers the
    dashboard issue: the bot overwrites whatever has the number here that it has there."""
    user = {"id": 7, "login": "robot", "type": "User"}
    issue = {"number": 1, "title": "t", "body": "b", "state": "open", "user": user}
    elsewhere = issue | {"repository_url": REPOSITORY_URL.replace("blueprints", "other")}
    other = {"data": {"repository": {"databaseId": 2, "issue": None, "mergeQueue": None}}}
    identity = UserClients("https://forge.example", "token")
    identity.machine = BotIdentity("robot", "robot@example.com", 7)
    forge = GitHub(identity, REPOSITORY, wire.pool)

    def says(told: object) -> None:
        wire.answers.clear()
        wire.gives(200, told)

    says(elsewhere)
    with pytest.raises(ForgeMissingError):
        await forge.issue(5)
    says([elsewhere])
    with pytest.raises(ForgeRenamedError):
        await forge.own_issues()
    says(other)
    with pytest.raises(ForgeRenamedError):
        await forge.issue_edits(1, WHEN)
    with pytest.raises(ForgeRenamedError):
        await forge.merge_queue("main")
    pull = {"base": {"ref": "main", "repo": {"full_name": "acme/other"}}}
    wire.at = {"main": [], "1": pull}
    with pytest.raises(ForgeRenamedError):
        await forge.merge_way(1, "main")
