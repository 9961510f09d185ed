"""Who calls GitLab's API: tokens of people, projects, groups and service accounts.

Source: https://docs.gitlab.com/api/rest/authentication/,
https://docs.gitlab.com/api/personal_access_tokens/, https://docs.gitlab.com/api/project_access_tokens/
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from bot.sandbox.gitlab.errors import (
    bad_parameter,
    forbidden,
    insufficient_scope,
    invalid_token,
    unauthorized,
)
from bot.sandbox.records.accounts import User
from bot.sandbox.records.gitlab import AccessToken
from bot.sandbox.records.memory import Data
from bot.sandbox.rules.context import Context

SCOPES = (
    "api",
    "read_api",
    "read_user",
    "read_repository",
    "write_repository",
    "create_runner",
    "manage_runner",
    "ai_features",
    "k8s_proxy",
    "self_rotate",
)
"""Scopes that a token may have; GitLab has more, for its registry and for administrators."""

LONGEST_LIFE = timedelta(days=365)
"""A token lives no longer than a year."""

ROTATED_LIFE = timedelta(days=7)
"""What rotation gives a token if it is not told."""


@dataclass(frozen=True, slots=True)
class GitLabCaller:
    """Who makes a request; `user` is None for nobody."""

    user: User | None = None
    token: AccessToken | None = None

    @property
    def name(self) -> str:
        """Login, or `anonymous`."""
        return self.user.login if self.user is not None else "anonymous"

    def at(self, data: Data) -> GitLabCaller:
        """The same caller as an earlier moment of the forge knew it."""
        user = data.users.get(self.user.login.lower()) if self.user else None
        return replace(self, user=user or self.user)


class Tokens:
    """Makes tokens, and finds who calls by them."""

    def __init__(self, state: Context) -> None:
        self._state = state

    def make(
        self,
        user: User | str,
        name: str = "token",
        scopes: Sequence[str] = ("api", "read_repository", "write_repository"),
        *,
        kind: str = "personal",
        expires_at: date | None = None,
        owner_id: int | None = None,
        description: str = "",
    ) -> AccessToken:
        """Make a token of an account (or of a login).

        Raises:
            RefusedError: 400 for a scope that is none, or a day that is too far away or past.
        """
        with self._state.lock:
            account = self._state.user(user) if isinstance(user, str) else user
            unknown = [scope for scope in scopes if scope not in SCOPES]
            if unknown or not scopes:
                raise bad_parameter("scopes does not have a valid value")
            self.check_day(expires_at)
            made = AccessToken(
                id=self._state.next_id(),
                value=f"glpat-{secrets.token_urlsafe(15)}",
                name=name,
                kind=kind,
                user=account,
                scopes=tuple(scopes),
                created_at=self._state.now(),
                expires_at=expires_at,
                owner_id=owner_id,
                description=description,
            )
            self._state.data.gitlab.tokens[made.value] = made
            return made

    def rotate(self, token: AccessToken, expires_at: date | None = None) -> AccessToken:
        """Revoke a token and make one like it, for a week if no day is named."""
        until = expires_at or (self._state.now().date() + ROTATED_LIFE)
        made = self.make(
            token.user,
            token.name,
            token.scopes,
            kind=token.kind,
            expires_at=until,
            owner_id=token.owner_id,
            description=token.description,
        )
        token.revoked = True
        return made

    def find(self, number: int) -> AccessToken | None:
        """A token by its number."""
        tokens = self._state.data.gitlab.tokens.values()
        return next((token for token in tokens if token.id == number), None)

    def caller(self, headers: Mapping[str, str], query: Mapping[str, str]) -> GitLabCaller:
        """Who a request of the API names by its token.

        Raises:
            RefusedError: 401 for a token that is unknown, revoked or too old.
        """
        scheme, _, value = headers.get("authorization", "").partition(" ")
        bearer = value.strip() if scheme.lower() == "bearer" else ""
        given = headers.get("private-token") or bearer or query.get("private_token")
        return self._holder(given) if given else GitLabCaller()

    def git_caller(self, authorization: str | None) -> GitLabCaller:
        """Who git names: any login with a token as the password, `oauth2` too."""
        if not authorization:
            return GitLabCaller()
        _, _, value = authorization.partition(" ")
        try:
            login, _, token = base64.b64decode(value, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            raise unauthorized() from None
        if not login or not token:
            raise unauthorized()
        return self._holder(token)

    def need_scope(self, caller: GitLabCaller, *scopes: str) -> None:
        """Refuse a token that has none of some scopes."""
        if caller.token is not None and not set(scopes) & set(caller.token.scopes):
            raise insufficient_scope(scopes)

    def _holder(self, value: str) -> GitLabCaller:
        token = self._state.data.gitlab.tokens.get(value)
        if token is None:
            raise unauthorized()
        if token.revoked:
            raise invalid_token("Token was revoked. You have to re-authorize from the user.")
        if token.expires_at is not None and token.expires_at <= self._state.now().date():
            raise invalid_token(
                "Token is expired. You can either do re-authorization or token refresh."
            )
        if token.user.id in self._state.data.gitlab.blocked:
            raise forbidden("Your account has been blocked.")
        token.last_used_at = self._state.now()
        return GitLabCaller(token.user, token)

    def check_day(self, day: date | None) -> None:
        """Refuse a day that is past, or further away than a token may live; 400."""
        today = self._state.now().date()
        if day is not None and not today < day <= today + LONGEST_LIFE:
            text = f"Expiration date must be before {today + LONGEST_LIFE}"
            raise bad_parameter(text if day > today else "Expires at can't be in the past")
