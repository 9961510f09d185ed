"""Corpus functions/ensure-name-substring: its kinds, and the files that its cases end in."""

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner

from bot.cli.fn.group import fn
from cadlib.package.files import Files
from cadlib.package.source import ref
from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin.catalog import ensure_name_substring
from fnrunner.builtin.name_references import DEPENDS_ON
from tests.cases import render
from tests.cases.compare import data_difference, documents, entries, fill, on_disk, put
from tests.cases.model import Case, Handler, Outcome, Verdict, checked, deviates


def _run(config: Value, values: list[Value]) -> list[Value]:
    found = ensure_name_substring.run(ResourceList(tuple(map(Item, values)), config))
    if found.failed:
        raise ValueError(found.log)
    return [item.value for item in found.items]


def transform(case: Case) -> Verdict:
    """Run it on one file; upstream's test stops before references follow the names."""
    (config,) = (each.value for each in documents(case.data["function_config"]))
    given = [each.value for each in documents(case.data["input"])]
    expected = [each.value for each in documents(case.data["expected"])]
    found = _run(config, given)
    difference = data_difference(expected, found)
    if difference:
        became = dict(zip(map(_name, given), map(_name, expected), strict=True))
        difference = data_difference([_referring(each, became) for each in expected], found)
    return checked(difference)


def _name(value: Value) -> str:
    return ref(value).name


def _referring(value: Value, became: Mapping[str, str]) -> Value:
    """Return a value in which texts that are a former name are the new one."""
    if isinstance(value, dict):
        return {key: _referring(each, became) for key, each in value.items()}
    if isinstance(value, list):
        return [_referring(each, became) for each in value]
    return became.get(value, value) if isinstance(value, str) else value


def depends_on_substring(case: Case) -> Verdict:
    """Run it on the resources of a case and on one that depends on what the case says."""
    data = case.data
    mode = data.get("edit_mode")
    config: Value = {
        "apiVersion": "fn.kpt.dev/v1alpha1",
        "kind": "EnsureNameSubstring",
        "substring": data["substring"],
        **({"editMode": mode} if mode else {}),
    }
    referrer: Value = {
        "apiVersion": "v1",
        "kind": "Referrer",
        "metadata": {"name": "referrer", "annotations": {DEPENDS_ON: data["depends_on"]}},
    }
    values = [*map(_resource, data["input_resources"]), referrer]
    found: Any = _run(config, values)[-1]
    text = found["metadata"]["annotations"][DEPENDS_ON]
    wanted = {"text": data["expected"], "changed": data["expected_set"]}
    return checked(data_difference(wanted, {"text": text, "changed": text != data["depends_on"]}))


def _resource(named: Mapping[str, str]) -> Value:
    metadata: dict[str, Value] = {"name": named["Name"]}
    if named.get("Namespace"):
        metadata["namespace"] = named["Namespace"]
    version = f"{named['Group']}/v1" if named["Group"] else "v1"
    return {"apiVersion": version, "kind": named["Kind"], "metadata": metadata}


def steps(case: Case) -> Verdict:
    """Run it on a package; its cases expect every resource in a new file named after it."""
    verdict = render.steps(case)
    if verdict.outcome is not Outcome.FAILED:
        return verdict
    given = entries(case.data["input"])
    expected = entries(case.data["expected"])
    found = _ran(case)
    same_resources = _resources(found) == _resources(expected)
    if same_resources and found.keys() == given.keys() and _others(found) == _others(expected):
        return deviates("D130", "resources stay in their files")
    return verdict


def _ran(case: Case) -> Files:
    """Return the package after the one command of a case."""
    with TemporaryDirectory(prefix="case") as folder:
        package = Path(folder).resolve() / case.data["package_name"]
        put(case.data["input"], package)
        ((arguments,),) = (step["pipe"] for step in case.data["steps"])
        _, *words = fill(arguments, {"pkg": str(package)})
        CliRunner().invoke(fn, words, catch_exceptions=False)
        return on_disk(package)


def _resources(files: Files) -> list[str]:
    """Return all resources of a package, wherever they lie, in an order of their own."""
    return sorted(
        json.dumps(each.value, sort_keys=True)
        for path, entry in files.items()
        if _holds_resources(path)
        for each in documents(entry.data)
    )


def _others(files: Files) -> dict[str, bytes]:
    return {path: entry.data for path, entry in files.items() if not _holds_resources(path)}


def _holds_resources(path: str) -> bool:
    return path.endswith((".yaml", "Kptfile"))


KINDS: Mapping[str, Handler] = {
    "depends-on-substring": depends_on_substring,
    "fn-eval": steps,
    "fn-render": steps,
    "transform": transform,
}
