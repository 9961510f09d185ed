"""Corpus functions/gatekeeper: the order of results, and the function as a program."""

import re
from collections.abc import Mapping, Sequence

from cadlib.stream import resourcelist
from fnrunner.builtin.catalog import gatekeeper
from fnrunner.builtin.lookup import find
from fnrunner.builtin.memory import ItemCache
from fnrunner.builtin.work import evaluate
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
    flags = _flags(step["args"])
    text: str = case.data["input"][flags["--input"]]
    image: str = step["run_function"]
    answer = evaluate(image, find(image), text.encode(), ItemCache())
    said = str(case.data.get("expected_stderr_contains", ""))
    if "tried to parse JSON as YAML" in said:
        read = text.startswith("{") and re.search(
            r"^violatedConstraint: ", answer.log, re.MULTILINE
        )
        return deviates("D123", "JSON is read") if read else failed(answer.log)
    status = 1 if answer.failed else 0
    if status != case.data["expected_exit_code"] or said not in answer.log:
        return failed(f"exit status {status}\n{answer.log}")
    written = case.data["expected"].get(flags["--output"])
    if written is None:
        return failed(f"the case has no {flags['--output']} behind the run")
    return checked(data_difference(_whole(written.encode()), _whole(answer.resources)))


def _flags(args: Sequence[str]) -> dict[str, str]:
    """Return flags with their values; `--json` has none."""
    words = [word for word in args if word != "--json"]
    return dict(zip(words[::2], words[1::2], strict=True))


def _whole(data: bytes) -> dict[str, object]:
    """Return what a ResourceList says, however it is written."""
    read = resourcelist.decode(data)
    items = [resourcelist.placed(item) for item in read.items]
    return {"items": items, "functionConfig": read.config, "results": list(read.results)}


KINDS: Mapping[str, Handler] = {"function-binary": program, "sort-results": sorted_results}
