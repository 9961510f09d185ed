"""When a branch came to a commit, by all that the forge tells."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from bot.forges.port import (
    Forge,
    ForgeMissingError,
    ForgeRefusedError,
    HeadChange,
    ListedProposal,
)
from bot.look.people import PeopleReader, came_to
from bot.look.reader import MirrorReader
from bot.look.teams import KEPT, Teams
from lifecycle.access import AppSource, Person, Role, Team, TriState, Unreadable
from lifecycle.facts.commits import MadeBy
from lifecycle.merges import Move
from lifecycle.names import Sha
from lifecycle.policy import AccessRule, Policy
from tests.lifecycle.samples import HEAD, PROPOSAL, changed, said
from tests.memory.clock import ManualClock

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
A, B, NONE = Sha("a" * 40), Sha("b" * 40), Sha("0" * 40)


def at(minute: int) -> datetime:
    return NOW + timedelta(minutes=minute)


def moves(*told: tuple[int, Sha]) -> list[Move]:
    """Pushes, newest first."""
    return [
        Move(before=NONE, after=sha, actor="ann", at=at(minute)) for minute, sha in reversed(told)
    ]


def forced(minute: int, after: Sha | None = None) -> HeadChange:
    return HeadChange(at(minute), after)


ROWS: dict[str, tuple[list[Move], Sequence[HeadChange], int | None, int | None]] = {
    # pushes, other changes, by which minute, the answer
    "one push": (moves((1, A)), (), None, 1),
    "the last of two": (moves((1, B), (2, A)), (), None, 2),
    "back again by force": (moves((1, A), (2, B), (3, A)), (forced(3, A),), None, 3),
    "back again, and the list is late": (moves((1, A)), (forced(3, A),), None, 3),
    "forced to what nobody tells, and the list is late": (moves((1, A)), (forced(3),), None, 3),
    "deleted and made anew": (moves((1, A), (2, NONE), (3, A)), (), None, 3),
    "deleted since": (moves((1, A), (2, NONE)), (), None, 1),
    "the list shows a newer push than the head": (moves((1, A), (2, B)), (), None, None),
    "a fork that was forced": ([], (forced(3, A),), None, 3),
    "a fork that was forced to something else": ([], (forced(3, B),), None, None),
    "a fork": ([], (), None, None),
    "a review of the first of two": (moves((1, A), (2, B)), (), 3, 1),
    "a review before the branch came back": (moves((1, A), (2, B), (4, A)), (forced(4, A),), 3, 1),
    "a review of what was pushed only later": (moves((4, A)), (), 3, None),
}


@pytest.mark.parametrize(("pushes", "changes", "by", "expected"), ROWS.values(), ids=ROWS)
def test_when_a_branch_came_to_a_commit(
    pushes: list[Move],
    changes: Sequence[HeadChange],
    by: int | None,
    expected: int | None,
) -> None:
    """Fails when the first coming, or a late list, is believed of a branch that came back."""
    found = came_to(A, pushes, changes, by=None if by is None else at(by))

    assert found == (None if expected is None else at(expected))


@dataclass
class Told:
    """A forge where one person wrote and pushed all, under the login that they have now."""

    login: str
    asked: int = 0

    async def role(self, login: str, account: int) -> Role:
        return Role.MAINTAIN

    async def commits(self, number: int) -> tuple[MadeBy, ...]:
        self.asked += 1
        return (MadeBy(sha=HEAD, author=self.login, committer=self.login),)

    async def pushes(self, head_ref: str, repository_id: int) -> tuple[Move, ...]:
        return (Move(before=NONE, after=HEAD, actor=self.login, at=NOW),)


@dataclass
class Unmerged:
    """Git, where no commit is an update or a rendering."""

    long: bool = False

    def too_long(self, head: Sha, base_ref: str) -> bool:
        return self.long

    def updates(self, shas: Sequence[Sha], base_ref: str) -> dict[Sha, Sha]:
        return {}

    def render_asker(self, sha: Sha) -> None:
        return None

    def claims(self, shas: Sequence[Sha]) -> tuple[set[str], set[str]]:
        return set(), set()


async def test_a_renamed_author_is_still_the_author() -> None:
    """Fails when logins are kept with the head: under a new one, one's own work is approved."""
    told = Told("mallory")
    people = PeopleReader(cast(Forge, told), "porchbot[bot]")
    git, pull = cast(MirrorReader, Unmerged()), replace(PULL, head=HEAD)

    async def authors(login: str) -> frozenset[str]:
        words = said(Person(9, login, False), "/approve")
        asked = changed(PROPOSAL, comments=(words,), head_mark="m", authors=frozenset())
        return (await people.add(git, pull, asked, ())).people.authors

    assert await authors("mallory") == {"mallory"}
    assert await authors("mallory") == {"mallory"}
    assert told.asked == 1
    told.login = "newname"
    assert await authors("newname") == {"newname"}


async def test_who_wrote_it_is_asked_where_a_rule_may_approve_by_itself() -> None:
    """Short-cut refused: nobody has said a word, so only who opened it counts as an author."""
    told = Told("mallory")
    people = PeopleReader(cast(Forge, told), "porchbot[bot]")
    rule = AccessRule(automatic=(AppSource("renovate"),))
    git, pull = cast(MirrorReader, Unmerged()), replace(PULL, head=HEAD)
    opened = changed(PROPOSAL, head_mark="m", authors=frozenset({"renovate[bot]"}))

    silent = await people.add(git, pull, opened, ())
    ruled = await people.add(git, pull, changed(opened, policy=Policy(approve=rule)), ())

    assert silent.people.authors == {"renovate[bot]"}
    assert ruled.people.authors == {"renovate[bot]", "mallory"}


async def test_commits_with_too_much_text_are_not_asked_for() -> None:
    """The short-cut asks the forge for whole texts: 250 of 20 MB each. Nobody knows who wrote."""
    told = Told("mallory")
    people = PeopleReader(cast(Forge, told), "porchbot[bot]")
    words = said(Person(9, "mallory", False), "/approve")
    asked = changed(PROPOSAL, comments=(words,), head_mark="m", authors=frozenset())
    git = cast(MirrorReader, Unmerged(long=True))

    found = await people.add(git, replace(PULL, head=HEAD), asked, ())

    assert told.asked == 0
    assert found.people.authors == {"mallory"}  # who pushed
    assert not found.people.authors_known


PULL = ListedProposal(
    number=PROPOSAL.place.number,
    title="t",
    author=Person(1, "porchbot[bot]", True),
    draft=False,
    open=True,
    head=HEAD,
    head_ref="topic",
    head_repository=1,
    base_ref="main",
    merge_commit=None,
    merged_at=None,
    updated_at=NOW,
)


class Asked:
    """A forge with one team, which counts how often it is asked."""

    def __init__(self) -> None:
        self.times = 0
        self.fails: list[Exception] = []

    async def team(self, slug: str) -> frozenset[str]:
        self.times += 1
        if self.fails:
            raise self.fails.pop()
        return frozenset({slug})


async def test_a_team_is_asked_for_once_a_minute() -> None:
    """Short-cut refused: once a look, or once and for all."""
    asked, clock = Asked(), ManualClock()
    teams = Teams(cast(Forge, asked), clock)

    for _ in range(3):
        assert (await teams.read("net")).has("net") is TriState.YES
    assert asked.times == 1
    await clock.sleep(KEPT)
    await teams.read("net")
    assert asked.times == 2


async def test_a_team_that_cannot_be_read_says_why_and_is_asked_for_once_a_minute() -> None:
    """Short-cuts refused: an error ends the look, or the team is empty for a minute.

    A third one asks for it again at each look: a file of anybody names twenty that are not there.
    """
    asked, clock = Asked(), ManualClock()
    asked.fails = [ForgeRefusedError("read", "no"), ForgeMissingError("read", "no")]
    teams = Teams(cast(Forge, asked), clock)

    for _ in range(3):
        assert await teams.read("net") == Team(None, Unreadable.MISSING)
    assert asked.times == 1
    await clock.sleep(KEPT)
    for _ in range(3):
        assert await teams.read("net") == Team(None, Unreadable.PERMISSION)
    assert asked.times == 2
    await clock.sleep(KEPT)
    assert await teams.read("net") == Team(frozenset({"net"}))
