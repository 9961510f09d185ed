"""Two bots on one database, and answers of the forge that get lost: nothing is said twice."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.ports import free_port
from tests.stories.calls import CHECK, COMMENT, TALK
from tests.stories.people import wait_for
from tests.stories.real import RealWorld
from tests.stories.world import package

pytestmark = pytest.mark.real_parts

BRANCH = "topic"
KEY = "SELECT key FROM work WHERE key LIKE '%proposal%'"


@pytest.fixture
def twin(play: RealWorld) -> Iterator[RealWorld]:
    """A second bot, on the database and the forge of the first."""
    port = free_port()
    environment = {
        **play.environment,
        "PORCHBOT_LISTEN": f"127.0.0.1:{port}",
        "PORCHBOT_STATE": f"{play.environment['PORCHBOT_STATE']}-twin",
    }
    other = replace(play, environment=environment, port=port, _loop=None, _stop=None, _thread=None)
    yield other
    other.stop_bot()


def comments(play: RealWorld, number: int) -> list[str]:
    """Each comment of the bot's."""
    found = play.author.comments(number)
    return [c.body for c in found if c.author == play.author.bot]


def written(play: RealWorld, since: int) -> int:
    """How many comments the bot asked for."""
    return len(play.statuses_of(COMMENT, since))


def runs(play: RealWorld, number: int) -> Counter[str]:
    """Names of all checks at the head of a proposal, how often each is there.

    Where a check is not edited, one with another text is another one.
    """
    head = play.author.pull(number).head
    found = play.author.every_check(head)
    edited = play.author.checks_are_edited
    return Counter(run.name if edited else f"{run.name} {run.mark}" for run in found)


def claims_stand(play: RealWorld) -> None:
    """From now on the claims that were taken do not run out, however slow this machine is."""
    play.database("UPDATE claim SET at = now() + interval '1 hour'")


def given_way(play: RealWorld) -> Callable[[], object]:
    """Tells whether a look has given way to another one from now on."""
    ((last,),) = play.database("SELECT coalesce(max(id), 0) FROM audit")
    query = f"SELECT 1 FROM audit WHERE id > {last} AND detail ->> 'outcome' = 'WAIT'"
    return lambda: play.database(query) or None


def while_one_writes(play: RealWorld, call: str, there: Callable[[], object]) -> list[str]:
    """Let the second bot look at the same thing while the first one's request is under way.

    Returns:
        The keys that were taken over, once they were.
    """
    (key,) = play.database(KEY)[0]
    taken: list[str] = []

    def takes_over() -> None:
        claims_stand(play)
        came = given_way(play)
        play.take_away(key)
        wait_for("the other bot", lambda: there() or came())
        taken.append(key)

    play.forge.faults.before(play.call(call), takes_over, caller=play.caller)
    return taken


def test_two_bots_at_one_key_answer_once(play: RealWorld, twin: RealWorld) -> None:
    """Fails when what was said last is known to the process alone: both answer the command."""
    number = play.opens(BRANCH, package("net/core"))
    before = len(comments(play, number))
    mark = play.forge.faults.mark()
    twin.start_bot()
    taken = while_one_writes(play, COMMENT, lambda: len(comments(play, number)) > before)

    play.approver.says(number, "/approve")
    play.author.waits_for_tag("net/core/v1")
    wait_for("the summary", lambda: "Published" in play.author.summary(number) or None)
    play.rests()

    said = comments(play, number)
    wait_for("the other bot to have come", lambda: taken or None)
    assert written(play, mark) == 1
    assert len(said) == before + 1
    assert len(set(said)) == len(said)
    assert set(runs(play, number).values()) == {1}


def test_two_bots_at_one_head_make_each_check_once(play: RealWorld, twin: RealWorld) -> None:
    """The same for check runs: the forge makes a second one of the same name."""
    twin.start_bot()
    number = play.opens(BRANCH, package("net/core"))
    taken = while_one_writes(play, CHECK, lambda: max(runs(play, number).values(), default=0) > 1)

    head = play.author.pushes(BRANCH, {"net/core/words.md": "More.\n"})
    wait_for("the push", lambda: play.author.pull(number).head == head or None)
    play.author.waits_for_check(number, "porchbot/validate", "success")
    play.rests()

    wait_for("the other bot to have come", lambda: taken or None)
    assert set(runs(play, number).values()) == {1}


def lose_the_answer(play: RealWorld) -> None:
    """The next comment is written; the bot is told otherwise, and does not see it for a while."""
    faults = play.forge.faults

    def meanwhile() -> None:
        claims_stand(play)
        faults.freeze(play.call(TALK), caller=play.caller)

    faults.before(play.call(COMMENT), meanwhile, caller=play.caller)
    faults.fail(play.call(COMMENT), status=502, carried_out=True, caller=play.caller)


def test_an_answer_that_got_lost_is_not_said_again(play: RealWorld) -> None:
    """Fails when a look repeats what failed and does not show: the forge has done it."""
    number = play.opens(BRANCH, package("net/core"))
    before, mark = len(comments(play, number)), play.forge.faults.mark()
    lose_the_answer(play)
    came = given_way(play)
    play.approver.says(number, "/why")
    wait_for("another look", lambda: came() or len(comments(play, number)) > before + 1 or None)
    play.forge.faults.fresh()
    play.rests()

    assert len(comments(play, number)) == before + 1
    assert written(play, mark) == 1


def test_an_answer_that_is_there_twice_is_removed_once(play: RealWorld) -> None:
    """Fails when doubles stay, or when the removed one counts as deleted by somebody."""
    number = play.opens(BRANCH, package("net/core"))
    before = len(comments(play, number))
    lose_the_answer(play)
    play.approver.says(number, "/why")

    def said_twice() -> bool | None:
        play.database("DELETE FROM claim")  # as where the database was lost
        return len(comments(play, number)) == before + 2 or None

    wait_for("the double", said_twice)
    play.forge.faults.fresh()
    wait_for("its removal", lambda: len(comments(play, number)) == before + 1 or None)
    play.rests()
    play.sweep()
    play.rests()

    assert len(comments(play, number)) == before + 1
    # What the database knows of and the forge does not show, somebody else has deleted.
    assert play.database("SELECT count(*) FROM written") == [(before + 1,)]
