"""A few rounds of each command beside the `kpt` binary; `-m tests.differential` runs more."""

from pathlib import Path
from random import Random

import pytest

from cadlib.package.files import Entry
from tests.differential import making
from tests.differential.rounds import ROUNDS
from tests.differential.tools import KPT


@pytest.mark.skipif(KPT is None, reason="the kpt binary is not installed")
@pytest.mark.parametrize("seed", range(100, 103))
@pytest.mark.parametrize("kind", ROUNDS)
def test_the_same_as_kpt(kind: str, seed: int, tmp_path: Path) -> None:
    """The short-cut is tried on kpt's own cases alone, and on no other package."""
    assert ROUNDS[kind](Random(seed), tmp_path) == ""


def test_a_seed_stands_for_a_package_and_its_changes() -> None:
    """The short-cut draws from a generator of its own, and no failure can be run again."""
    made = [making.package(Random(7)) for _ in range(2)]
    changes = [making.some_changes(Random(7), "x", removals=True) for _ in range(2)]
    after = [making.changed(Random(7), made[n], changes[n]) for n in range(2)]

    assert made[0] == made[1]
    assert after[0] == after[1]
    assert made[0] != after[0]
    assert making.package(Random(8)) != made[0]


def test_changes_leave_the_rest_of_the_text() -> None:
    """What the comparison of updates relies on: both tools' copies get the same changes."""
    files = {"a.yaml": Entry(b"kind: A # x\nmetadata:   {name: a}\nspec:\n  one:  1\n  two: 2\n")}

    for seed in range(20):
        changes = making.some_changes(Random(seed), "who", removals=True)
        after = making.changed(Random(seed), files, changes)
        assert "a.yaml" not in after or b"kind: A # x\n" in after["a.yaml"].data
