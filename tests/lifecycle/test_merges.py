"""What the base was before a merge, and what a merge does that nobody was shown."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest

from lifecycle import merges
from lifecycle.merges import Arrival, Move
from lifecycle.names import Sha
from tests.lifecycle.samples import NOW

A, B, C, D, E, F = (Sha(letter * 40) for letter in "abcdef")
NONE = Sha("0" * 40)

LINES: Mapping[Sha, Sha] = {B: A, C: B, D: C, E: D}
"""A history without branches: each commit to its first parent."""


def line(tip: Sha, after: Sha) -> tuple[Sha, ...] | None:
    found: list[Sha] = []
    while tip != after:
        found.insert(0, tip)
        if tip not in LINES:
            return None
        tip = LINES[tip]
    return tuple(found)


def moves(*given: tuple[Sha, Sha, bool]) -> list[Move]:
    """Moves, given oldest first as before, after, forced."""
    return [
        Move(before=before, after=after, actor="x", at=NOW + timedelta(minutes=n), forced=forced)
        for n, (before, after, forced) in reversed(list(enumerate(given)))
    ]


MERGE, PUSH, QUEUE = False, False, False
ARRIVALS: dict[str, tuple[list[Move], Sha, Sequence[Sha], Sequence[Sha], Arrival | None]] = {
    "a merge commit of its own": (
        moves((A, B, MERGE), (B, C, MERGE)), C, (B, E), (), Arrival(B, B),
    ),
    "a squash is what the log says, whatever its parents' texts say": (
        moves((B, C, MERGE)), C, (B,), (), Arrival(B, B),
    ),
    "a rebase of three commits begins where the base was": (
        moves((A, D, MERGE)), D, (C,), (), Arrival(A, A),
    ),
    "the second merge of a queue is compared with the first": (
        moves((A, D, QUEUE)), C, (B, E), (), Arrival(A, B, (B, C, D)),
    ),
    "the second squash of a queue as well": (
        moves((A, C, QUEUE)), C, (B,), (B, C), Arrival(A, B, (B, C)),
    ),
    "the first of two merges in one push": (
        moves((A, C, PUSH)), B, (A, E), (), Arrival(A, A, (B, C)),
    ),
    "a rebase after another merge begins there": (
        moves((A, E, PUSH)), E, (D,), (B,), Arrival(A, B, (B, C, D, E)),
    ),
    "a branch into which the base was merged, then pushed": (
        moves((F, C, PUSH)), C, (B, F), (), Arrival(F, F),
    ),
    "the first time counts: a tip that came back was merged before": (
        moves((A, B, MERGE), (C, B, PUSH)), B, (A, E), (), Arrival(A, A),
    ),
    "a forced push says nothing": (moves((A, C, True)), C, (B,), (), None),
    "a new branch says nothing": (moves((NONE, C, True)), C, (B,), (), None),
    "other merges alone": (moves((A, B, MERGE)), D, (C,), (), None),
    "nothing yet": ([], D, (C,), (), None),
}  # fmt: skip


@pytest.mark.parametrize(
    ("log", "merge", "parents", "others", "expected"), ARRIVALS.values(), ids=ARRIVALS
)
def test_arrivals(
    log: list[Move],
    merge: Sha,
    parents: Sequence[Sha],
    others: Sequence[Sha],
    expected: Arrival | None,
) -> None:
    """The short-cut takes the merge result's first parent for what the base was."""
    found = merges.entry(log, merge, line)

    assert (found and merges.arrival(found, merge, parents, others)) == expected


def gained(before: Sha, after: Sha, sha: Sha) -> bool:
    """F is a branch into which A was merged: its history holds that, but not its line."""
    return before == F and after == A and sha == A


BROUGHT: dict[str, tuple[list[Move], Sha, tuple[int, tuple[Sha, ...]] | None]] = {
    "the first of three commits": (moves((A, D, PUSH)), B, (0, (B, C, D))),
    "the last of them": (moves((A, D, PUSH)), D, (0, (D,))),
    "a move before others": (moves((A, B, PUSH), (B, C, PUSH), (C, D, PUSH)), C, (1, (C,))),
    "the last time counts, who brings it back has": (
        moves((A, B, PUSH), (A, C, PUSH)), B, (1, (B, C)),
    ),
    "the branch was merged into what was pushed": (moves((F, A, PUSH)), A, (0, (A,))),
    "pushed by force": (moves((F, A, True)), A, (0, (A,))),
    "there before it was pushed by force": (moves((A, B, PUSH), (C, B, True)), B, (0, (B,))),
    "a branch that was made or deleted": (moves((NONE, C, True), (C, NONE, True)), C, None),
    "not told yet": (moves((A, B, PUSH)), C, None),
}  # fmt: skip


@pytest.mark.parametrize(("log", "sha", "expected"), BROUGHT.values(), ids=BROUGHT)
def test_which_move_brought_a_commit_in(
    log: list[Move], sha: Sha, expected: tuple[int, tuple[Sha, ...]] | None
) -> None:
    """The short-cut compares the tip alone: of several commits only the last is found."""
    found = merges.brought(log, sha, line, gained)

    place = None if expected is None else (list(reversed(log))[expected[0]], expected[1])
    assert (found and (found.move, found.line)) == place


def test_other_merges_are_asked_for_only_where_they_tell_something() -> None:
    """Fails when every merge costs one more list of pull requests."""
    alone = merges.entry(moves((B, C, MERGE)), C, line)
    rebased = merges.entry(moves((A, C, MERGE)), C, line)

    assert alone is not None
    assert rebased is not None
    assert not merges.needs_others(alone, C, (B,))
    assert not merges.needs_others(rebased, C, (B, E))
    assert merges.needs_others(rebased, C, (B,))


PACKAGES: dict[str, tuple[dict[str, str], dict[str, str], dict[str, str], tuple[str, ...]]] = {
    "what is shown": ({"core": "2"}, {"core": "2"}, {"core": "1"}, ()),
    "another package is taken back": (
        {"core": "2"}, {"core": "2", "edge": "1"}, {"core": "1"}, ("edge",),
    ),
    "the package itself comes out otherwise": (
        {"core": "2"}, {"core": "3"}, {"core": "1"}, ("core",),
    ),
    "the package does not change at all": ({"core": "2"}, {}, {"core": "1"}, ("core",)),
    "the base has it already": ({"core": "2"}, {}, {"core": "2"}, ()),
    "one out of date is said to be so": ({"core": "2"}, {"core": "3"}, {}, ()),
    "a removal": ({"core": ""}, {"core": ""}, {"core": "1"}, ()),
}  # fmt: skip


@pytest.mark.parametrize(
    ("shown", "merged", "standing", "expected"), PACKAGES.values(), ids=PACKAGES
)
def test_hidden_packages(
    shown: dict[str, str],
    merged: dict[str, str],
    standing: dict[str, str],
    expected: tuple[str, ...],
) -> None:
    """The short-cut looks at the packages that the proposal touches, and at no other."""
    assert merges.hidden_packages(shown, merged, standing) == expected


FILES: dict[str, tuple[dict[str, str], dict[str, str], bool, tuple[str, ...]]] = {
    "what is shown": ({"a": "2"}, {"a": "2"}, True, ()),
    "lines of both sides, one merge base": ({"a": "2"}, {"a": "3"}, False, ()),
    "lines of both sides, several merge bases": ({"a": "2"}, {"a": "3"}, True, ("a",)),
    "a file that is not shown": ({}, {"a": "2"}, False, ("a",)),
    "the base has it already": ({"a": "2"}, {}, True, ()),
}


@pytest.mark.parametrize(("shown", "merged", "several", "expected"), FILES.values(), ids=FILES)
def test_hidden_files(
    shown: dict[str, str], merged: dict[str, str], several: bool, expected: tuple[str, ...]
) -> None:
    assert merges.hidden_files(shown, merged, several=several) == expected
