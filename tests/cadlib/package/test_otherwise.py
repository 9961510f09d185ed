"""What `kubectl` reads otherwise than functions do."""

import pytest

from cadlib.limits import DEFAULT
from cadlib.package.files import SYMLINK, Entry
from cadlib.package.otherwise import LINKED, TAGGED, WORD
from cadlib.package.source import ParsedPackage

KPTFILE = Entry(b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\nx: yes\n")
TOP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
MAP = Entry(f"{TOP}data: {{a: b}}\n".encode())

VALUES: dict[str, tuple[str, list[tuple[str, int]]]] = {
    "a value": ("data:\n  a: !!binary ZXZpbA==\n", [(TAGGED.format(tag="!!binary"), 5)]),
    "a key": ("data:\n  !!binary ZXZpbA==: x\n", [(TAGGED.format(tag="!!binary"), 5)]),
    "in braces": ("data: {a: &b !!binary ZXZpbA==}\n", [(TAGGED.format(tag="!!binary"), 4)]),
    "a merge in quotes": ('data: {!!merge "<<": {a: b}}\n', [(TAGGED.format(tag="!!merge"), 4)]),
    "in full": (
        "data: {a: !<tag:yaml.org,2002:binary> eA==}\n",
        [(TAGGED.format(tag="!<tag:yaml.org"), 4)],
    ),
    "a word": ("spec:\n  privileged: yes\n", [(WORD.format(word="yes"), 5)]),
    "words in a list": (
        "spec:\n- On\n- [OFF, n]\n",
        [(WORD.format(word=w), n) for w, n in (("On", 5), ("OFF", 6), ("n", 6))],
    ),
    "a word that is none": (
        'data: {a: "yes", b: \'on\', c: !!str no, d: "on, off", e: yess}\n',
        [],
    ),
    "a word in a comment and in a text": ("data:  # why: no\n  a: |\n    b: yes\n", []),
    "tags that say what is read": ("data: {a: !!str 1, b: !!int 2, c: !x 3}\n", []),
    "a tag in a text": ("data: {a: 'is !!binary', b: \"!!binary eA==\"}\n", []),
}


def found(**files: Entry) -> list[tuple[str, str, int | None]]:
    named = {name.replace("_", "."): entry for name, entry in files.items()}
    findings = ParsedPackage({"Kptfile": KPTFILE, **named}, DEFAULT).findings
    return [(f.message, f.place.path, f.place.line) for f in findings if f.unseen]


@pytest.mark.parametrize(("text", "told"), VALUES.values(), ids=VALUES)
def test_values_that_are_applied_otherwise(text: str, told: list[tuple[str, int]]) -> None:
    """The short-cut takes one reader's word for what a scalar is: kubectl is given another."""
    expected = [(message, "a.yaml", line) for message, line in told]
    assert found(a_yaml=Entry((TOP + text).encode())) == expected


def test_tags_by_another_name() -> None:
    """The short-cut looks for `!!binary` as it is written."""
    for head, tag in (("%TAG !b! tag:yaml.org,2002:", "!b!binary"), ("%TAG !! tag:", "!!str")):
        text = f"{head}\n---\n{TOP}data: {{a: {tag} eA==}}\n"
        assert [m for m, _, _ in found(a_yaml=Entry(text.encode()))] == [TAGGED.format(tag=tag)]


def test_what_is_no_resource_is_not_applied() -> None:
    assert found(values_yaml=Entry(b"enabled: yes\nkey: !!binary eA==\n")) == []


def test_a_symlink_to_what_no_function_sees() -> None:
    """The short-cut leaves links out, as second copies of what is read: this is the only one."""
    link = Entry(b"b.txt", SYMLINK)
    message = LINKED.format(target="b.txt")
    assert found(a_yaml=link, b_txt=MAP) == [(message, "a.yaml", None)]
    assert found(a_json=Entry(b"./c", SYMLINK), c=link, b_txt=MAP) == [(message, "a.json", None)]
    assert found(a_yaml=link, b_txt=Entry(b"{{ a template")) == [(message, "a.yaml", None)]
    ignored = Entry(b"b.yaml\n")
    assert found(a_yaml=Entry(b"b.yaml", SYMLINK), b_yaml=MAP, _krmignore=ignored) == [
        (LINKED.format(target="b.yaml"), "a.yaml", None)
    ]


def test_symlinks_that_show_nothing_new() -> None:
    assert found(a_yaml=Entry(b"b.yaml", SYMLINK), b_yaml=MAP) == []
    assert found(a_txt=Entry(b"b.txt", SYMLINK), b_txt=MAP) == []
    assert found(a_json=Entry(b"b.txt", SYMLINK), b_txt=Entry(b"[1, 2]")) == []
    assert found(a_yaml=Entry(b"gone", SYMLINK)) == []
