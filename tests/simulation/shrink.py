"""Makes a history that went wrong small: steps are left out as long as it goes wrong alike.

Delta debugging over the numbers of the steps: each draws from a generator of its own, so the others
do what they did, as far as there is still something to do it to.
"""

import time
from collections.abc import Callable, Sequence

from tests.simulation.furnishing import GITHUB
from tests.simulation.history import play
from tests.simulation.outcome import Outcome
from tests.simulation.real import RealSetting

MOST = 300
"""Histories that are played to shrink one."""

SECONDS = 60.0
"""How long that may take: what is small by then is shown."""


def shrink(
    seed: str,
    found: Outcome,
    real: RealSetting | None = None,
    at: str = GITHUB,
    *,
    variants: bool = False,
    apart: bool = False,
) -> Outcome:
    """The smallest history that was found to go wrong in the same way.

    Args:
        seed: Of the history.
        found: What came of the whole of it.
        real: Where it is played, unless in memory.
        at: The forge.
        variants: Packages are made of others by rules in it.
        apart: Some of them of those of a second repository.
    """
    wanted = found.violations[0].check
    best = found
    played, ends = 0, time.monotonic() + SECONDS

    def goes_wrong(steps: Sequence[int]) -> bool:
        nonlocal best, played
        if played >= MOST or time.monotonic() > ends:
            return False
        played += 1
        tried = play(seed, frozenset(steps), real, at, variants=variants, apart=apart)
        if not any(v.check == wanted for v in tried.violations):
            return False
        best = tried
        return True

    reduce(sorted(found.steps), goes_wrong)
    return best


def reduce(steps: Sequence[int], goes_wrong: Callable[[Sequence[int]], bool]) -> list[int]:
    """Leave out as many as possible (Zeller's ddmin)."""
    kept, parts = list(steps), 2
    while len(kept) > 1:
        size = -(-len(kept) // parts)
        for at in range(0, len(kept), size):
            fewer = kept[:at] + kept[at + size :]
            if fewer and goes_wrong(fewer):
                kept, parts = fewer, max(2, parts - 1)
                break
        else:
            if size == 1:
                break
            parts = min(len(kept), parts * 2)
    return kept


def printed(outcome: Outcome, *, all_of_it: bool = False) -> str:
    """A history for people: what was done, and what everybody saw of it."""
    lines = [f"seed {outcome.seed}: {len(outcome.steps)} steps, trace {outcome.trace}"]
    lines += [f"  {number:3}  {told}" for number, told in outcome.steps.items()]
    lines += [f"  VIOLATED  {violation}" for violation in outcome.violations]
    if all_of_it:
        lines.append("  what was seen at the forge:")
        lines += [f"    {entry}"[:160] for entry in outcome.diary.entries]
    return "\n".join(lines)
