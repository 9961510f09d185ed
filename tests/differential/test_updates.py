"""A few updates beside the `kpt` binary; `-m tests.differential --kind hard` runs more."""

from pathlib import Path
from random import Random

import pytest

from tests.differential import hard, published
from tests.differential.tools import KPT

pytestmark = pytest.mark.skipif(KPT is None, reason="the kpt binary is not installed")


@pytest.mark.skipif(not published.BUNDLE.exists(), reason="the published packages are not here")
def test_published_packages_are_updated_as_by_kpt(tmp_path: Path) -> None:
    """The short-cut is tried on packages that were made for the test alone."""
    assert published.published(Random(3), tmp_path) == ""


@pytest.mark.parametrize(
    ("name", "strategy"),
    [
        ("a subpackage moves that is changed here", "resource-merge"),
        ("another file is changed on both sides", "resource-merge"),
        ("a function gets another version", "fast-forward"),
    ],
)
def test_hard_cases_are_updated_as_by_kpt(name: str, strategy: str, tmp_path: Path) -> None:
    """Short-cuts refused: kpt's own cases alone; a deviation that nobody has written down."""
    assert hard.updated(name, strategy, tmp_path) == ""
