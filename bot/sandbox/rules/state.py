"""The forge, put together: the rules of each subject over one memory, and how it is set up."""

from __future__ import annotations

import copy
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from bot.sandbox.git.protocol import GitStore
from bot.sandbox.records.accounts import App, Role, User
from bot.sandbox.records.memory import Data, Installation
from bot.sandbox.records.protection import Protection
from bot.sandbox.records.refs import Refs
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.administration import Administration
from bot.sandbox.rules.checks import Checks
from bot.sandbox.rules.context import Context
from bot.sandbox.rules.following import Following
from bot.sandbox.rules.issues import IssueRules
from bot.sandbox.rules.mergeability import Mergeability
from bot.sandbox.rules.organizations import Organizations
from bot.sandbox.rules.protection import BranchRules
from bot.sandbox.rules.pulls import Pulls
from bot.sandbox.rules.queues import MergeQueues
from bot.sandbox.rules.reviews import Reviews
from bot.sandbox.rules.talk import Talk

# Those of app-manifest.yml, which a test compares; the sandbox forge reads nothing of the bot's.
_DEFAULT_EVENTS = (
    "check_run",
    "check_suite",
    "issue_comment",
    "issues",
    "merge_group",
    "pull_request",
    "pull_request_review",
    "push",
    "repository",
    "status",
)
_DEFAULT_PERMISSIONS = {
    "checks": "write",
    "contents": "write",
    "deployments": "write",
    "issues": "write",
    "members": "read",
    "merge_queues": "read",
    "metadata": "read",
    "pull_requests": "write",
    "statuses": "read",
}


class ForgeState(Context):
    """The forge: its memory and git, the rules of each subject, and how a forge is set up."""

    def __init__(self, store: GitStore, clock: Callable[[], datetime]) -> None:
        super().__init__(store, clock)
        self.talk = Talk(self)
        self.checks = Checks(self)
        self.rules = BranchRules(self, self.checks)
        self.reviews = Reviews(self, self.talk)
        self.mergeability = Mergeability(self, self.checks, self.rules)
        self.pulls = Pulls(self, self.rules)
        self.following = Following(self, self.pulls, self.rules)
        self.queues = MergeQueues(self, self.rules, self.checks, self.pulls)
        self.issues = IssueRules(self, self.pulls, self.talk)
        self.organizations = Organizations(self)
        self.admin = Administration(self)
        self.branch_listeners += [
            self.following.branch_moved,
            self.checks.pushed,
            self.queues.branch_moved,
        ]

    def at(self, data: Data) -> ForgeState:
        """A view of the forge whose memory is `data`, a moment of earlier."""
        view = ForgeState(self.store, self.clock)
        view.data = data
        view.lock = self.lock
        view.past = True
        view.null_reads = self.null_reads
        view.activity_shown = self.activity_shown
        return view

    def moment(self) -> Data:
        """A copy of the memory as it stands now."""
        with self.lock:
            return copy.deepcopy(self.data)

    # Set-up: what a test, the playground or the demo calls before anything is driven.

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
        """Protect a branch the classic way; see `Protection`, and `BranchRules.add` for rulesets.

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
