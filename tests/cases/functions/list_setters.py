"""Corpus functions/list-setters."""

from collections.abc import Mapping
from dataclasses import replace

from cadlib.resourcelist import Item
from fnrunner.builtin.catalog.list_setters import discovered
from tests.cases.compare import data_difference
from tests.cases.functions import on_text
from tests.cases.model import Case, Handler, Verdict, checked


def list_setters(case: Case) -> Verdict:
    """Kind list-setters: the setters of a package, and why its Kptfile gave none."""
    items: list[Item] = []
    for path, text in case.data["input_files"].items():
        items += (replace(item, path=path) for _, item in on_text.items(text))
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


KINDS: Mapping[str, Handler] = {
    "list-setters": list_setters,
    "pattern-values": on_text.pattern_values,
}
