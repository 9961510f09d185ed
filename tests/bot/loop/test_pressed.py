"""Which buttons of checks count: those of which the forge's own log tells as well."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from bot.forges.port import ForgeBusyError, ForgeRefusedError, LoggedDelivery
from bot.keys import CommitKey, Key, ProposalKey
from bot.loop.pressed import BUSY_PATIENCE, MOST_ASKED, PATIENCE, TURN, PressFilter
from bot.store.hints import Hint, Press
from bot.store.values import Delivered
from lifecycle.facts.checks import Button
from tests.ids import on_github

HERE = on_github(1)
DRAFT, OTHER = ProposalKey(HERE, 1, "drafts/a/w"), ProposalKey(HERE, 1, "drafts/b/w")
FORK, COMMIT = ProposalKey(HERE, 9, "fix"), CommitKey(HERE, "a" * 40)
PROPOSE = Press("d-1", 5, "ann", Button.PROPOSE)
BOX = Press("d-2", 5, "ann", f"3 - {'d' * 32} 2026-11-28T12:00:03Z approve {'a' * 40} #7")


class Log:
    """A forge's log, its pull requests, and a clock."""

    def __init__(self, wakes: Mapping[Key, Hint] | None, *, refuses: bool = False) -> None:
        self.wakes, self.refuses, self.asked, self.now = wakes, refuses, list[str](), 100.0
        self.busy = False

    async def delivery(self, guid: str) -> LoggedDelivery | None:
        """As `Forges` has it."""
        self.asked.append(guid)
        if self.busy:
            raise ForgeBusyError("list the deliveries", "502")
        if self.refuses:
            raise ForgeRefusedError("list the deliveries", "403")
        if self.wakes is None:
            return None
        return LoggedDelivery(
            Delivered(guid=guid, event="check_run", action="", headers={}, body=b"{}"), self.wakes
        )

    async def proposals_at(self, sha: str) -> list[ProposalKey]:
        """As a repository's forge has it; each stands for its key."""
        assert sha == COMMIT.sha
        return [FORK]

    def monotonic(self) -> float:
        """As `Clock` has it."""
        return self.now


def told(press: Press, key: Key = DRAFT) -> dict[Key, Hint]:
    """What the log says that somebody pressed."""
    return {key: Hint(pressed=frozenset({str(press)}))}


def presses(log: Log) -> tuple[PressFilter, Any]:
    """What tells, and the repository that it is asked about."""
    anything: Any = log
    served = SimpleNamespace(id=HERE, forge=anything, key_of=lambda pull: pull)
    return PressFilter(anything, anything), served


@pytest.mark.parametrize(
    ("press", "key", "wakes", "counts", "asked"),
    [
        pytest.param(PROPOSE, DRAFT, told(PROPOSE), True, 1, id="the log tells of it"),
        pytest.param(PROPOSE, DRAFT, None, False, 1, id="it does not"),
        pytest.param(
            PROPOSE, DRAFT, told(Press("d-1", 6, "bob", "propose")), False, 1, id="another person"
        ),
        pytest.param(
            PROPOSE, DRAFT, told(Press("d-1", 5, "ann", "render")), False, 1, id="another button"
        ),
        pytest.param(PROPOSE, OTHER, told(PROPOSE), False, 1, id="another branch"),
        pytest.param(PROPOSE, FORK, told(PROPOSE, COMMIT), True, 1, id="the head of a fork"),
        pytest.param(PROPOSE, DRAFT, told(PROPOSE, COMMIT), False, 1, id="another's head"),
        pytest.param(Press("d-3", 5, "ann", "why"), DRAFT, None, True, 0, id="a question"),
        pytest.param(BOX, DRAFT, None, True, 0, id="a box, which was confirmed before"),
    ],
)
async def test_which_buttons_count(
    press: Press, key: ProposalKey, wakes: Mapping[Key, Hint] | None, counts: bool, asked: int
) -> None:
    """Short-cuts refused: the delivery is believed; a real press at one pull request counts at
    another; whoever pressed something may have pressed anything."""
    log = Log(wakes)
    pressed, served = presses(log)
    found = await pressed.counting(served, key, [str(press)])

    assert found.presses == ((press,) if counts else ())
    assert found.waiting == (frozenset() if counts else {str(press)})
    assert (len(log.asked), found.again) == (asked, None if counts else 1.0)


async def test_the_log_is_waited_for_a_minute_and_seldom_asked() -> None:
    """Short-cuts refused: a delivery that is not listed yet is lost; each look asks; for ever."""
    log = Log(None)
    pressed, served = presses(log)
    for _ in range(5):
        await pressed.counting(served, DRAFT, [str(PROPOSE)])
    assert len(log.asked) == 1

    log.now += 2
    log.wakes = told(PROPOSE)
    assert (await pressed.counting(served, DRAFT, [str(PROPOSE)])).presses == (PROPOSE,)
    assert (await pressed.counting(served, DRAFT, [str(PROPOSE)])).presses == (PROPOSE,)
    assert len(log.asked) == 2

    made_up = Log(None, refuses=True)
    pressed, served = presses(made_up)
    while (found := await pressed.counting(served, DRAFT, [str(PROPOSE)])).again is not None:
        made_up.now += found.again
    assert (found.presses, found.waiting) == ((), frozenset())
    assert made_up.now - 100 == PATIENCE  # what is listed after 59 seconds counts
    assert len(made_up.asked) <= 7
    await pressed.counting(served, DRAFT, [str(PROPOSE)])
    assert len(made_up.asked) <= 7


async def test_a_log_that_cannot_be_read_keeps_nothing_else_and_uses_up_no_time() -> None:
    """Short-cuts refused: the look fails with the log, and with it all else at that branch; the
    minute passes while nobody can tell; it is waited for ever."""
    log = Log(told(PROPOSE))
    log.busy = True
    pressed, served = presses(log)
    for _ in range(7):
        found = await pressed.counting(served, DRAFT, [str(PROPOSE)])
        assert (found.presses, found.waiting, found.again) == ((), frozenset({str(PROPOSE)}), TURN)
        log.now += TURN
    log.busy = False
    assert (await pressed.counting(served, DRAFT, [str(PROPOSE)])).presses == (PROPOSE,)

    never = Log(told(PROPOSE))
    never.busy = True
    pressed, served = presses(never)
    while (found := await pressed.counting(served, DRAFT, [str(PROPOSE)])).again is not None:
        never.now += found.again
    assert (found.presses, found.waiting) == ((), frozenset())
    assert never.now - 100 == BUSY_PATIENCE


async def test_so_many_presses_are_looked_for_in_a_look() -> None:
    """The short-cut looks for all: whoever knows the secret makes up a thousand."""
    log = Log(None)
    pressed, served = presses(log)
    many = [str(Press(f"d-{n}", 5, "ann", Button.PROPOSE)) for n in range(1_000)]
    found = await pressed.counting(served, DRAFT, many)
    assert len(log.asked) == MOST_ASKED
    assert (found.presses, found.waiting, found.again) == ((), frozenset(many), 1.0)

    ever, log.wakes = set(log.asked), told(PROPOSE)
    while PROPOSE not in found.presses:
        assert found.again is not None
        log.now += found.again
        before = len(log.asked)
        found = await pressed.counting(served, DRAFT, [*many, str(PROPOSE)])
        assert len(log.asked) <= before + MOST_ASKED
        ever |= set(log.asked)
