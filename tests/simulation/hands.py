"""What people can do at the forge: its own rules, called as the person.

Each forge has hands of its own, which do the same in its way (`github_hands`, `gitlab_hands`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from random import Random
from typing import ClassVar, TypeVar

from bot.sandbox.errors import RefusedError
from bot.sandbox.git import trees
from bot.sandbox.git.objects import Ident, TagObject
from bot.sandbox.git.protocol import NewCommit
from bot.sandbox.records.accounts import Role, User
from bot.sandbox.records.protection import QueueRule
from bot.sandbox.records.refs import ZERO, RefChange
from bot.sandbox.records.repository import Comment, Issue, Pull, Repository, Thread
from tests.simulation.diary import Diary
from tests.simulation.forge import TouchedState
from tests.simulation.setting import (
    BOT,
    CHOICES,
    MAIN,
    PACKAGES,
    VARIED,
    RulesText,
    called,
)

T = TypeVar("T")

MOST_OPEN = 5
"""Open pull requests at which nobody begins another by chance: each costs a look at each change."""


class ImpossibleError(Exception):
    """There is nothing now that this could be done to."""


@dataclass
class Hands(ABC):
    """What people do, as whom it is done.

    Attributes:
        state: The forge.
        repo: Where it is done.
        diary: Where it is written down what they mean.
        draw: Where choices come from.
        forks: By owner.
        told: Names that were given.
        own: Where choices come from that one forge alone has.
    """

    state: TouchedState
    repo: Repository
    diary: Diary
    draw: Random
    forks: dict[str, Repository] = field(default_factory=dict)
    told: int = 0
    packages: tuple[str, ...] = PACKAGES
    """What people work on."""
    varied: bool = False
    """Rules say where those for variants stand."""
    reach: str = ""
    """What they say of a second repository."""
    wide: str = ""
    """The other repository whose topics and objects rules may go by."""
    bulk: bool = False
    """Whoever may write may tick boxes."""
    own: Random = field(default_factory=lambda: Random(0))
    tags_by: ClassVar[tuple[str, str]] = ("make_tag", "forge")
    """The call by which the bot makes a tag, and the port that it is made to."""

    @property
    def choices(self) -> tuple[RulesText, ...]:
        """The rules that there may be."""
        if self.reach or self.wide or self.bulk:
            return tuple(map(self.as_here, VARIED))
        return VARIED if self.varied else CHOICES

    def as_here(self, rules: RulesText) -> RulesText:
        """Rules as they are written down here."""
        if not self.varied:
            return rules
        return replace(rules, variants=True, reach=self.reach, wide=self.wide, bulk=self.bulk)

    @property
    def has_queues(self) -> bool:
        """Merge queues are there."""
        return True

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
        self._allowed(where, change, user)
        self._try(lambda: self.state.update_ref(where, ref, change.after, user))

    def tag(self, who: str, name: str, target: str, message: str) -> str:
        """Make an annotated tag, or move it."""
        git = self.state.git(self.repo)
        made = git.write_tag(
            TagObject(
                name=name, target=target, kind="commit", tagger=self._ident(who), message=message
            )
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
        self._grant(who, level)
        self.role_seen(who)

    def role_seen(self, who: str) -> None:
        """Somebody's role may have changed: write down what it is."""
        self.state.roles_touched[self.repo.id] = self.repo
        self.diary.role(who, self.level(who))

    # --- pull requests and talk -----------------------------------------------------------------

    def fork(self, who: str, branch: str, files: Mapping[str, bytes | None]) -> Pull:
        """Open a pull request from a fork of one's own."""
        if who not in self.forks:
            self.forks[who] = self.state.fork(self.repo, who)
        fork = self.forks[who]
        self.state.git(fork).fetch(self.state.git(self.repo), self.tip(MAIN))
        self.commit(who, branch, files, "from outside", onto=self.tip(MAIN), repo=fork)
        return self.open(who, f"{who}:{branch}", MAIN, "From outside")

    def ours(self, pull: Pull) -> list[Comment]:
        """The bot's comments on a pull request."""
        return [c for c in self.comments(pull) if self.is_bot(c.user)]

    def is_bot(self, user: User) -> bool:
        """Whether an account is the bot's."""
        return called(user.login) == BOT

    @abstractmethod
    def open(self, who: str, branch: str, base: str, title: str, *, draft: bool = False) -> Pull:
        """Open a pull request."""

    @abstractmethod
    def say(self, who: str, about: Thread, text: str, *means: str) -> Comment:
        """Write a comment; `means` are the commands that it holds."""

    def rewrite(self, who: str, issue: Issue, text: str) -> None:
        """Change the text of an issue, as its page does where somebody ticks a box."""
        if issue.body == text:
            raise ImpossibleError
        self._try(lambda: self._edit_issue(who, issue, text))

    @abstractmethod
    def _edit_issue(self, who: str, issue: Issue, text: str) -> None: ...

    @abstractmethod
    def edit(self, who: str, comment: Comment, text: str) -> None:
        """Change a comment."""

    @abstractmethod
    def delete(self, who: str, comment: Comment) -> None:
        """Delete a comment."""

    @abstractmethod
    def review(self, who: str, pull: Pull, event: str, text: str = "") -> None:
        """Submit a review."""

    @abstractmethod
    def comments(self, pull: Pull) -> list[Comment]:
        """All that was said on a pull request."""

    @abstractmethod
    def update_branch(self, who: str, pull: Pull) -> None:
        """Bring the head up to its base, by the forge's button."""

    @abstractmethod
    def set_draft(self, who: str, pull: Pull, draft: bool) -> None:
        """Make a draft of a pull request, or mark it ready."""

    @abstractmethod
    def turn(self, who: str, pull: Pull, wanted: str) -> None:
        """Make a pull request "open" or "closed"."""

    @abstractmethod
    def retarget(self, who: str, pull: Pull, base: str) -> None:
        """Let it come to another branch."""

    @abstractmethod
    def merge(self, who: str, pull: Pull, method: str = "merge") -> None:
        """Merge by hand: "merge", "squash" or "rebase"."""

    @abstractmethod
    def merged_as(self, pull: Pull) -> str:
        """The commit by which a pull request came in."""

    @abstractmethod
    def dismiss(self, by: str, pull: Pull, of: Collection[str] = ()) -> str:
        """Take a review away, of one of these people where some are named; gives whose."""

    @abstractmethod
    def report(self, who: str, pull: Pull, context: str, state: str, text: str = "") -> None:
        """Put a status on the head: success, failure or pending."""

    @abstractmethod
    def rerun(self, who: str, pull: Pull) -> str:
        """Press Re-run on one of the bot's checks; gives its name."""

    @abstractmethod
    def protect(self) -> str:
        """Bind people at a branch, as the forge can; gives what it asks for then."""

    @abstractmethod
    def unprotect(self) -> None:
        """Bind nobody any more."""

    @abstractmethod
    def regroup(self) -> str:
        """Change who belongs to a team, or what it may do; gives who does then."""

    @abstractmethod
    def add_queue(self, rule: QueueRule) -> Callable[[], None]:
        """Put a merge queue before the main branch; gives what takes it away, where it is there."""

    @abstractmethod
    def dequeue(self, who: str, pull: Pull) -> None:
        """Take a pull request out of the queue, where it is in one."""

    @abstractmethod
    def _allowed(self, where: Repository, change: RefChange, user: User) -> None:
        """Whether the forge's rules let somebody move a ref."""

    @abstractmethod
    def _grant(self, who: str, level: str) -> None:
        """Give somebody a role of their own."""

    @abstractmethod
    def level(self, who: str) -> str:
        """The role that somebody has, as rules name it."""

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
