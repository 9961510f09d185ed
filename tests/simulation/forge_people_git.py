"""What people do at the simulated forge by git, as far as its rules let them.

What git or a rule of a branch refuses raises `GitRefusedError` and changes nothing.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from bot.git.port import GitRefusedError, Pushed, RefUpdate
from bot.sandbox.git import history, trees
from bot.sandbox.git.objects import Ident, TagObject
from bot.sandbox.git.protocol import NewCommit
from bot.sandbox.records.accounts import User
from bot.sandbox.records.repository import Repository
from lifecycle.names import Ref
from tests.memory.git_objects import MemoryObjects
from tests.simulation.forge_git import MemoryGit
from tests.simulation.forge_remote import RemoteRepository

if TYPE_CHECKING:
    from tests.simulation.forge import SimulatedForge

Files = Mapping[str, bytes | None]
"""Path to content; None takes the file away."""


class Gitter:
    """Somebody with an account, as far as git goes.

    Args:
        forge: Where.
        login: Who.
        repo: Where all is done where no other is named; the first repository of the forge by
            default.

    Attributes:
        login: Who.
    """

    def __init__(self, forge: "SimulatedForge", login: str, repo: Repository | None = None) -> None:
        self._forge = forge
        self._repo = repo
        self._state = forge.state
        self.login = login
        self._clones: dict[MemoryGit, MemoryGit] = {}

    @property
    def user(self) -> User:
        """The account."""
        return self._state.user(self.login)

    @property
    def repo(self) -> Repository:
        """Where all is done where no other is named."""
        return self._repo or next(iter(self._state.data.repositories.values()))

    def commit(
        self,
        files: Files,
        *parents: str,
        message: str = "Change",
        author: str = "",
        who: Ident | None = None,
        repo: Repository | None = None,
        links: Collection[str] = (),
    ) -> str:
        """Write a commit into a repository's objects; nothing names it yet.

        Args:
            files: What differs from the first parent; a commit without parents has only these.
            parents: Of the commit.
            message: Of the commit.
            author: Login of whoever the commit says wrote it; the committer is this person.
            who: What the commit says of both, in place of these.
            repo: Whose objects it can stand on.
            links: Which of the files are symlinks; what they hold is what they name.
        """
        git = self._mine(repo)
        tree: str | None = git.commit(parents[0]).tree if parents else None
        for path, content in files.items():
            mode = "120000" if path in links else "100644"
            entry = None if content is None else (mode, git.write_blob(content))
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
        links: Collection[str] = (),
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
            links: See `commit`.

        Raises:
            GitRefusedError: The branch is elsewhere, or a rule forbids it.
        """
        repo = repo or self.repo
        here = repo.branch(branch)
        start = here or repo.branch(repo.default_branch)
        if base is not None:
            start = repo.branch(base) or base
        parents = (start,) if start else ()
        made = self.commit(
            files, *parents, message=message, author=author, who=who, repo=repo, links=links
        )
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
        *,
        more: Mapping[str, bytes] | None = None,
    ) -> str:
        """Merge a commit into another; nothing names the result yet.

        Args:
            ours: The first parent.
            theirs: The second one.
            message: Of the merge.
            who: See `commit`.
            repo: See `commit`.
            more: What it holds that neither side has so.

        Raises:
            GitRefusedError: They conflict.
        """
        git = self._mine(repo)
        tree = git.merge_tree(ours, theirs)
        if tree is None:
            raise GitRefusedError("they conflict")
        for path, content in (more or {}).items():
            tree = trees.put(git, tree, path, ("100644", git.write_blob(content)))
        assert tree is not None
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
            made = TagObject(name=name, target=commit, kind="commit", tagger=me, message=text)
            target = self._mine(repo).write_tag(made)
        self._move({ref: target}, repo)

    def delete_tag(self, name: str, repo: Repository | None = None) -> None:
        """Delete a tag."""
        self._move({f"refs/tags/{name}": ""}, repo or self.repo)

    def _move(self, refs: Mapping[str, str], repo: Repository) -> None:
        """Move refs by a push from where they are now."""
        visitor = self._forge.visit(self.user)
        visitor.allow(repo, writes=True)
        updates = [
            RefUpdate(Ref(ref), repo.refs.get(ref, ""), after) for ref, after in refs.items()
        ]
        remote = RemoteRepository(self._forge, repo, self.login)
        if remote.take(visitor, self._mine(repo).objects, updates) is not Pushed.DONE:
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
