"""More rounds than the tests run: `python -m tests.differential [--rounds N] [--kind K]`."""

import argparse
import sys
import tempfile
import traceback
from pathlib import Path
from random import Random

from tests.differential import hard, kptfiles, published, rounds
from tests.differential.tools import KPT

ROUNDS = {**rounds.ROUNDS, **kptfiles.ROUNDS, **published.ROUNDS, **hard.ROUNDS}


def main() -> int:
    """Run the rounds; 1 when something differs, 2 without the kpt binary."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="of each kind; default 20")
    parser.add_argument("--seed", type=int, default=0, help="of the first round")
    parser.add_argument("--kind", choices=sorted(ROUNDS), action="append")
    options = parser.parse_args()
    if KPT is None:
        print("kpt is not installed", file=sys.stderr)
        return 2
    status = 0
    for kind in options.kind or ROUNDS:
        differing = 0
        for seed in range(options.seed, options.seed + options.rounds):
            with tempfile.TemporaryDirectory() as root:
                difference = _round(kind, seed, Path(root))
            if difference:
                differing += 1
                print(f"{kind} --seed {seed}\n{difference}\n")
        print(f"{kind}: {options.rounds} rounds, {differing} differ")
        status = max(status, int(differing > 0))
    return status


def _round(kind: str, seed: int, root: Path) -> str:
    try:
        return ROUNDS[kind](Random(seed), root)
    except Exception:  # the seed that broke is told, and the next rounds are run
        return traceback.format_exc()


if __name__ == "__main__":
    sys.exit(main())
