"""Pull requests, through PyGithub: opening, reading, merging, and how they end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from github import UnknownObjectException

from bot.sandbox.records.repository import Pull
from tests.bot.sandbox.world import World, refused

Api = Callable[..., httpx.Response]
PULLS = "/repos/owner/catalog/pulls"


def test_mergeable_is_null_until_it_was_asked_for(world: World) -> None:
    """Fails on a forge that knows at once: a reader must learn to ask again."""
    world.commit("drafts/net", {"a": "1"})
    seen = world.repository("author")
    made = seen.create_pull(base="main", head="drafts/net", title="A", body="")
    assert (made.mergeable, made.mergeable_state, made.merge_commit_sha) == (None, "unknown", None)
    assert seen.get_pull(1).mergeable is None
    known = seen.get_pull(1)
    assert (known.mergeable, known.mergeable_state) == (True, "clean")
    world.commit("main", {"b": "1"})
    assert seen.get_pull(1).mergeable is None, "a push to the base makes it unknown again"
    assert seen.get_pull(1).mergeable is True


def test_the_test_merge_is_no_merge(world: World, pull: Pull) -> None:
    """Fails for those who take `merge_commit_sha` for a merge: while open it is a trial."""
    seen = world.repository("author")
    seen.get_pull(1)
    trial = seen.get_pull(1)
    assert trial.merge_commit_sha is not None
    assert trial.merge_commit_sha != world.repo.branch("main")
    assert not trial.merged
    assert pull.head_sha in [p.sha for p in seen.get_commit(trial.merge_commit_sha).parents]


def test_a_merge_has_two_parents_the_merger_and_the_usual_words(world: World, pull: Pull) -> None:
    before = world.repo.branch("main")
    done = world.repository("approver").get_pull(1).merge(sha=pull.head_sha)
    assert done.merged
    commit = world.repository("author").get_commit(done.sha)
    assert [p.sha for p in commit.parents] == [before, pull.head_sha]
    assert commit.commit.message == "Merge pull request #1 from owner/drafts/net\n\nChange b"
    assert commit.author.login == "approver"
    assert world.repo.branch("main") == done.sha
    read = world.repository("author").get_pull(1)
    assert (read.state, read.merged, read.merged_by.login) == ("closed", True, "approver")
    assert (read.merge_commit_sha, read.mergeable) == (done.sha, None)
    assert (read.commits, read.changed_files, read.additions) == (1, 1, 1)
    names = [h.name for h in world.hooks()]
    assert "pull_request.closed" in names
    assert names[-1] == "check_suite.requested"


@pytest.mark.parametrize(
    ("make", "status", "message"),
    [
        ("moved", 409, "Head branch was modified. Review and try the merge again."),
        ("draft", 405, "Pull Request is still a draft"),
        ("conflict", 405, "Pull Request is not mergeable"),
        ("closed", 405, "Pull Request is not mergeable"),
        ("check", 405, 'Required status check "porchbot/publish" is expected.'),
        (
            "review",
            405,
            "At least 1 approving review is required by reviewers with write access.",
        ),
        ("outsider", 403, "Must have admin rights to Repository."),
    ],
)
def test_what_may_not_be_merged_is_refused_in_githubs_words(
    world: World, pull: Pull, make: str, status: int, message: str
) -> None:
    state, sha, who = world.state, pull.head_sha, "approver"
    with state.lock:
        match make:
            case "moved":
                sha = "1" * 40
            case "draft":
                state.pulls.set_draft(pull, pull.user, draft=True)
            case "conflict":
                world.commit("main", {"net/values.yaml": "a: 1\nb: 7\nc: 3\n"})
            case "closed":
                state.pulls.close(pull, pull.user)
            case "check":
                state.protect(world.repo, "main", [("porchbot/publish", world.app.id)])
            case "review":
                state.protect(world.repo, "main", required_reviews=1)
            case _:
                who = "outsider"
    seen = world.repository(who).get_pull(1)
    assert refused(lambda: seen.merge(sha=sha)) == (status, message)


def test_a_required_check_counts_only_from_its_app(world: World, pull: Pull) -> None:
    """Fails on a forge that looks at names: anybody who may write can post a status."""
    world.state.protect(world.repo, "main", [("porchbot/publish", world.app.id)])
    seen = world.repository("approver")
    seen.get_commit(pull.head_sha).create_status("success", context="porchbot/publish")
    status, words = refused(lambda: seen.get_pull(1).merge())
    assert (status, words) == (405, 'Required status check "porchbot/publish" is expected.')
    seen.get_pull(1)
    assert seen.get_pull(1).mergeable_state == "blocked"
    world.bot().create_check_run("porchbot/publish", pull.head_sha, conclusion="failure")
    assert "is failing" in refused(lambda: seen.get_pull(1).merge())[1]
    world.bot().create_check_run("porchbot/publish", pull.head_sha, conclusion="success")
    assert seen.get_pull(1).merge().merged


def test_squash_is_one_commit_of_the_author(world: World, pull: Pull) -> None:
    world.commit("drafts/net", {"other": "1"})
    before = world.repo.branch("main")
    done = world.repository("approver").get_pull(1).merge(merge_method="squash")
    commit = world.repository("author").get_commit(done.sha)
    assert [p.sha for p in commit.parents] == [before]
    assert commit.commit.message == "Change b (#1)\n\n* Change\n\n* Change"
    assert commit.author.login == "author"
    assert pull.merge_commit_sha == done.sha


def test_rebase_puts_the_commits_on_top_once_more(world: World, pull: Pull) -> None:
    world.commit("drafts/net", {"other": "1"})
    world.commit("main", {"elsewhere": "1"})
    before = world.repo.branch("main")
    done = world.repository("approver").get_pull(1).merge(merge_method="rebase")
    log = list(world.repository("author").get_commits())[:3]
    assert log[0].sha == done.sha
    assert log[2].sha == before
    assert done.sha != pull.head_sha
    names = {f.path for f in world.repository("author").get_contents("")}
    assert names == {"net", "other", "elsewhere"}


def test_a_pull_request_that_lands_by_a_push_is_merged(world: World, pull: Pull) -> None:
    """Fails on a forge that knows only its own merges."""
    git = world.clone("owner")
    git.run("merge", "--quiet", "--no-ff", "-m", "By hand", "origin/drafts/net")
    landed = git.run("rev-parse", "HEAD").strip()
    git.write("later", "1")
    git.run("push", "--quiet", "origin", "HEAD:main")
    assert pull.merged
    assert pull.merge_commit_sha == landed
    assert pull.merged_by is world.state.user("owner")


def test_the_end_of_a_branch_is_the_end_of_its_pull_request(world: World, pull: Pull) -> None:
    world.repository("author").get_git_ref("heads/drafts/net").delete()
    assert (pull.state, pull.merged) == ("closed", False)
    closed = [h.payload for h in world.hooks() if h.name == "pull_request.closed"]
    assert closed[0]["pull_request"]["merged"] is False


def test_a_push_synchronizes_and_the_base_sha_stands_still(world: World, pull: Pull) -> None:
    """Fails for those who read `base.sha` as the base's tip: it is the tip of an earlier day."""
    base = pull.base_sha
    world.commit("main", {"x": "1"})
    assert world.repository("author").get_pull(1).base.sha == base
    before = pull.head_sha
    git = world.clone("author")
    git.run("checkout", "--quiet", "drafts/net")
    sha = git.write("net/more", "1")
    git.run("push", "--quiet", "origin", "HEAD")
    hook = next(h.payload for h in world.hooks() if h.name == "pull_request.synchronize")
    assert (hook["before"], hook["after"]) == (before, sha)
    assert hook["pull_request"]["head"]["sha"] == sha
    assert [f.filename for f in world.repository("author").get_pull(1).get_files()] == [
        "net/more",
        "net/values.yaml",
    ]


def test_lists_are_filtered_and_a_bare_head_is_ignored(world: World, api: Api, pull: Pull) -> None:
    """Fails on a helpful forge: GitHub ignores `head` without an owner."""
    world.commit("drafts/two", {"b": "1"})
    token = world.token("author")
    with world.state.lock:
        other = world.state.pulls.open(
            world.repo, pull.user, title="Two", head="drafts/two", base="main"
        )
        world.state.pulls.close(other, pull.user)

    def numbers(**query: str) -> list[int]:
        return [p["number"] for p in api("GET", PULLS, token, params=query).json()]

    assert numbers() == [1]
    assert numbers(state="all") == [2, 1]
    assert numbers(state="all", sort="created") == [1, 2]
    assert numbers(state="closed") == [2]
    assert numbers(state="all", head="drafts/two") == [2, 1]
    assert numbers(state="all", head="owner:drafts/two") == [2]
    assert numbers(state="all", head="else:drafts/two") == []
    assert numbers(state="all", base="other") == []
    assert api("GET", PULLS, token, params={"state": "odd"}).status_code == 422
    assert "mergeable" not in api("GET", PULLS, token).json()[0]


def test_what_cannot_be_opened(world: World, pull: Pull, api: Api) -> None:
    token = world.token("author")

    def opened(head: str, base: str = "main") -> Any:
        asked = {"title": "T", "head": head, "base": base}
        answer = api("POST", PULLS, token, json=asked)
        assert answer.status_code == 422
        return answer.json()["errors"][0]

    assert opened(pull.head_ref)["message"] == "A pull request already exists for owner:drafts/net."
    assert opened("nowhere") == {"resource": "PullRequest", "code": "invalid", "field": "head"}
    assert opened("main")["message"] == "No commits between main and main"
    assert opened("drafts/net", "nowhere")["field"] == "base"


def test_a_pull_request_from_a_fork(world: World, api: Api) -> None:
    """Fails on a forge whose base repository lacks the fork's commits."""
    fork = world.state.fork(world.repo, "outsider")
    url = world.forge.clone_url("outsider", "catalog", "outsider", world.token("outsider"))
    git = world.clone("outsider")
    sha = git.write("net/mine", "1")
    git.run("push", "--quiet", url, "HEAD:refs/heads/mine")
    made = world.repository("outsider").create_pull(base="main", head="outsider:mine", title="M")
    assert made.head.sha == sha
    assert made.head.repo.full_name == "outsider/catalog"
    run = world.bot().create_check_run("porchbot/publish", sha, conclusion="success")
    assert run.pull_requests == []
    assert run.raw_data["check_suite"]["id"]
    more = git.write("net/mine", "2")
    git.run("push", "--quiet", url, "HEAD:refs/heads/mine")
    assert world.repository("author").get_pull(1).head.sha == more
    fresh = world.clone("author")
    fresh.run("fetch", "--quiet", "origin", "refs/pull/1/head")
    assert fresh.run("rev-parse", "FETCH_HEAD").strip() == more
    assert world.repository("approver").get_pull(1).merge().merged
    world.state.delete_repository(fork)
    world.forge.observers.clear()  # the description has no word for a fork that is gone
    gone = api("GET", f"{PULLS}/1", world.token("author")).json()["head"]
    assert gone["repo"] is None


def test_drafts_go_by_graphql_with_the_ids_of_rest(world: World, pull: Pull, api: Api) -> None:
    seen = world.repository("author").get_pull(1)
    seen.convert_to_draft()
    assert pull.draft
    world.bot().get_pull(1).mark_ready_for_review()
    assert not pull.draft
    names = [h.name for h in world.hooks()]
    assert names[-2:] == ["pull_request.converted_to_draft", "pull_request.ready_for_review"]
    query = "mutation($input: ConvertPullRequestToDraftInput!) {"
    query += " convertPullRequestToDraft(input: $input)"
    query += " { clientMutationId pullRequest { isDraft } } }"

    def asked(node: str, token: str) -> Any:
        body = {"query": query, "variables": {"input": {"pullRequestId": node}}}
        url = f"{world.forge.web_url}/api/graphql"
        answer = api("POST", url, token, json=body)
        assert answer.status_code == 200
        return answer.json()

    error = asked("PR_none", world.token("author"))["errors"][0]
    assert error["type"] == "NOT_FOUND"
    assert error["message"] == "Could not resolve to a node with the global id of 'PR_none'"
    weak = world.installation_token(pull_requests="write", contents="read")
    error = asked(seen.raw_data["node_id"], weak)["errors"][0]
    assert error["message"] == "Resource not accessible by integration"
    strong = asked(seen.raw_data["node_id"], world.token("author"))
    assert strong["data"] == {
        "convertPullRequestToDraft": {"clientMutationId": None, "pullRequest": {"isDraft": True}}
    }


def test_edits_are_told_with_what_was_before(world: World, pull: Pull) -> None:
    world.commit("release", {"r": "1"})
    seen = world.repository("author").get_pull(1)
    seen.edit(title="New", body="Text", base="release")
    hook = world.hooks()[-1]
    assert hook.name == "pull_request.edited"
    changes = hook.payload["changes"]
    assert changes["title"] == {"from": "Change b"}
    assert changes["body"] == {"from": "Because."}
    assert changes["base"]["ref"] == {"from": "main"}
    assert pull.base_ref == "release"
    seen.edit(state="closed")
    seen.edit(state="open")
    assert [h.name for h in world.hooks()][-2:] == ["pull_request.closed", "pull_request.reopened"]
    assert refused(lambda: world.repository("outsider").get_pull(1).edit(title="X"))[0] == 403


def test_reviews(world: World, pull: Pull, api: Api) -> None:
    own = api(
        "POST", f"{PULLS}/1/reviews", world.token("author"), json={"event": "APPROVE", "body": ""}
    )
    assert (own.status_code, own.json()["errors"]) == (
        422,
        ["Review Can not approve your own pull request"],
    )
    seen = world.repository("approver").get_pull(1)
    review = seen.create_review(event="APPROVE", body="Good")
    assert (review.state, review.commit_id) == ("APPROVED", pull.head_sha)
    hook = world.hooks()[-1]
    assert (hook.name, hook.payload["review"]["state"]) == (
        "pull_request_review.submitted",
        "approved",
    )
    review.dismiss("Not so good")
    assert [r.state for r in seen.get_reviews()] == ["DISMISSED"]
    assert seen.get_review(review.id).state == "DISMISSED"
    with pytest.raises(UnknownObjectException):
        seen.get_review(1)


def test_a_push_dismisses_approvals_where_the_branch_says_so(world: World, pull: Pull) -> None:
    world.state.protect(world.repo, "main", required_reviews=1, dismiss_stale=True)
    seen = world.repository("approver")
    seen.get_pull(1).create_review(event="APPROVE", body="")
    seen.get_pull(1)
    assert seen.get_pull(1).mergeable_state == "clean"
    world.commit("drafts/net", {"more": "1"})
    assert pull.reviews[0].state == "DISMISSED"
    assert refused(lambda: seen.get_pull(1).merge())[0] == 405


def test_the_base_is_merged_into_the_head(world: World, pull: Pull) -> None:
    seen = world.repository("author").get_pull(1)
    assert not seen.update_branch()
    world.commit("main", {"x": "1"})
    assert not seen.update_branch(expected_head_sha="1" * 40)
    before = pull.head_sha
    assert seen.update_branch(expected_head_sha=before)
    parents = [p.sha for p in world.repository("author").get_commit(pull.head_sha).parents]
    assert parents == [before, world.repo.branch("main")]


def test_commits_know_their_pull_requests(world: World, pull: Pull) -> None:
    seen = world.repository("author")
    assert [p.number for p in seen.get_commit(pull.head_sha).get_pulls()] == [1]
    done = seen.get_pull(1).merge()
    assert [p.number for p in seen.get_commit(done.sha).get_pulls()] == [1]
    assert [c.sha for c in seen.get_pull(1).get_commits()] == [pull.head_sha]
    assert seen.get_pull(1).is_merged()
