"""Run Open Policy Agent's conformance cases through the engine: `python -m tests.opa`."""

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.fnrunner.builtin.confined.rego.values import GIVEN, VALUES
from tests.fnrunner.builtin.confined.rego.verdicts import VERDICTS
from tests.opa.agent import Agent, Answer, MissingError, Question
from tests.opa.engine import Outcome, outcome

_QUERY = "x = data.p.answer"
_NAME = re.compile(r"`[^`]*`|\"[^\"]*\"|(?<= )(?:data|test|generated)\.[\w.]+|\d+")


def main() -> int:
    """Print equal, refused and different; 1 when something differs, 2 without Go."""
    parser = argparse.ArgumentParser(prog="python -m tests.opa", description=__doc__)
    parser.add_argument("--only", default="", help="cases with this in their name")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            agent = Agent(Path(folder))
        except MissingError as error:
            print(f"Open Policy Agent is not here: {error}", file=sys.stderr)
            return 2
        print(f"Open Policy Agent {agent.version}")
        asked = [each for each in agent.cases() if options.only in each[0].note]
        own = [each for each in _own() if options.only in each.note]
        asked += zip(own, agent.ask(own), strict=True)
    return _report(asked)


def _own() -> Iterator[Question]:
    """Yield what our own tests ask."""
    for v1 in (False, True):
        version = "v1" if v1 else "v0"
        for name, each in VERDICTS.items():
            yield Question(
                note=f"own/{name}/{version}", modules=[each.v1 if v1 else each.v0], v1=v1,
                query=_QUERY, input=[each.input],
            )  # fmt: skip
        for call in VALUES:
            text = f"package p\nanswer := {call}"
            yield Question(
                note=f"own/{call}/{version}", modules=[text], v1=v1, query=_QUERY, input=[GIVEN]
            )


def _report(asked: list[tuple[Question, Answer]]) -> int:
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(outcome, *zip(*asked, strict=True), chunksize=50))
    for version in ("v0/", "v1/", "own/"):
        counts = Counter(
            each.kind
            for each, (question, _) in zip(found, asked, strict=True)
            if question.note.startswith(version)
        )
        print(version, ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    for kind in ("refused", "stopped"):
        reasons = Counter(_reason(each) for each in found if each.kind == kind)
        for reason, count in reasons.most_common():
            print(f"{kind} {count:5} {reason}")
    for each, (question, _) in zip(found, asked, strict=True):
        if each.kind == "different":
            print(f"different {question.note}: {each.why}")
    return int(any(each.kind == "different" for each in found))


def _reason(found: Outcome) -> str:
    """Return why, without what is only one case's."""
    return _NAME.sub("…", found.why)[:100] if "function " not in found.why else found.why


if __name__ == "__main__":
    sys.exit(main())
