"""Buttons of checks that count: the forge's own log of deliveries has to tell of the press as well.

A press can be read nowhere but in its delivery (ADR 34), and whoever knows the webhook's secret can
make one up, in anybody's name. The log cannot be written by them (ADR 75).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import structlog

from bot.clock import Clock
from bot.forges.port import (
    ForgeBusyError,
    ForgeRefusedError,
    Forges,
    LoggedDelivery,
)
from bot.keys import CommitKey, ProposalKey
from bot.loop.repository import ServedRepository
from bot.loop.timed import sooner
from bot.recent import Recent
from bot.store.hints import Press
from lifecycle.boxes import Tick
from lifecycle.facts.checks import Button
from lifecycle.names import Sha

log = structlog.get_logger()

PATIENCE: Final = 60.0
"""Seconds for which it is waited for the log: a delivery stands in it once it was answered."""

BUSY_PATIENCE: Final = 600.0
"""Seconds for which it is waited for a log that cannot be read now."""

FIRST_WAIT: Final = 1.0
"""Seconds until the log is read again; twice as long each time."""

MOST_ASKED: Final = 5
"""Presses of which a look asks the log; people press one. The others wait for their turn."""

TURN: Final = 10.0
"""Seconds until the turn of those comes, or a log that could not be read is read again."""

MOST_KEPT: Final = 10_000
"""Presses of which it is remembered whether the log tells of them."""


@dataclass(frozen=True, slots=True)
class Counting:
    """The buttons and boxes of a proposal that count.

    Attributes:
        presses: Those, sorted.
        waiting: Texts of those that the log does not tell of yet.
        again: Seconds until it is read again; None where none waits.
    """

    presses: tuple[Press, ...] = ()
    waiting: frozenset[str] = frozenset()
    again: float | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """How far the log was asked about a press; all by the monotonic clock.

    Attributes:
        first: When it was asked first.
        since: Since when it answers.
        until: When it is asked again.
        wait: Seconds from the last time to that.
        told: It tells of the press.
        over: It is not asked again.
    """

    first: float
    since: float
    until: float
    wait: float = 0.0
    told: bool = False
    over: bool = False


class PressFilter:
    """Tells which presses count.

    Args:
        forges: Whose log it is.
        clock: By which it is waited.
    """

    def __init__(self, forges: Forges, clock: Clock) -> None:
        self._forges = forges
        self._clock = clock
        self._asked: Recent[tuple[ProposalKey, str], _Asked] = Recent(MOST_KEPT)

    async def counting(
        self, served: ServedRepository, key: ProposalKey, pressed: Iterable[str]
    ) -> Counting:
        """Return those that count; what the log tells nothing of in time counts for nothing.

        Args:
            served: The repository.
            key: The head branch that is looked at.
            pressed: Texts of presses, as a row of work keeps them.
        """
        counts, waiting, again = list[Press](), set[str](), None
        asked = 0
        for text in sorted(pressed):
            press = Press.of(text)
            if not _takes_proof(press):
                counts.append(press)
                continue
            known = self._asked.get((key, text))
            if known is None or self._is_due(known):
                if asked == MOST_ASKED:
                    waiting.add(text)
                    again = sooner(again, TURN)
                    continue
                asked += 1
                known = await self._ask(served, key, press, known)
            if known.told:
                counts.append(press)
            elif not known.over:
                waiting.add(text)
                again = sooner(again, max(0.0, known.until - self._clock.monotonic()))
        return Counting(tuple(sorted(counts)), frozenset(waiting), again)

    def _is_due(self, known: _Asked) -> bool:
        """Whether the log has to be asked again now about a press."""
        return not (known.told or known.over) and self._clock.monotonic() >= known.until

    async def _ask(
        self, served: ServedRepository, key: ProposalKey, press: Press, known: _Asked | None
    ) -> _Asked:
        """Ask the log; a log that cannot be read now is waited for, and keeps nothing else."""
        now = self._clock.monotonic()
        first, since = (now, now) if known is None else (known.first, known.since)
        wait = max(FIRST_WAIT, 2 * known.wait if known is not None else 0.0)
        try:
            told = await self._is_told(served, key, press)
        except ForgeBusyError as error:
            over = now >= first + BUSY_PATIENCE
            asked = _Asked(first, now, now + max(TURN, error.after), over=over)
            reason = str(error)
        else:
            over = not told and now >= since + PATIENCE
            asked = _Asked(first, since, min(now + wait, since + PATIENCE), wait, told, over)
            reason = "the log does not tell of it"
        self._asked.put((key, str(press)), asked)
        if over:
            log.warning("button not believed", key=str(key), login=press.login, reason=reason)
        return asked

    async def _is_told(self, served: ServedRepository, key: ProposalKey, press: Press) -> bool:
        try:
            found = await self._forges.delivery(press.delivery)
            return found is not None and await _tells(served, found, key, press)
        except ForgeRefusedError as error:  # what is not there among them
            log.warning("the log of deliveries cannot be read", reason=str(error))
            return False


def _takes_proof(press: Press) -> bool:
    """Whether it does something; a box was confirmed before it was passed on."""
    return press.button != Button.WHY and not Tick.of(press.button).proposal


async def _tells(
    served: ServedRepository, found: LoggedDelivery, key: ProposalKey, press: Press
) -> bool:
    """Whether a delivery tells of a press by that person, of that button, at that head branch."""
    for where, hint in found.wakes.items():
        if str(press) not in hint.pressed:
            continue
        if where == key:
            return True
        if isinstance(where, CommitKey) and where.repository == served.id:  # of a fork
            pulls = await served.forge.proposals_at(Sha(where.sha))
            if key in {served.key_of(pull) for pull in pulls}:
                return True
    return False
