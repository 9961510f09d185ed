"""The forge's rules of organizations: members, teams, and the roles that both give."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bot.sandbox.errors import not_found
from bot.sandbox.records.accounts import Organization, Role, Team, User
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.context import Context


class Organizations:
    """Organizations of a forge; set-up takes the forge's lock itself."""

    def __init__(self, state: Context) -> None:
        self._state = state

    def add(
        self,
        login: str,
        *,
        admins: tuple[str, ...] = (),
        members: tuple[str, ...] = (),
        roles: Mapping[str, Role] | None = None,
    ) -> User:
        """Make an organization, or a group of GitLab's; it owns repositories as people do.

        Args:
            login: Its name; `above/name` for a group below another one.
            admins: Who owns it.
            members: Who is in it, and may read.
            roles: What people may do in all it holds, and below it.
        """
        with self._state.lock:
            above, _, name = login.rpartition("/")
            account = self._state.add_user(login, name.capitalize())
            account.kind = "Organization"
            made = Organization(account=account, parent=self.find(above) if above else None)
            for who, role in (roles or {}).items():
                made.roles[self._state.user(who).login] = role
            for who in (*admins, *members):
                made.members[self._state.user(who).login] = "admin" if who in admins else "member"
            self._state.data.organizations[login.lower()] = made
            return account

    def add_team(
        self, login: str, name: str, members: tuple[str, ...] = (), *, parent: Team | None = None
    ) -> Team:
        """Make a team of members, below another one where there is a parent."""
        with self._state.lock:
            made = Team(
                id=self._state.next_id(),
                name=name,
                slug=re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-"),
                created_at=self._state.now(),
                members=[self._state.user(who) for who in members],
                parent=parent,
            )
            self.find(login).teams[made.slug] = made
            return made

    def grant(self, team: Team, repo: Repository, role: Role) -> None:
        """Give a team a role in a repository."""
        with self._state.lock:
            team.roles[repo.id] = role

    def find(self, login: str) -> Organization:
        """An organization by its login, in any case; 404 when there is none."""
        found = self._state.data.organizations.get(login.lower())
        if found is None:
            raise not_found()
        return found

    def team(self, login: str, slug: str) -> Team:
        """A team by its slug; 404 when there is none."""
        found = self.find(login).teams.get(slug)
        if found is None:
            raise not_found()
        return found
