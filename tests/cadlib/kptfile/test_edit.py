"""Changes to a Kptfile: only their lines differ, and new fields stand where kpt has them."""

import difflib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib.errors import PackageError, Place
from cadlib.kptfile import edit as kptfile_edit
from cadlib.kptfile import reader as kptfile
from cadlib.kptfile import text as kptfile_text
from cadlib.kptfile.reader import Condition, GenericRef, GitRef, PipelineFunction, Selector
from cadlib.kptfile.schema import KPTFILE
from cadlib.yaml import Value, read, same

TEXT = """\
# The shop.
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
    name: "app"   # its name
info:
    description: >-
        A shop
        of things
    # site: https://example.com

# What is done with it.
pipeline:
    validators:
    - {image: 'a'}    # checks
"""
REF = GitRef(repo="https://example.com/r.git", directory="/app", ref="v1", commit="abc")


def added(before: bytes | str, after: bytes) -> str:
    """Return the lines that were added, each with its number; fail if any was taken out."""
    old = before.encode() if isinstance(before, str) else before
    lines = list(difflib.ndiff(old.decode().splitlines(), after.decode().splitlines()))
    assert not [line for line in lines if line.startswith("- ")]
    numbers = enumerate((line for line in lines if not line.startswith("? ")), 1)
    return "\n".join(f"{n} {line[2:]}" for n, line in numbers if line.startswith("+ "))


def test_an_upstream_and_its_lock_stand_where_kpt_writes_them() -> None:
    """The short-cut is to put new keys at the end, behind `pipeline`."""
    data = kptfile_edit.set_lock(TEXT.encode(), REF)
    data = kptfile_edit.set_upstream(data, REF, "resource-merge")

    assert (
        added(TEXT, data)
        == """\
6 upstream:
7     type: git
8     git:
9         repo: https://example.com/r.git
10         directory: /app
11         ref: v1
12     updateStrategy: resource-merge
13 upstreamLock:
14     type: git
15     git:
16         repo: https://example.com/r.git
17         directory: /app
18         ref: v1
19         commit: abc"""
    )


def test_a_new_ref_changes_its_line_only() -> None:
    """The short-cut is to write the upstream anew, and lose its comments."""
    text = (
        "kind: Kptfile\napiVersion: kpt.dev/v1\nupstream:\n  updateStrategy: fast-forward # no\n"
        "  git:\n    ref: 'v1' # {\"$ref\": x}\n    repo: r\n  type: git\n"
    )

    data = kptfile_edit.set_upstream(text.encode(), GitRef(repo="r", ref="v2"), "fast-forward")

    assert data.decode() == text.replace("v1' #", "v2' #")


def test_a_lock_of_another_store() -> None:
    locked = kptfile_edit.set_lock(TEXT.encode(), REF)

    data = kptfile_edit.set_lock(locked, GenericRef(store="DB", resource="a.b", version="3"))

    assert kptfile.read(data).generic_lock == GenericRef(store="DB", resource="a.b", version="3")
    assert kptfile.read(data).upstream_lock is None
    assert added(TEXT, data).splitlines()[0] == "6 upstreamLock:"


def test_what_is_empty_is_left_out() -> None:
    data = kptfile_edit.set_upstream(TEXT.encode(), GitRef(repo="r"), "copy-merge")

    assert "directory" not in data.decode()


SUCCESS = Condition("Rendered", "True", "RenderSuccess")
STEPS: dict[str, Value] = {"mutationSteps": [{"image": "a:v1", "exitCode": 0}]}


def test_a_status_is_written_and_taken_out_again() -> None:
    data = kptfile_edit.set_status(TEXT.encode(), SUCCESS, STEPS)

    assert (
        added(TEXT, data)
        == """\
16 status:
17     conditions:
18     - type: Rendered
19       status: "True"
20       reason: RenderSuccess
21     renderStatus:
22         mutationSteps:
23         - image: a:v1
24           exitCode: 0"""
    )
    assert kptfile_edit.clear_status(data) == TEXT.encode()


def test_only_the_condition_of_its_type_changes() -> None:
    """The short-cut is to write the conditions anew: Porch's own would be lost."""
    text = TEXT + (
        "status:\n    conditions:\n    # Porch asks for it.\n    - type: Ready\n"
        "      status: 'True'\n    - type: Rendered # how it went\n      status: 'False'\n"
        "      reason: RenderFailed\n      message: |\n        a\n        b\n"
    )

    data = kptfile_edit.set_status(text.encode(), SUCCESS, None)

    assert data.decode() == TEXT + (
        "status:\n    conditions:\n    # Porch asks for it.\n    - type: Ready\n"
        "      status: 'True'\n    - type: Rendered # how it went\n      status: 'True'\n"
        "      reason: RenderSuccess\n"
    )


def test_clearing_keeps_other_conditions() -> None:
    text = TEXT + "status:\n    conditions:\n    - type: Ready # yes\n      status: 'True'\n"
    data = kptfile_edit.set_status(text.encode(), SUCCESS, STEPS)

    assert kptfile_edit.clear_status(text.encode()) == text.encode()
    assert kptfile.read(kptfile_edit.clear_status(data)).conditions == (Condition("Ready", "True"),)


LABELS = PipelineFunction(
    image="set-labels:v0.1",
    config_map={"tier": "yes"},
    selectors=(Selector(kind="Deployment", labels={"a": "b"}),),
    exclude=(Selector(api_version="v1", name="x"),),
)


def test_a_saved_function() -> None:
    data, message = kptfile_edit.add_function(TEXT.encode(), LABELS, "mutators")

    assert message == 'Added "set-labels:v0.1" as mutator in the Kptfile.'
    (found,) = kptfile.read(data).mutators
    assert replace(found, place=Place()) == LABELS
    assert added(TEXT, data).splitlines()[0] == "14     mutators:"


@pytest.mark.parametrize(
    ("there", "dash"),
    [
        ("", "    - "),
        ("info:\n  keywords:\n  - a\n", "  - "),
        ("info:\n  keywords:\n    - a\n", "    - "),
    ],
)
def test_a_first_list_stands_below_its_key_as_kpt_writes_it(there: str, dash: str) -> None:
    """The short-cut: the columns that lists have in other files, or these whatever is there."""
    before = f"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n{there}"

    data, _ = kptfile_edit.add_function(before.encode(), PipelineFunction(exec="cat"), "mutators")

    assert data.decode() == f"{before}pipeline:\n  mutators:\n{dash}exec: cat\n"


def test_a_function_with_the_same_image_is_replaced() -> None:
    """The short-cut is to compare names without tags: kpt wants exactly the same image."""
    data, _ = kptfile_edit.add_function(TEXT.encode(), LABELS, "mutators")
    data, updated = kptfile_edit.add_function(
        data, PipelineFunction(image="set-labels:v0.1", config_map={"tier": "no"}), "mutators"
    )
    data, other = kptfile_edit.add_function(data, PipelineFunction(image="set-labels"), "mutators")
    data, command = kptfile_edit.add_function(data, PipelineFunction(exec="sed -e"), "validators")

    assert [updated, other, command] == [
        'Updated "set-labels:v0.1" as mutator in the Kptfile.',
        'Added "set-labels" as mutator in the Kptfile.',
        'Added "sed -e" as validator in the Kptfile.',
    ]
    found = kptfile.read(data)
    assert [(each.image, each.config_map, each.selectors) for each in found.mutators] == [
        ("set-labels:v0.1", {"tier": "no"}, ()),
        ("set-labels", None, ()),
    ]
    assert [each.exec for each in found.validators] == ["", "sed -e"]


def test_new_fields_take_their_text_from_another_file() -> None:
    """The short-cut is to write the value: its comments and its style would be lost."""
    other = read(
        b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: b}\n\n# Who made it.\n"
        b"info:\n  emails: [a@example.com]   # ask\n  # that is all\n"
    ).documents[0]
    text = "apiVersion: kpt.dev/v1\nkind: Kptfile\npipeline: {}\n"
    wanted: dict[str, Value] = {
        "apiVersion": "kpt.dev/v1",
        "kind": "Kptfile",
        "pipeline": {},
        "info": {"emails": ["a@example.com"]},
    }

    assert kptfile_text.write(text.encode(), wanted, like=other).decode() == (
        "apiVersion: kpt.dev/v1\nkind: Kptfile\n# Who made it.\n"
        "info:\n  emails: [a@example.com]   # ask\npipeline: {}\n"
    )


def test_text_that_means_nothing_elsewhere_is_not_taken() -> None:
    other = read(b"metadata: {name: &n b}\ninfo:\n  site: *n\n").documents[0]
    wanted: dict[str, Value] = {"kind": "Kptfile", "info": {"site": "b"}}

    data = kptfile_text.write(b"kind: Kptfile\n", wanted, like=other)

    assert data == b"kind: Kptfile\ninfo:\n  site: b\n"


def test_text_in_another_column_is_not_taken() -> None:
    other = read(b"info:\n    site: 'b'\n").documents[0]

    data = kptfile_text.write(
        b"kind: Kptfile\ninfo:\n  man: a\n",
        {"kind": "Kptfile", "info": {"man": "a", "site": "b"}},
        like=other,
    )

    assert read(data).documents[0].value == {
        "kind": "Kptfile",
        "info": {"man": "a", "site": "b"},
    }
    assert b"\n    site" not in data


ENDS: dict[str, tuple[bytes, bytes]] = {
    "no newline at the end": (b"kind: Kptfile\nmetadata: {}", b"\nmetadata: {}"),
    "lines end as on Windows": (b"kind: Kptfile\r\nmetadata: {}\r\n", b"\r\nmetadata: {}\r\n"),
    "a byte order mark": (b"\xef\xbb\xbfkind: Kptfile\nmetadata: {}\n", b"\nmetadata: {}\n"),
    "a mark before it": (b"---\nkind: Kptfile\nmetadata: {}\n...\n", b"\nmetadata: {}\n"),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_ends_of_lines_and_of_the_file_stay(name: str) -> None:
    text, rest = ENDS[name]

    data = kptfile_edit.set_lock(text, REF)

    assert data.startswith(text[: text.index(rest)] + rest.rstrip(b"\r\n"))
    assert data.endswith(b"...\n") is text.endswith(b"...\n")
    assert data.endswith(b"\n") is text.endswith(b"\n")
    assert data.count(b"\r\n") == (data.count(b"\n") if b"\r" in text else 0)


def test_a_kptfile_in_braces() -> None:
    data = kptfile_edit.set_lock(b'{"kind": "Kptfile", "metadata": {"name": "a"}}\n', REF)

    assert data.decode() == (
        '{"kind": "Kptfile", "metadata": {"name": "a"}, "upstreamLock": {"type": "git",'
        ' "git": {"repo": "https://example.com/r.git", "directory": "/app", "ref": "v1",'
        ' "commit": "abc"}}}\n'
    )


@pytest.mark.parametrize("text", ["", "- a\n", "# nothing\n"])
def test_no_kptfile(text: str) -> None:
    with pytest.raises(PackageError, match="is not a mapping"):
        kptfile_edit.set_lock(text.encode(), REF)


_FIELDS = list(KPTFILE.fields)


@given(st.sets(st.sampled_from(_FIELDS[2:])), st.sampled_from(_FIELDS[3:]))
def test_any_new_field_stands_in_kpts_order(there: set[str], new: str) -> None:
    lines = [f"{key}:\n  name: a\n  # of {key}\n" for key in _FIELDS[2:] if key in there - {new}]
    text = "apiVersion: kpt.dev/v1\nkind: Kptfile\n" + "\n".join(lines)
    stream = read(text.encode())
    value = stream.documents[0].value
    assert isinstance(value, dict)
    wanted: dict[str, Value] = {**value, new: {"namespace": "b"}}

    data = kptfile_text.write(text.encode(), wanted)

    found = read(data).documents[0].value
    assert isinstance(found, dict)
    assert same(found, wanted)
    assert list(found) == [key for key in _FIELDS if key in found]
    assert data.decode().replace(f"{new}:\n  namespace: b\n", "") == text
