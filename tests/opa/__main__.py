"""Run Open Policy Agent's conformance cases through the engine: `python -m tests.opa`."""

import argparse
import re
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.fnrunner.confined.rego.verdicts import VERDICTS
from tests.opa.agent import Agent, Answer, MissingError, Question
from tests.opa.engine import Outcome, outcome

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
        own = [
            Question(note=f"own/{name}/{'v1' if v1 else 'v0'}", modules=[text], v1=v1,
                     query="x = data.p.answer", input=[each.input])
            for name, each in VERDICTS.items()
            for v1, text in ((False, each.v0), (True, each.v1))
            if options.only in name
        ]  # fmt: skip
        asked += zip(own, agent.ask(own), strict=True)
    return _report(asked)


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
