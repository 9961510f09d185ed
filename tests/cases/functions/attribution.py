"""Cases about resources of Google's, in each of which kpt notes that it rendered it."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cadlib.yaml import emit
from tests.cases import render
from tests.cases.compare import documents
from tests.cases.model import Case, Outcome, Verdict, deviates

_NOTE = r"    cnrm\.cloud\.google\.com/blueprint: 'kpt-fn'\n"
_ALONE = re.compile(rf"^  annotations:\n{_NOTE}(?!    )", re.MULTILINE)
_AMONG_OTHERS = re.compile(f"^{_NOTE}", re.MULTILINE)
_SAYS = "resources of Google's say nothing about who rendered them"


def steps(case: Case) -> Verdict:
    """Run the steps of a case; the note may be missing, in every file or in none.

    The results of the root's pipeline, the last, may name files below the root (D61).
    """
    verdict = render.steps(case)
    if verdict.outcome is not Outcome.FAILED:
        return verdict
    expected = {path: _without_note(each) for path, each in case.data["expected"].items()}
    bare = {**case.data, "expected": expected}
    if render.steps(replace(case, data=bare)).outcome is not Outcome.FAILED:
        return deviates("D40", _SAYS)
    if "expected_results" in bare:
        bare["expected_results"] = _whole_paths(bare["expected_results"], expected)
        if render.steps(replace(case, data=bare)).outcome is not Outcome.FAILED:
            return deviates("D40", f"{_SAYS}; and D61")
    return verdict


def _without_note(entry: Any) -> Any:
    return _AMONG_OTHERS.sub("", _ALONE.sub("", entry)) if isinstance(entry, str) else entry


def _whole_paths(text: str, files: Mapping[str, Any]) -> str:
    """Return results whose last pipeline names files by their paths below the root."""
    value: Any = documents(text)[0].value
    for result in value["items"][-1]["results"]:
        path = result["file"]["path"]
        whole = [each for each in files if each.endswith(f"/{path}")]
        if path not in files and len(whole) == 1:
            result["file"]["path"] = whole[0]
    return emit(value)
