"""Which tag a function's `tag` means."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib import versions
from cadlib.errors import PackageError, Place

CASES = Path(__file__).resolve().parents[2] / "../shared/cases/runtime/cases.jsonl"
TAGS = ["v0.1", "v0.2.3", "v0.1.2", "v0", "v0.2", "v0.1.1", "v0.2.1", "v0.2.2", "v1.0.0-rc.1"]

RANGES: dict[str, str] = {
    "~0.1": "v0.1.2",
    "~> 0.2": "v0.2.3",
    "^0.1": "v0.1.2",
    "^0.1.1": "v0.1.2",
    "^0": "v0.2.3",
    "0.2 - 0.2.2": "v0.2.2",
    "0.1 - 0.2": "v0.2.3",
    "*": "v0.2.3",
    "x": "v0.2.3",
    "0.x": "v0.2.3",
    "0.1.x": "v0.1.2",
    ">0.1": "v0.2.3",
    ">=0.1, <0.2": "v0.1.2",
    ">= 0.1 <0.2.2": "v0.2.1",
    "=>0.1,=<0.2.1": "v0.2.1",
    "<=0.1": "v0.1.2",
    "<0.1": "v0",
    "=0.1": "v0.1.2",
    "!=0.2": "v0.1.2",
    "!=0.2.3": "v0.2.2",
    "2.x || 0.1.x": "v0.1.2",
    ">=1.0.0-alpha": "v1.0.0-rc.1",
    "~1.0.0-0": "v1.0.0-rc.1",
}


def _tags(_: str) -> list[str]:
    return TAGS


@pytest.mark.parametrize(("tag", "expected"), RANGES.items(), ids=RANGES)
def test_the_highest_tag_in_a_range(tag: str, expected: str) -> None:
    """The short-cut is to compare texts, for which v0.10 comes before v0.2."""
    assert versions.resolve("h:1/a:v9", tag, _tags, Place()) == f"h:1/a:{expected}"


LITERAL: dict[str, tuple[str, str, str]] = {
    "none": ("a:v1", "", "a:v1"),
    "added": ("a", "v2", "a:v2"),
    "instead of the image's": ("r:5000/x/a:v1", "v2", "r:5000/x/a:v2"),
    "instead of a digest": ("a@sha256:" + "0" * 64, "latest", "a:latest"),
    "a name with an x in it": ("a", "v1.2.3-x.1", "a:v1.2.3-x.1"),
    "a version with two numbers": ("a", "v1.2", "a:v1.2"),
    "a build": ("a", "master-git-38f885f", "a:master-git-38f885f"),
}


@pytest.mark.parametrize(("image", "tag", "expected"), LITERAL.values(), ids=LITERAL)
def test_a_tag_that_is_no_range_is_taken_as_it_stands(image: str, tag: str, expected: str) -> None:
    """The short-cut is to list the tags first, which an exact version does not need."""

    def tags(name: str) -> list[str]:
        raise AssertionError(name)

    assert versions.resolve(image, tag, tags, Place()) == expected
    assert versions.with_tag(image, tag) == expected


REFUSED: dict[str, tuple[str, str]] = {
    "no tag fits": ("0.3.x", 'no tag could be found matching the version constraint "0.3.x"'),
    "a version before its release": (
        ">=0.3",
        'no tag could be found matching the version constraint ">=0.3"',
    ),
    "no range": (">>0.1", '`function.tag` ">>0.1" must be a valid image tag: must start with'),
    "a build number": ("v0.3.1+build", '`function.tag` "v0.3.1+build" must be a valid image tag'),
}


@pytest.mark.parametrize(("tag", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(tag: str, message: str) -> None:
    with pytest.raises(PackageError) as caught:  # the text is compared below
        versions.resolve("a", tag, _tags, Place("Kptfile", 7))

    assert str(caught.value).startswith(f"Kptfile:7: {message}")


def test_only_ranges_ask_for_tags() -> None:
    assert [versions.with_tag("a", tag) for tag in ("~1.2", ">=1.2, <2", "1.x")] == [None] * 3


def test_tags_that_are_no_versions_are_passed_over() -> None:
    every = versions.version_range("*") or ()
    tags = ["v0.1.0", "sha256-0123.sbom", "38f885f", "v1-git-1", "v0.1.1", "v0.1.1", "latest"]

    assert versions.matching(tags, every) == ("v0.1.1", "v0.1.0")


def test_versions_before_a_release_in_order() -> None:
    tags = ["1.0.0-rc.10", "1.0.0", "1.0.0-rc.9", "1.0.0-alpha", "1.0.0-1"]

    assert versions.matching(tags, versions.version_range(">=0.0.0-0") or ()) == (
        "1.0.0", "1.0.0-rc.10", "1.0.0-rc.9", "1.0.0-alpha", "1.0.0-1",
    )  # fmt: skip


_NUMBERS = st.tuples(*[st.integers(0, 30)] * 3)


@given(_NUMBERS, _NUMBERS)
def test_the_parts_of_a_comparison_add_up(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    left, right = (".".join(map(str, each)) for each in (one, other))
    found = versions.version(left)
    assert found is not None
    holds = {
        sign: versions.fits(found, versions.version_range(sign + right) or ())
        for sign in ("<", "<=", "=", "!=", ">=", ">")
    }

    assert holds["<"] is (one < other)
    assert holds["<="] is (holds["<"] or holds["="])
    assert holds[">="] is not holds["<"]
    assert holds[">"] is (not holds["<="])
    assert holds["!="] is not holds["="]


@given(st.text(alphabet="v0123456789.xX*<>=~^!|, -", max_size=30))
def test_any_text_is_a_version_a_range_or_neither(text: str) -> None:
    versions.tag_problem(text)


def test_a_long_text_is_no_range() -> None:
    assert versions.version_range(">=1 " * 100_000) is None
    assert versions.version("1" * 5_000) is None


def test_public_cases() -> None:
    if not CASES.exists():
        pytest.skip(f"{CASES} is missing: the shared cases are not beside this checkout")
    every = versions.version_range("*") or ()
    cases = [
        case
        for case in map(json.loads, CASES.read_text().splitlines())
        if case["kind"] == "filter-sort-tags"
    ]

    assert [list(versions.matching(case["tags"], every)) for case in cases] == [
        case["expected"] for case in cases
    ]
    assert len(cases) == 3
