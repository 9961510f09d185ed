"""list-setters: what a package's setters are, from its Kptfile and its fields."""

from dataclasses import replace

import pytest

from cadlib.stream.resourcelist import ResourceList
from fnrunner.builtin.catalog import apply_setters, list_setters
from tests.fnrunner.builtin.catalog.texts import items, messages

HEAD = "apiVersion: v1\nkind: Thing\nmetadata:\n  name: a\n"
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n"
CALL = f"{KPTFILE}pipeline:\n  mutators:\n  - image: apply-setters:v0.2\n"


def said(**files: str) -> list[str]:
    """What it says of a package; names of files without ".yaml"."""
    given = [
        each
        for name, text in files.items()
        for each in items(text, name if name == "Kptfile" else f"{name}.yaml")
    ]
    answer = list_setters.run(ResourceList(tuple(given)))

    assert (list(answer.items), answer.failed) == (given, False)
    return messages(answer.results)


def test_the_value_is_what_the_pipeline_gives() -> None:
    """Short-cut: tell what the first field shows."""
    found = said(
        things=f"{HEAD}a: one-1 # kpt-set: ${{x}}-${{y}}\nb: 2 # kpt-set: ${{y}}\n",
        Kptfile=f"{CALL}    configMap: {{x: other, z: '[a, \"b c\"]'}}\n",
    )

    assert found == [
        "Name: x, Value: other, Type: str, Count: 1",
        "Name: y, Value: 1, Type: int, Count: 2",
        'Name: z, Value: [a, "b c"], Type: array, Count: 0',
    ]


TYPES = {
    "true": ("true", "bool"),
    "1.10": ("1.10", "float"),
    "'3'": ("3", "str"),
    "0x1F": ("0x1F", "int"),
    "12345678901234567890": ("12345678901234567890", "int"),
    "123456789012345678901": ("123456789012345678901", "float"),
    "2020-01-31": ("2020-01-31", "timestamp"),
    "2020-1-31T1:02:03.5+01:00": ("2020-1-31T1:02:03.5+01:00", "timestamp"),
    "2020-01-31 01:02:03": ("2020-01-31 01:02:03", "timestamp"),
    "'2020-01-31'": ("2020-01-31", "str"),
    "2020-01-31T01:02:03": ("2020-01-31T01:02:03", "str"),
    "null": ("null", "null"),
    "[b, a]": ("[a, b]", "array"),
    "[]": ("[]", "array"),
}


@pytest.mark.parametrize(("text", "wanted"), TYPES.items(), ids=TYPES)
def test_types_are_those_of_yaml(text: str, wanted: tuple[str, str]) -> None:
    value, kind = wanted

    found = said(things=f"{HEAD}v: {text} # kpt-set: ${{v}}\n")

    assert found == [f"Name: v, Value: {value}, Type: {kind}, Count: 1"]


def test_without_any_it_says_so() -> None:
    assert said(things=HEAD, Kptfile=KPTFILE) == ["no setters found"]


FILE = "setters.yaml"
BROKEN = {
    "a file that is not there": (
        f"{CALL}    configPath: {FILE}\n",
        f'file {FILE} doesn\'t exist, please ensure the file specified in "configPath" exists and'
        " retry",
    ),
    "no values at all": (CALL, "unable to find ConfigMap or ConfigPath fnConfig for apply-setters"),
    "values that are lists": (
        f"{CALL}    configPath: resources.yaml\n",
        "`data` of resources.yaml is not a mapping from the names of setters to texts",
    ),
}


@pytest.mark.parametrize(("kptfile", "wanted"), BROKEN.values(), ids=BROKEN)
def test_a_broken_call_is_told(kptfile: str, wanted: str) -> None:
    assert said(Kptfile=kptfile, resources=f"{HEAD}data: [b]\n") == ["no setters found", wanted]


def test_a_kptfile_that_is_none_is_an_error() -> None:
    """Short-cut: take what can be read, and tell values that no pipeline gives."""
    given = items(f"{CALL}    configMap: {{a: b}}\nfoo: bar\n", "Kptfile")
    answer = list_setters.run(ResourceList(given))

    assert (list(answer.items), answer.failed) == (list(given), True)
    problem = "unable to read Kptfile: field foo not found in type v1.KptFile"
    assert messages(answer.results) == [f"failed to list setters: {problem}"]
    assert answer.results[0]["field"] == {"path": "foo"}


def test_a_kptfile_that_was_changed_counts_as_it_is_now() -> None:
    item = items(f"{CALL}    configMap: {{a: b}}\n", "Kptfile")[0]
    value = items(f"{CALL}    configMap: {{a: c}}\n", "Kptfile")[0].value
    answer = list_setters.run(ResourceList((replace(item, value=value),)))

    assert messages(answer.results) == ["Name: a, Value: c, Type: str, Count: 0"]


def test_a_file_of_values_is_read() -> None:
    found = said(
        Kptfile=f"{CALL}    configPath: ./setters.yaml\n",
        setters="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata:\n  a: b\n",
    )

    assert found == ["Name: a, Value: b, Type: str, Count: 0"]


def test_what_apply_setters_put_has_a_type() -> None:
    """Short-cut: look the class up, where a number that keeps its digits has one of its own."""
    given = items(f"{HEAD}v: 0600 # kpt-set: ${{v}}\n")

    put = apply_setters.run(ResourceList(given, {"data": {"v": "0644"}})).items
    answer = list_setters.run(ResourceList(tuple(put)))

    assert messages(answer.results) == ["Name: v, Value: 0644, Type: int, Count: 1"]
