"""delete-annotations: what goes, with its comments, and what it says."""

import pytest

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import read
from fnrunner.builtin.catalog import delete_annotations
from tests.fnrunner.calls import call, config_map, values

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {a: x, b: y, c: z}}"
BARE = "apiVersion: v1\nkind: Pod\nmetadata: {name: b, annotations: {d: x}}"


def test_the_annotations_named_go_and_each_is_told() -> None:
    """Short-cut: take the first key, or a key with the blank before it."""
    answer = call(delete_annotations.run, f"{POD}\n---\n{BARE}", config_map(annotationKeys="a, c"))
    assert answer.values == (
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "annotations": {"b": "y"}}},
        values(BARE)[0],
    )
    file = {"path": "resources.yaml"}
    assert answer.results == (
        {
            "message": "The provided annotations were deleted from 1 resource(s)",
            "severity": "info",
        },
        *(
            {
                "message": f"Annonation: [{key}] removed from resource: [a]",
                "severity": "info",
                "file": file,
            }
            for key in "ac"
        ),
    )


def test_nothing_empty_stays_and_no_comment_of_what_went() -> None:
    text = """
apiVersion: v1
kind: Pod
metadata:
  name: a # kept
  annotations: # goes
    a: x # goes too
"""
    document = read(text.encode()).documents[0]
    given = Item(document.value, document.comments, "a.yaml", 0)
    config = values(config_map(annotationKeys="a"))[0]
    (found,) = delete_annotations.run(ResourceList((given,), config)).items
    assert found.value == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    assert found.comments == {("metadata", "name"): "# kept"}


def test_resources_are_counted_not_names() -> None:
    """Short-cut: count the names that follow each other."""
    service = BARE.replace("Pod", "Service").replace("name: b", "name: a")
    answer = call(
        delete_annotations.run, f"{POD}\n---\n{service}", config_map(annotationKeys="b,d")
    )
    assert answer.messages[0] == "info: The provided annotations were deleted from 2 resource(s)"


UNTOUCHED = {
    "none of them": BARE,
    "no name": "apiVersion: v1\nkind: Pod\nmetadata: {annotations: {a: x}}",
    "annotations that are none": "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: a}",
}


@pytest.mark.parametrize("text", UNTOUCHED.values(), ids=UNTOUCHED)
def test_what_has_none_stays(text: str) -> None:
    answer = call(delete_annotations.run, text, config_map(annotationKeys="a"))
    assert answer.values == tuple(values(text))
    assert answer.messages == ["info: None of the resources had the provided annotations to delete"]


@pytest.mark.parametrize("config", [None, config_map(), config_map(annotationKeys=" , ")])
def test_without_annotations_it_fails(config: str | None) -> None:
    answer = call(delete_annotations.run, POD, config)
    assert answer.failed
    assert answer.values == tuple(values(POD))
    message = "annotationKeys was not provided as part of the config or paramters to the function"
    assert answer.messages == [f"error: {message}"]
    assert answer.log == f"failed to evaluate function: {message}"
