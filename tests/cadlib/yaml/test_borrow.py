"""New nodes that take their text from a document that has them."""

from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cadlib.yaml import Document, Value, append, edit, read, same
from tests.cadlib.yaml.test_properties import generated
from tests.cadlib.yaml_texts import Layout, changed
from tests.counting import assert_in_proportion

UPSTREAM = """\
# licence

kind: A
# about metadata
metadata: # m
    name: x
    # about labels
    labels:
        'a': "b" # a
spec:
  # about containers
  containers:
    # web
    - name: web # w
      image: 'nginx'


    # db
    - name: db
      args: [ -a,  -b ] # args
      text: |2
          indented
"""


def document(text: str) -> Document:
    return read(text.encode(), path="upstream").documents[0]


def edited(text: str, wanted: Value, like: str) -> str:
    return edit(read(text.encode(), path="f"), {0: wanted}, like={0: [document(like)]}).decode()


TABLE: dict[str, tuple[str, Value, str, str]] = {
    "a key with all below it, at its column": (
        "kind: A\nspec: 1\n",
        {"kind": "A", "spec": 1, "metadata": {"name": "x", "labels": {"a": "b"}}},
        UPSTREAM,
        "kind: A\n# about metadata\nmetadata: # m\n    name: x\n    # about labels\n    labels:\n"
        "        'a': \"b\" # a\nspec: 1\n",
    ),
    "a key further out, after the key before it": (
        "metadata:\n  name: x\n  z: 1\n",
        {"metadata": {"name": "x", "labels": {"a": "b"}, "z": 1}},
        UPSTREAM,
        "metadata:\n  name: x\n  # about labels\n  labels:\n      'a': \"b\" # a\n  z: 1\n",
    ),
    "an element, matched by its name": (
        "spec:\n  containers:\n  - name: web\n    image: nginx\n",
        {"spec": {"containers": [
            {"name": "db", "args": ["-a", "-b"], "text": "  indented\n"},
            {"name": "web", "image": "nginx"},
        ]}},
        UPSTREAM,
        "spec:\n  containers:\n  # db\n  - name: db\n    args: [ -a,  -b ] # args\n"
        "    text: |2\n        indented\n  - name: web\n    image: nginx\n",
    ),
    "with another value in it": (
        "kind: A\n",
        {"kind": "A", "metadata": {"name": "new"}},
        UPSTREAM,
        "kind: A\n# about metadata\nmetadata: # m\n    name: new\n",
    ),
    "a mapping that opens": (
        "metadata: {}\n",
        {"metadata": {"labels": {"a": "b"}}},
        UPSTREAM,
        "metadata:\n  # about labels\n  labels:\n      'a': \"b\" # a\n",
    ),
    "another kind of value is written fresh": (
        "kind: A\n", {"kind": "A", "metadata": ["x"]}, UPSTREAM, "kind: A\nmetadata:\n- x\n",
    ),
    "an alias means nothing elsewhere": (
        "a: 1\n", {"a": 1, "b": {"c": 2}}, "x: &x 2\nb:\n  # c\n  c: *x\n", "a: 1\nb:\n  c: 2\n",
    ),
    "nor does a merge key": (
        "a: 1\n", {"a": 1, "b": {"c": 2}}, "x: &x {c: 2}\nb: # b\n  <<: *x\n", "a: 1\nb:\n  c: 2\n",
    ),
    "what stands in braces is written fresh": (
        "a: 1\n", {"a": 1, "b": "c"}, "{a: 1, b: 'c'}\n", "a: 1\nb: c\n",
    ),
    "into braces it is written fresh": (
        "x: {a: 1}\n", {"x": {"a": 1, "b": "c"}}, "x:\n  a: 1\n  b: 'c' # c\n", "x: {a: 1, b: c}\n",
    ),
    "the first key behind a dash": (
        "l:\n- name: x\n", {"l": [{"name": "x", "a": 1}]}, "l:\n- a: 1 # a\n  name: x\n",
        "l:\n- name: x\n  a: 1 # a\n",
    ),
    "CRLF": (
        "a: 1\r\n", {"a": 1, "b": [1]}, "a: 1\n# b\nb:\n- 1\n",
        "a: 1\r\n# b\r\nb:\r\n- 1\r\n",
    ),
    "from CRLF": (
        "a: 1\n", {"a": 1, "b": [1]}, "a: 1\r\n# b\r\nb:\r\n- 1\r\n", "a: 1\n# b\nb:\n- 1\n",
    ),
    "text that would mean something else here is written fresh": (
        "a: 1\n", {"a": 1, "b": "x"}, "b: |\n  x", "a: 1\nb: x\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "wanted", "like", "after"), TABLE.values(), ids=TABLE)
def test_a_new_node_is_borrowed(before: str, wanted: Value, like: str, after: str) -> None:
    """The short-cut emits the value: comments and quotes of upstream never arrive."""
    assert edited(before, wanted, like) == after


def test_the_first_document_that_has_it_lends() -> None:
    stream = read(b"a: 1\n")
    likes = [document("b: 2 # first\n"), document("b: 2 # second\nc: 'x'\n")]

    assert edit(stream, {0: {"a": 1, "b": 2, "c": "x"}}, like={0: likes}) == (
        b"a: 1\nb: 2 # first\nc: 'x'\n"
    )


@pytest.mark.parametrize(
    ("like", "after"),
    [
        ("# licence\n\n# a\na: 1 # one\n# end\n", "# licence\n\n# a\na: 2 # one\n# end\n"),
        ("%YAML 1.1\n---\n# a\na: 1 # one\n...\n# after\n", "# a\na: 2 # one\n"),
        ("--- # mark\na: 1 # one\n", "a: 2 # one\n"),
        ("--- {a: 1} # one\n", "{a: 2} # one\n"),
        ("a: 1 # one\r\n", "a: 2 # one\n"),
        ("a: 1", "a: 2\n"),
        ("- 1\n", "a: 2\n"),
    ],
)
def test_an_appended_document_is_borrowed(like: str, after: str) -> None:
    """Short-cuts: emit the value; or take the marks and what follows along."""
    data = append(read(b"x: 1\n"), [{"a": 2}], like=[[document(like)]])

    assert data.decode() == "x: 1\n---\n" + after


def test_only_its_own_document_is_borrowed() -> None:
    second = read(b"a: 1\n---\n# b\nb: 1\n# end of b\n---\nc: 1\n").documents[1]

    assert append(read(b""), [{"b": 1}], like=[[second]]) == b"# b\nb: 1\n# end of b\n"


@settings(max_examples=300)
@given(st.integers(0, 2**32))
def test_whatever_lends_the_edit_reads_as_wanted(seed: int) -> None:
    """The short-cut pastes text that means something else in its new place."""
    rng, value, data = generated(seed)
    stream = read(data)
    wanted = changed(rng, value)
    assume(isinstance(wanted, dict) and wanted and same(stream.documents[0].value, value))
    lends = document(Layout(rng).document(wanted))

    edited = edit(stream, {0: wanted}, like={0: [lends]})

    assert same(read(edited).documents[0].value, wanted)
    assert same(read(append(stream, [wanted], like=[[lends]])).documents[-1].value, wanted)


def test_many_borrowed_keys_take_time_by_their_number() -> None:
    """The short-cut looks through the other document for each key."""

    def borrowing(size: int) -> Callable[[], None]:
        text = "".join(f"# about {number}\nk{number}: # c\n- 1\n" for number in range(size))
        like = document(text)
        stream = read(b"k7: # mine\n- 1\n")

        def borrow() -> None:
            edited = edit(stream, {0: like.value}, like={0: [like]}).decode()
            mine = text[text.index("k7:") :].replace("k7: # c", "k7: # mine")
            assert edited == mine + text[: text.index("# about 7\n")]

        return borrow

    assert_in_proportion(borrowing, 60)
