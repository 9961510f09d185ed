"""GraphQL is executed, not recognised: types, pages, edits, timelines, errors inside a 200."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from graphql import build_schema
from graphql.type import GraphQLInputObjectType, GraphQLInterfaceType, GraphQLObjectType

from bot.sandbox.github.graphql.execute import SCHEMA
from bot.sandbox.records.repository import Pull
from tests.bot.sandbox.conftest import Clock
from tests.bot.sandbox.world import World
from tests.contract.descriptions import FOLDER

Api = Callable[..., httpx.Response]


@pytest.fixture
def ask(world: World, api: Api) -> Callable[..., Any]:
    """Sends a query; answers the whole body of a 200."""

    def send(query: str, token: str | None = None, **variables: Any) -> Any:
        answer = api(
            "POST",
            f"{world.forge.web_url}/api/graphql",
            token or world.token("author"),
            json={"query": query, "variables": variables},
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    return send


def of_pull(fields: str) -> str:
    return (
        'query($number: Int = 1) { repository(owner: "owner", name: "catalog")'
        f" {{ pullRequest(number: $number) {{ {fields} }} }} }}"
    )


def pull_of(body: Any) -> Any:
    assert "errors" not in body, body
    return body["data"]["repository"]["pullRequest"]


def test_every_field_has_the_type_that_github_gives_it() -> None:
    """Short-cut: a schema of one's own, whose queries GitHub refuses."""
    ours = build_schema(SCHEMA.read_text(encoding="utf-8"))
    theirs = build_schema((FOLDER / "subset.graphql").read_text(encoding="utf-8"))
    kinds = (GraphQLObjectType, GraphQLInterfaceType, GraphQLInputObjectType)
    seen = 0
    for name, kind in ours.type_map.items():
        described = theirs.type_map.get(name)
        if not isinstance(kind, kinds) or not isinstance(described, kinds):
            continue
        for field, meant in described.fields.items():
            if field in kind.fields:
                seen += 1
                assert str(kind.fields[field].type) == str(meant.type), f"{name}.{field}"
                given = getattr(kind.fields[field], "args", {})
                for argument, wanted in getattr(meant, "args", {}).items():
                    if argument in given:
                        assert str(given[argument].type) == str(wanted.type), f"{name}.{field}"
    assert seen > 30


def test_aliases_fragments_and_variables_are_executed(
    world: World, pull: Pull, ask: Callable[..., Any]
) -> None:
    """Short-cut: look for the words of a field in the query's text."""
    query = """
    query($n: Int!, $no: Boolean!) {
      r: repository(owner: "owner", name: "catalog") {
        one: pullRequest(number: $n) { ...Some title @include(if: $no) again: number }
      }
    }
    fragment Some on PullRequest { number isDraft state merged baseRefOid author { login } }
    """
    assert ask(query, n=1, no=False)["data"] == {
        "r": {
            "one": {
                "number": 1,
                "isDraft": False,
                "state": "OPEN",
                "merged": False,
                "baseRefOid": pull.base_sha,
                "author": {"login": "author"},
                "again": 1,
            }
        }
    }
    wrong = ask("{ repository(owner: 1) { nothing } }")
    assert "data" not in wrong
    assert "Field 'nothing' doesn't exist on type 'Repository'" in [
        error["message"] for error in wrong["errors"]
    ]


def test_an_edit_within_the_second_shows(world: World, pull: Pull, ask: Callable[..., Any]) -> None:
    """Short-cut: compare `updated_at` with `created_at`, which are equal within a second."""
    with world.state.lock:
        talk, user = world.state.talk, world.state.user
        bot = world.state.app_user(world.app)
        first = talk.comment(pull, bot, "one")
        talk.comment(pull, user("author"), "two")
        talk.edit(first, user("owner"), "changed")
    fields = """comments(first: 5) { totalCount nodes {
        databaseId fullDatabaseId body lastEditedAt includesCreatedEdit viewerDidAuthor
        editor { login __typename }
        author { __typename login ... on Bot { databaseId } ... on User { databaseId } } } }"""
    found = pull_of(ask(of_pull(fields)))["comments"]
    edited, plain = found["nodes"]
    assert found["totalCount"] == 2
    assert edited["author"] == {"__typename": "Bot", "login": "porchbot", "databaseId": bot.id}
    assert edited["editor"] == {"login": "owner", "__typename": "User"}
    assert edited["fullDatabaseId"] == str(edited["databaseId"])
    assert edited["lastEditedAt"]
    assert edited["includesCreatedEdit"]
    assert (plain["lastEditedAt"], plain["editor"], plain["viewerDidAuthor"]) == (None, None, True)


def test_pages_go_on_at_the_cursor_and_have_bounds(
    world: World, pull: Pull, ask: Callable[..., Any]
) -> None:
    with world.state.lock:
        for number in range(5):
            world.state.talk.comment(pull, world.state.user("author"), str(number))
    fields = "comments(first: 2, after: %s) { pageInfo { hasNextPage endCursor } nodes { body } }"
    cursor, read = "null", []
    for _ in range(3):
        found = pull_of(ask(of_pull(fields % cursor)))["comments"]
        read += [node["body"] for node in found["nodes"]]
        cursor = f'"{found["pageInfo"]["endCursor"]}"'
    assert read == list("01234")
    assert not found["pageInfo"]["hasNextPage"]
    last = pull_of(ask(of_pull("comments(last: 2) { nodes { body } }")))["comments"]
    assert [node["body"] for node in last["nodes"]] == ["3", "4"]
    for arguments, kind in (
        ("", "MISSING_PAGINATION_BOUNDARIES"),
        ("(first: 101)", "EXCESSIVE_PAGINATION"),
        ('(first: 1, after: "?")', "INVALID_CURSOR_ARGUMENTS"),
    ):
        body = ask(of_pull(f"comments{arguments} {{ nodes {{ body }} }}"))
        assert [error["type"] for error in body["errors"]] == [kind]
    assert pull_of(ask(of_pull("comments { totalCount }")))["comments"] == {"totalCount": 5}


def test_the_timeline_tells_changes_of_base_and_head(
    world: World, pull: Pull, ask: Callable[..., Any], api: Api, clock: Clock
) -> None:
    """Short-cut: tell events by what stands now; a base that came back shows no change."""
    git = world.clone("author")
    git.run("push", "--quiet", "origin", "origin/main:refs/heads/release")
    git.run("checkout", "--quiet", "drafts/net")
    first = git.run("rev-parse", "HEAD").strip()
    git.run("commit", "--quiet", "--amend", "-m", "Again")
    git.run("push", "--quiet", "--force", "origin", "HEAD")
    second = git.run("rev-parse", "HEAD").strip()
    seen = world.repository("author").get_pull(1)
    for base in ("release", "main"):
        clock.move(seconds=1)
        seen.edit(base=base)
    seen.edit(title="Better")
    seen.convert_to_draft()
    seen.mark_ready_for_review()
    seen.edit(state="closed")
    seen.edit(state="open")
    kinds = (
        "BASE_REF_CHANGED_EVENT, HEAD_REF_FORCE_PUSHED_EVENT, CONVERT_TO_DRAFT_EVENT,"
        " READY_FOR_REVIEW_EVENT, CLOSED_EVENT, REOPENED_EVENT, MERGED_EVENT"
    )
    fields = f"""timelineItems(first: 50, itemTypes: [{kinds}]) {{ totalCount filteredCount nodes {{
      __typename
      ... on BaseRefChangedEvent {{ createdAt actor {{ login }} previousRefName currentRefName }}
      ... on HeadRefForcePushedEvent {{ beforeCommit {{ oid }} afterCommit {{ oid }} }} }} }}"""
    found = pull_of(ask(of_pull(fields)))["timelineItems"]
    assert [node["__typename"] for node in found["nodes"]] == [
        "HeadRefForcePushedEvent",
        "BaseRefChangedEvent",
        "BaseRefChangedEvent",
        "ConvertToDraftEvent",
        "ReadyForReviewEvent",
        "ClosedEvent",
        "ReopenedEvent",
    ]
    forced, away, back = found["nodes"][:3]
    assert (forced["beforeCommit"]["oid"], forced["afterCommit"]["oid"]) == (first, second)
    assert (away["previousRefName"], away["currentRefName"]) == ("main", "release")
    assert (back["previousRefName"], back["currentRefName"]) == ("release", "main")
    assert found["filteredCount"] == 7 < found["totalCount"]
    world.repository("approver").get_pull(1).merge()
    rest = api("GET", "/repos/owner/catalog/issues/1/timeline", world.token("author")).json()
    told = [entry["event"] for entry in rest]
    assert told.count("committed") == 1
    assert told[-2:] == ["merged", "closed"]
    assert {"base_ref_changed", "head_ref_force_pushed", "renamed", "convert_to_draft"} < set(told)


def test_errors_come_inside_a_200(world: World, pull: Pull, ask: Callable[..., Any]) -> None:
    """Short-cut: refuse with a status, which no client of GitHub's GraphQL looks at."""
    missing = ask(of_pull("id"), number=99)
    assert missing["data"] == {"repository": {"pullRequest": None}}
    assert missing["errors"][0]["type"] == "NOT_FOUND"
    assert missing["errors"][0]["path"] == ["repository", "pullRequest"]
    weak = world.installation_token(contents="read")
    assert ask(of_pull("id"), weak)["errors"][0]["type"] == "FORBIDDEN"
    world.repo.private = True
    hidden = ask(of_pull("id"), world.token("outsider"))
    assert hidden["data"] == {"repository": None}
    assert hidden["errors"][0]["message"] == (
        "Could not resolve to a Repository with the name 'owner/catalog'."
    )
    assert "message" in ask("{" * 3000)["errors"][0]
    for kind in ("RATE_LIMITED", "SOMETHING_WENT_WRONG"):
        world.forge.faults.fail_graphql(kind)
        assert "data" not in ask(of_pull("id"))
    assert pull_of(ask(of_pull("number"))) == {"number": 1}


def test_a_node_is_found_by_the_id_that_rest_gives(
    world: World, pull: Pull, ask: Callable[..., Any]
) -> None:
    with world.state.lock:
        world.state.talk.comment(pull, world.state.user("author"), "here")
    comment = world.repository("author").get_issue(1).get_comments()[0]
    query = "query($id: ID!) { node(id: $id) { id __typename ... on IssueComment { body } } }"
    assert ask(query, id=comment.raw_data["node_id"])["data"]["node"]["body"] == "here"
    for wrong in ("", "IC_kwDO", "IC_kwDO!!!", "PR_kwDOAAAAAAAAAAE", "x" * 5000):
        assert ask(query, id=wrong)["errors"][0]["type"] == "NOT_FOUND"
