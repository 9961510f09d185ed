"""Who wrote a proposal: names in commits, who pushed, and who merely brought it up to date."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from lifecycle.access import Person
from lifecycle.authors import UNKNOWN, Authors, alone, listed, same_people, spelled, wrote
from lifecycle.facts.commits import MadeBy
from lifecycle.merges import Move
from lifecycle.names import Sha
from tests.lifecycle.samples import NOW

A, B, C, D, E, F = (Sha(letter * 40) for letter in "abcdef")
NONE = Sha("0" * 40)
BOT = "porchbot[bot]"
OURS = ((D, ""), (E, "fay (5)"), (F, "gus"))


def made(sha: Sha, author: str | None, committer: str | None = "", *others: str) -> MadeBy:
    return MadeBy(sha=sha, author=author, committer=committer, coauthors=frozenset(others))


def push(before: Sha, after: Sha, actor: str) -> Move:
    return Move(before=before, after=after, actor=actor, at=NOW)


FIRST = push(NONE, A, "ann")
Case = tuple[Sequence[MadeBy], Sequence[Move], Mapping[Sha, Sha], set[str], bool]
CASES: dict[str, Case] = {
    "author, committer, co-author and pusher": (
        [made(A, "ann", "bob", "cid")],
        [push(NONE, A, "dan")],
        {},
        {"ann", "bob", "cid", "dan"},
        True,
    ),
    "the forge as committer makes nobody unknown": ([made(A, "ann")], [FIRST], {}, {"ann"}, True),
    "an unknown author": ([made(A, None)], [FIRST], {}, {"ann"}, False),
    "an unknown committer": ([made(A, "ann", None)], [FIRST], {}, {"ann"}, False),
    "an unknown pusher": ([made(A, "ann")], [push(NONE, A, "")], {}, {"ann"}, False),
    "no push of a person": ([made(A, "ann")], [push(NONE, A, BOT)], {}, {"ann"}, False),
    "a workflow's push, which anybody can cause": (
        [made(A, "ann")], [replace(push(NONE, A, "workflows"), anybodys=True)], {},
        {"ann", "workflows"}, False,
    ),
    "what was pushed over counts as well": (
        [made(A, "ann")], [FIRST, push(NONE, B, "eve")], {}, {"ann", "eve"}, True,
    ),
    "who deleted an earlier branch wrote nothing": (
        [made(A, "ann")], [FIRST, push(B, NONE, "eve")], {}, {"ann"}, True,
    ),
    "who only brought it up to date": (
        [made(A, "ann"), made(B, "eve")], [push(A, B, "eve"), FIRST], {B: A}, {"ann"}, True,
    ),
    "twice in one push": (
        [made(A, "ann"), made(B, "eve"), made(C, "eve")],
        [push(A, C, "eve"), FIRST],
        {B: A, C: B},
        {"ann"},
        True,
    ),
    "who pushed something before it in the same push": (
        [made(A, "ann"), made(B, "ann"), made(C, "eve")],
        [push(A, C, "eve"), FIRST],
        {C: B},
        {"ann", "eve"},
        True,
    ),
    "who pushed over it with a merge": (
        [made(A, "ann"), made(C, "eve")], [push(D, C, "eve"), FIRST], {C: A}, {"ann", "eve"}, True,
    ),
    "a merge by somebody whom the forge does not know": (
        [made(A, "ann"), made(B, None, None)], [push(A, B, "eve"), FIRST], {B: A}, {"ann"}, True,
    ),
    "a rendering of ours": (
        [made(A, "ann"), made(D, None, None)], [push(A, D, BOT), FIRST], {}, {"ann"}, True,
    ),
    "a rendering that somebody asked for, marked before numbers were": (
        [made(A, "ann"), made(F, None, None)], [push(A, F, BOT), FIRST], {}, {"ann", "gus"}, True,
    ),
    "a rendering that somebody asked for": (
        [made(A, "ann"), made(E, None, None)], [push(A, E, BOT), FIRST], {}, {"ann", "fay"}, True,
    ),
    "what we alone made, on a branch that we made": (
        [made(A, BOT, BOT)], [push(NONE, A, BOT)], {}, set(), True,
    ),
    "in our name with another committer": (
        [made(A, BOT, "")], [push(NONE, A, BOT)], {}, set(), False,
    ),
    "in our name, on a branch that somebody else made": (
        [made(A, BOT, BOT)], [push(B, A, BOT)], {}, set(), False,
    ),
    "in our name, where somebody else deleted the branch before": (
        [made(A, BOT, BOT)], [push(NONE, A, BOT), push(B, NONE, "eve")], {}, set(), False,
    ),
    "in our name, with a co-author": (
        [made(A, BOT, BOT, "eve")], [push(NONE, A, BOT)], {}, {"eve"}, False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("commits", "moves", "updates", "people", "known"), CASES.values(), ids=CASES
)
def test_who_wrote_it(
    commits: Sequence[MadeBy],
    moves: Sequence[Move],
    updates: Mapping[Sha, Sha],
    people: set[str],
    known: bool,
) -> None:
    """The short-cut counts commit authors, and everybody whose name stands at a push."""
    ours = {c.sha: asker for c in commits for sha, asker in OURS if sha == c.sha}
    asked = [asker for asker in ours.values() if asker]

    found = wrote(commits, moves, updates=updates, ours=ours, asked=asked, login=BOT)

    assert (set(found.logins), found.known) == (people, known)


def test_who_changed_the_rule_is_told_apart_from_who_wrote_it() -> None:
    """The short-cut takes them for authors like all others: no rule approves anything any more."""
    commits, moves = [made(A, BOT, BOT)], [push(NONE, A, BOT)]

    found = wrote(
        commits, moves, updates={}, ours={A}, login=BOT, ruled=["ann (7)", f"{BOT} (1)", "bob"]
    )

    assert found.logins == frozenset()
    assert found.ruled is not None
    assert found.ruled.logins == {"ann", "bob"}
    assert found.ruled.accounts == {7, 1}
    assert same_people(found.ruled, {"anna": 7}) == {"ann", "anna", "bob"}


@pytest.mark.parametrize("known", [True, False])
def test_who_changed_a_rule_is_told_by_a_commit(known: bool) -> None:
    """The short-cut leaves out whom nobody knows: then whoever that was approves what it makes."""
    changed_it = Authors(frozenset({"ann", "bob"}), known, frozenset({7}))

    found = wrote([], [], updates={}, ours={A}, login=BOT, ruled=listed(changed_it))

    assert found.ruled == changed_it


def test_names_are_the_same_in_any_case() -> None:
    """Fails when a co-author who is written in capital letters may approve."""
    authors = Authors(frozenset({"EVE", "ann"}), known=True)

    assert same_people(authors, {"eve": 0, "bob": 2}) == {"EVE", "eve", "ann"}


def test_whoever_asked_for_a_commit_and_changes_their_login_does_not_approve_it() -> None:
    """The short-cut marks the commit with a login: under a new one its asker approves it."""
    asked = spelled(Person(7, "eve", False))
    found = wrote(
        [made(D, None, None)],
        [push(A, D, BOT), FIRST],
        updates={},
        ours={D},
        asked=[asked],
        login=BOT,
    )

    assert same_people(found, {"new-eve": 7, "bob": 8}) == {"ann", "eve", "new-eve"}


def test_whom_a_commit_of_ours_names_that_the_forge_made_anew_is_an_author() -> None:
    """The short-cut believes our marks alone, which a rebase by the forge breaks."""
    commits, moves = [made(A, BOT, BOT)], [push(B, A, BOT), push(NONE, B, BOT)]
    asked = ["eve (7)", UNKNOWN]

    found = wrote(commits, moves, updates={}, ours=(), asked=asked, login=BOT)

    assert found == Authors(frozenset({"eve"}), known=False, accounts=frozenset({7}))
    assert wrote(commits, moves, updates={}, ours=(), asked=asked[:1], login=BOT).known


def test_whoever_changes_their_login_wrote_it_all_the_same() -> None:
    """The short-cut compares logins: under a new one, one's own work is approved."""
    commits = [
        MadeBy(sha=B, author="ann", committer="ann", accounts=frozenset({7, 8})),
    ]
    moves = [replace(push(A, B, "ben"), account=9)]
    found = wrote(commits, moves, updates={}, ours=(), login=BOT)

    people = {"new-ann": 7, "coauthor": 8, "new-ben": 9, "cleo": 10, "unknown": 0}
    assert same_people(found, people) == {"ann", "ben", "new-ann", "coauthor", "new-ben"}


ANN = Person(1, "Ann", bot=False)


@pytest.mark.parametrize(
    ("author", "found", "wanted"),
    [
        (ANN, Authors(frozenset({"ann"}), known=True), ANN),
        (ANN, Authors(frozenset({"ann"}), True, frozenset({1})), ANN),
        (ANN, Authors(frozenset(), known=True), ANN),
        (ANN, Authors(frozenset({"ann", "bob"}), known=True), None),
        (ANN, Authors(frozenset({"bob"}), known=True), None),
        (ANN, Authors(frozenset({"ann"}), True, frozenset({1, 9})), None),
        (ANN, Authors(frozenset({"ann"}), known=False), None),
        (
            ANN,
            Authors(frozenset(), True, ruled=Authors(frozenset({"bob"}), known=True)),
            None,
        ),
        (Person(2, "renovate[bot]", bot=True), Authors(frozenset(), known=True), None),
    ],
)
def test_who_made_all_of_it(author: Person, found: Authors, wanted: Person | None) -> None:
    """The short-cut takes who opened it: whoever pushes to it then reads what that one may."""
    assert alone(author, found) == wanted
