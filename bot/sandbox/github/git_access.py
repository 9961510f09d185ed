"""Who may fetch and push, in GitHub's words; the rules are those of `rules.pushing`."""

from __future__ import annotations

from dataclasses import dataclass

from bot.sandbox.records.accounts import User
from bot.sandbox.records.refs import PushVerdict, RefChange
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules import pushing
from bot.sandbox.rules.accounts import Accounts, Caller
from bot.sandbox.rules.pushing import PushedObjects
from bot.sandbox.rules.state import ForgeState


@dataclass(frozen=True, slots=True)
class GitHubGitAccess:
    """Access to git; `web` is the address that refusals name."""

    state: ForgeState
    accounts: Accounts
    web: str
    realm: str = "GitHub"

    def git_caller(self, authorization: str | None) -> GitHubGitCaller:
        """Who calls; 401 for a token that is none."""
        return GitHubGitCaller(self, self.accounts.caller(authorization))


@dataclass(frozen=True, slots=True)
class GitHubGitCaller:
    """Somebody who fetches or pushes."""

    access: GitHubGitAccess
    caller: Caller

    @property
    def name(self) -> str:
        """How logs and faults speak of it."""
        return self.caller.name

    @property
    def user(self) -> User | None:
        """The account that acts."""
        return self.caller.user

    def allow(self, repo: Repository, *, writes: bool) -> None:
        """Refuse who may not fetch, or push; 403 or 404."""
        pushing.allow(self.access.state, self.caller, repo, writes=writes)

    def judge(self, repo: Repository, change: RefChange, received: PushedObjects) -> PushVerdict:
        """Judge one pushed ref."""
        access = self.access
        return pushing.judge(
            access.state, repo, change, received, caller=self.caller, web=access.web
        )
