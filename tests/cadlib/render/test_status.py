"""What a rendering writes down: the Kptfile's status, and results.yaml."""

from collections.abc import Mapping

import pytest

from cadlib.errors import PackageError, Place
from cadlib.kptfile.reader import KptfileError
from cadlib.render import status
from cadlib.render.calls import Step
from cadlib.render.pipeline import Failure, Rendered, RenderStage
from cadlib.yaml import Value, read

KPTFILE = b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a # why\n"


def step(number: int = 0, *, kind: str = "mutators", **fields: object) -> Step:
    """Make a step that went well."""
    given: dict[str, object] = {"image": f"f{number}", "package": "", "source": "pipeline"}
    given |= {"ok": True, "step": f"{kind}[{number}]", **fields}
    return Step(**given)  # type: ignore[arg-type]  # a test's own


def failure(package: str, stage: RenderStage, *, level: bool = False, error: str = "") -> Failure:
    """Make what ended a rendering."""
    problem = PackageError(Place(), error, "Mend it") if error else None
    return Failure(package=package, stage=stage, error=problem, breadth_first=level)


MESSAGES = {
    "a function of the root": (
        failure("", RenderStage.PIPELINE),
        "pkg.render: pkg .:\n\tpipeline.run: already handled error",
    ),
    "a function of a package inside": (
        failure("db", RenderStage.PIPELINE, error="it broke"),
        "pkg.render: pkg ./db:\n\tpipeline.run: it broke",
    ),
    "a function of a package inside, level by level": (
        failure("db", RenderStage.PIPELINE, level=True),
        "pkg.render: pkg .:\n\tpipeline.run: pkg ./db: already handled error",
    ),
    "a function of the root, level by level": (
        failure("", RenderStage.PIPELINE, level=True),
        "pkg.render: pkg .:\n\tpipeline.run: already handled error",
    ),
    "before the pipeline": (
        failure("", RenderStage.PACKAGE, error="it lacks something"),
        "pkg.render: pkg .: it lacks something",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages(name: str) -> None:
    """The short-cut: the same words wherever it failed."""
    found, text = MESSAGES[name]

    assert status.message(found) == text


def test_what_kpt_says_of_a_kptfile_is_kept_whole() -> None:
    """The short-cut: our words, which differ."""
    error = KptfileError(Place("Kptfile"), "no", "Mend it", details="Kptfile is invalid:\nno\n")
    found = Failure(package="", stage=RenderStage.PACKAGE, error=error)

    assert status.message(found) == "pkg.render: pkg .: Kptfile is invalid:\nno\n"


def of(kptfile: bytes) -> Value:
    """Return the status in a Kptfile."""
    value = read(kptfile).documents[0].value
    assert isinstance(value, dict)
    return value.get("status")


def test_a_status_replaces_the_one_before_and_nothing_else() -> None:
    """The short-cut: add a condition each time, or drop those of others."""
    other = b"status:\n  conditions:\n  - type: Other # keep\n    status: 'True'\n"
    failed = Rendered(
        steps=(step(ok=False, exit_code=2, log="words"),),
        failed=True,
        failure=failure("", RenderStage.PIPELINE),
    )

    once = status.with_status(KPTFILE + other, failed)
    twice = status.with_status(once, Rendered())

    assert twice.startswith(KPTFILE + b"status:\n  conditions:\n  - type: Other # keep\n")
    assert of(once) == {
        "conditions": [
            {"type": "Other", "status": "True"},
            {
                "type": "Rendered",
                "status": "False",
                "reason": "RenderFailed",
                "message": "pkg.render: pkg .:\n\tpipeline.run: already handled error",
            },
        ],
        "renderStatus": {
            "mutationSteps": [{"image": "f0", "stderr": "words", "exitCode": 2}],
            "errorSummary": "f0: exit code 2",
        },
    }
    assert of(twice) == {
        "conditions": [
            {"type": "Other", "status": "True"},
            {"type": "Rendered", "status": "True", "reason": "RenderSuccess"},
        ]
    }


def test_a_root_that_cannot_be_read_gets_no_status() -> None:
    """The short-cut: write one wherever the rendering failed."""
    failed = Rendered(failed=True, failure=failure("", RenderStage.READ, error="no"))

    assert status.with_status(KPTFILE, failed) == KPTFILE


def test_steps_of_all_packages_with_what_each_said() -> None:
    """The short-cut: results of one package, or none of those that could not be run."""
    said = ({"message": "bad", "severity": "error"}, {"message": "well"})
    rendered = Rendered(
        steps=(
            step(1, package="db", said=said),
            step(2, kind="validators", name="check", ok=False, exit_code=1, said=said),
            step(3, image="", exec="run me", ok=False, exit_code=1, error="it is not there"),
            step(4, ok=False, exit_code=1, error="outside", listed=False),
        ),
        failed=True,
        failure=failure("", RenderStage.PIPELINE),
    )

    results = [{"message": "bad", "severity": "error"}, {"message": "well"}]
    assert status.render_status(rendered) == {
        "mutationSteps": [
            {"image": "f1", "exitCode": 0, "results": results, "errorResults": results[:1]},
            {"exec": "run me", "executionError": "it is not there", "exitCode": 1},
            {"image": "f4", "executionError": "outside", "exitCode": 1},
        ],
        "validationSteps": [
            {
                "name": "check",
                "image": "f2",
                "exitCode": 1,
                "results": results,
                "errorResults": results[:1],
            }
        ],
        "errorSummary": "run me: it is not there\nf4: outside\ncheck: exit code 1",
    }
    found = read(status.results(rendered.steps)).documents[0].value
    assert isinstance(found, dict)
    assert found["exitCode"] == 1
    assert found["items"] == [
        {"image": "f1", "exitCode": 0, "results": results},
        {"image": "f2", "exitCode": 1, "results": results},
        {"exec": "run me", "exitCode": 1},
    ]


def test_results_of_nothing() -> None:
    assert status.results(()) == (
        b"apiVersion: kpt.dev/v1\nkind: FunctionResultList\nmetadata:\n  name: fnresults\n"
        b"exitCode: 0\n"
    )


RESULTS: dict[str, tuple[Mapping[str, object], dict[str, Value], str]] = {
    "all fields": (
        {
            "tags": {"a": "b"},
            "file": {"index": 2, "path": "a.yaml"},
            "field": {"proposedValue": 3, "currentValue": {"a": 1}, "path": "spec.x"},
            "resourceRef": {"name": "n", "namespace": "ns", "kind": "X", "apiVersion": "v1"},
            "severity": "warning",
            "message": "m",
            "unknown": 1,
        },
        {
            "message": "m",
            "severity": "warning",
            "resourceRef": {"apiVersion": "v1", "kind": "X", "name": "n", "namespace": "ns"},
            "field": {"path": "spec.x", "currentValue": "a: 1", "proposedValue": "3"},
            "file": {"path": "a.yaml", "index": 2},
            "tags": {"a": "b"},
        },
        "[warning] v1/X/ns/n spec.x: m",
    ),
    "the older form": (
        {
            "message": "m",
            "resourceRef": {"kind": "X", "metadata": {"name": "n", "namespace": ""}},
            "field": {"path": "a", "suggestedValue": "b"},
            "file": {"path": "a.yaml", "index": 0},
        },
        {
            "message": "m",
            "resourceRef": {"kind": "X", "name": "n"},
            "field": {"path": "a", "proposedValue": "b"},
            "file": {"path": "a.yaml"},
        },
        "[info] X/n a: m",
    ),
    "a message alone": ({"message": "m"}, {"message": "m"}, "[info]: m"),
    "odd things": ({"message": "m", "file": "a", "tags": []}, {"message": "m"}, "[info]: m"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result(name: str) -> None:
    """The short-cut: pass on what the function wrote, in its order."""
    said, result, line = RESULTS[name]

    assert status.result(said) == result
    assert list(status.result(said)) == list(result)
    assert status.line(said) == line
