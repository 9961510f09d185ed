"""Who calls: personal tokens, App JWTs, installation tokens; and what each may do.

Longer than 400 lines: a table of permissions, a row for each operation.

`NEEDS` is the one table of permissions: what an installation must be granted and what role a
user must have for each operation. Source: docs/design.md, "GitHub: permissions and events"; header
`x-accepted-github-permissions` uses the same spelling (`;` alternatives, `,` all of).
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import jwt

from bot.sandbox.errors import RefusedError, not_found, plain
from bot.sandbox.model import App, Installation, InstallationToken, Repository, Role, User
from bot.sandbox.rules.state import State

_TOKEN_LIFE = timedelta(hours=1)  # GitHub's life of an installation token
_LONGEST_JWT = 600  # GitHub: an App's JWT may live ten minutes
_SKEW = 60  # seconds a clock may be ahead of ours
_BAD_EXP = (
    "'Expiration time' claim ('exp') must be a numeric value representing the future time"
    " at which the assertion expires"
)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a request; `user` is None for nobody and for an App by its JWT.

    `name` is how logs and faults speak of it: a login, `app/<slug>`, or `anonymous`.
    """

    user: User | None = None
    app: App | None = None
    token: InstallationToken | None = None
    expires_at: datetime | None = None

    @property
    def name(self) -> str:
        """Login, `app/<slug>` for a JWT, `anonymous` for nobody."""
        if self.user is not None:
            return self.user.login
        return f"app/{self.app.slug}" if self.app is not None else "anonymous"


@dataclass(frozen=True, slots=True)
class Need:
    """What an operation needs.

    Attributes:
        app: Permissions of an installation (`contents=write; …`), "" for none, "jwt" where only
            the App itself may call, "user" where an installation may not, "app" where only
            an installation may.
        role: Least role of a user in the repository.
        apps_only: Whether no user may, whatever the role.
    """

    app: str = "metadata=read"
    role: Role = Role.READ
    apps_only: bool = False


_READ, _TRIAGE, _WRITE = Role.READ, Role.TRIAGE, Role.WRITE
_REPO = "/repos/{owner}/{repo}"
_TALK_READ = "issues=read; pull_requests=read"
_TALK_WRITE = "issues=write; pull_requests=write"


def _with(prefix: str, table: Mapping[str, Need]) -> dict[str, Need]:
    return {f"{key.split(' ')[0]} {prefix}{key.split(' ', 1)[1]}": n for key, n in table.items()}


NEEDS: dict[str, Need] = {
    "GET /app": Need("jwt"),
    "GET /app/hook/config": Need("jwt"),
    "PATCH /app/hook/config": Need("jwt"),
    "GET /app/hook/deliveries": Need("jwt"),
    "GET /app/hook/deliveries/{delivery_id}": Need("jwt"),
    "POST /app/hook/deliveries/{delivery_id}/attempts": Need("jwt"),
    "GET /app/installations": Need("jwt"),
    "GET /app/installations/{installation_id}": Need("jwt"),
    "POST /app/installations/{installation_id}/access_tokens": Need("jwt"),
    "GET /installation/repositories": Need("app"),
    "DELETE /installation/token": Need("app"),
    "GET /apps/{app_slug}": Need(""),
    "GET /meta": Need(""),
    "GET /rate_limit": Need(""),
    "GET /orgs/{org}/installation": Need("jwt"),
    "GET /users/{username}/installation": Need("jwt"),
    "GET /orgs/{org}/members/{username}": Need("members=read"),
    "GET /orgs/{org}/memberships/{username}": Need("members=read"),
    "GET /orgs/{org}/teams/{team_slug}": Need("members=read"),
    "GET /orgs/{org}/teams/{team_slug}/members": Need("members=read"),
    "GET /orgs/{org}/teams/{team_slug}/memberships/{username}": Need("members=read"),
    "GET /orgs/{org}/teams/{team_slug}/repos/{owner}/{repo}": Need("members=read"),
    "GET /user": Need("user"),
    "GET /users/{username}": Need(""),
    **_with(
        _REPO,
        {
            "GET ": Need(),
            "GET /installation": Need("jwt"),
            "GET /activity": Need("contents=read"),
            "GET /branches": Need("contents=read"),
            "GET /branches/{branch}": Need("contents=read"),
            "GET /branches/{branch}/protection": Need("administration=read", Role.ADMIN),
            "GET /branches/{branch}/protection/required_status_checks": Need(
                "administration=read", Role.ADMIN
            ),
            "GET /rules/branches/{branch}": Need(),
            "GET /rulesets": Need(),
            "GET /rulesets/{ruleset_id}": Need(),
            "GET /tags": Need("contents=read"),
            "GET /contents/{path}": Need("contents=read"),
            "PUT /contents/{path}": Need("contents=write", _WRITE),
            "DELETE /contents/{path}": Need("contents=write", _WRITE),
            "GET /commits": Need("contents=read"),
            "GET /commits/{ref}": Need("contents=read"),
            "GET /commits/{commit_sha}/pulls": Need("pull_requests=read; contents=read"),
            "GET /compare/{basehead}": Need("contents=read"),
            "GET /git/ref/{ref}": Need("contents=read"),
            "GET /git/matching-refs/{ref}": Need("contents=read"),
            "POST /git/refs": Need("contents=write", _WRITE),
            "PATCH /git/refs/{ref}": Need("contents=write", _WRITE),
            "DELETE /git/refs/{ref}": Need("contents=write", _WRITE),
            "POST /git/tags": Need("contents=write", _WRITE),
            "GET /git/tags/{tag_sha}": Need("contents=read"),
            "GET /git/commits/{commit_sha}": Need("contents=read"),
            "POST /git/commits": Need("contents=write", _WRITE),
            "POST /git/blobs": Need("contents=write", _WRITE),
            "GET /git/blobs/{file_sha}": Need("contents=read"),
            "POST /git/trees": Need("contents=write", _WRITE),
            "GET /git/trees/{tree_sha}": Need("contents=read"),
            "POST /merges": Need("contents=write", _WRITE),
            "GET /teams": Need("administration=read", Role.ADMIN),
            "GET /collaborators": Need("metadata=read", _WRITE),
            "GET /collaborators/{username}": Need("metadata=read", _WRITE),
            "GET /collaborators/{username}/permission": Need("metadata=read", _WRITE),
            "GET /pulls": Need("pull_requests=read"),
            "POST /pulls": Need("pull_requests=write", _READ),
            "GET /pulls/{pull_number}": Need("pull_requests=read; contents=read"),
            "PATCH /pulls/{pull_number}": Need("pull_requests=write", _READ),
            "GET /pulls/{pull_number}/commits": Need("pull_requests=read"),
            "GET /pulls/{pull_number}/files": Need("pull_requests=read"),
            "GET /pulls/{pull_number}/merge": Need("pull_requests=read; contents=read"),
            "PUT /pulls/{pull_number}/merge": Need("contents=write", _WRITE),
            "PUT /pulls/{pull_number}/update-branch": Need("pull_requests=write", _WRITE),
            "GET /pulls/{pull_number}/comments": Need("pull_requests=read"),
            "POST /pulls/{pull_number}/comments": Need("pull_requests=write"),
            "POST /pulls/{pull_number}/comments/{comment_id}/replies": Need("pull_requests=write"),
            "GET /pulls/comments": Need("pull_requests=read"),
            "GET /pulls/comments/{comment_id}": Need("pull_requests=read"),
            "PATCH /pulls/comments/{comment_id}": Need("pull_requests=write"),
            "DELETE /pulls/comments/{comment_id}": Need("pull_requests=write"),
            "GET /releases": Need("contents=read"),
            "POST /releases": Need("contents=write", _WRITE),
            "GET /releases/latest": Need("contents=read"),
            "GET /releases/tags/{tag}": Need("contents=read"),
            "GET /releases/{release_id}": Need("contents=read"),
            "PATCH /releases/{release_id}": Need("contents=write", _WRITE),
            "DELETE /releases/{release_id}": Need("contents=write", _WRITE),
            "GET /forks": Need(),
            "POST /forks": Need("administration=write"),
            "POST /merge-upstream": Need("contents=write", _WRITE),
            "GET /pulls/{pull_number}/requested_reviewers": Need("pull_requests=read"),
            "POST /pulls/{pull_number}/requested_reviewers": Need("pull_requests=write", _WRITE),
            "DELETE /pulls/{pull_number}/requested_reviewers": Need("pull_requests=write", _WRITE),
            "GET /pulls/{pull_number}/reviews": Need("pull_requests=read"),
            "POST /pulls/{pull_number}/reviews": Need("pull_requests=write", _READ),
            "GET /pulls/{pull_number}/reviews/{review_id}": Need("pull_requests=read"),
            "PUT /pulls/{pull_number}/reviews/{review_id}/dismissals": Need(
                "pull_requests=write", _WRITE
            ),
            "GET /issues": Need("issues=read"),
            "POST /issues": Need("issues=write"),
            "POST /issues/{issue_number}/assignees": Need(_TALK_WRITE, _TRIAGE),
            "DELETE /issues/{issue_number}/assignees": Need(_TALK_WRITE, _TRIAGE),
            "PUT /issues/{issue_number}/lock": Need(_TALK_WRITE, _WRITE),
            "DELETE /issues/{issue_number}/lock": Need(_TALK_WRITE, _WRITE),
            "PATCH /labels/{name}": Need(_TALK_WRITE, _WRITE),
            "DELETE /labels/{name}": Need(_TALK_WRITE, _WRITE),
            "GET /issues/{issue_number}": Need(_TALK_READ),
            "PATCH /issues/{issue_number}": Need(_TALK_WRITE, _READ),
            "GET /issues/{issue_number}/comments": Need(_TALK_READ),
            "POST /issues/{issue_number}/comments": Need(_TALK_WRITE, _READ),
            "GET /issues/comments": Need(_TALK_READ),
            "GET /issues/comments/{comment_id}": Need(_TALK_READ),
            "PATCH /issues/comments/{comment_id}": Need(_TALK_WRITE, _READ),
            "DELETE /issues/comments/{comment_id}": Need(_TALK_WRITE, _READ),
            "GET /issues/comments/{comment_id}/reactions": Need(_TALK_READ),
            "POST /issues/comments/{comment_id}/reactions": Need(_TALK_WRITE, _READ),
            "DELETE /issues/comments/{comment_id}/reactions/{reaction_id}": Need(
                _TALK_WRITE, _READ
            ),
            "GET /issues/{issue_number}/reactions": Need(_TALK_READ),
            "POST /issues/{issue_number}/reactions": Need(_TALK_WRITE, _READ),
            "GET /issues/{issue_number}/timeline": Need(_TALK_READ),
            "GET /issues/{issue_number}/labels": Need(_TALK_READ),
            "POST /issues/{issue_number}/labels": Need(_TALK_WRITE, _TRIAGE),
            "PUT /issues/{issue_number}/labels": Need(_TALK_WRITE, _TRIAGE),
            "DELETE /issues/{issue_number}/labels": Need(_TALK_WRITE, _TRIAGE),
            "DELETE /issues/{issue_number}/labels/{name}": Need(_TALK_WRITE, _TRIAGE),
            "GET /hooks": Need("repository_hooks=read", Role.ADMIN),
            "POST /hooks": Need("repository_hooks=write", Role.ADMIN),
            "GET /hooks/{hook_id}": Need("repository_hooks=read", Role.ADMIN),
            "PATCH /hooks/{hook_id}": Need("repository_hooks=write", Role.ADMIN),
            "DELETE /hooks/{hook_id}": Need("repository_hooks=write", Role.ADMIN),
            "POST /hooks/{hook_id}/pings": Need("repository_hooks=read", Role.ADMIN),
            "GET /hooks/{hook_id}/deliveries": Need("repository_hooks=read", Role.ADMIN),
            "GET /hooks/{hook_id}/deliveries/{delivery_id}": Need(
                "repository_hooks=read", Role.ADMIN
            ),
            "POST /hooks/{hook_id}/deliveries/{delivery_id}/attempts": Need(
                "repository_hooks=write", Role.ADMIN
            ),
            "GET /labels": Need(_TALK_READ),
            "POST /labels": Need(_TALK_WRITE, _WRITE),
            "GET /labels/{name}": Need(_TALK_READ),
            "POST /check-runs": Need("checks=write", apps_only=True),
            "GET /check-runs/{check_run_id}": Need("checks=read"),
            "PATCH /check-runs/{check_run_id}": Need("checks=write", apps_only=True),
            "GET /check-runs/{check_run_id}/annotations": Need("checks=read"),
            "POST /check-runs/{check_run_id}/rerequest": Need("checks=write", _WRITE),
            "POST /check-suites": Need("checks=write", apps_only=True),
            "GET /check-suites/{check_suite_id}": Need("checks=read"),
            "GET /check-suites/{check_suite_id}/check-runs": Need("checks=read"),
            "POST /check-suites/{check_suite_id}/rerequest": Need("checks=write", _WRITE),
            "GET /commits/{ref}/check-runs": Need("checks=read"),
            "GET /commits/{ref}/check-suites": Need("checks=read"),
            "GET /commits/{ref}/status": Need("statuses=read"),
            "GET /commits/{ref}/statuses": Need("statuses=read"),
            "POST /statuses/{sha}": Need("statuses=write", _WRITE),
        },
    ),
}
"""Operation (`METHOD template`) to what it needs."""


class Accounts:
    """Finds who calls, and says whether they may."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.long_tokens = True
        """Whether installation tokens have the long form of 2026 (`ghs_<app>_<jwt>`)."""

    def caller(self, authorization: str | None) -> Caller:
        """Who an `Authorization` header names.

        Raises:
            RefusedError: 401 for a token that is unknown, expired or not a good JWT.
        """
        if not authorization:
            return Caller()
        scheme, _, value = authorization.partition(" ")
        if scheme.lower() == "basic":
            return self._basic(value)
        return self._token(value.strip())

    def mint(
        self,
        installation: Installation,
        permissions: Mapping[str, str] | None,
        repositories: Sequence[Repository] | None,
    ) -> tuple[str, InstallationToken]:
        """Make an installation token.

        Raises:
            RefusedError: 422 where more is asked than granted; 403 where it is suspended.
        """
        if installation.suspended_at is not None:
            raise RefusedError(403, "This installation has been suspended")
        # GitHub reads an empty wish as no wish: PyGithub always sends one.
        chosen = dict(permissions or installation.permissions)
        if not all(_grants(installation.permissions, k, level) for k, level in chosen.items()):
            raise plain("The permissions requested are not granted to this installation.")
        chosen.setdefault("metadata", "read")
        if repositories is not None and any(
            repo not in installation.repositories for repo in repositories
        ):
            raise plain(
                "There is at least one repository that does not exist or is not accessible"
                " to the parent installation."
            )
        made = InstallationToken(
            installation=installation,
            expires_at=self._state.now() + _TOKEN_LIFE,
            permissions=chosen,
            repository_ids=tuple(r.id for r in repositories) if repositories is not None else None,
        )
        token = self._written(installation.app)
        self._state.data.installation_tokens[token] = made
        return token, made

    def allow(self, caller: Caller, need: Need, repo: Repository | None) -> None:
        """Refuse a call that its caller may not make.

        Raises:
            RefusedError: 401 for the wrong kind of token, 403 for too little, 404 for what the
                caller may not even see.
        """
        if need.app == "jwt":
            if caller.app is None or caller.token is not None:
                raise RefusedError(401, "A JSON web token could not be decoded")
            return
        if caller.app is not None and caller.token is None:
            if need.app == "":
                return
            raise RefusedError(403, "Resource not accessible by integration")
        if repo is not None:
            self._see(caller, repo)
        if caller.token is not None:
            self._allow_installation(caller.token, need)
        else:
            self._allow_user(caller, need, repo)

    def sees(self, caller: Caller, repo: Repository) -> bool:
        """Whether a caller may know that a repository is there."""
        try:
            self.allow(caller, Need(), repo)
        except RefusedError:
            return False
        return True

    def _allow_installation(self, token: InstallationToken, need: Need) -> None:
        if token.installation.suspended_at is not None:
            raise RefusedError(403, "This installation has been suspended")
        if need.app in ("", "app"):
            return
        if need.app == "user" or not granted(token.permissions, need.app):
            raise RefusedError(403, "Resource not accessible by integration")

    def _allow_user(self, caller: Caller, need: Need, repo: Repository | None) -> None:
        if need.app == "app":
            raise RefusedError(403, "You must authenticate with an installation access token")
        if repo is None:
            if need.app == "user" and caller.user is None:
                raise RefusedError(401, "Requires authentication")
            return
        if need.apps_only:
            raise RefusedError(403, "You must authenticate via a GitHub App.")
        if self._state.role(repo, caller.user) < need.role:
            if caller.user is None:
                raise RefusedError(401, "Requires authentication")
            raise RefusedError(403, "Must have admin rights to Repository.")

    def _see(self, caller: Caller, repo: Repository) -> None:
        if caller.token is not None:
            ids = caller.token.repository_ids
            if repo in caller.token.installation.repositories and (ids is None or repo.id in ids):
                return
            if repo.private:
                raise not_found()
            raise RefusedError(403, "Resource not accessible by integration")
        if self._state.role(repo, caller.user) < Role.READ:
            raise not_found()

    def _token(self, value: str) -> Caller:
        data = self._state.data
        if value in data.user_tokens:
            return Caller(user=data.user_tokens[value])
        token = data.installation_tokens.get(value)
        if token is not None:
            if token.revoked or token.expires_at <= self._state.clock():
                raise RefusedError(401, "Bad credentials")
            app = token.installation.app
            user = self._state.app_user(app)
            return Caller(user=user, app=app, token=token, expires_at=token.expires_at)
        if value.count(".") == 2 and not value.startswith("gh"):  # a JWT has three parts
            return Caller(app=self._app(value))
        raise RefusedError(401, "Bad credentials")

    def _basic(self, value: str) -> Caller:
        try:
            login, _, token = base64.b64decode(value, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            raise RefusedError(401, "Bad credentials") from None
        caller = self._token(token)
        wanted = "x-access-token" if caller.token is not None else None
        named = login.lower() in (caller.name.lower(), "x-access-token", wanted)
        if caller.user is None or not named:
            raise RefusedError(401, "Bad credentials")
        return caller

    def _app(self, token: str) -> App:
        undecodable = RefusedError(401, "A JSON web token could not be decoded")
        try:
            claims = jwt.decode(token, options={"verify_signature": False})
        except jwt.PyJWTError:
            raise undecodable from None
        issuer = str(claims.get("iss", ""))
        apps = self._state.data.apps.values()
        app = next((a for a in apps if issuer in (str(a.id), a.client_id)), None)
        if app is None:
            raise undecodable
        unverified = {"verify_exp": False, "verify_iat": False, "verify_nbf": False}
        try:
            jwt.decode(token, app.public_key, algorithms=["RS256"], options=unverified)  # type: ignore[arg-type]  # PyJWT types its options more narrowly than it reads them
        except jwt.PyJWTError:
            raise undecodable from None
        self._check_times(claims)
        return app

    def _check_times(self, claims: Mapping[str, object]) -> None:
        now = self._state.clock().astimezone(UTC).timestamp()
        expires, issued = claims.get("exp"), claims.get("iat")
        if not isinstance(expires, int) or expires <= now:
            raise RefusedError(401, _BAD_EXP)
        if expires > now + _LONGEST_JWT + _SKEW:
            raise RefusedError(401, "'Expiration time' claim ('exp') is too far in the future")
        if not isinstance(issued, int) or issued > now + _SKEW:
            raise RefusedError(
                401,
                "'Issued at' claim ('iat') must be an Integer representing the time that the"
                " assertion was issued",
            )

    def _written(self, app: App) -> str:
        if not self.long_tokens:
            return "ghs_" + secrets.token_hex(18)
        parts = (secrets.token_urlsafe(n).replace("_", "-") for n in (27, 180, 64))
        return f"ghs_{app.id}_" + ".".join(parts)


def granted(permissions: Mapping[str, str], need: str) -> bool:
    """Whether permissions meet a need such as `issues=write; pull_requests=write`."""
    return any(
        all(
            _grants(permissions, *part.strip().partition("=")[::2])
            for part in alternative.split(",")
        )
        for alternative in need.split(";")
    )


def _grants(permissions: Mapping[str, str], name: str, level: str) -> bool:
    order = ("read", "write", "admin")
    have = permissions.get(name)
    if have is None or level not in order:
        return False
    return order.index(have) >= order.index(level)
