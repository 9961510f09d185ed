"""What counts as a change of a package since it was fetched."""

import pytest

from cadlib.update.compare import changed
from tests.cadlib.upstreams import config_map, files, kptfile

PLAIN = config_map("a", x="1")


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace("metadata:", "metadata: # kpt-merge: /a"),
        PLAIN.replace("  name: a\n", "  name: 'a'\n").replace("  x: 1\n", "    x: 1\n"),
        PLAIN.replace(
            "  name: a\n",
            "  name: a\n  annotations:\n    cnrm.cloud.google.com/blueprint: krm-pkg\n",
        ),
    ],
)
def test_what_kpt_writes_on_its_own_account_is_no_change(text: str) -> None:
    """The short-cut: compare bytes."""
    assert changed(files({"a.yaml": PLAIN}), files({"a.yaml": text})) == []


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace("x: 1", "x: 2"),
        PLAIN.replace("x: 1", "x: 1 # mine"),
        PLAIN.replace("data:", "# mine\ndata:"),
        PLAIN + "---\n" + PLAIN,
        "{{ a template }}",
        "",
    ],
)
def test_values_and_comments_that_people_wrote_are_changes(text: str) -> None:
    """The short-cut: compare values alone."""
    assert changed(files({"a.yaml": PLAIN}), files({"a.yaml": text})) == ["a.yaml"]


def test_files_that_only_one_side_has_are_changes() -> None:
    """The short-cut: compare what both have."""
    assert changed(files({"a": "1", "b": "1"}), files({"b": "1", "c": "1"})) == ["a", "c"]


def test_a_kptfile_may_have_another_address_and_at_the_root_another_name() -> None:
    """The short-cut: compare Kptfiles as any other file."""
    here, there = kptfile("here", upstream="x@v1", lock="x@v1"), kptfile("there")
    assert changed(files({"Kptfile": there}), files({"Kptfile": here})) == []
    assert changed(files({}), files({"Kptfile": here})) == []
    told = here + "info:\n  description: mine\n"
    assert changed(files({}), files({"Kptfile": told})) == ["Kptfile"]
    assert changed(files({"in/Kptfile": there}), files({"in/Kptfile": here})) == ["in/Kptfile"]
