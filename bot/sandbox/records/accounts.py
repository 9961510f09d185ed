"""Accounts of the forge: users, organizations with their teams, Apps, and roles."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum


class Role(IntEnum):
    """What a user may do in a repository; a greater role includes the lesser."""

    NONE = 0
    READ = 1
    TRIAGE = 2
    WRITE = 3
    MAINTAIN = 4
    ADMIN = 5

    @property
    def word(self) -> str:
        """The role's name as the forge writes it: `maintain`."""
        return self.name.lower()


@dataclass(slots=True, eq=False)
class User:
    """An account. An App acts through an account of type Bot named `<slug>[bot]`.

    Attributes:
        kind: `User`, `Organization` or `Bot`.
    """

    id: int
    login: str
    name: str
    created_at: datetime
    app: App | None = None
    kind: str = "User"

    @property
    def email(self) -> str:
        """The address that the forge writes into commits it makes for this account."""
        return f"{self.id}+{self.login}@users.noreply.sandbox.example"


@dataclass(slots=True, eq=False, kw_only=True)
class Team:
    """A team of an organization; `roles` are what it may do, by the repository's id.

    A child team has what its parent has, and its people are the parent's as well.
    """

    id: int
    name: str
    slug: str
    created_at: datetime
    members: list[User] = field(default_factory=list)
    roles: dict[int, Role] = field(default_factory=dict)
    parent: Team | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class OrgHook:
    """A webhook of an organization, which sends what happens in all its repositories."""

    id: int
    account: User
    url: str
    secret: str
    events: tuple[str, ...]
    active: bool
    created_at: datetime
    updated_at: datetime


@dataclass(slots=True, eq=False, kw_only=True)
class Organization:
    """What an account of type Organization holds: members (`admin`, `member`) and teams."""

    account: User
    members: dict[str, str] = field(default_factory=dict)
    teams: dict[str, Team] = field(default_factory=dict)
    parent: Organization | None = None
    """The group that a subgroup is below; what people may do there, they may do here too."""
    roles: dict[str, Role] = field(default_factory=dict)
    """What a group lets its members do in all it holds, by login."""
    hooks: dict[int, OrgHook] = field(default_factory=dict)

    def people(self, team: Team) -> list[User]:
        """Members of a team and of the teams below it."""
        below = [p for t in self.teams.values() if t.parent is team for p in self.people(t)]
        return list(dict.fromkeys([*team.members, *below]))

    def role(self, repo_id: int, user: User) -> Role:
        """What the organization lets a user do in one of its repositories."""
        if self.members.get(user.login) == "admin":
            return Role.ADMIN
        roles = [
            team.roles.get(repo_id, Role.NONE)
            for team in self.teams.values()
            if user in self.people(team)
        ]
        member = Role.READ if user.login in self.members else Role.NONE
        above = self.parent.role(repo_id, user) if self.parent else Role.NONE
        return max([member, above, self.roles.get(user.login, Role.NONE), *roles])


@dataclass(slots=True, eq=False, kw_only=True)
class App:
    """A GitHub App as registered: its key's public half, what it may do and hear."""

    id: int
    slug: str
    name: str
    owner: User
    client_id: str
    public_key: str
    permissions: dict[str, str]
    events: tuple[str, ...]
    webhook_url: str | None
    webhook_secret: str
    hook_id: int
    created_at: datetime
