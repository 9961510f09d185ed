"""create-setters: which comments are put where, and what it says."""

import pytest

from cadlib.stream.resourcelist import ResourceList
from cadlib.yaml import Value
from fnrunner.builtin.catalog import create_setters
from tests.fnrunner.builtin.catalog.texts import called, items, messages

NAME = "create-setters"
HEAD = "apiVersion: v1\nkind: Thing\nmetadata:\n  name: this\n"


def test_names_of_setters_are_not_looked_through_again() -> None:
    """Short-cut: replace one value after another; "image" would be found in `${image}`."""
    text = f"{HEAD}v: nginx-x\n"

    new, results, _ = called(NAME, text, image="nginx", name="image")

    assert new == f"{HEAD}v: nginx-x # kpt-set: ${{image}}-x\n"
    assert list(results) == [
        {
            "message": 'Added line comment "kpt-set: ${image}-x" for field with value "nginx-x"',
            "field": {"path": "v"},
            "file": {"path": "resources.yaml"},
        }
    ]


CREATED: dict[str, tuple[str, dict[str, str], str]] = {
    "the longest value first": (
        "v: nginx-dev",
        {"b": "nginx", "c": "nginx-dev"},
        "v: nginx-dev # kpt-set: ${c}",
    ),
    "of two with one value, the first by name": (
        "v: nginx",
        {"b": "nginx", "c": "nginx"},
        "v: nginx # kpt-set: ${b}",
    ),
    "a number": ("v: 4", {"n": "4"}, "v: 4 # kpt-set: ${n}"),
    "the digits that are written": ("v: 1.10", {"n": "1.10"}, "v: 1.10 # kpt-set: ${n}"),
    "a comment is replaced": ("v: foo # old", {"n": "foo"}, "v: foo # kpt-set: ${n}"),
    "text of several lines": ("v: |\n  foo\n  bar", {"n": "foo"}, "v: |\n  foo\n  bar"),
    "a list in any order": ("v:\n- b\n- a", {"n": "[a, b]"}, "v: # kpt-set: ${n}\n- b\n- a"),
    "a list and its elements": (
        "v:\n- b\n- a",
        {"m": "a", "n": "[a, b]"},
        "v: # kpt-set: ${n}\n- b\n- a # kpt-set: ${m}",
    ),
    "a list in brackets": ("v: [b, a]", {"n": "[a, b]"}, "v: [b, a] # kpt-set: ${n}"),
    "elements in brackets get lines": (
        "v: [b, a]",
        {"n": "a"},
        "v:\n- b\n- a # kpt-set: ${n}",
    ),
    "another list": ("v: [b, a]", {"n": "[a, b, c]"}, "v: [b, a]"),
    "an empty list": ("v: []", {"n": "[]"}, "v: [] # kpt-set: ${n}"),
    "a mapping is no setter": ("v: {x: y}", {"n": "x: y"}, "v: {x: y}"),
}


@pytest.mark.parametrize(("text", "given", "wanted"), CREATED.values(), ids=CREATED)
def test_comments_are_put(text: str, given: dict[str, str], wanted: str) -> None:
    new, results, failed = called(NAME, f"{HEAD}{text}\n", **given)

    assert new == f"{HEAD}{wanted}\n"
    assert failed == (text == wanted)
    if failed:
        problem = "failed to create setters: no matches for the input list of setters"
        assert messages(results) == [problem]


def test_annotations_for_tools_are_left_alone() -> None:
    text = (
        f"{HEAD}  annotations:\n    config.kubernetes.io/local-config: 'true'\n    other: 'true'\n"
    )

    new, _, _ = called(NAME, text, flag="true")

    assert new == text.replace("other: 'true'", "other: 'true' # kpt-set: ${flag}")


def test_json_has_no_comments() -> None:
    text = '{"apiVersion": "v1", "kind": "Thing", "v": "foo"}\n'

    new, _, failed = called(NAME, text, path="thing.json", n="foo")

    assert (new, failed) == (text, True)


WRONG: dict[str, tuple[Value, str]] = {
    "nothing": (None, "config map cannot be empty"),
    "no values": ({}, "config map cannot be empty"),
    "no mapping": ("a", "`data` must be a mapping from the names of setters to texts"),
    "a list that is none": (
        {"a": "[b"},
        'parsing error: the value of "a" is empty or no YAML',
    ),
    "an empty value": ({"a": ""}, 'parsing error: the value of "a" is empty or no YAML'),
}


@pytest.mark.parametrize(("data", "wanted"), WRONG.values(), ids=WRONG)
def test_a_wrong_configuration_is_refused(data: Value, wanted: str) -> None:
    given = items(f"{HEAD}v: a\n")
    answer = create_setters.run(ResourceList(given, {"data": data}))

    assert (list(answer.items), answer.failed) == (list(given), True)
    assert messages(answer.results) == [f"failed to create setters: {wanted}"]


def test_lists_of_mappings_in_brackets_get_comments() -> None:
    """Short-cut: open the outer brackets only, and fail at what stands in the inner ones."""
    text = f"{HEAD}ports: [{{name: http, port: 80}}]\nmore:\n- {{port: 80}} # web\n"

    new, _, failed = called(NAME, text, port="80")

    assert not failed
    assert new == (
        f"{HEAD}ports:\n- name: http\n  port: 80 # kpt-set: ${{port}}\n"
        "more:\n# web\n- port: 80 # kpt-set: ${port}\n"
    )
