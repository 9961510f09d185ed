"""Why a package cannot be had from its upstream."""

from enum import StrEnum, auto


class UpstreamFault(StrEnum):
    """What is in the way."""

    UNREADABLE = auto()
    """The reference is none."""

    REFUSED = auto()
    """Nobody may use such an address here: by its scheme, its host, or where it leads."""

    NOT_ALLOWED = auto()
    """The configuration of the base branch does not allow it."""

    MISSING = auto()
    """There is no such repository, ref, commit or package; or whoever asks may not see it."""

    TOO_LARGE = auto()
    """It holds more than a package may, or its repository answers with more than is taken."""

    TOO_SLOW = auto()
    """It did not come in time; trying again later may help."""

    UNREACHABLE = auto()
    """The host is not found, refuses, or does not speak git; trying again later may help."""


class UpstreamError(Exception):
    """A package cannot be had from its upstream.

    Attributes:
        fault: What is in the way.
        problem: In words: where and what is wrong, without a full stop.
        fix: What to do, without a full stop.
    """

    def __init__(self, fault: UpstreamFault, problem: str, fix: str) -> None:
        super().__init__(f"{problem}. {fix}.")
        self.fault = fault
        self.problem = problem
        self.fix = fix
