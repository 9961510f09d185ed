"""What GitHub's own command line asks over GraphQL; `gh` 2.23 and 2.63 were run against it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from bot.sandbox.records.repository import Pull
from tests.bot.sandbox.world import World

Api = Callable[..., httpx.Response]
Ask = Callable[..., Any]

VIEW = """
query($owner: String!, $repo: String!, $number: Int!) {
  repository(owner: $owner, name: $repo) {
    pullRequest(number: $number) {
      url number title state body author { login ... on User { id name } }
      autoMergeRequest { authorEmail commitBody commitHeadline mergeMethod enabledAt
        enabledBy { login ... on User { id name } } }
      isDraft maintainerCanModify mergeable additions deletions
      commitsCount: commits { totalCount }
      baseRefName headRefName headRepositoryOwner { id login ... on User { name } }
      reviewRequests(first: 100) { nodes { requestedReviewer {
        __typename ... on User { login } ... on Team { organization { login } name slug } } } }
      reviews(first: 100) { nodes { id author { login } authorAssociation submittedAt body state
        commit { oid } reactionGroups { content users { totalCount } } }
        pageInfo { hasNextPage endCursor } totalCount }
      assignees(first: 100) { nodes { id login name } totalCount }
      labels(first: 100) { nodes { id name description color } totalCount }
      projectCards(first: 100) { nodes { project { name } column { name } } totalCount }
      milestone { number title description dueOn }
      comments(last: 1) { nodes { author { login } authorAssociation body createdAt
        includesCreatedEdit isMinimized minimizedReason
        reactionGroups { content users { totalCount } } viewerDidAuthor } totalCount }
      reactionGroups { content users { totalCount } }
      files(first: 100) { nodes { additions deletions path } }
      baseRef { branchProtectionRule { requiresStrictStatusChecks requiredApprovingReviewCount } }
      reviewDecision
      latestReviews(first: 100) { nodes { author { login } authorAssociation state } }
      statusCheckRollup: commits(last: 1) { nodes { commit { statusCheckRollup {
        state
        contexts(first: 100) { nodes { __typename
          ... on StatusContext { context state targetUrl createdAt description
            isRequired(pullRequestNumber: 1) }
          ... on CheckRun { name checkSuite { workflowRun { workflow { name } } } status
            conclusion startedAt completedAt detailsUrl isRequired(pullRequestNumber: 1) }
        } pageInfo { hasNextPage endCursor } } } } } }
    }
  }
}
"""
ISSUES = """
query($owner: String!, $repo: String!, $assignee: String) {
  repository(owner: $owner, name: $repo) {
    hasIssuesEnabled
    issues(first: 30, orderBy: {field: CREATED_AT, direction: DESC}, states: OPEN,
           filterBy: {assignee: $assignee}) {
      totalCount nodes { number title url state updatedAt labels(first: 1) { nodes { name } } }
      pageInfo { hasNextPage endCursor } }
  }
}
"""
EITHER = """
query($owner: String!, $repo: String!, $number: Int!) {
  repository(owner: $owner, name: $repo) {
    issueOrPullRequest(number: $number) {
      __typename ... on Issue { number state stateReason title } ... on PullRequest { number state }
    }
  }
}
"""
SEARCH = """
query($q: String!) { search(query: $q, type: ISSUE, first: 10) { totalCount: issueCount
  edges { node { ... on PullRequest { number } ... on Issue { number } } } } }
"""


@pytest.fixture
def ask(world: World, api: Api) -> Ask:
    """Sends a query about the repository; answers the data."""

    def send(query: str, **variables: Any) -> Any:
        answer = api(
            "POST",
            f"{world.forge.web_url}/api/graphql",
            world.token("author"),
            json={"query": query, "variables": {"owner": "owner", "repo": "catalog", **variables}},
        ).json()
        assert "errors" not in answer, answer
        return answer["data"]

    return send


def test_a_pull_request_is_told_with_people_files_and_checks(
    world: World, pull: Pull, ask: Ask
) -> None:
    """Short-cut: answer empty lists, so that `gh pr checks` says "no checks" of a failing head."""
    repo = world.repository("approver")
    seen = repo.get_pull(1)
    repo.create_label("urgent", "ff0000")
    repo.get_issue(1).edit(labels=["urgent"], assignees=["author"])
    seen.create_review(event="APPROVE", body="fine")
    world.repository("owner").get_commit(pull.head_sha).create_status(
        "failure", context="ci/x", description="broken"
    )
    found = ask(VIEW, number=1)["repository"]["pullRequest"]

    assert (found["state"], found["author"]["login"]) == ("OPEN", "author")
    assert [n["name"] for n in found["labels"]["nodes"]] == ["urgent"]
    assert [n["login"] for n in found["assignees"]["nodes"]] == ["author"]
    assert [(n["author"]["login"], n["state"]) for n in found["latestReviews"]["nodes"]] == [
        ("approver", "APPROVED")
    ]
    assert found["commitsCount"]["totalCount"] == len(seen.get_commits().get_page(0))
    assert found["additions"] == sum(n["additions"] for n in found["files"]["nodes"]) > 0
    rollup = found["statusCheckRollup"]["nodes"][0]["commit"]["statusCheckRollup"]
    assert rollup["state"] == "FAILURE"
    (status,) = rollup["contexts"]["nodes"]
    assert (status["__typename"], status["context"], status["description"]) == (
        "StatusContext", "ci/x", "broken",
    )  # fmt: skip


def test_issues_are_listed_and_found_by_number(world: World, pull: Pull, ask: Ask) -> None:
    """Short-cut: take pull requests for issues, which REST lists together."""
    repo = world.repository("author")
    made = repo.create_issue("An issue", body="of @approver", assignee="author")
    other = repo.create_issue("Another")
    other.edit(state="closed")

    assert [n["number"] for n in ask(ISSUES)["repository"]["issues"]["nodes"]] == [made.number]
    mine = ask(ISSUES, assignee="nobody")["repository"]["issues"]
    assert (mine["totalCount"], mine["nodes"]) == (0, [])
    either = ask(EITHER, number=made.number)["repository"]["issueOrPullRequest"]
    assert (either["__typename"], either["state"]) == ("Issue", "OPEN")
    assert ask(EITHER, number=1)["repository"]["issueOrPullRequest"]["__typename"] == "PullRequest"


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("repo:owner/catalog is:pr author:@me", [1]),
        ("repo:owner/catalog is:issue", [2]),
        ("repo:owner/catalog state:open type:pr -author:author", []),
        ("repo:owner/catalog mentions:approver", [2]),
        ("repo:owner/catalog review-requested:approver state:open is:pr", []),
        ("repo:owner/catalog issue", [2]),
        ("repo:owner/other", []),
        ("sort:created-asc repo:owner/catalog", [1, 2]),
    ],
)
def test_search_knows_the_qualifiers_that_gh_sends(
    query: str, numbers: list[int], world: World, pull: Pull, ask: Ask
) -> None:
    """Short-cut: answer every pull request, whatever is searched for."""
    world.repository("author").create_issue("An issue", body="of @approver")

    found = ask(SEARCH, q=query)["search"]

    assert [edge["node"]["number"] for edge in found["edges"]] == numbers
    assert found["totalCount"] == len(numbers)
