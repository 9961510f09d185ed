"""What every rule of the forge works with: its memory, its git, its clock, and changes of refs.

Rules of this module:
- one lock (`lock`) is held around every reading and every change; callers hold it (set-up methods
  of `ForgeState` take it themselves);
- a ref changes on disk first and in memory after; a ref that does not stand where the forge
  believes makes the change fail;
- time comes from `clock`, git from `GitStore`; nothing here knows of HTTP or JSON;
- an account owns every e-mail address whose local part is its login, with or without the
  `12345+` that the forge itself puts before it (`author@anywhere`, `7+author@…`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.sandbox import refnames
from bot.sandbox.errors import RefusedError, not_found
from bot.sandbox.git import history, trees
from bot.sandbox.git.objects import Commit, Ident
from bot.sandbox.git.protocol import Git, GitStore, NewCommit
from bot.sandbox.records.accounts import App, Role, User
from bot.sandbox.records.memory import Data, Happening, Installation
from bot.sandbox.records.refs import ZERO, Activity, ActivityKind, RefChange
from bot.sandbox.records.repository import Pull, Repository
from bot.sandbox.records.talk import TimelineEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file to write (content) or to remove (None) in one commit of the forge's own."""

    path: str
    content: bytes | None
    mode: str = "100644"


class Context:
    """The forge's memory and git, and the primitives that its rules share."""

    def __init__(self, store: GitStore, clock: Callable[[], datetime]) -> None:
        self.store = store
        self.clock = clock
        self.lock = threading.RLock()
        self.data = Data()
        self.listeners: list[Callable[[Happening], None]] = []
        self.branch_listeners: list[Callable[[Repository, RefChange, User], None]] = []
        """What follows from a change of a branch, in this order; called once it is remembered."""
        self.past = False
        """Whether it is a view of earlier: what is read there sets nothing going."""
        self.null_reads = 1
        """How many reads of a pull request say `mergeable: null` before the answer is known."""
        self.activity_shown: Callable[[Activity], bool] = _shown_at_once
        """Whether an entry of the activity log is shown yet; a fault can let entries be late."""
        self.announced: Callable[[Sequence[RefChange]], Sequence[RefChange]] = _no_many_tags
        """Which changes of refs by one push are told to webhooks."""
        self.pull_ref = "refs/pull/{}/head"
        """The ref that stands at a pull request's head, by its number."""

    def now(self) -> datetime:
        """The clock's time, in whole seconds as the forge shows it."""
        return self.clock().replace(microsecond=0)

    def next_id(self) -> int:
        """A number never given before; every kind of thing shares the count."""
        self.data.last_id += 1
        return self.data.last_id

    def emit(
        self, kind: str, action: str | None, repo: Repository | None, sender: User, **extra: Any
    ) -> None:
        """Tell the listeners (webhooks) what happened, in order."""
        happening = Happening(kind=kind, action=action, repo=repo, sender=sender, extra=extra)
        for listener in self.listeners:
            listener(happening)

    def git(self, repo: Repository) -> Git:
        """Git of a repository."""
        return self.store.open(repo.id)

    def add_user(self, login: str, name: str | None = None) -> User:
        """Make an account."""
        with self.lock:
            user = User(self.next_id(), login, name or login.capitalize(), self.now())
            self.data.users[login.lower()] = user
            return user

    # Looking things up.

    def user(self, login: str) -> User:
        """The account of a login, in any case; 404 when there is none."""
        found = self.data.users.get(login.lower())
        if found is None:
            raise not_found()
        return found

    def app_user(self, app: App) -> User:
        """The account that an App acts through."""
        return self.data.users[f"{app.slug}[bot]"]

    def repository(self, owner: str, name: str) -> Repository:
        """A repository by owner and name, in any case; 404 when there is none."""
        wanted = f"{owner}/{name}".lower()
        for repo in self.data.repositories.values():
            if repo.full_name.lower() == wanted:
                return repo
        raise not_found()

    def moved(self, owner: str, name: str) -> Repository | None:
        """The repository that once had this name, unless another has it now."""
        found = self.data.moved.get(f"{owner}/{name}".lower())
        return None if found is None else self.data.repositories.get(found)

    def role(self, repo: Repository, user: User | None) -> Role:
        """What an account may do: its owner is admin, a public repository lets all read."""
        floor = Role.NONE if repo.private else Role.READ
        return floor if user is None else max(floor, self.member_role(repo, user))

    def member_role(self, repo: Repository, user: User) -> Role:
        """What an account may do as a member, of the repository or by the owner's leave."""
        if user is repo.owner:
            return Role.ADMIN
        organizations = self.data.organizations
        own = organizations.get(repo.owner.login.lower())
        roles = [own.role(repo.id, user)] if own else []
        for path, most in repo.shares.items():
            roles.append(min(most, organizations[path].role(repo.id, user)))
        return max([repo.members.get(user.login, Role.NONE), *roles])

    def installation_of(self, app: App, repo: Repository) -> Installation | None:
        """The installation of an App that covers a repository."""
        installed = self.data.installations.values()
        return next((i for i in installed if i.app is app and repo in i.repositories), None)

    def account_of(self, email: str) -> User | None:
        """The account that owns an e-mail address (see the module's rules), or None."""
        local = email.partition("@")[0].lower()
        number, plus, rest = local.partition("+")
        login = rest if plus and number.isdigit() else local
        return self.data.users.get(login)

    def resolve(self, repo: Repository, name: str) -> str | None:
        """The commit that a branch, tag, full ref or object id names, or None."""
        git = self.git(repo)
        for ref in (name, f"refs/{name}", refnames.branch_ref(name), refnames.tag_ref(name)):
            if ref in repo.refs:
                return self.peel(repo, repo.refs[ref])
        if len(name) == len(ZERO) and all(c in "0123456789abcdef" for c in name.lower()):
            return name.lower() if git.kind(name.lower()) == "commit" else None
        if name == "HEAD":
            return repo.branch(repo.default_branch)
        return None

    def peel(self, repo: Repository, sha: str) -> str:
        """The commit behind a tag object; anything else is itself."""
        git = self.git(repo)
        while git.kind(sha) == "tag":
            sha = git.tag(sha).target
        return sha

    # Changing refs.

    def update_ref(
        self, repo: Repository, ref: str, after: str, actor: User, kind: ActivityKind | None = None
    ) -> None:
        """Move, make (nothing there) or remove (after is ZERO) one ref.

        Raises:
            RefusedError: 409 when git's own ref moved meanwhile.
        """
        change = RefChange(ref=ref, before=repo.refs.get(ref, ZERO), after=after)
        if not self.git(repo).move([change]):
            raise RefusedError(409, f"{ref} was modified. Review and try again.")
        self.refs_changed(repo, [change], actor, kind)

    def sync_refs(
        self, repo: Repository, actor: User, moved: Iterable[str] | None = None
    ) -> list[RefChange]:
        """Take notice of what a push changed on disk, as the deed of `actor`.

        Args:
            repo: Where it was pushed to.
            actor: Who pushed.
            moved: The refs that the push may have changed; None for any.
        """
        changes = self.git(repo).changes(repo.refs, moved)
        self.refs_changed(repo, changes, actor)
        return changes

    def _without_tag(self, repo: Repository, tag: str) -> None:
        """GitHub makes drafts of the releases of a tag that goes; on GitLab, nobody sees them."""
        for release in repo.releases.values():
            if release.tag == tag:
                release.draft = True

    def refs_changed(
        self,
        repo: Repository,
        changes: Sequence[RefChange],
        actor: User,
        kind: ActivityKind | None = None,
    ) -> None:
        """Remember changes of refs that git has made already, and do what follows from them.

        What follows: the activity log, webhooks push, create and delete, then for each pull
        request concerned its new head, its end, or its merge, then a check suite for each App.
        """
        for change in changes:
            repo.refs.move(change.ref, change.after)
            if change.after == ZERO and refnames.is_tag(change.ref):
                self._without_tag(repo, refnames.tag_name(change.ref))
            self._log(repo, change, actor, kind)
        repo.pushed_at = repo.updated_at = self.now()
        self.emit("repository_update", None, repo, actor, changes=tuple(changes))
        for change in self.announced(changes):
            self._announce(repo, change, actor)
        for change in changes:
            if refnames.is_branch(change.ref):
                for follow in self.branch_listeners:
                    follow(repo, change, actor)

    def commit_files(
        self,
        repo: Repository,
        branch: str,
        changes: Sequence[FileChange],
        message: str,
        *,
        actor: User,
        author: Ident | None = None,
        committer: Ident | None = None,
    ) -> Commit:
        """Commit files to a branch, which is made from the default branch if it is missing.

        Returns:
            The new commit.
        """
        git = self.git(repo)
        parent = repo.branch(branch) or repo.branch(repo.default_branch)
        tree: str | None = git.commit(parent).tree if parent else None
        for change in changes:
            content = change.content
            entry = None if content is None else (change.mode, git.write_blob(content))
            tree = trees.put(git, tree, change.path, entry)
        who = author or self.person(actor)
        new = NewCommit(
            tree=tree or git.write_tree(()),
            parents=(parent,) if parent else (),
            message=message,
            author=who,
            committer=committer or author or self.web_flow(),
        )
        sha = git.write_commit(new)
        self.update_ref(repo, refnames.branch_ref(branch), sha, actor)
        return git.commit(sha)

    def person(self, user: User) -> Ident:
        """A user as author of a commit that the forge makes now."""
        return Ident(user.name, user.email, self.now())

    def web_flow(self) -> Ident:
        """The forge itself as committer, as GitHub signs commits of its web pages."""
        return Ident("GitHub", "noreply@sandbox.example", self.now())

    def need(self, repo: Repository, user: User, role: Role) -> None:
        """Refuse an account that may do less than a role; 403."""
        if self.role(repo, user) < role:
            raise RefusedError(403, "Must have admin rights to Repository.")

    def note(self, pull: Pull, actor: User, kind: str, text: str, **detail: object) -> None:
        """Write an event into the timeline; see `TimelineEvent`."""
        pull.events.append(
            TimelineEvent(
                id=self.next_id(),
                kind=kind,
                actor=actor,
                at=self.now(),
                text=text,
                detail=detail,
            )
        )

    def _log(
        self, repo: Repository, change: RefChange, actor: User, kind: ActivityKind | None
    ) -> None:
        if not refnames.is_branch(change.ref):
            return
        if kind is None:
            if change.creates:
                kind = ActivityKind.BRANCH_CREATION
            elif change.deletes:
                kind = ActivityKind.BRANCH_DELETION
            elif self.forced(repo, change):
                kind = ActivityKind.FORCE_PUSH
            else:
                kind = ActivityKind.PUSH
        entry = Activity(
            id=self.next_id(),
            before=change.before,
            after=change.after,
            ref=change.ref,
            timestamp=self.now(),
            kind=kind,
            actor=actor,
        )
        repo.activity.append(entry)
        repo.activity_by_ref.setdefault(change.ref, []).append(entry)

    def forced(self, repo: Repository, change: RefChange) -> bool:
        """Whether a change of a branch left its old tip behind."""
        if change.creates or change.deletes:
            return False
        git = self.git(repo)
        if git.kind(change.before) != "commit" or git.kind(change.after) != "commit":
            return False
        return not history.contains(git, change.after, change.before)

    def _announce(self, repo: Repository, change: RefChange, actor: User) -> None:
        if change.creates:
            self.emit("create", None, repo, actor, change=change)
        self.emit("push", None, repo, actor, change=change)
        if change.deletes:
            self.emit("delete", None, repo, actor, change=change)


def _no_many_tags(changes: Sequence[RefChange]) -> Sequence[RefChange]:
    """GitHub stays silent about tags when one push moves more than three."""
    silent = sum(refnames.is_tag(change.ref) for change in changes) > 3
    return [c for c in changes if not (silent and refnames.is_tag(c.ref))]


def _shown_at_once(_activity: Activity) -> bool:
    return True
