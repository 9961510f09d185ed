"""What came of a history."""

from collections import Counter
from dataclasses import dataclass

from tests.simulation.diary import Diary
from tests.simulation.words import Violation


@dataclass
class Outcome:
    """What came of a history.

    Attributes:
        seed: What it was drawn from.
        steps: What was done, by the number of the step; those that came to nothing are left out.
        violations: What the oracle saw; empty when all is well.
        tally: How often what was reached.
        trace: Digest of every call, in order.
        diary: What everybody did.
    """

    seed: str
    steps: dict[int, str]
    violations: list[Violation]
    tally: Counter[str]
    trace: str
    diary: Diary
