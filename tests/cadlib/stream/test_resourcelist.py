"""The wire form: what functions get, and what may come back."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib.errors import PackageError
from cadlib.stream.resourcelist import Item, ResourceList, added_results, decode, encode
from cadlib.yaml import FieldPath, Value, read
from tests.counting import lines

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web # kpt-set: ${name}
  labels: # for all
    app: web
spec:
  replicas: 3 # kpt-set: ${replicas}
  template:
    spec:
      containers: # kpt-set: ${containers}
        - name: web
          image: nginx:1.25 # kpt-set: nginx:${tag}
          args: ['--yes', "on"]
          command:
            - sh
            - -c
            - |
              echo one
              echo two
"""


def item(text: str, path: str = "a.yaml", index: int | None = 0) -> Item:
    (document,) = read(text.encode()).documents
    return Item(document.value, document.comments, path, index)


def test_a_list_is_written_with_comments_and_with_both_kinds_of_annotations() -> None:
    """The short-cut is JSON, which has no comments."""
    config: Value = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"tag": "yes"}}

    assert encode([item(DEPLOYMENT)], config).decode() == (
        HEAD
        + """\
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web # kpt-set: ${name}
    labels: # for all
      app: web
    annotations:
      internal.config.kubernetes.io/path: a.yaml
      config.kubernetes.io/path: a.yaml
      internal.config.kubernetes.io/index: "0"
      config.kubernetes.io/index: "0"
  spec:
    replicas: 3 # kpt-set: ${replicas}
    template:
      spec:
        containers: # kpt-set: ${containers}
        - name: web
          image: nginx:1.25 # kpt-set: nginx:${tag}
          args:
          - --yes
          - "on"
          command:
          - sh
          - -c
          - |
            echo one
            echo two
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  data:
    tag: "yes"
"""
    )


def test_numbers_keep_their_digits() -> None:
    """Short-cut: send the value, so that a version 1.10 comes to a function as 1.1."""
    text = """\
apiVersion: v1
kind: A
version: 1.10
mode: 0644
list: [+1, 1e3, 0x1F, 1_000]
address: 10.0.0.1
plain: [3, -4, 2.5]
"""
    (document,) = read(text.encode()).documents
    changed = {**document.value, "mode": 7} if isinstance(document.value, dict) else None
    sent = encode([Item(document.value, document=document), Item(changed, document=document)])
    first, second = (f"{each}\n" for each in sent.decode().split("\n- ")[1:])

    for line in ("version: 1.10", "mode: 0644", "- +1", "- 1e3", "- 0x1F", "- 1_000", "- 2.5"):
        assert f"  {line}\n" in first
    assert "  address: 10.0.0.1\n" in first
    assert "  mode: 7\n" in second
    assert "  version: 1.10\n" in second
    assert decode(sent).items[0].value == document.value


def test_what_was_written_is_read_back() -> None:
    """The short-cut leaves our annotations, or an empty mapping for them, in the value."""
    items = (item(DEPLOYMENT), item("kind: A\n", "b/c.yaml", 1), item("kind: B # c\n", "", None))

    assert decode(encode(items, {"kind": "C"})) == ResourceList(items, {"kind": "C"})
    assert decode(encode(())) == ResourceList(())


names = st.text(max_size=12) | st.sampled_from(["yes", "0755", "1e3", "a: b", "- x", "# y", "<<"])
values: st.SearchStrategy[Value] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
comments = st.text("ab #:{}'\t", max_size=8).map(lambda text: f"# {text}".rstrip())


@st.composite
def lists(draw: st.DrawFn) -> tuple[list[Item], Value]:
    items = []
    for _ in range(draw(st.integers(0, 2))):
        value = draw(st.dictionaries(names.filter("metadata".__ne__), values, max_size=2))
        labels = draw(st.dictionaries(names, st.text(max_size=5), max_size=2))
        if labels:
            value["metadata"] = {"name": draw(names), "annotations": dict(labels)}
        remarks: dict[FieldPath, str] = {
            (key,): draw(comments) for key in value if key != "metadata" and draw(st.booleans())
        }
        path = draw(st.sampled_from(["", "a.yaml", "b/é ü.yaml", "yes"]))
        index = draw(st.none() | st.integers(0, 999))
        items.append(Item(value, remarks, path, index))
    config = draw(st.none() | st.dictionaries(names, values, min_size=1, max_size=2))
    return items, config


@given(lists())
def test_any_list_is_read_back(made: tuple[list[Item], Value]) -> None:
    items, config = made

    assert decode(encode(items, config)) == ResourceList(tuple(items), config)


@pytest.mark.parametrize(
    "version", ['"config.kubernetes.io/v1"', '"config.kubernetes.io/v1alpha1"', '"v1"', "null"]
)
def test_any_version_and_json_are_read(version: str) -> None:
    """Short-cut: ask for the versions of the specification, where no library does."""
    data = (
        f'{{"apiVersion": {version}, "kind": "ResourceList", "items":'
        ' [{"kind": "A", "metadata": {"annotations": {"config.kubernetes.io/path": "a.yaml",'
        ' "config.kubernetes.io/index": 2, "config.k8s.io/id": "7", "x": "y"}}}],'
        ' "results": [{"message": "m", "severity": "info"}, "loose"]}'
    )

    assert decode(data.encode()) == ResourceList(
        (Item({"kind": "A", "metadata": {"annotations": {"x": "y"}}}, {}, "a.yaml", 2),),
        None,
        ({"message": "m", "severity": "info"}, {"message": "loose", "severity": "error"}),
    )


def moved(internal: str, legacy: str) -> bytes:
    return (
        f"{HEAD}items:\n- metadata:\n    name: a\n    annotations:\n"
        f"      internal.config.kubernetes.io/path: {internal}\n"
        f"      config.kubernetes.io/path: {legacy}\n"
        '      internal.config.kubernetes.io/index: "1"\n'
    ).encode()


@pytest.mark.parametrize(
    ("internal", "legacy", "path"), [("new", "old", "new"), ("old", "new", "new"), ("x", "x", "x")]
)
def test_the_annotation_that_the_function_changed_counts(
    internal: str, legacy: str, path: str
) -> None:
    """The short-cut reads today's kind only, and loses a move by an older function."""
    (found,) = decode(moved(internal, legacy), {("old", 1)}).items

    assert (found.path, found.index) == (path, 1)


def test_without_knowledge_of_what_was_sent_todays_annotations_count() -> None:
    (found,) = decode(moved("new", "old")).items

    assert found.path == "new"


def test_comments_on_our_own_annotations_are_dropped() -> None:
    data = moved("a", "a").replace(b"/path: a\n", b"/path: a # c\n")

    assert decode(data + b"  spec: 1 # d\n").items[0].comments == {("spec",): "# d"}


@pytest.mark.parametrize("inner", ["metadata: 1", "metadata: {annotations: 1}", "metadata:"])
def test_a_resource_whose_metadata_is_no_mapping_goes_as_it_is(inner: str) -> None:
    made = item(inner + "\n", "", None)

    assert decode(encode([made])).items == (made,)
    if inner != "metadata:":
        placed = item(inner + "\n", "a.yaml", 0)
        assert decode(encode([placed])).items == (Item(made.value),)


def test_what_is_no_mapping_is_sent_without_a_place() -> None:
    assert encode([Item("text", {}, "a.yaml", 0)]).endswith(b"items:\n- text\n")


REFUSED: dict[str, tuple[str, str]] = {
    "nothing": ("", "the package: there are 0 documents instead of one ResourceList."),
    "two": (HEAD + "---\n" + HEAD, "the package: there are 2 documents instead of one"),
    "no list": ("[]", "kind: the kind is None, not 'ResourceList'."),
    "another kind": ("kind: List", "kind: the kind is 'List', not 'ResourceList'."),
    "items": (HEAD + "items: {}\n", "items: items is not a list."),
    "results": (HEAD + "results: x\n", "results: results is not a list."),
    "an item": (HEAD + "items: [{}, a]\n", "items[1]: the item is not a mapping."),
    "an index": (
        HEAD + "items: [{metadata: {annotations: {config.kubernetes.io/index: a}}}]\n",
        'items[0].metadata.annotations["config.kubernetes.io/index"]:'
        " the index 'a' is not a whole number.",
    ),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_resource_list_is_refused(text: str, message: str) -> None:
    with pytest.raises(PackageError) as caught:
        decode(text.encode())

    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(" Correct what the function writes.")


def test_a_resource_moved_to_two_places_is_refused() -> None:
    with pytest.raises(PackageError) as caught:
        decode(moved("new", "other"), {("old", 1)})

    assert str(caught.value) == (
        "items[0]: resource input to function has mismatched legacy and internal path"
        " annotations: 'other', index 1 and 'new', index 1."
        " Correct what the function writes."
    )


@pytest.mark.parametrize(
    ("more", "results"),
    [
        ('results:\n- {"message": "done"}\n', ({"message": "done"},)),
        ("results: []\n", ()),
        ("results:\n- one word\n", ({"message": "one word", "severity": "error"},)),
        ("", None),
        ("  results: []\n", None),
        ("results: {}\n", None),
        ("results: []\nitems: []\n", None),
        ("results: []\n---\nkind: Other\n", None),
        ("results: [*before]\n", None),
        ("other: 1\n", None),
    ],
)
def test_results_behind_a_list_that_stayed(
    more: str, results: tuple[Mapping[str, Value], ...] | None
) -> None:
    """Fails when whatever begins like the list counts as the list."""
    sent = encode([item(DEPLOYMENT)])

    assert added_results(sent + more.encode(), sent) == results
    assert added_results(sent.replace(b"web", b"shop") + more.encode(), sent) is None
    if results is not None:
        whole = decode(sent + more.encode())
        assert (whole.results, whole.items) == (results, decode(sent).items)


def test_50_resources_go_there_and_back_fast() -> None:
    """In lines of code for each of text. The short-cut uses the full reader: 52 to read one."""
    items = [item(DEPLOYMENT, f"folder/{number}.yaml") for number in range(50)]
    text = encode(items)
    size = text.count(b"\n")

    assert lines(lambda: encode(items)) < 24 * size  # 18 were measured
    assert lines(lambda: decode(text)) < 36 * size  # 27 were measured


def test_results_in_a_mapping_of_older_functions() -> None:
    """The short-cut: refuse what is no list, and lose what the function said."""
    text = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"

    assert decode(text + b"results:\n  name: f\n  items:\n  - message: m\n").results == (
        {"message": "m"},
    )
    assert decode(text + b"results: {}\n").results == ()


def test_text_in_front_of_a_comment_keeps_its_quotes() -> None:
    """Short-cut: quotes only where they are needed; setters then put a number there."""
    document = read(
        b"kind: Thing\nmetadata: {name: a}\nv: \"one\" # kpt-set: ${v}\nw: 'two' # of old\n"
        b"x: 'no comment'\nl:\n- 'three' # in a list\n- four # plain\nb: | # block\n  five\n"
    ).documents[0]
    item = Item(document.value, document.comments, document=document)

    text = encode([item]).decode()

    assert text.partition("items:\n")[2] == (
        "- kind: Thing\n  metadata:\n    name: a\n"
        '  v: "one" # kpt-set: ${v}\n  w: "two" # of old\n  x: no comment\n'
        '  l:\n  - "three" # in a list\n  - four # plain\n  b: | # block\n    five\n'
    )
    assert decode(text.encode()).items == (item,)
