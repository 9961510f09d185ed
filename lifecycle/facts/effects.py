"""What a change of the rules would do to the other open proposals."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """A proposal that would be judged otherwise.

    Attributes:
        number: Its number.
        what: What it publishes, in Markdown.
        before: The gates that do not hold now, in a few words of Markdown each.
        after: Those that would not hold then.
    """

    number: int
    what: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RulesEffect:
    """What a change of the rules would do.

    Attributes:
        changes: Proposals that would be judged otherwise, by number.
        looked: How many were judged by both rules.
        left: How many more are open, and were not: one look judges no more than so many.
    """

    changes: tuple[VerdictChange, ...] = ()
    looked: int = 0
    left: int = 0
