"""no-op: nothing at all."""

from cadlib.stream.resourcelist import ResourceList
from fnrunner.builtin import lookup
from fnrunner.builtin.catalog import no_op
from tests.fnrunner.calls import items, values

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}"


def test_the_very_objects_come_back() -> None:
    """Short-cut: copy the resources, which are then written anew."""
    given = items(POD)
    verdict = no_op.run(ResourceList(given, values("kind: X\nany: thing")[0]))
    assert verdict.items[0] is given[0]
    assert (verdict.results, verdict.failed, verdict.log) == ((), False, "")


def test_any_version_does_nothing() -> None:
    assert lookup.find("no-op:v3.4.5").name == "no-op"
