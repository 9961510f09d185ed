"""Corpus functions/set-namespace: a configuration that is refused ends the function."""

from collections.abc import Mapping
from dataclasses import replace

from fnrunner.builtin.verdict import FAILURE_LOG
from tests.cases import render
from tests.cases.model import Case, Handler, Outcome, Verdict, deviates

_ENDED_WELL = "    exitCode: 0\n"


def steps(case: Case) -> Verdict:
    """Run the steps of a case; with an error among the results the function has failed."""
    results = case.data.get("expected_results", "")
    if "severity: error" not in results or case.data["expected_exit_code"]:
        return render.steps(case)
    failed = results.replace(_ENDED_WELL, f"    stderr: '{FAILURE_LOG}'\n    exitCode: 1\n")
    failed = failed.replace("\nexitCode: 0\n", "\nexitCode: 1\n")
    wanted = {**case.data, "expected_exit_code": 1, "expected_results": failed}
    verdict = render.steps(replace(case, data=wanted))
    if verdict.outcome is not Outcome.PASSED:
        return verdict
    return deviates("D159", "the function fails, as its newer versions do")


KINDS: Mapping[str, Handler] = {"fn-render": steps}
