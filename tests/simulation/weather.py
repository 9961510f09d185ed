"""What goes wrong between a bot and the world: calls that fail, outages, deaths between calls."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from bot.store.values import StoreError
from tests.simulation import forge_calls
from tests.simulation.forge_calls import Fault, ForgeCall
from tests.simulation.scheduler import MOMENT, DrawnLoop, Owner

FORGE, GIT, STORE = "forge", "git", "store"
PORTS = (FORGE, GIT, STORE)
AWAY = "The database cannot be reached: it is away. Start it."

COMMENT, REACT = "comment", "react"
"""Calls by which a bot answers."""

MOST_STALE = 4
"""Changes of the forge that a stale answer may be behind."""


@dataclass
class Mishap:
    """Something that befalls one call.

    Attributes:
        name: For the figures.
        port: Which calls are counted; "" for all.
        countdown: Calls of it that go well before.
        fault: How the forge or git fails, or answers; of a store, only whether it was done before.
        kills: The process ends with it.
        writes: Only calls that change something are counted.
        owner: Whose calls are counted; "" for everybody's.
        of: Name of the calls that are counted; "" for all.
        first: What happens just before the call, which then goes well.
        waits: The call is on its way when that happens, and arrives afterwards, as late as the
            fault says.
    """

    name: str
    port: str
    countdown: int
    fault: Fault
    kills: bool = False
    writes: bool = False
    owner: str = ""
    of: str = ""
    first: Callable[[], None] | None = None
    waits: bool = False


@dataclass
class Weather:
    """All that may go wrong.

    Attributes:
        loop: Its time ends outages.
        latency: How long the next call takes, in seconds; mostly 0.
        kill: Ends a process at once, by its name.
        owners: Processes by name, dead ones too.
        coming: Mishaps that wait for their call.
        away: Port to when it can be reached again.
        tally: What happened, for the figures.
        trace: Every call, in order.
        lost: Answers that got lost after what was asked for was done.
        refused: Requests that the forge refused as if it meant it: a merge among them waits for
            something to change, and says so.
        skewed: Some bot's clock was wrong at some time.
        kept_leases: Every statement went well so far: no lease ended that somebody still had.
        saying: Bots that have written a comment, or reacted to one, and not yet told the database
            of it; with which of both.
        unkept: How often a bot could not tell the database of one, or of the other.
    """

    loop: DrawnLoop
    latency: Callable[[], float]
    kill: Callable[[str], None]
    owners: dict[str, Owner] = field(default_factory=dict)
    coming: list[Mishap] = field(default_factory=list)
    away: dict[str, float] = field(default_factory=dict)
    tally: Counter[str] = field(default_factory=Counter)
    trace: list[str] = field(default_factory=list)
    lost: int = 0
    refused: int = 0
    skewed: bool = False
    kept_leases: bool = True
    saying: dict[str, str] = field(default_factory=dict)
    unkept: Counter[str] = field(default_factory=Counter)

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        self.coming.clear()
        self.away.clear()

    def befalls_request(self, call: ForgeCall) -> Fault | None:
        """What befalls a request to the forge or its git (`forge_calls.Faults`)."""
        port = GIT if call.name.startswith("git ") else FORGE
        self.live(call.replica)
        self.trace.append(f"{call.replica} {call.name} {call.step} {call.about}")
        mishap = self.befalls(call.replica, port, writes=call.writes, name=call.name)
        if call.name in (COMMENT, REACT):
            self.saying.setdefault(call.replica, call.name)
        if mishap is None:
            late = self.latency()
            return forge_calls.slow(late) if late else None
        if mishap.waits:
            return forge_calls.slow(mishap.fault.late or MOMENT)
        fault = mishap.fault
        if fault.fails and fault.done:
            self.lost += 1
        if 400 <= fault.status < 500:
            self.refused += 1
        if mishap.kills:
            self.kill(call.replica)
            if not fault.done:
                raise asyncio.CancelledError
            return replace(fault, fails=True)
        return fault

    def befalls(self, owner: str, port: str, *, writes: bool, name: str = "") -> Mishap | None:
        """What befalls the next call of somebody to a port."""
        if self.away and self.away.get(port, 0.0) > self.loop.now:
            self._fails(owner, port)
            self.tally[f"fault: call while the {port} was away"] += 1
            return Mishap("away", port, 0, forge_calls.AWAY)
        for mishap in self.coming:
            if mishap.port not in ("", port) or mishap.owner not in ("", owner):
                continue
            if mishap.of not in ("", name) or (mishap.writes and not writes):
                continue
            if mishap.countdown:
                mishap.countdown -= 1
                continue
            self.coming.remove(mishap)
            self.tally[f"fault: {port}: {mishap.name}"] += 1
            if mishap.first is not None:
                mishap.first()
                return mishap if mishap.waits else None
            self._fails(owner, port)
            return mishap
        return None

    def _fails(self, owner: str, port: str) -> None:
        self.kept_leases &= port != STORE
        self.forgets(owner)

    def forgets(self, owner: str) -> None:
        """A bot ends, or fails, before it has told the database what it said."""
        if owner in self.saying:
            self.unkept[self.saying.pop(owner)] += 1

    def keeps(self, owner: str) -> None:
        """A bot has told the database what it said."""
        self.saying.pop(owner, None)

    def live(self, owner: str) -> None:
        """A process that was killed reaches nothing, whatever it still runs."""
        found = self.owners.get(owner)
        if found is not None and not found.alive:
            raise asyncio.CancelledError

    def failure(self) -> Exception:
        """How a store tells that a statement failed."""
        return StoreError(AWAY)
