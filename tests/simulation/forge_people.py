"""What people do at the simulated forge: by git, by its pages and its API, as far as they may.

Each method is one deed. A deed that the forge refuses raises `RefusedError`, one that git or a rule
of a branch refuses raises `GitRefusedError`, and neither changes anything.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from bot.git.port import GitRefusedError, Pushed, RefUpdate
from bot.sandbox.errors import RefusedError, not_found
from bot.sandbox.git import history, trees
from bot.sandbox.git.objects import Ident, Tag
from bot.sandbox.git.protocol import NewCommit
from bot.sandbox.records.accounts import Role, User
from bot.sandbox.records.repository import Comment, Pull, Repository, Review
from bot.sandbox.rules.accounts import Caller
from bot.sandbox.rules.permissions import NEEDS
from lifecycle.names import Ref
from tests.memory.git_objects import MemoryObjects
from tests.simulation.forge_door import Door
from tests.simulation.forge_git import MemoryGit

if TYPE_CHECKING:
    from tests.simulation.forge import SimulatedForge

T = TypeVar("T")

_REPO = "/repos/{owner}/{repo}"
_PULL = f"{_REPO}/pulls/{{pull_number}}"
_COMMENT = f"{_REPO}/issues/comments/{{comment_id}}"

Files = Mapping[str, bytes | None]
"""Path to content; None takes the file away."""


class Actor:
    """Somebody with an account.

    Args:
        forge: Where.
        login: Who.

    Attributes:
        login: Who.
    """

    def __init__(self, forge: "SimulatedForge", login: str) -> None:
        self._forge = forge
        self._state = forge.state
        self.login = login
        self._clones: dict[MemoryGit, MemoryGit] = {}

    @property
    def user(self) -> User:
        """The account."""
        return self._state.user(self.login)

    @property
    def repo(self) -> Repository:
        """Where all is done where no other is named: the first repository of the forge."""
        return next(iter(self._state.data.repositories.values()))

    # Git.

    def commit(
        self,
        files: Files,
        *parents: str,
        message: str = "Change",
        author: str = "",
        who: Ident | None = None,
        repo: Repository | None = None,
    ) -> str:
        """Write a commit into a repository's objects; nothing names it yet.

        Args:
            files: What differs from the first parent; a commit without parents has only these.
            parents: Of the commit.
            message: Of the commit.
            author: Login of whoever the commit says wrote it; the committer is this person.
            who: What the commit says of both, in place of these.
            repo: Whose objects it can stand on.
        """
        git = self._mine(repo)
        tree: str | None = git.commit(parents[0]).tree if parents else None
        for path, content in files.items():
            entry = None if content is None else ("100644", git.write_blob(content))
            tree = trees.put(git, tree, path, entry)
        me = self._state.person(self.user)
        wrote = self._state.person(self._state.user(author)) if author else me
        new = NewCommit(
            tree=tree or git.write_tree(()),
            parents=parents,
            message=message,
            author=who or wrote,
            committer=who or me,
        )
        return git.write_commit(new)

    def push(
        self,
        branch: str,
        files: Files,
        message: str = "Change",
        *,
        base: str | None = None,
        force: bool = False,
        author: str = "",
        who: Ident | None = None,
        repo: Repository | None = None,
    ) -> str:
        """Commit and push; gives the commit.

        Args:
            branch: Which; made where it is not there.
            files: What to change.
            message: Of the commit.
            base: A branch or commit to stand on; None for the branch itself, or the default branch
                where it is not there yet; "" for none.
            force: The branch is moved even where that leaves commits behind.
            author: See `commit`.
            who: See `commit`.
            repo: Where to.

        Raises:
            GitRefusedError: The branch is elsewhere, or a rule forbids it.
        """
        repo = repo or self.repo
        here = repo.branch(branch)
        start = here or repo.branch(repo.default_branch)
        if base is not None:
            start = repo.branch(base) or base
        parents = (start,) if start else ()
        made = self.commit(files, *parents, message=message, author=author, who=who, repo=repo)
        self.push_commit(branch, made, force=force, repo=repo)
        return made

    def push_commit(
        self, branch: str, commit: str, *, force: bool = False, repo: Repository | None = None
    ) -> None:
        """Move a branch to a commit; see `push`."""
        repo = repo or self.repo
        here = repo.branch(branch)
        if here is not None and not force and not history.contains(self._mine(repo), commit, here):
            raise GitRefusedError("non-fast-forward")
        self._move({f"refs/heads/{branch}": commit}, repo)

    def merge_locally(
        self,
        branch: str,
        other: str,
        message: str = "Merge",
        *,
        who: Ident | None = None,
        repo: Repository | None = None,
    ) -> str:
        """Merge a branch or commit into a branch by git, and push it."""
        repo = repo or self.repo
        ours, theirs = self._tip(repo, branch), repo.branch(other) or other
        made = self.merge_commit(ours, theirs, message, who, repo)
        self.push_commit(branch, made, repo=repo)
        return made

    def merge_commit(
        self,
        ours: str,
        theirs: str,
        message: str,
        who: Ident | None = None,
        repo: Repository | None = None,
    ) -> str:
        """Merge a commit into another; nothing names the result yet.

        Raises:
            GitRefusedError: They conflict.
        """
        git = self._mine(repo)
        tree = git.merge_tree(ours, theirs)
        if tree is None:
            raise GitRefusedError("they conflict")
        me = who or self._state.person(self.user)
        new = NewCommit(tree=tree, parents=(ours, theirs), message=message, author=me, committer=me)
        return git.write_commit(new)

    def revert(self, branch: str, commit: str, repo: Repository | None = None) -> str:
        """Push the state before a commit as a new one on top of a branch."""
        repo = repo or self.repo
        git, tip = self._mine(repo), self._tip(repo, branch)
        before = git.commit(git.commit(commit).parents[0]).tree
        me = self._state.person(self.user)
        words = f"Revert {commit[:7]}"
        new = NewCommit(tree=before, parents=(tip,), message=words, author=me, committer=me)
        made = git.write_commit(new)
        self.push_commit(branch, made, repo=repo)
        return made

    def delete_branch(self, branch: str, repo: Repository | None = None) -> None:
        """Delete a branch."""
        self._move({f"refs/heads/{branch}": ""}, repo or self.repo)

    def rename_branch(self, branch: str, name: str, repo: Repository | None = None) -> None:
        """Push a branch under another name and delete the old one, at once."""
        repo = repo or self.repo
        tip = self._tip(repo, branch)
        self._move({f"refs/heads/{name}": tip, f"refs/heads/{branch}": ""}, repo)

    def tag(
        self,
        name: str,
        commit: str,
        text: str | None = None,
        *,
        force: bool = False,
        repo: Repository | None = None,
    ) -> None:
        """Push a tag; annotated where it has a text."""
        repo, ref, target = repo or self.repo, f"refs/tags/{name}", commit
        if ref in repo.refs and not force:
            raise GitRefusedError("already exists")
        if text is not None:
            me = self._state.person(self.user)
            made = Tag(name=name, target=commit, kind="commit", tagger=me, message=text)
            target = self._mine(repo).write_tag(made)
        self._move({ref: target}, repo)

    def delete_tag(self, name: str, repo: Repository | None = None) -> None:
        """Delete a tag."""
        self._move({f"refs/tags/{name}": ""}, repo or self.repo)

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

    def _move(self, refs: Mapping[str, str], repo: Repository) -> None:
        """Move refs by a push from where they are now."""
        visitor = self._forge.visit(self.user)
        visitor.allow(repo, writes=True)
        updates = [
            RefUpdate(Ref(ref), repo.refs.get(ref, ""), after) for ref, after in refs.items()
        ]
        door = Door(self._forge, repo, self.login)
        if door.take(visitor, self._mine(repo).objects, updates) is not Pushed.DONE:
            raise GitRefusedError("the refs could not be moved")

    def _mine(self, repo: Repository | None) -> MemoryGit:
        """One's own clone: what is written there is nowhere else before it is pushed."""
        there = self._forge.store.open((repo or self.repo).id)
        if there not in self._clones:
            self._clones[there] = there.beside(MemoryObjects())
        return self._clones[there]

    def _tip(self, repo: Repository, branch: str) -> str:
        tip = repo.branch(branch)
        if tip is None:
            raise GitRefusedError(f"there is no branch {branch}")
        return tip

    def _pull(self, number: int) -> Pull:
        return self._state.pulls.find(self.repo, number)

    def _comment(self, number: int) -> Comment:
        return self._state.talk.find(self.repo, number)

    def _review(self, number: int, review: int) -> Review:
        found = next((r for r in self._pull(number).reviews if r.id == review), None)
        if found is None:
            raise not_found()
        return found
