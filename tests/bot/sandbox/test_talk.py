"""Comments, reactions and labels, through PyGithub."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

import httpx
import pytest
from github import GithubException, UnknownObjectException

from bot.sandbox.records.repository import Pull
from tests.bot.sandbox.world import World, refused

Api = Callable[..., httpx.Response]
ISSUE = "/repos/owner/catalog/issues/1"


def test_a_comment_on_a_pull_request_is_an_issue_comment(world: World, pull: Pull) -> None:
    """Fails on a payload that carries the head: GitHub's does not, one has to fetch it."""
    made = world.repository("outsider").get_pull(1).create_issue_comment("/approve")
    hook = world.hooks()[-1]
    assert hook.name == "issue_comment.created"
    assert hook.payload["comment"]["id"] == made.id
    assert hook.payload["issue"]["number"] == pull.number
    assert "pull_request" in hook.payload["issue"]
    assert pull.head_sha not in hook.body.decode()
    assert hook.payload["sender"]["login"] == "outsider"


def test_an_edit_is_told_and_shows_when_it_was(world: World, pull: Pull) -> None:
    comment = world.repository("author").get_pull(1).create_issue_comment("One")
    comment.edit("Two")
    hook = world.hooks()[-1]
    assert (hook.name, hook.payload["changes"]) == (
        "issue_comment.edited",
        {"body": {"from": "One"}},
    )
    assert pull.comments[0].body == "Two"
    with pytest.raises(GithubException):
        world.repository("outsider").get_issue(1).get_comment(comment.id).edit("Mine")
    comment.delete()
    assert world.hooks()[-1].name == "issue_comment.deleted"
    with pytest.raises(UnknownObjectException):
        world.repository("author").get_issue(1).get_comment(comment.id)


def test_comments_are_paged_and_told_since(world: World, pull: Pull, api: Api) -> None:
    with world.state.lock:
        for number in range(5):
            world.state.talk.comment(pull, pull.user, f"Comment {number}")
        old = pull.comments[0]
        old.updated_at = datetime.now(UTC) - timedelta(days=1)
    issue = world.repository("author").get_issue(1)
    assert [c.body for c in issue.get_comments()] == [f"Comment {n}" for n in range(5)]
    since = datetime.now(UTC) - timedelta(hours=1)
    assert len(list(issue.get_comments(since=since))) == 4
    page = api("GET", f"{ISSUE}/comments", world.token("author"), params={"per_page": 2, "page": 2})
    assert [c["body"] for c in page.json()] == ["Comment 2", "Comment 3"]
    assert len(list(world.repository("author").get_issues_comments(since=since))) == 4


@pytest.mark.usefixtures("pull")
def test_reactions_are_there_once(world: World) -> None:
    """Fails on a forge that adds a second one: GitHub answers 200 with the first."""
    comment = world.repository("author").get_pull(1).create_issue_comment("Hi")
    bot = world.bot().get_issue(1).get_comment(comment.id)
    first = bot.create_reaction("eyes")
    assert bot.create_reaction("eyes").id == first.id
    bot.create_reaction("+1")
    assert [(r.content, r.user.login) for r in bot.get_reactions()] == [
        ("eyes", "porchbot[bot]"),
        ("+1", "porchbot[bot]"),
    ]
    read = world.repository("author").get_issue(1).get_comment(comment.id)
    assert read.reactions["eyes"] == 1
    assert bot.delete_reaction(first.id)
    assert [r.content for r in bot.get_reactions()] == ["+1"]
    with pytest.raises(GithubException):
        bot.create_reaction("smile")
    world.repository("author").get_issue(1).create_reaction("rocket")
    assert [r.content for r in world.repository("author").get_issue(1).get_reactions()] == [
        "rocket"
    ]


def test_labels(world: World, pull: Pull, api: Api) -> None:
    seen = world.repository("approver")
    seen.create_label("proposed", "00ff00", "It waits")
    assert seen.get_label("Proposed").description == "It waits"
    with pytest.raises(GithubException) as caught:
        seen.create_label("PROPOSED", "00ff00")
    assert caught.value.data["errors"][0]["code"] == "already_exists"
    issue = seen.get_issue(1)
    token = world.token("approver")
    api("POST", f"{ISSUE}/labels", token, json={"labels": ["proposed", "new one"]})
    issue.remove_from_labels("proposed")
    assert [label.name for label in seen.get_issue(1).labels] == ["new one"]
    api("PUT", f"{ISSUE}/labels", token, json={"labels": ["proposed"]})
    assert [label.name for label in pull.labels] == ["proposed"]
    names = [h.name for h in world.hooks() if "label" in h.name]
    assert names == ["pull_request.labeled"] * 2 + ["pull_request.unlabeled"] * 2 + [
        "pull_request.labeled"
    ]
    missing = api("DELETE", f"{ISSUE}/labels/absent", token)
    assert (missing.status_code, missing.json()["message"]) == (404, "Label does not exist")
    assert len(list(seen.get_labels())) == 2
    assert [label.name for label in issue.get_labels()] == ["proposed"]
    issue.delete_labels()
    assert pull.labels == []


def test_labels_come_as_a_bare_list_too(world: World, pull: Pull) -> None:
    """PyGithub sends one, which GitHub takes and does not describe."""
    world.forge.observers.clear()
    issue = world.repository("approver").get_issue(1)
    issue.add_to_labels("a", "b")
    issue.set_labels("b", "c")
    assert [label.name for label in pull.labels] == ["b", "c"]


@pytest.mark.usefixtures("pull")
def test_who_may_not_write_labels_is_told_so(world: World) -> None:
    world.forge.observers.clear()
    with pytest.raises(GithubException) as caught:
        world.repository("outsider").get_issue(1).add_to_labels("x")
    assert caught.value.status == 403


def test_an_issue_is_talked_in_like_a_pull_request(world: World, pull: Pull) -> None:
    """Short-cut: let comments belong to pull requests, and know no others."""
    (installation,) = world.state.data.installations.values()
    installation.events = (*installation.events, "issues")
    author = world.repository("author")
    made = author.create_issue("Odd", body="why", labels=["bug"], assignee="author")
    assert made.number == pull.number + 1
    assert [label.name for label in made.labels] == ["bug"]
    comment = made.create_comment("/approve")
    hook = world.hooks()[-1]
    assert (hook.name, "pull_request" in hook.payload["issue"]) == ("issue_comment.created", False)
    comment.create_reaction("eyes")
    assert refused(lambda: author.get_pull(made.number))[0] == 404
    assert [i.number for i in author.get_issues()] == [made.number, pull.number]
    made.edit(state="closed", state_reason="not_planned")
    assert [i.number for i in author.get_issues()] == [pull.number]
    assert author.get_issue(made.number).state_reason == "not_planned"
    made.lock("off-topic")
    for repository in (world.repository("outsider"), world.bot()):
        assert refused(partial(repository.get_issue(2).create_comment, "x")) == (
            403,
            "Unable to create comment because issue is locked.",
        )
    names = [h.name for h in world.hooks() if h.name.startswith("issues.")]
    assert names == [
        "issues.opened",
        "issues.labeled",
        "issues.assigned",
        "issues.closed",
        "issues.locked",
    ]


def test_people_are_assigned_and_asked(world: World, pull: Pull) -> None:
    owner = world.repository("owner")
    seen = owner.get_pull(1)
    seen.add_to_assignees("author", "approver", "outsider", "nobody")
    assert [who.login for who in owner.get_pull(1).assignees] == ["author", "approver"]
    seen.remove_from_assignees("approver")
    seen.create_review_request(["approver"])
    assert refused(lambda: seen.create_review_request(["author"]))[0] == 422
    assert [who.login for who in owner.get_pull(1).requested_reviewers] == ["approver"]
    world.repository("approver").get_pull(1).create_review(event="APPROVE")
    assert owner.get_pull(1).requested_reviewers == []
    assert [h.name for h in world.hooks()][-4:] == [
        "pull_request.assigned",
        "pull_request.unassigned",
        "pull_request.review_requested",
        "pull_request_review.submitted",
    ]


def test_a_blank_comment_and_one_too_long_are_refused(world: World, pull: Pull, api: Api) -> None:
    token = world.token("author")
    for body in ("  ", "x" * 65_537):
        answer = api("POST", f"{ISSUE}/comments", token, json={"body": body})
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"] == "body"
    assert pull.comments == []


def test_an_issue_can_be_edited_like_its_pull_request(world: World, pull: Pull) -> None:
    issue = world.repository("author").get_issue(1)
    assert issue.pull_request is not None
    issue.edit(title="Renamed", labels=["a"])
    assert (pull.title, [label.name for label in pull.labels]) == ("Renamed", ["a"])
