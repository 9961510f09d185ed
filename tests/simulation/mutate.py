"""Takes defences out and tells after how many histories the simulation finds that.

`python -m tests.simulation.mutate [WORDS] [--most N] [--seconds S] [--jobs N]`: those whose defence
holds the words, all where none are given. Each is made alone, in a copy of the working tree, and
ends with the first find. The table in `docs/simulation.md` is written anew with what was found;
what was not tried keeps its row.
"""

import argparse
import queue
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
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


PLAY = (sys.executable, "-m", "tests.simulation")


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
    """A defence that stands in more than one place of its file: all of them are taken out.

    Attributes:
        beside: Further texts that occur once, each with what stands there then.
        forge: Where it is looked for.
        variants: It is looked for in histories with variants.
    """

    beside: tuple[tuple[str, str], ...] = ()
    forge: str = "github"
    variants: bool = False

    def applied(self, root: Path) -> str:
        """The text of the file without the defence.

        Raises:
            ValueError: The code has moved: a text is not there, or more than once.
        """
        text = super().applied(root)
        for find, replace in self.beside:
            if (times := text.count(find)) != 1:
                raise ValueError(f"`{find}` occurs {times} times in {self.file}")
            text = text.replace(find, replace)
        return text


def read() -> list[Taken]:
    """The mutations, in order."""
    made = []
    for entry in tomllib.loads(LIST.read_text())["mutation"]:
        beside = tuple((more["find"], more["replace"]) for more in entry.pop("beside", ()))
        where = str(LIST.relative_to(ROOT))
        made.append(Taken(area="simulation", threat="", test=where, beside=beside, **entry))
    return made


def attempt(free: "queue.Queue[Path]", mutation: Taken, most: int, seconds: float) -> Found:
    """Make one mutation, and simulate until it is found."""
    root = free.get()
    try:
        path, at = root / mutation.file, ["--forge", mutation.forge]
        at += ["--variants", "all"] if mutation.variants else []
        changed, original = mutation.applied(root), path.read_bytes()
        path.write_text(changed)
        try:
            run = subprocess.run(
                [*PLAY, str(most), "--until-found", "--each", str(seconds), *at],
                cwd=root,
                env=environment(root),
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            path.write_bytes(original)
    finally:
        free.put(root)
    said = re.search(r"^found after (\d+) histories: ([^:]*)", run.stdout, re.MULTILINE)
    if said is not None:
        return Found(int(said[1]), said[2], most)
    played = re.search(r"^nothing was found in (\d+) histories", run.stdout, re.MULTILINE)
    if played is None:
        raise SystemExit(f"{mutation.defence}: {run.stderr[-2000:]}")
    return Found(0, "", int(played[1]))


def table(mutations: Sequence[Mutation], found: dict[str, Found], page: str) -> str:
    """The page with the table of all mutations; rows that were not tried stay as they were."""
    head, _, rest = page.partition(BEGIN)
    before, _, tail = rest.partition(END)
    known = dict(re.findall(r"^\| (.+?) \| `[^`]*` \| (.*)$", before, re.MULTILINE))
    rows = ["| Taken out | Where | Found after | By |", "| --- | --- | --- | --- |"]
    for m in mutations:
        ending = found[m.defence].row if m.defence in found else known.get(m.defence, "not yet | |")
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
    mutations, found = read(), dict[str, Found]()
    chosen = [m for m in mutations if all(word in m.defence for word in given.words)]
    with copies(given.jobs) as free, ThreadPoolExecutor(given.jobs) as pool:
        tried = {pool.submit(attempt, free, m, given.most, given.seconds): m for m in chosen}
        for done in as_completed(tried):
            mutation, came = tried[done], done.result()
            found[mutation.defence] = came
            told = f"{came.histories:6,} histories" if came.histories else "NOT FOUND"
            print(f"{told}  {mutation.defence} [{came.check}]", flush=True)
            PAGE.write_text(table(mutations, found, PAGE.read_text()))
    missed = [m.defence for m in chosen if not found[m.defence].histories]
    print(f"{len(chosen)} mutations, {len(chosen) - len(missed)} found, {len(missed)} not")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
