"""Modules of commands are imported without a look for cycles, which goes on as it was."""

import gc

import pytest

from bot.cli.lazy import importing


@pytest.mark.parametrize("collects", [True, False])
def test_what_looks_for_cycles_is_afterwards_as_it_was(collects: bool) -> None:
    """The short-cut starts it again in commands that end soon and have stopped it; or in none, and
    a server keeps all its garbage."""
    before = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        with importing():
            assert not gc.isenabled()
        assert gc.isenabled() is collects
    finally:
        (gc.enable if before else gc.disable)()
