"""What was done last and may not show yet, told from what is wanted anew."""

from dataclasses import replace

from bot.loop.echoes import FRESH_FOR, GOES_BACK, LONGEST_LOOK, Echoes
from lifecycle.actions import SetCheck
from lifecycle.facts.checks import Conclusion, Status
from lifecycle.names import Sha
from tests.memory.clock import ManualClock

MERGING = SetCheck(
    head=Sha("a" * 40),
    name="porchbot/publish",
    status=Status.COMPLETED,
    conclusion=Conclusion.SUCCESS,
    title="Approved",
    summary="",
    annotations=(),
    digest="merging",
    run=1,
)
REFUSED = replace(
    MERGING, status=Status.IN_PROGRESS, conclusion=None, digest="refused", run=None, after=1
)


def test_a_check_made_anew_is_newer_than_what_was_written_to_the_old_run() -> None:
    """The short-cut has a place for each run: the merge after a refused one waited for 15 s."""
    clock = ManualClock()
    echoes = Echoes(clock)
    echoes.did([MERGING])
    assert echoes.is_stale([MERGING])

    echoes.did([REFUSED])
    clock.seconds += GOES_BACK + 1

    assert echoes.is_stale([REFUSED])
    assert not echoes.is_stale([replace(MERGING, run=2)])


def test_what_was_shown_before_is_not_shown_again_on_facts_as_old_as_that() -> None:
    """The short-cut knows the last value of each run.

    A look that had read the pull request before it was merged wrote "Publishing" over "Published",
    as a new run, and the next one "Published" once more.
    """
    clock = ManualClock()
    echoes = Echoes(clock)
    published = replace(MERGING, digest="published")
    echoes.did([MERGING])
    echoes.did([published])
    began = clock.monotonic()
    again = replace(MERGING, status=Status.IN_PROGRESS, conclusion=None, run=None, after=1)

    clock.seconds += 2 * GOES_BACK  # a slow look: what counts is when it began
    assert echoes.is_stale([again], began)
    assert not echoes.is_stale([replace(again, digest="never shown")], began)
    assert not echoes.is_stale([replace(again, head=Sha("b" * 40))], began)

    assert not echoes.is_stale([again], began + GOES_BACK + 1)  # it was taken back in truth
    echoes.forget()
    assert not echoes.is_stale([again], began)


def test_what_was_made_is_not_made_again_when_it_was_changed_meanwhile() -> None:
    """The short-cut remembers a check by its name: an old answer without any run makes a second."""
    clock = ManualClock()
    echoes = Echoes(clock)
    made = replace(REFUSED, after=0)
    echoes.did([made])
    echoes.did([MERGING])
    clock.seconds += GOES_BACK + 1

    assert echoes.is_stale([made])


def test_what_was_made_after_another_is_claimed_by_itself() -> None:
    """The short-cut claims the check: after the first new run no other could be made."""
    assert REFUSED.writes.claim != replace(REFUSED, after=2).writes.claim
    assert REFUSED.writes.claim == replace(REFUSED, digest="x").writes.claim


def test_what_was_done_long_ago_is_no_echo() -> None:
    """The short-cut never forgets: a comment that somebody deleted a day later is put back late."""
    clock = ManualClock()
    echoes = Echoes(clock)
    echoes.did([MERGING])
    clock.seconds = FRESH_FOR
    assert echoes.is_stale([MERGING])

    clock.seconds += 1

    assert not echoes.is_stale([MERGING])


def test_what_was_done_long_ago_takes_no_memory() -> None:
    """The short-cut keeps 5,000 of a repository until others come: 1,000 new drafts fill that."""
    clock = ManualClock()
    echoes = Echoes(clock)
    echoes.did(replace(MERGING, head=Sha(f"{number:040x}")) for number in range(50))
    many = echoes.remembered
    clock.seconds += LONGEST_LOOK + 1

    echoes.did([MERGING])

    assert echoes.remembered <= 2 < 50 <= many
