"""Merge queues: what enters one, the groups that are built, and what comes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from github import GithubException

from bot.sandbox.records.protection import QueueRule
from bot.sandbox.records.repository import Pull
from bot.sandbox.rules.checks import CheckRunFields
from tests.bot.sandbox.conftest import Clock
from tests.bot.sandbox.world import World

Api = Callable[..., httpx.Response]
ENQUEUE = """mutation($pull: ID!, $head: GitObjectID) {
  enqueuePullRequest(input: {pullRequestId: $pull, expectedHeadOid: $head, clientMutationId: "x"}) {
    clientMutationId
    mergeQueueEntry { id position state enqueuer { login } headCommit { oid } }
  } }"""
RULES = "/repos/owner/catalog/rules/branches"
DEQUEUE = """mutation($pull: ID!) {
  dequeuePullRequest(input: {id: $pull}) { mergeQueueEntry { id } } }"""


@pytest.fixture
def queue(world: World) -> World:
    """The world with a queue on main, an App that hears of it, and a check that merges need."""
    with world.state.lock:
        installation = world.state.installation_of(world.app, world.repo)
        assert installation is not None
        installation.permissions["merge_queues"] = "read"
        installation.events = (*installation.events, "merge_group")
    ruled(world, QueueRule())
    return world


def ruled(world: World, rule: QueueRule) -> None:
    world.repo.rulesets.clear()
    world.state.rules.add(world.repo, merge_queue=rule, required_checks=[("publish", world.app.id)])


def proposed(world: World, name: str) -> Pull:
    """A pull request that adds a file, with its check green."""
    world.commit(f"drafts/{name}", {f"{name}.yaml": name})
    with world.state.lock:
        pull = world.state.pulls.open(
            world.repo, world.state.user("author"), title=name, head=f"drafts/{name}", base="main"
        )
        reported(world, pull.head_sha)
    return pull


def reported(world: World, sha: str, conclusion: str = "success") -> None:
    with world.state.lock:
        wish = CheckRunFields(name="publish", conclusion=conclusion)
        world.state.checks.create(world.repo, world.app, sha, wish)


def enqueued(world: World, *pulls: Pull) -> None:
    with world.state.lock:
        for pull in pulls:
            world.state.queues.enqueue(pull, world.state.user("author"))


def group_of(world: World, pull: Pull) -> Any:
    entry = world.state.queues.entry(pull)
    return entry.group if entry else None


def told(world: World, *names: str) -> list[tuple[str, str | None]]:
    """Webhooks whose names begin so, with the reasons that they give."""
    assert world.forge.hooks.idle()
    hooks = [hook for hook in world.received.all() if hook.name.startswith(names)]
    return [(hook.name, hook.payload.get("reason")) for hook in hooks]


def asked(world: World, api: Api, query: str, **variables: Any) -> dict[str, Any]:
    body = {"query": query, "variables": variables}
    token = world.installation_token()
    found: dict[str, Any] = api("POST", "/graphql", token, json=body).json()
    return found


def test_nothing_but_the_queue_merges(queue: World, api: Api) -> None:
    """Short-cut refused: a queue that a merge by hand goes around.

    An administrator asks for it through the API.
    """
    (rule,) = (r for r in api("GET", f"{RULES}/main").json() if r["type"] == "merge_queue")
    queue.repo.rulesets.clear()
    asked_for = {
        "name": "queue",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
        "rules": [{"type": "merge_queue", "parameters": rule["parameters"]}],
    }
    made = api("POST", "/repos/owner/catalog/rulesets", queue.token("owner"), json=asked_for)
    assert made.status_code == 201
    pull = proposed(queue, "net")
    with pytest.raises(GithubException) as refused:
        queue.repository("approver").get_pull(pull.number).merge()
    assert refused.value.status == 405
    assert "Changes must be made through the merge queue" in refused.value.data["message"]
    rules = {r["type"]: r for r in api("GET", f"{RULES}/main").json()}
    assert rules["merge_queue"]["parameters"] == {
        "check_response_timeout_minutes": 60,
        "grouping_strategy": "ALLGREEN",
        "max_entries_to_build": 5,
        "max_entries_to_merge": 5,
        "merge_method": "MERGE",
        "min_entries_to_merge": 1,
        "min_entries_to_merge_wait_minutes": 5,
    }


def test_what_may_enter_is_refused_otherwise(queue: World, api: Api) -> None:
    """Short-cut refused: the head that was asked for plays no part."""
    pull = proposed(queue, "net")
    node = queue.repository("author").get_pull(pull.number).node_id

    def error(**variables: Any) -> str:
        found = asked(queue, api, ENQUEUE, pull=node, **variables)
        assert found["data"] == {"enqueuePullRequest": None}
        assert found["errors"][0]["type"] == "UNPROCESSABLE"
        return str(found["errors"][0]["message"])

    assert "does not match" in error(head="a" * 40)
    reported(queue, pull.head_sha, "failure")
    assert error() == 'Required status check "publish" is failing.'
    assert "not in the merge queue" in asked(queue, api, DEQUEUE, pull=node)["errors"][0]["message"]
    queue.repo.rulesets.clear()
    assert error() == "Merge queue is not enabled for main"


def test_a_group_is_told_of_and_lands_when_its_checks_are_green(queue: World, api: Api) -> None:
    """Short-cut refused: the merge is made at once, and nobody checks what comes of it."""
    pull = proposed(queue, "net")
    node, base = queue.repository("author").get_pull(pull.number).node_id, queue.repo.branch("main")
    made = asked(queue, api, ENQUEUE, pull=node, head=pull.head_sha)["data"]["enqueuePullRequest"]
    group = group_of(queue, pull)

    assert made["clientMutationId"] == "x"
    entry = made["mergeQueueEntry"]
    assert (entry["position"], entry["state"]) == (1, "AWAITING_CHECKS")
    assert entry["headCommit"] == {"oid": group.head_sha}
    assert group.ref == f"refs/heads/gh-readonly-queue/main/pr-1-{base}"
    assert queue.repo.refs[group.ref] == group.head_sha
    assert queue.repo.branch("main") == base
    inside = "query($id: ID!) { node(id: $id) { ... on PullRequest { isInMergeQueue } } }"
    assert asked(queue, api, inside, id=node)["data"]["node"] == {"isInMergeQueue": True}

    reported(queue, group.head_sha)

    assert queue.repo.branch("main") == group.head_sha == pull.merge_commit_sha
    assert pull.merged
    assert "kpt:" not in queue.state.git(queue.repo).commit(group.head_sha).message
    assert group.ref not in queue.repo.refs
    moves = queue.repo.activity_by_ref["refs/heads/main"]
    assert (moves[-1].kind, moves[-1].before) == ("merge_queue_merge", base)
    assert told(queue, "pull_request.", "merge_group.") == [
        ("pull_request.opened", None),
        ("pull_request.enqueued", None),
        ("merge_group.checks_requested", None),
        ("pull_request.closed", None),
        ("pull_request.dequeued", "MERGE"),
        ("merge_group.destroyed", "merged"),
    ]


def test_what_fails_leaves_and_those_behind_are_built_anew(queue: World) -> None:
    """Short-cut refused: each is built on the base alone, and lands unseen with the others."""
    first, second, third = pulls = [proposed(queue, name) for name in ("a", "b", "c")]
    enqueued(queue, *pulls)
    groups = [group_of(queue, pull) for pull in pulls]
    assert [g.base_sha for g in groups] == [
        queue.repo.branch("main"),
        *(g.head_sha for g in groups[:2]),
    ]

    reported(queue, groups[1].head_sha, "failure")
    assert group_of(queue, second) is None
    assert group_of(queue, third).base_sha == groups[0].head_sha
    assert groups[2].ref not in queue.repo.refs
    reported(queue, group_of(queue, third).head_sha)
    assert not third.merged  # the one before it is not green
    reported(queue, groups[0].head_sha)
    assert (first.merged, second.merged, third.merged) == (True, False, True)
    assert len(queue.repo.activity_by_ref["refs/heads/main"]) == 2


def test_several_land_together_where_only_the_head_counts(queue: World, clock: Clock) -> None:
    ruled(
        queue,
        QueueRule(grouping_strategy="HEADGREEN", min_entries_to_merge=2, merge_method="SQUASH"),
    )
    base = queue.repo.branch("main")
    first, second = pulls = [proposed(queue, name) for name in ("a", "b")]
    enqueued(queue, first)
    reported(queue, group_of(queue, first).head_sha)
    assert not first.merged
    enqueued(queue, second)
    reported(queue, group_of(queue, second).head_sha)
    assert [pull.merged for pull in pulls] == [True, True]
    git, moves = queue.state.git(queue.repo), queue.repo.activity_by_ref["refs/heads/main"]
    assert git.commit(second.merge_commit_sha or "").parents == (first.merge_commit_sha,)
    assert (moves[-1].before, moves[-1].after) == (base, second.merge_commit_sha)

    alone = proposed(queue, "c")
    enqueued(queue, alone)
    clock.move(minutes=61)
    queue.state.queues.time_passes()
    assert not alone.merged
    assert queue.state.queues.entry(alone) is None  # its checks never came


def test_a_push_a_draft_and_a_person_take_out_of_the_queue(queue: World, api: Api) -> None:
    pushed, drafted, taken = pulls = [proposed(queue, name) for name in ("a", "b", "c")]
    enqueued(queue, *pulls)
    queue.commit("drafts/a", {"a.yaml": "more"})
    with queue.state.lock:
        queue.state.pulls.set_draft(drafted, queue.state.user("author"), True)
    assert queue.state.queues.entry(pushed) is None
    assert queue.state.queues.entry(drafted) is None
    assert group_of(queue, taken).base_sha == queue.repo.branch("main")
    node = queue.repository("author").get_pull(taken.number).node_id
    assert "errors" not in asked(queue, api, DEQUEUE, pull=node)
    assert not [ref for ref in queue.repo.refs if "gh-readonly-queue" in ref]
    reasons = {reason for _, reason in told(queue, "merge_group.destroyed")}
    assert reasons == {"dequeued", "invalidated"}
