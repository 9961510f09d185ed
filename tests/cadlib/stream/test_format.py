"""Resources put in order by moving their text, and quotes by the types of fields."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cadlib.errors import PackageError
from cadlib.package.files import is_resource_file
from cadlib.stream.format import formatted
from cadlib.stream.format_types import Definitions, non_string, quoted, typed
from cadlib.yaml import Stream, Value, emit, read, same
from cadlib.yaml.comment_spans import spans
from tests.cadlib import real, yaml_texts


def _formatted(text: str) -> str:
    return formatted(read(text.encode())).decode()


def test_entries_move_with_their_comments_and_their_layout() -> None:
    """The short-cut: sorting values and writing them afresh."""
    text = """\
# of kind
kind: Deployment # k
# of spec
spec:
    zeta:   [1,  2]  # z
    # of replicas

    replicas: 3
    # foot of spec
metadata: {namespace: n, name: x}
apiVersion: apps/v1
# end
"""
    assert (
        _formatted(text)
        == """\
apiVersion: apps/v1
# of kind
kind: Deployment # k
metadata: {name: x, namespace: n}
# of spec
spec:
    replicas: 3
    # foot of spec
    zeta:   [1,  2]  # z
    # of replicas

# end
"""
    )


def test_containers_are_sorted_and_what_stands_behind_a_dash_changes_places() -> None:
    text = """\
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
      # of b
      - image: i
        # its name
        name: b
      - {name: a, image: j}
"""
    assert _formatted(text) == text.replace(
        """\
      # of b
      - image: i
        # its name
        name: b
      - {name: a, image: j}
""",
        """\
      - {name: a, image: j}
      # of b
      - # its name
        name: b
        image: i
""",
    )


def test_lists_of_other_kinds_keep_their_order() -> None:
    text = "apiVersion: x/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n"
    text += "      - name: b\n      - name: a\n"
    assert _formatted(text) == text


def test_a_flow_list_is_sorted_unless_comments_stand_in_it() -> None:
    """The short-cut sorts lists on lines of their own only."""
    start = (
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n"
        "metadata:\n  name: a\nwebhooks:\n- name: b\n  rules:\n  - operations: "
    )
    assert _formatted(start + "[UPDATE, CREATE]\n") == start + "[CREATE, UPDATE]\n"
    kept = start + "[UPDATE, # u\n      CREATE]\n"
    assert _formatted(kept) == kept


def test_a_flow_mapping_with_comments_keeps_its_order() -> None:
    text = "apiVersion: v1\nkind: A\nspec: {\n  b: 1, # of b\n  a: 2\n}\n"
    assert _formatted(text) == text


@pytest.mark.parametrize(
    "text",
    ["b: 1\na: 2\nkind: A\n", "b: 1\na: 2\napiVersion: v1\n", "- b\n", "# only\n", "b: 1\na: [\n"],
)
def test_what_is_no_resource_is_left(text: str) -> None:
    if text.endswith("[\n"):
        with pytest.raises(PackageError):
            _formatted(text)
    else:
        assert _formatted(text) == text


def test_the_annotation_decides() -> None:
    text = (
        "kind: A\napiVersion: v1\nmetadata:\n  annotations:\n    config.kubernetes.io/formatting: "
    )
    assert _formatted(f"{text}none\n") == f"{text}none\n"
    assert _formatted(f"{text}standard\n").startswith("apiVersion")
    with pytest.raises(PackageError, match="'other' is not known"):
        _formatted(f"{text}other\n")


def test_an_alias_is_never_put_before_its_anchor() -> None:
    """The short-cut: moving text without reading it again."""
    text = "apiVersion: v1\nkind: A\nspec:\n  z: &z 1\n  a: *z\n"
    other = "---\nkind: B\napiVersion: v1\n"
    assert _formatted(text + other) == text + "---\napiVersion: v1\nkind: B\n"


def test_a_file_without_a_final_newline_stays_one() -> None:
    assert _formatted("kind: A\napiVersion: v1") == "apiVersion: v1\nkind: A"


_KEYS = st.sampled_from(["name", "kind2", "spec", "b", "a", "image", "<", "y", "containers"])
_VALUE: st.SearchStrategy[Value] = st.recursive(
    st.one_of(st.integers(), st.text(max_size=6), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=4)),
    max_leaves=6,
)


@given(st.dictionaries(_KEYS, _VALUE, max_size=3))
@settings(max_examples=150)
def test_formatting_keeps_values_and_does_nothing_twice(value: dict[str, Value]) -> None:
    text = emit({**value, "kind": "X", "apiVersion": "v1"})
    once = _formatted(text)
    assert same(read(once.encode()).documents[0].value, read(text.encode()).documents[0].value)
    assert _formatted(once) == once
    assert sorted(line.lstrip(" -") for line in once.split("\n")) == sorted(
        line.lstrip(" -") for line in text.split("\n")
    )


def test_real_files_keep_their_values_lines_and_comments() -> None:
    seen = 0
    for files in real.packages().values():
        for path, entry in [*files.items()][::6]:  # a share of them: all take ten seconds
            if not is_resource_file(path):
                continue
            try:
                stream = read(entry.data)
                data = formatted(stream)
            except PackageError:  # templates
                continue
            seen += data != entry.data
            for was, now in zip(stream.documents, read(data).documents, strict=True):
                assert sorted(was.comments.values()) == sorted(now.comments.values())
            assert formatted(read(data)) == data
    assert seen > 20


_DEFINITIONS = Definitions(
    {
        "io.A": {
            "x-kubernetes-group-version-kind": [{"group": "g", "version": "v1", "kind": "A"}],
            "properties": {
                "text": {"type": ["string", "null"]},
                "truth": {"type": "boolean"},
                "port": {"type": "string", "format": "int-or-string"},
                "args": {"type": "array", "items": {"$ref": "#/definitions/io.Text"}},
                "labels": {"additionalProperties": {"$ref": "#/definitions/io.Text"}},
            },
        },
        "io.Text": {"type": "string"},
    }
)


def test_quotes_follow_the_types_of_fields() -> None:
    text = """\
apiVersion: g/v1
kind: A
text: on # was
truth: "true"
port: 80
args: [1, b, '2']
labels: {on: off, x: null}
unknown: "on"
"""
    assert (
        typed(read(text.encode()), _DEFINITIONS).decode()
        == """\
apiVersion: g/v1
kind: A
text: "on" # was
truth: true
port: 80
args: ["1", b, '2']
labels: {on: "off", x: null}
unknown: "on"
"""
    )
    other = text.replace("kind: A", "kind: B").encode()
    assert typed(read(other), _DEFINITIONS) == other


def test_fields_that_must_be_in_quotes_are_told_with_and_without_them() -> None:
    text = "apiVersion: g/v1\nkind: A\ntext: 'on'\ntruth: on\nargs: [b, off, 1]\nunknown: on\n"
    (document,) = read(text.encode()).documents
    assert list(quoted(document, _DEFINITIONS)) == [("text",), ("args", 1)]


@pytest.mark.parametrize("text", ["on", "Yes", "n", "1", "1.5", "0x1F", "null", "~", "true", "[a]"])
def test_what_yaml_1_1_takes_for_something_else(text: str) -> None:
    assert non_string(text)


@pytest.mark.parametrize(
    "text", ["", "a", "oN", "1\n", '"on"', "2020-01-01", "12:30", "a: [", "v1"]
)
def test_what_stays_text_in_yaml_1_1(text: str) -> None:
    assert not non_string(text)


@pytest.mark.parametrize("seed", range(40))
def test_resources_in_any_layout_keep_their_values_and_comments(seed: int) -> None:
    rng = random.Random(seed)
    value = {**yaml_texts.mapping(rng, 4, 2), "kind": "A", "apiVersion": "v1"}
    stream = read(yaml_texts.Layout(rng).document(value).encode())
    found = read(formatted(stream))
    assert same(found.documents[0].value, stream.documents[0].value)
    assert sorted(map(_comment_of(found), spans(found))) == sorted(
        map(_comment_of(stream), spans(stream))
    )


def _comment_of(stream: Stream) -> Callable[[tuple[int, int]], str]:
    return lambda span: stream.source.text[slice(*span)]
