"""Buttons of checks that count: the forge's own log of deliveries has to tell of the press as well.

A press can be read nowhere but in its delivery (ADR 34), and whoever knows the webhook's secret can
make one up, in anybody's name. The log cannot be written by them (ADR 75).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import structlog

from bot.clock import Clock
from bot.forges.port import ForgeMissingError, ForgeRefusedError, Forges, LoggedDelivery
from bot.keys import CommitKey, ProposalKey
from bot.loop.recent import Recent
from bot.loop.repository import ServedRepository
from bot.loop.timed import sooner
from bot.store.hints import Press
from lifecycle.boxes import Tick
from lifecycle.facts.checks import Button
from lifecycle.names import Sha

log = structlog.get_logger()

PATIENCE: Final = 60.0
"""Seconds for which it is waited for the log: a delivery stands in it once it was answered."""

FIRST_WAIT: Final = 1.0
"""Seconds until the log is read again; twice as long each time."""

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
    """How far the log was asked about a press: from when on, by the clock, until when not again."""

    since: float
    until: float
    wait: float = FIRST_WAIT
    told: bool = False


class Pressed:
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
        for text in sorted(pressed):
            press = Press.of(text)
            if not _takes_proof(press) or (asked := await self._ask(served, key, press)).told:
                counts.append(press)
            elif asked.until < asked.since + PATIENCE:
                waiting.add(text)
                again = sooner(again, max(0.0, asked.until - self._clock.monotonic()))
        return Counting(tuple(sorted(counts)), frozenset(waiting), again)

    async def _ask(self, served: ServedRepository, key: ProposalKey, press: Press) -> _Asked:
        """Ask the log, unless that was done just now, or long enough."""
        known, now = self._asked.get((key, str(press))), self._clock.monotonic()
        if known is not None and (known.told or now < known.until):
            return known
        if known is not None and known.until >= known.since + PATIENCE:
            return known
        wait = FIRST_WAIT if known is None else 2 * known.wait
        told = await self._is_told(served, key, press)
        asked = _Asked(now if known is None else known.since, now + wait, wait, told)
        self._asked.put((key, str(press)), asked)
        if not told and asked.until >= asked.since + PATIENCE:
            log.warning("a button that no log tells of", key=str(key), login=press.login)
        return asked

    async def _is_told(self, served: ServedRepository, key: ProposalKey, press: Press) -> bool:
        try:
            found = await self._forges.delivery(press.delivery)
        except (ForgeMissingError, ForgeRefusedError) as error:
            log.warning("the log of deliveries cannot be read", reason=str(error))
            return False
        return found is not None and await _tells(served, found, key, press)


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
