"""The forge's rules of issues; pull requests are issues to everything that talks or labels."""

from __future__ import annotations

from bot.sandbox.errors import RefusedError, invalid, not_found
from bot.sandbox.records.accounts import Role, User
from bot.sandbox.records.repository import Issue, Pull, Repository, Thread
from bot.sandbox.records.talk import LastEdit, TimelineEvent
from bot.sandbox.rules import limits
from bot.sandbox.rules.context import Context
from bot.sandbox.rules.pulls import Pulls
from bot.sandbox.rules.talk import Talk

_REASONS = ("completed", "not_planned", "duplicate", "reopened")


class IssueRules:
    """Issues of a forge; the caller holds `ForgeState.lock`."""

    def __init__(self, state: Context, pulls: Pulls, talk: Talk) -> None:
        self._state = state
        self._pulls = pulls
        self._talk = talk

    def find(self, repo: Repository, number: int) -> Thread:
        """An issue or pull request by its number; 404 when there is none."""
        found = repo.issues.get(number) or repo.pulls.get(number)
        if found is None:
            raise not_found()
        if isinstance(found, Issue):
            self.enabled(repo)
        return found

    def enabled(self, repo: Repository) -> None:
        """Refuse what is about issues where a repository has none; pull requests stay."""
        if not repo.has_issues:
            raise RefusedError(410, "Issues are disabled for this repo")

    def open(self, repo: Repository, user: User, title: str, body: str | None) -> Issue:
        """Open an issue."""
        self.enabled(repo)
        if not title.strip():
            raise invalid("Issue", "title", "missing_field")
        limits.check_title("Issue", title)
        limits.check_body("Issue", body)
        now = self._state.now()
        made = Issue(
            id=self._state.next_id(),
            number=repo.next_number(),
            repo=repo,
            user=user,
            title=title,
            body=body,
            created_at=now,
            updated_at=now,
        )
        repo.issues[made.number] = made
        self._state.emit("issues", "opened", repo, user, issue=made)
        return made

    def edit(
        self,
        thread: Thread,
        user: User,
        *,
        title: str | None = None,
        body: str | None = None,
        state: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Change title, text or state; None leaves a field as it is."""
        if isinstance(thread, Pull):
            self._pulls.edit(thread, user, title=title, body=body, state=state)
            return
        if not isinstance(thread, Issue):
            raise not_found()
        self._own(thread, user)
        limits.check_title("Issue", title)
        limits.check_body("Issue", body)
        if state not in (None, "open", "closed"):
            raise invalid("Issue", "state")
        if reason not in (None, *_REASONS):
            raise invalid("Issue", "state_reason")
        changes: dict[str, object] = {}
        if title is not None and title != thread.title:
            if not title.strip():
                raise invalid("Issue", "title", "missing_field")
            changes["title"], thread.title = {"from": thread.title}, title
        if body is not None and body != thread.body:
            changes["body"], thread.body = {"from": thread.body or ""}, body
            thread.edit = LastEdit(user, self._state.now())
            thread.edits.append(thread.edit)
        if changes:
            thread.updated_at = self._state.now()
            self._state.emit("issues", "edited", thread.repo, user, issue=thread, changes=changes)
        if state is not None and state != thread.state:
            self._turn(thread, user, state, reason)

    def lock(self, thread: Thread, user: User, locked: bool) -> None:
        """Let only who may write speak, or everybody again."""
        if user.app is None and self._state.role(thread.repo, user) < Role.WRITE:
            raise RefusedError(403, "Must have admin rights to Repository.")
        if thread.locked != locked:
            thread.locked, thread.updated_at = locked, self._state.now()
            self._talk.tell(thread, "locked" if locked else "unlocked", user)

    def _turn(self, issue: Issue, user: User, state: str, reason: str | None) -> None:
        now, closing = self._state.now(), state == "closed"
        issue.state, issue.updated_at = state, now
        issue.closed_at = now if closing else None
        issue.state_reason = reason or ("completed" if closing else "reopened")
        kind = "closed" if closing else "reopened"
        issue.events.append(
            TimelineEvent(
                id=self._state.next_id(),
                kind=kind,
                actor=user,
                at=now,
                text=f"{kind} this",
                detail={"reason": issue.state_reason},
            )
        )
        self._state.emit("issues", kind, issue.repo, user, issue=issue)

    def _own(self, issue: Issue, user: User) -> None:
        if issue.user is user or user.app is not None:
            return  # what an App may change is decided by its permissions
        if self._state.role(issue.repo, user) < Role.TRIAGE:
            raise RefusedError(403, "Must have admin rights to Repository.")
