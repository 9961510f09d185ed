"""The forge's rules of conversation: comments, reactions and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.sandbox import limits
from bot.sandbox.errors import RefusedError, custom, invalid, not_found
from bot.sandbox.model import Comment, Edit, Label, Pull, Reaction, Repository, Role, User

if TYPE_CHECKING:
    from bot.sandbox.state import State

CONTENTS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")
"""The eight emoji that may be a reaction, in GitHub's spelling."""

_MOST_LABELS = 100  # GitHub's limit of labels on one issue


class Talk:
    """Comments, reactions and labels of a forge; the caller holds `State.lock`."""

    def __init__(self, state: State) -> None:
        self._state = state

    def comment(self, pull: Pull, user: User, body: str) -> Comment:
        """Write a comment."""
        _check_body(body)
        now = self._state.now()
        made = Comment(
            id=self._state.next_id(),
            pull=pull,
            user=user,
            body=body,
            created_at=now,
            updated_at=now,
        )
        pull.comments.append(made)
        pull.updated_at = now
        self._state.emit("issue_comment", "created", pull.repo, user, comment=made)
        return made

    def edit(self, comment: Comment, user: User, body: str) -> None:
        """Change a comment's text; its author may, and who may write."""
        self._own(comment, user)
        _check_body(body)
        before, comment.body = comment.body, body
        comment.updated_at = comment.pull.updated_at = self._state.now()
        comment.edit = Edit(user, comment.updated_at)
        changes = {"body": {"from": before}}
        self._state.emit(
            "issue_comment", "edited", comment.pull.repo, user, comment=comment, changes=changes
        )

    def delete(self, comment: Comment, user: User) -> None:
        """Take a comment away; its author may, and who may write."""
        self._own(comment, user)
        comment.pull.comments.remove(comment)
        self._state.emit("issue_comment", "deleted", comment.pull.repo, user, comment=comment)

    def find(self, repo: Repository, comment_id: int) -> Comment:
        """A comment of a repository by its id; 404 when there is none."""
        for pull in repo.pulls.values():
            for comment in pull.comments:
                if comment.id == comment_id:
                    return comment
        raise not_found()

    def react(self, on: Comment | Pull, user: User, content: str) -> tuple[Reaction, bool]:
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

    def unreact(self, on: Comment | Pull, user: User, reaction_id: int) -> None:
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

    def add_labels(self, pull: Pull, user: User, names: list[str]) -> None:
        """Put labels on; a name that the repository lacks becomes a label, as on GitHub."""
        for name in names:
            lacking = name.lower() not in pull.repo.labels
            label = (
                self.create_label(pull.repo, name, "ededed", None)
                if lacking
                else self.label(pull.repo, name)
            )
            if label in pull.labels:
                continue
            if len(pull.labels) >= _MOST_LABELS:
                raise custom("Label", f"may have at most {_MOST_LABELS} labels")
            pull.labels.append(label)
            pull.updated_at = self._state.now()
            self._state.emit("pull_request", "labeled", pull.repo, user, pull=pull, label=label)

    def remove_label(self, pull: Pull, user: User, name: str) -> None:
        """Take a label off; 404 "Label does not exist" when it is not on."""
        label = pull.repo.labels.get(name.lower())
        if label is None or label not in pull.labels:
            raise RefusedError(404, "Label does not exist")
        pull.labels.remove(label)
        pull.updated_at = self._state.now()
        self._state.emit("pull_request", "unlabeled", pull.repo, user, pull=pull, label=label)

    def set_labels(self, pull: Pull, user: User, names: list[str]) -> None:
        """Make the labels on a pull request exactly these."""
        wanted = {name.lower() for name in names}
        for label in [label for label in pull.labels if label.name.lower() not in wanted]:
            self.remove_label(pull, user, label.name)
        self.add_labels(pull, user, names)

    def assign(self, pull: Pull, logins: list[str]) -> None:
        """Make the assignees exactly these; only who may read the repository can be one."""
        users = [self._state.data.users.get(login.lower()) for login in logins]
        found = [u for u in users if u and self._state.role(pull.repo, u) >= Role.READ]
        if len(found) < len(logins):
            raise invalid("Issue", "assignees")
        pull.assignees = list(dict.fromkeys(found))
        pull.updated_at = self._state.now()

    def _own(self, comment: Comment, user: User) -> None:
        repo = comment.pull.repo
        if comment.user is user or user.app is not None:
            return  # what an App may change is decided by its permissions
        if self._state.role(repo, user) < Role.WRITE:
            raise RefusedError(403, "Must have admin rights to Repository.")


def _check_body(body: str) -> None:
    if not body.strip():
        raise custom("IssueComment", "body cannot be blank", "body")
    limits.check_body("IssueComment", body)
