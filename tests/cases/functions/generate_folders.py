"""Corpus functions/generate-folders: packages whose folders kpt would mark as rendered by it."""

from collections.abc import Mapping
from dataclasses import replace

from tests.cases.functions import attribution
from tests.cases.model import Case, Handler, Outcome, Verdict, deviates


def steps(case: Case) -> Verdict:
    """Run the steps of a case; a warning is called one."""
    results = case.data.get("expected_results", "")
    called = results.replace("severity: warn\n", "severity: warning\n")
    if called == results:
        return attribution.steps(case)
    verdict = attribution.steps(replace(case, data={**case.data, "expected_results": called}))
    if verdict.outcome is Outcome.FAILED:
        return verdict
    return deviates("D136", f"the severity of a warning; {verdict.text}")


KINDS: Mapping[str, Handler] = {"fn-eval": steps, "fn-render": steps}
