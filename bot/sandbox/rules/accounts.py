"""Who calls the API: personal tokens, App JWTs, installation tokens; and whether they may."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import jwt

from bot.sandbox.errors import RefusedError, not_found, plain
from bot.sandbox.records.accounts import App, Role, User
from bot.sandbox.records.memory import Data, Installation, InstallationToken
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.context import Context
from bot.sandbox.rules.permissions import PermissionRequirement, granted, grants

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

    def at(self, data: Data) -> Caller:
        """The same caller as an earlier moment of the forge knew it."""
        user = data.users.get(self.user.login.lower()) if self.user else None
        app = data.apps.get(self.app.id) if self.app else None
        token = self.token
        if token is not None and token.installation.id in data.installations:
            token = replace(token, installation=data.installations[token.installation.id])
        return replace(self, user=user or self.user, app=app or self.app, token=token)


class Accounts:
    """Finds who calls, and says whether they may."""

    def __init__(self, state: Context) -> None:
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
        if not all(grants(installation.permissions, k, level) for k, level in chosen.items()):
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

    def allow(self, caller: Caller, need: PermissionRequirement, repo: Repository | None) -> None:
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
            self._see(caller, repo, public=need.public)
        if caller.token is not None:
            self._allow_installation(caller.token, need)
        else:
            self._allow_user(caller, need, repo)

    def sees(self, caller: Caller, repo: Repository) -> bool:
        """Whether a caller may know that a repository is there."""
        try:
            self._see(caller, repo, public=False)
            self.allow(caller, PermissionRequirement(), repo)
        except RefusedError:
            return False
        return True

    def _allow_installation(self, token: InstallationToken, need: PermissionRequirement) -> None:
        if token.installation.suspended_at is not None:
            raise RefusedError(403, "This installation has been suspended")
        if need.app in ("", "app"):
            return
        if need.app == "user" or not granted(token.permissions, need.app):
            raise RefusedError(403, "Resource not accessible by integration")

    def _allow_user(
        self, caller: Caller, need: PermissionRequirement, repo: Repository | None
    ) -> None:
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

    def _see(self, caller: Caller, repo: Repository, *, public: bool) -> None:
        """Of repositories elsewhere an installation reads what is public, and writes nothing."""
        if caller.token is not None:
            ids = caller.token.repository_ids
            if repo in caller.token.installation.repositories and (ids is None or repo.id in ids):
                return
            if repo.private:
                raise not_found()
            if not public:
                raise RefusedError(403, "Resource not accessible by integration")
            return
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
        # The name that stands beside a token is nobody's to check; it may be the token itself.
        caller = self._token(login if token in {"", "x-oauth-basic"} else token)
        if caller.user is None:
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
