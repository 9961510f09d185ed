"""Who said and pushed what on GitLab, where its answers leave something open."""

from dataclasses import replace
from typing import Any

import pytest

from bot.forges.gitlab.fields import is_token
from bot.forges.gitlab.people import moves_of
from bot.forges.port import BotIdentity
from lifecycle.authors import wrote
from tests.bot.forges.gitlab.conftest import World


async def test_words_that_were_edited_stay_edited_when_their_thread_is_resolved(
    world: World,
) -> None:
    """Short-cut refused: a change that is older than the resolving was the resolving.

    A Maintainer can edit what an owner said into an approval, and resolve the thread.
    """
    world.commit("change", {"net/a.yaml": "a: 2\n"})
    number = world.propose()
    thread = world.mr(number, "ben").discussions.create({"body": "Looks good?"})
    world.clock.move(seconds=60)
    note = thread.attributes["notes"][0]
    maintainer = world.mr(number, "olga")
    found = maintainer.discussions.get(thread.id)
    found.notes.update(note["id"], {"body": "@porchbot approve"})
    world.clock.move(seconds=60)
    maintainer.discussions.update(thread.id, {"resolved": True})

    said = await world.forge().conversation(number)
    (comment,) = [each for each in said.comments if each.body == "@porchbot approve"]
    assert comment.edited


async def test_words_stay_as_they_are_when_their_thread_is_resolved(world: World) -> None:
    """Short-cuts refused: whatever changed the note's time was an edit, so that an honest approval
    falls with the thread's end; asking again at each look."""
    world.commit("change", {"net/a.yaml": "a: 2\n"})
    number = world.propose()
    thread = world.mr(number, "ben").discussions.create({"body": "@porchbot approve"})
    world.clock.move(seconds=60)
    world.mr(number, "ann").discussions.update(thread.id, {"resolved": True})
    forge = world.forge()

    for _ in range(2):
        (comment,) = (await forge.conversation(number)).comments

    assert (comment.body, comment.edited, comment.edited_at) == ("@porchbot approve", False, None)
    assert world.asked.count("POST ") == 1


async def test_without_graphql_what_changed_counts_as_edited(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.commit("change", {"net/a.yaml": "a: 2\n"})
    number = world.propose()
    thread = world.mr(number, "ben").discussions.create({"body": "@porchbot approve"})
    world.clock.move(seconds=60)
    world.mr(number, "ann").discussions.update(thread.id, {"resolved": True})
    forge = world.forge()

    async def nothing(*_: object) -> dict[str, object]:
        return {}

    monkeypatch.setattr(forge, "_graphql", nothing)

    (comment,) = (await forge.conversation(number)).comments

    assert comment.edited


async def test_pushes_that_are_not_all_told_leave_it_open_who_pushed(world: World) -> None:
    """Short-cut refused: of a hundred pushes those of the branch alone, as if they were all."""
    world.commit("change", {"net/a.yaml": "a: 2\n"})
    world.commit("other", {"net/a.yaml": "a: 3\n"}, "ben")
    pushed = world.repo.activity[-1]
    world.repo.activity += [replace(pushed, id=pushed.id + at) for at in range(1, 102)]
    last = world.commit("change", {"net/a.yaml": "a: 4\n"})
    world.propose()

    found = await world.forge().pushes("change", world.repo.id)

    assert [(m.after, m.actor) for m in found] == [(last, "ann"), ("?", "")]


def test_a_push_of_many_branches_may_be_of_this_one() -> None:
    """Short-cut refused: a push that names no branch is left out, and with it who made it."""

    def event(who: str, **push: object) -> dict[str, Any]:
        return {
            "author": {"username": who, "id": 1},
            "created_at": "2026-01-01T00:00:00.000Z",
            "push_data": {"ref_type": "branch", "commit_from": "a" * 40, **push},
        }

    many = {"ref": None, "ref_count": 4, "action": "pushed", "commit_to": None}
    made = {"ref": "change", "action": "created", "commit_to": "b" * 40}

    found = list(moves_of([event("ben", **many), event("ann", **made)], "change"))
    assert [(m.after, m.actor) for m in found] == [("?", "ben"), ("b" * 40, "ann")]
    before = list(moves_of([event("ann", **made), event("ben", **many)], "change"))
    assert [m.actor for m in before] == ["ann"]


@pytest.mark.parametrize(
    "machine",
    [
        "project_5_bot_0a1b",
        "group_3_bot",
        "project_9_bot2",
        "service_account_group_3_0a1b2c3d4e5f",
        "service_account_0a1b2c3d4e5f",
    ],
)
async def test_who_used_an_access_token_nobody_can_tell(world: World, machine: str) -> None:
    """The short-cut takes a token's account for an author like others: who may run a pipeline that
    is given the token has it commit and push, and approves alone."""
    world.sandbox.state.add_user(machine)
    world.sandbox.state.add_member(world.repo, machine, "write")
    world.commit("change", {"net/a.yaml": "a: 2\n"}, machine)
    number, forge = world.propose(), world.forge()

    commits = await forge.commits(number)
    moves = await forge.pushes("change", world.repo.id)

    assert [each.author for each in commits] == [None]
    assert [(move.actor, move.anybodys) for move in moves] == [(machine, True)]
    authors = wrote(commits, moves, updates={}, ours={}, login="porch-bot")
    assert authors.logins == {machine}
    assert not authors.known


async def test_who_pushed_is_told_of_everybody_else(world: World) -> None:
    """The short-cut lets whoever calls themselves so be a machine."""
    for login in ("project_bot", "service_account_ci", "ann_project_5_bot"):
        assert not is_token(login)
    world.commit("change", {"net/a.yaml": "a: 2\n"})
    number, forge = world.propose(), world.forge()

    commits, moves = await forge.commits(number), await forge.pushes("change", world.repo.id)

    assert wrote(commits, moves, updates={}, ours={}, login="porch-bot").known


async def test_our_own_token_is_known_by_its_number(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut knows us by the address that we commit with: what GitLab committed for us, with
    another one, would ask for one more approval."""
    made = world.sandbox.state.add_user("project_5_bot_0a1b")
    world.sandbox.state.add_member(world.repo, made.login, "write")
    world.commit("change", {"net/a.yaml": "a: 2\n"}, made.login)
    number, forge = world.propose(), world.forge()
    monkeypatch.setattr(forge._access, "me", BotIdentity(made.login, "bot@corp.example", made.id))

    (commit,) = await forge.commits(number)

    assert commit.author == made.login
