"""What moved a base branch, where GitLab's log names no branch."""

from dataclasses import replace
from typing import Any

from bot.forges.gitlab.people import joined
from bot.sandbox.records.refs import Activity
from lifecycle.names import Sha
from tests.bot.forges.gitlab.conftest import World


async def test_a_base_branch_that_was_pushed_with_many_others_moved(world: World) -> None:
    """Short-cuts refused: what the log tells of this branch alone: rules that came by such a push
    never changed; who pushed another one, or the time of the push after it.
    """
    since = world.clock()
    world.clock.move(seconds=60)
    moved = [world.commit("main", {f"net/{at}.yaml": "b: 1\n"}, "olga") for at in range(4)]
    log, forge = world.repo.activity, world.forge()
    first, second, third, fourth = (each for each in log if each.after in moved)

    def many(at: Activity) -> Activity:
        return replace(at, ref="refs/heads/", actor=world.sandbox.state.user("ben"))

    async def told() -> list[tuple[Sha, Sha, str]]:
        found = await forge.base_moves("main", since)
        return [(m.before, m.after, m.actor) for m in found if m.at >= since]

    whole = await told()
    log[log.index(second)] = many(second)
    assert await told() == [
        *whole[:2],
        (whole[2][0], whole[2][1], "ben"),
        whole[3],
    ]
    log.insert(log.index(third), many(first))
    assert [m[2] for m in await told()] == ["olga", "olga", "", "olga"]
    log[log.index(fourth)] = many(fourth)
    assert await told() == [
        (moved[2], moved[3], "ben"),
        whole[1],
        (moved[0], moved[1], ""),
        whole[3],
    ]
    log.append(many(fourth))  # of other branches
    log.append(replace(fourth, id=fourth.id + 99))
    assert [(m[0], m[1]) for m in await told()] == [(m[0], m[1]) for m in whole]


def test_a_branch_of_which_nothing_else_is_told_came_by_such_a_push() -> None:
    """The short-cut takes it for a branch that nobody moved."""
    event: dict[str, Any] = {
        "author": {"username": "ben", "id": 1},
        "created_at": "2026-01-01T00:00:00.000Z",
        "push_data": {"ref_type": "branch", "ref": None, "ref_count": 4, "commit_to": None},
    }
    tip = Sha("a" * 40)

    assert [(m.before, m.after) for m in joined([event], "main", tip)] == [("0" * 40, tip)]
    assert [*joined([], "main", tip)] == []
    assert [*joined([event], "main", None)] == []
