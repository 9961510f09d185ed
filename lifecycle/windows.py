"""Windows of time: when a repository publishes, and when it does not; pure, given the time.

Rules:

1. A window that freezes keeps everything from being published that lies in its paths, while it is
   active. Where windows that allow lie over a package, one of them has to be active.
2. A window begins and ends at ticks of cron expressions, read on the wall clock of its zone, or at
   two moments. It is active when its last beginning is no older than its last end.
3. A tick that the clock leaves out in spring comes when the clock has jumped; one that the clock
   shows twice in autumn comes the first time (as in Debian's cron).
4. Calendars of two configurations do not weaken one another: each of them has to be open.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from functools import lru_cache
from heapq import merge
from itertools import groupby, islice, product, repeat
from operator import itemgetter

from cronsim import CronSim

EVER = datetime.min.replace(tzinfo=UTC)
"""The beginning of a window that names none."""

MOST_TOGGLES = 200
"""Beginnings and ends that are gone through; further ahead, it is looked at again when they are
over."""

_SECOND = timedelta(seconds=1)
_SHIFT = timedelta(hours=3)
"""More than any zone shifts its clock at once: whoever starts so much earlier misses no tick."""


class WindowKind(StrEnum):
    """What a window does while it is active."""

    ALLOW = "allow"
    FREEZE = "freeze"


@dataclass(frozen=True, slots=True)
class Cron:
    """Ticks of a cron expression of five fields on the wall clock of a zone.

    Attributes:
        expression: Such as "0 18 * * FRI"; it ticks at some time.
        zone: Whose clock.
    """

    expression: str
    zone: tzinfo

    def after(self, at: datetime) -> datetime | None:
        """Return the first tick after a moment, in UTC; None for none in fifty years."""
        # In the hour that comes twice a tick of its first pass may be told for the second.
        return next((tick for tick in self._ticks(at) if tick > at), None)

    def until(self, at: datetime) -> datetime | None:
        """Return the last tick up to a moment and including it, in UTC."""
        # One of the hour that comes twice may be told for another pass: from well before, and on.
        earlier = (at - _SHIFT).astimezone(self.zone)
        begin = at.astimezone(self.zone)
        if begin.utcoffset() != earlier.utcoffset():
            begin = earlier  # else there is no such hour, and three hours of ticks need no walk
        found = next(CronSim(self.expression, begin, reverse=True), None)
        if found is None:
            return None
        for tick in self._ticks(found):
            if tick > at:
                break
            found = tick
        return found.astimezone(UTC)

    def _ticks(self, after: datetime) -> Iterator[datetime]:
        for tick in CronSim(self.expression, after.astimezone(self.zone)):
            yield tick.astimezone(UTC)


@dataclass(frozen=True, slots=True)
class FixedTime:
    """A single moment, in UTC."""

    moment: datetime

    def after(self, at: datetime) -> datetime | None:
        """Return it while it is to come."""
        return self.moment if self.moment > at else None

    def until(self, at: datetime) -> datetime | None:
        """Return it once it has come."""
        return self.moment if self.moment <= at else None


Edge = Cron | FixedTime | None
"""When a window begins or ends; None for ever ago, or never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One window of a configuration.

    Attributes:
        kind: What it does while it is active.
        begins: When; None for ever ago.
        ends: When; None for never.
        zone: The clock that it is told by.
        paths: Folders that it lies over, "" for all of the repository; at least one.
        reason: Why, as people wrote it.
    """

    kind: WindowKind
    begins: Edge = None
    ends: Edge = None
    zone: tzinfo = UTC
    paths: tuple[str, ...] = ("",)
    reason: str = ""

    def active(self, at: datetime) -> bool:
        """Tell whether it is active at a moment."""
        began = self.begins.until(at) if self.begins else EVER
        ended = self.ends.until(at) if self.ends else None
        return began is not None and (ended is None or began >= ended)

    @property
    def digest(self) -> str:
        """32 hex digits that tell it from every other window."""
        return _digest(self)

    def stays(self, since: datetime, at: datetime) -> bool:
        """Tell whether it neither began nor ended between two moments."""
        first = _first_toggle(self, since)
        return first is None or at < first

    def lies_over(self, package: str) -> bool:
        """Tell whether it concerns a package: one holds the other."""
        return any(overlap(path, package) for path in self.paths)

    def toggles(self, at: datetime, active: bool) -> Iterator[tuple[datetime, bool]]:
        """Yield the moments after another one at which it ends or begins, and if it is active then.

        One that ends and begins at one moment stays active.

        Args:
            at: The moment.
            active: Whether it is active then.
        """
        while edge := self.ends if active else self.begins:
            moment = edge.after(at)
            if moment is None:
                return
            at = moment
            again = active and self.begins and self.begins.after(at - _SECOND) == at
            active = bool(again) or not active
            yield at, active


@lru_cache(maxsize=1024)
def _digest(window: Window) -> str:
    return hashlib.sha256(repr(window).encode()).hexdigest()[:32]


@lru_cache(maxsize=8192)  # each look asks it of every exception and every window, and it stays so
def _first_toggle(window: Window, since: datetime) -> datetime | None:
    """When a window first began or ended after a moment; None for never."""
    return next((at for at, _ in window.toggles(since, window.active(since))), None)


Calendar = tuple[Window, ...]
"""The windows of one configuration."""


def overlap(one: str, other: str) -> bool:
    """Tell whether one of two folders is the other, or holds it; "" holds everything."""
    shorter, longer = sorted((one, other), key=len)
    return not shorter or f"{longer}/".startswith(f"{shorter}/")


def within(folder: str, other: str) -> bool:
    """Tell whether a folder lies in another one, and is not that one itself."""
    return folder != other and (not other or folder.startswith(f"{other}/"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """Whether packages may be published at a moment, as far as windows say.

    Attributes:
        closing: The windows that keep them from it, in their order; empty when they may be.
        told: Some window concerns them.
        opens: When they may be published again; None when they may now, or when that is not known.
        changes: When to ask again; None when time alone changes nothing.
    """

    closing: tuple[Window, ...] = ()
    told: bool = False
    opens: datetime | None = None
    changes: datetime | None = None


def closure(calendars: tuple[Calendar, ...], packages: tuple[str, ...], at: datetime) -> Closure:
    """Return what windows say of packages that are published together.

    Args:
        calendars: Of all configurations that hold.
        packages: Their paths.
        at: The moment, in UTC.
    """
    over = dict.fromkeys(
        tuple(window for window in calendar if window.lies_over(package))
        for calendar, package in product(calendars, packages)
    )
    every = {window for windows in over for window in windows}
    edges = [edge for window in every for edge in (window.begins, window.ends)]
    if all(_whole(edge.moment) for edge in edges if isinstance(edge, FixedTime)):
        at = at.replace(second=0, microsecond=0)  # nothing changes within a minute
    return _closure(tuple(windows for windows in over if windows), at)


def _whole(moment: datetime) -> bool:
    return not moment.second and not moment.microsecond


@lru_cache(maxsize=512)  # whatever the packages: anybody may write many windows that tick often
def _closure(over: tuple[Calendar, ...], at: datetime) -> Closure:
    """What windows say at a moment; of each package those that lie over it, a calendar each."""
    concerned = [*dict.fromkeys(window for windows in over for window in windows)]
    if not concerned:
        return Closure()
    active = {window: window.active(at) for window in concerned}
    closing = _closing(over, active)
    changes: datetime | None = None
    told = [
        zip(repeat(n), window.toggles(at, active[window])) for n, window in enumerate(concerned)
    ]
    toggles = islice(merge(*told, key=itemgetter(1)), MOST_TOGGLES)
    count = 0
    for moment, together in groupby(toggles, key=lambda toggle: toggle[1][0]):
        for n, (_, now) in together:
            active[concerned[n]] = now
            count += 1
        then = _closing(over, active)
        if changes is None and (then != closing or count == MOST_TOGGLES):
            changes = moment
        if closing and not then:
            return Closure(closing=closing, told=True, opens=moment, changes=changes)
        if not closing and changes is not None:
            break
    return Closure(closing=closing, told=True, changes=changes)


def _closing(over: tuple[Calendar, ...], active: Mapping[Window, bool]) -> tuple[Window, ...]:
    """The windows that keep some of the packages from being published, given which are active."""
    found: dict[Window, None] = {}
    for windows in over:
        allowing = [window for window in windows if window.kind is WindowKind.ALLOW]
        found |= dict.fromkeys(w for w in windows if w.kind is WindowKind.FREEZE and active[w])
        if allowing and not any(active[window] for window in allowing):
            found |= dict.fromkeys(allowing)
    return tuple(found)
