"""The defences that the simulation is tried on: none of them has moved."""

from contextlib import suppress
from dataclasses import replace
from typing import Never

import pytest

from tests.mutations import ROOT
from tests.simulation.__main__ import TooLongError, until_found
from tests.simulation.mutate import PAGE, Found, Wrong, read, search, table


def test_each_mutation_can_be_made_and_is_told_in_the_page() -> None:
    """Fails when the code moves and an entry takes nothing out any more."""
    mutations = read()
    for mutation in mutations:
        for file, text in mutation.without(ROOT).items():
            assert text != (ROOT / file).read_text()
    assert len(mutations) >= 40
    page = PAGE.read_text()
    assert table(mutations, {}, page) == page


def test_what_was_not_tried_again_keeps_its_row() -> None:
    """Fails when one mutation cannot be tried without losing what is known of the others."""
    first, second = read()[:2]
    page = table([first, second], {}, "a\n<!-- mutations --><!-- end of mutations -->\nb\n")
    page = table([first, second], {first: Found(12, "approved")}, page)
    again = table([first, second], {second: Found(0, "", 3000)}, page)
    assert f"| {second.defence} | `{second.file}` | not yet | |" in page
    assert f"| {first.defence} | `{first.file}` | 12 | approved |" in again
    assert f"| {second.defence} | `{second.file}` | not in 3,000 | |" in again
    assert (again[:2], again[-2:]) == ("a\n", "b\n")

    otherwise = replace(second, find="what stands there since")
    changed = table([otherwise, first], {second: Found(7, "approved")}, again)
    assert f"| {second.defence} | `{second.file}` | not in 3,000 | |" in changed
    assert changed.index(first.defence) > changed.index(second.defence)


def test_only_what_the_mutation_alone_violates_is_a_find() -> None:
    """Short-cuts refused: any violation counts, also one that is there without the mutation; the
    first check is named, which may be one of these; the search ends with a history that is wrong
    anyway."""
    asked = []

    def mutated(first: int, most: int) -> Wrong:
        asked.append((first, most))
        return {1: Wrong(2, ("prompt",)), 3: Wrong(4, ("prompt", "approved"))}[first]

    def whole(first: int, most: int) -> Wrong:
        assert most == 1
        return Wrong(1, ("prompt",)) if first in (2, 6) else Wrong(1)

    assert search(mutated, whole, 10) == Found(6, "approved", 10)
    assert asked == [(1, 10), (3, 8)]
    assert search(lambda *_: Wrong(5), whole, 10) == Found(0, "", 5)
    assert search(lambda *_: Wrong(1, ("prompt",)), lambda *_: Wrong(1, ("prompt",)), 3) == Found(
        0, "", 3
    )


def test_what_a_run_printed_names_each_invariant_that_broke() -> None:
    """Short-cut refused: a run that ended with an error counts as one that found nothing."""
    said = "found after 3 histories: prompt, approved\nprompt: late\napproved: no\n"
    assert Wrong.of(said) == Wrong(3, ("prompt", "approved"))
    assert Wrong.of("nothing was found in 2 histories; the next one does not end\n") == Wrong(2)
    with pytest.raises(ValueError, match="Traceback"):
        Wrong.of("Traceback (most recent call last)")


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
