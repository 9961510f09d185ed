"""Findings: what functions report, read without losing any of it."""

import json
from pathlib import Path

import pytest

from cadlib.errors import PackageError, Place
from cadlib.findings import Finding, ResourceRef, Severity, from_error, from_result, order

CASES = Path(__file__).resolve().parents[2] / "../shared/cases/runtime/cases.jsonl"
IMAGE = "example.com/check:v1"

PLACES: dict[str, tuple[Place, str]] = {
    "all is known": (Place("a/b.yaml", 12, "metadata.name"), "a/b.yaml:12, metadata.name"),
    "no line": (Place("a/b.yaml", None, "metadata.name"), "a/b.yaml, metadata.name"),
    "no field": (Place("a/b.yaml", 12), "a/b.yaml:12"),
    "a line without a file means nothing": (Place("", 12, "spec"), "spec"),
    "nothing": (Place(), "the package"),
}


@pytest.mark.parametrize(("place", "text"), PLACES.values(), ids=PLACES)
def test_place_text(place: Place, text: str) -> None:
    assert str(place) == text


def test_an_error_says_where_what_and_how_to_mend_it() -> None:
    error = PackageError(Place("a.yaml", 3), "the name has capital letters", "Write it small")

    assert str(error) == "a.yaml:3: the name has capital letters. Write it small."
    assert str(from_error(error)) == str(error)


RESULTS: dict[str, tuple[object, Finding]] = {
    "everything that the specification has": (
        {
            "message": "too few",
            "severity": "warning",
            "resourceRef": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": "cart",
                "namespace": "shop",
            },
            "field": {"path": "spec.replicas", "currentValue": 1, "proposedValue": 3},
            "file": {"path": "cart.yaml", "index": 0},
        },
        Finding(
            message="too few",
            severity=Severity.WARNING,
            place=Place("cart.yaml", None, "spec.replicas"),
            function=IMAGE,
            resource=ResourceRef(
                api_version="apps/v1", kind="Deployment", name="cart", namespace="shop"
            ),
            current="1",
            proposed="3",
        ),
    ),
    "no severity is info, as kpt shows it": (
        {"message": "done"},
        Finding(message="done", severity=Severity.INFO, function=IMAGE),
    ),
    "an unknown severity is not waved through": (
        {"message": "boom", "severity": "FATAL"},
        Finding(message="boom", severity=Severity.ERROR, function=IMAGE),
    ),
    "severities in capital letters are understood": (
        {"message": "hm", "severity": "Warning"},
        Finding(message="hm", severity=Severity.WARNING, function=IMAGE),
    ),
    "older names for the resource and the value": (
        {
            "message": "m",
            "resourceRef": {"metadata": {"name": "a", "namespace": "b"}},
            "field": {"path": "spec", "suggestedValue": False},
        },
        Finding(
            message="m",
            severity=Severity.INFO,
            place=Place(field="spec"),
            function=IMAGE,
            resource=ResourceRef(name="a", namespace="b"),
            proposed="false",
        ),
    ),
    "no mapping at all is still shown": (
        "it broke",
        Finding(message="it broke", severity=Severity.ERROR, function=IMAGE),
    ),
    "no message": (
        {"severity": "error", "field": None, "file": "x", "resourceRef": []},
        Finding(message="the function gave no message", severity=Severity.ERROR, function=IMAGE),
    ),
}


@pytest.mark.parametrize(("result", "finding"), RESULTS.values(), ids=RESULTS)
def test_result(result: object, finding: Finding) -> None:
    """The short-cut is to index the result's fields, and to fail with the function."""
    assert from_result(result, function=IMAGE) == finding


def test_order_is_by_file_then_line() -> None:
    """The short-cut is to sort by the text, where line 10 comes before line 9."""
    findings = [
        Finding(message="m", severity=Severity.INFO, place=Place("b.yaml", 1)),
        Finding(message="m", severity=Severity.INFO, place=Place("a.yaml", 10)),
        Finding(message="m", severity=Severity.WARNING, place=Place("a.yaml", 9)),
        Finding(message="m", severity=Severity.ERROR, place=Place("a.yaml", 9)),
    ]

    assert sorted(findings, key=order) == [findings[i] for i in (3, 2, 1, 0)]


def test_resource_text() -> None:
    ref = ResourceRef(api_version="apps/v1", kind="Deployment", name="cart", namespace="shop")

    assert str(ref) == "apps/v1/Deployment/shop/cart"


def test_public_cases_of_results() -> None:
    """Results in kpt's older and newer shapes are one and the same finding."""
    if not CASES.exists():
        pytest.skip(f"{CASES} is missing: the shared cases are not beside this checkout")
    yaml = pytest.importorskip("cadlib.yaml")
    ran = 0
    for case in map(json.loads, CASES.read_text().splitlines()):
        if case["kind"] != "resource-ref-text":
            continue
        ran += 1
        old, new = (
            yaml.read(case[key].encode()).documents[0].value for key in ("result", "expected")
        )

        assert from_result(old, function=IMAGE) == from_result(new, function=IMAGE), case["id"]
    assert ran == 3
