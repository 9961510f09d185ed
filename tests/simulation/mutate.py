"""Takes defences out and tells after how many histories the simulation finds that.

`python -m tests.simulation.mutate [WORDS] [--most N] [--seconds S] [--jobs N]`: those whose defence
holds the words, all where none are given. Each is made alone, in a copy of the working tree, and
ends with the first find: a history that breaks an invariant which the same history keeps in a copy
without the mutation. The table in `docs/simulation.md` is written anew by the list as it is by
then; what was not tried keeps its row.
"""

import argparse
import queue
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.mutations import ROOT, Mutation
from tests.mutations.__main__ import copies, environment

LIST = Path(__file__).parent / "mutations.toml"
PAGE = ROOT / "docs" / "simulation.md"
BEGIN, END = "<!-- mutations -->", "<!-- end of mutations -->"
MOST = 20_000

PER_HISTORY = 60.0
"""Seconds of the processor for one history, which takes about one. What takes longer is told as it
is, and finds nothing: whatever goes round in circles has to be seen by the oracle."""


FIRST = 1
"""Seed of the first history."""

PLAY = (sys.executable, "-m", "tests.simulation")


@dataclass(frozen=True)
class Wrong:
    """The first of some histories in which something was violated.

    Attributes:
        histories: How many were played, with that one.
        checks: The invariants that it broke, in order; none where nothing was violated.
    """

    histories: int
    checks: tuple[str, ...] = ()

    @classmethod
    def of(cls, said: str) -> "Wrong":
        """Read what `python -m tests.simulation --until-found` printed.

        Raises:
            ValueError: It did not come to its end.
        """
        if found := re.search(r"^found after (\d+) histories: (.*)$", said, re.MULTILINE):
            return cls(int(found[1]), tuple(found[2].split(", ")))
        if played := re.search(r"^nothing was found in (\d+) histories", said, re.MULTILINE):
            return cls(int(played[1]))
        raise ValueError(said)


@dataclass(frozen=True)
class Found:
    """After how many histories a mutation was found, and by which check.

    Attributes:
        histories: 0 where it was not found.
        check: "" where it was not found.
        tried: Histories that were played at most.
    """

    histories: int
    check: str
    tried: int = 0

    @property
    def row(self) -> str:
        """The end of its row in the table."""
        if self.histories:
            return f"{self.histories:,} | {self.check} |"
        return f"not in {self.tried:,} | |" if self.tried else "not yet | |"


@dataclass(frozen=True)
class Taken(Mutation):
    """A defence that stands in more than one place: all of them are taken out.

    Attributes:
        beside: File, text that occurs once in it, and what stands there then, of each further one.
        forge: Where it is looked for.
        variants: It is looked for in histories with variants.
        apart: In such with a second repository.
    """

    beside: tuple[tuple[str, str, str], ...] = ()
    forge: str = "github"
    variants: bool = False
    apart: bool = False

    def without(self, root: Path) -> dict[str, str]:
        """The texts of the files without the defence.

        Raises:
            ValueError: The code has moved: a text is not there, or more than once.
        """
        texts = {self.file: self.applied(root)}
        for file, find, replace in self.beside:
            text = texts.get(file) or (root / file).read_text()
            if (times := text.count(find)) != 1:
                raise ValueError(f"`{find}` occurs {times} times in {file}")
            texts[file] = text.replace(find, replace)
        return texts


def read() -> list[Taken]:
    """The mutations, in order."""
    made = []
    for entry in tomllib.loads(LIST.read_text())["mutation"]:
        beside = tuple(
            (more.get("file", entry["file"]), more["find"], more["replace"])
            for more in entry.pop("beside", ())
        )
        where = str(LIST.relative_to(ROOT))
        made.append(Taken(area="simulation", threat="", test=where, beside=beside, **entry))
    return made


Playing = Callable[[int, int], Wrong]
"""Plays histories from a seed on, so many at most, until something is violated."""


def search(mutated: Playing, whole: Playing, most: int) -> Found:
    """Return the first history that breaks an invariant only with the mutation.

    Args:
        mutated: Plays histories with the mutation.
        whole: Plays them without it.
        most: Histories to play.
    """
    played = 0
    while played < most:
        came = mutated(FIRST + played, most - played)
        played += came.histories
        if not came.checks:
            break
        before = whole(FIRST + played - 1, 1).checks
        if new := [check for check in came.checks if check not in before]:
            return Found(played, new[0], most)
    return Found(0, "", played)


def attempt(
    free: "queue.Queue[Path]", whole: Path, mutation: Taken, most: int, seconds: float
) -> Found:
    """Make one mutation, and simulate until it is found.

    Args:
        free: Copies of the tree to make it in.
        whole: A copy that nothing is taken out of.
        mutation: What to take out.
        most: Histories to play.
        seconds: Of the processor for one history.
    """
    at = ["--each", str(seconds), "--forge", mutation.forge]
    at += ["--variants", "apart" if mutation.apart else "all"] if mutation.variants else []
    root = free.get()
    try:
        changed = mutation.without(root)
        original = {file: (root / file).read_bytes() for file in changed}
        for file, text in changed.items():
            (root / file).write_text(text)
        try:
            return search(partial(_play, root, at), partial(_play, whole, at), most)
        finally:
            for file, content in original.items():
                (root / file).write_bytes(content)
    finally:
        free.put(root)


def _play(root: Path, at: Sequence[str], first: int, most: int) -> Wrong:
    run = subprocess.run(
        [*PLAY, str(most), "--seed", str(first), "--until-found", *at],
        cwd=root,
        env=environment(root),
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return Wrong.of(run.stdout)
    except ValueError:
        raise SystemExit(f"{root}: {run.stderr[-2000:]}") from None


def table(mutations: Sequence[Taken], found: Mapping[Taken, Found], page: str) -> str:
    """The page with the table of all mutations; rows that were not tried stay as they were.

    Args:
        mutations: Those of the list as it is now: it may be another since the first was tried, and
            what was found of an entry that was changed says nothing of the new one.
        found: What was found.
        page: The page as it is now.
    """
    head, _, rest = page.partition(BEGIN)
    before, _, tail = rest.partition(END)
    known = dict(re.findall(r"^\| (.+?) \| `[^`]*` \| (.*)$", before, re.MULTILINE))
    rows = ["| Taken out | Where | Found after | By |", "| --- | --- | --- | --- |"]
    for m in mutations:
        ending = found[m].row if m in found else known.get(m.defence, "not yet | |")
        rows.append(f"| {m.defence} | `{m.file}` | {ending}")
    return f"{head}{BEGIN}\n\n" + "\n".join(rows) + f"\n\n{END}{tail}"


def main() -> int:
    """Try those that are asked for; the exit status is 1 where any was not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutate", description=__doc__)
    parser.add_argument("words", nargs="*", help="of the defences to take out; all by default")
    parser.add_argument("--most", type=int, default=MOST, help="histories (default: 20,000)")
    parser.add_argument(
        "--seconds", type=float, default=PER_HISTORY, help="of the processor for one history"
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (default: 2)")
    given = parser.parse_args()
    found = dict[Taken, Found]()
    chosen = [m for m in read() if all(word in m.defence for word in given.words)]
    with copies(given.jobs + 1) as free, ThreadPoolExecutor(given.jobs) as pool:
        whole = free.get()
        tried = {pool.submit(attempt, free, whole, m, given.most, given.seconds): m for m in chosen}
        for done in as_completed(tried):
            mutation, came = tried[done], done.result()
            found[mutation] = came
            told = f"{came.histories:6,} histories" if came.histories else "NOT FOUND"
            print(f"{told}  {mutation.defence} [{came.check}]", flush=True)
            PAGE.write_text(table(read(), found, PAGE.read_text()))
    missed = [m.defence for m in chosen if not found[m].histories]
    print(f"{len(chosen)} mutations, {len(chosen) - len(missed)} found, {len(missed)} not")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
