"""set-project-id: where the setter and the annotation go, and where they do not."""

import pytest

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import resource
from fnrunner.builtin.catalog import set_project_id
from tests.fnrunner.calls import values

CONFIG: Value = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"project-id": "mine"}}
KPTFILE = "{apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: a}, pipeline: {mutators: [%s]}}"
SETTERS = "image: example.com/apply-setters:v0.2"


def item(text: str, path: str = "x.yaml") -> Item:
    return Item(values(text)[0], path=path, index=0)


def kptfile(functions: str, path: str = "Kptfile") -> Item:
    return item(KPTFILE % functions, path)


def ran(*items: Item, config: Value = CONFIG) -> list[Value]:
    found = set_project_id.run(ResourceList(items, config))
    assert not found.failed, found.results
    assert found.results == ()
    return [each.value for each in found.items]


def mutators(value: Value) -> Value:
    return resource.field(value, "pipeline", "mutators")


PIPELINES = {
    "in a configMap": (f"{{{SETTERS}, configMap: {{a: b}}}}", {"a": "b", "project-id": "mine"}),
    "an empty one": (
        f"{{image: first}}, {{{SETTERS}, configMap: {{project-id: ''}}}}",
        {"project-id": "mine"},
    ),
    "one that is set": (
        f"{{{SETTERS}, configMap: {{project-id: theirs}}}}",
        {"project-id": "theirs"},
    ),
    "none yet": ("{image: first}", {"project-id": "mine"}),
    "no functions": ("", {"project-id": "mine"}),
}


@pytest.mark.parametrize(("functions", "setters"), PIPELINES.values(), ids=PIPELINES)
def test_setter(functions: str, setters: Value) -> None:
    """Short-cut: set it where `apply-setters` is, whatever is there."""
    found = mutators(ran(kptfile(functions))[0])
    assert isinstance(found, list)
    assert resource.field(found[-1], "configMap") == setters


def test_a_kptfile_without_a_pipeline_gets_one() -> None:
    text = "{apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: a}}"
    assert mutators(ran(item(text, "Kptfile"))[0]) == [
        {"image": "gcr.io/kpt-fn/apply-setters:v0.2", "configMap": {"project-id": "mine"}}
    ]


def test_each_package_has_its_own_file_of_setters() -> None:
    """Short-cut: look for the file below the root."""
    function = f"{{{SETTERS}, configPath: setters.yaml}}"
    text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: s}, data: {a: b}}"
    found = ran(
        kptfile(function),
        kptfile(function, "sub/Kptfile"),
        item(text, "setters.yaml"),
        item("{apiVersion: v1, kind: ConfigMap, metadata: {name: t}}", "sub/setters.yaml"),
        item(text, "other/setters.yaml"),
    )
    assert [resource.field(value, "data") for value in found[2:]] == [
        {"a": "b", "project-id": "mine"},
        {"project-id": "mine"},
        {"a": "b"},
    ]


ANNOTATED = {
    "one of Config Connector": ("storage.cnrm.cloud.google.com/v1beta1", "{}", "mine"),
    "one that has a project": (
        "storage.cnrm.cloud.google.com/v1beta1",
        "{cnrm.cloud.google.com/project-id: theirs}",
        "theirs",
    ),
    "one that has an empty one": (
        "storage.cnrm.cloud.google.com/v1beta1",
        "{cnrm.cloud.google.com/project-id: ''}",
        "mine",
    ),
    "one of its system": ("core.cnrm.cloud.google.com/v1beta1", "{}", ""),
    "another": ("example.com/v1", "{}", ""),
    "a misshapen one": ("storage.cnrm.cloud.google.com/v1beta1", "[]", ""),
}


def test_a_number_is_a_project_that_is_set() -> None:
    """Short-cut: look for a text, and put another project in the place of `12345`."""
    annotations = "{cnrm.cloud.google.com/project-id: 12345}"
    given = item(
        "{apiVersion: storage.cnrm.cloud.google.com/v1beta1, kind: K,"
        f" metadata: {{name: a, annotations: {annotations}}}}}"
    )
    assert ran(kptfile(""), given)[1] is given.value


def test_a_number_is_the_name_of_a_project() -> None:
    """Short-cut: take texts only, and refuse a name that has digits alone."""
    config: Value = {"data": {"project-id": 12345}}
    given = (kptfile(""), item("{apiVersion: storage.cnrm.cloud.google.com/v1, kind: K}"))
    found = set_project_id.run(ResourceList(given, config)).items[1].value
    assert resource.annotation(found, "cnrm.cloud.google.com/project-id") == "12345"


@pytest.mark.parametrize(("version", "annotations", "found"), ANNOTATED.values(), ids=ANNOTATED)
def test_annotation(version: str, annotations: str, found: str) -> None:
    text = f"{{apiVersion: {version}, kind: K, metadata: {{name: a, annotations: {annotations}}}}}"
    value = ran(kptfile(""), item(text))[1]
    assert resource.annotation(value, "cnrm.cloud.google.com/project-id") == found


MISSING: Value = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"project": "mine"}}
REFUSED: dict[str, tuple[Value, list[Item], str]] = {
    "no project": (
        MISSING,
        [kptfile("")],
        "missing `.data.project-id` field in `ConfigMap` FunctionConfig; it must be a text",
    ),
    "no Kptfile": (
        CONFIG,
        [],
        "failed to set project-id setter: failed to find Kptfile: unable to find Kptfile, please"
        " include --include-meta-resources flag if a Kptfile is present",
    ),
    "no file of setters": (
        CONFIG,
        [kptfile(f"{{{SETTERS}, configPath: s.yaml}}")],
        "failed to set project-id setter: error updating Kptfile: failed to find setter file: file"
        ' s.yaml doesn\'t exist, please ensure the file specified in "configPath" exists and retry',
    ),
    "no configuration of setters": (
        CONFIG,
        [kptfile(f"{{{SETTERS}}}")],
        "failed to set project-id setter: error updating Kptfile: unable to find `ConfigMap` or"
        " `configPath` as the `functionConfig` for apply-setters",
    ),
    "a misshapen one": (
        CONFIG,
        [kptfile(f"{{{SETTERS}, configMap: text}}")],
        "failed to set project-id setter: pipeline.mutators.0.configMap must be a mapping",
    ),
}


@pytest.mark.parametrize(("config", "items", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(config: Value, items: list[Item], message: str) -> None:
    found = set_project_id.run(ResourceList(tuple(items), config))
    assert found.failed
    assert found.results == ({"message": message, "severity": "error"},)
    assert list(found.items) == items
