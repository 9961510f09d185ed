"""Search for issues and pull requests in GraphQL, as `gh pr list --search` and `gh pr status` ask.

Known are `repo:`, `is:`, `type:`, `state:`, `author:`, `assignee:`, `review-requested:`,
`mentions:`, `involves:`, `head:`, `base:`, `label:` and `draft:`, each with a minus before it too;
`sort:` gives the order; any other word is looked for in titles and bodies.

Source: GitHub's documentation, "Searching issues and pull requests".
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from bot.sandbox.github.graphql.connections import connection
from bot.sandbox.github.graphql.entries import Info, request_of, visible
from bot.sandbox.records.repository import Pull, Thread


def search(_root: Any, info: Info, query: str, type: str, **given: Any) -> Any:  # noqa: A002 - GitHub's name
    """Issues and pull requests that a query finds, the newest first."""
    del type  # ISSUE is the only one
    me = request_of(info).user.login
    words = [word.replace("@me", me) for word in _words(query)]
    found = [each for each in visible(info) if all(_fits(each, word) for word in words)]
    updated = any(word.startswith("sort:updated") for word in words)
    upwards = any(word.startswith("sort:") and word.endswith("-asc") for word in words)
    found.sort(
        key=lambda each: (each.updated_at if updated else each.created_at, each.number),
        reverse=not upwards,
    )
    return connection("search", found, given) | {"issueCount": len(found)}


def _words(query: str) -> list[str]:
    try:
        return shlex.split(query)
    except ValueError:  # a quote without its end
        return query.split()


def _fits(thread: Thread, word: str) -> bool:
    negated, plain = word.startswith("-"), word.removeprefix("-")
    key, colon, value = plain.partition(":")
    known = _QUALIFIERS.get(key) if colon else None
    if known is None:
        text = f"{thread.title}\n{thread.body or ''}".lower()
        return (plain.lower() in text) is not negated
    return known(thread, value.lower()) is not negated


def _is(thread: Thread, value: str) -> bool:
    match value:
        case "pr" | "pull-request":
            return isinstance(thread, Pull)
        case "issue":
            return not isinstance(thread, Pull)
        case "open" | "closed":
            return thread.state == value
        case "merged" | "unmerged":
            return isinstance(thread, Pull) and thread.merged is (value == "merged")
        case "draft":
            return isinstance(thread, Pull) and thread.draft
        case _:
            return True


def _mentions(thread: Thread, login: str) -> bool:
    texts = [thread.body or "", *(comment.body for comment in thread.comments)]
    pattern = re.compile(rf"(?<![\w-])@{re.escape(login)}(?![\w-])", re.IGNORECASE)
    return any(map(pattern.search, texts))


def _assigned(thread: Thread, login: str) -> bool:
    return any(who.login.lower() == login for who in thread.assignees)


def _requested(thread: Thread, login: str) -> bool:
    asked = thread.requested_reviewers if isinstance(thread, Pull) else []
    return any(who.login.lower() == login for who in asked)


def _wrote(thread: Thread, login: str) -> bool:
    return thread.user.login.lower() == login


def _involves(thread: Thread, login: str) -> bool:
    commented = any(comment.user.login.lower() == login for comment in thread.comments)
    return (
        commented or _wrote(thread, login) or _assigned(thread, login) or _mentions(thread, login)
    )


_QUALIFIERS: Mapping[str, Callable[[Thread, str], bool]] = {
    "assignee": _assigned,
    "author": _wrote,
    "base": lambda t, v: isinstance(t, Pull) and t.base_ref.lower() == v,
    "draft": lambda t, v: isinstance(t, Pull) and t.draft is (v == "true"),
    "head": lambda t, v: isinstance(t, Pull) and t.head_ref.lower() == v,
    "involves": _involves,
    "is": _is,
    "label": lambda t, v: any(label.name.lower() == v for label in t.labels),
    "mentions": _mentions,
    "repo": lambda t, v: t.repo.full_name.lower() == v,
    "review-requested": _requested,
    "sort": lambda _t, _v: True,
    "state": _is,
    "type": _is,
    "user": lambda t, v: t.repo.owner.login.lower() == v,
}
"""Qualifier to what it asks; values in lower case."""

mentions = _mentions
