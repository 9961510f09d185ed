"""apply-setters: which fields are set, to what, and what it says."""

import pytest

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import FieldPath, Value
from fnrunner.builtin import lookup
from fnrunner.builtin.catalog import apply_setters
from fnrunner.builtin.memory import ItemCache
from fnrunner.builtin.work import evaluate
from tests.fnrunner.builtin.catalog.texts import called, items, messages

NAME = "apply-setters"
HEAD = "apiVersion: v1\nkind: Thing\nmetadata:\n  name: a\n"


def test_what_is_not_given_keeps_its_value() -> None:
    """Short-cut: put only what is given, so that `${tag}` ends up in the image."""
    text = f"{HEAD}image: nginx:1.7.9 # kpt-set: ${{image}}:${{tag}}\n"

    new, results, _ = called(NAME, text, image="ubuntu")

    assert new == text.replace("nginx", "ubuntu")
    assert list(results) == [
        {
            "message": 'set field value to "ubuntu:1.7.9"',
            "severity": "info",
            "resourceRef": {"apiVersion": "v1", "kind": "Thing", "name": "a"},
            "field": {
                "path": "image",
                "currentValue": "nginx:1.7.9",
                "proposedValue": "ubuntu:1.7.9",
            },
            "file": {"path": "resources.yaml"},
        }
    ]


# What stands there, the values given, and what stands there then.
SET: dict[str, tuple[str, dict[str, str], str]] = {
    "a number without quotes stays a number": (
        "replicas: 3 # kpt-set: ${n}",
        {"n": "4"},
        "replicas: 4 # kpt-set: ${n}",
    ),
    "a word may become a number": (
        "replicas: many # kpt-set: ${n}",
        {"n": "4"},
        "replicas: 4 # kpt-set: ${n}",
    ),
    "text in quotes stays text": (
        'version: "one" # kpt-set: ${v}',
        {"v": "2"},
        'version: "2" # kpt-set: ${v}',
    ),
    "single quotes stay": ("on: 'true' # kpt-set: ${v}", {"v": "no"}, "on: 'no' # kpt-set: ${v}"),
    "nothing is an empty text": ("v: a # kpt-set: ${v}", {"v": ""}, 'v: "" # kpt-set: ${v}'),
    "a part may become nothing": (
        "v: nginx:1 # kpt-set: ${a}:${b}",
        {"a": ""},
        'v: ":1" # kpt-set: ${a}:${b}',
    ),
    "digits of what is kept stay": (
        "v: a-1.10 # kpt-set: ${a}-${b}",
        {"a": "b"},
        "v: b-1.10 # kpt-set: ${a}-${b}",
    ),
    "the digits of a number are those written": (
        "v: 1.10 # kpt-set: ${a}.${b}",
        {"a": "2"},
        "v: 2.10 # kpt-set: ${a}.${b}",
    ),
    "so are those that are given": (
        "v: 1.9 # kpt-set: ${a}",
        {"a": "1.10"},
        "v: 1.10 # kpt-set: ${a}",
    ),
    "and those of whole numbers": (
        "v: 8 # kpt-set: ${a}",
        {"a": "0644"},
        "v: 0644 # kpt-set: ${a}",
    ),
    "a value with a name in it is text": (
        "v: x y # kpt-set: ${a} ${b}",
        {"a": "${b}", "b": "${a}"},
        "v: ${b} ${a} # kpt-set: ${a} ${b}",
    ),
    "a list gets new lines": (
        "v: # kpt-set: ${v}\n- a # first\n- b",
        {"v": "[c, 2]"},
        "v: # kpt-set: ${v}\n- c\n- 2",
    ),
    "a list in brackets": (
        "v: [a] # kpt-set: ${v}",
        {"v": "- b\n- c\n"},
        "v: [b, c] # kpt-set: ${v}",
    ),
    "a list is emptied": ("v: # kpt-set: ${v}\n- a", {"v": ""}, "v: [] # kpt-set: ${v}"),
    "an empty list is filled": ("v: [] # kpt-set: ${v}", {"v": "[b]"}, "v: # kpt-set: ${v}\n- b"),
    "an element of a list": ("v:\n- a # kpt-set: ${v}", {"v": "b"}, "v:\n- b # kpt-set: ${v}"),
    "a key without a value": ("v: # kpt-set: ${v}", {"v": "b"}, "v: b # kpt-set: ${v}"),
    "another comment is none": ("v: a # set: ${v}", {"v": "b"}, "v: a # set: ${v}"),
    "without a blank it is none": ("v: a #kpt-set: ${v}", {"v": "b"}, "v: a #kpt-set: ${v}"),
    "another setter": ("v: a # kpt-set: ${w}", {"v": "b"}, "v: a # kpt-set: ${w}"),
    "a mapping has no setter": (
        "v: # kpt-set: ${v}\n  a: b",
        {"v": "b"},
        "v: # kpt-set: ${v}\n  a: b",
    ),
}


@pytest.mark.parametrize(("text", "given", "wanted"), SET.values(), ids=SET)
def test_fields_are_set(text: str, given: dict[str, str], wanted: str) -> None:
    new, results, failed = called(NAME, f"{HEAD}{text}\n", **given)

    assert not failed
    assert new == f"{HEAD}{wanted}\n"
    assert bool(text == wanted) == (messages(results) == ["no matches for input setter(s)"])


WRONG: dict[str, tuple[str, dict[str, str], str]] = {
    "what cannot be derived must be given": (
        "v: nothing # kpt-set: ${a}:${b}-${c}",
        {"a": "x"},
        "values for setters [${b} ${c}] must be provided",
    ),
    "two names side by side derive nothing": (
        "v: nginx:1 # kpt-set: ${a}${b}",
        {"a": "x"},
        "values for setters [${b}] must be provided",
    ),
    "a list has one setter": (
        "v: # kpt-set: ${a}:${b}\n- x",
        {"a": "[y]"},
        'invalid setter pattern for array node: "${a}:${b}"',
    ),
    "a list is set to a list": (
        "v: # kpt-set: ${a}\n- x",
        {"a": "y"},
        'input to array setter must be an array of values, but found "y"',
    ),
    "a list is set to YAML": (
        "v: # kpt-set: ${a}\n- x",
        {"a": "[y\n"},
        'input to array setter must be an array of values, but found "[y\\n"',
    ),
}


@pytest.mark.parametrize(("text", "given", "wanted"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_set_is_told_with_its_field(
    text: str, given: dict[str, str], wanted: str
) -> None:
    good = f"{HEAD}good: x # kpt-set: ${{a}}\n---\n"

    new, results, failed = called(NAME, f"{good}{HEAD}{text}\n", **given)

    assert (new, failed) == (f"{good}{HEAD}{text}\n", True)
    assert messages(results) == [f"failed to apply setters: {wanted}"]
    assert results[0]["field"] == {"path": "v"}
    assert results[0]["file"] == {"path": "resources.yaml", "index": 1}


def test_fields_are_told_in_the_order_of_the_catalog() -> None:
    """Lists of a mapping come before what stands in it."""
    text = f"{HEAD}spec:\n  b: 1 # kpt-set: ${{x}}\n  a: # kpt-set: ${{y}}\n  - 1\n"

    _, results, _ = called(NAME, text, x="2", y="[3]")

    fields = [each["field"] for each in results]
    assert [field["path"] for field in fields if isinstance(field, dict)] == ["spec.a", "spec.b"]


def test_secrets_are_not_told() -> None:
    text = f"{HEAD}password: old # kpt-set: ${{p}}\n"

    new, results, _ = called(NAME, text, p="new")

    assert "password: new" in new
    assert "new" not in str(results)
    assert "old" not in str(results)
    assert messages(results) == ['set field value to "<redacted>"']


@pytest.mark.parametrize("config", [None, {}, {"data": None}, {"data": {}}])
def test_without_values_nothing_is_set(config: Value) -> None:
    given = items(f"{HEAD}v: a # kpt-set: ${{v}}\n")
    answer = apply_setters.run(ResourceList(given, config))

    assert (list(answer.items), answer.failed) == (list(given), False)
    assert messages(answer.results) == ["no matches for input setter(s)"]


@pytest.mark.parametrize("data", ["text", [1], {"v": ["a"]}, {"v": {"a": "b"}}])
def test_values_that_are_no_text_are_refused(data: Value) -> None:
    """Short-cut: take them for empty, and empty every field that names them."""
    given = items(f"{HEAD}v: a # kpt-set: ${{v}}\n")
    answer = apply_setters.run(ResourceList(given, {"data": data}))

    assert (list(answer.items), answer.failed) == (list(given), True)
    assert "write lists as text" in messages(answer.results)[0]


def test_numbers_and_nothing_are_texts_too() -> None:
    given = items(f"{HEAD}v: a # kpt-set: ${{v}}-${{w}}-${{x}}\n")
    answer = apply_setters.run(ResourceList(given, {"data": {"v": 1, "w": None, "x": True}}))

    assert [item.value for item in answer.items] == [
        {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}, "v": "1--true"}
    ]


def test_without_the_text_what_needs_quotes_is_text() -> None:
    """Over the wire only values come: "80" must have stood in quotes, `one` need not have."""
    value: Value = {"kind": "Thing", "needs": "80", "may": "one"}
    comments: dict[FieldPath, str] = {("needs",): "# kpt-set: ${v}", ("may",): "# kpt-set: ${v}"}
    answer = apply_setters.run(ResourceList((Item(value, comments),), {"data": {"v": "90"}}))

    assert answer.items[0].value == {"kind": "Thing", "needs": "90", "may": 90}


def test_what_stood_in_a_list_that_was_set_is_not_set() -> None:
    """Short-cut: go on to the old elements, over the new ones or past their end."""
    text = f"{HEAD}v: # kpt-set: ${{v}}\n  - a # kpt-set: ${{w}}\n  - b: c # kpt-set: ${{w}}\n"

    many, results, _ = called(NAME, text, v="[d, e]", w="x")
    none, _, _ = called(NAME, text, v="[]", w="x")

    assert many == f"{HEAD}v: # kpt-set: ${{v}}\n  - d\n  - e\n"
    assert none == f"{HEAD}v: [] # kpt-set: ${{v}}\n"
    assert messages(results) == ['set field value to "[d, e]"']


def test_numbers_in_lists_keep_their_digits() -> None:
    """Short-cut: put the values, so that 1.10 becomes 1.1."""
    text = f"{HEAD}v: # kpt-set: ${{v}}\n  - a\n"

    new, _, _ = called(NAME, text, v="[1.10, 0644, 3]")

    assert new == f"{HEAD}v: # kpt-set: ${{v}}\n  - 1.10\n  - 0644\n  - 3\n"


@pytest.mark.parametrize(
    "config",
    [
        b"functionConfig:\n  data:\n    v: 1.20\nresults: []\n",
        b"functionConfig: {data: {v: 1.20}}\n",
        b"functionConfig:\n  data:\n    v: 1.20\n    w: *n\n",
    ],
)
def test_a_number_in_the_configuration_is_its_text(config: bytes) -> None:
    """Short-cut: put the value, so that version 1.20 becomes 1.2."""
    text = f"{HEAD}n: &n one\nv: a # kpt-set: ${{v}}\n".replace("\n", "\n  ").rstrip(" ")
    head = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {text}"

    outcome = evaluate(NAME, lookup.get(NAME), head.encode() + config, ItemCache())

    assert outcome.resources is not None
    assert "v: 1.20 #" in outcome.resources.decode()
