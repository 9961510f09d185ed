"""What fetches saw of refs is found by place, however many places there are."""

from pathlib import Path
from typing import Any

import pytest

from bot.git import refs as git_refs
from bot.git.seen import SeenRefs
from lifecycle.names import Sha

ONE, TWO = Sha("1" * 40), Sha("2" * 40)


def branch(number: int) -> str:
    return f"refs/heads/drafts/edge/p{number:04}/w"


def test_a_thousand_drafts_are_remembered(tmp_path: Path) -> None:
    """Short-cut refused: 500 places are kept, and each look at one of a thousand drafts fetches."""
    seen = SeenRefs(tmp_path)
    for number in range(1_500):
        folder = f"refs/tags/edge/p{number:04}"
        seen.keep(float(number), [branch(number), folder], {branch(number): (ONE, ONE)})

    assert seen.at(branch(0)) == {branch(0): (ONE, ONE)}
    assert seen.at("refs/tags/edge/p0000/v1") == {}
    assert seen.at("refs/tags/edge/p00") is None
    assert seen.at("refs/heads/drafts/edge") is None  # what is around a place was not fetched
    assert seen.has_all([branch(3), "refs/tags/edge/p0004/v1"], since=3.0)
    assert not seen.has_all([branch(3), branch(4)], since=4.0)
    assert not seen.has_all([f"{branch(3)}x"], since=0.0)


def test_the_newest_of_places_around_one_another_counts(tmp_path: Path) -> None:
    """Short-cuts refused: what was seen first is told; a ref that moved stays where it was in one
    of them."""
    seen = SeenRefs(tmp_path)
    seen.keep(1.0, ["refs/heads"], {branch(1): (ONE, ONE), branch(2): (ONE, ONE)})
    seen.keep(2.0, [branch(1)], {branch(1): (TWO, TWO)})
    assert seen.at(branch(1)) == {branch(1): (TWO, TWO)}
    seen.moved({branch(1), branch(2)}, {branch(2): (TWO, TWO)})
    assert (seen.at(branch(1)), seen.at("refs/heads")) == ({}, {branch(2): (TWO, TWO)})
    seen.keep(3.0, ["refs/heads"], {branch(1): (ONE, ONE)})
    assert not seen.asked(branch(1))
    assert seen.at(branch(1)) == {branch(1): (ONE, ONE)}


class Counted(dict[str, tuple[Sha, Sha]]):
    """Refs that count how often one of them is gone over."""

    gone_over = 0

    def items(self) -> Any:
        Counted.gone_over += len(self)
        return super().items()


@pytest.fixture
def gone_over(monkeypatch: pytest.MonkeyPatch) -> type[Counted]:
    monkeypatch.setattr(Counted, "gone_over", 0)
    return Counted


def test_many_places_are_told_apart_in_one_pass(tmp_path: Path, gone_over: type[Counted]) -> None:
    """The short-cut goes over all refs for each place: a proposal that changes 1,000 packages holds
    up its repository for half a minute at each look.
    """
    folders = [f"refs/tags/edge/p{number}" for number in range(300)]
    refs = gone_over({f"{folder}/v{n}": (ONE, ONE) for folder in folders for n in (1, 2)})
    seen = SeenRefs(tmp_path)
    seen.keep(1.0, ["refs/tags"], refs)
    seen.keep(2.0, folders, refs)
    there = seen.at_each([*folders, "refs/tags/edge/other", "refs/heads/main"])

    assert gone_over.gone_over <= 3 * len(refs)
    assert there.pop("refs/tags/edge/other") == {}
    assert there.pop("refs/heads/main") is None
    assert {place: list(found or ()) for place, found in there.items()} == {
        folder: [f"{folder}/v1", f"{folder}/v2"] for folder in folders
    }


def test_places_that_were_not_fetched_are_found_around_in_one_pass(
    tmp_path: Path, gone_over: type[Counted]
) -> None:
    """The short-cut goes over all tags of the repository for each package of a proposal."""
    folders = [f"refs/tags/edge/p{number}" for number in range(300)]
    refs = gone_over({f"{folder}/v1": (ONE, ONE) for folder in folders})
    kept = git_refs.by_place(refs, folders)

    assert gone_over.gone_over == len(refs)
    assert kept == {folder: {f"{folder}/v1": (ONE, ONE)} for folder in folders}
    assert git_refs.at(refs, folders) == refs
    assert gone_over.gone_over == 2 * len(refs)


NAMED: dict[str, tuple[list[str], list[str]]] = {
    "few": (["refs/heads/a", "refs/tags/b"], ["refs/heads/a", "refs/tags/b"]),
    "many tags": (
        ["refs/heads/a", "refs/tags/b", "refs/tags/c", "refs/tags/d"],
        ["refs/heads/a", "refs/tags"],
    ),
    "many branches": ([f"refs/heads/{name}" for name in "abcd"], ["refs/heads"]),
}


@pytest.mark.parametrize(("places", "asked"), NAMED.values(), ids=NAMED)
def test_git_is_asked_for_all_in_place_of_very_many(
    places: list[str], asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut names each: git compares each with each ref, and a command line ends."""
    monkeypatch.setattr(git_refs, "MOST_NAMED", 3)

    assert git_refs.named(places) == asked
