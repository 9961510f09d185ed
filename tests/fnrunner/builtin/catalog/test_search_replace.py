"""search-replace: what is found, what is put there, and what it says."""

import pytest

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin.catalog import search_replace
from tests.fnrunner.builtin.catalog.texts import called, items, messages

NAME = "search-replace"
HEAD = "apiVersion: v1\nkind: Thing\nmetadata:\n  name: a\n"
NONE = ["no matches"]


def put(text: str, **given: str) -> tuple[str, list[str]]:
    """Run it; underscores in names are dashes."""
    data = {key.replace("_", "-"): value for key, value in given.items()}
    new, results, failed = called(NAME, f"{HEAD}{text}\n", **data)

    assert not failed
    return new.removeprefix(HEAD).removesuffix("\n"), messages(results)


def test_everything_that_is_given_has_to_fit() -> None:
    """Short-cut: replace wherever the value is found."""
    text = "spec:\n  a: 3\n  b: 3\nother:\n  a: 3"

    new, said = put(text, by_value="3", by_path="spec.a", put_value="4")

    assert new == "spec:\n  a: 4\n  b: 3\nother:\n  a: 3"
    assert said == ['Mutated field value to "4"']


DONE: dict[str, tuple[str, dict[str, str], str, list[str]]] = {
    "a word becomes a number": (
        "v: four",
        {"by_value": "four", "put_value": "4"},
        "v: 4",
        ['Mutated field value to "4"'],
    ),
    "text in quotes stays text": (
        "v: 'four'",
        {"by_value": "four", "put_value": "4"},
        "v: '4'",
        ["Mutated field value to \"'4'\""],
    ),
    "what a tag makes text stays text": (
        "v: !!str 4\nw: &x !!str 5",
        {"by_value_regex": "^[45]$", "put_value": "6"},
        'v: !!str "6"\nw: &x !!str "6"',
        ['Mutated field value to "\\"6\\""'] * 2,
    ),
    "values are compared as written": ("v: 1.10", {"by_value": "1.1"}, "v: 1.10", NONE),
    "and found as written": (
        "v: 1.10",
        {"by_value": "1.10"},
        "v: 1.10",
        ['Matched field value "1.10"'],
    ),
    "a pattern fits anywhere": (
        "v: my-nginx-x",
        {"by_value_regex": "ng(i)nx", "put_value": "${1}2"},
        "v: i2",
        ['Mutated field value to "i2"'],
    ),
    "what is put is not looked through": (
        "v: ${2}-b",
        {"by_value_regex": r"(\S+)-(\S+)", "put_value": "${2} ${1}"},
        "v: b ${2}",
        ['Mutated field value to "b ${2}"'],
    ),
    "a group that took no part is empty": (
        "v: b",
        {"by_value_regex": "(a)?b", "put_value": "x${1}"},
        "v: x",
        ['Mutated field value to "x"'],
    ),
    "without a pattern there are no groups": (
        "v: b",
        {"by_value": "b", "put_value": "x${1}"},
        "v: x${1}",
        ['Mutated field value to "x${1}"'],
    ),
    "a comment is replaced": (
        "v: b # old",
        {"by_value": "b", "put_comment": "new"},
        "v: b # new",
        ['Mutated field value to "b # new"'],
    ),
    "a comment behind a list": (
        "v:\n- a\n- b",
        {"by_path": "v", "put_comment": "kpt-set: ${v}"},
        "v: # kpt-set: ${v}\n- a\n- b",
        ['Mutated field value to "[a, b] # kpt-set: ${v}"'],
    ),
    "a list has no value to find": (
        "v:\n- a\n- b",
        {"by_path": "v", "by_value": "a", "put_comment": "x"},
        "v:\n- a\n- b",
        NONE,
    ),
    "value and comment at a path": (
        "v: a",
        {"by_path": "v", "put_value": "b", "put_comment": "# x"},
        "v: b # x",
        ['Mutated field value to "b # x"'],
    ),
    "what is put at a path is told as it was given": (
        "v: 'a' # x",
        {"by_path": "v", "put_value": "4"},
        "v: '4' # x",
        ['Mutated field value to "4"'],
    ),
    "the comment of a block stands behind its header": (
        "v: |-\n  one\n  b",
        {"by_path": "v", "put_comment": "x"},
        "v: |- # x\n  one\n  b",
        [r'Mutated field value to "|- # x\n  one\n  b"'],
    ),
    "a block is told as one": (
        "v: |\n  one\n   b\n",
        {"by_value_regex": "^one"},
        "v: |\n  one\n   b\n",
        [r'Matched field value "|\n  one\n   b"'],
    ),
    "a folded block is told with its line breaks": (
        "v: >\n  one\n  b\n\n  c\n   d\n",
        {"by_value_regex": "one"},
        "v: >\n  one\n  b\n\n  c\n   d\n",
        [r'Matched field value ">\n  one b\n\n  c\n   d"'],
    ),
    "lines without a block are told as one": (
        "v: one\n\n  b",
        {"by_value_regex": "one"},
        "v: one\n\n  b",
        [r'Matched field value "|-\n  one\n  b"'],
    ),
    "blanks at its beginning are counted": (
        "v: |2+\n   one\n\nw: x",
        {"by_value_regex": "one"},
        "v: |2+\n   one\n\nw: x",
        [r'Matched field value "|2+\n   one"'],
    ),
    "blanks at the end of a line need quotes": (
        "v: |\n  one \n  b\n",
        {"by_value_regex": "one"},
        "v: |\n  one \n  b\n",
        [r'Matched field value "\"one \\nb\\n\""'],
    ),
    "a path that is missing": (
        "v:\n  a: 1",
        {"by_path": "v.b.c", "put_value": "2"},
        "v:\n  a: 1\n  b:\n    c: 2",
        ['Mutated field value to "2"'],
    ),
    "an element that is missing": (
        "v:\n- a",
        {"by_path": "v[1]", "put_value": "b"},
        "v:\n- a",
        NONE,
    ),
    "a pattern of paths creates nothing": (
        "v: {}",
        {"by_path": "v.*", "put_value": "b"},
        "v: {}",
        NONE,
    ),
    "a key with dots is found": (
        "v:\n  a.b/c: 1",
        {"by_path": "v.a.b/c", "put_value": "2"},
        "v:\n  a.b/c: 2",
        ['Mutated field value to "2"'],
    ),
    "nothing to look for": ("v: a", {"put_value": "b"}, "v: a", NONE),
    "another file": ("v: a", {"by_value": "a", "by_file_path": "x/*.yaml"}, "v: a", NONE),
}


@pytest.mark.parametrize(("text", "given", "wanted", "said"), DONE.values(), ids=DONE)
def test_what_is_found_and_put(
    text: str, given: dict[str, str], wanted: str, said: list[str]
) -> None:
    assert put(text, **given) == (wanted, said)


def test_a_result_names_field_and_file() -> None:
    text = f"{HEAD}---\n{HEAD}spec:\n- v.w: x\n"
    _, results, _ = called(NAME, text, **{"by-value": "x"})

    assert list(results) == [
        {
            "message": 'Matched field value "x"',
            "field": {"path": 'spec[0]["v.w"]'},
            "file": {"path": "resources.yaml", "index": 1},
        }
    ]


def test_what_kpt_notes_is_not_searched() -> None:
    """Short-cut: all annotations. By their path and index kpt knows where a resource belongs."""
    notes: dict[str, Value] = {
        "config.kubernetes.io/index": "0",
        "internal.config.kubernetes.io/package-path": "0",
        "mine": "0",
    }
    item = Item({"kind": "Thing", "metadata": {"annotations": notes}})
    config: Value = {"data": {"by-value": "0", "put-value": "1"}}

    answer = search_replace.run(ResourceList((item,), config))

    assert answer.items[0].value == {
        "kind": "Thing",
        "metadata": {"annotations": {**notes, "mine": "1"}},
    }


PATHS = {
    ("a.*.c.*", "a.b.c.d"): True,
    ("a.*.c.*", "a.b.c"): False,
    ("a.**.c.*.d", "a.b.c.c.d"): True,
    ("**", "a.b"): True,
    ("**.b", "b"): True,
    ("a.**", "a"): True,
    ("a.**.b.**.c", "a.x.y.b.c"): True,
    ("a.**.b.**.c", "a.x.y.c"): False,
    ("a[*].b", "a[3].b"): True,
    ("*[3].b", "a[3].b"): True,
    ("*[3].b", "a[4].b"): False,
    ("a.b", "a[0].b"): False,
    ("*.b", "a[0].b"): True,
    ("a[*]", "a"): False,
    ("a[*]", "a[0][1]"): False,
    ("a[*][1]", "a[0][1]"): True,
}


@pytest.mark.parametrize(("paths", "wanted"), PATHS.items(), ids=map(str, PATHS))
def test_paths_fit(paths: tuple[str, str], wanted: bool) -> None:
    assert search_replace.path_fits(*paths) is wanted


def test_many_stars_take_no_time() -> None:
    """Short-cut: try every way to divide the path among the stars."""
    assert not search_replace.path_fits(".".join(["**", "a"] * 40), ".".join(["a"] * 400) + ".b")


WRONG: dict[str, tuple[Value, str]] = {
    "an unknown matcher": (
        {"put-values": "a"},
        'invalid matcher \\"put-values\\", must be one of [\\"by-value\\" \\"by-file-path\\"'
        ' \\"by-value-regex\\" \\"by-path\\" \\"put-value\\" \\"put-comment\\"]',
    ),
    "value and pattern": (
        {"by-value": "a", "by-value-regex": "b"},
        'only one of [\\"by-value\\", \\"by-value-regex\\"] can be provided',
    ),
    "no pattern": (
        {"by-value-regex": "(a"},
        "error parsing regexp: missing ): (a: `(a`",
    ),
    "no pattern of files": ({"by-file-path": "[a"}, "syntax error in pattern: [a"),
    "a comment of two lines": (
        {"by-value": "a", "put-comment": "a\nb"},
        "a comment must be one line, and `put-comment` has more",
    ),
    "no mapping": (["a"], "`data` must be a mapping from matchers to texts"),
    "a group that is none": (
        {"by-value-regex": "(a)", "put-value": "${2}"},
        "unable to resolve capture groups",
    ),
    "a path through a text": (
        {"by-path": "v.w", "put-value": "b"},
        "v.w cannot be created: v is not a mapping",
    ),
}


@pytest.mark.parametrize(("data", "wanted"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_done_changes_nothing(data: Value, wanted: str) -> None:
    given = items(f"{HEAD}u: x\nv: a\n")
    answer = search_replace.run(ResourceList(given, {"data": data}))

    assert (list(answer.items), answer.failed) == (list(given), True)
    problem = f'failed to perform search-replace operation: "{wanted}"'
    assert messages(answer.results) == [problem]


def test_json_gets_no_comment() -> None:
    text = '{"apiVersion": "v1", "kind": "Thing", "v": "foo"}\n'

    new, results, failed = called(
        NAME, text, path="thing.json", **{"by-value": "foo", "put-comment": "x"}
    )

    assert (new, failed) == (text, True)
    assert "thing.json is JSON, which has no comments" in messages(results)[0]
