"""What set a field that a proposal changes: a function, an upgrade, or a commit."""

from dataclasses import dataclass, replace
from enum import StrEnum

from cadlib.diff.values import Change, ChangeKind
from lifecycle.names import Sha

MOST_FIELDS = 3
"""Fields of one question of which it is told."""

MOST_QUESTIONS = 10
"""Questions that are looked into at one time; the others are told what changed, and no more."""


class OriginKind(StrEnum):
    """What it was."""

    FUNCTION = "function"
    UPGRADE = "upgrade"
    OURS = "a commit of ours"
    COMMIT = "commit"
    MERGE = "merge"
    UNKNOWN = "nobody knows"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldOrigin:
    """What made one field what it is.

    Attributes:
        package: The package.
        change: What the proposal changes there.
        kind: What it was.
        commit: In which commit; None where nobody can tell.
        name: Of a function its image or command, "" where nobody can tell which it was; of an
            upgrade its upstream.
        seen: What nobody can tell: how much was looked at, of a function how many were left out
            for trial, else how many commits, the newest first.
        total: How much there is of that.
        late: There was no time for more.
        where: Of a function where it is asked for: "pipeline" or "guardrail".
        by: Who committed it, as git tells, or had us do it; "" where that says nothing.
        subject: First line of the commit's message.
    """

    package: str
    change: Change
    kind: OriginKind
    commit: Sha | None = None
    name: str = ""
    where: str = ""
    by: str = ""
    subject: str = ""
    seen: int = 0
    total: int = 0
    late: bool = False


def is_about(found: Change, asked: Change) -> bool:
    """Tell whether a change between two states is about a field that somebody asks about.

    The namespace of the resource does not count: a function may have set it since. Where a resource
    came as a whole, its fields came with it.
    """
    if found.resource is None or asked.resource is None:
        return found.resource is asked.resource and _ends_alike(found.path, asked.path)
    if replace(found.resource, namespace="") != replace(asked.resource, namespace=""):
        return False
    one, other = found.field, asked.field
    if not one or not other:
        return one == other or (not one and found.kind is ChangeKind.ADDED)
    return one == other or one.startswith((f"{other}.", f"{other}[")) or _inside(other, one)


def _inside(field: str, outer: str) -> bool:
    return field.startswith((f"{outer}.", f"{outer}["))


def _ends_alike(one: str, other: str) -> bool:
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")
