"""What people can do at the forge: its own rules, called as the person."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import TypeVar

from bot.sandbox.errors import RefusedError
from bot.sandbox.git import trees
from bot.sandbox.git.objects import Ident, Tag
from bot.sandbox.git.protocol import NewCommit
from bot.sandbox.records.accounts import Role, User
from bot.sandbox.records.refs import ZERO, RefChange
from bot.sandbox.records.repository import Comment, Pull, Repository
from tests.simulation.diary import Diary
from tests.simulation.forge import TouchedState
from tests.simulation.setting import BOT

T = TypeVar("T")

MOST_OPEN = 5
"""Open pull requests at which nobody begins another by chance: each costs a look at each change."""


class ImpossibleError(Exception):
    """There is nothing now that this could be done to."""


@dataclass
class Hands:
    """What people do, as whom it is done.

    Attributes:
        state: The forge.
        repo: Where it is done.
        diary: Where it is written down what they mean.
        draw: Where choices come from.
        forks: By owner.
    """

    state: TouchedState
    repo: Repository
    diary: Diary
    draw: Random
    forks: dict[str, Repository] = field(default_factory=dict)
    told: int = 0

    # --- choosing -------------------------------------------------------------------------------

    def one(self, things: "list[T] | tuple[T, ...]") -> T:
        """Any one of some."""
        if not things:
            raise ImpossibleError
        return things[int(self.draw.random() * len(things))]

    def chance(self, share: float) -> bool:
        """True for a share of the draws."""
        return self.draw.random() < share

    def pull(self, wanted: Callable[[Pull], bool] = lambda p: True) -> Pull:
        """An open pull request, a recent one more often."""
        found = [p for p in self.repo.open_pulls.values() if wanted(p)]
        return self.one(found[-4:])

    def any_pull(self) -> Pull:
        """A pull request, whatever became of it."""
        return self.one(list(self.repo.pulls.values())[-6:])

    def begin(self) -> None:
        """People finish something before they begin more."""
        if len(self.repo.open_pulls) >= MOST_OPEN:
            raise ImpossibleError

    def can(self, who: str, role: Role) -> bool:
        """Whether somebody has a role, or more."""
        return self.state.role(self.repo, self.user(who)) >= role

    def user(self, who: str) -> User:
        """The account of somebody."""
        return self.state.data.users[who.lower()]

    def own_branch(self, pull: Pull) -> str:
        """The head branch of a pull request, where it lies in this repository."""
        if pull.head_repo is not self.repo or self.repo.branch(pull.head_ref) is None:
            raise ImpossibleError
        return pull.head_ref

    # --- git ------------------------------------------------------------------------------------

    def commit(
        self,
        who: str,
        branch: str,
        files: Mapping[str, bytes | None],
        message: str,
        *,
        onto: str = "",
        author: str = "",
        committer: str = "",
        repo: Repository | None = None,
        parents: tuple[str, ...] = (),
    ) -> str:
        """Write a commit and push it; with `onto` whatever the branch was is left behind.

        Whoever pushes may have a commit name others.
        """
        where = repo or self.repo
        git = self.state.git(where)
        tip = onto or where.branch(branch) or where.branch(where.default_branch) or ""
        tree: str | None = git.commit(tip).tree
        for path, data in files.items():
            entry = None if data is None else ("100644", git.write_blob(data))
            tree = trees.put(git, tree, path, entry)
        if tree is None or (tree == git.commit(tip).tree and not parents):
            raise ImpossibleError
        names = [self._ident(login or who) for login in (author, committer)]
        sha = git.write_commit(
            NewCommit(
                tree=tree,
                parents=parents or (tip,),
                message=message + "\n",
                author=names[0],
                committer=names[1],
            )
        )
        self.push(who, f"refs/heads/{branch}", sha, where)
        return sha

    def push(self, who: str, ref: str, sha: str, repo: Repository | None = None) -> None:
        """Move a ref as a push does; "" deletes it."""
        where, user = repo or self.repo, self.user(who)
        if self.state.role(where, user) < Role.WRITE:
            raise ImpossibleError
        change = RefChange(ref=ref, before=where.refs.get(ref, ZERO), after=sha or ZERO)
        if change.before == change.after:
            raise ImpossibleError
        folders = {ref[:at] for at in range(len(ref)) if ref[at] == "/"}
        if sha and (any(f in where.refs for f in folders) or where.refs.below(f"{ref}/")):
            raise ImpossibleError
        self._try(lambda: self.state.rules.check_api(where, change, user))
        self._try(lambda: self.state.update_ref(where, ref, change.after, user))

    def tag(self, who: str, name: str, target: str, message: str) -> str:
        """Make an annotated tag, or move it."""
        git = self.state.git(self.repo)
        made = git.write_tag(
            Tag(name=name, target=target, kind="commit", tagger=self._ident(who), message=message)
        )
        self.push(who, f"refs/tags/{name}", made)
        return made

    def tip(self, branch: str) -> str:
        """The commit of a branch."""
        found = self.repo.branch(branch)
        if found is None:
            raise ImpossibleError
        return found

    def _ident(self, who: str) -> Ident:
        user = self.user(who)
        return Ident(user.name, user.email, self._now())

    def role(self, who: str, level: str) -> None:
        """Give somebody a role of their own; teams may give them more."""
        self.state.add_member(self.repo, who, level)
        self.role_seen(who)

    def role_seen(self, who: str) -> None:
        """Somebody's role may have changed: write down what it is."""
        self.state.roles_touched[self.repo.id] = self.repo
        self.diary.role(who, self.state.role(self.repo, self.user(who)).word)

    # --- pull requests and talk -----------------------------------------------------------------

    def open(self, who: str, branch: str, base: str, title: str, *, draft: bool = False) -> Pull:
        """Open a pull request."""
        return self._try(
            lambda: self.state.pulls.open(
                self.repo, self.user(who), title=title, head=branch, base=base, draft=draft
            )
        )

    def say(self, who: str, pull: Pull, text: str, *means: str) -> Comment:
        """Write a comment; `means` are the commands that it holds."""
        user = self.user(who)
        if means:  # before the forge tells: whoever listens knows what was meant
            self.diary.meant[self.state.data.last_id + 1] = means
        return self._try(lambda: self.state.talk.comment(pull, user, text))

    def edit(self, who: str, comment: Comment, text: str) -> None:
        """Change a comment."""
        self._try(lambda: self.state.talk.edit(comment, self.user(who), text))

    def delete(self, who: str, comment: Comment) -> None:
        """Delete a comment."""
        self._try(lambda: self.state.talk.delete(comment, self.user(who)))

    def review(self, who: str, pull: Pull, event: str, text: str = "") -> None:
        """Submit a review."""
        self._try(lambda: self.state.reviews.submit(pull, self.user(who), event, text))

    def attempt(self, act: Callable[[], T]) -> T:
        """Do something that the forge may refuse."""
        return self._try(act)

    def ours(self, pull: Pull) -> list[Comment]:
        """The bot's comments on a pull request."""
        return [c for c in pull.comments if c.user.login == BOT]

    def fresh(self, word: str) -> str:
        """A name that nothing has yet."""
        self.told += 1
        return f"{word}{self.told}"

    def _now(self) -> datetime:
        return self.state.now()

    def _try(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except RefusedError as refusal:
            raise ImpossibleError from refusal
