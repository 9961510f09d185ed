"""Judges other open proposals by the rules that a proposal brings, for its own check to tell.

Bounded in number and time, whatever is open, and kept: it is said again at each look.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

import structlog

from bot.clock import Clock, Offload, in_thread
from bot.forges.port import Forge, ForgeBusyError, ForgeRefusedError, Repository
from bot.git.port import GitBusyError, GitRefusedError, ObjectTooLargeError
from bot.look.states import HeadBranch
from lifecycle.effects import compare, functions
from lifecycle.facts.effects import FunctionsEffect, RulesEffect, VerdictChange
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.names import Sha

log = structlog.get_logger()

MOST_JUDGED: Final = 20
"""Proposals that are judged, those that changed last: each takes as many requests as a look."""

SECONDS: Final = 60.0
"""Seconds after which no further one is begun: whoever changes the rules waits for this."""

KEPT: Final = 900.0
"""Seconds until they are judged anew, at the next look: what others push meanwhile counts then."""

MOST_AN_HOUR: Final = 100
"""Proposals that are judged in an hour, whoever pushes rules how often: about 1,000 of the 5,000
requests that an installation has."""

HOUR: Final = 3600.0

UNREADABLE: Final = (
    ForgeBusyError,
    ForgeRefusedError,
    GitBusyError,
    GitRefusedError,
    ObjectTooLargeError,
)
"""What stops the look at one proposal, and anybody may open one like that: it must not stop the
look at another. The store's errors and what a look asks its caller for are not among them."""

MOST_KEPT: Final = 20
"""Changes of the rules of one repository whose effect is kept."""

JudgeBoth = Callable[[HeadBranch, int, Sha], Awaitable[tuple[Facts, Facts]]]
"""Reads one proposal: as it is judged now, and by the rules at another commit."""


class WhatIf:
    """Finds out what changes of the rules of one repository would do.

    Args:
        repository: Which one.
        forge: Its forge.
        clock: How long it takes, and how old what is kept is.
        offload: Where both are compared: rules of many windows take a while.
    """

    def __init__(
        self, repository: Repository, forge: Forge, clock: Clock, offload: Offload = in_thread
    ) -> None:
        self._repository = repository
        self._forge = forge
        self._clock = clock
        self._offload = offload
        self._judged: deque[float] = deque()
        self._kept: dict[tuple[Sha, Sha, str], tuple[RulesEffect, float]] = {}

    async def of(self, p: Proposal, judge: JudgeBoth) -> RulesEffect | None:
        """Return what the change of the configuration would do; None where it changes none.

        Args:
            p: The proposal, open or not.
            judge: Reads another one.
        """
        content = p.content
        if p.place.closed or not content.configuration_changed or content.configuration:
            return None
        key = p.place.head, p.place.base, p.place.base_ref
        found, until = self._kept.get(key, (None, 0.0))
        if found is None or self._clock.monotonic() > until:
            found = await self._judge(p, judge)
            while len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = found, self._clock.monotonic() + KEPT
        return found

    async def told(self, p: Proposal, judge: JudgeBoth) -> Proposal:
        """Return the proposal with that, as `of` finds it."""
        effect = await self.of(p, judge)
        return replace(p, consequences=replace(p.consequences, rules_effect=effect))

    async def _judge(self, p: Proposal, judge: JudgeBoth) -> RulesEffect:
        everywhere = p.place.base_ref == self._repository.default_branch
        others = [
            pull
            for pull in await self._forge.open_proposals()
            if (everywhere or pull.base_ref == p.place.base_ref)
            and not pull.draft
            and pull.number != p.place.number
        ]
        others.sort(key=lambda pull: (pull.updated_at, pull.number), reverse=True)
        until = self._clock.monotonic() + SECONDS
        found: list[VerdictChange] = []
        runs = FunctionsEffect()
        looked = unread = 0
        for pull in others[:MOST_JUDGED]:
            if self._clock.monotonic() > until or not self._may_judge():
                break
            head = HeadBranch(pull.head_repository, pull.head_ref)
            try:
                both = await judge(head, pull.number, p.place.head)
            except UNREADABLE as error:
                log.warning("not judged by other rules", number=pull.number, error=str(error))
                unread += 1
                continue
            change = await self._offload(compare, pull.number, *both)
            runs = runs.united(functions(pull.number, *both))
            looked += 1
            found += [change] if change else []
        found.sort(key=lambda change: change.number)
        left = len(others) - looked - unread
        return RulesEffect(tuple(found), looked, left, runs, unread)

    def _may_judge(self) -> bool:
        """Take one of those that are judged in an hour; False where none is left."""
        now = self._clock.monotonic()
        while self._judged and self._judged[0] <= now - HOUR:
            self._judged.popleft()
        if len(self._judged) >= MOST_AN_HOUR:
            return False
        self._judged.append(now)
        return True
