"""kpt's own end-to-end cases of `kpt fn render`, with the builtin functions.

Trees are compared as data, since kpt writes every file anew; kpt's report in `status` of
the Kptfile is left out, since we write none.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from cadlib.package.files import Entry, Files
from cadlib.render.pipeline import CallOutcome, FunctionCall, Rendered, render
from cadlib.stream.resourcelist import decode, encode
from cadlib.yaml import Value, read
from tests.cadlib import real

RENDERED = (
    "basicpipeline",
    "fnconfig",
    "fnconfig-ancestorfn-not-mutate-subpkg-config",
    "fnconfig-in-subdir",
    "fnconfig-pkgfn-refers-subdir",
    "format-on-success",
    "krm-check-exclude-kustomize",
    "no-pipeline-in-subpackage",
    "selectors/basicpipeline",
    "subpkg-has-samename-subdir",
    "subpkgs",
    "success-stdout",
)
REFUSED = {
    "basicpipeline-v1alpha1": 'old resource version "v1alpha1" found in Kptfile',
    "basicpipeline-v1alpha2": 'old resource version "v1alpha2" found in Kptfile',
    "basicpipeline-semver": "`tag` with a range of versions of a function is not supported",
    "exec-without-permissions": "`exec` of a function is not supported",
    "fnconfig-cannot-refer-subpkgs": 'is missing from path "db/labelconfig.yaml", this also',
    "fnconfig-missing-name": "resource must have `metadata.name`",
    "fnconfig-not-relative": "path must be relative",
    "kptfile-unknown-fields": "field targetResources not found in type v1.Function",
    "missing-fnconfig": 'failed to open functionConfig from path "labelconfig1.yaml"',
    "multiple-fnconfig": "functionConfig must not specify both `configMap` and `configPath`",
    "no-fnconfig": "",
    "no-format-on-failure": "cannot unmarshal !!map into string",
}


def _case(name: str) -> Mapping[str, Any]:
    cases = real.SHARED / "cases/render/cases.jsonl"
    if not cases.exists():
        pytest.skip(f"{cases} is missing: the shared cases are not beside this checkout")
    every = map(json.loads, cases.read_text().splitlines())
    return next(case for case in every if case["id"] == f"fn-render/{name}")


def _files(tree: Mapping[str, str]) -> dict[str, Entry]:
    return {path: Entry(text.encode()) for path, text in tree.items()}


def _render(files: Files) -> Rendered:
    steps = render(files)
    try:
        call = next(steps)
        while True:
            call = steps.send(_run(call))
    except StopIteration as done:
        rendered: Rendered = done.value
        return rendered


def _run(call: FunctionCall) -> CallOutcome:
    builtin = pytest.importorskip("fnrunner.builtin.lookup")
    name = call.image.rpartition("/")[2].partition(":")[0]
    given = decode(call.resources)
    verdict = builtin.get(name).run(given)
    return CallOutcome(
        resources=encode(verdict.items, given.config),
        results=verdict.results,
        error="exit status 1" if verdict.failed else "",
        log=verdict.log,
    )


def _data(files: Files) -> dict[str, list[Value]]:
    found = {}
    for path, entry in files.items():
        if path.endswith((".yaml", "Kptfile")):
            values = [each.value for each in read(entry.data).documents if not each.empty]
            for value in values:
                if isinstance(value, dict) and value.get("kind") == "Kptfile":
                    value.pop("status", None)
            found[path] = values
    return found


@pytest.mark.parametrize("name", RENDERED)
def test_rendered_as_kpt_does(name: str) -> None:
    case = _case(name)
    files = _files(case["input"])
    rendered = _render(files)
    after = dict(files)
    for path, data in rendered.changes.items():
        if data is None:
            del after[path]
        else:
            after[path] = Entry(data)

    assert not rendered.failed, [str(each) for each in rendered.findings]
    expected = _data(_files(case["expected"]))
    # kpt gives a kustomization without a name to functions, which write labels into it
    expected |= {path: data for path, data in _data(files).items() if "kustomization" in path}
    assert _data(after) == expected


@pytest.mark.parametrize(("name", "text"), REFUSED.items(), ids=REFUSED)
def test_refused_as_kpt_does(name: str, text: str) -> None:
    """Where kpt fails, and for what is left for later, nothing is written and it is said why."""
    rendered = _render(_files(_case(name)["input"]))

    assert rendered.failed
    assert rendered.changes == {}
    assert any(text in str(each) for each in rendered.findings)
