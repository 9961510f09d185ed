"""Corpus functions/fix: packages as items, and the file of setters."""

from collections.abc import Mapping
from typing import Any

from cadlib.package.files import Entry, Files
from cadlib.stream.places import annotations
from cadlib.stream.resourcelist import Item, bare
from cadlib.yaml import emit, read
from fnrunner.builtin.catalog import fix
from tests.cases.compare import data_difference, differences, entries, listed, text_difference
from tests.cases.functions import values
from tests.cases.model import Case, Handler, Verdict, checked, failed


def package(case: Case) -> Verdict:
    """Fix a package; its files are compared by what they say, since kpt writes them anew."""
    data = case.data
    found = values.run("fix", values.files(data["input_files"]), None)
    if found.failed:
        return failed("\n".join(values.messages(found)))
    (wanted,) = (each.value for each in read(data["expected_results_text"].encode()).documents)
    said = [{"filepath": _path(each), "message": each["message"]} for each in found.results]
    rule = {"kptfile": "documents", "other_files": "documents"}
    trees = differences(entries(data["expected_files"]), _files(found.items), rule)
    return checked(data_difference(wanted, said) or listed(trees))


def _path(result: Mapping[str, Any]) -> str:
    return str(result["file"]["path"])


def _files(items: Any) -> Files:
    found: dict[str, list[Item]] = {}
    for item in items:
        found.setdefault(item.path, []).append(item)
    return {
        path: Entry("---\n".join(emit(i.value, comments=i.comments) for i in inside).encode())
        for path, inside in found.items()
    }


def setters_node(case: Case) -> Verdict:
    """Make the file of setters."""
    data = case.data
    wanted = data.get("error_equals", "")
    try:
        item = fix.setters_file(data["setters"], data["path"])
    except fix.FixError as error:
        return checked(text_difference(wanted, str(error)))
    if wanted:
        return failed(f"it was made, without the error {wanted!r}")
    (value,) = (each.value for each in read(data["expected"].encode()).documents)
    expected = bare(value)
    path = annotations(value).get("config.kubernetes.io/path") or expected.path
    return checked(data_difference([path, expected.value], [item.path, item.value]))


KINDS: Mapping[str, Handler] = {"package": package, "setters-node": setters_node}
