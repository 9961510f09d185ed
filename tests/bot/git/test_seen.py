"""What fetches saw of refs is found by place, however many places there are."""

from pathlib import Path

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
