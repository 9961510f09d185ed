"""Names are made and read back, and git accepts each of them."""

import subprocess
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lifecycle import names
from lifecycle.messages import naming
from lifecycle.names import Ref
from lifecycle.policy import Policy, Root

FOLDERS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).map(
    lambda text: text.replace("/", "_")
)
PATHS = st.lists(st.one_of(FOLDERS, st.sampled_from(["net", "core", "v1", "v0"])), max_size=3).map(
    "/".join
)

TAGS: dict[str, tuple[str, tuple[str, int] | None]] = {
    "a package": ("refs/tags/net/core/v5", ("net/core", 5)),
    "a package at the root": ("refs/tags/v5", ("", 5)),
    "two digits": ("refs/tags/net/v12", ("net", 12)),
    "a folder that only begins like a revision": ("refs/tags/v1beta1/v2", ("v1beta1", 2)),
    "a short name is not read: it matches the tail of others": ("net/core/v5", None),
    "a branch": ("refs/heads/net/core/v5", None),
    "three numbers are foreign": ("refs/tags/net/core/v1.2.3", None),
    "a release candidate is foreign": ("refs/tags/net/core/v1-rc1", None),
    "a leading zero is foreign": ("refs/tags/net/core/v05", None),
    "no revision has the number 0": ("refs/tags/net/core/v0", None),
    "a capital letter is foreign": ("refs/tags/net/core/V5", None),
    "no number": ("refs/tags/net/core/v", None),
    "other digits than ours": ("refs/tags/net/core/v\u0665", None),
    "a number beyond every counter": ("refs/tags/net/core/v99999999999", None),
    "a tag below a folder named like a revision": ("refs/tags/net/v5/v1", None),
    "no name git would hold": ("refs/tags/net//v5", None),
    "a line end at the end": ("refs/tags/net/v5\n", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("ref", "expected"), TAGS.values(), ids=TAGS)
def test_tags_are_read(ref: str, expected: tuple[str, int] | None) -> None:
    """Short-cut refused: splitting at the last `/v` and calling `int`."""
    assert names.parse_tag(ref) == expected


@given(PATHS, st.integers(-1, 10**10))
def test_every_tag_made_is_read_back(package: str, revision: int) -> None:
    try:
        made = names.tag(package, revision)
    except ValueError:
        assume(False)

    assert names.parse_tag(made) == (package, revision)


@given(st.text())
def test_every_tag_read_is_made_again(text: str) -> None:
    read = names.parse_tag(f"refs/tags/{text}")
    if read is not None:
        assert names.tag(*read) == f"refs/tags/{text}"


def test_a_tag_that_git_cannot_hold_is_not_made() -> None:
    wanted = "tag 'net core/v1': git forbids it (characters). Rename the folder."

    with pytest.raises(ValueError, match=r"^tag 'net core/v1'") as error:
        names.tag("net core", 1)
    assert str(error.value) == wanted
    with pytest.raises(ValueError, match="not read back"):
        names.tag("net/v5", 1)


NUMBERS: dict[str, tuple[str, list[str], dict[str, set[int]], int]] = {
    "the first": ("net/core", [], {}, 1),
    "one more than the highest, not than the count": (
        "net/core",
        ["refs/tags/net/core/v2", "refs/tags/net/core/v10"],
        {},
        11,
    ),
    "the root package does not count the others": ("", ["refs/tags/net/core/v5"], {}, 1),
    "a nested package does not count the root's": ("net/core", ["refs/tags/v5"], {}, 1),
    "nor does one whose name ends alike": ("core", ["refs/tags/net/core/v5"], {}, 1),
    "foreign tags do not count": ("net/core", ["refs/tags/net/core/v7.0.0"], {}, 1),
    "a withdrawn number stays used": ("net/core", [], {"net/core": {4}}, 5),
    "the higher of ledger and tags": (
        "net/core",
        ["refs/tags/net/core/v6"],
        {"net/core": {4}, "net": {9}},
        7,
    ),
}


@pytest.mark.parametrize(("package", "tags", "ledger", "expected"), NUMBERS.values(), ids=NUMBERS)
def test_next_revision(
    package: str, tags: list[str], ledger: dict[str, set[int]], expected: int
) -> None:
    assert names.next_revision(package, tags, ledger) == expected


def test_revisions_rise_and_leave_out_foreign_tags() -> None:
    tags = ["refs/tags/net/v10", "refs/tags/net/v9", "refs/tags/net/v1.0.0", "refs/tags/v1"]

    assert names.revisions("net", tags) == (9, 10)


WORKSPACES: dict[str, tuple[str, str]] = {
    "a draft": ("drafts/net/core/more-peers", "more-peers"),
    "one named like a revision": ("drafts/net/core/v2", "v2"),
    "of the root package": ("drafts/v2", "v2"),
    "in parts, named by its last": ("drafts/net/feature/fix-7", "fix-7"),
    "another branch": ("fix/typo", "pr-7"),
    "a branch below another": ("feature/net/core", "pr-7"),
    "a branch that only begins alike": ("drafts-old/net/v1", "pr-7"),
    "no workspace": ("drafts/", "pr-7"),
    "the folder alone": ("drafts", "pr-7"),
    "no folder": ("main", "pr-7"),
}


@pytest.mark.parametrize(("branch", "expected"), WORKSPACES.values(), ids=WORKSPACES)
def test_workspaces_for_porch(branch: str, expected: str) -> None:
    """Short-cut refused: the last part of every branch."""
    assert names.workspace(branch, 7) == expected


UNITS: dict[str, tuple[set[str], Policy, str, list[str], set[str]]] = {
    "packages anywhere": ({"a", "b/c"}, Policy(), "main", [], {"a", "b/c"}),
    "the outermost holds what is inside": ({"a", "a/b", "a/b/c"}, Policy(), "main", [], {"a"}),
    "the root package holds everything": ({"", "a"}, Policy(), "main", [], {""}),
    "a nested one with tags of its own": (
        {"a", "a/b", "a/c"}, Policy(), "main", ["refs/tags/a/b/v3"], {"a", "a/b"},
    ),
    "foreign tags make no unit": (
        {"a", "a/b"}, Policy(), "main", ["refs/tags/a/b/v3.0.0"], {"a"},
    ),
    "a nested one that is listed": (
        {"a", "a/b"}, Policy(roots=(Root("a"), Root("a/b"))), "main", [], {"a", "a/b"},
    ),
    "only below the roots": (
        {"", "packages/a", "other"}, Policy(roots=(Root("packages"),)), "main", [], {"packages/a"},
    ),
    "only on the branch of the root": (
        {"packages/a", "edge/b"},
        Policy(roots=(Root("packages", "main"), Root("edge", "next"))),
        "next", [], {"edge/b"},
    ),
    "without a file, nothing on other branches": ({"a"}, Policy(), "topic", [], set()),
}  # fmt: skip


@pytest.mark.parametrize(
    ("packages", "policy", "base", "tags", "expected"), UNITS.values(), ids=UNITS
)
def test_units_of_release(
    packages: set[str], policy: Policy, base: str, tags: list[str], expected: set[str]
) -> None:
    assert names.units(packages, policy, base, "main", tags) == expected


REFUSED: dict[str, tuple[set[str], list[str]]] = {
    "good ones": ({"", "net/core", "apis/v1beta1"}, []),
    "a folder named like a revision": (
        {"net/v5"},
        [
            "net/v5/Kptfile: the folder 'v5' is named like a revision, and git cannot hold tags"
            " below the tag 'net/v5' of package net. Rename the folder."
        ],
    ),
    "the same at the root": (
        {"v5"},
        [
            "v5/Kptfile: the folder 'v5' is named like a revision, and git cannot hold tags below"
            " the tag 'v5' of a package at the root. Rename the folder."
        ],
    ),
    "a package below such a folder, where a package is above": (
        {"net", "net/v5/core"},
        [
            "net/v5/core/Kptfile: the folder 'v5' is named like a revision, and git cannot hold"
            " tags below the tag 'net/v5' of package net. Rename the folder."
        ],
    ),
    "a package below such a folder, where none is above": ({"apis/v1/core"}, []),
    "a path that git refuses": (
        {"net core"},
        [
            "net core/Kptfile: its path cannot be part of a tag: git does not allow ' ' in a"
            " ref name."
            " Rename the folder."
        ],
    ),
}


@pytest.mark.parametrize(("packages", "expected"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_tagged_is_a_finding(packages: set[str], expected: list[str]) -> None:
    found = naming.problems(packages)

    assert [str(finding) for finding in found] == expected


@given(st.sets(PATHS), st.integers(1, 99))
def test_what_has_no_finding_can_be_tagged(packages: set[str], revision: int) -> None:
    refused = {finding.place.path for finding in naming.problems(packages)}
    for package in packages:
        if f"{package}/Kptfile" not in refused:
            assert names.parse_tag(names.tag(package, revision)) == (package, revision)


SHAPES = st.lists(
    st.sampled_from(["a", "v5", ".", "..", "@{", "@", "~", "^", ":", " ", "\\", "*", "[", "?",
                     ".lock", "/", "-", "\x7f", "\t", "é"]),
    max_size=6,
).map(lambda parts: "refs/tags/" + "".join(parts))  # fmt: skip


@given(st.lists(SHAPES, min_size=1, max_size=3, unique=True))
def test_git_agrees_about_every_name(refs: list[str]) -> None:
    """Short-cut refused: a list of letters that are allowed, tried on good names only."""
    for ref in refs:
        done = subprocess.run(["git", "check-ref-format", ref], check=False)

        assert (done.returncode == 0) == (naming.ref_problem(ref) == ""), ref


def test_a_part_too_long_for_a_file_is_refused() -> None:
    assert naming.ref_problem("refs/tags/" + "é" * 126) == (
        "a part of the ref name is longer than 250 bytes"
    )
    assert naming.ref_problem("refs/tags/net core/v1") == "git does not allow ' ' in a ref name"
    assert naming.ref_problem("refs/tags/" + "é" * 125) == ""


CLASHES: dict[str, tuple[str, list[str], str | None]] = {
    "a ref around it": ("refs/tags/net/v1/v1", ["refs/tags/net/v1"], "refs/tags/net/v1"),
    "a ref inside it": ("refs/heads/x", ["refs/heads/x/v1"], "refs/heads/x/v1"),
    "itself": ("refs/tags/net/v1", ["refs/tags/net/v1"], None),
    "a name that only begins alike": ("refs/tags/net/v1", ["refs/tags/net/v12"], None),
    "the first by name": ("refs/a", ["refs/a/c", "refs/a/b"], "refs/a/b"),
}  # fmt: skip


@pytest.mark.parametrize(("ref", "refs", "expected"), CLASHES.values(), ids=CLASHES)
def test_no_ref_stands_inside_another(ref: str, refs: list[str], expected: Ref | None) -> None:
    assert names.clash(ref, refs) == expected


MERGES: dict[str, tuple[str, str | None]] = {
    "GitHub's merge commit": ("Merge pull request #12 from acme/topic\n\nTitle", "#12"),
    "a squashed one": ("Add peers (#12)\n\n* first", "#12"),
    "ours": ("Publish net/core v5 (#12)", "#12"),
    "ours on GitLab": ("Publish net/core v5 (!12)", "#12"),
    "GitLab's merge commit": (
        "Merge branch 'topic' into 'main'\n\nAdd peers\n\nSee merge request acme/x!12",
        "#12",
    ),
    "CRLF": ("Add peers (#12)\r\n\r\nmore", "#12"),
    "a number elsewhere": ("Fix #12 at last", None),
    "in the second line": ("Fix\nAdd (#12)", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("message", "expected"), MERGES.values(), ids=MERGES)
def test_which_proposal_a_commit_merged(message: str, expected: str | None) -> None:
    assert names.proposal_of(message) == expected


def test_a_package_whose_numbers_are_used_up_is_not_published() -> None:
    """The short-cut counts on, and `tag` then refuses the number after the merge."""
    highest = names.next_revision("net", ["refs/tags/net/v999999999"], {})
    (finding,) = naming.used_up([("edge", 1), ("net", highest)])

    assert str(finding) == (
        "net/Kptfile: revision v999999999 is used, and there is no higher number."
        " Delete the tag, if nobody uses that revision."
    )


def test_a_long_name_that_somebody_wrote_is_not_kept() -> None:
    """Short-cut refused: what is wrong with each ref is kept, whatever its length: thousands of
    refs of a million characters, which any Kptfile may name."""
    ref = f"refs/tags/{'r/' * 500_000}v1"
    counted = sys.getrefcount(ref)

    assert names.fault(ref) is None

    assert sys.getrefcount(ref) == counted
