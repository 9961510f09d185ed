"""Roles and people at the forge, and the people that a configuration names by role or login.

Roles come from the forge's permission API, never from what a webhook says about its sender
(docs/design.md, "Who may do what").
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from itertools import product


class Role(IntEnum):
    """What a person may do to the repository at the forge; each includes the ones before it."""

    NONE = 0
    READ = 1
    TRIAGE = 2
    WRITE = 3
    MAINTAIN = 4
    ADMIN = 5

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Person:
    """An account at the forge.

    Attributes:
        id: The forge's number, which stays when the login changes.
        login: Such as "octocat".
        bot: It is an App or another machine; those give no commands and no approvals.
    """

    id: int
    login: str
    bot: bool


@dataclass(frozen=True, slots=True)
class RoleSource:
    """All people with at least this role; written `role:write` in the configuration."""

    role: Role

    def __str__(self) -> str:
        return f"{self.role} access"

    @property
    def spelling(self) -> str:
        """The spelling of the configuration, such as "role:write"."""
        return f"role:{self.role}"

    def covers(self, login: str, role: Role) -> bool:  # noqa: ARG002 (one signature for both)
        """Tell whether this person is one of them."""
        return role >= self.role


@dataclass(frozen=True, slots=True)
class UserSource:
    """One person; written `user:octocat` in the configuration.

    Attributes:
        login: Of the person.
        role: What the person must have as well: more than reading only where two configurations
            are united.
    """

    login: str
    role: Role = Role.READ

    def __str__(self) -> str:
        more = f" with {self.role} access" if self.role > Role.READ else ""
        return f"the login `{self.login}`{more}"

    @property
    def spelling(self) -> str:
        """As the configuration spells it; in lower case, since forges ignore case in logins."""
        more = f" role:{self.role}" if self.role > Role.READ else ""
        return f"user:{self.login.lower()}{more}"

    def covers(self, login: str, role: Role) -> bool:
        """Tell whether this is the person: the same login, and at least the role that is asked for.

        Forges do not tell logins apart by case.
        """
        return login.lower() == self.login.lower() and role >= self.role


Source = RoleSource | UserSource


def in_both(some: Iterable[Source], others: Iterable[Source]) -> tuple[Source, ...]:
    """Intersect two lists of sources; empty where they have nobody in common."""
    pairs = [_common(one, other) for one, other in product(some, others)]
    found = {source.spelling: source for source in pairs if source is not None}
    return tuple(
        source
        for key, source in found.items()
        if not any(_holds(other, source) for name, other in found.items() if name != key)
    )


def _common(one: Source, other: Source) -> Source | None:
    role = max(one.role, other.role)
    people = [source.login for source in (one, other) if isinstance(source, UserSource)]
    if len({login.lower() for login in people}) > 1:
        return None
    return UserSource(people[0], role) if people else RoleSource(role)


def _holds(one: Source, other: Source) -> bool:
    """Whether a source means everybody whom another one means."""
    if isinstance(one, UserSource):
        same = isinstance(other, UserSource) and one.login.lower() == other.login.lower()
        return same and one.role <= other.role
    return one.role <= other.role
