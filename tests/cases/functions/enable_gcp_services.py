"""Corpus functions/enable-gcp-services: its kinds of unit cases."""

import json
from collections.abc import Mapping
from typing import Any

from cadlib.stream import resourcelist
from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin.catalog import enable_gcp_services
from fnrunner.builtin.verdict import FunctionResult as Answer
from tests.cases.compare import data_difference, documents, text_difference
from tests.cases.functions import attribution
from tests.cases.model import Case, Handler, Verdict, checked, failed


def files_to_stream(case: Case) -> Verdict:
    """Run it on a package; the stream is compared by its resources, whose order says nothing."""
    items = tuple(
        Item(each.value, path=path)
        for path, text in case.data["input_files"].items()
        for each in documents(text)
    )
    found = enable_gcp_services.run(ResourceList(items))
    if "error_contains" in case.data:
        told = str(found.results[-1]["message"]) if found.failed else "no error"
        wanted = case.data["error_contains"]
        return checked("" if wanted in told else text_difference(wanted, told))
    return checked(
        data_difference(
            _sorted([each.value for each in documents(case.data["expected"])]),
            _sorted([resourcelist.placed(item) for item in found.items]),
        )
        or data_difference(_sorted(case.data["expected_results"]), _sorted(list(found.results)))
    )


def _sorted(values: list[Any]) -> list[Any]:
    return sorted(values, key=lambda value: json.dumps(value, sort_keys=True))


def helper(case: Case) -> Verdict:
    """Run it on the set that a table of the catalog's own tests describes."""
    fields = case.data["fields"]
    if case.data["go_test"] not in ("TestGetServicesList", "TestProjectServiceSet_validate"):
        return failed(f"nothing runs the table of {case.data['go_test']!r}")
    spec = {"projectID": fields["projectID"]} if fields.get("projectID") else {}
    found = _on_set(fields.get("services") or [], fields.get("resName", "a"), spec)
    wanted = fields.get("errMsg", "")
    if found.failed or wanted:
        told = str(found.results[-1]["message"]) if found.failed else "no error"
        return checked("" if wanted and wanted in told else text_difference(wanted, told))
    services = [_shown(item.value) for item in found.items[1:]]
    return checked(data_difference(fields["want"], services) if "want" in fields else "")


def _on_set(services: list[Value], name: str, spec: Mapping[str, Value]) -> Answer:
    value: Value = {
        "apiVersion": "blueprints.cloud.google.com/v1alpha1",
        "kind": "ProjectServiceSet",
        "metadata": {"name": name},
        "spec": {"services": services, **spec},
    }
    return enable_gcp_services.run(ResourceList((Item(value, path="set.yaml"),)))


def _shown(value: Any) -> Value:
    shown = {"name": value["metadata"]["name"], "resourceID": value["spec"]["resourceID"]}
    if "projectRef" in value["spec"]:
        shown["projectRef_external"] = value["spec"]["projectRef"]["external"]
    return dict(shown)


KINDS: Mapping[str, Handler] = {
    "files-to-stream": files_to_stream,
    "fn-eval": attribution.steps,
    "fn-render": attribution.steps,
    "helper": helper,
}
