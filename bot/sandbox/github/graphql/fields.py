"""What each field of `schema.graphql` holds: resolvers by type and name.

A value of a type is the forge's own record (`Pull`, `Comment`, …); events of timelines are
`Node`s that carry their pull request. Permissions are those of REST: a field that an installation
may not read is null, with an error `FORBIDDEN`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from bot.sandbox import refnames
from bot.sandbox.github import json as basic
from bot.sandbox.github.graphql import checks as graphql_checks
from bot.sandbox.github.graphql import entries
from bot.sandbox.github.graphql import queues as graphql_queues
from bot.sandbox.github.graphql import search as graphql_search
from bot.sandbox.github.graphql import threads as graphql_threads
from bot.sandbox.github.graphql.connections import connection
from bot.sandbox.github.graphql.entries import (
    PULLS,
    TALK,
    Info,
    NodeOf,
    Resolver,
    need,
    request_of,
    state_word,
)
from bot.sandbox.records.accounts import User
from bot.sandbox.records.repository import (
    Comment,
    Issue,
    Pull,
    QueueEntry,
    Repository,
    Review,
    Thread,
)
from bot.sandbox.records.talk import TimelineEvent
from bot.sandbox.rules import timeline
from bot.sandbox.rules.ids import node_id

_EVENTS: Mapping[str, str] = {
    "automatic_base_change_succeeded": "AutomaticBaseChangeSucceededEvent",
    "base_ref_changed": "BaseRefChangedEvent",
    "base_ref_force_pushed": "BaseRefForcePushedEvent",
    "closed": "ClosedEvent",
    "commented": "IssueComment",
    "committed": "PullRequestCommit",
    "convert_to_draft": "ConvertToDraftEvent",
    "head_ref_deleted": "HeadRefDeletedEvent",
    "head_ref_force_pushed": "HeadRefForcePushedEvent",
    "head_ref_restored": "HeadRefRestoredEvent",
    "merged": "MergedEvent",
    "ready_for_review": "ReadyForReviewEvent",
    "renamed": "RenamedTitleEvent",
    "reopened": "ReopenedEvent",
    "review_dismissed": "ReviewDismissedEvent",
    "reviewed": "PullRequestReview",
}
"""Kind of an entry of a timeline to its type."""


# Fields of things.


def _of(read: Callable[[Any], Any]) -> Resolver:
    return lambda thing, _info: read(thing)


def _when(read: Callable[[Any], datetime | None]) -> Resolver:
    return lambda thing, _info: basic.stamp_or_none(read(thing))


def _id(prefix: str) -> Resolver:
    return lambda thing, _info: node_id(prefix, thing.id)


def _link(path: Callable[[Any], str]) -> Resolver:
    return lambda thing, info: f"{request_of(info).links.web}/{path(thing)}"


def _pull_path(pull: Pull) -> str:
    return f"{pull.repo.full_name}/pull/{pull.number}"


def _thread_path(thread: Thread) -> str:
    kind = "pull" if isinstance(thread, Pull) else "issues"
    return f"{thread.repo.full_name}/{kind}/{thread.number}"


def _commit(repo: Repository, sha: str | None, info: Info) -> NodeOf | None:
    git = request_of(info).state.git(repo)
    if sha is None or git.kind(sha) != "commit":
        return None
    return NodeOf("Commit", git.commit(sha), repo)


def _mergeable(pull: Pull, info: Info) -> str:
    known = {True: "MERGEABLE", False: "CONFLICTING", None: "UNKNOWN"}
    return known[request_of(info).state.mergeability.shown(pull)[0]]


def _comments(pull: Thread, info: Info, **given: Any) -> Any:
    need(info, TALK)
    return connection("comments", pull.comments, given, info)


def _reviews(pull: Pull, info: Info, **given: Any) -> Any:
    need(info, PULLS)
    states = given.get("states")
    found = [r for r in pull.reviews if not states or r.state in states]
    return connection("reviews", found, given, info)


def _timeline(pull: Pull, info: Info, **given: Any) -> Any:
    need(info, PULLS)
    wanted, since = given.get("itemTypes"), given.get("since")
    every = timeline.items(request_of(info).state, pull)
    found = [
        item
        for item in every
        if item.kind in _EVENTS
        and (not wanted or _item_type(_EVENTS[item.kind]) in wanted)
        and (not since or basic.stamp(item.at) >= since)
    ]
    skipped = found[max(0, given.get("skip") or 0) :]
    made = connection("timelineItems", [_entry(item, pull) for item in skipped], given)
    more = {
        "totalCount": len([item for item in every if item.kind in _EVENTS]),
        "filteredCount": len(found),
        "pageCount": len(made["nodes"]),
        "updatedAt": basic.stamp(pull.updated_at),
    }
    return made | more


def _item_type(type_name: str) -> str:
    """`HeadRefForcePushedEvent` as `HEAD_REF_FORCE_PUSHED_EVENT`."""
    return "".join(f"_{c}" if c.isupper() else c.upper() for c in type_name).removeprefix("_")


def _entry(item: timeline.TimelineItem, pull: Pull) -> Comment | Review | NodeOf:
    if isinstance(item.what, Comment | Review):
        return item.what
    return NodeOf(_EVENTS[item.kind], item.what, pull.repo, pull)


def _detail_commit(key: str) -> Resolver:
    return lambda event, info: _commit(event.repo, event.what.detail.get(key), info)


def _dismissed(event: NodeOf, _info: Info) -> Review | None:
    what, pull = event.what, event.pull
    if not isinstance(what, TimelineEvent) or pull is None:
        return None
    return next((r for r in pull.reviews if r.id == what.detail.get("review")), None)


def _event_id(event: NodeOf, _info: Info) -> str:
    number = event.what.id if isinstance(event.what, TimelineEvent) else 0
    return node_id("".join(c for c in event.kind if c.isupper()), number)


_EDITED: Mapping[str, Resolver] = {
    "editor": _of(lambda t: t.edit.editor if t.edit else None),
    "includesCreatedEdit": _of(lambda t: t.edit is not None),
    "lastEditedAt": _when(lambda t: t.edit.at if t.edit else None),
}
_WRITTEN: Mapping[str, Resolver] = {
    **_EDITED,
    "author": _of(lambda t: t.user),
    "body": _of(lambda t: t.body or ""),
    "databaseId": _of(lambda t: t.id),
    "fullDatabaseId": _of(lambda t: str(t.id)),
    "updatedAt": _when(lambda t: t.updated_at),
    "viewerDidAuthor": lambda t, info: t.user is request_of(info).caller.user,
}
_EVENT: Mapping[str, Resolver] = {
    "id": _event_id,
    "actor": _of(lambda e: e.what.actor),
    "createdAt": _when(lambda e: e.what.at),
}
_PULL_EVENT: Mapping[str, Resolver] = {**_EVENT, "pullRequest": _of(lambda e: e.pull)}
_FORCED: Mapping[str, Resolver] = {
    **_PULL_EVENT,
    "beforeCommit": _detail_commit("before"),
    "afterCommit": _detail_commit("after"),
}
_ACCOUNT: Mapping[str, Resolver] = {
    "createdAt": _when(lambda u: u.created_at),
    "databaseId": _of(lambda u: u.id),
    "id": _of(basic.user_node_id),
    "login": _of(lambda u: u.login.removesuffix("[bot]")),
    "url": _link(lambda u: f"apps/{u.app.slug}" if u.app else u.login),
}

_FIELDS: Mapping[str, Mapping[str, Resolver]] = {
    "Query": {
        "node": entries.node,
        "rateLimit": entries.rate_limit,
        "repository": entries.repository,
        "search": graphql_search.search,
        "viewer": entries.viewer,
    },
    "Mutation": {
        **graphql_queues.MUTATIONS,
        "convertPullRequestToDraft": entries.set_draft(True),
        "markPullRequestReadyForReview": entries.set_draft(False),
    },
    "User": {**_ACCOUNT, "name": _of(lambda u: u.name)},
    "Bot": _ACCOUNT,
    "Organization": {**_ACCOUNT, "name": _of(lambda u: u.name)},
    "Ref": {
        "id": _of(lambda f: f"REF_{f.repo.id}:{f.what}"),
        "name": _of(lambda f: f.what.split("/", 2)[2]),
        "prefix": _of(lambda f: "/".join(f.what.split("/", 2)[:2]) + "/"),
        "target": lambda f, info: _commit(f.repo, f.repo.refs.get(f.what), info),
    },
    "Commit": {
        "abbreviatedOid": _of(lambda f: f.what.sha[:7]),
        "committedDate": _when(lambda f: f.what.committer.when),
        "id": _of(lambda f: f"C_{f.what.sha}"),
        "message": _of(lambda f: f.what.message.rstrip("\n")),
        "messageHeadline": _of(lambda f: f.what.subject),
        "oid": _of(lambda f: f.what.sha),
        "statusCheckRollup": lambda f, info: graphql_checks.rollup(f.repo, f.what.sha, info),
    },
    "Repository": {
        "createdAt": _when(lambda r: r.created_at),
        "databaseId": _of(lambda r: r.id),
        "defaultBranchRef": _of(
            lambda r: (
                NodeOf("Ref", refnames.branch_ref(r.default_branch), r)
                if r.branch(r.default_branch)
                else None
            )
        ),
        "id": _id("R"),
        "isArchived": _of(lambda r: r.archived),
        "isPrivate": _of(lambda r: r.private),
        "name": _of(lambda r: r.name),
        "nameWithOwner": _of(lambda r: r.full_name),
        "owner": _of(lambda r: r.owner),
        "pullRequest": entries.pull_request,
        "pullRequests": entries.pull_requests,
        "ref": entries.ref,
        "url": _link(lambda r: r.full_name),
    },
    "PullRequest": {
        **_WRITTEN,
        "baseRefName": _of(lambda p: p.base_ref),
        "baseRefOid": _of(lambda p: p.base_sha),
        "baseRepository": _of(lambda p: p.repo),
        "closed": _of(lambda p: p.state == "closed"),
        "closedAt": _when(lambda p: p.closed_at),
        "comments": _comments,
        "createdAt": _when(lambda p: p.created_at),
        "headRefName": _of(lambda p: p.head_ref),
        "headRefOid": _of(lambda p: p.head_sha),
        "headRepository": _of(lambda p: p.head_repo),
        "id": _id("PR"),
        "isCrossRepository": _of(lambda p: p.from_fork),
        "isDraft": _of(lambda p: p.draft),
        "isInMergeQueue": lambda p, info: request_of(info).state.queues.entry(p) is not None,
        "mergeQueueEntry": lambda p, info: request_of(info).state.queues.entry(p),
        "mergeCommit": lambda p, info: _commit(
            p.repo, p.merge_commit_sha if p.merged else None, info
        ),
        "mergeStateStatus": lambda p, info: request_of(info).state.mergeability.shown(p)[1].upper(),
        "mergeable": _mergeable,
        "merged": _of(lambda p: p.merged),
        "mergedAt": _when(lambda p: p.merged_at),
        "mergedBy": _of(lambda p: p.merged_by),
        "number": _of(lambda p: p.number),
        "repository": _of(lambda p: p.repo),
        "reviews": _reviews,
        "state": _of(state_word),
        "statusCheckRollup": lambda p, info: graphql_checks.rollup(p.repo, p.head_sha, info),
        "timelineItems": _timeline,
        "title": _of(lambda p: p.title),
        "url": _link(_pull_path),
    },
    "Issue": {
        **_WRITTEN,
        "closed": _of(lambda i: i.state == "closed"),
        "closedAt": _when(lambda i: i.closed_at),
        "comments": _comments,
        "createdAt": _when(lambda i: i.created_at),
        "id": _id("I"),
        "number": _of(lambda i: i.number),
        "repository": _of(lambda i: i.repo),
        "title": _of(lambda i: i.title),
        "url": _link(_thread_path),
    },
    "IssueComment": {
        **_WRITTEN,
        "createdAt": _when(lambda c: c.created_at),
        "id": _id("IC"),
        "pullRequest": _of(lambda c: c.thread if isinstance(c.thread, Pull) else None),
        "url": _link(lambda c: f"{_thread_path(c.thread)}#issuecomment-{c.id}"),
    },
    "PullRequestReview": {
        **_WRITTEN,
        "commit": lambda r, info: _commit(r.pull.repo, r.commit_id, info),
        "createdAt": _when(lambda r: r.submitted_at),
        "id": _id("PRR"),
        "pullRequest": _of(lambda r: r.pull),
        "state": _of(lambda r: r.state),
        "submittedAt": _when(lambda r: r.submitted_at),
        "url": _link(lambda r: f"{_pull_path(r.pull)}#pullrequestreview-{r.id}"),
    },
    "PullRequestCommit": {
        "commit": _of(lambda f: NodeOf("Commit", f.what, f.repo)),
        "id": _of(lambda f: f"PURC_{f.pull.number}:{f.what.sha}"),
        "pullRequest": _of(lambda f: f.pull),
        "url": _link(lambda f: f"{_pull_path(f.pull)}/commits/{f.what.sha}"),
    },
    "AutomaticBaseChangeSucceededEvent": {
        **_PULL_EVENT,
        "newBase": _of(lambda e: e.what.detail["after"]),
        "oldBase": _of(lambda e: e.what.detail["before"]),
    },
    "BaseRefChangedEvent": {
        **_PULL_EVENT,
        "currentRefName": _of(lambda e: e.what.detail["after"]),
        "databaseId": _of(lambda e: e.what.id),
        "previousRefName": _of(lambda e: e.what.detail["before"]),
    },
    "BaseRefForcePushedEvent": _FORCED,
    "HeadRefForcePushedEvent": _FORCED,
    "HeadRefDeletedEvent": {**_PULL_EVENT, "headRefName": _of(lambda e: e.pull.head_ref)},
    "HeadRefRestoredEvent": _PULL_EVENT,
    "ConvertToDraftEvent": _PULL_EVENT,
    "ReadyForReviewEvent": _PULL_EVENT,
    "ClosedEvent": _EVENT,
    "ReopenedEvent": _EVENT,
    "MergedEvent": {
        **_PULL_EVENT,
        "commit": _detail_commit("commit"),
        "mergeRefName": _of(lambda e: e.pull.base_ref),
    },
    "RenamedTitleEvent": {
        **_EVENT,
        "currentTitle": _of(lambda e: e.what.detail["after"]),
        "previousTitle": _of(lambda e: e.what.detail["before"]),
    },
    "ReviewDismissedEvent": {
        **_PULL_EVENT,
        "databaseId": _of(lambda e: e.what.id),
        "dismissalMessage": _of(lambda e: e.what.detail["message"]),
        "review": _dismissed,
    },
}
_MORE = (graphql_threads.FIELDS, graphql_checks.FIELDS, graphql_queues.FIELDS)
FIELDS: Mapping[str, Mapping[str, Resolver]] = {
    kind: {
        name: resolve
        for table in (_FIELDS, *_MORE)
        for name, resolve in table.get(kind, {}).items()
    }
    for kind in dict.fromkeys(kind for table in (_FIELDS, *_MORE) for kind in table)
}
"""Type and field to what it holds. Payloads, connections and page infos are mappings."""


def _type_of(thing: Any, _info: Info, _kind: Any) -> str:
    if isinstance(thing, NodeOf | graphql_checks.RollupContext):
        return thing.kind
    if isinstance(thing, User):
        return "Bot" if thing.app else thing.kind
    names = {
        Issue: "Issue",
        Pull: "PullRequest",
        Comment: "IssueComment",
        Review: "PullRequestReview",
        Repository: "Repository",
        QueueEntry: "MergeQueueEntry",
        graphql_queues.BranchMergeQueue: "MergeQueue",
    }
    return names[type(thing)]


ABSTRACT: Mapping[str, Callable[[Any, Info, Any], str]] = {
    "Actor": _type_of,
    "GitObject": _type_of,
    "IssueOrPullRequest": _type_of,
    "Node": _type_of,
    "PullRequestTimelineItems": _type_of,
    "RepositoryOwner": _type_of,
    "RequestedReviewer": _type_of,
    "SearchResultItem": _type_of,
    "StatusCheckRollupContext": _type_of,
}
"""Interface or union to what chooses a value's own type."""
