"""What of a configuration packages are rendered and judged by: all that a worker is given of it."""

from dataclasses import dataclass
from typing import Protocol

from lifecycle.policy import GuardrailFunction


class Judging(Protocol):
    """The part of a `Policy` that rendering reads; a policy has it as it is."""

    @property
    def mutators(self) -> tuple[GuardrailFunction, ...]:
        """Run after each package's own pipeline, in this order."""

    @property
    def validators(self) -> tuple[GuardrailFunction, ...]:
        """Run after all mutators."""

    @property
    def allow(self) -> tuple[tuple[str, ...], ...]:
        """Which functions may run."""


@dataclass(frozen=True, slots=True)
class SentRules:
    """These alone, to be sent to a worker.

    The rest of a policy would tell it who may do what, and may need files that it does not have to
    be read: a time zone does.

    Attributes:
        mutators: As `Judging` has it.
        validators: Likewise.
        allow: Likewise.
    """

    mutators: tuple[GuardrailFunction, ...]
    validators: tuple[GuardrailFunction, ...]
    allow: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, rules: Judging) -> "SentRules":
        """Return what is sent of a policy."""
        return cls(rules.mutators, rules.validators, rules.allow)
