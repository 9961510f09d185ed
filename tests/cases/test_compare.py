"""The comparisons that decide about cases: what they see, and what they leave out of account."""

from pathlib import Path

import pytest

from cadlib.package.files import SYMLINK, Entry
from tests.cases import compare

KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app # of ours\n"


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("a: 1\n", "a: 2\n"),
        ("a: 1\n", "a: '1'\n"),
        ("a: true\n", "a: 1\n"),
        ("a: 1 # one\n", "a: 1\n"),
        ("# of a\na: 1\n", "a: 1\n"),
        ("a: 1\n# of b\nb: 2\n", "a: 1\n# of c\nb: 2\n"),
        ("a: 1 # one\nb: 2\n", "a: 1\nb: 2 # one\n"),
        ("a: 1\n---\nb: 2\n", "b: 2\n---\na: 1\n"),
        ("a: 1\n", "a: 1\n---\nb: 2\n"),
        ("a: 1\n", "a: [\n"),
        ("{{ .x }}\n", "{{ .y }}\n"),
        ("a: {{ .x }}\n", "a: {{ .y }}\n"),
    ],
)
def test_documents_differ(expected: str, actual: str) -> None:
    """The short-cut compares values, and finds comments that went or moved the same."""
    assert compare.documents_difference(expected, actual)
    assert compare.documents_difference(actual, expected)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("a: 1 # x\n", "\n---\na:   1   #  x\n"),
        ("# of a\na:\n- b\n", "#of a\na:\n    - 'b'\n"),
        ("b: 2\na: 1\n", "a: 1\nb: 2\n"),
        ("a: |\n  # text\n", 'a: "# text\\n"\n'),
    ],
)
def test_layout_does_not_count(expected: str, actual: str) -> None:
    """The short-cut takes a line of a block scalar for a comment."""
    assert compare.documents_difference(expected, actual) == ""


def test_merge_noise_can_be_left_out() -> None:
    """The short-cut leaves out the comments and keeps the annotation, or an empty mapping."""
    noisy = (
        "kind: A\nmetadata: # kpt-merge: /a\n  name: a # mine\n  annotations:\n"
        "    internal.kpt.dev/upstream-identifier: 'v1|A|default|a'\n"
    )
    plain = "kind: A\nmetadata:\n  name: a # mine\n"

    assert compare.documents_difference(noisy, plain)
    assert compare.documents_difference(noisy, plain, noise=False) == ""
    assert compare.documents_difference(noisy, plain.replace("mine", "x"), noise=False)
    left, right = ({"a.yaml": Entry(text.encode())} for text in (noisy, plain))
    assert compare.differences(left, right)
    assert compare.differences(left, right, {"other_files": "trimmed-text"}, noise=False) == {}


def test_trees_by_the_rules_of_a_case() -> None:
    """The short-cut looks at the expected files only, and not for what should not be there."""
    expected = compare.entries({"Kptfile": KPTFILE, "a.yaml": "a: 1\n\n", "link": {"symlink": "a"}})
    other = "metadata: {name: app}\nkind: Kptfile\napiVersion: kpt.dev/v1\n"
    actual = expected | {"Kptfile": Entry(other.encode()), "a.yaml": Entry(b"a: 1\n")}

    rules = {"kptfile": "semantic", "other_files": "trimmed-text"}
    assert compare.differences(expected, actual, rules) == {}
    assert set(compare.differences(expected, actual)) == {"Kptfile", "a.yaml"}
    assert set(compare.differences(expected, actual, {**rules, "other_files": "exact-text"})) == {
        "a.yaml"
    }
    more = actual | {"b.yaml": Entry(b""), "link": Entry(b"b", SYMLINK)}
    assert set(compare.differences(expected, more, rules)) == {"b.yaml", "link"}
    assert set(compare.differences(more, expected, rules)) == {"b.yaml", "link"}
    assert compare.differences(expected, more, {"only_files": ["a.yaml"]}).keys() == {"a.yaml"}
    assert set(compare.differences(expected, more, {**rules, "ignore_files": ["link"]})) == {
        "b.yaml"
    }
    with pytest.raises(ValueError, match="there is no rule 'exact'"):
        compare.by_rule("exact", "a", "b")


def test_numbers_that_are_the_same_are_no_difference() -> None:
    assert compare.data_difference({"a": [1.0, float("nan")]}, {"a": [1, float("nan")]}) == ""
    assert compare.data_difference([True], [1])
    assert compare.data_difference({"a": None}, {})


def test_trees_are_written_and_read_back(tmp_path: Path) -> None:
    tree = {
        "a/b.yaml": "a: 1\r\n",
        "link": {"symlink": "a/b.yaml"},
        "raw": {"base64": "AP8="},
        "empty": {"dir": True},
    }

    compare.put(tree, tmp_path)

    assert (tmp_path / "empty").is_dir()
    assert compare.on_disk(tmp_path) == dict(sorted(compare.entries(tree).items()))
    assert compare.entries(tree)["raw"] == Entry(b"\x00\xff")
    with pytest.raises(ValueError, match="odd: this is no file of a case"):
        compare.entries({"odd": {"mode": 1}})


def test_placeholders_are_filled_everywhere() -> None:
    """The short-cut fills texts, and forgets the lists and objects that hold them."""
    value = {"{{pkg}}": ["{{pkg}}/a", {"symlink": "{{repo:x}}"}, 1, None]}

    filled = compare.fill(value, {"pkg": "/p", "repo:x": "/r"})

    assert filled == {"{{pkg}}": ["/p/a", {"symlink": "/r"}, 1, None]}
