"""set-image: which images are meant, what becomes of them, and what is said."""

import pytest

from cadlib.yaml import Value, digits, read
from fnrunner.builtin.catalog import set_image
from tests.fnrunner.calls import Answer, call, call_items, config_map, items, values

HEX = "sha256:" + "0a" * 32


def pod(image: Value) -> str:
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
    return f"{head}spec: {{containers: [{{name: a, image: '{image}'}}]}}"


def image(answer: Answer, kind: str = "containers") -> Value:
    value = answer.values[0]
    assert isinstance(value, dict)
    spec = value["spec"]
    assert isinstance(spec, dict)
    containers = spec[kind]
    assert isinstance(containers, list)
    assert isinstance(containers[0], dict)
    return containers[0]["image"]


IMAGES: dict[str, tuple[str, dict[str, str], str]] = {
    "a new tag": ("nginx:1", {"name": "nginx", "newTag": "2"}, "nginx:2"),
    "a tag where there is none": ("nginx", {"name": "nginx", "newTag": "2"}, "nginx:2"),
    "a new name keeps the tag": ("nginx:1", {"name": "nginx", "newName": "x/y"}, "x/y:1"),
    "a new name keeps tag and digest": (
        f"nginx:1@{HEX}",
        {"name": "nginx", "newName": "x/y"},
        f"x/y:1@{HEX}",
    ),
    "a new tag drops the digest": (f"nginx@{HEX}", {"name": "nginx", "newTag": "2"}, "nginx:2"),
    "a digest drops the tag": ("nginx:1", {"name": "nginx", "digest": HEX}, f"nginx@{HEX}"),
    "both": ("nginx:1", {"name": "nginx", "newTag": "2", "digest": HEX}, f"nginx:2@{HEX}"),
    "a registry's port is no tag": (
        "reg.io:5000/a/b",
        {"name": "reg.io:5000/a/b", "newTag": "2"},
        "reg.io:5000/a/b:2",
    ),
    "a registry's port and a tag": (
        f"reg.io:5000/a/b:1@{HEX}",
        {"name": "reg.io:5000/a/b", "newName": "c"},
        f"c:1@{HEX}",
    ),
    "the same name of another registry": (
        "reg.io/nginx:1",
        {"name": "nginx", "newTag": "2"},
        "reg.io/nginx:1",
    ),
    "the beginning of a name": ("nginx-unit:1", {"name": "nginx", "newTag": "2"}, "nginx-unit:1"),
    "one tag only": ("nginx:1", {"name": "nginx:2", "newTag": "3"}, "nginx:1"),
    "that tag": ("nginx:2", {"name": "nginx:2", "newTag": "3"}, "nginx:3"),
    "an expression": ("reg.io/nginx:1", {"name": "(.*/)?nginx", "newTag": "2"}, "reg.io/nginx:2"),
    "a template's tag": ("nginx:{TAG}", {"name": "nginx", "newTag": "2"}, "nginx:2"),
}


@pytest.mark.parametrize(("before", "data", "after"), IMAGES.values(), ids=IMAGES)
def test_image(before: str, data: dict[str, str], after: str) -> None:
    """Short-cut: cut at the last colon, and put `newName:newTag` together again."""
    answer = call(set_image.run, pod(before), config_map(**data))
    assert image(answer) == after
    assert answer.messages == [f"info: summary: updated a total of {int(before != after)} image(s)"]


@pytest.mark.parametrize(("before", "data", "after"), IMAGES.values(), ids=IMAGES)
def test_a_second_time_changes_nothing_more(before: str, data: dict[str, str], after: str) -> None:
    del before
    again = call(set_image.run, pod(after), config_map(**data))
    assert image(again) == after


def test_containers_of_the_usual_kinds() -> None:
    """Short-cut: `containers` only, or every field named `image`."""
    text = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  image: nginx:1
  template:
    spec:
      initContainers: [{image: "nginx:1"}, {image: "other:1"}]
      containers: [{image: "nginx:1"}, {name: none}]
---
apiVersion: v1
kind: Pod
metadata: {name: b}
spec: {initContainers: [{image: "nginx:1"}], containers: [{image: "nginx:2"}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: c}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: d}
spec: {jobTemplate: {spec: {template: {spec: {containers: [{image: "nginx:1"}]}}}}}
"""
    answer = call(set_image.run, text, config_map(name="nginx", newTag="2"))
    expected = text.replace('[{image: "nginx:1"}, ', '[{image: "nginx:2"}, ')
    expected = expected.replace('{initContainers: [{image: "nginx:1"}]', (
        '{initContainers: [{image: "nginx:2"}]'
    ))  # fmt: skip
    assert answer.values == tuple(values(expected))
    assert answer.messages == ["info: summary: updated a total of 3 image(s)"]


OWN = """
apiVersion: fn.kpt.dev/v1alpha1
kind: SetImage
metadata: {name: image}
image: {name: nginx, newTag: "2"}
additionalImageFields:
- {path: "spec/manifest/images[]/image", group: example.com, kind: Mine, create: true}
"""


def test_additional_fields_come_with_the_usual_ones() -> None:
    text = """
apiVersion: example.com/v1
kind: Mine
metadata: {name: a}
spec: {manifest: {images: [{image: "nginx:1"}, {image: "x:1"}, {}]}}
---
apiVersion: example.org/v1
kind: Mine
metadata: {name: a}
spec: {manifest: {images: [{image: "nginx:1"}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: b}
spec: {containers: [{image: "nginx:1"}]}
"""
    answer = call(set_image.run, text, OWN)
    mine, other, pod_ = values(text)
    assert list(answer.values) == [
        {**as_map(mine), "spec": values('{manifest: {images: [{image: "nginx:2"},'
                                        ' {image: "x:1"}, {}]}}')[0]},
        other,
        {**as_map(pod_), "spec": values('{containers: [{image: "nginx:2"}]}')[0]},
    ]  # fmt: skip
    assert answer.messages == ["info: summary: updated a total of 2 image(s)"]


def as_map(value: Value) -> dict[str, Value]:
    assert isinstance(value, dict)
    return value


def test_a_definition_is_left_alone() -> None:
    text = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {a: nginx}"
    config = OWN.replace("spec/manifest/images[]/image", "spec/a")
    config = config.replace("group: example.com, kind: Mine, ", "")
    assert call(set_image.run, text, config).values == tuple(values(text))


def test_a_misshapen_resource_is_an_error_and_nothing_changes() -> None:
    text = f"{pod('nginx:1')}\n---\napiVersion: v1\nkind: Pod\nspec: {{containers: text}}"
    answer = call(set_image.run, text, config_map(name="nginx", newTag="2"))
    assert answer.failed
    assert answer.values == tuple(values(text))
    assert answer.messages == [
        "error: cannot set the image: spec.containers must be a mapping or a list",
        "info: summary: updated a total of 1 image(s)",
    ]


NEEDS_CHANGE = "must specify one of `newName`, `newTag`, or `digest`"
KINDS = "expect `SetImage.fn.kpt.dev` or `ConfigMap.v1`"
CONFIGS = {
    "no name": (config_map(newTag="2"), "must specify `name`"),
    "nothing to change": (config_map(name="nginx"), NEEDS_CHANGE),
    "a key of its own": (
        config_map(name="nginx", tag="2"),
        "ConfigMap has wrong field name tag",
    ),
    "a number": (
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetImage\nimage: {name: nginx, newTag: 1.20}",
        "`newTag` must be a text; put it in quotes",
    ),
    "a list": (
        "apiVersion: v1\nkind: ConfigMap\ndata: {name: nginx, newTag: [a]}",
        "`newTag` must be a text; put it in quotes",
    ),
    "no expression": (
        config_map(name="(", newTag="1"),
        "`(` is not a valid regular expression: missing ): (",
    ),
    "another kind": (
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetImages",
        f"unknown FunctionConfig `SetImages.fn.kpt.dev`, {KINDS}",
    ),
    "no image": ("apiVersion: fn.kpt.dev/v1alpha1\nkind: SetImage", "must specify `name`"),
    "an image that is none": (
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetImage\nimage: nginx",
        "`image` must be a mapping",
    ),
    "a field without a path": (
        OWN.replace('path: "spec/manifest/images[]/image", ', ""),
        "additionalImageFields[0] must have a `path`",
    ),
    "fields that are no list": (
        OWN.replace("- {path", "  {path"),
        "`additionalImageFields` must be a list",
    ),
}


@pytest.mark.parametrize(("config", "message"), CONFIGS.values(), ids=CONFIGS)
def test_configuration(config: str, message: str) -> None:
    answer = call(set_image.run, pod("nginx:1"), config)
    assert answer.messages == [f"error: {message}", f"error: function is terminated: {message}"]
    assert answer.failed
    assert answer.log == f"failed to evaluate function: function is terminated: {message}"
    assert image(answer) == "nginx:1"


def test_a_number_is_the_tag_that_it_is_written_as() -> None:
    """Short-cut: take text alone, or what the number would be written as: 1.2."""
    text = "apiVersion: v1\nkind: ConfigMap\ndata: {name: nginx, newTag: 1.20}\n"
    (document,) = read(text.encode()).documents
    config = digits.written(document.value, document)
    answer = call_items(set_image.run, items(pod("nginx:1")), config)
    assert image(answer) == "nginx:1.20"


def test_no_configuration() -> None:
    answer = call(set_image.run, pod("nginx:1"), None)
    assert answer.messages == [
        "info: `FunctionConfig` is not given",
        "error: must specify `name`",
        "error: function is terminated: must specify `name`",
    ]
