"""A few Kptfiles beside the `kpt` binary; `-m tests.differential` runs more."""

from pathlib import Path
from random import Random

import pytest

from tests.differential.kptfiles import ROUNDS
from tests.differential.tools import KPT


@pytest.mark.skipif(KPT is None, reason="the kpt binary is not installed")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ROUNDS)
def test_the_same_as_kpt(kind: str, seed: int, tmp_path: Path) -> None:
    """The short-cut is tried on kpt's own cases alone, and on no other Kptfile."""
    assert ROUNDS[kind](Random(seed), tmp_path) == ""
