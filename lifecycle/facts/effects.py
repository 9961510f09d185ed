"""What a merge would do beyond what it changes: to other open proposals, and other packages."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """A proposal that would be judged otherwise.

    Attributes:
        number: Its number.
        what: What it publishes, in Markdown.
        before: The gates that do not hold now, in a few words of Markdown each.
        after: Those that would not hold then.
        untold: Teams that only the changed rules name: who is in them was not asked, and whoever
            approved counts as not in them.
    """

    number: int
    what: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    untold: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionsEffect:
    """What functions would do by changed rules, which was not tried.

    Attributes:
        more: Images of guardrails that would run, or with other parameters, sorted.
        fewer: Those that would not run any more, or not so, sorted.
        allowed: Other functions would be allowed.
    """

    more: tuple[str, ...] = ()
    fewer: tuple[str, ...] = ()
    allowed: bool = False

    def united(self, other: "FunctionsEffect") -> "FunctionsEffect":
        """Return the union of what it would do to several proposals."""
        return FunctionsEffect(
            tuple(sorted({*self.more, *other.more})),
            tuple(sorted({*self.fewer, *other.fewer})),
            self.allowed or other.allowed,
        )


@dataclass(frozen=True, slots=True)
class RulesEffect:
    """What a change of the rules would do.

    Attributes:
        changes: Proposals that would be judged otherwise, by number.
        looked: How many were judged by both rules.
        left: How many more are open, and were not: so many are judged at once, and in an hour.
        functions: What was not tried on any of them.
        unread: How many could not be read just then.
    """

    changes: tuple[VerdictChange, ...] = ()
    looked: int = 0
    left: int = 0
    functions: FunctionsEffect = FunctionsEffect()
    unread: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequences:
    """What merging a proposal would do to what it does not touch.

    Attributes:
        rules_effect: What its change of the configuration would do; None where it makes none, or
            one that cannot be read.
        has_impact: It may change packages that it does not touch; told only where the rules make
            that a gate.
        impact_text: What the check of that says below its title, where a check shows one line.
    """

    rules_effect: RulesEffect | None = None
    has_impact: bool = False
    impact_text: str = ""
