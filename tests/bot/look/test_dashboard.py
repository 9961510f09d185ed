"""How the dashboard issue is read: all of it once, then what is written or edited since."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from bot.look.dashboard import LATE, MOST_OURS, DashboardLooker, read_talk
from lifecycle.access import Person
from lifecycle.facts.conversation import Comment
from tests.ids import on_github

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
US, ANN = Person(1, "porchbot", bot=True), Person(2, "ann", bot=False)


def comment(number: int, minutes: int, *, ours: bool = True, edited: int | None = None) -> Comment:
    """A comment, written and edited so many minutes after noon."""
    at, changed = (NOON + timedelta(minutes=m) for m in (minutes, edited or minutes))
    person = US if ours else ANN
    return Comment(
        id=number,
        author=person,
        body="text",
        at=at,
        edited=edited is not None,
        edited_at=changed if edited else None,
        ours=ours,
    )


def test_since_when_it_is_read_again() -> None:
    """Short-cuts refused: when it was written counts for an edited one; nothing is read twice."""
    assert read_talk(1, ()).since is None
    found = read_talk(1, (comment(1, 0, edited=90), comment(2, 30)))
    assert found.since == NOON + timedelta(minutes=90) - LATE


def test_ours_are_kept_by_what_was_written_last() -> None:
    """Short-cuts refused: the comment that is edited in place is dropped; memory without end."""
    progress = comment(1, 0, edited=10_000)
    others = [comment(n, n) for n in range(2, MOST_OURS + 50)]
    said = comment(9_999, 9_999, ours=False)

    kept = [each.id for each in read_talk(1, (progress, *others, said)).ours]

    assert len(kept) == MOST_OURS
    assert 1 in kept
    assert 2 not in kept
    assert 9_999 not in kept


class FakeForge:
    """An issue that tells what it is asked."""

    def __init__(self, *said: Comment) -> None:
        self.said, self.asked = list(said), list[datetime | None]()

    async def issue_comments(self, number: int, since: datetime | None = None) -> Any:
        """As a forge has it."""
        self.asked.append(since)
        return tuple(c for c in self.said if since is None or (c.edited_at or c.at) >= since)


def looking(forge: FakeForge, number: int = 7) -> DashboardLooker:
    """Looks at it; what it asks beside that is not there."""

    async def find() -> Any:
        return SimpleNamespace(number=number)

    there: Any = SimpleNamespace(find=find)
    here = SimpleNamespace(id=on_github(1))
    looker: Any = SimpleNamespace(forge=forge, keys=[b"k"], repository=here)
    return DashboardLooker(looker, there)


async def test_what_has_its_answer_is_read_once() -> None:
    """Short-cuts refused: all of it at each look; what was lost on the way is never read again."""
    forge = FakeForge(comment(1, 0), comment(2, 60))
    looker = looking(forge)
    nothing: Any = None

    assert await looker.look(nothing, 0.0) is None
    assert await looker.look(nothing, 0.0) is None
    looker.forget()
    assert await looker.look(nothing, 0.0) is None

    assert forge.asked == [None, NOON + timedelta(minutes=60) - LATE, None]
