"""enable-gcp-services: the Services of a set, what goes, and what is said."""

import pytest

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import resource
from fnrunner.builtin.catalog import enable_gcp_services
from tests.fnrunner.calls import values

OWNER = "blueprints.cloud.google.com/ownerReference"
LOCAL = "config.kubernetes.io/local-config"


def service_set(name: str = "apis", path: str = "set.yaml", **fields: str) -> Item:
    metadata, spec = fields.get("metadata", ""), fields.get("spec", "services: [a.b.c]")
    text = (
        "{apiVersion: blueprints.cloud.google.com/v1alpha1, kind: ProjectServiceSet,"
        f" metadata: {{name: {name}, {metadata}}}, spec: {{{spec}}}}}"
    )
    return Item(values(text)[0], path=path, index=0)


def service(
    name: str, api: str, *, owner: str = "apis", project: str = "", **metadata: Value
) -> Value:
    spec: dict[str, Value] = {"resourceID": api}
    if project:
        spec["projectRef"] = {"external": project}
    annotations: Value = {OWNER: f"blueprints.cloud.google.com/ProjectServiceSet/{owner}"}
    return {
        "apiVersion": "serviceusage.cnrm.cloud.google.com/v1beta1",
        "kind": "Service",
        "metadata": {"name": name, "annotations": annotations, **metadata},
        "spec": spec,
    }


def run(*items: Item) -> tuple[list[tuple[Value, str]], list[tuple[object, object]]]:
    """Resources after it but sets, with their files; and messages with their files."""
    found = enable_gcp_services.run(ResourceList(items))
    assert not found.failed, found.results
    others = [(i.value, i.path) for i in found.items if resource.kind(i.value) == "Service"]
    said = [(each["message"], each["file"]) for each in found.results]
    return others, said


def test_services_lie_beside_their_set() -> None:
    """Short-cut: put them into the root."""
    spec = "services: [compute.googleapis.com, redis.googleapis.com], projectID: p"
    given = service_set(path="sub/set.yaml", metadata="namespace: n", spec=spec)
    assert run(given) == (
        [
            (
                service("apis-compute", "compute.googleapis.com", project="p", namespace="n"),
                "sub/n/service_apis-compute.yaml",
            ),
            (
                service("apis-redis", "redis.googleapis.com", project="p", namespace="n"),
                "sub/n/service_apis-redis.yaml",
            ),
        ],
        [
            ("generated service", {"path": "sub/n/service_apis-compute.yaml"}),
            ("generated service", {"path": "sub/n/service_apis-redis.yaml"}),
        ],
    )


def test_what_is_not_listed_any_more_goes_and_what_is_stays_in_its_place() -> None:
    """Short-cut: only add."""
    old = Item(service("apis-a", "a.b.c", project="old"), {(): "# x"}, "service_apis-a.yaml", 2)
    gone = Item(service("apis-x", "x.y.z"), path="elsewhere.yaml")
    moved = Item(service("apis-m", "m.b.c"), path="elsewhere.yaml")
    others = Item(service("apis-q", "q.y.z", owner="others"), path="q.yaml")
    own = Item(values("{kind: Service, metadata: {name: apis-a}}")[0], path="own.yaml")
    given = service_set(spec="services: [a.b.c, m.b.c]")

    found = enable_gcp_services.run(ResourceList((old, gone, moved, others, own, given)))

    assert [
        (item.value, item.path, item.index) for item in found.items if item.path != "set.yaml"
    ] == [
        (service("apis-a", "a.b.c"), "service_apis-a.yaml", 2),
        (others.value, "q.yaml", None),
        (own.value, "own.yaml", None),
        (service("apis-m", "m.b.c"), "service_apis-m.yaml", None),
    ]
    assert found.items[0].comments == old.comments
    assert [(each["message"], each["file"]) for each in found.results] == [
        ("pruned service", {"path": "elsewhere.yaml"}),
        ("recreated service", {"path": "service_apis-a.yaml"}),
        ("recreated service", {"path": "service_apis-m.yaml"}),
    ]


def test_the_set_is_local_and_hands_its_other_annotations_on() -> None:
    given = service_set(metadata="annotations: {note: kept}")
    found = enable_gcp_services.run(ResourceList((given,)))
    made = found.items[1].value
    assert isinstance(made, dict)
    assert made["metadata"] == {
        "name": "apis-a",
        "annotations": {
            "note": "kept",
            OWNER: "blueprints.cloud.google.com/ProjectServiceSet/apis",
        },
    }
    marked = found.items[0].value
    assert isinstance(marked, dict)
    assert marked["metadata"] == {"name": "apis", "annotations": {"note": "kept", LOCAL: "true"}}


def test_a_second_run_changes_nothing() -> None:
    first = enable_gcp_services.run(ResourceList((service_set(),)))
    second = enable_gcp_services.run(ResourceList(tuple(first.items)))
    assert list(second.items) == list(first.items)
    assert all(a is b for a, b in zip(second.items, first.items, strict=True))
    assert [each["message"] for each in second.results] == ["recreated service"]


def test_without_a_set_nothing_happens() -> None:
    item = Item(service("a", "a.b.c"), path="a.yaml")
    found = enable_gcp_services.run(ResourceList((item,)))
    assert found.items == (item,)
    assert found.results == ()


REFUSED = {
    "services: []": "at least one service must be specified under `spec.services[]`",
    "services: text": "at least one service must be specified under `spec.services[]`",
    "services: [compute]": "invalid service specified: compute",
    "services: [a.b.c, 7]": "invalid service specified: 7",
    "services: [a.b.c], projectID: [p]": "`spec.projectID` must be a text",
}


def test_a_project_may_be_its_number() -> None:
    """Short-cut: take text alone, or put the number as one, which the API refuses."""
    made, _ = run(service_set(spec="services: [a.b.c], projectID: 123456789012"))
    assert resource.field(made[0][0], "spec", "projectRef", "external") == "123456789012"


@pytest.mark.parametrize(("spec", "message"), REFUSED.items(), ids=REFUSED)
def test_refused(spec: str, message: str) -> None:
    items = (service_set(), service_set("other", spec=spec))
    found = enable_gcp_services.run(ResourceList(items))
    assert found.failed
    assert found.items == items
    assert [each["message"] for each in found.results] == [f"failed to add services: {message}"]
    assert found.log == message


def test_a_misshapen_set_is_refused() -> None:
    found = enable_gcp_services.run(ResourceList((service_set(metadata="annotations: text"),)))
    assert [each["message"] for each in found.results] == [
        "failed to add services: metadata.annotations of a ProjectServiceSet must be a mapping"
    ]
