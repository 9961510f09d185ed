"""When a branch that is named like a merge group is looked at again."""

from dataclasses import dataclass, field
from typing import cast

from bot.keys import GroupKey
from bot.look.assemble import Looked
from bot.look.groups import LookedGroup, NoGroup
from bot.loop.echoes import Echoes
from bot.loop.groups import AGAIN, GroupReconciler
from bot.loop.repository import ServedRepository
from bot.loop.settle import Rest
from bot.store.hints import BY_SWEEP, Hint
from lifecycle.groups import Group
from tests.ids import FIRST

HEARD = Hint(heads=frozenset({"a" * 40}))
FOUND = LookedGroup(cast(Looked, object()), cast(Group, object()))
DOUBTFUL = LookedGroup(FOUND.looked, FOUND.group, doubtful=True)


@dataclass
class _Served:
    """As much of a repository as is asked."""

    found: LookedGroup | NoGroup
    adoption: None = None
    echoes: Echoes = field(default_factory=Echoes)

    @property
    def groups(self) -> "_Served":
        return self

    async def look(self, *_: object, rerun: bool) -> LookedGroup | NoGroup:
        assert not rerun
        return self.found


async def _looks(found: LookedGroup | NoGroup, hint: Hint, times: int) -> list[object]:
    served = cast(ServedRepository, _Served(found))
    key = GroupKey(FIRST, "gh-readonly-queue/main/pr-1-" + "a" * 40)
    reconciler = GroupReconciler(served, key, hint)
    looked = [await reconciler.look(0.0) for _ in range(times)]
    return [each.after if isinstance(each, Rest) else each for each in looked]


async def test_a_group_that_the_queue_does_not_show_yet_is_looked_at_again() -> None:
    """Short-cut refused: what is no entry is none; the event comes before the entry shows."""
    assert await _looks(NoGroup(queued=False), HEARD, 5) == [1, 2, 4, 8, None]
    assert await _looks(NoGroup(queued=True), HEARD, 5) == [1, 2, 4, 8, AGAIN]
    assert await _looks(NoGroup(queued=True), BY_SWEEP, 2) == [AGAIN, AGAIN]


async def test_a_name_alone_is_not_asked_about_for_ever() -> None:
    """Short-cut refused: each branch that somebody names so costs a look every half minute."""
    assert await _looks(NoGroup(queued=False), BY_SWEEP, 2) == [None, None]


async def test_what_an_old_answer_may_explain_is_believed_once_it_stays_so() -> None:
    """Short-cut refused: a merge that shows a moment late puts the proposal behind it out."""
    assert await _looks(FOUND, BY_SWEEP, 1) == [FOUND]
    assert await _looks(DOUBTFUL, BY_SWEEP, 5) == [1, 2, 4, 8, DOUBTFUL]
