"""Corpus functions/list-setters."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from cadlib.stream.resourcelist import Item, ResourceList
from fnrunner.builtin.catalog.list_setters import discovered, run
from tests.cases.compare import data_difference, text_difference
from tests.cases.functions import on_text
from tests.cases.model import Case, Handler, Verdict, checked

_LINE = re.compile(r"yaml: unmarshal errors:\s+line [0-9]+: ")


def list_setters(case: Case) -> Verdict:
    """Kind list-setters: the setters of a package, and why its Kptfile gave none."""
    items: list[Item] = []
    for path, text in case.data["input_files"].items():
        items += (replace(item, path=path) for _, item in on_text.items(text))
    if "error_contains" in case.data:
        return _refusal(case.data["error_contains"], items)
    found = discovered(items)
    actual = [
        {"Name": each.name, "Value": each.value, "Count": each.count, "Type": each.type}
        for each in found.setters()
    ]
    expected = sorted(case.data.get("expected_results", ()), key=lambda each: str(each["Name"]))
    warnings = [{"message": found.warning}] if found.warning else []
    return checked(
        data_difference(expected, actual)
        or data_difference(list(case.data.get("expected_warnings", ())), warnings)
    )


def _refusal(wanted: str, items: Sequence[Item]) -> Verdict:
    """Compare an error; upstream's counts lines of a text that only it has."""
    answer = run(ResourceList(tuple(items)))
    said = " ".join(str(each["message"]) for each in answer.results)
    fits = answer.failed and _LINE.sub("", wanted) in said
    return checked("" if fits else text_difference(wanted, said))


KINDS: Mapping[str, Handler] = {
    "list-setters": list_setters,
    "pattern-values": on_text.pattern_values,
}
