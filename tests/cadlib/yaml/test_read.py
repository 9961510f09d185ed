"""Reading: values, places, comments, and what is refused."""

import math

import pytest

from cadlib.errors import PackageError
from cadlib.limits import PackageLimits
from cadlib.yaml import (
    FieldPath,
    TemplatedFileError,
    Value,
    edit,
    field_text,
    parse_field,
    read,
    same,
)


def test_the_c_parser_is_there() -> None:
    """The short-cut is the pure Python parser, ten times slower."""
    import _ruamel_yaml

    assert _ruamel_yaml.__file__.endswith((".so", ".pyd", ".dylib"))


def value(text: str) -> Value:
    (document,) = read(text.encode()).documents
    return document.value


SCALARS: dict[str, Value] = {
    "yes": "yes",
    "on": "on",
    "true": True,
    "TRUE": True,
    "~": None,
    "0755": 493,
    "0o17": 15,
    "0x1F": 31,
    "0b11": 3,
    "-0x10": -16,
    "1_000": 1000,
    "08": 8.0,
    "1e3": 1000.0,
    "1.10": 1.1,
    ".5": 0.5,
    ".inf": math.inf,
    "-.INF": -math.inf,
    "1e999": "1e999",
    "0x_": "0x_",
    "9" * 400: "9" * 400,
    "2024-01-01": "2024-01-01",
    "10.0.0.1": "10.0.0.1",
    "'1'": "1",
    "!!str 1": "1",
    '!!int "7"': 7,
    "!mine 1": "1",
}


@pytest.mark.parametrize("text", SCALARS)
def test_scalars_are_read_as_kubectl_reads_them(text: str) -> None:
    """The short-cut is a YAML 1.1 loader, which reads `yes` as true."""
    found = value(f"a: {text}\n")

    assert found == {"a": SCALARS[text]}
    assert type(found["a"]) is type(SCALARS[text])


def test_nan_is_the_same_as_nan_and_true_is_not_1() -> None:
    """The short-cut is `==`."""
    nan = value("[.nan]")

    assert same(nan, value("[.NaN]"))
    assert not same({"a": True}, {"a": 1})
    assert not same([1], [1, 2])
    assert not same({"a": 1}, [])
    assert same({"a": 1, "b": 2}, {"b": 2, "a": 1.0})


def test_aliases_and_merge_keys_are_written_out() -> None:
    """The short-cut shares one object between all places, so a change shows everywhere."""
    found = value("a: &a {x: 1, y: 2}\nb: *a\nc:\n  <<: *a\n  y: 3\nd: {<<: [{x: 9}, *a]}\n")

    assert found == {
        "a": {"x": 1, "y": 2},
        "b": {"x": 1, "y": 2},
        "c": {"x": 1, "y": 3},
        "d": {"x": 9, "y": 2},
    }
    assert found["a"] is not found["b"]


@pytest.mark.parametrize(
    "key", ["<<", "!!merge <<", '!!merge "<<"', "!<tag:yaml.org,2002:merge> '<<'"]
)
def test_a_merge_key_may_say_that_it_is_one(key: str) -> None:
    """The short-cut: in quotes it is never one."""
    assert value(f"a: &a {{x: 1}}\nb:\n  {key} : *a\n") == {"a": {"x": 1}, "b": {"x": 1}}
    assert value("a: &a {x: 1}\nb:\n  '<<' : *a\n") == {"a": {"x": 1}, "b": {"<<": {"x": 1}}}


def test_every_document_is_there_and_only_filled_ones_are_counted() -> None:
    """The short-cut counts comment-only documents, or drops them."""
    stream = read(b"# top\n---\n# one\n---\na: 1\n...\n---\nb: {{ .x }}\n---\n~\n")

    assert [(d.empty, d.template, d.index, d.value) for d in stream.documents] == [
        (True, False, None, None),
        (False, False, 0, {"a": 1}),
        (False, True, 1, None),
        (False, False, 2, None),
    ]


@pytest.mark.parametrize("data", [b"", b"# only\n", b"\n\n", b"\xef\xbb\xbf"])
def test_a_file_without_documents_is_no_error(data: bytes) -> None:
    stream = read(data)

    assert stream.documents == ()
    assert stream.data == data


def test_lines_are_those_people_see() -> None:
    """The short-cut takes the parser's line, which counts U+2028 as a line end."""
    text = "\ufeff# é\u2028\r\na:\n  'b.c':\n  - x\n\n  - y: [1,\n      2]\n"
    (document,) = read(text.encode()).documents

    assert document.start_line == 2
    assert document.line(("a",)) == 2
    assert document.line(("a", "b.c")) == 3
    assert document.line(("a", "b.c", 1, "y")) == 6
    assert document.line(("a", "b.c", 1, "y", 1)) == 7
    assert document.line(("a", "b.c", 5)) == 3
    assert document.line(("a", "nothing", "here")) == 2
    assert document.line(()) == 2


def test_lines_through_an_alias_are_those_of_its_target() -> None:
    (document,) = read(b"a: &a\n  x: 1\nb: *a\n").documents

    assert document.line(("b", "x")) == 2


def test_an_empty_document_has_no_lines() -> None:
    assert read(b"---\n---\n").documents[0].line(("a",)) is None


COMMENTS: dict[str, dict[FieldPath, str]] = {
    "a: 1 # c\nb: 2\n": {("a",): "# c"},
    "a: '#no' # c\n": {("a",): "# c"},
    "a: x#no\n": {},
    "a: # c\n  b: 1 # d\n": {("a",): "# c", ("a", "b"): "# d"},
    "a: &x # c\n  b: 1\n": {("a",): "# c"},
    "a: # c\n- x # d\n- y: 1 # e\n": {("a",): "# c", ("a", 0): "# d", ("a", 1, "y"): "# e"},
    "a: | # c\n  # text\n": {("a",): "# c"},
    "a: &x | # c\n  text\n": {("a",): "# c"},
    "a: |\n  # text\n": {},
    "a: {b: 1} # c\n": {("a",): "# c"},
    "a: [x, # c\n  y # d\n]\n": {("a", 0): "# c", ("a", 1): "# d"},
    "a: # c\nb: 1\n": {("a",): "# c"},
    "# head\na: 1\n# foot\n": {},
    "a: 1 # c\r\n": {("a",): "# c"},
    "a: 1\t#\tc\n": {("a",): "#\tc"},
    "a: *x # d\n".join(("x: &x 1\n", "")): {("a",): "# d"},
    "a: b # {{\n? {q: 1}\n: 1\n": {},
}


@pytest.mark.parametrize("text", COMMENTS)
def test_line_comments_belong_to_the_field_they_follow(text: str) -> None:
    """The short-cut searches for `#`, which may be text."""
    (document,) = read(text.encode()).documents

    assert dict(document.comments) == COMMENTS[text]


BOMB = "\n".join(
    ["a: &a [" + ",".join("x" * 9) + "]"]
    + [
        f"{after}: &{after} [" + ",".join([f"*{before}"] * 9) + "]"
        for before, after in zip("abcdefgh", "bcdefghi", strict=True)
    ]
)

REFUSED: dict[str, tuple[bytes, str]] = {
    "not UTF-8": (
        b"a: 1\nb: \xff",
        "f.yaml:2: byte 8 (0xff) is not UTF-8. Save the file as UTF-8.",
    ),
    "UTF-16": (
        b"\xff\xfea\x00",
        "f.yaml:1: byte 0 (0xff) is not UTF-8. Save the file as UTF-8.",
    ),
    "not YAML": (
        "é: 1\n\u2028\nb: [\n".encode(),
        "f.yaml:3: the file is not YAML: while parsing a flow node, did not find expected"
        " node content. Correct the syntax there.",
    ),
    "not YAML, where it ends too early": (
        b"a:\r\n  b: [\r\n\r\n\n",
        "f.yaml:2: the file is not YAML: while parsing a flow node, did not find expected"
        " node content. Correct the syntax there.",
    ),
    "a control character": (
        "é: 1\nb: \x07\n".encode(),
        "f.yaml:2: the file is not YAML: control characters are not allowed (U+0007)."
        " Correct the syntax there.",
    ),
    "a template that is no YAML": (
        b"{{- if .x }}\na: 1\n{{- end }}\n",
        "f.yaml:1: the file is a template, not YAML: while parsing a flow node, did not"
        " find expected node content. List it in .krmignore if functions should not see it.",
    ),
    "a key twice": (
        b"a:\n  b: 1\n  c: 2\n  'b': 3\n",
        "f.yaml:4, b: the key 'b' occurs twice in this mapping, first on line 2."
        " Remove one of the two.",
    ),
    "an alias of nothing": (
        b"a: 1\nb: *x\n",
        "f.yaml:2: the alias *x has no anchor before it."
        " Write &x before the value that it refers to.",
    ),
    "an alias of itself": (
        b"a: &a [*a]\n",
        "f.yaml:1: the alias *a has no anchor before it."
        " Write &a before the value that it refers to.",
    ),
    "an alias of another document": (
        b"a: &a 1\n---\nb: *a\n",
        "f.yaml:3: the alias *a has no anchor before it."
        " Write &a before the value that it refers to.",
    ),
    "a merge of a scalar": (
        b"a:\n  <<: 1\n",
        "f.yaml:2: the merge key << names something that is not a mapping."
        " Name a mapping, or a list of mappings.",
    ),
    "a merge of a list by its alias, which other readers refuse": (
        b"a: &a [{x: 1}]\nb:\n  <<: *a\n",
        "f.yaml:3: the merge key << names something that is not a mapping."
        " Name a mapping, or a list of mappings.",
    ),
    "an alias bomb": (
        BOMB.encode(),
        "f.yaml:5: the aliases of this file expand to more than 10000 nodes."
        " Write the values out, or use fewer aliases.",
    ),
    "too deep": (
        b"[" * 100_000,
        "f.yaml:1: mappings and lists are nested more than 64 deep. Make the document flatter.",
    ),
    "too large": (
        b"#" * (4 * 1024 * 1024 + 1),
        "f.yaml: the file has 4194305 bytes, more than the 4194304 that are read."
        " Split it into smaller files.",
    ),
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused_with_place_problem_and_fix(
    data: bytes, message: str
) -> None:
    """The short-cut lets the parser's own error, or a RecursionError, through."""
    with pytest.raises(PackageError) as caught:
        read(data, path="f.yaml")

    assert str(caught.value) == message
    assert isinstance(caught.value, TemplatedFileError) == ("template" in message)


def test_limits_are_the_largest_values_accepted() -> None:
    """The short-cut is one off."""
    exact = PackageLimits(depth=2, nodes=3, file_bytes=20)

    assert read(b"[[1]]", limits=exact).documents[0].value == [[1]]
    assert read(b"[&a [1, 2], *a]", limits=exact).documents[0].value == [[1, 2], [1, 2]]
    with pytest.raises(PackageError, match="2 deep"):
        read(b"[[[1]]]", limits=exact)
    with pytest.raises(PackageError, match="more than 3 nodes"):
        read(b"[&a [1,2], *a, *a]", limits=exact)


def test_a_bomb_of_442_bytes_stands_for_half_a_million_nodes() -> None:
    """Only the nodes that aliases add are counted: a long file without any is no bomb."""
    assert len(BOMB) < 442
    many = read(b"- 1\n" * 100, limits=PackageLimits(nodes=10))

    assert len(many.documents[0].value) == 100  # type: ignore[arg-type]  # a list


FIELDS: dict[str, FieldPath] = {
    "": (),
    "spec.containers[0].image": ("spec", "containers", 0, "image"),
    'metadata.annotations["a.b/c"]': ("metadata", "annotations", "a.b/c"),
    "metadata.annotations.a/b": ("metadata", "annotations", "a/b"),
    '["a b"].c': ("a b", "c"),
    "[1][2]": (1, 2),
    'a[""]': ("a", ""),
    '["$"]["a\\\\b"]': ("$", "a\\b"),
    'a["it\'s\\""]': ("a", "it's\""),
}


@pytest.mark.parametrize("text", FIELDS)
def test_field_names_are_written_and_read_back(text: str) -> None:
    assert field_text(FIELDS[text]) == text
    assert parse_field(text) == FIELDS[text]


OTHER_FIELDS: dict[str, FieldPath] = {
    ".spec.replicas": ("spec", "replicas"),
    "$.spec['a.b'].c": ("spec", "a.b", "c"),
    "metadata.annotations[a.b/c]": ("metadata", "annotations", "a.b/c"),
    r"metadata.annotations.a\.b": ("metadata", "annotations", "a.b"),
    r'a["\q"]': ("a", r"\q"),
    "a[": (),
}


@pytest.mark.parametrize("text", OTHER_FIELDS)
def test_field_names_of_functions_are_understood(text: str) -> None:
    assert parse_field(text) == OTHER_FIELDS[text]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("args: [--listen=:8080] # c\n", ["--listen=:8080"]),
        ("args: [curl, http://x:80/y]\n", ["curl", "http://x:80/y"]),
        ("args: {image: a:v1}\n", {"image": "a:v1"}),
        ("args: &x [a:b, &y c, *y]\n", ["a:b", "c", "c"]),
    ],
    ids=["an argument", "an address", "an image", "an alias"],
)
def test_a_colon_in_a_plain_scalar_of_flow_style(text: str, value: Value) -> None:
    """Fails on ruamel's C parser alone: libyaml 0.1.7 calls these files broken."""
    stream = read(text.encode())
    (document,) = stream.documents

    assert document.value == {"args": value}
    assert edit(stream, {0: {"args": value, "b": 1}}) == f"{text}b: 1\n".encode()
