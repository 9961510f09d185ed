"""One request to a page: who looks, at what."""

from __future__ import annotations

import secrets

from starlette.requests import Request

from bot.sandbox.errors import not_found
from bot.sandbox.records.accounts import Role, User
from bot.sandbox.records.repository import Pull, Repository
from bot.sandbox.rules.state import ForgeState

COOKIE = "sandbox"
"""Holds `<login>.<random>`: who acts, and what the forms' tokens are bound to."""


class PageRequest:
    """One request to a page: who looks, at what.

    Attributes:
        request: The request.
        state: The forge; its lock is held while the page is made.
        user: Who acts; the first user at the first page, None on a forge without users.
        seed: The random part of the cookie.
    """

    def __init__(self, request: Request, state: ForgeState) -> None:
        self.request = request
        self.state = state
        login, _, seed = request.cookies.get(COOKIE, "").rpartition(".")
        people = self.people
        known = {user.login: user for user in people}
        self.user: User | None = known.get(login) or (people[0] if people else None)
        self.seed = seed or secrets.token_urlsafe(16)

    @property
    def people(self) -> list[User]:
        """Everybody that a visitor may act as: no Apps."""
        return [user for user in self.state.data.users.values() if user.app is None]

    @property
    def repo(self) -> Repository:
        """The repository of the address; 404 where there is none that the user may read."""
        given = self.request.path_params
        repo = self.state.repository(given["owner"], given["name"])
        if self.state.role(repo, self.user) < Role.READ:
            raise not_found()
        return repo

    @property
    def pull(self) -> Pull:
        """The pull request of the address; 404 where there is none."""
        return self.state.pulls.find(self.repo, self.request.path_params["number"])
