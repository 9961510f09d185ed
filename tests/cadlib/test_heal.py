"""Text given back after a tool lost it."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib.heal import heal, heal_package, identity, ordered, sync_order
from cadlib.package import Entry
from cadlib.yaml import EditError, Value, read
from tests.cadlib.test_yaml_properties import generated
from tests.cadlib.test_yaml_real import changed_lines, files, labelled

ORIGINAL = """\
# licence

apiVersion: apps/v1
kind: Deployment
metadata: # m
    name: "web"
    labels: {app: web} # l
spec:
  replicas: 0x2 # kpt-set: ${replicas}

  # the containers
  containers:
    # main
    - name: main
      image: 'nginx' # i
    # side
    - name: side
      args: [ -v ]
---
# second
apiVersion: v1
kind: Service
metadata: {name: svc} # s
"""


def lossy(*values: Value) -> bytes:
    return "---\n".join(json.dumps(value, sort_keys=True) + "\n" for value in values).encode()


def resources() -> list[dict[str, Value]]:
    found = [json.loads(json.dumps(each.value)) for each in read(ORIGINAL.encode()).documents]
    return [each for each in found if isinstance(each, dict)]


def healed(*values: Value) -> str:
    return heal(ORIGINAL.encode(), lossy(*values)).decode()


def test_what_a_json_round_trip_loses_comes_back() -> None:
    """The short-cut copies comments onto the lossy text."""
    assert healed(*resources()) == ORIGINAL


def test_only_the_changed_values_differ() -> None:
    deployment, service = resources()
    spec = deployment["spec"]
    assert isinstance(spec, dict)
    spec["replicas"] = 3
    spec["containers"] = [
        {"args": ["-x"], "image": "busybox", "name": "new"},
        {"args": ["-v"], "name": "side"},
        {"image": "nginx", "name": "main"},
    ]

    expected = ORIGINAL.replace("0x2", "3")
    main = "    # main\n    - name: main\n      image: 'nginx' # i\n"
    side = "    # side\n    - name: side\n      args: [ -v ]\n"
    new = "    - name: new\n      image: busybox\n      args:\n          - -x\n"
    assert healed(deployment, service) == expected.replace(main + side, new + side + main)


def test_resources_are_known_by_name_in_any_order() -> None:
    """The short-cut matches by place, and writes one resource over another."""
    deployment, service = resources()

    assert healed(service, deployment) == ORIGINAL
    assert healed(service) == ORIGINAL[ORIGINAL.index("---") :].replace("---", "# licence\n\n---")
    assert healed(deployment) == ORIGINAL[: ORIGINAL.index("---")]


def test_resources_are_known_by_their_annotations_first() -> None:
    """And those are not in what comes out. The short-cut takes them for a change."""
    deployment, service = resources()
    deployment["metadata"] = {"name": "other", "labels": {"app": "web"}}
    for index, each in enumerate((deployment, service)):
        metadata = each["metadata"]
        assert isinstance(metadata, dict)
        metadata["annotations"] = {
            "internal.config.kubernetes.io/path": "f.yaml",
            "internal.config.kubernetes.io/index": str(index),
            "config.kubernetes.io/path": "f.yaml",
            "config.kubernetes.io/index": str(index),
        }

    data = heal(ORIGINAL.encode(), lossy(service, deployment), path="f.yaml")

    assert data.decode() == ORIGINAL.replace('"web"', '"other"')


def test_two_resources_that_claim_one_place_are_both_kept() -> None:
    """Copies bring their annotations along. The short-cut gives the last one the text."""
    deployment, service = resources()
    place: Value = {"config.kubernetes.io/path": "f.yaml", "config.kubernetes.io/index": "0"}
    deployment["metadata"] = {"name": "web", "annotations": place}
    copy: dict[str, Value] = {**deployment, "metadata": {"name": "copy", "annotations": place}}

    data = heal(ORIGINAL.encode(), lossy(deployment, copy, service), path="f.yaml")

    names = [identity(each.value)[3] for each in read(data).documents]
    assert names == ["web", "svc", "copy"]


def test_a_renamed_resource_keeps_its_text_and_a_new_one_goes_last() -> None:
    deployment, service = resources()
    service["metadata"] = {"name": "svc2"}
    new: Value = {"kind": "ConfigMap", "metadata": {"name": "new"}}

    assert healed(deployment, service) == ORIGINAL.replace("svc}", "svc2}")
    assert heal(ORIGINAL.encode(), lossy(deployment, resources()[1], new)).decode() == (
        ORIGINAL + '---\n{"kind": "ConfigMap", "metadata": {"name": "new"}}\n'
    )


@pytest.mark.parametrize(
    ("original", "changed", "expected"),
    [
        ("a: 1 # x\nb: 2 # y\n", "a: 1 # z\nb: 2\n", "a: 1 # z\nb: 2 # y\n"),
        ("a: # x\n- b # b\n- c\n", "a:\n- c # c\n- b\n", "a: # x\n- c # c\n- b # b\n"),
        ("a: 1\n# end\n", "a: 1\n# new\nb: # b\n  c: 1 # c\n",
         "a: 1\n# new\nb: # b\n  c: 1 # c\n# end\n"),
        ("a: 1 # x\n", "a: 2\n", "a: 2 # x\n"),
    ],
)  # fmt: skip
def test_comments_of_the_tool_win_and_others_come_back(
    original: str, changed: str, expected: str
) -> None:
    """The short-cut takes the comments of one side only."""
    assert heal(original.encode(), changed.encode()).decode() == expected


def test_a_package_is_healed_file_by_file() -> None:
    """The short-cut writes a moved resource fresh."""
    deployment, service = resources()
    template = b"a: {{ .Values.x }}\nb: {{\n"
    old = {
        "a.yaml": Entry(ORIGINAL.encode(), "100755"),
        "gone.yaml": Entry(b"x: 1\n"),
        "t.yaml": Entry(template),
        "README.md": Entry(b"# a\n"),
        "link.yaml": Entry(b"a.yaml", "120000"),
    }
    new = {
        "a.yaml": Entry(lossy(deployment), "100755"),
        "b.yaml": Entry(lossy(service)),
        "t.yaml": Entry(template),
        "README.md": Entry(b"# b\n"),
        "link.yaml": Entry(b"a.yaml", "120000"),
    }

    found = heal_package(old, new)

    mark = ORIGINAL.index("---\n")
    assert found == {
        "a.yaml": Entry(ORIGINAL[:mark].encode(), "100755"),
        "b.yaml": Entry(ORIGINAL[mark + 4 :].encode()),
        "t.yaml": Entry(template),
        "README.md": Entry(b"# b\n"),
        "link.yaml": Entry(b"a.yaml", "120000"),
    }


def test_what_an_alias_shares_is_not_written_out_in_silence() -> None:
    with pytest.raises(EditError, match="reach into an alias"):
        heal(b"a: &x {k: 1}\nb: *x\n", b'{"a": {"k": 1}, "b": {"k": 2}}\n')


def test_keys_come_in_another_files_order() -> None:
    """The short-cut dumps the mapping sorted, or loses what stands beside its keys."""
    source = b"a: 1\nb:\n- x: 1\n  y: 1\nc: 1\n"
    target = (
        b"# licence\n\nc: 3 # c\nz: 0\n# about b\nb:\n# two\n- y: 2\n  # x\n  x: 2\na: |\n  1\n"
    )

    assert sync_order(source, target).decode() == (
        "# licence\n\na: |\n  1\n# about b\nb:\n# two\n# x\n- x: 2\n  y: 2\nc: 3 # c\nz: 0\n"
    )
    assert sync_order(source, source) == source


def test_ordered() -> None:
    model: Value = {"b": [{"y": 1, "x": 1}], "a": 1}

    found = ordered({"c": 1, "a": 2, "b": [{"x": 2, "z": 1, "y": 2}]}, model)

    assert json.dumps(found) == '{"b": [{"y": 2, "x": 2, "z": 1}], "a": 2, "c": 1}'


@given(st.integers(0, 2**32))
def test_a_round_trip_of_any_text_heals_to_the_byte(seed: int) -> None:
    """The short-cut loses blank lines, quotes, or a missing final newline."""
    _, _, data = generated(seed)
    values = [each.value for each in read(data).documents if not each.empty]

    assert heal(data, lossy(*values)) == data


def test_one_label_through_json_changes_the_labels_lines_only() -> None:
    """Every resource of the real packages. The short-cut is one line off somewhere."""
    changed: Counter[str] = Counter()
    necessary: Counter[str] = Counter()
    resource_count = 0
    for package, path, data in files():
        stream = read(data, path=path)
        wanted, lines = labelled(stream)
        values = [
            wanted.get(position, each.value)
            for position, each in enumerate(stream.documents)
            if not each.empty and not each.template
        ]
        after = heal(data, lossy(*values), path=path)
        found = changed_lines(data, after)
        assert found == lines, f"{package}/{path}"
        changed[package] += found
        necessary[package] += lines
        resource_count += len(wanted)

    for package in sorted(changed):
        print(f"{package}: {changed[package]} lines changed, {necessary[package]} had to")
    print(f"{resource_count} resources: {changed.total()} lines, {necessary.total()} had to")
    assert changed == necessary
    assert resource_count > 1000
