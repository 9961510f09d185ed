"""Comments, reactions, labels and assignees."""

from __future__ import annotations

from bot.sandbox.errors import RefusedError, custom, invalid, not_found
from bot.sandbox.records.accounts import Role, User
from bot.sandbox.records.repository import Comment, Pull, Repository, Thread
from bot.sandbox.records.talk import Label, LastEdit, Reaction
from bot.sandbox.rules import limits
from bot.sandbox.rules.context import Context

CONTENTS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")
"""The eight emoji that may be a reaction, in GitHub's spelling."""

_MOST_PEOPLE = 10  # GitHub's limit of assignees
_MOST_LABELS = 100  # GitHub's limit of labels on one issue


class Talk:
    """Comments, reactions and labels of a forge; the caller holds `ForgeState.lock`."""

    def __init__(self, state: Context) -> None:
        self._state = state

    def comment(self, thread: Thread, user: User, body: str) -> Comment:
        """Write a comment; 403 in a locked conversation for Apps and for who may not write."""
        _check_body(body)
        writes = user.app is None and self._state.role(thread.repo, user) >= Role.WRITE
        if thread.locked and not writes:
            raise RefusedError(403, "Unable to create comment because issue is locked.")
        now = self._state.now()
        made = Comment(
            id=self._state.next_id(),
            thread=thread,
            user=user,
            body=body,
            created_at=now,
            updated_at=now,
        )
        thread.comments.append(made)
        thread.repo.comments[made.id] = made
        thread.updated_at = now
        self._state.emit("issue_comment", "created", thread.repo, user, comment=made)
        return made

    def edit(self, comment: Comment, user: User, body: str) -> None:
        """Change a comment's text; its author may, and who may write."""
        self._own(comment, user)
        _check_body(body)
        before, comment.body = comment.body, body
        comment.updated_at = comment.thread.updated_at = self._state.now()
        comment.edit = LastEdit(user, comment.updated_at)
        changes = {"body": {"from": before}}
        self._state.emit(
            "issue_comment", "edited", comment.thread.repo, user, comment=comment, changes=changes
        )

    def delete(self, comment: Comment, user: User) -> None:
        """Take a comment away; its author may, and who may write."""
        self._own(comment, user)
        comment.thread.comments.remove(comment)
        del comment.thread.repo.comments[comment.id]
        self._state.emit("issue_comment", "deleted", comment.thread.repo, user, comment=comment)

    def find(self, repo: Repository, comment_id: int) -> Comment:
        """A comment of a repository by its id; 404 when there is none."""
        found = repo.comments.get(comment_id)
        if found is None:
            raise not_found()
        return found

    def react(self, on: Comment | Thread, user: User, content: str) -> tuple[Reaction, bool]:
        """React; the same reaction again is the one that is there.

        Returns:
            The reaction, and whether it is new.
        """
        if content not in CONTENTS:
            raise invalid("Reaction", "content")
        for old in on.reactions:
            if old.user is user and old.content == content:
                return old, False
        made = Reaction(self._state.next_id(), user, content, self._state.now())
        on.reactions.append(made)
        return made, True

    def unreact(self, on: Comment | Thread, user: User, reaction_id: int) -> None:
        """Take one's own reaction back; 404 for any other."""
        found = next((r for r in on.reactions if r.id == reaction_id and r.user is user), None)
        if found is None:
            raise not_found()
        on.reactions.remove(found)

    def create_label(
        self, repo: Repository, name: str, color: str, description: str | None
    ) -> Label:
        """Make a label; 422 `already_exists` for a name that is taken in any case."""
        if not name:
            raise invalid("Label", "name", "missing_field")
        if name.lower() in repo.labels:
            raise invalid("Label", "name", "already_exists")
        made = Label(self._state.next_id(), name, color or "ededed", description)
        repo.labels[name.lower()] = made
        return made

    def label(self, repo: Repository, name: str) -> Label:
        """A label by its name, in any case; 404 when there is none."""
        found = repo.labels.get(name.lower())
        if found is None:
            raise not_found()
        return found

    def edit_label(
        self, label: Label, repo: Repository, name: str | None, color: str | None, text: str | None
    ) -> None:
        """Change a label's name, color or description; None leaves a field."""
        if name is not None and name.lower() != label.name.lower() and name.lower() in repo.labels:
            raise invalid("Label", "name", "already_exists")
        if name:
            del repo.labels[label.name.lower()]
            label.name = name
            repo.labels[name.lower()] = label
        label.color = color or label.color
        label.description = text if text is not None else label.description

    def delete_label(self, repo: Repository, label: Label) -> None:
        """Take a label away, off every issue and pull request too."""
        del repo.labels[label.name.lower()]
        for thread in repo.threads:
            if label in thread.labels:
                thread.labels.remove(label)

    def add_labels(self, thread: Thread, user: User, names: list[str]) -> None:
        """Put labels on; a name that the repository lacks becomes a label, as on GitHub."""
        for name in names:
            lacking = name.lower() not in thread.repo.labels
            label = (
                self.create_label(thread.repo, name, "ededed", None)
                if lacking
                else self.label(thread.repo, name)
            )
            if label in thread.labels:
                continue
            if len(thread.labels) >= _MOST_LABELS:
                raise custom("Label", f"may have at most {_MOST_LABELS} labels")
            thread.labels.append(label)
            thread.updated_at = self._state.now()
            self.tell(thread, "labeled", user, label=label)

    def remove_label(self, thread: Thread, user: User, name: str) -> None:
        """Take a label off; 404 "Label does not exist" when it is not on."""
        label = thread.repo.labels.get(name.lower())
        if label is None or label not in thread.labels:
            raise RefusedError(404, "Label does not exist")
        thread.labels.remove(label)
        thread.updated_at = self._state.now()
        self.tell(thread, "unlabeled", user, label=label)

    def set_labels(self, thread: Thread, user: User, names: list[str]) -> None:
        """Make the labels on an issue or pull request exactly these."""
        wanted = {name.lower() for name in names}
        for label in [label for label in thread.labels if label.name.lower() not in wanted]:
            self.remove_label(thread, user, label.name)
        self.add_labels(thread, user, names)

    def assign(self, thread: Thread, user: User, logins: list[str]) -> None:
        """Assign people; who cannot be assigned is passed over, as on GitHub."""
        for login in logins:
            found = self._state.data.users.get(login.lower())
            if found is None or found in thread.assignees or len(thread.assignees) >= _MOST_PEOPLE:
                continue
            if self._assignable(thread, found):
                thread.assignees.append(found)
                thread.updated_at = self._state.now()
                self.tell(thread, "assigned", user, assignee=found)

    def _assignable(self, thread: Thread, found: User) -> bool:
        """Who may write, members who may read, and who takes part in the conversation."""
        if found is thread.user or any(c.user is found for c in thread.comments):
            return True
        least = Role.READ if thread.repo.owner.kind == "Organization" else Role.WRITE
        return self._state.role(thread.repo, found) >= least

    def unassign(self, thread: Thread, user: User, logins: list[str]) -> None:
        """Take people off."""
        gone = {login.lower() for login in logins}
        for found in [one for one in thread.assignees if one.login.lower() in gone]:
            thread.assignees.remove(found)
            thread.updated_at = self._state.now()
            self.tell(thread, "unassigned", user, assignee=found)

    def set_assignees(self, thread: Thread, user: User, logins: list[str]) -> None:
        """Make the people assigned exactly these; 422 where one cannot be assigned."""
        for login in logins:
            found = self._state.data.users.get(login.lower())
            if found is None or not self._assignable(thread, found):
                raise invalid("Issue", "assignees")
        wanted = {login.lower() for login in logins}
        others = [one.login for one in thread.assignees if one.login.lower() not in wanted]
        self.unassign(thread, user, others)
        self.assign(thread, user, logins)

    def tell(self, thread: Thread, action: str, user: User, **extra: object) -> None:
        """Tell of an issue or of a pull request, each by its own event."""
        if isinstance(thread, Pull):
            self._state.emit("pull_request", action, thread.repo, user, pull=thread, **extra)
        else:
            self._state.emit("issues", action, thread.repo, user, issue=thread, **extra)

    def _own(self, comment: Comment, user: User) -> None:
        repo = comment.thread.repo
        if comment.user is user or user.app is not None:
            return  # what an App may change is decided by its permissions
        if self._state.role(repo, user) < Role.WRITE:
            raise RefusedError(403, "Must have admin rights to Repository.")


def _check_body(body: str) -> None:
    if not body.strip():
        raise custom("IssueComment", "body cannot be blank", "body")
    limits.check_body("IssueComment", body)
