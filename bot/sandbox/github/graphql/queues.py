"""Merge queues in GraphQL: pull requests put into one and taken out, and their entries.

Source: GitHub's GraphQL reference, mutations enqueuePullRequest and dequeuePullRequest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bot.sandbox.errors import RefusedError
from bot.sandbox.github import json as basic
from bot.sandbox.github.graphql.connections import QueryError
from bot.sandbox.github.graphql.entries import Info, NodeOf, Resolver, need, pull_by_id, request_of
from bot.sandbox.records.repository import QueueEntry
from bot.sandbox.rules.ids import node_id


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


def _head(entry: QueueEntry, info: Info) -> NodeOf | None:
    if entry.group is None:
        return None
    git = request_of(info).state.git(entry.pull.repo)
    return NodeOf("Commit", git.commit(entry.group.head_sha), entry.pull.repo)


MUTATIONS: Mapping[str, Resolver] = {
    "dequeuePullRequest": _dequeue,
    "enqueuePullRequest": _enqueue,
}
FIELDS: Mapping[str, Mapping[str, Resolver]] = {
    "MergeQueueEntry": {
        "enqueuedAt": lambda e, _info: basic.stamp(e.enqueued_at),
        "enqueuer": lambda e, _info: e.user,
        "headCommit": _head,
        "id": lambda e, _info: node_id("MQE", e.id),
        "position": _position,
        "pullRequest": lambda e, _info: e.pull,
        "state": lambda e, _info: "AWAITING_CHECKS" if e.group else "QUEUED",
    }
}
"""Type and field to what it holds."""
