"""Who may do what: one function, `authorise`, that guards every door.

`_RULES` is the whole table. Roles come from the forge's permission API, never from what a webhook
says about its sender (docs/design.md, "Who may do what"). Refusals are values; their texts stand in
`messages`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lifecycle.policy import Policy


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

    @classmethod
    def read(cls, permission: str, role_name: str = "") -> "Role":
        """Read the forge's answer about one person.

        Args:
            permission: `permission` of GitHub's answer: "admin", "write", "read" or "none";
                triage is told there as "read" and maintain as "write".
            role_name: `role_name` of the same answer: one of the five, or the name that an
                organisation gave to a role of its own, which then says nothing.

        Returns:
            The exact role where its name refines the permission, else the permission itself: a
            role of an organisation's own may be called anything. `NONE` for what is unknown.
        """
        base = _PERMISSIONS.get(permission.lower(), cls.NONE)
        return _REFINED.get((base, role_name.lower()), base)


_PERMISSIONS: Mapping[str, Role] = {str(role): role for role in Role}
_REFINED: Mapping[tuple[Role, str], Role] = {
    (Role.READ, "triage"): Role.TRIAGE,
    (Role.WRITE, "maintain"): Role.MAINTAIN,
}


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


class Action(StrEnum):
    """What people ask the bot for."""

    PROPOSE = "propose"
    APPROVE = "approve"
    UNAPPROVE = "unapprove"
    REJECT = "reject"
    RENDER = "render"
    CHECK = "check"
    HOLD = "hold"
    UNHOLD = "unhold"
    WHY = "why"
    HELP = "help"


@dataclass(frozen=True, slots=True)
class RoleSource:
    """Everybody with at least this role; written `role:write` in the configuration."""

    role: Role

    def __str__(self) -> str:
        return f"{self.role} access"

    @property
    def spelling(self) -> str:
        """As the configuration spells it."""
        return f"role:{self.role}"

    def covers(self, login: str, role: Role) -> bool:  # noqa: ARG002 (one signature for both)
        """Whether this person is meant."""
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
        """Whether this person is meant: the same login, and still somebody who can read here.

        Forges do not tell logins apart by case.
        """
        return login.lower() == self.login.lower() and role >= self.role


Source = RoleSource | UserSource


def in_both(some: Iterable[Source], others: Iterable[Source]) -> tuple[Source, ...]:
    """Whom two lists of sources have in common; empty for nobody."""
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


@dataclass(frozen=True, slots=True)
class Allowed:
    """Go ahead."""


class Reason(StrEnum):
    """Why somebody was refused."""

    BOT = "bot"
    AUTHOR = "author"
    ROLE = "role"


@dataclass(frozen=True, slots=True)
class Refused:
    """No, and what it would take.

    Attributes:
        reason: Which rule said no.
        needed: What the action takes, as a phrase: "write access".
        actual: What the person has, as a phrase: "read access".
    """

    reason: Reason
    needed: str
    actual: str

    @property
    def is_author(self) -> bool:
        """Refused for having written a part of it, and for nothing else."""
        return self.reason is Reason.AUTHOR


@dataclass(frozen=True, slots=True)
class _Rule:
    """From which role on; authors may do it with read access too where `author` is set.

    `author` says who counts as one, as a phrase: lifting a hold is for whoever set it.
    """

    role: Role
    author: str = ""


_AUTHOR = "being the author"

NOBODY = "a rule of `access` that names somebody, here and on the default branch"
"""What it takes where two configurations name nobody in common."""

_RULES: Mapping[Action, _Rule | None] = {
    Action.PROPOSE: _Rule(Role.WRITE, author=_AUTHOR),
    Action.APPROVE: None,  # the configuration's `access.approve` says who
    Action.UNAPPROVE: _Rule(Role.READ),  # it reaches nobody's approval but one's own
    Action.REJECT: _Rule(Role.WRITE, author=_AUTHOR),
    Action.RENDER: _Rule(Role.WRITE, author=_AUTHOR),
    Action.CHECK: _Rule(Role.WRITE, author=_AUTHOR),
    Action.HOLD: _Rule(Role.WRITE, author=_AUTHOR),
    Action.UNHOLD: _Rule(Role.WRITE, author="having set the hold"),
    Action.WHY: _Rule(Role.READ),
    Action.HELP: _Rule(Role.READ),
}


def authorise(
    actor: Person | str, action: Action, *, role: Role, is_author: bool, policy: "Policy"
) -> Allowed | Refused:
    """Decide whether somebody may do something to one proposal, now.

    Args:
        actor: The person, or the login alone where the forge tells no more.
        action: What is asked.
        role: What the forge's permission API says about the actor, fresh.
        is_author: The actor wrote, pushed or asked for a part of the proposal; for lifting a hold,
            the actor set one.
        policy: The base branch's configuration.
    """
    login, bot = (actor, _is_bot(actor)) if isinstance(actor, str) else (actor.login, actor.bot)
    rule = _RULES[action]
    needed = who(action, policy)
    actual = f"{role} access" if role > Role.NONE else "no access"
    if bot:
        return Refused(Reason.BOT, needed, "an account that is not a person's")
    if rule is None:
        return _approve(login, role, needed, actual, is_author=is_author, policy=policy)
    if role >= rule.role or (rule.author and is_author and role >= Role.READ):
        return Allowed()
    return Refused(Reason.ROLE, needed, actual)


def _approve(
    login: str, role: Role, needed: str, actual: str, *, is_author: bool, policy: "Policy"
) -> Allowed | Refused:
    if not any(source.covers(login, role) for source in policy.approve.sources):
        return Refused(Reason.ROLE, needed, actual)
    if is_author and not policy.approve.self_allowed:
        return Refused(Reason.AUTHOR, needed, actual)
    return Allowed()


def _is_bot(login: str) -> bool:
    # GitHub ends the logins of Apps so, and lets no person register one with brackets.
    return login.endswith("[bot]")


def who(action: Action, policy: "Policy | None" = None) -> str:
    """Say who may do something, for refusals, help and docs.

    Args:
        action: What is asked.
        policy: The configuration; None for the rule as such.
    """
    rule = _RULES[action]
    if rule is not None:
        return f"{rule.author}, or {rule.role} access" if rule.author else f"{rule.role} access"
    if policy is None:
        return "whoever `access.approve` names: unless it says otherwise, write access, no author"
    return " or ".join(sorted(str(source) for source in policy.approve.sources)) or NOBODY
