"""What a right takes and what somebody has, as phrases."""

from collections.abc import Iterable, Mapping, Sequence

from lifecycle.access import (
    AccessAction,
    AppSource,
    AuthorSource,
    BothSource,
    HolderSource,
    OwnersSource,
    Role,
    RoleSource,
    Source,
    TeamSource,
    Unreadable,
)
from lifecycle.automatic import ByItself
from lifecycle.facts.packages import NotByRule
from lifecycle.messages.markdown import code, names, number, people, person, some
from lifecycle.needs import Need
from lifecycle.owners import Owned
from lifecycle.policy import DEFAULTS, AccessRule
from lifecycle.rights import Reason, Refused, Unsure

NOBODY = "nobody, because the rules of this branch and of the default branch allow no one in common"
"""Who may, where two configurations name nobody in common."""

APPROVERS = (
    "those listed in `access.approve` (by default, anybody with write access except the authors)"
)

_UNREADABLE: Mapping[Unreadable, str] = {
    Unreadable.PERMISSION: (
        "the App may not read teams: grant it the organization permission *Members: Read-only*"
    ),
    Unreadable.MISSING: "the team does not exist, or the App cannot see it",
    Unreadable.LARGE: "is too large to read: shorten it, or list people instead",
    Unreadable.ADDRESS: "lists an e-mail address: replace it with a login in CODEOWNERS",
    Unreadable.UNTOLD: "the rules in force do not name this team, so its members are not revealed",
}
"""Why nobody can tell who is meant, and what to do."""


def right(action: AccessAction) -> str:
    """What an action takes where no configuration is at hand."""
    return named(DEFAULTS[action].sources) if action in DEFAULTS else APPROVERS


def named(sources: Iterable[Source]) -> str:
    """Whom a rule names."""
    return " or ".join(sorted(map(_who, sources))) or NOBODY


def _who(source: Source) -> str:
    """The people whom a source names."""
    match source:
        case RoleSource(role):
            return f"people with {access(role)}"
        case TeamSource():
            return f"members of {source}"
        case OwnersSource():
            return "code owners"
        case AuthorSource():
            return "the author"
        case HolderSource():
            return "the person who set the hold"
        case BothSource(several):
            return " who are also ".join(map(_who, several))
        case _:
            return str(source)


def needed(refused: Refused) -> str:
    """Who may do it."""
    return named(refused.sources)


def only(refused: Refused, what: str = "do this") -> str:
    """Who may do something, and what the person has instead; a clause."""
    if not refused.sources:
        return NOBODY.replace("nobody", f"nobody can {what}", 1)
    return f"only {needed(refused)} can {what}; you have {actual(refused)}"


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
        return "a bot account"
    return access(refused.role) if refused.role > Role.NONE else "no access"


def access(role: Role) -> str:
    """A role, such as "write access"."""
    return f"{role} access"


def somebody(rule: AccessRule, owned: Owned | None, authors: Sequence[str] | None) -> str:
    """Who may give an approval that a rule asks for.

    Args:
        rule: The rule.
        owned: The files that it is about, where it takes their owners.
        authors: Logins of those who wrote it, sorted; None while nobody has looked.
    """
    text = named(rule.sources)
    if owned is not None:
        text += f" ({_owners(owned)})"
    if authors is None and not rule.self_allowed:
        text += ", except the authors"
    elif authors and not rule.self_allowed:
        text += f", except {people(authors)} (the author{'s' if len(authors) > 1 else ''})"
    return text


_OF = {
    AccessAction.REGISTER: " (first revision)",
    AccessAction.ROLLBACK: " (its hold after a rollback)",
}
"""What is approved of a package, where it is not its change."""


def asked(need: Need) -> str:
    """What a rule asks for, of what, and how many approvals it has."""
    of = names(need.packages) if need.packages else "the rules"
    of += _OF.get(need.action, "")
    owned = need.owned
    if owned is not None:
        more = f" and {number(owned.count - 1, 'more file')}" if owned.count > 1 else ""
        of += f", {code(owned.files[0])}{more} ({_owners(owned)})"
    return f"{of}: {len(need.counted)} of {need.needed}, from {named(need.rule.sources)}"


def by_itself(packages: Sequence[str], rule: AccessRule, how: ByItself) -> str:
    """A rule that approves by itself, and what it has found."""
    if how is ByItself.VARIANT:
        why = "the bot alone made it for a variant"
        return f"{names(packages)}: no approval required, because {why}"
    listed = (app for app in rule.automatic if isinstance(app, AppSource))
    apps = " or ".join(sorted(map(str, listed)))
    return f"{names(packages)}: no approval required, because {apps} made this patch-level change"


NOT_BY_RULE: Mapping[NotByRule, str] = {
    why: f"`automatic: {{variants: true}}` does not approve it, because {text}"
    for why, text in {
        NotByRule.PEOPLE: "somebody other than the bot wrote or pushed some of its commits",
        NotByRule.REMOVES: "it removes the package",
        NotByRule.UNSEALED: "an earlier version of porchbot made it",
        NotByRule.CONFLICTS: "the package and its upstream changed the same fields differently",
        NotByRule.OUTSIDE: "it was made with resources or topics of another repository",
        NotByRule.RULE: "no variant asks for it any more",
        NotByRule.CHANGED: "the variant has changed since the bot made it",
        NotByRule.UPSTREAM: "porchbot did not publish the upstream revision that it was made from",
        NotByRule.UNTOLD: "this command cannot tell what the variants ask for",
        NotByRule.MORE: "it changes more than its package",
        NotByRule.AUTHORS: "a person opened it or wrote or pushed part of it, or may have done so",
        NotByRule.UNJUDGED: "it is not rendered and validated yet",
    }.items()
}
"""Why a rule for variants leaves the approval to people."""


def _owners(owned: Owned) -> str:
    if owned.why is not None:
        return f"CODEOWNERS {_UNREADABLE[owned.why]}"
    if not owned.owners:
        return "CODEOWNERS lists nobody for it"
    return f"CODEOWNERS lists {some(owned.owners, write=code)}"


def counts(login: str, source: Source | None) -> str:
    """Somebody whose approval counts, and why."""
    return f"{person(login)} counts: {source}"


def counts_not(login: str, refused: Refused) -> str:
    """Somebody whose approval does not count for a rule, and why."""
    if refused.is_author:
        return f"{person(login)} does not count: authors cannot approve their own work"
    return f"{person(login)} does not count: they have {actual(refused)} and are not listed"


def cannot_tell(login: str, found: Unsure) -> str:
    """Somebody of whom nobody can tell whether the approval counts, and what to do."""
    return f"{person(login)} may count: {unsure(found)}"
