"""Fields as functions spell them, and the lines where their values stand."""

import pytest

from cadlib.render.locate import Located, carried, locate
from cadlib.yaml import FieldPath, Value, field_text, read
from tests.counting import lines

DEPLOYMENT = b"""\
# a service
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations:
    plain: one
    a.b/c: two
    config.kubernetes.io/x: three
    app: four
    config.kubernetes.io: part
    a[0].b: five
  labels: {team.io/name: six, "80": seven}
spec:
  template:
    spec:
      containers:
        - name: web
          image: web-image
          ports: [{containerPort: 80}, {containerPort: "http"}]
        - name: side
          image:
            side-image
          args:
            - [first, second]
            - - third
              - fourth
          command:
            - |
              fifth
data:
  a.b: dotted
  a: {b: nested, c: nested-c}
  "0": zero
  deep:
    - - [x-y]
"""

VALUES: dict[str, str] = {
    "spec.template.spec.containers[0].image": "web-image",
    "spec.template.spec.containers.0.image": "web-image",
    ".spec.template.spec.containers[1].image": "side-image",
    "$.spec.template.spec.containers[1].image": "side-image",
    "$['spec']['template']['spec']['containers'][0]['image']": "web-image",
    '$["spec"].template."spec".containers[ 0 ].image': "web-image",
    "{.spec.template.spec.containers[0].image}": "web-image",
    "(root).spec.template.spec.containers.0.image": "web-image",
    "/spec/template/spec/containers/0/image": "web-image",
    "#/spec/template/spec/containers/0/image": "web-image",
    "spec/template/spec/containers/0/image": "web-image",
    "spec.template.spec.containers[-1].image": "side-image",
    "spec.template.spec.containers[name=side].image": "side-image",
    "spec.template.spec.containers.[name=side].image": "side-image",
    'spec.template.spec.containers[name: "side"].image': "side-image",
    "spec.template.spec.containers[?(@.name=='side')].image": "side-image",
    "spec.template.spec.containers[side].image": "side-image",
    'spec.template.spec.containers["1"].image': "side-image",
    "spec.template.spec.containers[*].args[0][1]": "second",
    "spec.template.spec.containers[].args[1][0]": "third",
    "spec/template/spec/containers/args/1/1": "fourth",
    "spec.template.spec.containers.1.args.1.1": "fourth",
    "spec.template.spec.containers[0].ports[1].containerPort": "http",
    "spec.template.spec.containers.0.ports.1.containerPort": "http",
    "spec.template.spec.containers[name=web].ports[containerPort=80].containerPort": "80",
    "spec.template.spec.containers[1].command[0]": "fifth\n",
    "metadata.annotations.plain": "one",
    'metadata.annotations["a.b/c"]': "two",
    "metadata.annotations['a.b/c']": "two",
    "metadata.annotations[a.b/c]": "two",
    "metadata.annotations.a.b/c": "two",
    'metadata.annotations."a.b/c"': "two",
    "metadata.annotations.`a.b/c`": "two",
    r"metadata.annotations.a\.b/c": "two",
    "metadata.annotations.a.b.c": "two",
    "/metadata/annotations/a.b~1c": "two",
    "#/metadata/annotations/a.b%7E1c": "two",
    "metadata.annotations.a.b~1c": "two",
    "metadata.annotations.config.kubernetes.io/x": "three",
    "metadata.annotations.config.kubernetes.io.x": "three",
    "metadata/annotations/config.kubernetes.io/x": "three",
    "metadata.annotations.a[0].b": "five",
    'metadata.annotations["a[0].b"]': "five",
    "metadata.labels.team.io/name": "six",
    "metadata.labels.80": "seven",
    "metadata.labels[80]": "seven",
    "/metadata/labels/80": "seven",
    "data.a.b": "dotted",
    "/data/a/b": "nested",
    "data.a.c": "nested-c",
    "data.0": "zero",
    "data[0]": "zero",
    "data.deep[0][0][0]": "x-y",
    "data.deep.0.0.0": "x-y",
    "/data/deep/0/0/0": "x-y",
}


def _value(document: Value, path: FieldPath) -> Value:
    for step in path:
        document = document[step]  # type: ignore[index] # a path that was found
    return document


@pytest.mark.parametrize("text", VALUES)
def test_the_field_is_found_however_it_is_spelled_and_its_line_holds_the_value(text: str) -> None:
    """The short-cut cuts the text at its dots: `.0.` is then a key that no list has."""
    document = read(DEPLOYMENT).documents[0]

    found = locate(text, document.value)

    line = DEPLOYMENT.decode().split("\n")[(document.line(found.path) or 0) - 1]
    assert found.whole
    assert str(_value(document.value, found.path)) == VALUES[text]
    assert VALUES[text].strip() in line or line.endswith("- |")


# Of a path whose end is not there: the text of the line where it should be.
MISSING = {
    "spec.template.spec.containers[0].imagePullPolicy": "- name: web",
    "spec.template.spec.containers.1.resources.limits.cpu": "- name: side",
    "/spec/template/spec/containers/0/ports/0/name": "ports: [",
    "spec.template.spec.containers[7].image": "containers:",
    "spec.template.spec.containers[name=none].image": "containers:",
    "/spec/template/spec/containers/-": "containers:",
    "spec.template.spec.containers[*].image": "containers:",  # which of the two, nobody can tell
    "spec.template.spec.containers[*].stdin": "containers:",
    "metadata.annotations.app.kubernetes.io/name": "annotations:",
    "metadata.annotations.app.other": "annotations:",
    'metadata.annotations["app.example/x"]': "annotations:",
    "/metadata/annotations/app~1x": "annotations:",
    "metadata.labels.owner": "labels: {",
    "spec.replicas": "spec:",
    "spec.paused.foo": "spec:",
    "metadata.name.first": "name: web",
    "status.phase": "apiVersion: apps/v1",
    "": "apiVersion: apps/v1",
    "$": "apiVersion: apps/v1",
    "]]]": "apiVersion: apps/v1",
}


@pytest.mark.parametrize("text", MISSING)
def test_a_field_that_is_not_there_stands_at_what_it_is_missing_from(text: str) -> None:
    """The short-cut is the top, or the longest key that looks like a part of the missing one."""
    document = read(DEPLOYMENT).documents[0]

    found = locate(text, document.value)

    line = DEPLOYMENT.decode().split("\n")[(document.line(found.path) or 0) - 1]
    assert line.strip().startswith(MISSING[text])


# Where the text can mean several fields, what the function says it found there decides.
CURRENT = {
    ("data.a.b", "nested"): "data.a.b",
    ("data.a.b", "dotted"): 'data["a.b"]',
    ("data.a.b", "neither"): 'data["a.b"]',
    ("spec.template.spec.containers[*].image", "side-image"): (
        "spec.template.spec.containers[1].image"
    ),
    ("spec/template/spec/containers/image", "web-image"): "spec.template.spec.containers[0].image",
    ("spec.template.spec.containers[0].ports.containerPort", "80"): (
        "spec.template.spec.containers[0].ports[0].containerPort"
    ),
}


@pytest.mark.parametrize(("text", "current"), CURRENT)
def test_the_current_value_decides_between_several(text: str, current: str) -> None:
    found = locate(text, read(DEPLOYMENT).documents[0].value, current)

    assert field_text(found.path) == CURRENT[text, current]


def test_a_key_that_is_there_goes_before_a_name_for_the_root() -> None:
    assert locate("object.a", {"object": {"a": 1}, "a": 2}).path == ("object", "a")
    assert locate("object.a", {"a": 2}).path == ("a",)


JSON = b"""{"apiVersion": "v1", "kind": "Thing",
  "metadata": {
    "name":
      "x",
    "annotations": {"a.b/c": "1",
      "d": "2"}
  }
}
"""
LINES = {
    "metadata.name": 4,
    "/metadata/annotations/a.b~1c": 5,
    "metadata.annotations.d": 6,
    "metadata.gone": 2,
}


@pytest.mark.parametrize("text", LINES)
def test_lines_of_json(text: str) -> None:
    document = read(JSON).documents[0]

    assert document.line(locate(text, document.value).path) == LINES[text]


MERGED = b"""\
base: &base
  port: 80
more: &more
  <<: *base
  host: a
one:
  <<: *more
  own: 1
two:
  <<: [{x: 1}, *base]
"""
MERGED_LINES = {"one.port": 2, "one.host": 5, "one.own": 8, "two.port": 2, "two.none": 9}


@pytest.mark.parametrize("text", MERGED_LINES)
def test_what_a_merge_key_brings_in_stands_where_it_is_written(text: str) -> None:
    """The short-cut is the mapping, which shows none of it."""
    document = read(MERGED).documents[0]

    assert document.line(locate(text, document.value).path) == MERGED_LINES[text]


BEFORE: Value = {"spec": {"list": [{"name": "a", "v": 1}, {"name": "b", "v": 2}]}, "x": [[1], [2]]}
NOW: Value = {
    "new": 1,
    "spec": {"list": [{"name": "z"}, {"name": "b", "v": 3}], "more": 1},
    "x": [[0], [1], [2]],
}
CARRIED: dict[FieldPath, FieldPath] = {
    ("spec", "list", 1, "v"): ("spec", "list", 1, "v"),
    ("spec", "list", 0, "name"): ("spec", "list"),
    ("spec", "more"): ("spec",),
    ("x", 1, 0): ("x", 0, 0),
    ("x", 2, 0): ("x", 1, 0),
    ("new",): (),
}


@pytest.mark.parametrize("path", CARRIED, ids=field_text)
def test_a_place_is_carried_back_over_what_functions_changed(path: FieldPath) -> None:
    """The short-cut takes the position as it is now, and shows the neighbour."""
    assert carried(path, NOW, BEFORE) == CARRIED[path]


def test_no_path_takes_long() -> None:
    """The short-cut tries every way to cut the text: 2 to the power of its dots."""
    nested: Value = {"z": 1}
    for depth in range(60):
        key = ".".join(["a"] * (depth % 5 + 1))
        nested = {"a": nested, "a.a": nested, key: nested, "l": [nested, nested]}

    assert locate("a" * 2_000, nested) == Located((), whole=False)
    for path in ("a." * 20 + "b", "l[*]." * 20 + "b"):
        assert not locate(path, nested).whole
        assert lines(lambda path=path: locate(path, nested)) < 200_000  # type: ignore[misc] # bound now
