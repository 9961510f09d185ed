"""Run cases and print what became of them: `python -m tests.cases [DIR …] [--corpus X]`.

Without a folder: the project's own cases, and the shared ones where they stand. The exit code
is 1 when a case failed, 2 when there are no cases.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.cases.model import Case, Outcome, corpora, load
from tests.cases.run import OWN, SHARED, Ran, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; see the module."""
    options = _parser().parse_args(arguments)
    folders = options.folders or [each for each in (OWN, SHARED) if each.exists()]
    status = 0
    for folder in folders:
        cases = list(_cases(folder, options))
        if not cases:
            print(f"{folder}: there are no such cases", file=sys.stderr)
            status = max(status, 2 if options.folders else 0)
            continue
        start = time.perf_counter()
        ran = list(run(cases, workers=1 if len(cases) < 20 else min(2, os.cpu_count() or 1)))
        print(f"{folder}: {len(cases)} cases in {time.perf_counter() - start:.0f} s\n")
        _print(ran, verbose=options.verbose)
        if any(each.verdict.outcome is Outcome.FAILED for each in ran):
            status = 1
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.cases", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, metavar="DIR", help="folders of corpora")
    parser.add_argument("--corpus", action="append", help="only this corpus; may be repeated")
    parser.add_argument("--case", action="append", help="only this case; may be repeated")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="also say each case, and why it deviates"
    )
    return parser


def _cases(folder: Path, options: argparse.Namespace) -> Iterator[Case]:
    for corpus, file in corpora(folder).items():
        if options.corpus and corpus not in options.corpus:
            continue
        for case in load(corpus, file):
            if not options.case or case.id in options.case:
                yield case


def _print(ran: Sequence[Ran], *, verbose: bool) -> None:
    _table(ran)
    for outcome, heading in (
        (Outcome.DEVIATES, "Deviates on purpose (docs/deviations.md)"),
        (Outcome.IMAGE_ONLY, "Functions that are images only"),
        (Outcome.WAITING, "Waiting for"),
    ):
        _reasons([each for each in ran if each.verdict.outcome is outcome], heading)
    for each in ran:
        verdict = each.verdict
        if verbose or verdict.outcome is Outcome.FAILED:
            name = f"{each.case.corpus}: {each.case.id} ({each.case.kind})"
            print(f"{verdict.outcome.value.upper()} {name} {verdict.deviation}".rstrip())
            if verdict.text:
                print("    " + verdict.text.rstrip().replace("\n", "\n    "))
    print(f"\nfailed: {sum(each.verdict.outcome is Outcome.FAILED for each in ran)}\n")


def _table(ran: Sequence[Ran]) -> None:
    counts: dict[str, Counter[Outcome]] = {}
    for each in ran:
        counts.setdefault(each.case.corpus, Counter())[each.verdict.outcome] += 1
    counts["all"] = sum(counts.values(), Counter())
    width = max(map(len, counts))
    print(f"{'corpus':{width}}  cases" + "".join(f"{each.value:>11}" for each in Outcome))
    for corpus, found in counts.items():
        numbers = "".join(f"{found[each] or '':>11}" for each in Outcome)
        print(f"{corpus:{width}}  {found.total():>5}{numbers}")
    print()


def _reasons(ran: Sequence[Ran], heading: str) -> None:
    """Print why cases deviate or wait: each reason with its count."""
    if not ran:
        return
    found = Counter((each.case.corpus, each.verdict.deviation or each.verdict.text) for each in ran)
    print(f"{heading}:")
    for (corpus, reason), count in sorted(found.items()):
        print(f"  {corpus}: {reason} ({count})")
    print()


if __name__ == "__main__":
    sys.exit(main())
