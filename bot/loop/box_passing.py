"""Boxes about proposals: their commands go to where those are looked at, and are judged there.

There each is a command that nobody wrote, as a button of a check is, at the time of its tick, and
names the commit that was shown. An approval counts, so that who ticked is not taken from the
delivery alone: the forge has to list an edit of the issue by that person at that moment (ADR 73).
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from bot import keys
from bot.look.box_states import TickedBoxes
from bot.loop.repository import ServedRepository
from bot.store.hints import BOX, Hint, Press
from bot.store.port import Queue
from lifecycle import boxes
from lifecycle.boxes import Tick
from lifecycle.facts.drafts import MOST_DRAFTS

PATIENCE: Final = timedelta(seconds=60)
"""How long it is waited for the forge to list an edit that it told of."""


AWAY: Final = timedelta(seconds=5)
"""How far apart the times of one edit may be that a forge tells in two places."""


async def passed_on(
    served: ServedRepository, queue: Queue, ticked: Sequence[Press]
) -> tuple[TickedBoxes, bool]:
    """Give the commands of boxes to the proposals that they are about, a few at a time.

    Args:
        served: The repository.
        queue: The work.
        ticked: Boxes that have no answer yet.

    Returns:
        Those that can be answered on the dashboard: what is not about a proposal, and what was
        passed on, or never will be. And whether some are left for the next time.
    """
    there, unconfirmed, left, passed = list[Press](), set[int](), False, 0
    keys_of = served.looker.keys
    for press in ticked:
        tick = Tick.of(press.button)
        if not (tick.proposal and press.person and boxes.is_ours(tick, keys_of, served.id)):
            there.append(press)
            continue
        if passed >= MOST_DRAFTS:
            left = True
            continue
        passed += 1
        known = tick.word != boxes.APPROVE or await _is_confirmed(served, press, tick)
        if known:
            await _pass(served, queue, press, tick)
            there.append(press)
        elif tick.at and served.clock.now() - tick.at < PATIENCE:
            left = True
        else:
            there.append(press)
            unconfirmed.add(press.number)
    return TickedBoxes(tuple(there), frozenset(unconfirmed)), left


async def _is_confirmed(served: ServedRepository, press: Press, tick: Tick) -> bool:
    """Whether the forge lists an edit of the issue by whom the delivery named, at that time."""
    if tick.at is None or tick.issue == 0:
        return False
    edits = await served.forge.issue_edits(tick.issue, tick.at - AWAY)
    return any(e.person == press.person and abs(e.at - tick.at) <= AWAY for e in edits)


async def _pass(served: ServedRepository, queue: Queue, press: Press, tick: Tick) -> None:
    key = keys.PullKey(served.id, tick.proposal)
    await queue.wake(key, Hint(pressed=frozenset({str(press)}), by=frozenset({BOX})))
