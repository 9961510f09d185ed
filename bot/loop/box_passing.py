"""Boxes of the dashboard issue: whom the forge confirms, and where their commands are judged.

Neither who ticked nor when is taken from the delivery: the forge has to list an edit of the issue
by that person at that moment, of not long ago, and one edit speaks for one delivery (ADR 73). Where
the forge tells which box an edit ticked, it speaks for that box alone. What
is about a proposal goes to where that is looked at. There it is a command that nobody wrote, as a
button of a check is, at the time of its tick, and names the commit that was shown.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
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

PATIENCE: Final = timedelta(seconds=60)
"""How long it is waited for the forge to list an edit that it told of, and how far the bot's clock
may be behind the forge's."""

FRESH: Final = timedelta(minutes=30)
"""How old an edit may be: an old one confirms nothing, whatever a delivery says of it now."""

AWAY: Final = timedelta(seconds=5)
"""How far apart the times of one edit may be that a forge tells in two places."""

ALTERED: Final = "nobody: the text was altered"
"""Has the edits that confirm nothing; no delivery's id has blanks."""


class _Edits:
    """Tells which edits of the dashboard issue confirm boxes.

    An edit confirms one delivery, and a delivery takes one edit, also where the forge lists a
    nearer one later. Which one it was every replica sees, for longer than an edit is good for, and
    as long as boxes of that delivery wait.

    Args:
        served: The repository.
        claims: Where that is written down.
    """

    def __init__(self, served: ServedRepository, claims: Claims) -> None:
        self._served = served
        self._claims = claims
        self._listed: dict[int, Sequence[IssueEdit]] = {}
        self._known: dict[tuple[str, int, int, datetime, str], datetime | None] = {}

    async def confirms(self, press: Press, tick: Tick) -> datetime | None:
        """Return when the edit was made that confirms a box; None where none does.

        Args:
            press: The box.
            tick: The same, read, with when it was ticked, as the delivery says.
        """
        if tick.at is None or tick.issue == 0 or (tick.proposal and not self._is_fresh(tick.at)):
            return None
        asked = press.delivery, press.person, tick.issue, tick.at, tick.shown
        if asked not in self._known:
            self._known[asked] = await self._look_up(*asked)
        return self._known[asked]

    def may_come(self, tick: Tick) -> bool:
        """Whether the forge may list the edit of a box yet."""
        age = None if tick.at is None or tick.issue == 0 else self._served.clock.now() - tick.at
        return age is not None and -PATIENCE <= age < PATIENCE

    def _is_fresh(self, at: datetime) -> bool:
        """Whether an edit of that time may confirm anything now."""
        return -PATIENCE <= self._served.clock.now() - at <= FRESH

    async def _look_up(
        self, delivery: str, person: int, issue: int, at: datetime, shown: str
    ) -> datetime | None:
        served, claims = self._served, self._claims
        which = hashlib.sha256(delivery.encode()).hexdigest()  # its sender chose how long it is
        box = f" of box {shown}" if shown else ""
        told = f"delivery {which} by {person} of issue {issue} at {at.isoformat()}{box}"
        if known := await claims.holder(served.id, told):
            await claims.hold(served.id, told)
            return datetime.fromisoformat(known)
        if not self._is_fresh(at):
            return None
        if issue not in self._listed:
            since = served.clock.now() - FRESH - AWAY
            self._listed[issue] = await served.forge.issue_edits(issue, since)
        near = [
            edit
            for edit in self._listed[issue]
            if edit.person == person and abs(edit.at - at) <= AWAY and edit.ticked in (None, shown)
        ]
        places, counted = dict[str, datetime](), Counter[datetime]()
        for each in sorted((e.at for e in near), key=lambda each: (abs(each - at), each)):
            counted[each] += 1  # forges tell whole seconds, in which somebody ticks several boxes
            nth = f" ({counted[each]})" if counted[each] > 1 else ""
            places[f"edit of issue {issue} by {person} at {each.isoformat()}{box}{nth}"] = each
        altered = {edit.at for edit in near if edit.now is not None and not self._stands(edit.now)}
        for place in (place for place, when in places.items() if when in altered):
            await claims.have(served.id, place, ALTERED)  # also once the issue is written again
        holders = {place: await claims.holder(served.id, place) for place in places}
        # What this delivery has already goes first: a look may have ended right after it took that.
        for place in sorted(places, key=lambda each: holders[each] != delivery):
            if holders[place] in ("", delivery) and await claims.have(served.id, place, delivery):
                await claims.have(served.id, told, places[place].isoformat())
                return places[place]
        return None

    def _stands(self, text: str) -> bool:
        """Whether the issue is as we wrote it, so that what was ticked is what we offered."""
        return boxes.stands(text, self._served.looker.keys, self._served.id)


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
    edits = _Edits(served, claims)
    for press in ticked:
        tick = Tick.of(press.button)
        if not (press.person and boxes.is_ours(tick, served.looker.keys, served.id)):
            there.append(press)
            continue
        if tick.proposal and passed >= MOST_DRAFTS:
            left = True
            continue
        at = await edits.confirms(press, tick)
        if at is None and edits.may_come(tick):
            left = True  # and takes no place: whoever makes deliveries up would take all
            continue
        there.append(press)
        if at is None:
            unconfirmed.add(press.number)
        elif tick.proposal:
            passed += 1
            await _pass(served, queue, replace(press, button=str(replace(tick, at=at))), tick)
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
