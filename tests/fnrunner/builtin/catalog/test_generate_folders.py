"""generate-folders: which folders a hierarchy stands for, and how they refer to each other."""

import pytest

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import resource
from fnrunner.builtin.catalog import generate_folders
from tests.fnrunner.calls import Answer, call, values

PARENT = "parentRef: {external: '123'}"


def hierarchy(spec: str, version: str = "blueprints.cloud.google.com/v1alpha3", **more: str) -> str:
    metadata = more.get("metadata", "")
    return (
        f"apiVersion: {version}\nkind: ResourceHierarchy\n"
        f"metadata: {{name: h, {metadata}}}\nspec: {{{spec}}}"
    )


def folders(text: str) -> dict[str, Value]:
    """The folders made from a hierarchy, by name, without what all have."""
    answer = call(generate_folders.run, text, None)
    assert not answer.failed, answer.messages
    found: dict[str, Value] = {}
    for value in answer.values[len(values(text)) :]:
        assert resource.api_version(value) == "resourcemanager.cnrm.cloud.google.com/v1beta1"
        assert resource.kind(value) == "Folder"
        found[resource.name(value)] = {
            "annotations": resource.field(value, "metadata", "annotations"),
            "spec": resource.field(value, "spec"),
        }
    return found


def test_folders_refer_to_what_they_are_in() -> None:
    """Short-cut: the last name only, which two folders may share."""
    spec = f"{PARENT}, config: [Dev: ['Team \"One\"', Team_2: [x]], Prod: [Team_2]]"
    assert folders(hierarchy(spec)) == {
        "dev": {
            "annotations": None,
            "spec": {"displayName": "Dev", "organizationRef": {"external": "123"}},
        },
        "dev.team-one": {
            "annotations": None,
            "spec": {"displayName": 'Team "One"', "folderRef": {"name": "dev"}},
        },
        "dev.team-2": {
            "annotations": None,
            "spec": {"displayName": "Team_2", "folderRef": {"name": "dev"}},
        },
        "dev.team-2.x": {
            "annotations": None,
            "spec": {"displayName": "x", "folderRef": {"name": "dev.team-2"}},
        },
        "prod": {
            "annotations": None,
            "spec": {"displayName": "Prod", "organizationRef": {"external": "123"}},
        },
        "prod.team-2": {
            "annotations": None,
            "spec": {"displayName": "Team_2", "folderRef": {"name": "prod"}},
        },
    }


def test_a_folder_may_hold_it_all() -> None:
    spec = "parentRef: {external: 123, kind: Folder}, config: [a]"
    assert folders(hierarchy(spec)) == {
        "a": {"annotations": None, "spec": {"displayName": "a", "folderRef": {"external": "123"}}}
    }


def test_in_a_namespace_folders_wait_for_their_parents() -> None:
    metadata = "namespace: n, annotations: {note: x, config.kubernetes.io/local-config: 'true'}"
    answer = call(
        generate_folders.run, hierarchy(f"{PARENT}, config: [a: [b]]", metadata=metadata), None
    )
    assert [resource.field(value, "metadata") for value in answer.values[1:]] == [
        {"name": "a", "annotations": {"note": "x"}, "namespace": "n"},
        {
            "name": "a.b",
            "annotations": {
                "note": "x",
                "config.kubernetes.io/depends-on": (
                    "resourcemanager.cnrm.cloud.google.com/namespaces/n/Folder/a"
                ),
            },
            "namespace": "n",
        },
    ]


SUBTREES = "subtrees: {teams: [x, y: {$subtree: leaves}], leaves: [z]}"
NAMED = {
    "of a name": ("config: [a: {$subtree: teams}]", ["a", "a.x", "a.y", "a.y.z"]),
    "in a list": ("config: [a: [$subtree: teams, q]]", ["a", "a.x", "a.y", "a.y.z", "a.q"]),
    "outermost": ("config: [$subtree: leaves]", ["z"]),
    "in two places": (
        "config: [a: {$subtree: leaves}, b: {$subtree: leaves}]",
        ["a", "a.z", "b", "b.z"],
    ),
    "several names in one entry": ("config: [{b: [c], a: null}]", ["b", "b.c", "a"]),
    "none": ("config: []", []),
    "nothing": ("other: 1", []),
}


@pytest.mark.parametrize(("config", "found"), NAMED.values(), ids=NAMED)
def test_subtrees(config: str, found: list[str]) -> None:
    assert list(folders(hierarchy(f"{PARENT}, {SUBTREES}, {config}"))) == found


NAMES = {
    "Team 'A'_b: c": "team-a-b-c",
    "_test_": "test",
    "R & D": "r--d",
    "a-.b..c.-d": "a-b-c-d",
    "___": "unnamed",
    "x" * 300: "x" * 253,
    "2021": "2021",
}


@pytest.mark.parametrize(("given", "name"), NAMES.items())
def test_name(given: str, name: str) -> None:
    """Short-cut: make one dash of several, and so another folder than there was."""
    assert list(folders(hierarchy(f'{PARENT}, config: ["{given}"]'))) == [name]


OLDER = (
    "ResourceHierarchy h references an older Resource Hierarchy GroupVersion."
    " Latest GroupVersion is blueprints.cloud.google.com/v1alpha3."
)


def ran(text: str) -> Answer:
    return call(generate_folders.run, text, None)


def test_older_ones_refer_by_annotations() -> None:
    text = hierarchy(
        f"{PARENT}, config: [a: [b]]", "cft.dev/v1alpha2", metadata="annotations: {n: x}"
    )
    assert folders(text) == {
        "a": {
            "annotations": {"n": "x", "cnrm.cloud.google.com/organization-id": "123"},
            "spec": {"displayName": "a"},
        },
        "a.b": {
            "annotations": {"n": "x", "cnrm.cloud.google.com/folder-ref": "a"},
            "spec": {"displayName": "b"},
        },
    }
    assert ran(text).results == (
        {
            "message": OLDER,
            "severity": "warning",
            "resourceRef": {
                "apiVersion": "cft.dev/v1alpha2",
                "kind": "ResourceHierarchy",
                "name": "h",
            },
            "file": {"path": "resources.yaml"},
        },
    )


def test_an_older_one_in_a_folder() -> None:
    spec = "parentRef: {external: '123', kind: Folder}, config: [a]"
    found = folders(hierarchy(spec, "cft.dev/v1alpha2"))["a"]
    assert resource.field(found, "annotations") == {"cnrm.cloud.google.com/folder-ref": "123"}


def test_the_oldest_has_layers() -> None:
    spec = "organization: 123, layers: [e, t], config: {t: [x, y], e: [dev, prod]}"
    text = hierarchy(spec, "cft.dev/v1alpha1", metadata="annotations: {not: inherited}")
    found = folders(text)
    assert list(found) == ["dev", "dev.x", "dev.y", "prod", "prod.x", "prod.y"]
    assert found["dev.y"] == {
        "annotations": {"cnrm.cloud.google.com/folder-ref": "dev"},
        "spec": {"displayName": "y"},
    }
    assert ran(text).messages == [f"warning: {OLDER}"]


def test_an_unknown_version_is_told() -> None:
    answer = ran(hierarchy("a: b", "example.com/v1"))
    assert len(answer.values) == 1
    assert answer.messages == [
        'warning: ResourceHierarchy h has unrecognized apiVersion "example.com/v1"; supported'
        " versions: blueprints.cloud.google.com/v1alpha3, cft.dev/v1alpha2, cft.dev/v1alpha1"
    ]


def test_folders_that_are_there_are_replaced_in_their_files() -> None:
    """Short-cut: add them a second time."""
    given = Item(values(hierarchy(f"{PARENT}, config: [a, b]"))[0], path="h.yaml")
    first = generate_folders.run(ResourceList((given,))).items
    moved = replace_path(first, "moved.yaml")
    again = generate_folders.run(ResourceList(moved)).items
    assert again == moved
    assert all(a is b for a, b in zip(again, moved, strict=True))


def replace_path(items: object, path: str) -> tuple[Item, ...]:
    assert isinstance(items, tuple)
    return tuple(Item(item.value, path=item.path or path) for item in items)


BAD = {
    "parentRef: {}, config: [a]": "has an undefined parentRef",
    "config: [a]": "has an undefined parentRef",
    "parentRef: {external: a, kind: Project}": "has an unsupported parentRef kind",
    f"{PARENT}, config: [a: {{$subtree: no}}]": 'references non-existent subtree "no"',
    f"{PARENT}, config: [$subtree: a], subtrees: {{a: [x: {{$subtree: b}}], b: [$subtree: a]}}": (
        'has a subtree that contains itself: "a"'
    ),
    f"{PARENT}, config: text": "has a part of spec.config that is no list of names",
    f"{PARENT}, config: [[a]]": "has a list without a name in spec.config",
}
OLD_BAD = {
    "organization: o, config: {a: [x]}": "has no layers defined",
    "layers: [a]": "has an undefined organization",
    "organization: o, layers: [a, b], config: {a: [x]}": (
        'has a layer "b" that has no corresponding config entry. Either add to spec.config.b or'
        " remove it from spec.layers"
    ),
}


WITHOUT = {
    PARENT: "no spec.config defined",
    f"{PARENT}, config: []": "an empty spec.config",
    f"{PARENT}, config: null": "an empty spec.config",
}


@pytest.mark.parametrize(("spec", "missing"), WITHOUT.items(), ids=WITHOUT)
def test_a_hierarchy_without_names_is_told(spec: str, missing: str) -> None:
    """Short-cut: make nothing, and say nothing."""
    assert ran(hierarchy(spec)).messages == [
        f"info: ResourceHierarchy h has {missing}; no folders will be generated"
    ]


@pytest.mark.parametrize(("spec", "problem"), BAD.items(), ids=BAD)
def test_refused(spec: str, problem: str) -> None:
    answer = ran(hierarchy(spec))
    assert (answer.failed, answer.log) == (True, "")
    assert answer.messages == [f"error: ResourceHierarchy h {problem}"]
    assert len(answer.values) == 1


@pytest.mark.parametrize(("spec", "problem"), OLD_BAD.items(), ids=OLD_BAD)
def test_an_oldest_one_refused(spec: str, problem: str) -> None:
    answer = ran(hierarchy(spec, "cft.dev/v1alpha1"))
    assert answer.failed
    assert answer.messages == [f"warning: {OLDER}", f"error: ResourceHierarchy h {problem}"]


def test_a_few_lines_do_not_stand_for_millions_of_folders() -> None:
    """Short-cut: follow every subtree wherever it is named."""
    levels = ", ".join(
        f"s{i}: [a: {{$subtree: s{i + 1}}}, b: {{$subtree: s{i + 1}}}]" for i in range(19)
    )
    spec = f"{PARENT}, subtrees: {{{levels}, s19: [x]}}, config: [$subtree: s0]"
    assert ran(hierarchy(spec)).messages == [
        "error: ResourceHierarchy h stands for more than 10000 folders"
    ]


def test_subtrees_do_not_nest_without_end() -> None:
    levels = ", ".join(f"s{i}: [a: {{$subtree: s{i + 1}}}]" for i in range(2000))
    spec = f"{PARENT}, subtrees: {{{levels}, s2000: [x]}}, config: [$subtree: s0]"
    assert ran(hierarchy(spec)).messages == [
        "error: ResourceHierarchy h has subtrees within subtrees, more than 20 deep"
    ]
