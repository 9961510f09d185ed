"""Running cases: which module knows a corpus, and what a missing one means.

Rules:
- A corpus that must be known, those of functions among them, fails where a kind of its cases cannot
  be run. The others wait until the part of the project that they are for is there.
- A handler that raises has failed. A deviation counts only if docs/deviations.md describes it.
"""

import re
import traceback
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path

from cadlib import images
from fnrunner.builtin.lookup import IMAGE_ONLY
from tests.cases.model import Case, Handler, Outcome, Verdict, failed, image_only, waiting

ROOT = Path(__file__).resolve().parents[2]
OWN = ROOT / "tests/cases/own"
SHARED = (ROOT / "../shared/cases").resolve()
DEVIATIONS = ROOT / "docs/deviations.md"

NAMED = frozenset({"merge3", "update", "get", "render", "heal", "kio", "runtime", "packagevariant"})
FUNCTIONS = "functions/"

_ENTRY = re.compile(r"^#+ (D[0-9]+)\b", re.MULTILINE)
_AT_ONCE = 8  # cases that a worker takes: git makes some of them a hundred times slower


@dataclass(frozen=True, slots=True)
class Ran:
    """A case with its verdict."""

    case: Case
    verdict: Verdict


def run(cases: Iterable[Case], *, workers: int = 1) -> Iterator[Ran]:
    """Run cases, in their order.

    Args:
        cases: From any corpora.
        workers: Processes to run them in; with 1 they are run in this one.
    """
    if workers == 1:
        yield from map(one, cases)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(one, cases, chunksize=_AT_ONCE)


def one(case: Case) -> Ran:
    """Run one case; whatever its handler raises is its failure."""
    handler = handlers(case.corpus).get(case.kind, _unknown)
    try:
        verdict = _image_only(case) or handler(case)
    except Exception:  # one broken case does not end the run of the others
        verdict = failed(traceback.format_exc())
    return Ran(case, _known(verdict))


def _image_only(case: Case) -> Verdict | None:
    """Say so where a function of a case is none of those that are to be built in."""
    names = {images.base_name_and_tag(each)[0] for each in case.functions}
    found = sorted(names & IMAGE_ONLY.keys())
    return image_only(", ".join(f"{each}: {IMAGE_ONLY[each]}" for each in found)) if found else None


def _unknown(case: Case) -> Verdict:
    if case.corpus in NAMED or case.corpus.startswith(FUNCTIONS):
        return failed(f"nothing runs the kind {case.kind!r} of the corpus {case.corpus}")
    return waiting(case.corpus)


def _known(verdict: Verdict) -> Verdict:
    if verdict.outcome is Outcome.DEVIATES and verdict.deviation not in deviations():
        text = f"docs/deviations.md has no entry {verdict.deviation!r}: {verdict.text}"
        return failed(text)
    return verdict


@cache
def deviations() -> frozenset[str]:
    """Return the numbers of the entries of docs/deviations.md."""
    return frozenset(_ENTRY.findall(DEVIATIONS.read_text(encoding="utf-8")))


@cache
def handlers(corpus: str) -> Mapping[str, Handler]:
    """Return the handlers of a corpus by kind; none where no module is named for it.

    Those of `functions/set-labels` are the ones of `functions`, and its own.
    """
    found: dict[str, Handler] = {}
    module = __package__
    for part in corpus.split("/"):
        module = f"{module}.{part.replace('-', '_')}"
        if not module.isascii() or find_spec(module) is None:
            break
        found |= getattr(import_module(module), "KINDS", {})
    return found
