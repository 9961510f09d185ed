"""Packages as streams: texts carried over, annotations put in and taken out."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib.errors import PackageError
from cadlib.limits import DEFAULT
from cadlib.package.files import Entry
from cadlib.package.source import ParsedPackage
from cadlib.stream import kio, listing
from cadlib.stream import places as kio_places
from cadlib.yaml import Value, read, same
from tests.cadlib.yaml_texts import Layout, mapping

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"


def listed(**files: str) -> str:
    """List files; `_yaml` at the end of a name stands for ".yaml"."""
    return listing.resource_list(source(**files)).decode()


def source(**files: str) -> ParsedPackage:
    """Read files as a folder."""
    named = {path.replace("_yaml", ".yaml"): text for path, text in files.items()}
    entries = {path: Entry(text.encode()) for path, text in named.items()}
    return ParsedPackage(entries, DEFAULT, plain=True)


def place(index: int, path: str, margin: int, lists: str = "compact") -> str:
    """Return the lines of the annotations."""
    return "".join(
        f"{' ' * margin}{key}: '{value}'\n"
        for key, value in (
            ("config.kubernetes.io/index", index),
            ("config.kubernetes.io/path", path),
            ("internal.config.kubernetes.io/index", index),
            ("internal.config.kubernetes.io/path", path),
            ("internal.config.kubernetes.io/seqindent", lists),
        )
    )


def test_a_resource_keeps_its_text() -> None:
    """The short-cut: read the value and write it anew."""
    text = (
        "# head\n\nkind:   A   # odd\nmetadata:\n    name: 'a'\n    # why\n"
        "    annotations:\n        x: y # z\n    labels: {}\nspec:\n- |\n  text\n\n  more\n- b\n"
    )

    assert listed(a_yaml=f"---\n{text}---\n# nothing\n---\nkind: B\nmetadata:\n  name: b") == (
        f"{HEAD}items:\n# head\n- kind:   A   # odd\n  metadata:\n      name: 'a'\n"
        "      # why\n      annotations:\n          x: y # z\n"
        f"{place(0, 'a.yaml', 10)}"
        "      labels: {}\n  spec:\n  - |\n    text\n\n    more\n  - b\n"
        "- kind: B\n  metadata:\n    name: b\n    annotations:\n"
        f"{place(1, 'a.yaml', 6)}"
    )


@pytest.mark.parametrize(
    "text",
    [
        "{kind: A, metadata: {name: a}}\n",
        "kind: A\nmetadata: {name: a}\n",
        "kind: A\nmetadata:\n  name: a\n  annotations: {}\n",
        "kind: A\nmetadata:\n  name: a\n  annotations:\n",
        "kind: A\nmetadata:\n  name: a\n  annotations: {x: y}\n",
        "kind: A\nmetadata: &m\n  name: a\ncopy: *m\n",
        "kind: A\nmetadata:\n  annotations:\n    config.kubernetes.io/path: other.yaml\n",
        "kind: A\r\nmetadata:\r\n  name: a\r\n",
        "kind: A\n",
        "kind: A\nmetadata:\n  name: a\n...\n",
        "kind: A\nmetadata:\n  name: |+\n    a\n\n\n",
        "kind: A\nmetadata:\n  annotations:\n    x: |\n      y",
        '{"kind": "A",\n "metadata": {"name": "a"}}',
    ],
)
def test_however_a_resource_is_laid_out(text: str) -> None:
    """The short-cut: lines put in wherever a line says `metadata:`."""
    again = read(listed(a_yaml=text).encode()).documents[0].value

    assert isinstance(again, dict)
    items = again["items"]
    assert isinstance(items, list)
    before = read(text.encode()).documents[0].value
    annotations = kio_places.annotations(items[0])
    assert annotations[kio_places.PATH] == annotations[kio_places.LEGACY_PATH] == "a.yaml"
    assert annotations[kio_places.INDEX] == annotations[kio_places.LEGACY_INDEX] == "0"
    assert same(_bare(items[0]), _bare(before))


def _bare(value: Value) -> Value:
    """Return a resource without the annotations for its place, and what is empty then."""
    assert isinstance(value, dict)
    metadata = value.get("metadata")
    inner = dict(metadata) if isinstance(metadata, dict) else {}
    kept: dict[str, Value] = {
        key: text
        for key, text in kio_places.annotations(value).items()
        if not key.startswith(("config.kubernetes.io/", "internal.config.kubernetes.io/"))
    }
    inner.pop("annotations", None)
    inner |= {"annotations": kept} if kept else {}
    rest = {key: each for key, each in value.items() if key != "metadata"}
    return {**rest, "metadata": inner} if inner else rest


@given(st.integers(0, 2**32))
def test_values_are_the_same_in_a_list(seed: int) -> None:
    """The short-cut: indentation that changes what a block scalar says."""
    rng = random.Random(seed)
    values = []
    for _ in range(rng.randint(1, 3)):
        annotations: list[Value] = [{}, {"a": "b"}, None, {"c": "d\n"}]
        metadata: dict[str, Value] = {**mapping(rng, 2), "name": "x"}
        if rng.random() < 0.7:
            metadata["annotations"] = rng.choice(annotations)
        values.append({**mapping(rng, 3, least=1), "metadata": metadata})
    found = source(a_yaml="---\n".join(Layout(rng).document(each) for each in values))

    whole = read(listing.resource_list(found)).documents[0].value

    assert isinstance(whole, dict)
    items = whole["items"]
    assert isinstance(items, list)
    assert len(items) == len(values)
    for item, value in zip(items, values, strict=True):
        assert same(_bare(item), _bare(value))
    apart = read(listing.unwrapped(found)).documents
    assert all(same(a.value, b) for a, b in zip(apart, values, strict=True))


def test_a_template_is_not_listed_and_what_is_no_resource_is() -> None:
    """The short-cut: only what functions would be given, or everything."""
    text = listed(t_yaml="a: {{ .b }}\n", v_yaml="values: 1\n", n_txt="no")

    assert text.replace('"', "'").replace("compact", "'compact'").replace(": v.", ": 'v.").replace(
        "v.yaml\n", "v.yaml'\n"
    ) == f"{HEAD}items:\n- values: 1\n  metadata:\n    annotations:\n" + place(0, "v.yaml", 6)


def test_a_folder_without_resources() -> None:
    assert listed() == f"{HEAD}items: []\n"


def test_documents_one_after_another() -> None:
    """The short-cut: list items without their list."""
    found = source(a_yaml="# a\nkind: A\n\n\n---\nkind: B\ntext: |+\n  x\n\n", b_yaml="kind: C")

    assert listing.unwrapped(found).decode() == (
        "# a\nkind: A\n---\nkind: B\ntext: |+\n  x\n\n---\nkind: C\n"
    )


def test_what_was_listed_comes_back_as_it_was() -> None:
    """The short-cut: drop `annotations` whole when a stream is written to files."""
    files = {
        "Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n",
        "b_yaml": "# b\nkind: B\nmetadata:\n  name: b\n---\nkind: C\nmetadata:\n  name: c\n"
        "  annotations:\n    x: y\n",
    }
    stream = kio.read(listed(**files).encode())

    back = listing.files(stream.items)

    expected = {path.replace("_yaml", ".yaml"): text.encode() for path, text in files.items()}
    assert {path: entry.data for path, entry in back.items()} == expected


def test_where_resources_without_a_place_go() -> None:
    """The short-cut: a file for each resource, whatever the index says."""
    stream = kio.read(
        b"kind: Pod\nmetadata:\n  name: a\n  namespace: n\n"
        b"---\nkind: A\nmetadata:\n  name: two\n  annotations:\n"
        b"    config.kubernetes.io/path: x.yaml\n    config.kubernetes.io/index: '1'\n"
        b"---\nkind: A\nmetadata:\n  name: one\n  annotations:\n"
        b"    config.kubernetes.io/path: x.yaml\n    config.kubernetes.io/index: '0'\n"
    )

    assert {path: entry.data for path, entry in listing.files(stream.items).items()} == {
        "n/pod_a.yaml": b"kind: Pod\nmetadata:\n  name: a\n  namespace: n\n",
        "x.yaml": b"kind: A\nmetadata:\n  name: one\n---\nkind: A\nmetadata:\n  name: two\n",
    }


@pytest.mark.parametrize("path", ["../x.yaml", "/x.yaml", "a/../../x.yaml", "a/"])
def test_a_path_that_leads_elsewhere_is_refused(path: str) -> None:
    """The short-cut: join it to the folder and write."""
    stream = kio.read(
        b"kind: A\nmetadata:\n  name: a\n  annotations:\n    config.kubernetes.io/path: "
        + path.encode()
    )

    with pytest.raises(PackageError):
        listing.files(stream.items)


LISTS = (
    "# c\n- a # x\n\n# d\n- b: c\n",
    "[a, b] # z\n",
    "[a,\n b]\n",
    "- |\n  t\n- - b\n",
    "- a\n---\n- b\n",
)


@pytest.mark.parametrize("text", LISTS)
def test_a_list_goes_below_a_key_and_comes_back(text: str) -> None:
    """The short-cut: an item that is a list, of which nobody knows where it lies."""
    whole = listed(l_yaml=text)

    stream = kio.read(whole.encode())
    assert isinstance(stream.items[0].documents[0].value, dict)
    assert {path: entry.data for path, entry in listing.files(stream.items).items()} == {
        "l.yaml": text.encode()
    }


def test_a_list_in_kpts_form() -> None:
    """The short-cut: metadata in a form of our own."""
    assert listed(l_yaml="- a # x\n") == (
        f"{HEAD}items:\n- bareSeqNodeWrappingKey:\n  - a # x\n  metadata:\n    annotations:\n"
        f"{place(0, 'l.yaml', 6)}"
    )
