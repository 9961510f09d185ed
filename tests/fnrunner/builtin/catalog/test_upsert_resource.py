"""upsert-resource: what is replaced, what is added, and where."""

import pytest

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin.catalog import upsert_resource
from tests.fnrunner.builtin.catalog.texts import items
from tests.fnrunner.calls import Answer, call, values

TARGET = "config.kubernetes.io/target-path"


def service(name: str, app: str, *, version: str = "v1", **metadata: Value) -> Value:
    return {
        "apiVersion": version,
        "kind": "Service",
        "metadata": {"name": name, **metadata},
        "spec": {"selector": {"app": app}},
    }


def upserted(config: Value, *items: Item) -> list[tuple[Value, str, int | None]]:
    verdict = upsert_resource.run(ResourceList(tuple(items), config))
    assert not verdict.failed, verdict.results
    assert verdict.results == ()
    return [(item.value, item.path, item.index) for item in verdict.items]


def test_every_one_of_the_name_is_replaced_in_its_place() -> None:
    """Short-cut: replace the first, or put the new one at the end."""
    there = (
        Item(service("a", "old"), path="x.yaml", index=1),
        Item(service("b", "old"), path="x.yaml", index=2),
        Item(service("a", "older"), path="y/z.yaml", index=0),
    )
    new = service("a", "new", labels={"tier": "web"})
    assert upserted(new, *there) == [
        (new, "x.yaml", 1),
        (service("b", "old"), "x.yaml", 2),
        (new, "y/z.yaml", 0),
    ]


OTHERS: dict[str, Value] = {
    "another namespace": service("a", "old", namespace="n"),
    "another name": service("ab", "old"),
    "another kind": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}},
    "another group": service("a", "old", version="serving.knative.dev/v1"),
    "a function's configuration": service(
        "a", "old", annotations={"config.kubernetes.io/function": "container: {}"}
    ),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_others_stay_and_the_new_one_comes_last(other: Value) -> None:
    new = service("a", "new")
    assert upserted(new, Item(other, path="x.yaml")) == [(other, "x.yaml", None), (new, "", None)]


def test_another_version_of_the_group_is_the_same() -> None:
    new = service("a", "new", version="v2")
    assert upserted(new, Item(service("a", "old"), path="x.yaml")) == [(new, "x.yaml", None)]


def test_a_target_path_means_one_file_only() -> None:
    new = service("a", "new", annotations={TARGET: "b.yaml", "note": "kept"})
    bare = service("a", "new", annotations={"note": "kept"})
    first = Item(service("a", "old"), path="a.yaml")
    assert upserted(new, first, Item(service("a", "old"), path="b.yaml", index=3)) == [
        (first.value, "a.yaml", None),
        (bare, "b.yaml", 3),
    ]
    assert upserted(new, first) == [(first.value, "a.yaml", None), (bare, "b.yaml", None)]


def test_annotations_about_places_and_functions_are_not_taken_over() -> None:
    new = service(
        "a",
        "new",
        annotations={
            "internal.config.kubernetes.io/path": "elsewhere.yaml",
            "internal.config.kubernetes.io/index": "4",
            "config.kubernetes.io/function": "container: {}",
        },
    )
    assert upserted(new) == [(service("a", "new"), "", None)]


def test_a_list_is_put_in_one_after_the_other() -> None:
    given: Value = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [service("a", "one"), service("b", "two"), service("a", "three")],
    }
    assert upserted(given) == [
        (service("a", "three"), "", None),
        (service("b", "two"), "", None),
    ]
    assert upserted({"apiVersion": "v1", "kind": "List"}) == []


def test_what_is_the_same_stays_the_same_object() -> None:
    item = Item(service("a", "x"), path="x.yaml")
    found = upsert_resource.run(ResourceList((item,), service("a", "x")))
    assert found.items[0] is item


CONFIG = """\
apiVersion: v1
kind: List
metadata:
  name: services
items:
- apiVersion: v1
  kind: Service
  metadata:
    name: a # kpt-set: ${name}
    annotations: # where
      config.kubernetes.io/target-path: x.yaml # there
  ports:
  - 80 # kpt-set: ${port}
  - {port: 81} # has no place in a list
- {apiVersion: v1, kind: Service, metadata: {name: c}} # nor has this
- apiVersion: v1
  kind: Service
  metadata:
    name: b # kpt-set: ${name}-2
"""


THERE = """\
apiVersion: v1 # v
kind: Service
metadata:
  name: a # old
gone: 1 # gone
ports:
- 79 # telnet
- 81 # web
"""


def test_comments_of_the_configuration_come_along() -> None:
    """Short-cut: values only, and setters of what was put are gone with the next apply-setters."""
    (config,) = items(CONFIG, "list.yaml")
    (there,) = items(THERE, "x.yaml")
    found = upsert_resource.run(ResourceList((config, there), config.value)).items
    again = upsert_resource.run(ResourceList(tuple(found), config.value)).items

    assert [(item.path, dict(item.comments)) for item in found[1:]] == [
        (
            "x.yaml",
            {
                ("apiVersion",): "# v",
                ("metadata", "name"): "# kpt-set: ${name}",
                ("ports", 0): "# kpt-set: ${port}",
            },
        ),
        ("", {}),
        ("", {("metadata", "name"): "# kpt-set: ${name}-2"}),
    ]
    assert all(new is old for new, old in zip(again, found, strict=True))


def test_json_gets_no_comments() -> None:
    (config,) = items("kind: Thing\nmetadata:\n  name: a # kpt-set: ${name}\nv: 1\n")
    there = Item({"kind": "Thing", "metadata": {"name": "a"}}, path="a.json")
    found = upsert_resource.run(ResourceList((config, there), config.value)).items

    assert found[1] == Item(config.value, path="a.json")


REFUSED = {
    "none": (None, "the configuration"),
    "no name": ("{kind: Service}", "the configuration"),
    "no kind": ("{metadata: {name: a}}", "the configuration"),
    "in a list": ("{kind: List, items: [{kind: A, metadata: {name: a}}, text]}", "items[1]"),
}


@pytest.mark.parametrize(("config", "at"), REFUSED.values(), ids=REFUSED)
def test_refused(config: str | None, at: str) -> None:
    text = "{apiVersion: v1, kind: Service, metadata: {name: a}}"
    answer: Answer = call(upsert_resource.run, text, config)
    assert answer.failed
    assert answer.messages == [
        f"error: failed to upsert resource: {at} must be a resource with a kind and a name"
    ]
    assert answer.values == tuple(values(text))
