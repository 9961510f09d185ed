"""What set a field, in the answer to `/why <field>`."""

from collections.abc import Sequence
from typing import assert_never

from lifecycle.facts.origins import FieldOrigin, OriginKind
from lifecycle.messages.markdown import code, number, quote

_TITLE = 80

SECONDS = 10
"""In which what set a field is found, for all questions that wait for an answer together."""

_LATE = f"the time ran out ({SECONDS} seconds for all questions together)"


def told(origin: FieldOrigin) -> str:
    """Return a line about one field."""
    return f"{code(_place(origin))}: {_what(origin)}"


def listed(origins: Sequence[FieldOrigin], changed: int) -> str:
    """Return what set fields, as a list.

    Args:
        origins: Of the first of them.
        changed: How many of them there are.
    """
    lines = [told(each) for each in origins]
    if (more := changed - len(origins)) > 0:
        lines.append(f"{number(more, 'more field')}: ask about one by its whole name")
    return "\n".join(f"- {each}" for each in lines)


def _place(origin: FieldOrigin) -> str:
    change = origin.change
    return ": ".join(filter(None, (change.path, change.field)))


def _what(origin: FieldOrigin) -> str:
    commit = f"commit {code((origin.commit or '')[:10])}"
    match origin.kind:
        case OriginKind.FUNCTION if origin.name:
            where = "the package's pipeline" if origin.where == "pipeline" else "the guardrails"
            return f"function {code(origin.name)} of {where}, rendered in {commit}"
        case OriginKind.FUNCTION if origin.late and origin.total:
            return (
                f"a function, rendered in {commit}. Which one is not known, because {_LATE}: to"
                f" find it, the bot renders without one function at a time, and tried {origin.seen}"
                f" of {number(origin.total, 'function')}, the last ones first. Ask again: it goes"
                " on from there"
            )
        case OriginKind.FUNCTION if origin.late:
            return f"a function, rendered in {commit}. Which one is not known, because {_LATE}"
        case OriginKind.FUNCTION:
            return f"a function of the package or of one inside it, rendered in {commit}"
        case OriginKind.UPGRADE:
            return (
                f"the upgrade to {code(origin.name)}, with its rendering, in {commit}{_by(origin)}"
            )
        case OriginKind.UNKNOWN if origin.late:
            return (
                f"not found, because {_LATE}: {origin.seen} of {number(origin.total, 'commit')} of"
                " this pull request were looked at, the newest first. Ask about this field alone,"
                " by its whole name, or see `git log -p`"
            )
        case OriginKind.UNKNOWN:
            return (
                f"not found: none of the newest {number(origin.seen, 'commit')} of this pull"
                " request set it. See `git log -p`"
            )
        case OriginKind.MERGE:
            return f"a merge of another branch, {commit}"
        case OriginKind.OURS | OriginKind.COMMIT:
            return f"{commit}{_by(origin)}: {quote(origin.subject[:_TITLE])}"
        case _:
            assert_never(origin.kind)


def _by(origin: FieldOrigin) -> str:
    return f" by {code(origin.by[:_TITLE])}" if origin.by else ""
