"""What people do at the simulated forge: by git, by its pages and its API, as far as they may.

Each method is one deed. A deed that the forge refuses raises `RefusedError`, one that git or a rule
of a branch refuses raises `GitRefusedError`, and neither changes anything.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from bot.sandbox.errors import RefusedError, not_found
from bot.sandbox.records.accounts import Role, User
from bot.sandbox.records.repository import Comment, Pull, Repository, Review
from bot.sandbox.rules.accounts import Caller
from bot.sandbox.rules.permissions import NEEDS
from tests.simulation.forge_people_git import Gitter

if TYPE_CHECKING:
    pass

T = TypeVar("T")

_REPO = "/repos/{owner}/{repo}"
_PULL = f"{_REPO}/pulls/{{pull_number}}"
_COMMENT = f"{_REPO}/issues/comments/{{comment_id}}"


class Actor(Gitter):
    """Somebody with an account: git, and all that pages and API let people do.

    Args:
        forge: Where.
        login: Who.

    Attributes:
        login: Who.
    """

    # Pull requests.

    def propose(
        self,
        head: str,
        base: str = "main",
        *,
        title: str = "",
        body: str = "",
        draft: bool = False,
    ) -> int:
        """Open a pull request of a branch, or of `owner:branch` of a fork; gives its number."""

        def open_it(user: User) -> int:
            made = self._state.pulls.open(
                self.repo,
                user,
                title=title or f"Propose {head}",
                head=head,
                base=base,
                body=body,
                draft=draft,
            )
            return made.number

        return self._does(f"POST {_REPO}/pulls", open_it)

    def say(self, number: int, text: str) -> int:
        """Comment on a pull request; gives the comment's number."""
        operation = f"POST {_REPO}/issues/{{issue_number}}/comments"
        return self._does(
            operation, lambda user: self._state.talk.comment(self._pull(number), user, text).id
        )

    def edit_comment(self, comment: int, text: str) -> None:
        """Edit a comment, somebody else's too."""
        self._does(
            f"PATCH {_COMMENT}",
            lambda user: self._state.talk.edit(self._comment(comment), user, text),
        )

    def delete_comment(self, comment: int) -> None:
        """Delete a comment, somebody else's too."""
        self._does(
            f"DELETE {_COMMENT}", lambda user: self._state.talk.delete(self._comment(comment), user)
        )

    def review(self, number: int, event: str, text: str = "", *, commit: str = "") -> int:
        """Review: APPROVE, REQUEST_CHANGES or COMMENT; gives the review's number."""

        def submit(user: User) -> int:
            pull = self._pull(number)
            return self._state.reviews.submit(pull, user, event, text, commit or None).id

        return self._does(f"POST {_PULL}/reviews", submit)

    def dismiss(self, number: int, review: int, text: str = "No.") -> None:
        """Dismiss a review."""
        operation = f"PUT {_PULL}/reviews/{{review_id}}/dismissals"

        def dismiss(user: User) -> None:
            self._state.reviews.dismiss(self._review(number, review), user, text)

        self._does(operation, dismiss)

    def edit(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        base: str | None = None,
    ) -> None:
        """Change title, text or base branch of a pull request."""

        def change(user: User) -> None:
            self._state.pulls.edit(self._pull(number), user, title=title, body=body, base=base)

        self._does(f"PATCH {_PULL}", change)

    def close(self, number: int) -> None:
        """Close a pull request without merging it."""
        self._turn(number, "closed")

    def reopen(self, number: int) -> None:
        """Open a closed pull request again."""
        self._turn(number, "open")

    def set_draft(self, number: int, draft: bool) -> None:
        """Make a draft of a pull request, or mark it ready."""
        self._does(
            f"PATCH {_PULL}",
            lambda user: self._state.pulls.set_draft(self._pull(number), user, draft),
        )

    def merge(self, number: int, method: str = "merge", *, head: str | None = None) -> str:
        """Merge a pull request by hand; gives the merge result."""

        def merge(user: User) -> str:
            return self._state.pulls.merge(self._pull(number), user, sha=head, method=method)

        return self._does(f"PUT {_PULL}/merge", merge)

    def update_branch(self, number: int) -> None:
        """Press "Update branch"."""
        self._does(
            f"PUT {_PULL}/update-branch",
            lambda user: self._state.pulls.update_branch(self._pull(number), user, None),
        )

    def rerun(self, run: int) -> None:
        """Press "Re-run" on a check."""
        operation = f"POST {_REPO}/check-runs/{{check_run_id}}/rerequest"

        def press(user: User) -> None:
            self._state.checks.rerequest(self._state.checks.find(self.repo, run), user)

        self._does(operation, press)

    def report(self, sha: str, context: str, state: str) -> None:
        """Put a status on a commit: error, failure, pending or success."""

        def put(user: User) -> None:
            more: dict[str, None] = {"description": None, "target_url": None}
            checks = self._state.checks
            checks.add_status(self.repo, sha, user, state=state, context=context, **more)

        self._does(f"POST {_REPO}/statuses/{{sha}}", put)

    # Settings.

    def grant(self, login: str, role: str) -> None:
        """Give somebody a role of their own in the repository; "none" takes it away."""

        def grant(_: User) -> None:
            if role == "none":
                self.repo.members.pop(self._state.user(login).login, None)
            else:
                self._state.add_member(self.repo, login, role)

        self._administers(grant)

    def team(self, slug: str, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        """Change who belongs to a team of the owner's."""

        def change(_: User) -> None:
            team = self._state.organizations.team(self.repo.owner.login, slug)
            gone = [self._state.user(login) for login in remove]
            stay = [who for who in team.members if who not in gone]
            team.members = [*stay, *(self._state.user(login) for login in add)]

        self._administers(change)

    def protect(self, branch: str = "main", **rules: Any) -> None:
        """Protect a branch the classic way; see `ForgeState.protect`."""
        self._administers(lambda _: self._state.protect(self.repo, branch, **rules))

    def unprotect(self, branch: str = "main") -> None:
        """Take the classic protection of a branch away."""
        self._administers(lambda _: self.repo.protections.pop(branch, None))

    def add_rules(self, include: Iterable[str] = ("~DEFAULT_BRANCH",), **rules: Any) -> int:
        """Make a ruleset; see `BranchRules.add`. Gives its number."""
        return self._administers(lambda _: self._state.rules.add(self.repo, include, **rules).id)

    def remove_rules(self, number: int) -> None:
        """Take a ruleset away."""

        def remove(_: User) -> None:
            self._state.rules.remove(self.repo, self.repo.rulesets[number])

        self._administers(remove)

    def fork(self) -> Repository:
        """Copy the repository to one's own account, once."""
        parent = self.repo
        for known in self._state.data.repositories.values():
            if known.parent is parent and known.owner is self.user:
                return known
        with self._forge.change():
            made = self._state.fork(parent, self.login)
            self._state.refs_touched[made.id] = made
        return made

    # Below all of them.

    def _turn(self, number: int, state: str) -> None:
        self._does(
            f"PATCH {_PULL}",
            lambda user: self._state.pulls.edit(self._pull(number), user, state=state),
        )

    def _does(self, operation: str, deed: Callable[[User], T]) -> T:
        """Do something by the API, as far as it is allowed."""
        user = self.user
        self._forge.accounts.allow(Caller(user=user), NEEDS[operation], self.repo)
        if self.repo.archived:
            raise RefusedError(403, "Repository was archived so is read-only.")
        with self._forge.change():
            return deed(user)

    def _administers(self, deed: Callable[[User], T]) -> T:
        user = self.user
        self._state.need(self.repo, user, Role.ADMIN)
        self._state.roles_touched[self.repo.id] = self.repo
        with self._forge.change():
            return deed(user)

    def _pull(self, number: int) -> Pull:
        return self._state.pulls.find(self.repo, number)

    def _comment(self, number: int) -> Comment:
        return self._state.talk.find(self.repo, number)

    def _review(self, number: int, review: int) -> Review:
        found = next((r for r in self._pull(number).reviews if r.id == review), None)
        if found is None:
            raise not_found()
        return found
