"""Whole files merged three ways: every combination, with what is said of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib.package.files import EXECUTABLE, REGULAR, SYMLINK, Entry
from cadlib.update.files import merge_files


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result", "conflict"),
    [
        # The short-cut of kpt: a file that was deleted here is copied again.
        ("1", None, "1", None, False),
        ("1", None, "2", None, True),
        ("1", "1", "2", "2", False),
        ("1", "2", "1", "2", False),
        ("1", "2", "2", "2", False),
        ("1", "2", "3", "2", True),
        ("1", "1", None, None, False),
        ("1", "2", None, "2", True),
        ("1", None, None, None, False),
        (None, None, "1", "1", False),
        (None, "1", None, "1", False),
        (None, "1", "1", "1", False),
        (None, "1", "2", "1", True),
    ],
)
def test_who_changed_a_file_decides(
    base: str | None, ours: str | None, theirs: str | None, result: str | None, conflict: bool
) -> None:
    """The short-cut: take upstream's file wherever there is one."""
    sides = ({"f": Entry(each.encode())} if each else {} for each in (base, ours, theirs))
    merged, conflicts = merge_files(*sides)
    assert merged == ({"f": Entry(result.encode())} if result else {})
    assert [each.path for each in conflicts] == (["f"] if conflict else [])
    assert all(each.chosen == "local" for each in conflicts)


def test_a_conflict_does_not_show_what_is_in_the_file() -> None:
    """The short-cut: put both texts into the report, secrets too."""
    sides = ({"token": Entry(each)} for each in (b"old-secret", b"my-secret", b"new-secret"))
    _, (conflict,) = merge_files(*sides)
    assert "secret" not in f"{conflict} {conflict.as_json()}"


def test_a_mode_changes_apart_from_the_content() -> None:
    """The short-cut: merge entries as one piece."""
    merged, conflicts = merge_files(
        {"f": Entry(b"1")}, {"f": Entry(b"1", EXECUTABLE)}, {"f": Entry(b"2")}
    )
    assert merged == {"f": Entry(b"2", EXECUTABLE)}
    assert conflicts == ()


def test_a_link_and_a_text_are_not_put_together() -> None:
    """The short-cut merges mode and content apart, and links to what was a text."""
    sides = ({"f": each} for each in (Entry(b"1"), Entry(b"2"), Entry(b"1", SYMLINK)))
    merged, (conflict,) = merge_files(*sides)
    assert merged == {"f": Entry(b"2")}
    assert conflict.chosen == "local"


_TREES = st.dictionaries(
    st.sampled_from("abc"),
    st.builds(Entry, st.sampled_from([b"1", b"2"]), st.sampled_from([REGULAR, EXECUTABLE])),
)


@given(_TREES, _TREES)
def test_one_side_alone_decides(one: dict[str, Entry], other: dict[str, Entry]) -> None:
    """The short-cut: a rule that treats additions and deletions apart, and forgets one."""
    assert merge_files(one, one, other) == (dict(sorted(other.items())), ())
    assert merge_files(one, other, one) == (dict(sorted(other.items())), ())
    assert merge_files(one, other, other) == (dict(sorted(other.items())), ())


def test_a_link_is_one_piece_with_its_mode() -> None:
    """The short-cut: a symlink with the text of a file."""
    merged, _ = merge_files({"f": Entry(b"1")}, {"f": Entry(b"1")}, {"f": Entry(b"t", SYMLINK)})
    assert merged == {"f": Entry(b"t", SYMLINK)}
