"""The catalog's and kpt's own cases, as far as they run single functions on one package."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cadlib.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import find, resource
from tests.fnrunner.calls import call, call_items, values

CASES = Path(__file__).resolve().parents[2] / "../shared/cases"
FUNCTIONS = ("set-namespace", "set-labels", "set-annotations", "kubeconform")
# Their expected trees freeze a bug that is not to be had: labels in a bare kustomization.yaml.
FROZEN_BUGS = {"fn-render/krm-check-exclude-kustomize"}

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not here")


def cases(corpus: str) -> Iterator[dict[str, Any]]:
    file = CASES / corpus / "cases.jsonl"
    if file.is_file():
        yield from map(json.loads, file.read_text().splitlines())


def ours(case: dict[str, Any]) -> bool:
    names = {image.rpartition("/")[2].partition(":")[0] for image in case["functions"]}
    return bool(names) and names <= set(FUNCTIONS)


def packages() -> Iterator[Any]:
    """Cases that render one package without subpackages, with functions that we have."""
    for corpus in (*(f"functions/{name}" for name in FUNCTIONS), "render"):
        for case in cases(corpus):
            kptfiles = [path for path in case.get("input") or () if path.endswith("Kptfile")]
            if (
                case["kind"] == "fn-render"
                and kptfiles == ["Kptfile"]
                and ours(case)
                and not {"cwd", "note", "not_valid_yaml"} & set(case)
                and case["id"] not in FROZEN_BUGS
                and runs_to_the_end(case)
            ):
                yield pytest.param(case, id=f"{corpus}:{case['id']}")


def runs_to_the_end(case: dict[str, Any]) -> bool:
    """Whether the case is about functions, not about what kpt refuses before it runs one."""
    failed = any(step["exitCode"] and "executionError" not in step for step in expected_steps(case))
    if case["expected_exit_code"] and not failed:
        return False
    return all(
        not step.get("exec") and not step.get("exclude") and in_package(case, step)
        for step in steps(case)
    )


def in_package(case: dict[str, Any], step: dict[str, Any]) -> bool:
    path = step.get("configPath")
    return path is None or path in case["input"]


def steps(case: dict[str, Any]) -> list[dict[str, Any]]:
    kptfile = values(case["input"]["Kptfile"])[0]
    pipeline: Any = resource.field(kptfile, "pipeline") or {}
    return [*(pipeline.get("mutators") or ()), *(pipeline.get("validators") or ())]


def expected_steps(case: dict[str, Any]) -> list[dict[str, Any]]:
    """What is said about each function that ran, from the results file or the Kptfile."""
    if "expected_results" in case:
        listed: Any = values(case["expected_results"])[0]
        return list(listed["items"])
    status = resource.field(
        values(case["expected"].get("Kptfile", "{}"))[0], "status", "renderStatus"
    )
    found: Any = resource.mapping(status)
    return [*(found.get("mutationSteps") or ()), *(found.get("validationSteps") or ())]


def tree_items(tree: dict[str, Any]) -> tuple[Item, ...]:
    return tuple(
        Item(value=value, comments={}, path=path, index=index)
        for path, text in sorted(tree.items())
        if path.endswith((".yaml", ".yml", "Kptfile")) and isinstance(text, str)
        for index, value in enumerate(values(text))
        if resource.is_krm(value)
    )


def config(step: dict[str, Any], items: tuple[Item, ...]) -> Value:
    if path := step.get("configPath"):
        found: Value = next(item.value for item in items if item.path == path)
        return found
    if step.get("configMap") is None:
        return None
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "function-input"},
        "data": step["configMap"],
    }


def selected(item: Item, step: dict[str, Any]) -> bool:
    selectors = step.get("selectors") or [{}]
    return any(
        resource.kind(item.value) == s.get("kind", resource.kind(item.value)) for s in selectors
    )


@pytest.mark.parametrize("case", list(packages()))
def test_package(case: dict[str, Any]) -> None:
    items = tree_items(case["input"])

    said: list[dict[str, Any]] = []
    for step in steps(case):
        chosen = tuple(item for item in items if selected(item, step))
        function = find(step["image"])
        verdict = function.run(ResourceList(chosen, config(step, items), ()))
        said.append({"exitCode": int(verdict.failed), "results": list(verdict.results)})
        if verdict.failed:
            assert verdict.log == "failed to evaluate function: error: function failure"
            break
        after = {(item.path, item.index): item for item in verdict.items}
        items = tuple(after.get((item.path, item.index), item) for item in items)
    assert int(any(step["exitCode"] for step in said)) == case["expected_exit_code"]
    if expected_steps(case):
        assert said == [
            {"exitCode": step["exitCode"], "results": step.get("results", [])}
            for step in expected_steps(case)
        ]
    if not case["expected_exit_code"]:
        assert shown(items) == shown(tree_items(case["expected"]))


def shown(items: tuple[Item, ...]) -> list[tuple[str, int | None, str]]:
    """Items with the order of their keys; a Kptfile, which kpt writes anew, without."""
    return [(item.path, item.index, text(item.value)) for item in items]


def text(value: Value) -> str:
    if resource.kind(value) != "Kptfile":
        return json.dumps(value)
    parts = {key: part for key, part in resource.mapping(value).items() if key != "status"}
    return json.dumps(parts, sort_keys=True)


def units() -> Iterator[Any]:
    for name in FUNCTIONS:
        for case in cases(f"functions/{name}"):
            if case["kind"] in ("transform", "results"):
                yield pytest.param(case, id=f"{name}:{case['id']}")


@pytest.mark.parametrize("case", list(units()))
def test_unit(case: dict[str, Any]) -> None:
    run = find(case["function"]).run
    if case["kind"] == "transform":
        found = values(case["input"])
        for _ in range(case.get("apply_times", 1)):
            items = tuple(Item(value, {}, "", position) for position, value in enumerate(found))
            found = list(call_items(run, items, values(case["function_config"])[0]).values)
        assert found == values(case["expected"])
        return
    answer = call(run, case["input"], case["function_config"])
    fields = [result["field"]["path"] for result in answer.results]  # type: ignore[index] # plain data
    assert sorted(fields) == sorted(result["field_path"] for result in case["expected_results"])


def evals() -> Iterator[Any]:
    for name in FUNCTIONS:
        for case in cases(f"functions/{name}"):
            if case["kind"] == "fn-eval":
                yield pytest.param(case, id=f"{name}:{case['id']}")


@pytest.mark.parametrize("case", list(evals()))
def test_eval(case: dict[str, Any]) -> None:
    words = case["steps"][0]["pipe"][0]
    data: dict[str, Value] = dict(word.split("=", 1) for word in words[words.index("--") + 1 :])
    function = find(words[words.index("--image") + 1])
    given = tree_items(case["input"])
    made: Value = {"apiVersion": "v1", "kind": "ConfigMap", "data": data}
    verdict = function.run(ResourceList(given, made, ()))
    assert shown(tuple(verdict.items)) == shown(tree_items(case["expected"]))
