"""Simulate histories: `python -m tests.simulation [N] [--seed S] [--seconds X] [--forge F]`.

What goes wrong is shrunk and printed. The last line counts; the exit status is 1 where anything was
violated. With one history, it is printed in full: that is how one is replayed.
"""

import argparse
import gc
import logging
import os
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TypedDict

import structlog

from tests.simulation.furnishing import FORGES, GITHUB
from tests.simulation.history import play
from tests.simulation.outcome import Outcome
from tests.simulation.real import RealSetting
from tests.simulation.shrink import printed, shrink
from tests.simulation.words import Violation

EACH = 4
"""Histories that a process is given at a time; those begun are played to their end."""

SHOWN = 3
"""Histories that went wrong and are shrunk and printed."""

VARIANTS = ("some", "all", "none", "apart")
"""Which histories have variants: every fourth, all, none, or all, with a second repository. Where
some have, every other one of them has that repository at GitHub."""

GROUPS = (
    *("stage", "publish", "bot", "box", "altered"),
    *("move", "scene", "attack", "race", "fault", "webhook"),
)


@dataclass
class Count:
    """What many histories came to."""

    histories: int = 0
    steps: list[int] = field(default_factory=list)
    tally: Counter[str] = field(default_factory=Counter)
    wrong: dict[str, list[str]] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Count one."""
        self.histories += 1
        self.steps.append(len(outcome.steps))
        self.tally.update(outcome.tally)
        if outcome.violations:
            self.wrong[outcome.seed] = [str(v) for v in outcome.violations]

    def join(self, other: "Count") -> None:
        """Count those of another process."""
        self.histories += other.histories
        self.steps += other.steps
        self.tally.update(other.tally)
        self.wrong |= other.wrong


COLLECTED = (50_000, 20, 100)
"""Thresholds of Python's collection of garbage, which else takes a fourteenth of the time."""


def quiet() -> None:
    """Nothing is logged, and garbage is collected less often: there are thousands of bots."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    gc.freeze()
    gc.set_threshold(*COLLECTED)


class Kind(TypedDict):
    """What a history has besides: variants, and a second repository."""

    variants: bool
    apart: bool


def kind(seed: int, which: str, at: str = GITHUB) -> Kind:
    """What a history has besides.

    Args:
        seed: Its seed.
        which: Of them have variants; see `VARIANTS`.
        at: The forge.
    """
    every = {"all": (True, False), "none": (False, False), "apart": (True, True)}
    some = (seed % 4 == 0, seed % 8 == 0 and at == GITHUB)
    variants, apart = every.get(which, some)
    return Kind(variants=variants, apart=apart)


def setting_of(real: bool) -> AbstractContextManager[RealSetting | None]:
    """Where histories are played: on PostgreSQL and git on disk, or in memory."""
    return RealSetting() if real else nullcontext()


def some(first: int, count: int, real: bool, at: str, which: str) -> Count:
    """Play some histories."""
    counted = Count()
    with setting_of(real) as setting:
        for number in range(first, first + count):
            counted.add(play(str(number), real=setting, at=at, **kind(number, which, at)))
    return counted


def many(
    first: int, count: int, seconds: float, real: bool, jobs: int, at: str, which: str
) -> Iterator[Count]:
    """Play histories on some processes, as many as asked for, or until the time is up."""
    ends = time.monotonic() + seconds
    with ProcessPoolExecutor(jobs, initializer=quiet) as pool:
        going: set[Future[Count]] = set()
        begun = 0
        while going or begun < count:
            while begun < count and len(going) < 2 * jobs and time.monotonic() < ends:
                size = min(EACH, count - begun)
                going.add(pool.submit(some, first + begun, size, real, at, which))
                begun += size
            if not going:
                return
            done, going = wait(going, return_when=FIRST_COMPLETED)
            for each in done:
                yield each.result()


def until_found(first: int, count: int, each: float, at: str = GITHUB, which: str = "none") -> int:
    """Play histories until something is violated, one after the other.

    Args:
        first: Seed of the first.
        count: How many.
        each: Seconds of the processor for one, after which none is played any more.
        at: The forge.
        which: Of them have variants; see `VARIANTS`.
    """
    for number in range(count):
        violations = _violations(first + number, each, at, which)
        if violations is None:
            print(f"nothing was found in {number} histories; the next one does not end")
            return 2
        if violations:
            checks = dict.fromkeys(each.check for each in violations)
            print(f"found after {number + 1} histories: {', '.join(checks)}")
            print("\n".join(map(str, violations)))
            return 1
    print(f"nothing was found in {count} histories")
    return 0


def _violations(seed: int, seconds: float, at: str, which: str) -> list[Violation] | None:
    """What one history violates; None where it does not end within so many seconds."""
    with warnings.catch_warnings():
        # What was made and not yet begun when it was cut off is never awaited.
        warnings.filterwarnings("ignore", ".* was never awaited", RuntimeWarning)
        try:
            with at_most(seconds):
                return play(str(seed), at=at, **kind(seed, which, at)).violations
        except TooLongError:
            pass  # its frames have gone when this is left
        gc.collect()
        return None


AGAIN = 0.05
"""Seconds of the processor after which a history that goes on is told again to end."""


class TooLongError(SystemExit):
    """One history takes too long; tasks and whatever catches errors let this pass."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """What is inside takes no longer than so many seconds of the processor; 0 for any.

    Raises:
        TooLongError: It does.
    """

    def ends(*_: object) -> None:
        raise TooLongError

    # Again and again: where a destructor runs just then, Python reports an exception and goes on.
    before = signal.signal(signal.SIGVTALRM, ends)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def table(count: Count) -> str:
    """How often what was reached."""
    lines = []
    middle = sorted(count.steps)[len(count.steps) // 2] if count.steps else 0
    lines.append(f"steps of a history: {middle} in the median")
    named = {name: name.partition(":")[0].partition(" ")[0] for name in count.tally}
    for group in (*GROUPS, ""):
        rows = [n for n in count.tally if (named[n] == group if group else named[n] not in GROUPS)]
        lines += [f"{count.tally[name]:9}  {name}" for name in sorted(rows)]
    return "\n".join(lines)


def main() -> int:
    """Simulate, and say what came of it."""
    if os.environ.get("PYTHONHASHSEED") != "0":  # a seed gives the same history in every process
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "tests.simulation", *sys.argv[1:]])
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, help="of the first history (default: 1)")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin none after so long")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--real", action="store_true", help="on PostgreSQL and git on disk")
    parser.add_argument("--until-found", action="store_true", help="end with the first violation")
    parser.add_argument("--each", type=float, default=0.0, help="seconds for one, with the latter")
    parser.add_argument("--forge", choices=FORGES, default=GITHUB, help="where (default: github)")
    parser.add_argument("--variants", choices=VARIANTS, help="which have variants (default: some)")
    given = parser.parse_args()
    which = given.variants or VARIANTS[0]
    if given.real and given.forge != GITHUB:
        parser.error("on PostgreSQL and git histories happen at GitHub")
    if which == "apart" and given.forge != GITHUB:
        parser.error("a second repository is at GitHub alone")
    quiet()
    if given.until_found:
        return until_found(
            given.seed, given.count, given.each, given.forge, given.variants or "none"
        )
    began, counted = time.monotonic(), Count()
    if given.count == 1:
        with setting_of(given.real) as setting:
            has = kind(given.seed, which, given.forge)
            outcome = play(str(given.seed), real=setting, at=given.forge, **has)
        print(printed(outcome, all_of_it=True))
        counted.add(outcome)
    else:
        for some_more in many(
            given.seed, given.count, given.seconds, given.real, given.jobs, given.forge, which
        ):
            counted.join(some_more)
            for seed, why in some_more.wrong.items():
                print(f"seed {seed}: {why[0]}", flush=True)
            if given.real:  # they take long
                print(f"{counted.histories} histories so far", flush=True)
    for seed in list(counted.wrong)[:SHOWN]:
        where = "" if given.forge == GITHUB else f" FORGE={given.forge}"
        where += f" VARIANTS={given.variants}" if given.variants else ""
        where += " REAL=1" if given.real else ""
        has = kind(int(seed), which, given.forge)
        print(f"\nshrunk (replay it with `make simulate N=1 SEED={seed}{where}`):")
        with setting_of(given.real) as setting:
            found = play(seed, real=setting, at=given.forge, **has)
            if not found.violations:  # on real things tasks take their turns as the machine has it
                print("it does not go wrong again")
                continue
            print(printed(shrink(seed, found, setting, at=given.forge, **has)), flush=True)
    print(f"\n{table(counted)}")
    violations = sum(len(set(why)) for why in counted.wrong.values())
    print(
        f"simulated {counted.histories} histories, {sum(counted.steps)} steps, "
        f"{violations} violations, {time.monotonic() - began:.1f} s"
    )
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
