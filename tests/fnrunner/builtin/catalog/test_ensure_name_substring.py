"""ensure-name-substring: which names change, and how; references are tested with their table."""

import pytest

from cadlib.yaml import Value
from fnrunner.builtin import resource
from fnrunner.builtin.catalog import ensure_name_substring
from fnrunner.builtin.name_references import DEPENDS_ON
from tests.fnrunner.calls import Answer, call, config_map, values

run = ensure_name_substring.run


def names(answer: Answer) -> list[str]:
    assert not answer.failed, answer.messages
    return [resource.name(value) for value in answer.values]


def of(version: str, kind: str, name: str) -> str:
    return f"{{apiVersion: {version}, kind: {kind}, metadata: {{name: {name}}}}}"


NAMES = {
    "a plain one": ("v1", "Service", "a", "prod-a"),
    "one that has it": ("v1", "Service", "prod-a", "prod-a"),
    "one that has it in the middle": ("v1", "Service", "x-prod-a", "x-prod-a"),
    "a Namespace": ("v1", "Namespace", "a", "a"),
    "a definition": ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "a.b", "a.b"),
    "an API service": ("apiregistration.k8s.io/v1", "APIService", "a", "a"),
    "one of the same kind elsewhere": ("example.com/v1", "APIService", "a", "prod-a"),
    "a Kptfile": ("kpt.dev/v1", "Kptfile", "a", "a"),
    "the package's context": ("v1", "ConfigMap", "kptfile.kpt.dev", "kptfile.kpt.dev"),
    "another kind": ("example.com/v1", "Anything", "a", "prod-a"),
}


@pytest.mark.parametrize(("version", "kind", "before", "after"), NAMES.values(), ids=NAMES)
def test_name(version: str, kind: str, before: str, after: str) -> None:
    """Short-cut: put it before every name."""
    answer = call(run, of(version, kind, before), config_map(prepend="prod-"))
    assert names(answer) == [after]
    assert answer.results == ()


def test_append() -> None:
    text = f"{of('v1', 'Service', 'a')}\n---\n{of('v1', 'Service', 'b-prod')}"
    assert names(call(run, text, config_map(append="-prod"))) == ["a-prod", "b-prod"]


def test_local_configuration_is_renamed_too_and_references_follow() -> None:
    text = """
apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {config.kubernetes.io/local-config: "true"}}
spec: {volumes: [{name: a, configMap: {name: settings}}, {name: b, configMap: {name: other}}]}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}
"""
    answer = call(run, text, config_map(prepend="prod-"))
    assert names(answer) == ["prod-web", "prod-settings"]
    assert resource.field(answer.values[0], "spec", "volumes") == [
        {"name": "a", "configMap": {"name": "prod-settings"}},
        {"name": "b", "configMap": {"name": "other"}},
    ]


def test_depends_on_changes_where_the_name_did() -> None:
    """Short-cut (the catalog's own): edit it where the name is one of the package's."""
    refers = "v1/Namespace/n,/namespaces/n/Service/prod-s,/namespaces/n/Service/t"
    text = f"""
apiVersion: v1
kind: Pod
metadata: {{name: prod-p, annotations: {{{DEPENDS_ON}: "{refers}"}}}}
---
{of("v1", "Namespace", "n")}
---
{of("v1", "Service", "prod-s")}
---
{of("v1", "Service", "t")}
"""
    answer = call(run, text, config_map(prepend="prod-"))
    assert resource.annotation(answer.values[0], DEPENDS_ON) == refers[:-1] + "prod-t"


OWN = """
apiVersion: fn.kpt.dev/v1alpha1
kind: EnsureNameSubstring
metadata: {name: config}
substring: prod-
editMode: append
additionalNameFields:
- {path: spec/name, kind: Mine, group: example.com, version: v1}
- {path: spec/made, kind: Mine, create: true}
- {path: spec/list/name}
"""
MINE = """
apiVersion: example.com/v1
kind: Mine
metadata: {name: a}
spec: {name: b, list: [{name: c}, {name: prod-d}, {name: 7}]}
"""


@pytest.mark.parametrize("key", ["additionalNameFields", "fieldSpecs"])
def test_additional_fields(key: str) -> None:
    answer = call(run, MINE, OWN.replace("additionalNameFields", key))
    assert names(answer) == ["aprod-"]
    assert resource.field(answer.values[0], "spec") == {
        "name": "bprod-",
        "list": [{"name": "cprod-"}, {"name": "prod-d"}, {"name": 7}],
        "made": "prod-",
    }


def test_additional_fields_of_others_stay() -> None:
    text = MINE.replace("example.com", "example.org").replace("list", "others")
    answer = call(run, text, OWN.replace("- {path: spec/made", "- {path: made, group: none"))
    assert resource.field(answer.values[0], "spec") == resource.field(values(text)[0], "spec")


def test_a_misshapen_field_is_an_error_and_nothing_changes() -> None:
    text = MINE.replace("name: b", "list2: 1").replace("spec: {", "spec: {name: {x: text}, ")
    config = OWN.replace("path: spec/name,", "path: spec/name/x/y,")
    answer = call(run, text, config)
    assert answer.failed
    assert answer.log == (
        "failed to transform name substring: spec.name.x must be a mapping or a list"
    )
    assert answer.values == tuple(values(text))


KINDS = (
    "function config must be either /v1, Kind=ConfigMap or"
    " fn.kpt.dev/v1alpha1, Kind=EnsureNameSubstring, but we got: "
)
CONFIGS: dict[str, tuple[str | None, str]] = {
    "two entries": (
        config_map(prepend="a", append="b"),
        "only 1 entry is allowed in the ConfigMap, but got: 2",
    ),
    "none": (config_map(), "only 1 entry is allowed in the ConfigMap, but got: 0"),
    "another entry": (
        config_map(prefix="a"),
        "unknown editMode: prefix, only prepend and append are allowed",
    ),
    "another mode": (
        OWN.replace("editMode: append", "editMode: both"),
        "unknown editMode: both, only prepend and append are allowed",
    ),
    "no text": (OWN.replace("substring: prod-", ""), "substring must not be empty"),
    "an empty text": (config_map(prepend=""), "substring must not be empty"),
    "a number": (
        OWN.replace("substring: prod-", "substring: 1"),
        "`substring` must be a text; put it in quotes",
    ),
    "both names of the list": (
        f"{OWN}fieldSpecs: [{{path: a}}]",
        "`fieldSpecs` has been deprecated, please rename it to `additionalNameFields`",
    ),
    "no list": (
        OWN[: OWN.index("additional")] + "fieldSpecs: {path: a}",
        "`fieldSpecs` must be a list",
    ),
    "no path": (
        OWN.replace("{path: spec/list/name}", "{kind: A}"),
        "additionalNameFields[2] must have a `path`",
    ),
    "another kind": ("{apiVersion: g/v2, kind: K}", f"{KINDS}g/v2, Kind=K"),
    "no configuration": (None, f"{KINDS}/, Kind="),
}


@pytest.mark.parametrize(("config", "message"), CONFIGS.values(), ids=CONFIGS)
def test_configuration(config: str | None, message: str) -> None:
    """Short-cut: tell the problem as a result, which the catalog's function does not give."""
    answer = call(run, MINE, config)
    assert answer.failed
    assert answer.log == f"failed to load the `functionConfig`: {message}"
    assert answer.results == ()
    assert answer.values == tuple(values(MINE))


def test_a_resource_without_a_name_stays() -> None:
    value: Value = values("{apiVersion: v1, kind: Service, metadata: {}}")[0]
    answer = call(run, "{apiVersion: v1, kind: Service, metadata: {}}", config_map(prepend="a"))
    assert answer.values == (value,)
