"""What was said on a pull request, in one GraphQL query: REST tells no last edit and no editor.

In GraphQL the login of a bot lacks the "[bot]" that REST and people know; it is put back here, by
the type of the account, which nobody can choose.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from bot.forges.github import fields
from bot.forges.github.http import Clients, JSONObject, graphql
from bot.forges.port import (
    BotIdentity,
    Conversation,
    ForgeMissingError,
    ForgeRefusedError,
    HeadChange,
    NativeReview,
)
from lifecycle.access import Person
from lifecycle.facts.conversation import (
    Comment,
    ReadyForReview,
    ReviewDecision,
    ReviewState,
    ReviewText,
)
from lifecycle.names import Sha

QUERY = """
query Conversation($id: ID!, $comments: String, $reviews: String) {
  node(id: $id) {
    ... on PullRequest {
      headRefOid
      createdAt
      isDraft
      isInMergeQueue
      reviewDecision
      comments(first: 100, after: $comments) {
        pageInfo { hasNextPage endCursor }
        nodes { fullDatabaseId body createdAt lastEditedAt author { ...who } editor { ...who } }
      }
      reviews(first: 100, after: $reviews) {
        pageInfo { hasNextPage endCursor }
        nodes {
          fullDatabaseId state body submittedAt lastEditedAt commit { oid } author { ...who }
        }
      }
      bases: timelineItems(
        last: 1
        itemTypes: [BASE_REF_CHANGED_EVENT AUTOMATIC_BASE_CHANGE_SUCCEEDED_EVENT]
      ) {
        nodes {
          ... on BaseRefChangedEvent { createdAt }
          ... on AutomaticBaseChangeSucceededEvent { createdAt }
        }
      }
      readied: timelineItems(last: 1, itemTypes: [READY_FOR_REVIEW_EVENT]) {
        nodes { ... on ReadyForReviewEvent { id createdAt actor { ...who } } }
      }
      timelineItems(
        last: 100
        itemTypes: [
          HEAD_REF_FORCE_PUSHED_EVENT HEAD_REF_DELETED_EVENT HEAD_REF_RESTORED_EVENT REOPENED_EVENT
        ]
      ) {
        nodes {
          ... on HeadRefForcePushedEvent { createdAt afterCommit { oid } }
          ... on HeadRefDeletedEvent { createdAt }
          ... on HeadRefRestoredEvent { createdAt }
          ... on ReopenedEvent { createdAt }
        }
      }
    }
  }
}
fragment who on Actor { __typename login ... on User { databaseId } ... on Bot { databaseId } }
"""

_ENQUEUER = """
query Enqueuer($id: ID!) {
  node(id: $id) { ... on PullRequest { mergeQueueEntry { enqueuer { ...who } } } }
}
fragment who on Actor { __typename login ... on User { databaseId } ... on Bot { databaseId } }
"""

_DECISIONS = {each.value: each for each in ReviewDecision}

_STATES = {
    "APPROVED": ReviewState.APPROVED,
    "CHANGES_REQUESTED": ReviewState.CHANGES_REQUESTED,
    "DISMISSED": ReviewState.DISMISSED,
}


def read(pool: Clients, node: str, me: BotIdentity) -> Conversation:
    """Read a conversation to its end, 100 comments and reviews at a time; for threads.

    Args:
        pool: Clients of the installation.
        node: The pull request's id in GraphQL.
        me: Who we are.

    Raises:
        ForgeBusyError: Trying again may help.
        ForgeRefusedError: An operator must act.
    """
    asked: JSONObject = {"id": node, "comments": None, "reviews": None}
    found = list(_pages(pool, asked))
    last = found[-1]
    comments = {c.id: c for page in found for c in _comments(page["comments"]["nodes"], me)}
    reviews = {r.id: r for page in found for r in _reviews(page["reviews"]["nodes"], me)}
    texts = {t.id: t for page in found for t in _texts(page["reviews"]["nodes"], me)}
    events = [event for event in last["timelineItems"]["nodes"] if event]
    in_queue = bool(last["isInMergeQueue"])
    heads = {str(page["headRefOid"]) for page in found}
    return Conversation(
        head=Sha(heads.pop()) if len(heads) == 1 else Sha(""),
        opened_at=_time(last["createdAt"]),
        decision=_DECISIONS.get(str(last["reviewDecision"])),
        comments=tuple(comments[number] for number in sorted(comments)),
        reviews=tuple(sorted(reviews.values(), key=lambda r: (r.at, r.id))),
        review_texts=tuple(texts[number] for number in sorted(texts)),
        review_numbers=frozenset(
            int(r["fullDatabaseId"]) for page in found for r in page["reviews"]["nodes"] if r
        ),
        suggested=frozenset(
            sha for page in found for sha in _reviewed_by(me, page["reviews"]["nodes"])
        ),
        # Asked for apart: closing and reopening a hundred times pushes it out of one list.
        base_at=max((_time(e["createdAt"]) for e in last["bases"]["nodes"] if e), default=None),
        changes=tuple(
            HeadChange(_time(e["createdAt"]), _oid(e.get("afterCommit"))) for e in events
        ),
        in_queue=in_queue,
        enqueued=in_queue and _enqueued(pool, node, me),
        readied=None if last["isDraft"] else _readied(last["readied"]["nodes"], me),
    )


def _enqueued(pool: Clients, node: str, me: BotIdentity) -> bool:
    """Whether we put it into the merge queue; not known where the App may not read queues."""
    try:
        pull = graphql(pool, "read who queued it", _ENQUEUER, {"id": node})["node"]
    except ForgeRefusedError:
        return False
    entry = pull and pull["mergeQueueEntry"]
    return bool(entry) and _is_us(entry["enqueuer"], me)


def _pages(pool: Clients, asked: JSONObject) -> Iterator[JSONObject]:
    """Answers until both lists have ended; a list that has ended is asked for what comes after."""
    wanted = "read the conversation"
    while True:
        pull = graphql(pool, wanted, QUERY, asked)["node"]
        if not pull:
            raise ForgeMissingError(wanted, "the pull request is not there")
        yield pull
        infos = {name: pull[name]["pageInfo"] for name in ("comments", "reviews")}
        if not any(info["hasNextPage"] for info in infos.values()):
            return
        asked = asked | {n: i["endCursor"] or asked[n] for n, i in infos.items()}


def _comments(nodes: Iterable[JSONObject | None], me: BotIdentity) -> Iterator[Comment]:
    for data in nodes:
        if data is None:
            continue
        ours = _is_us(data["author"], me)
        edited_at = _time(data["lastEditedAt"]) if data["lastEditedAt"] else None
        yield Comment(
            id=int(data["fullDatabaseId"]),
            author=_person(data["author"], me),
            body=str(data["body"] or ""),
            at=_time(data["createdAt"]),
            edited=edited_at is not None,
            edited_at=edited_at,
            altered=ours and edited_at is not None and not _is_us(data["editor"], me),
            ours=ours,
        )


def _readied(nodes: Iterable[JSONObject | None], me: BotIdentity) -> ReadyForReview | None:
    for data in nodes:
        if data is not None and not _is_us(data["actor"], me):
            return ReadyForReview(
                _person(data["actor"], me), _time(data["createdAt"]), str(data["id"])
            )
    return None


def _reviews(nodes: Iterable[JSONObject | None], me: BotIdentity) -> Iterator[NativeReview]:
    for data in nodes:
        if data is None or data["state"] not in _STATES or not data["submittedAt"]:
            continue
        yield NativeReview(
            id=int(data["fullDatabaseId"]),
            author=_person(data["author"], me),
            state=_STATES[data["state"]],
            head=_oid(data["commit"]) or Sha(""),
            at=_time(data["submittedAt"]),
        )


def _texts(nodes: Iterable[JSONObject | None], me: BotIdentity) -> Iterator[ReviewText]:
    for data in nodes:
        if data is None or not data["body"] or not data["submittedAt"]:
            continue
        if not _is_us(data["author"], me):
            at, edited = _time(data["submittedAt"]), data["lastEditedAt"]
            yield ReviewText(
                id=int(data["fullDatabaseId"]),
                author=_person(data["author"], me),
                body=str(data["body"]),
                at=at,
                edited=bool(edited) and _time(edited) >= at,  # before it, nobody else saw it
                head=_oid(data["commit"]) or Sha(""),
                state=_STATES.get(data["state"]),
            )


def _reviewed_by(me: BotIdentity, nodes: Iterable[JSONObject | None]) -> Iterator[Sha]:
    """The commits at which we wrote a review."""
    for data in nodes:
        if data and _is_us(data["author"], me) and data["submittedAt"]:
            yield _oid(data["commit"]) or Sha("")


def _person(data: JSONObject | None, me: BotIdentity) -> Person:
    """An account, as `fields.person` has it."""
    return fields.person(_rest(data), me)


def _is_us(data: JSONObject | None, me: BotIdentity) -> bool:
    return fields.is_us(_rest(data), me)


def _rest(data: JSONObject | None) -> JSONObject | None:
    """An account as REST spells it."""
    if not data:
        return None
    kind, login = data["__typename"], str(data["login"])
    if kind == "Bot":
        login = f"{login.removesuffix('[bot]')}[bot]"
    return {"id": int(data.get("databaseId") or 0), "login": login, "type": kind}


def _oid(data: JSONObject | None) -> Sha | None:
    return Sha(data["oid"]) if data else None


def _time(text: Any) -> datetime:
    return datetime.fromisoformat(str(text).replace("Z", "+00:00"))
