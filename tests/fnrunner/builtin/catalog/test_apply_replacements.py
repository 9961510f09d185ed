"""apply-replacements: what is the source, what are the targets, and what is put there.

Longer than 400 lines: a table of replacements and mistakes.
"""

import pytest

from cadlib.stream.resourcelist import ResourceList
from cadlib.yaml import edit, read
from fnrunner.builtin.catalog import apply_replacements
from tests.fnrunner.builtin.catalog.texts import items
from tests.fnrunner.calls import Answer, call, values

TEXT = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
data: {host: example.com, port: "8080", image: "nginx:1.7"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}, annotations: {a.b/c: old}}
spec:
  replicas: 2
  paused: false
  template:
    spec:
      containers:
      - {name: web, image: "nginx:1.0", ports: [{containerPort: 80}]}
      - {name: log, image: "fluent:2.0"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, labels: {app: api}}
spec: {replicas: 3, template: {spec: {containers: [{name: web, image: "api:1"}]}}}
"""


def config(replacements: str) -> str:
    head = "apiVersion: fn.kpt.dev/v1alpha1\nkind: ApplyReplacements\nmetadata: {name: r}\n"
    return f"{head}replacements:\n{replacements}"


def run(replacements: str, text: str = TEXT) -> Answer:
    return call(apply_replacements.run, text, config(replacements))


def replaced(source: str, target: str) -> list[object]:
    """The three resources after one replacement."""
    answer = run(f"- source: {source}\n  targets:\n  - {target}\n")
    assert not answer.failed, answer.messages
    assert answer.results == ()
    return list(answer.values)


def after(**changes: str) -> list[object]:
    """The three resources, with parts of their text changed; names the text after `was_`."""
    text = TEXT
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return list(values(text))


IMAGE = "{kind: ConfigMap, name: settings, fieldPath: data.image}"
HOST = "{kind: ConfigMap, fieldPath: data.host}"

DONE = {
    "only in what is selected": (
        IMAGE,
        "{select: {kind: Deployment, name: web},"
        " fieldPaths: ['spec.template.spec.containers.[name=web].image']}",
        {"nginx:1.0": "nginx:1.7"},
    ),
    "a name that must fit whole": (
        HOST,
        "{select: {name: a.i|we}, fieldPaths: [spec.template.spec.containers.0.image]}",
        {"api:1": "example.com"},
    ),
    "not what is rejected by name": (
        IMAGE,
        "{select: {kind: Deploy.*}, reject: [{name: api}],"
        " fieldPaths: [spec.template.spec.containers.0.image]}",
        {"nginx:1.0": "nginx:1.7"},
    ),
    "not what is rejected by label": (
        IMAGE,
        "{select: {kind: Deployment}, reject: [{labelSelector: 'app in (api, db)'}],"
        " fieldPaths: [spec.template.spec.containers.0.image]}",
        {"nginx:1.0": "nginx:1.7"},
    ),
    "what an annotation selects": (
        HOST,
        "{select: {annotationSelector: a.b/c=old}, fieldPaths: ['metadata.annotations.[a.b/c]']}",
        {"a.b/c: old": "a.b/c: example.com"},
    ),
    "by group and version": (
        HOST,
        "{select: {group: '', version: v1, kind: ConfigMap}, fieldPaths: [data.port]}",
        {'"8080"': "example.com"},
    ),
    "part of a text": (
        "{kind: ConfigMap, fieldPath: data.image, options: {delimiter: ':', index: 1}}",
        "{select: {kind: Deployment}, options: {delimiter: ':', index: 1},"
        " fieldPaths: [spec.template.spec.containers.0.image]}",
        {"nginx:1.0": "nginx:1.7", "api:1": "api:1.7"},
    ),
    "before a text": (
        HOST,
        "{select: {name: api}, options: {delimiter: /, index: -1},"
        " fieldPaths: [spec.template.spec.containers.0.image]}",
        {"api:1": "example.com/api:1"},
    ),
    "behind a text": (
        HOST,
        "{select: {name: api}, options: {delimiter: /, index: 9},"
        " fieldPaths: [spec.template.spec.containers.0.image]}",
        {"api:1": "api:1/example.com"},
    ),
    "a number stays a number": (
        "{kind: ConfigMap, fieldPath: data.port}",
        "{select: {name: web},"
        " fieldPaths: [spec.template.spec.containers.0.ports.0.containerPort]}",
        {"containerPort: 80": "containerPort: 8080"},
    ),
    "text stays text": (
        "{kind: Deployment, name: web, fieldPath: spec.replicas}",
        "{select: {kind: ConfigMap}, fieldPaths: [data.port]}",
        {'"8080"': '"2"'},
    ),
    "true as text": (
        "{kind: Deployment, name: web, fieldPath: spec.paused}",
        "{select: {kind: ConfigMap}, fieldPaths: [data.host]}",
        {"host: example.com": 'host: "false"'},
    ),
    "a number that cannot stay one": (
        HOST,
        "{select: {name: web}, fieldPaths: [spec.replicas]}",
        {"replicas: 2": "replicas: example.com"},
    ),
    "a new field has the source's type": (
        "{kind: ConfigMap, fieldPath: data.port}",
        "{select: {kind: ConfigMap}, fieldPaths: [data.again], options: {create: true}}",
        {'port: "8080"': 'port: "8080", again: "8080"'},
    ),
    "a mapping in the place of a scalar": (
        "{kind: ConfigMap, fieldPath: metadata.labels}",
        "{select: {name: web}, fieldPaths: [spec.paused]}",
        {"paused: false": "paused: {app: web}"},
    ),
    "the name where no path is given": (
        "{kind: ConfigMap}",
        "{select: {name: api}}",
        {"name: api": "name: settings"},
    ),
}


@pytest.mark.parametrize(("source", "target", "changes"), DONE.values(), ids=DONE)
def test_replaced(source: str, target: str, changes: dict[str, str]) -> None:
    """Short-cut: one source, one target, one path of plain fields, the value as it is."""
    assert replaced(source, target) == after(**changes)


def test_a_replacement_sees_what_the_one_before_did() -> None:
    answer = run(
        f"- source: {HOST}\n  targets: [{{select: {{name: web}}, fieldPaths: [spec.a],"
        " options: {create: true}}]\n"
        "- source: {name: web, fieldPath: spec.a}\n  targets: [{select: {name: api},"
        " fieldPaths: [spec.b], options: {create: true}}]\n"
    )
    assert answer.values[2] == {**values(TEXT)[2], "spec": {**spec(2), "b": "example.com"}}  # type: ignore[dict-item] # a mapping


def spec(position: int) -> dict[str, object]:
    value = values(TEXT)[position]
    assert isinstance(value, dict)
    found = value["spec"]
    assert isinstance(found, dict)
    return dict(found)


def test_a_value_of_its_own() -> None:
    answer = run(
        "- sourceValue: redis:7\n  targets: [{select: {name: api},"
        " fieldPaths: [spec.template.spec.containers.*.image]}]\n"
    )
    assert list(answer.values) == after(**{"api:1": "redis:7"})


def test_what_does_not_change_is_the_same_object() -> None:
    answer = run(
        f"- source: {HOST}\n  targets: [{{select: {{kind: ConfigMap}}, fieldPaths: [data.host]}}]\n"
    )
    assert list(answer.values) == list(values(TEXT))


TARGETS = "targets: [{select: {kind: ConfigMap}, fieldPaths: [data.host]}]"

FAILS = {
    "several sources": (
        f"- {{source: {{kind: Deployment, fieldPath: spec.replicas}}, {TARGETS}}}",
        "multiple matches for selector Deployment.[noVer].[noGrp]/[noName].[noNs]:spec.replicas",
    ),
    "no source": (
        "- {source: {group: g, version: v9, kind: Pod, name: a.*, namespace: n, fieldPath: a,"
        f" options: {{delimiter: '-', index: 2}}}}, {TARGETS}}}",
        "nothing selected by Pod.v9.g/a.*.n:a:-(2), create=false",
    ),
    "a source without the field": (
        f"- {{source: {{kind: ConfigMap, fieldPath: data.none}}, {TARGETS}}}",
        "fieldPath `data.none` is missing for replacement source"
        " ConfigMap.[noVer].[noGrp]/[noName].[noNs]",
    ),
    "a source path through a list": (
        f"- {{source: {{name: api, fieldPath: spec.template.spec.containers.name}}, {TARGETS}}}",
        "error looking up replacement source: wrong node kind: expected MappingNode but was"
        " SequenceNode: node contents:\n- name: web\n  image: api:1\n",
    ),
    "a part that is not there": (
        "- {source: {kind: ConfigMap, fieldPath: data.image, options: {delimiter: ':', index: 2}},"
        f" {TARGETS}}}",
        "options.index 2 is out of bounds for value nginx:1.7",
    ),
    "a part of a mapping": (
        "- {source: {kind: ConfigMap, fieldPath: data, options: {delimiter: ':'}}, "
        + TARGETS
        + "}",
        "delimiter option can only be used with scalar nodes",
    ),
    "a part in a mapping": (
        f"- {{source: {HOST}, targets: [{{select: {{kind: ConfigMap}}, fieldPaths: [data],"
        " options: {delimiter: ':'}}]}",
        "delimiter option can only be used with scalar nodes",
    ),
    "a target without the field": (
        f"- {{source: {HOST}, targets: [{{select: {{kind: Deployment}}, fieldPaths: [spec.x]}}]}}",
        'unable to find field "spec.x" in replacement target',
    ),
    "an element too far": (
        f"- {{source: {HOST}, targets: [{{select: {{name: api}}, fieldPaths: [spec.tls.5.a],"
        " options: {create: true}}]}",
        'unable to find or create field "spec.tls.5.a" in replacement target:'
        " index 5 specified but only 0 elements found",
    ),
    "neither source nor value": (
        f"- {{{TARGETS}}}",
        "replacements must specify a source and at least one target",
    ),
    "both": (
        f"- {{source: {HOST}, sourceValue: a, {TARGETS}}}",
        "value and resource selectors are mutually exclusive",
    ),
    "no target": (
        f"- {{source: {HOST}}}",
        "replacements must specify a source and at least one target",
    ),
    "a target that selects nothing at all": (
        f"- {{source: {HOST}, targets: [{{fieldPaths: [a]}}]}}",
        "target must specify resources to select",
    ),
    "a selector that is no expression": (
        f"- {{source: {HOST}, targets: [{{select: {{name: '('}}, fieldPaths: [a]}}]}}",
        "`^(?:()$` is not a valid regular expression: missing ): ^(?:()$",
    ),
    "a selector that is none": (
        f"- {{source: {HOST}, targets: [{{select: {{labelSelector: '='}}, fieldPaths: [a]}}]}}",
        "`=` is no label selector: it cannot be read from `=` on",
    ),
    "a misshapen configuration": (
        f"- {{source: {HOST}, targets: [{{select: {{name: 7}}}}]}}",
        "unable to convert functionConfig to replacements:\n"
        "replacements[0].targets[0].select.name must be a text; put it in quotes",
    ),
    "a list that is none": (
        f"- {{source: {HOST}, targets: {{}}}}",
        "unable to convert functionConfig to replacements:\nreplacements[0].targets must be a list",
    ),
    "an index that is none": (
        f"- {{source: {{kind: ConfigMap, options: {{index: x}}}}, {TARGETS}}}",
        "unable to convert functionConfig to replacements:\n"
        "replacements[0].source.options.index must be a whole number",
    ),
}


@pytest.mark.parametrize(("replacements", "message"), FAILS.values(), ids=FAILS)
def test_failed(replacements: str, message: str) -> None:
    answer = run(replacements)
    assert answer.messages == [f"error: {message}"]
    assert answer.failed
    assert answer.log == "failed to evaluate function: error: function failure"
    assert list(answer.values) == list(values(TEXT))


NO_CONFIG = {
    "none": (None, "FunctionConfig is missing. Expect `ApplyReplacements`"),
    "another": (
        "apiVersion: v1\nkind: ConfigMap",
        "received functionConfig of kind ConfigMap and apiVersion v1, only functionConfig of kind"
        " ApplyReplacements and apiVersion fn.kpt.dev/v1alpha1 is supported",
    ),
}


@pytest.mark.parametrize(("given", "message"), NO_CONFIG.values(), ids=NO_CONFIG)
def test_configuration(given: str | None, message: str) -> None:
    answer = call(apply_replacements.run, TEXT, given)
    assert answer.messages == [f"error: {message}"]


def test_a_number_takes_the_place_of_true() -> None:
    """Short-cut: compare with `==`, for which 1 is true."""
    text = "{apiVersion: v1, kind: A, metadata: {name: a}, spec: {on: true, off: 1}}"
    answer = run(
        "- {source: {kind: A, fieldPath: spec.off},"
        " targets: [{select: {kind: A}, fieldPaths: [spec.on]}]}",
        text,
    )
    assert repr(answer.values[0]) == repr(values(text.replace("true", "1"))[0])


NAMESPACES = """
{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: b}}
---
{apiVersion: v1, kind: Service, metadata: {name: t}}
"""


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_source_without_a_namespace_is_in_default(name: str) -> None:
    """Short-cut: compare `metadata.namespace` as it is written, or ask whether it can have one."""
    target = "targets: [{select: {name: t}}]"
    found = run(f"- {{source: {{name: {name}, namespace: default}}, {target}}}", NAMESPACES)
    assert found.messages == []
    assert found.values[2] == values(NAMESPACES.replace("name: t", f"name: {name}"))[2]


DIGITS = """\
kind: A
metadata: {name: a}
spec:
  version: 1.10
  mode: 0644
  text: "1.20"
---
kind: B
metadata: {name: b}
spec:
  text: old
  number: 5
  version: 2.30
"""
NUMBERS = {
    "as text": ("version", "text", "", "", "text: old", 'text: "1.10"'),
    "as a number": ("version", "number", "", "", "number: 5", "number: 1.10"),
    "as a new field": ("version", "new", "", "", "30\n", "30\n  new: 1.10\n"),
    "octal as text": ("mode", "text", "", "", "text: old", 'text: "0644"'),
    "octal as a number": ("mode", "number", "", "", "number: 5", "number: 0644"),
    "text as a number": ("text", "number", "", "", "number: 5", "number: 1.20"),
    "a part of it": ("version", "text", "delimiter: ., index: 1", "", "text: old", 'text: "10"'),
    "in a part of one": (
        "version",
        "version",
        "delimiter: ., index: 0",
        "delimiter: ., index: 0",
        "version: 2.30",
        "version: 1.30",
    ),
}


@pytest.mark.parametrize(
    ("source", "target", "taken", "put", "old", "new"), NUMBERS.values(), ids=NUMBERS
)
def test_a_number_keeps_its_digits(
    source: str, target: str, taken: str, put: str, old: str, new: str
) -> None:
    """Short-cut: put the number that was read, so that version 1.10 becomes 1.1."""
    given = items(DIGITS)
    changes = config(
        f"- source: {{kind: A, fieldPath: spec.{source}, options: {{{taken}}}}}\n"
        f"  targets: [{{select: {{kind: B}}, fieldPaths: [spec.{target}],"
        f" options: {{{', '.join(filter(None, ('create: true', put)))}}}}}]"
    )
    answer = apply_replacements.run(ResourceList(given, values(changes)[0]))
    assert answer.results == ()
    stream = read(DIGITS.encode())
    assert edit(stream, {1: answer.items[1].value}).decode() == DIGITS.replace(old, new)
    assert answer.items[0] is given[0]


def test_an_element_is_known_by_the_digits_of_its_file() -> None:
    """Short-cut: look for what the number would be written as."""
    text = DIGITS.replace("number: 5", "list: [{v: 1.10, x: old}]")
    changes = config(
        "- {source: {kind: A, fieldPath: 'spec.version'},"
        " targets: [{select: {kind: B}, fieldPaths: ['spec.list.[v=^1.10$].x']}]}"
    )
    answer = apply_replacements.run(ResourceList(items(text), values(changes)[0]))
    assert answer.results == ()
    assert answer.items[1].value == values(text.replace("x: old", "x: '1.10'"))[1]


DOUBLED = {
    "a text": (
        "- {source: {kind: ConfigMap, fieldPath: data.host}, targets: [{select: {kind: ConfigMap},"
        " fieldPaths: [data.host], options: {delimiter: '/', index: 99}}]}\n"
    ),
    "a mapping": (
        "- {source: {kind: ConfigMap, fieldPath: data}, targets: [{select: {kind: ConfigMap},"
        " fieldPaths: [data.more], options: {create: true}},"
        " {select: {kind: ConfigMap}, fieldPaths: [data.again], options: {create: true}}]}\n"
    ),
}


@pytest.mark.parametrize("replacement", DOUBLED.values(), ids=DOUBLED)
def test_a_field_does_not_double_without_end(
    replacement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut: do what the list says, however long it gets."""
    monkeypatch.setattr(apply_replacements, "_MOST", 500_000)
    answer = run(replacement * 64)
    assert answer.messages == ["error: the replacements put more than 500000 characters"]
    assert list(answer.values) == list(values(TEXT))
