"""The memory of items: the same answers as without it, whatever the list looks like."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib import yaml
from cadlib.errors import PackageError
from cadlib.stream import resourcelist
from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import memory as memory_module
from fnrunner.builtin import resource
from fnrunner.builtin.lookup import get, names
from fnrunner.builtin.memory import ItemCache
from fnrunner.builtin.work import evaluate
from tests.fnrunner.calls import items, values

POD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: p{i}}}\n"
TEXT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: old, labels: {x: y}, annotations: {x: y}}
spec: {selector: {matchLabels: {x: y}}, template: {metadata: {}, spec: {containers: []}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: b}
subjects: [{kind: ServiceAccount, name: a, namespace: old}]
"""


def example(name: str) -> Value:
    found = get(name).about.example
    return values(found)[0] if found else None


@pytest.mark.parametrize("name", names())
def test_no_function_changes_what_it_is_given(name: str) -> None:
    """Short-cut: change the values in place, and with them what the next call remembers."""
    given_items = items(TEXT)
    before = copy.deepcopy([item.value for item in given_items])
    get(name).run(ResourceList(given_items, example(name), ()))
    assert [item.value for item in given_items] == before


@pytest.mark.parametrize("name", names())
def test_the_second_answer_is_the_first(name: str) -> None:
    memory = ItemCache()
    request = resourcelist.encode(items(TEXT), example(name))
    first = evaluate(name, get(name), request, memory)
    assert evaluate(name, get(name), request, memory) == first
    again = evaluate(name, get(name), first.resources, memory)
    fresh = evaluate(name, get(name), first.resources, ItemCache())
    assert read(again.resources) == read(fresh.resources)


def test_functions_see_how_a_value_is_written() -> None:
    """Short-cut: values only. `"v1"` in quotes stays text whatever a setter puts there."""
    memory = ItemCache()
    request = (
        b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
        b"- apiVersion: v1\n  kind: Thing\n  metadata:\n    name: a\n"
        b'  quoted: "v1" # kpt-set: ${v}\n  plain: v1 # kpt-set: ${v}\n'
        b"  number: 1.10 # kpt-set: ${a}.${b}\n"
        b"functionConfig:\n  data: {v: '2', a: '3'}\n"
    )
    function = get("apply-setters")

    first = evaluate("apply-setters", function, request, memory)

    assert b'  quoted: "2" # kpt-set: ${v}\n  plain: 2 # kpt-set: ${v}\n' in first.resources
    assert b"  number: 3.10 # kpt-set: ${a}.${b}\n" in first.resources
    changed = first.resources.replace(b"v: '2'", b"v: '3'").replace(b'v: "2"', b'v: "3"')
    again = evaluate("apply-setters", function, changed, memory)
    assert again == evaluate("apply-setters", function, changed, ItemCache())
    assert b'  quoted: "3" # kpt-set: ${v}\n  plain: 3 # kpt-set: ${v}\n' in again.resources


def read(data: bytes) -> tuple[object, ...]:
    """A list as values."""
    listed = resourcelist.decode(data)
    found = [(item.value, dict(item.comments), item.path, item.index) for item in listed.items]
    return found, listed.config, list(listed.results)


HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
LISTS = {
    "ours": f"{HEAD}items:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\n",
    "configuration after the items": (
        f"{HEAD}items:\n- kind: A\n  apiVersion: v1\nfunctionConfig:\n  kind: C\n"
    ),
    "configuration with items of its own": (
        f"{HEAD}functionConfig:\n  items:\n  - a\nitems:\n- kind: A\n  apiVersion: v1\n"
    ),
    "none": f"{HEAD}items: []\n",
    "missing": HEAD,
    "null": f"{HEAD}items:\n",
    "flow": f"{HEAD}items: [{{kind: A}}, {{kind: B}}]\n",
    "wide": f"{HEAD}items:\n  - kind: A\n    x: 1\n  - kind: B\n",
    "twice the same": f"{HEAD}items:\n- kind: A\n- kind: A\n",
    "comment between": f"{HEAD}items:\n- kind: A\n# note\n- kind: B\n",
    "alias to another item": f"{HEAD}items:\n- kind: A\n  x: &x 1\n- kind: B\n  y: *x\n",
    "anchor set anew": (
        f"{HEAD}items:\n- k: &x 1\n- y: *x\n- k: &x 2\n- y: *x\n"
    ),
    "text that looks like an item": (
        f"{HEAD}items:\n- kind: A\n  text: |\n    - kind: B\n\n    items:\n  z: 1\n- kind: B\n"
    ),
    "quotes over an item's margin": f'{HEAD}items:\n- kind: A\n  text: "one\n- two"\n- kind: B\n',
    "quotes over the margin of all items": (
        f'{HEAD}functionConfig:\n  text: "one\nitems:\n- kind: A\ntwo"\n'
    ),
    "quotes, and items that look otherwise": (
        f'{HEAD}functionConfig:\n  text: "one\nitems:\n- kind: A\ntwo"\nitems: [{{kind: B}}]\n'
    ),
    "a comment before the first": f"{HEAD}items:\n# note\n- kind: A\n",
    "carriage returns": f"{HEAD}items:\n- kind: A\n  text: b\n".replace("\n", "\r\n"),
    "no line break at the end": f"{HEAD}items:\n- kind: A\n- kind: B",
    "no line break behind a configuration": (
        f"{HEAD}functionConfig:\n  kind: C\nitems:\n- kind: A\n- kind: B"
    ),
    "results": f"{HEAD}items:\n- kind: A\nresults:\n- message: old\n",
    "blank lines": f"{HEAD}items:\n\n- kind: A\n\n- kind: B\n\n",
    "a document mark": f"---\n{HEAD}items:\n- kind: A\n",
}  # fmt: skip


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS)
def test_a_list_is_read_as_without_it(text: str) -> None:
    """Short-cut: trust the cut."""
    memory = ItemCache()
    data = text.encode()
    for warm in ("kind: A", "kind: B"):
        memory.decode(f"{HEAD}items:\n- {warm}\n".encode())
    for _ in range(2):
        expected = read(data)
        parsed = memory.decode(data)
        listed = parsed.resources
        found = [(item.value, dict(item.comments), item.path, item.index) for item in listed.items]
        assert (found, listed.config, list(listed.results)) == expected
        assert read(memory.encode(parsed, listed.items, ())) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "kind: Pod",
        f"{HEAD}items:\n- kind: A\n  x: [\n- kind: B\n",
        f"{HEAD}items:\n  x: 1\n- kind: A\n",
    ],
)
def test_a_fault_is_placed_in_the_whole_text(text: str) -> None:
    with pytest.raises(PackageError) as expected:
        resourcelist.decode(text.encode())
    with pytest.raises(PackageError) as caught:
        ItemCache().decode(text.encode())
    assert str(caught.value) == str(expected.value)


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=8), st.integers(0, 2000))
def test_it_forgets_what_was_used_longest_ago(lists: list[list[int]], limit: int) -> None:
    memory = ItemCache(limit)
    for numbers in lists:
        text = "---\n".join(POD.format(i=i) for i in numbers)
        data = resourcelist.encode(items(text), None)
        assert read(data)[0] == [
            (item.value, dict(item.comments), item.path, item.index)
            for item in memory.decode(data).resources.items
        ]
        assert memory.size_bytes <= limit


def test_an_item_seen_before_is_not_read_again() -> None:
    memory = ItemCache()
    first = memory.decode(resourcelist.encode(items(POD.format(i=1)), None))
    second = memory.decode(resourcelist.encode(items(POD.format(i=1)), values("kind: C")[0]))
    assert second.resources.items[0] is first.resources.items[0]


NOTED = f"""{HEAD}items:
- apiVersion: v1
  kind: Pod
  metadata:
    name: a
    annotations:
      internal.config.kubernetes.io/package-path: shop/db
      internal.config.kubernetes.io/path: pod.yaml
      internal.config.kubernetes.io/index: "3"
      internal.config.kubernetes.io/id: "7"
      internal.config.kubernetes.io/seqindent: wide
      config.k8s.io/id: "7"
- apiVersion: v1
  kind: Pod
  metadata: {{name: b}}
functionConfig: {{apiVersion: v1, kind: ConfigMap, data: {{tier: web}}}}
"""


def test_kpts_notes_come_back() -> None:
    """Short-cut: hand back what the wire form of our own client knows, path and index."""
    memory = ItemCache()
    for _ in range(2):
        outcome = evaluate("set-labels", get("set-labels"), NOTED.encode(), memory)
        whole: Any = yaml.read(outcome.resources).documents[0].value
        first, second = (item["metadata"] for item in whole["items"])
        assert first["labels"] == second["labels"] == {"tier": "web"}
        assert first["annotations"] == {
            "internal.config.kubernetes.io/package-path": "shop/db",
            "internal.config.kubernetes.io/path": "pod.yaml",
            "config.kubernetes.io/path": "pod.yaml",
            "internal.config.kubernetes.io/index": "3",
            "config.kubernetes.io/index": "3",
            "internal.config.kubernetes.io/id": "7",
            "internal.config.kubernetes.io/seqindent": "wide",
            "config.k8s.io/id": "7",
        }
        assert "annotations" not in second


def test_the_next_function_finds_what_the_one_before_wrote(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Short-cut: remember what comes in only; a pipeline then parses all at every step."""
    memory = ItemCache()
    request = resourcelist.encode(items(TEXT), example("set-namespace"))
    first = evaluate("set-namespace", get("set-namespace"), request, memory)
    between = resourcelist.decode(first.resources)  # as a client does between two steps
    request = resourcelist.encode(between.items, example("set-labels"))
    read_now: list[int] = []

    def spy(data: bytes) -> ResourceList:
        listed = resourcelist.decode(data)
        read_now.append(len(listed.items))
        return listed

    monkeypatch.setattr(memory_module, "_read", spy)
    found = memory.decode(request).resources.items
    assert [item.value for item in found] == [item.value for item in between.items]
    assert read_now == [1]  # the configuration, and a mark in place of all items


KEPT = f"""{HEAD}items:
- # what it is
  kind: A # a kind
  spec:
      # why it is so
      text:   "x"   # odd, and kept
      other: [a,   b]
  metadata: {{name: a}}
  rest:
  - 1
- apiVersion: v1
  kind: B
  metadata:
    name: b # its name
    # about labels
    labels:
      x: "1"
"""


def changed(data: bytes, make: Callable[[Item], Item]) -> bytes:
    """A list whose items were changed, as a function changes them."""
    memory = ItemCache()
    parsed = memory.decode(data)
    return memory.encode(parsed, [make(item) for item in parsed.resources.items], ())


def test_fields_that_stay_keep_their_lines() -> None:
    """Short-cut: write a changed item anew, and lose how its author wrote the rest of it."""
    text = KEPT.replace("- # what it is\n  kind", "- kind")
    found = changed(
        text.encode(),
        lambda item: replace(
            item, value=resource.with_field(item.value, ("metadata", "namespace"), "shop")
        ),
    ).decode()
    assert found == text.replace(
        "metadata: {name: a}", "metadata:\n    name: a\n    namespace: shop"
    ).replace("    # about labels\n", "").replace('x: "1"\n', 'x: "1"\n    namespace: shop\n')


def test_quotes_in_front_of_a_comment_are_kept() -> None:
    """Short-cut: write the field anew, without the quotes that functions go by."""
    text = f"""{HEAD}items:
- apiVersion: v1
  kind: A
  metadata:
    name: "a" # kpt-set: ${{name}}
"""
    found = changed(
        text.encode(),
        lambda item: replace(
            item, value=resource.with_field(item.value, ("metadata", "namespace"), "shop")
        ),
    ).decode()
    assert found == f"{text}    namespace: shop\n"


LAID_OUT = {
    "comments and brackets": KEPT,
    "quotes over lines that look like fields": (
        f'{HEAD}items:\n- kind: A\n  text: "one\n  two: x\n  kind"\n  metadata:\n    name: a\n'
    ),
    "quotes with a line that looks like metadata": (
        f'{HEAD}items:\n- kind: A\n  text: "one\n  metadata: x"\n'
    ),
    "text over lines": f"{HEAD}items:\n- kind: A\n  text: one\n   two\n  metadata: {{}}\n",
    "keys in quotes": f'{HEAD}items:\n- "kind": A\n  "x y": 1\n  metadata: {{name: a}}\n',
    "a field twice as deep": f"{HEAD}items:\n-   kind: A\n    metadata:\n      name: a\n",
    "an anchor": f"{HEAD}items:\n- kind: A\n  x: &x\n    y: 1\n  z: *x\n  metadata: {{}}\n",
    "a merge key": f"{HEAD}items:\n- kind: A\n  <<: {{x: 1}}\n  metadata: {{}}\n",
    "a literal block": f"{HEAD}items:\n- kind: A\n  x: |\n    y: 1\n\n  metadata: {{}}\n",
    "only a place": (
        f"{HEAD}items:\n- kind: A\n  metadata:\n    annotations:\n"
        "      config.kubernetes.io/path: a.yaml\n  x: 1\n"
    ),
    "fields without order": f"{HEAD}items:\n- metadata: {{name: a}}\n  b: 1\n  a: 2\n",
    "a comment between": f"{HEAD}items:\n- kind: A\n# note\n  metadata: {{name: a}}\n",
}  # fmt: skip
EDITS: dict[str, Callable[[Item], Item]] = {
    "a label set": lambda item: replace(
        item, value=resource.with_field(item.value, ("metadata", "labels", "x"), "1")
    ),
    "a field removed": lambda item: replace(
        item, value={k: v for k, v in resource.mapping(item.value).items() if k != "metadata"}
    ),
    "fields in another order": lambda item: replace(
        item, value=dict(reversed(resource.mapping(item.value).items()))
    ),
    "comments removed": lambda item: replace(item, comments={}),
    "a comment set": lambda item: replace(item, comments={("kind",): "# new"}),
    "moved": lambda item: replace(item, path="moved.yaml", index=2),
    "a field added in front": lambda item: replace(
        item, value={"new": [1, {"a": "b"}], **resource.mapping(item.value)}
    ),
}


@pytest.mark.parametrize("text", LAID_OUT.values(), ids=LAID_OUT)
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_changed_item_is_written_as_it_is(text: str, edit: Callable[[Item], Item]) -> None:
    """Short-cut: take every line two columns in for a field."""
    data = text.encode()
    expected = resourcelist.encode([edit(item) for item in memory_items(data)], None)
    assert read(changed(data, edit)) == read(expected)


def memory_items(data: bytes) -> Sequence[Item]:
    return resourcelist.decode(data).items
