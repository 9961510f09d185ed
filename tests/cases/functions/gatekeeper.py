"""Corpus functions/gatekeeper: the order of results, and the function as a program."""

import re
from collections.abc import Mapping

from cadlib import resourcelist
from fnrunner.builtin import find
from fnrunner.builtin.catalog import gatekeeper
from tests.cases.compare import data_difference
from tests.cases.model import Case, Handler, Verdict, checked, deviates, failed


def sorted_results(case: Case) -> Verdict:
    """Compare the order of results."""
    return checked(
        data_difference(case.data["expected"], gatekeeper.sort_results(case.data["input"]))
    )


def program(case: Case) -> Verdict:
    """Run the function on the file that `--input` names; a builtin has no flags."""
    [step] = case.data["steps"]
    path = dict(zip(step["args"][::2], step["args"][1::2], strict=True))["--input"]
    text: str = case.data["input"][path]
    image: str = step["run_function"]
    answer = find(image).run(resourcelist.decode(text.encode()))
    status = 1 if answer.failed else 0
    if "tried to parse JSON as YAML" in str(case.data.get("expected_stderr_contains")):
        read = text.startswith("{") and re.search(
            r"^violatedConstraint: ", answer.log, re.MULTILINE
        )
        return deviates("D123", "JSON is read") if read else failed(answer.log)
    if status != case.data["expected_exit_code"]:
        return failed(f"exit status {status}\n{answer.log}")
    return checked(
        "" if str(case.data.get("expected_stderr_contains", "")) in answer.log else answer.log
    )


KINDS: Mapping[str, Handler] = {"function-binary": program, "sort-results": sorted_results}
