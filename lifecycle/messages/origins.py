"""What set a field, in the answer to `/why <field>`."""

from typing import assert_never

from lifecycle.facts.origins import FieldOrigin, OriginKind
from lifecycle.messages.markdown import code, quote

_TITLE = 80


def told(origin: FieldOrigin) -> str:
    """Return a line about one field."""
    return f"{code(_place(origin))}: {_what(origin)}"


def _place(origin: FieldOrigin) -> str:
    change = origin.change
    return ": ".join(filter(None, (change.path, change.field)))


def _what(origin: FieldOrigin) -> str:
    commit = f"commit {code(origin.commit[:10])}"
    match origin.kind:
        case OriginKind.FUNCTION if origin.name:
            where = "the package's pipeline" if origin.where == "pipeline" else "the guardrails"
            return f"function {code(origin.name)} of {where}, rendered in {commit}"
        case OriginKind.FUNCTION:
            return f"a function of the package or of one inside it, rendered in {commit}"
        case OriginKind.UPGRADE:
            return (
                f"the upgrade to {code(origin.name)}, with its rendering, in {commit}{_by(origin)}"
            )
        case OriginKind.MERGE:
            return f"a merge of another branch, {commit}"
        case OriginKind.OURS | OriginKind.COMMIT:
            return f"{commit}{_by(origin)}: {quote(origin.subject[:_TITLE])}"
        case _:
            assert_never(origin.kind)


def _by(origin: FieldOrigin) -> str:
    return f" by {code(origin.by[:_TITLE])}" if origin.by else ""
