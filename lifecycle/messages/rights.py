"""What a right takes and what somebody has, as phrases."""

from collections.abc import Iterable

from lifecycle.access import Role, Source
from lifecycle.rights import Own, Reason, Refused, Right

NOBODY = "a rule of `access` that names somebody, here and on the default branch"
"""What it takes where two configurations name nobody in common."""

APPROVERS = "whoever `access.approve` names: unless it says otherwise, write access, no author"

_OWN = {Own.AUTHOR: "being the author", Own.HOLDER: "having set the hold"}


def right(needed: Right) -> str:
    """What a right takes, whatever the configuration says."""
    if needed.role is None:
        return APPROVERS
    return f"{_OWN[needed.own]}, or {access(needed.role)}" if needed.own else access(needed.role)


def approvers(sources: Iterable[Source]) -> str:
    """Whom a configuration lets approve."""
    return " or ".join(sorted(str(source) for source in sources)) or NOBODY


def needed(refused: Refused) -> str:
    """What it would have taken."""
    return approvers(refused.approvers) if refused.right.role is None else right(refused.right)


def actual(refused: Refused) -> str:
    """What the person has instead."""
    if refused.reason is Reason.BOT:
        return "an account that is not a person's"
    return access(refused.role) if refused.role > Role.NONE else "no access"


def access(role: Role) -> str:
    """A role, such as "write access"."""
    return f"{role} access"
