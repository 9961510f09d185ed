"""The forge's rules: users, repositories, roles, forks, refs and what a change of a ref brings.

Longer than 400 lines: one lock is held around all of it.

Rules of this module:
- one lock (`lock`) is held around every reading and every change; methods of `State`, `Pulls`,
  `Talk` and `Checks` expect their caller to hold it (set-up methods take it themselves);
- a ref changes on disk first and in memory after; a ref that does not stand where the forge
  believes makes the change fail;
- time comes from `clock`, git from `GitStore`; nothing here knows of HTTP or JSON;
- an account owns every e-mail address whose local part is its login, with or without the
  `12345+` that the forge itself puts before it (`author@anywhere`, `7+author@…`).
"""

from __future__ import annotations

import base64
import copy
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from bot.sandbox.errors import RefusedError, not_found
from bot.sandbox.git import history, trees
from bot.sandbox.git.objects import Commit, Person
from bot.sandbox.git.protocol import Git, GitStore, NewCommit
from bot.sandbox.model import (
    Activity,
    ActivityKind,
    App,
    Data,
    Happening,
    Installation,
    Repository,
    Role,
    User,
)
from bot.sandbox.protection import Protection
from bot.sandbox.records.refs import ZERO, RefChange, Refs
from bot.sandbox.rules.administration import Administration
from bot.sandbox.rules.checks import Checks
from bot.sandbox.rules.following import Following
from bot.sandbox.rules.issues import Issues
from bot.sandbox.rules.organizations import Organizations
from bot.sandbox.rules.protection import Rules
from bot.sandbox.rules.pulls import Pulls
from bot.sandbox.rules.talk import Talk

_DEFAULT_EVENTS = (
    "check_run",
    "check_suite",
    "create",
    "delete",
    "issue_comment",
    "pull_request",
    "pull_request_review",
    "push",
    "status",
)
_DEFAULT_PERMISSIONS = {
    "checks": "write",
    "contents": "write",
    "issues": "write",
    "metadata": "read",
    "pull_requests": "write",
    "statuses": "read",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file to write (content) or to remove (None) in one commit of the forge's own."""

    path: str
    content: bytes | None
    mode: str = "100644"


class State:
    """The forge: its memory, its git, and the rules between them."""

    def __init__(self, store: GitStore, clock: Callable[[], datetime]) -> None:
        self.store = store
        self.clock = clock
        self.lock = threading.RLock()
        self.data = Data()
        self.listeners: list[Callable[[Happening], None]] = []
        self.null_reads = 1
        """How many reads of a pull request say `mergeable: null` before the answer is known."""
        self.activity_shown: Callable[[Activity], bool] = _shown_at_once
        """Whether an entry of the activity log is shown yet; a fault can let entries be late."""
        self.pulls = Pulls(self)
        self.following = Following(self)
        self.issues = Issues(self)
        self.talk = Talk(self)
        self.checks = Checks(self)
        self.rules = Rules(self)
        self.organizations = Organizations(self)
        self.admin = Administration(self)

    def at(self, data: Data) -> State:
        """A view of the forge whose memory is `data`, a moment of earlier."""
        view = State(self.store, self.clock)
        view.data = data
        view.lock = self.lock
        view.null_reads = self.null_reads
        view.activity_shown = self.activity_shown
        return view

    def moment(self) -> Data:
        """A copy of the memory as it stands now."""
        with self.lock:
            return copy.deepcopy(self.data)

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

    # Set-up: what a test, the playground or the demo calls before anything is driven.

    def add_user(self, login: str, name: str | None = None) -> User:
        """Make an account."""
        with self.lock:
            user = User(self.next_id(), login, name or login.capitalize(), self.now())
            self.data.users[login.lower()] = user
            return user

    def token(self, login: str) -> str:
        """Mint a personal access token for a user; it holds until the forge ends."""
        with self.lock:
            token = "ghp_" + secrets.token_hex(18)
            self.data.user_tokens[token] = self.user(login)
            return token

    def add_repository(
        self,
        owner: str,
        name: str,
        source: Path | None = None,
        default_branch: str | None = None,
        private: bool = False,
    ) -> Repository:
        """Make a repository: empty, or from a repository, a bundle or a folder (`GitStore`)."""
        with self.lock:
            repo = self._new_repository(self.user(owner), name, private)
            git = self.store.create(repo.id, source, default_branch)
            repo.refs, repo.default_branch = Refs(git.refs()), git.default_branch()
            return repo

    def delete_repository(self, repo: Repository) -> None:
        """Take a repository away; pull requests from it keep their commits and lose their head."""
        with self.lock:
            self.emit("repository", "deleted", repo, repo.owner)
            del self.data.repositories[repo.id]
            for installation in self.data.installations.values():
                if repo in installation.repositories:
                    installation.repositories.remove(repo)
            for other in self.data.repositories.values():
                for pull in other.pulls.values():
                    if pull.head_repo is repo:
                        pull.head_repo = None
            self.store.delete(repo.id)

    def add_member(self, repo: Repository, login: str, role: Role | str) -> None:
        """Give a user a role in a repository: read, triage, write, maintain or admin."""
        with self.lock:
            role = Role[role.upper()] if isinstance(role, str) else role
            repo.members[self.user(login).login] = role

    def fork(self, repo: Repository, login: str, name: str | None = None) -> Repository:
        """Copy a repository to another account; pull requests may come from there."""
        with self.lock:
            made = self._new_repository(self.user(login), name or repo.name, repo.private)
            made.parent = repo
            git = self.store.fork(made.id, repo.id)
            made.refs, made.default_branch = Refs(git.refs()), git.default_branch()
            return made

    def protect(
        self,
        repo: Repository,
        branch: str,
        required_checks: Iterable[tuple[str, int | None]] = (),
        *,
        required_reviews: int = 0,
        dismiss_stale: bool = False,
        strict: bool = False,
        allow_direct_push: bool = False,
    ) -> None:
        """Protect a branch the classic way; see `Protection`, and `Rules.add` for rulesets.

        Calling it again replaces the branch's classic rules.
        """
        with self.lock:
            repo.protections[branch] = Protection(
                required_checks=tuple(required_checks),
                required_reviews=required_reviews,
                dismiss_stale=dismiss_stale,
                strict=strict,
                allow_direct_push=allow_direct_push,
            )

    def register_app(
        self,
        slug: str,
        public_key: str,
        *,
        owner: str,
        permissions: Mapping[str, str] | None = None,
        events: Sequence[str] | None = None,
        webhook_url: str | None = None,
        webhook_secret: str = "",
        app_id: int | None = None,
    ) -> App:
        """Register a GitHub App and make its account `<slug>[bot]`.

        Args:
            slug: The App's name in addresses.
            public_key: PEM of the public half of the key it signs its JWT with.
            owner: Login of the account it belongs to.
            permissions: Permission to `read` or `write`; what this project's bot needs if None.
            events: Webhook events it wants; what this project's bot needs if None.
            webhook_url: Where webhooks go; None keeps them back until it is set.
            webhook_secret: Key of the signatures; without one webhooks are not signed.
            app_id: The App's number; the next free one if None.
        """
        with self.lock:
            chosen = dict(_DEFAULT_PERMISSIONS if permissions is None else permissions)
            app = App(
                id=app_id or self.next_id(),
                slug=slug,
                name=slug,
                owner=self.user(owner),
                client_id=f"Iv23li{secrets.token_hex(7)}",
                public_key=public_key,
                permissions={**chosen, "metadata": chosen.get("metadata", "read")},
                events=tuple(_DEFAULT_EVENTS if events is None else events),
                webhook_url=webhook_url,
                webhook_secret=webhook_secret,
                hook_id=self.next_id(),
                created_at=self.now(),
            )
            self.data.apps[app.id] = app
            login = f"{slug}[bot]"
            self.data.users[login] = User(self.next_id(), login, login, self.now(), app, "Bot")
            return app

    def install(self, app: App, *repositories: Repository) -> Installation:
        """Install an App on repositories of one owner; adds to an installation that is there."""
        with self.lock:
            account = repositories[0].owner
            found = next(
                (
                    i
                    for i in self.data.installations.values()
                    if i.app is app and i.account is account
                ),
                None,
            )
            if found is not None:
                fresh = [repo for repo in repositories if repo not in found.repositories]
                found.repositories += fresh
                self.emit(
                    "installation_repositories",
                    "added",
                    None,
                    account,
                    installation=found,
                    added=fresh,
                )
                return found
            made = Installation(
                id=self.next_id(),
                app=app,
                account=account,
                permissions=dict(app.permissions),
                events=app.events,
                created_at=self.now(),
                repositories=list(repositories),
            )
            self.data.installations[made.id] = made
            self.emit("installation", "created", None, account, installation=made)
            return made

    def suspend(self, installation: Installation, suspended: bool = True) -> None:
        """Suspend an installation, or let it work again."""
        with self.lock:
            installation.suspended_at = self.now() if suspended else None
            action = "suspend" if suspended else "unsuspend"
            self.emit("installation", action, None, installation.account, installation=installation)

    def uninstall(self, installation: Installation) -> None:
        """Take an installation away; its tokens are worth nothing from then on."""
        with self.lock:
            account = installation.account
            self.emit("installation", "deleted", None, account, installation=installation)
            del self.data.installations[installation.id]
            for token in self.data.installation_tokens.values():
                if token.installation is installation:
                    token.revoked = True

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
        if user is None:
            return floor
        if user is repo.owner:
            return Role.ADMIN
        of_owner = self.organizations.role(repo, user)
        return max(floor, of_owner, repo.members.get(user.login, Role.NONE))

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
        for ref in (name, f"refs/{name}", f"refs/heads/{name}", f"refs/tags/{name}"):
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
            self._log(repo, change, actor, kind)
        repo.pushed_at = repo.updated_at = self.now()
        tags = [c for c in changes if c.ref.startswith("refs/tags/")]
        for change in changes:
            # GitHub stays silent when one push moves more than three tags.
            if change not in tags or len(tags) <= 3:
                self._announce(repo, change, actor)
        for change in changes:
            if change.ref.startswith("refs/heads/"):
                self.following.branch_moved(repo, change, actor)
                self.checks.pushed(repo, change, actor)

    def commit_files(
        self,
        repo: Repository,
        branch: str,
        changes: Sequence[FileChange],
        message: str,
        *,
        actor: User,
        author: Person | None = None,
        committer: Person | None = None,
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
        self.update_ref(repo, f"refs/heads/{branch}", sha, actor)
        return git.commit(sha)

    def person(self, user: User) -> Person:
        """A user as author of a commit that the forge makes now."""
        return Person(user.name, user.email, self.now())

    def web_flow(self) -> Person:
        """The forge itself as committer, as GitHub signs commits of its web pages."""
        return Person("GitHub", "noreply@sandbox.example", self.now())

    def _new_repository(self, owner: User, name: str, private: bool) -> Repository:
        now = self.now()
        repo = Repository(
            id=self.next_id(),
            owner=owner,
            name=name,
            default_branch="main",
            private=private,
            created_at=now,
            updated_at=now,
            pushed_at=now,
        )
        self.data.repositories[repo.id] = repo
        self.data.moved.pop(repo.full_name.lower(), None)  # who takes a name has it
        return repo

    def _log(
        self, repo: Repository, change: RefChange, actor: User, kind: ActivityKind | None
    ) -> None:
        if not change.ref.startswith("refs/heads/"):
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


def _shown_at_once(_activity: Activity) -> bool:
    return True


def node_id(prefix: str, number: int) -> str:
    """A global id as GraphQL takes it: `PR_kwDO…`, the same for the same thing for ever."""
    packed = base64.urlsafe_b64encode(number.to_bytes(8, "big")).decode().rstrip("=")
    return f"{prefix}_kwDO{packed}"


def numbered(node: str) -> tuple[str, int]:
    """Prefix and number of a global id; ("", 0) for a text that is none."""
    prefix, mark, packed = node.partition("_kwDO")
    try:
        number = int.from_bytes(base64.urlsafe_b64decode(packed + "="), "big")
    except ValueError:
        return "", 0
    return (prefix, number) if mark and node == node_id(prefix, number % 2**64) else ("", 0)
