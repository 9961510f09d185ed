"""Issues, whose numbers are apart from those of merge requests.

Source: https://docs.gitlab.com/api/issues/
"""

from __future__ import annotations

import re
from typing import Any

from bot.sandbox.gitlab import levels
from bot.sandbox.gitlab.errors import forbidden, missing, refused
from bot.sandbox.gitlab.rules import threads
from bot.sandbox.records.accounts import User
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.repository import Issue, Repository
from bot.sandbox.records.talk import LastEdit
from bot.sandbox.rules.context import Context


def find(repo: Repository, number: int) -> Issue:
    """An issue by its iid; 404 where there is none, or the project has issues turned off."""
    found = repo.issues.get(number) if repo.has_issues else None
    if found is None:
        raise missing()
    return found


def open(  # noqa: A001 - the verb of the domain, as in `IssueRules.open`
    state: Context, repo: Repository, user: User, title: str, description: str | None
) -> Issue:
    """Open an issue; 403 where the project has none."""
    if not repo.has_issues:
        raise forbidden()
    if not title.strip():
        raise refused(400, {"title": ["can't be blank"]})
    now = state.now()
    made = Issue(
        id=state.next_id(),
        number=repo.next_number(),
        repo=repo,
        user=user,
        title=title,
        body=description,
        created_at=now,
        updated_at=now,
    )
    repo.issues[made.number] = made
    state.emit("issue", "open", repo, user, issue=made)
    return made


def edit(
    state: Context,
    issue: Issue,
    user: User,
    *,
    title: str | None = None,
    description: str | None = None,
    state_event: str | None = None,
    others: dict[str, Any] | None = None,
) -> None:
    """Change an issue; None leaves a field as it is.

    Args:
        state: The forge.
        issue: The issue.
        user: Who changes it: its author, or a Reporter.
        title: One line.
        description: Markdown.
        state_event: `close` or `reopen`.
        others: What was changed besides, to be told by the same webhook.
    """
    if not can_edit(state, issue, user):
        raise forbidden()
    changes = dict(others or {})
    if title is not None and title != issue.title:
        if not title.strip():
            raise refused(400, {"title": ["can't be blank"]})
        changes["title"], issue.title = {"previous": issue.title, "current": title}, title
    if description is not None and description != (issue.body or ""):
        ticked = _boxes_changed(issue.body or "", description)
        changes["description"] = {"previous": issue.body, "current": description}
        issue.body, issue.edit = description, LastEdit(user, state.now())
        issue.edits.append(issue.edit)
        for note in ticked:
            threads.system(state, issue, user, note, "task")
        if not ticked:
            threads.system(state, issue, user, "changed the description", "description")
    if changes:
        before, issue.updated_at = issue.updated_at, state.now()
        changes["updated_at"] = {"previous": before, "current": issue.updated_at}
        state.emit("issue", "update", issue.repo, user, issue=issue, changes=changes)
    if state_event == "close" and issue.state == "open":
        close(state, issue, user)
    elif state_event == "reopen" and issue.state != "open":
        issue.state, issue.closed_at, issue.updated_at = "open", None, state.now()
        state.emit("issue", "reopen", issue.repo, user, issue=issue)


def _boxes_changed(before: str, after: str) -> list[str]:
    """What GitLab notes of boxes that an edit changed; nothing where it changed none.

    A box counts where the one at the same place has the same text (`Taskable.get_updated_tasks`).
    Its Markdown is escaped, and a comment in it loses its `<!--` and `-->`.
    """
    old = [(found["mark"], found["text"]) for found in _TASK.finditer(before)]
    new = [(found["mark"], found["text"]) for found in _TASK.finditer(after)]
    return [
        f"marked the checklist item **{_ESCAPED.sub(_escape, _COMMENT.sub('', now[1]).strip())}**"
        f" as {'incomplete' if now[0] == ' ' else 'completed'}"
        for was, now in zip(old, new, strict=False)
        if was[1] == now[1] and (was[0] == " ") != (now[0] == " ")
    ]


_TASK = re.compile(r"^\s*(?:[-+*]|\d+[.)])\s+\[(?P<mark>[ xX])\](?P<text>[ \t].+)$", re.MULTILINE)
_COMMENT = re.compile(r"<!--|-->")
_ESCAPED = re.compile(r"[!-.;-@\[-`{-~]")


def _escape(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


def can_edit(state: Context, issue: Issue, user: User | None) -> bool:
    """Whether somebody may change an issue: its author may, and Reporters."""
    return issue.user is user or levels.level(state, issue.repo, user) >= AccessLevel.REPORTER


def close(state: Context, issue: Issue, user: User) -> None:
    """Close an issue."""
    now = state.now()
    issue.state, issue.closed_at, issue.updated_at = "closed", now, now
    state.emit("issue", "close", issue.repo, user, issue=issue)
