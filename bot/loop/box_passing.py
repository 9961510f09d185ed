"""Boxes about proposals: their commands go to where those are looked at, and are judged there.

There each is a command that nobody wrote, as a button of a check is, at the time of its tick, and
names the commit that was shown. What it says counts, so that neither who ticked nor when is taken
from the delivery: the forge has to list an edit of the issue by that person at that moment, of not
long ago, and one edit speaks for one delivery (ADR 73).
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from bot import keys
from bot.forges.port import IssueEdit
from bot.look.box_states import TickedBoxes
from bot.loop.repository import ServedRepository
from bot.store.hints import BOX, Hint, Press
from bot.store.port import Claims, Queue
from lifecycle import boxes
from lifecycle.boxes import Tick
from lifecycle.facts.drafts import MOST_DRAFTS
from lifecycle.identity import RepositoryId

PATIENCE: Final = timedelta(seconds=60)
"""How long it is waited for the forge to list an edit that it told of, and how far the bot's clock
may be behind the forge's."""

FRESH: Final = timedelta(minutes=30)
"""How old an edit may be: an old one confirms nothing, whatever a delivery says of it now."""

AWAY: Final = timedelta(seconds=5)
"""How far apart the times of one edit may be that a forge tells in two places."""


async def confirmed(
    claims: Claims, here: RepositoryId, press: Press, tick: Tick, listed: Sequence[IssueEdit]
) -> IssueEdit | None:
    """Return the edit that confirms a box, which then confirms no other delivery.

    Which one it confirmed every replica sees, for longer than an edit is good for.

    Args:
        claims: Where that is written down.
        here: The repository.
        press: The box.
        tick: The same, read, with when it was ticked, as the delivery says.
        listed: The edits of the issue that the forge lists.
    """
    if tick.at is None:
        return None
    at = tick.at
    near = (e for e in listed if e.person == press.person and abs(e.at - at) <= AWAY)
    for edit in sorted(near, key=lambda each: (abs(each.at - at), each.at)):
        place = f"edit of issue {tick.issue} by {edit.person} at {edit.at.isoformat()}"
        if await claims.have(here, place, press.delivery):
            return edit
    return None


async def passed_on(
    served: ServedRepository, queue: Queue, claims: Claims, ticked: Sequence[Press]
) -> tuple[TickedBoxes, bool]:
    """Give the commands of boxes to the proposals that they are about, a few at a time.

    Args:
        served: The repository.
        queue: The work.
        claims: Which edits spoke for which deliveries.
        ticked: Boxes that have no answer yet.

    Returns:
        Those that can be answered on the dashboard: what is not about a proposal, and what was
        passed on, or never will be. And whether some are left for the next time.
    """
    there, unconfirmed, left, passed = list[Press](), set[int](), False, 0
    now, keys_of = served.clock.now(), served.looker.keys
    listed: dict[int, Sequence[IssueEdit]] = {}
    for press in ticked:
        tick = Tick.of(press.button)
        if not (tick.proposal and press.person and boxes.is_ours(tick, keys_of, served.id)):
            there.append(press)
            continue
        if passed >= MOST_DRAFTS:
            left = True
            continue
        if tick.at is None or tick.issue == 0 or not -PATIENCE <= now - tick.at <= FRESH:
            there.append(press)
            unconfirmed.add(press.number)
            continue
        if tick.issue not in listed:
            listed[tick.issue] = await served.forge.issue_edits(tick.issue, now - FRESH - AWAY)
        edit = await confirmed(claims, served.id, press, tick, listed[tick.issue])
        if edit is not None:
            passed += 1
            at_edit = replace(press, button=str(replace(tick, at=edit.at)))
            await _pass(served, queue, at_edit, tick)
            there.append(press)
        elif now - tick.at < PATIENCE:
            left = True  # and takes no place: whoever makes deliveries up would take all
        else:
            there.append(press)
            unconfirmed.add(press.number)
    return TickedBoxes(tuple(there), frozenset(unconfirmed)), left


def of_other_issues(hint: Hint, number: int) -> Hint:
    """Return the boxes of issues that only look like the dashboard: whoever may open one made it.

    Args:
        hint: What woke a dashboard.
        number: Number of the dashboard issue, as its adapter gives it; 0 where there is none.
    """
    theirs = (p for p in hint.pressed if Tick.of(Press.of(p).button).issue not in (0, number))
    return Hint(pressed=frozenset(theirs))


async def _pass(served: ServedRepository, queue: Queue, press: Press, tick: Tick) -> None:
    key = keys.PullKey(served.id, tick.proposal)
    await queue.wake(key, Hint(pressed=frozenset({str(press)}), by=frozenset({BOX})))
