"""The files of a package merged three ways.

Longer than 400 lines: a table of merges: three packages and their result.
"""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cadlib.errors import PackageError
from cadlib.merge.policy import ConflictPolicy
from cadlib.merge.resources import MergedFiles, merge_resources
from cadlib.package.files import EXECUTABLE, Entry
from cadlib.yaml import read
from tests.choices import each_of
from tests.counting import assert_in_proportion


def package(**texts: str) -> dict[str, Entry]:
    """Return files; `a` is "a.yaml"."""
    return {f"{name}.yaml": Entry(text.encode()) for name, text in texts.items()}


def texts(merged: MergedFiles) -> dict[str, str]:
    """Return the merged files as they were given to `package`."""
    return {path.removesuffix(".yaml"): entry.data.decode() for path, entry in merged.files.items()}


def told(merged: MergedFiles) -> list[tuple[str, str, str]]:
    """Return file, reason and chosen side of the conflicts."""
    return [(each.path, each.reason, each.chosen) for each in merged.conflicts]


def foo(name: str = "x", a: int = 1, b: int = 1, **more: str) -> str:
    """Return the text of a resource in a layout of its own."""
    lines = "".join(f"{key}:   {value}\n" for key, value in more.items())
    return (
        f"# about {name}\napiVersion: example.org/v1\nkind: Foo\nmetadata:\n    name: {name}\n"
        f"a:   {a} # the a\n\nb: {b}\n{lines}"
    )


def test_what_one_side_left_alone_is_taken_byte_for_byte() -> None:
    """The short-cut reads and writes every file."""
    broken = "{{ if .x }}\na: [\n"
    origin = package(same=foo(), ours=foo(), theirs=foo(), gone=foo(), dropped=foo(), tpl=broken)
    local = package(same=foo(), ours=foo(a=2), theirs=foo(), gone=foo(), mine="a: [", tpl=broken)
    updated = package(
        same=foo(), ours=foo(), theirs=foo(b=2), dropped=foo(), new="x:   y", tpl=f"{broken}#"
    )
    merged = merge_resources(origin, local, updated)

    assert texts(merged) == {
        "same": foo(),
        "ours": foo(a=2),
        "theirs": foo(b=2),
        "mine": "a: [",
        "new": "x:   y",
        "tpl": f"{broken}#",
    }
    assert merged.conflicts == ()


def test_only_the_lines_of_a_change_differ() -> None:
    """The short-cut writes a merged document anew."""
    merged = merge_resources(
        package(f=foo() + "---\n" + foo("y")),
        package(f=foo(a=5) + "--- # mine\n" + foo("y")),
        package(f=foo(b=7) + "---\n" + foo("y", a=8)),
    )

    assert texts(merged) == {"f": foo(a=5, b=7) + "--- # mine\n" + foo("y", a=8)}
    assert merged.conflicts == ()


def test_a_document_that_only_upstream_changed_is_taken_with_its_comments() -> None:
    """The short-cut merges its fields, and loses a comment above one."""
    theirs = foo("y").replace("a:   1", "# why 1\na:   1")
    merged = merge_resources(
        package(f=foo() + "---\n" + foo("y")),
        package(f=foo(a=5) + "---\n" + foo("y")),
        package(f=foo() + "---\n" + theirs),
    )

    assert texts(merged) == {"f": foo(a=5) + "---\n" + theirs}


def test_what_values_do_not_tell_arrives_too() -> None:
    """The short-cut writes values, and loses the comment above a field and the blank line."""
    theirs = foo().replace("b: 1", "\n# why 1\nb: 1")
    merged = merge_resources(package(f=foo()), package(f=foo(a=5)), package(f=theirs))

    assert texts(merged) == {"f": theirs.replace("a:   1", "a:   5")}


def test_new_resources_come_as_upstream_wrote_them() -> None:
    """The short-cut writes them in its own layout."""
    new = foo("new", more="1")
    merged = merge_resources(
        package(f=foo()), package(f=foo(a=5).rstrip()), package(f=foo() + "---\n" + new)
    )

    assert texts(merged) == {"f": foo(a=5).rstrip() + "\n---\n" + new}


def test_lines_end_as_they_do_in_the_local_file() -> None:
    """The short-cut mixes line ends."""
    local = foo(a=5).replace("\n", "\r\n")
    new = foo("new")
    merged = merge_resources(
        package(f=foo()), package(f=local), package(f=foo(b=7) + "---\n" + new)
    )

    assert texts(merged) == {"f": (foo(a=5, b=7) + "---\n" + new).replace("\n", "\r\n")}


RESOURCES: dict[str, tuple[str | None, str | None, str | None, str | None, list[str]]] = {
    "removed upstream, left locally": (foo(), foo(), None, None, []),
    "removed upstream, laid out anew locally": (
        foo(), foo().replace("    name", "  name").replace("\n\n", "\n"), None, None, [],
    ),
    "removed upstream, changed locally": (
        foo(), foo(a=2), None, foo(a=2), ["changed locally and removed upstream"],
    ),
    "removed locally, left upstream": (foo(), None, foo(), None, []),
    "removed locally, changed upstream": (
        foo(), None, foo(a=2), None, ["removed locally and changed upstream"],
    ),
    "added on both sides": (None, foo(a=2), foo(a=3), foo(a=3), ["added on both sides"]),
    "added on both sides alike": (None, foo(a=2), foo(a=2) + "\n", foo(a=2), []),
    "another version of the same": (
        foo(), foo(a=2), foo(b=2).replace("example.org/v1", "example.org/v2"),
        foo(a=2, b=2).replace("example.org/v1", "example.org/v2"), [],
    ),
    "no resource, but YAML": ("a: 1\nb: 1\n", "a: 2\nb: 1\n", "a: 1\nb: 2\n", "a: 2\nb: 2\n", []),
    "a list, as one value": ("- 1\n", "- 1\n- 2\n", "- 3\n", "- 3\n", ["changed on both sides"]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("origin", "local", "updated", "expected", "conflicts"), RESOURCES.values(), ids=RESOURCES
)
def test_resources(
    origin: str | None,
    local: str | None,
    updated: str | None,
    expected: str | None,
    conflicts: list[str],
) -> None:
    """The short-cut looks at files, where the other resources in them decide nothing."""
    other = {"o": foo("other"), "l": foo("other", a=8), "u": foo("other", b=9)}

    def state(which: str, text: str | None) -> dict[str, Entry]:
        return package(f="---\n".join([other[which], *([text] if text else [])]))

    merged = merge_resources(state("o", origin), state("l", local), state("u", updated))

    wanted = "---\n".join([foo("other", a=8, b=9), *([expected] if expected else [])])
    assert texts(merged) == {"f": wanted}
    assert [each.reason for each in merged.conflicts] == conflicts


def test_a_conflict_names_file_line_and_resource() -> None:
    """The short-cut counts the lines of the document."""
    merged = merge_resources(
        package(f=foo("other") + "---\n" + foo()),
        package(f=foo("other") + "---\n" + foo(a=2)),
        package(f=foo("other") + "---\n" + foo(a=3)),
        policy=ConflictPolicy.LOCAL,
    )

    assert texts(merged) == {"f": foo("other") + "---\n" + foo(a=2)}
    assert [str(each) for each in merged.conflicts] == [
        "f.yaml:15: example.org/v1/Foo/x: a: changed on both sides"
        " (base 1, local 2, upstream 3): local is taken"
    ]


def test_a_file_that_was_renamed_locally_is_still_brought_up() -> None:
    """The short-cut: what is not in its file was deleted."""
    new = foo("new")
    merged = merge_resources(
        package(f=foo()), package(g="# mine\n" + foo(a=2)), package(f=foo(b=2) + "---\n" + new)
    )

    assert texts(merged) == {"g": "# mine\n" + foo(a=2, b=2) + "---\n" + new}
    assert merged.conflicts == ()


def test_a_file_that_was_renamed_upstream_takes_local_changes_along() -> None:
    """The short-cut keeps the old file, beside the new one."""
    merged = merge_resources(
        package(f=foo() + "---\n" + foo("y")),
        package(f="# mine\n" + foo(a=2) + "---\n" + foo("y")),
        package(g=foo(b=2) + "---\n" + foo("y")),
    )

    assert texts(merged) == {"g": "# mine\n" + foo(a=2, b=2) + "---\n" + foo("y")}


def test_a_resource_moved_locally_goes_when_upstream_removes_it() -> None:
    """The short-cut keeps what is in no file of upstream."""
    origin = package(f=foo(), rest=foo("y"))
    local = package(g=foo() + "---\n" + foo("mine"), rest=foo("y"))

    assert texts(merge_resources(origin, local, package(rest=foo("y")))) == {
        "g": "# about mine\n" + foo("mine").partition("\n")[2],
        "rest": foo("y"),
    }


def test_resources_moved_on_both_sides_stay_where_they_are_locally() -> None:
    """The short-cut has them twice."""
    merged = merge_resources(package(f=foo()), package(g=foo(a=2)), package(h=foo(b=2)))

    assert texts(merged) == {"g": foo(a=2, b=2)}


def test_a_resource_that_was_renamed_locally_is_found_by_what_else_it_is() -> None:
    """The short-cut goes by name, and a function that sets the namespace ends all updates."""
    spaced = "metadata:\n    namespace: shop\n"
    local = foo(a=2, c="1", d="2").replace("metadata:\n", spaced)
    merged = merge_resources(
        package(f=foo(c="1", d="2"), g=foo("y", c="1", d="2")),
        package(f=local, g=foo("mine", c="1", d="2")),
        package(f=foo(b=2, c="1", d="2"), g=foo("y", b=2, c="1", d="2")),
    )

    assert texts(merged) == {
        "f": local.replace("b: 1", "b: 2"),
        "g": foo("mine", b=2, c="1", d="2"),
    }


def test_a_resource_in_the_place_of_another_is_not_that_one() -> None:
    """The short-cut takes what is alike in most: the new one gets an image it never ran."""
    origin, updated = (foo("redis", image=image, c="1") for image in ("redis:1", "redis:2"))
    local = foo("cache", image="memcached:1", c="1")
    merged = merge_resources(package(f=origin), package(f=local), package(f=updated))

    assert texts(merged) == {"f": local}
    assert told(merged) == [("f.yaml", "removed locally and changed upstream", "local")]


def test_many_resources_are_matched_in_time() -> None:
    """The short-cut compares each with each."""

    def merging(size: int) -> Callable[[], None]:
        sides = [
            package(f="---\n".join(foo(f"{name}-{each}", a=each, b=2) for each in range(size)))
            for name in ("x", "y", "z")
        ]

        def merge() -> None:
            merged = merge_resources(*sides)
            assert merged.files["f.yaml"].data.count(b"---\n") == 2 * size - 1

        return merge

    assert_in_proportion(merging, 55)


def test_the_comment_of_kpt_says_what_a_resource_was() -> None:
    """The short-cut goes by the name it has now."""
    local = foo("mine", a=2).replace("metadata:\n", "metadata: # kpt-merge: /x\n")
    merged = merge_resources(package(f=foo()), package(f=local), package(f=foo(b=2)))

    assert texts(merged) == {"f": local.replace("b: 1", "b: 2")}


def test_nothing_is_written_into_a_resource() -> None:
    """The short-cut marks what it merged, as kpt does."""
    merged = merge_resources(package(f=foo()), package(f=foo(a=2)), package(f=foo(b=2), g=foo("y")))

    assert not any(
        mark in entry.data for entry in merged.files.values() for mark in (b"kpt-merge", b"kpt.dev")
    )


@pytest.mark.parametrize(
    ("state", "name"),
    [(0, "original upstream"), (1, "local"), (2, "updated upstream")],
)
def test_two_of_one_name_in_a_file_are_refused(state: int, name: str) -> None:
    """The short-cut merges the first of them."""
    states = [package(f=foo(a=each)) for each in range(3)]
    states[state] = package(f=foo(a=state) + "---\n" + foo(b=9))

    with pytest.raises(
        PackageError,
        match=re.escape(
            f'found duplicate "{name}" resources in file "f.yaml", please refer to "update"'
            " documentation for the fix"
        ),
    ):
        merge_resources(*states)


def test_two_of_one_name_may_stand_in_two_files() -> None:
    """The short-cut knows a resource by its name alone: the file is a part of which one it is."""
    both = package(f=foo(), g=foo())

    assert texts(merge_resources(both, both, both)) == {"f": foo(), "g": foo()}


@pytest.mark.parametrize(
    ("policy", "side"),
    [(ConflictPolicy.UPSTREAM, 2), (ConflictPolicy.LOCAL, 1), (ConflictPolicy.FAIL, 2)],
)
def test_what_is_no_yaml_is_one_piece(policy: ConflictPolicy, side: int) -> None:
    """The short-cut refuses the package."""
    states = [package(f=f"a: {{{{ .x }}}}\nb: [{each}\n") for each in range(3)]
    merged = merge_resources(*states, policy=policy)

    assert merged.files == states[side]
    assert told(merged) == [
        (
            "f.yaml",
            "changed on both sides, and not YAML that can be merged",
            "local" if policy is ConflictPolicy.LOCAL else "upstream",
        )
    ]


def test_what_is_no_yaml_is_not_brought_back_nor_lost() -> None:
    """The short-cut lets the policy decide, and loses what was changed locally."""
    origin = package(f="{{ 1", g="{{ 1")
    merged = merge_resources(origin, package(g="{{ 2"), package(f="{{ 3"))

    assert texts(merged) == {"g": "{{ 2"}
    assert told(merged) == [
        ("f.yaml", "removed locally and changed upstream", "local"),
        ("g.yaml", "changed locally and removed upstream", "local"),
    ]


def test_a_mode_is_merged_too() -> None:
    """The short-cut takes the mode of the local file."""
    updated = {"f.yaml": Entry(foo(b=2).encode(), EXECUTABLE)}
    merged = merge_resources(package(f=foo()), package(f=foo(a=2)), updated)

    assert merged.files == {"f.yaml": Entry(foo(a=2, b=2).encode(), EXECUTABLE)}


def test_other_files_and_kptfiles_are_passed_over() -> None:
    """The short-cut merges whatever it gets."""
    files = {"Kptfile": Entry(b"a: 1"), "x.json": Entry(b"{}"), "y.yml": Entry(b"a: 1")}

    assert merge_resources(files, files, files).files == {"y.yml": Entry(b"a: 1")}


CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shelves.example.org}
spec:
  group: example.org
  names: {kind: Shelf}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          books: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [isbn]}
"""


def shelf(*books: str) -> str:
    """Return a custom resource with a list."""
    lines = "".join(f"- isbn: {isbn}\n  title: {title}\n" for isbn, title in map(str.split, books))
    return f"apiVersion: example.org/v1\nkind: Shelf\nmetadata:\n  name: s\nbooks:\n{lines}"


def test_lists_of_custom_resources_are_merged_by_their_definition() -> None:
    """The short-cut knows the kinds of Kubernetes."""
    origin, local = shelf("1 a", "2 b"), shelf("1 own", "2 b")
    updated = shelf("1 a", "2 new", "3 c")
    alone = merge_resources(package(s=origin), package(s=local), package(s=updated))
    defined = merge_resources(package(s=origin), package(s=local), package(s=updated, crd=CRD))

    assert texts(alone)["s"] == updated
    assert [each.field for each in alone.conflicts] == ["books"]
    assert texts(defined)["s"] == shelf("1 own", "2 new", "3 c")
    assert defined.conflicts == ()


def test_what_cannot_be_written_stays_local_and_is_told() -> None:
    """The short-cut gives up the whole package for one alias."""
    origin = "metadata: {name: x}\nkind: Foo\na: &a {p: 1, q: 1}\nb: *a\nc: 1\n"
    local = origin.replace("b: *a\nc: 1", "b: *a # both\nc: 2")
    updated = origin.replace("b: *a", "b: {p: 1, q: 2}")
    merged = merge_resources(
        package(f=origin + "---\n" + foo()),
        package(f=local + "---\n" + foo(a=2)),
        package(f=updated + "---\n" + foo(b=2)),
    )

    assert texts(merged) == {"f": local + "---\n" + foo(a=2, b=2)}
    assert [(each.path, each.chosen) for each in merged.conflicts] == [("f.yaml", "local")]
    assert "cannot be written here" in merged.conflicts[0].reason


resources = each_of("xyz", range(1, 4), range(1, 4)).map(lambda parts: foo(*parts))
files = st.lists(resources, max_size=3, unique_by=lambda text: text.partition("\n")[0])
packages = st.dictionaries(st.sampled_from(["f", "g"]), files.map("---\n".join)).map(
    lambda texts: package(**{name: text for name, text in texts.items() if text})
)


@given(packages, packages)
def test_what_one_side_left_alone_is_the_other(
    one: dict[str, Entry], other: dict[str, Entry]
) -> None:
    """The short-cut appends what it cannot place."""
    assert merge_resources(one, one, other) == MergedFiles(dict(sorted(other.items())), ())
    assert merge_resources(one, other, one) == MergedFiles(dict(sorted(other.items())), ())


@settings(max_examples=200)
@given(packages, packages, packages)
def test_every_merge_can_be_read_and_has_no_resource_twice(
    origin: dict[str, Entry], local: dict[str, Entry], updated: dict[str, Entry]
) -> None:
    """The short-cut joins texts, and hopes."""
    merged = merge_resources(origin, local, updated)

    for path, entry in merged.files.items():
        documents = read(entry.data, path=path).documents
        found = [str(each.value) for each in documents if not each.empty]
        named = [text.partition("'name': ")[2].partition("}")[0] for text in found]
        assert found
        assert len(set(named)) == len(named)
