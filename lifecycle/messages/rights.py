"""What a right takes and what somebody has, as phrases."""

from collections.abc import Iterable, Mapping

from lifecycle.access import AccessAction, Role, Source, Unreadable
from lifecycle.policy import DEFAULTS
from lifecycle.rights import Reason, Refused, Unsure

NOBODY = "a rule of `access` that names somebody, here and on the default branch"
"""What it takes where two configurations name nobody in common."""

APPROVERS = "whoever `access.approve` names: unless it says otherwise, write access, no author"

_UNREADABLE: Mapping[Unreadable, str] = {
    Unreadable.PERMISSION: (
        "the App may not read teams: grant it the organization permission *Members: Read-only*"
    ),
    Unreadable.MISSING: "there is no such team, or the App cannot see it",
    Unreadable.LARGE: "it is too large to be read",
    Unreadable.ADDRESS: "an owner is an e-mail address: write the login into CODEOWNERS",
}
"""Why nobody can tell who is meant, and what to do."""


def right(action: AccessAction) -> str:
    """What an action takes where no configuration is at hand."""
    return named(DEFAULTS[action].sources) if action in DEFAULTS else APPROVERS


def named(sources: Iterable[Source]) -> str:
    """Whom a rule names."""
    return " or ".join(sorted(str(source) for source in sources)) or NOBODY


def needed(refused: Refused) -> str:
    """What it would have taken."""
    return named(refused.sources)


def unsure(found: Unsure) -> str:
    """What nobody can tell, and why."""
    said = []
    for source in found.sources:
        why = found.why(source)
        said.append(f"{source} cannot be read" + (f" ({_UNREADABLE[why]})" if why else ""))
    return "; ".join(sorted(said))


def actual(refused: Refused) -> str:
    """What the person has instead."""
    if refused.reason is Reason.BOT:
        return "an account that is not a person's"
    return access(refused.role) if refused.role > Role.NONE else "no access"


def access(role: Role) -> str:
    """A role, such as "write access"."""
    return f"{role} access"
