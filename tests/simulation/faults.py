"""What befalls bots, database and forge: each is one step of a history, as the moves of people."""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from bot.serve import _back
from tests.simulation import forge_calls
from tests.simulation.deeds import Deeds, Misfortune
from tests.simulation.forge_calls import Fault
from tests.simulation.hands import ImpossibleError
from tests.simulation.weather import FORGE, GIT, MOST_STALE, STORE, Mishap

if TYPE_CHECKING:
    from tests.simulation.history import Simulation

DECIDED = "decision"
"""Between deciding and the first write: what was decided is told to the audit trail there."""

MISFORTUNES = Deeds(Misfortune)
misfortune = MISFORTUNES.add


def _countdown(s: "Simulation") -> int:
    """Mostly soon."""
    return int(s.draw.random() ** 2 * 60)


@misfortune("a bot is killed at a call", 4)
def kill_at(s: "Simulation") -> str:
    port = s.hands.one((FORGE, FORGE, GIT, STORE))
    lost = s.hands.chance(0.5)
    fault = forge_calls.LOST if lost else forge_calls.AWAY
    writes = port != STORE and s.hands.chance(0.7)
    countdown = _countdown(s) // (6 if writes else 1)
    s.weather.coming.append(Mishap("killed", port, countdown, fault, kills=True, writes=writes))
    return (
        f"a bot will die at its call {countdown} of the {port}{' once it is done' if lost else ''}"
    )


@misfortune("a bot is killed", 1)
def kill_now(s: "Simulation") -> str:
    replica = s.hands.one(s.replicas)
    s.kill(replica.name)
    return f"{replica.name} is killed"


@misfortune("a bot stands still", 2)
def stand_still(s: "Simulation") -> str:
    replica, seconds = s.hands.one(s.replicas), 5 + s.draw.random() * 40
    s.stand_still(replica, seconds)
    return f"{replica.name} stands still for {seconds:.0f} s"


@misfortune("a bot stands still at a call, or its leases end there", 2.5)
def stand_still_at(s: "Simulation") -> str:
    # Longer than a lease holds, and shorter than a claim: nobody may say anything twice.
    replica, seconds = s.hands.one(s.replicas), 10.5 + s.draw.random() * 2
    port = s.hands.one((FORGE, FORGE, GIT, STORE, DECIDED, DECIDED, DECIDED))
    countdown = _countdown(s) // {STORE: 1, DECIDED: 20}.get(port, 6)
    of, port = ("begin", STORE) if port == DECIDED else ("", port)

    def stops() -> None:
        s.stand_still(replica, seconds)

    stands = Mishap(
        "stands still",
        port,
        countdown,
        forge_calls.AWAY,
        writes=port != STORE,
        owner=replica.name,
        of=of,
        first=stops,
        waits=port != STORE and s.hands.chance(0.5),
    )
    if port != STORE and s.hands.chance(0.4):
        # Others have what it holds before it knows, while its write is on its way.
        ends, late = partial(s.end_leases, replica), forge_calls.slow(s.hands.one((0.5, 1.5, 2.2)))
        ended = replace(stands, name="leases end", fault=late, first=ends, waits=True)
        s.weather.coming.append(ended)
        return f"the leases of {replica.name} will end at call {countdown} of the {port}"
    s.weather.coming.append(stands)
    return f"{replica.name} will stand still for {seconds:.0f} s at call {countdown} of the {port}"


@misfortune("somebody is faster than a bot", 4)
def race(s: "Simulation") -> str:
    port = s.hands.one((FORGE, FORGE, GIT))
    countdown = _countdown(s) // (6 if port == FORGE else 20)
    fault = forge_calls.AWAY
    s.weather.coming.append(Mishap("race", port, countdown, fault, writes=True, first=s.race))
    return f"somebody acts just before write {countdown} of the {port}"


@misfortune("all bots are killed", 0.4)
def kill_all(s: "Simulation") -> str:
    for replica in list(s.replicas):
        s.kill(replica.name)
    return "all bots are killed"


FORGE_FAULTS: tuple[tuple[str, Fault], ...] = (
    ("502", forge_calls.AWAY),
    ("502 once it was done", forge_calls.LOST),
    ("500", forge_calls.BROKEN),
    ("no answer", forge_calls.TIMED_OUT),
    ("no answer though it was done", forge_calls.TIMED_OUT_DONE),
    ("half an answer", forge_calls.CUT),
    ("401", forge_calls.UNKNOWN_TOKEN),
    ("403", forge_calls.NOT_ALLOWED),
    ("404", forge_calls.NOT_THERE),
    ("409", forge_calls.CONFLICT),
    ("422", forge_calls.INVALID),
    ("a list lacks one", forge_calls.LACKING),
)


@misfortune("the forge fails once", 5)
def fail_once(s: "Simulation") -> str:
    name, fault = s.hands.one(FORGE_FAULTS)
    port, countdown = s.hands.one((FORGE, FORGE, FORGE, GIT)), _countdown(s)
    writes = s.hands.chance(0.5)
    if writes:
        countdown //= 6
    s.weather.coming.append(Mishap(name, port, countdown, fault, writes=writes))
    return f"call {countdown} of the {port} will fail: {name}"


@misfortune("a limit of the forge", 0.7)
def limited(s: "Simulation") -> str:
    seconds = 1 + s.draw.random() * 90
    fault = forge_calls.limited(seconds)
    if s.hands.chance(0.3):
        fault = forge_calls.exhausted(s.forge.clock.now() + timedelta(seconds=seconds))
    s.weather.coming.append(Mishap("limit", FORGE, _countdown(s), fault))
    return f"the forge will ask to wait {seconds:.0f} s"


@misfortune("stale answers", 4)
def stale(s: "Simulation") -> str:
    many, changes = 1 + int(s.draw.random() * 12), 1 + int(s.draw.random() * MOST_STALE)
    for _ in range(many):
        countdown = _countdown(s) // 3
        s.weather.coming.append(
            Mishap("stale", s.hands.one((FORGE, FORGE, GIT)), countdown, forge_calls.stale(changes))
        )
    return f"{many} answers will be {changes} changes old"


@misfortune("the database fails once", 2.5)
def statement_fails(s: "Simulation") -> str:
    done, countdown = s.hands.chance(0.5), _countdown(s)
    fault = forge_calls.LOST if done else forge_calls.AWAY
    s.weather.coming.append(Mishap("failed", STORE, countdown, fault))
    return f"statement {countdown} will fail{' once it is done' if done else ''}"


@misfortune("somebody cannot be reached", 1)
def outage(s: "Simulation") -> str:
    port, seconds = s.hands.one((FORGE, GIT, STORE, STORE)), 2 + s.draw.random() * 60
    s.weather.away[port] = s.loop.now + seconds
    return f"the {port} is away for {seconds:.0f} s"


@misfortune("the App is suspended", 0.5)
def suspended(s: "Simulation") -> str:
    seconds = s.hands.one((3.0, 30.0, 300.0, 4000.0))
    s.suspend(seconds)
    return f"the App is suspended for {seconds:.0f} s"


@misfortune("the App is taken away", 0.4)
def uninstalled(s: "Simulation") -> str:
    seconds = s.hands.one((3.0, 30.0, 300.0, 4000.0))
    s.uninstall(seconds)
    return f"the App is taken away for {seconds:.0f} s"


@misfortune("functions cannot be run", 0.6)
def runner_away(s: "Simulation") -> str:
    replica, seconds = s.hands.one(s.replicas), 1 + s.draw.random() * 60
    replica.renderer.broken = "the runner is away"

    async def woken() -> None:
        await _back(replica.controller)()

    def back() -> None:
        replica.renderer.broken = ""
        replica.start(woken())

    s.later(seconds, back)
    return f"{replica.name} cannot run functions for {seconds:.0f} s"


@misfortune("a backup of the database", 0.7)
def backup(s: "Simulation") -> str:
    s.backup = s.stores.snapshot(s.store)
    return "the database is saved"


@misfortune("the database is lost", 0.5)
def database_lost(s: "Simulation") -> str:
    s.replace_store(s.stores.empty())
    return "the database is lost: it is empty, and the bots start again"


@misfortune("the database is restored", 0.5)
def database_old(s: "Simulation") -> str:
    if s.backup is None:
        raise ImpossibleError
    s.replace_store(s.stores.restore(s.backup))
    return "the database is restored from the backup, and the bots start again"


@misfortune("a clock jumps", 0.5)
def clock_jumps(s: "Simulation") -> str:
    replica, seconds = s.hands.one(s.replicas), s.hands.one((-3600.0, -30.0, 30.0, 3600.0))
    replica.clock.wrong += seconds
    s.weather.skewed = True
    return f"the clock of {replica.name} jumps by {seconds:.0f} s"


@misfortune("a pause", 1)
def pause(s: "Simulation") -> str:
    seconds = s.hands.one((5.0, 20.0, 60.0, 900.0))
    s.pass_time(seconds)
    return f"{seconds:.0f} s pass"


@misfortune("nothing happens for long", 0.25)
def long_pause(s: "Simulation") -> str:
    hours = s.hands.one((1.0, 3.0, 26.0))
    s.skip(hours * 3600)
    return f"{hours:.0f} h pass"


@misfortune("everything settles", 3)
def settle(s: "Simulation") -> str:
    s.pass_time(40.0)
    return "40 s pass"
