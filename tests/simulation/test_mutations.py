"""The defences that the simulation is tried on: none of them has moved."""

from contextlib import suppress
from typing import Never

import pytest

from tests.mutations import ROOT
from tests.simulation.__main__ import TooLongError, until_found
from tests.simulation.mutate import PAGE, Found, read, table


def test_each_mutation_can_be_made_and_is_told_in_the_page() -> None:
    """Fails when the code moves and an entry takes nothing out any more."""
    mutations = read()
    for mutation in mutations:
        assert mutation.applied(ROOT) != (ROOT / mutation.file).read_text()
    assert len(mutations) >= 40
    page = PAGE.read_text()
    assert table(mutations, {}, page) == page


def test_what_was_not_tried_again_keeps_its_row() -> None:
    """Fails when one mutation cannot be tried without losing what is known of the others."""
    first, second = read()[:2]
    page = table([first, second], {}, "a\n<!-- mutations --><!-- end of mutations -->\nb\n")
    page = table([first, second], {first.defence: Found(12, "approved")}, page)
    again = table([first, second], {second.defence: Found(0, "", 3000)}, page)
    assert f"| {second.defence} | `{second.file}` | not yet | |" in page
    assert f"| {first.defence} | `{first.file}` | 12 | approved |" in again
    assert f"| {second.defence} | `{second.file}` | not in 3,000 | |" in again
    assert (again[:2], again[-2:]) == ("a\n", "b\n")


def test_a_history_that_does_not_end_finds_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut waits for it for ever, or counts it as found."""

    def endless(_: str, **_more: object) -> Never:
        while True:
            pass

    monkeypatch.setattr("tests.simulation.__main__.play", endless)
    assert until_found(first=1, count=3, each=0.001) == 2
    said = capsys.readouterr().out
    assert said.endswith("nothing was found in 0 histories; the next one does not end\n")


def test_what_catches_the_end_of_a_history_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short-cut refused: one signal, which Python drops where a destructor runs just then."""

    def stubborn(_: str, **_more: object) -> Never:
        for _again in range(3):
            with suppress(TooLongError):
                while True:
                    pass
        while True:
            pass

    monkeypatch.setattr("tests.simulation.__main__.play", stubborn)
    assert until_found(first=1, count=3, each=0.001) == 2
