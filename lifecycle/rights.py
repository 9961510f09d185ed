"""Who may do what: `authorise` decides for each command and each approval.

A right is a value, named in the row of a command (`commands/table.py`). Refusals are values too:
what they say stands in `messages.rights`.
"""

from dataclasses import dataclass
from enum import StrEnum

from lifecycle.access import Person, Role, Source
from lifecycle.policy import Policy


class Own(StrEnum):
    """What suffices instead of a role: being the author, or having set the hold."""

    AUTHOR = "author"
    HOLDER = "holder"


@dataclass(frozen=True, slots=True)
class Right:
    """The role or relation to the proposal that a command takes.

    Attributes:
        role: From which role on; None for whoever `access.approve` of the configuration names.
        own: What suffices as well, with read access; None for nothing.
    """

    role: Role | None
    own: Own | None = None


READERS = Right(Role.READ)
WRITERS = Right(Role.WRITE)
WRITERS_OR_AUTHOR = Right(Role.WRITE, Own.AUTHOR)
WRITERS_OR_HOLDER = Right(Role.WRITE, Own.HOLDER)
APPROVERS = Right(None)


@dataclass(frozen=True, slots=True)
class Allowed:
    """Permission to go ahead."""


class Reason(StrEnum):
    """Which rule refused somebody."""

    BOT = "bot"
    AUTHOR = "author"
    ROLE = "role"


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal, with what it would take.

    Attributes:
        reason: Which rule said no.
        right: What would have to be had.
        role: What the person has.
        approvers: Whom the configuration lets approve.
    """

    reason: Reason
    right: Right
    role: Role
    approvers: tuple[Source, ...]

    @property
    def is_author(self) -> bool:
        """Refused for having written a part of it, and for nothing else."""
        return self.reason is Reason.AUTHOR


def authorise(
    actor: Person | str, right: Right, *, role: Role, own: bool, policy: Policy
) -> Allowed | Refused:
    """Decide whether somebody may do something to one proposal, now.

    Args:
        actor: The person, or the login alone where no more is kept; the forge gives a machine no
            role.
        right: What it takes.
        role: What the forge's permission API says about the actor, fresh.
        own: The actor wrote, pushed or asked for a part of the proposal; for lifting a hold, the
            actor set one.
        policy: The base branch's configuration.
    """
    login, bot = (actor, False) if isinstance(actor, str) else (actor.login, actor.bot)
    reason = Reason.BOT if bot else _reason(login, right, role, own=own, policy=policy)
    if reason is None:
        return Allowed()
    return Refused(reason, right, role, policy.approve.sources)


def _reason(login: str, right: Right, role: Role, *, own: bool, policy: Policy) -> Reason | None:
    if right.role is not None:
        allowed = role >= right.role or (right.own and own and role >= Role.READ)
        return None if allowed else Reason.ROLE
    if not any(source.covers(login, role) for source in policy.approve.sources):
        return Reason.ROLE
    return Reason.AUTHOR if own and not policy.approve.self_allowed else None
