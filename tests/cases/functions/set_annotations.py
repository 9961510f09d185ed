"""Corpus functions/set-annotations: the function on values.

What is expected was printed by kustomize, which sorts keys and writes lists its own way: the
resources are compared as data.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.cases.compare import data_difference
from tests.cases.functions import values
from tests.cases.model import Case, Handler, Verdict, checked, failed

_SAID = "set annotations: "


def transform(case: Case) -> Verdict:
    """Run the function as often as the case says."""
    data = case.data
    given = values.items(data["input"])
    for _ in range(data.get("apply_times", 1)):
        found = values.run("set-annotations", given, data["function_config"])
        if found.failed or "error_contains" in data:
            return _refused(data.get("error_contains"), values.messages(found), found.failed)
        given = list(found.items)
    wanted = [each.value for each in values.items(data["expected"])]
    return checked(data_difference(wanted, [each.value for each in given]))


def _refused(expected: str | None, messages: Sequence[Any], has_failed: bool) -> Verdict:
    if has_failed and expected is not None and any(expected in each for each in messages):
        return checked("")
    return failed(f"instead of the error {expected!r}: {messages}")


def results(case: Case) -> Verdict:
    """Compare where annotations stand, and which; in any order."""
    found = values.run(
        "set-annotations", values.items(case.data["input"]), case.data["function_config"]
    )
    shown = [_shown(result) for result in found.results]
    wanted = sorted(case.data["expected_results"], key=_order)
    return checked(data_difference(wanted, sorted(shown, key=_order)))


def _shown(result: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "file_path": result["file"]["path"],
        "file_index": str(result["file"].get("index", 0)),
        "field_path": result["field"]["path"],
        "annotations": json.loads(result["message"].removeprefix(_SAID)),
    }


def _order(result: Mapping[str, Any]) -> str:
    return json.dumps(result, sort_keys=True)


KINDS: Mapping[str, Handler] = {"transform": transform, "results": results}
