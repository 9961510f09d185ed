"""Merge queues in GraphQL: pull requests put into one and taken out, and their entries.

Source: GitHub's GraphQL reference, mutations enqueuePullRequest and dequeuePullRequest, and object
MergeQueue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bot.sandbox.errors import RefusedError
from bot.sandbox.github import json as basic
from bot.sandbox.github.graphql.connections import QueryError, connection
from bot.sandbox.github.graphql.entries import Info, NodeOf, Resolver, need, pull_by_id, request_of
from bot.sandbox.records.repository import QueueEntry, Repository
from bot.sandbox.rules.ids import node_id


@dataclass(frozen=True, slots=True)
class BranchMergeQueue:
    """The merge queue of a branch."""

    repo: Repository
    base: str


def _queue(repo: Repository, info: Info, branch: str | None = None) -> BranchMergeQueue | None:
    """The queue of a branch, the default branch unless said; None where it has none."""
    need(info, "merge_queues=read")
    base = branch or repo.default_branch
    return BranchMergeQueue(repo, base) if request_of(info).state.rules.queue(repo, base) else None


def _entries(queue: BranchMergeQueue, info: Info, **given: Any) -> Any:
    return connection("entries", queue.repo.queues.get(queue.base, []), given, info)


def _enqueue(_root: Any, info: Info, input: dict[str, Any]) -> dict[str, Any]:  # noqa: A002 - GitHub's name
    """Put a pull request into the queue of its base branch."""
    request, pull = request_of(info), pull_by_id(info, input["pullRequestId"])
    return _changed(
        info,
        input,
        lambda: request.state.queues.enqueue(
            pull, request.user, input.get("expectedHeadOid"), jump=bool(input.get("jump"))
        ),
    )


def _dequeue(_root: Any, info: Info, input: dict[str, Any]) -> dict[str, Any]:  # noqa: A002 - GitHub's name
    """Take a pull request out of its queue."""
    request, pull = request_of(info), pull_by_id(info, input["id"])
    return _changed(info, input, lambda: request.state.queues.dequeue(pull, request.user))


def _changed(
    info: Info, given: Mapping[str, Any], change: Callable[[], QueueEntry]
) -> dict[str, Any]:
    need(info, "contents=write,pull_requests=write")
    try:
        entry = change()
    except RefusedError as refused:
        kind = "FORBIDDEN" if refused.status == 403 else "UNPROCESSABLE"
        raise QueryError(kind, str((refused.errors or [refused.message])[0])) from None
    return {"clientMutationId": given.get("clientMutationId"), "mergeQueueEntry": entry}


def _position(entry: QueueEntry, _info: Info) -> int:
    waiting = entry.pull.repo.queues.get(entry.pull.base_ref, [])
    return waiting.index(entry) + 1 if entry in waiting else 0


def _base(entry: QueueEntry, info: Info) -> NodeOf | None:
    return _commit(entry, entry.group.base_sha, info) if entry.group else None


def _head(entry: QueueEntry, info: Info) -> NodeOf | None:
    return _commit(entry, entry.group.head_sha, info) if entry.group else None


def _commit(entry: QueueEntry, sha: str, info: Info) -> NodeOf:
    git = request_of(info).state.git(entry.pull.repo)
    return NodeOf("Commit", git.commit(sha), entry.pull.repo)


MUTATIONS: Mapping[str, Resolver] = {
    "dequeuePullRequest": _dequeue,
    "enqueuePullRequest": _enqueue,
}
FIELDS: Mapping[str, Mapping[str, Resolver]] = {
    "MergeQueue": {
        "entries": _entries,
        "id": lambda q, _info: f"MQ_{q.repo.id}:{q.base}",
        "repository": lambda q, _info: q.repo,
    },
    "MergeQueueEntry": {
        "baseCommit": _base,
        "enqueuedAt": lambda e, _info: basic.stamp(e.enqueued_at),
        "enqueuer": lambda e, _info: e.user,
        "headCommit": _head,
        "id": lambda e, _info: node_id("MQE", e.id),
        "position": _position,
        "pullRequest": lambda e, _info: e.pull,
        "state": lambda e, _info: "AWAITING_CHECKS" if e.group else "QUEUED",
    },
    "Repository": {"mergeQueue": _queue},
}
"""Type and field to what it holds."""
