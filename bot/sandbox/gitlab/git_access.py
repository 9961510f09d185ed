"""Who may fetch and push by GitLab's rules, and which refs a push may change.

Source: https://docs.gitlab.com/topics/git/clone/#clone-using-a-token and `Gitlab::GitAccess`.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.sandbox.errors import RefusedError
from bot.sandbox.gitlab import levels, protection
from bot.sandbox.gitlab.tokens import GitLabCaller, Tokens
from bot.sandbox.records.accounts import User
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.refs import PushVerdict, RefChange
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.pushing import PushedObjects
from bot.sandbox.rules.state import ForgeState

_NOT_FOUND = (
    "The project you were looking for could not be found or you don't have permission to view it."
)
_FETCHING = ("api", "read_repository", "write_repository")
_PUSHING = ("api", "write_repository")


@dataclass(frozen=True, slots=True)
class GitLabGitAccess:
    """Access to git."""

    state: ForgeState
    tokens: Tokens
    realm: str = "GitLab"

    def git_caller(self, authorization: str | None) -> GitLabGitCaller:
        """Who calls; 401 for a token that is none."""
        return GitLabGitCaller(self.state, self.tokens.git_caller(authorization))


@dataclass(frozen=True, slots=True)
class GitLabGitCaller:
    """Somebody who fetches or pushes."""

    state: ForgeState
    caller: GitLabCaller

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
        state, user, token = self.state, self.caller.user, self.caller.token
        level = levels.level(state, repo, user)
        if not levels.sees(state, repo, user):
            raise RefusedError(404, _NOT_FOUND)
        if token is not None and not set(_PUSHING if writes else _FETCHING) & set(token.scopes):
            raise RefusedError(403, "HTTP Basic: Access denied.")
        if not levels.reads_code(state, repo, user):
            raise RefusedError(403, "You are not allowed to download code from this project.")
        if writes and repo.archived:
            raise RefusedError(403, "You can't push code to an archived project.")
        if writes and level < AccessLevel.DEVELOPER:
            raise RefusedError(403, "You are not allowed to push code to this project.")

    def judge(self, repo: Repository, change: RefChange, received: PushedObjects) -> PushVerdict:
        """Judge one pushed ref by the protected branches and tags."""

        def forced() -> bool:
            return received.forced(change.before, change.after)

        reason = protection.refusal(self.state, repo, change, self.user, forced, web=False)
        if not reason:
            return PushVerdict()
        return PushVerdict([f"GitLab: {reason}"], "pre-receive hook declined")
