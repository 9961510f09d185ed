"""Windows of time as `.porchbot.yaml` writes them: the form, and from text to values.

Zones come from `tzdata`, so that the same ones are known on every machine.
"""

import re
import zoneinfo
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from typing import Annotated, Literal

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, Field, model_validator

from bot.config_access import folder
from cadlib.forms import Strict, wrong
from lifecycle import windows
from lifecycle.messages import configuration as texts
from lifecycle.windows import Cron, Edge, FixedTime, WindowKind

MOST_EXPRESSION = 100
"""Characters of a cron expression."""

_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2})?)?")
_FROM = datetime(2026, 1, 1)


def zone(name: str) -> tzinfo:
    """Return a zone by its IANA name.

    Raises:
        PydanticCustomError: There is none of that name.
    """
    if name == "UTC":
        return UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise wrong(*texts.zone(name)) from None


def _zone(name: str) -> str:
    zone(name)
    return name


_YEARS = (1971, 2999)
# At the ends of the calendar the clock of another zone has no such moment.


def _edge(text: str) -> str:
    if _MOMENT.fullmatch(text):
        try:
            year = datetime.fromisoformat(text).year
        except ValueError as error:
            raise wrong(*texts.moment(text, str(error))) from None
        if not _YEARS[0] <= year <= _YEARS[1]:
            raise wrong(*texts.moment(text, texts.years(*_YEARS)))
        return text
    if len(text) > MOST_EXPRESSION or len(text.split()) != 5 or not _ticks(text):
        raise wrong(*texts.schedule(text))
    return text


def _ticks(text: str) -> bool:
    """Whether it is a cron expression that ticks some time."""
    try:
        return next(CronSim(text, _FROM), None) is not None
    except CronSimError:
        return False


class Window(Strict):
    """A period in which packages may be published, or may not."""

    kind: Literal["allow", "freeze"]
    """`freeze`: nothing is published during the window. `allow`: its packages are published only
    during the window, or during another `allow` window for them."""

    from_: Annotated[str, AfterValidator(_edge)] | None = Field(None, alias="from")
    """When it begins: a cron expression with five fields, such as `0 18 * * FRI`, or a date, such
    as `2026-12-20` or `2026-12-20 18:00`. Default: it has already begun."""

    until: Annotated[str, AfterValidator(_edge)] | None = None
    """When it ends, written the same way. Default: it does not end."""

    zone: Annotated[str, AfterValidator(_zone)] = "UTC"
    """Time zone of both, by its IANA name, such as `Europe/Berlin`."""

    paths: (
        Annotated[list[Annotated[str, AfterValidator(folder)]], Field(min_length=1, max_length=100)]
        | None
    ) = None
    """Folders whose packages it applies to. Default: all packages."""

    reason: Annotated[str, Field(min_length=1, max_length=500)]
    """The reason, shown to everybody who has to wait."""

    @model_validator(mode="after")
    def _begins_and_ends_alike(self) -> "Window":
        edges = [edge for edge in (self.from_, self.until) if edge is not None]
        recurring = [edge for edge in edges if not _MOMENT.fullmatch(edge)]
        if recurring and len(recurring) < 2:
            raise wrong(*texts.RECURS_HALF)
        if len(edges) == 2 and self._never():
            raise wrong(*texts.NO_TIME)
        return self

    def _never(self) -> bool:
        """Whether it lasts no time: it would freeze nothing, or allow nothing for ever."""
        begins, ends = (self._as_edge(each) for each in (self.from_, self.until))
        if isinstance(begins, FixedTime) and isinstance(ends, FixedTime):
            return begins.moment >= ends.moment
        return str(self.from_).split() == str(self.until).split()

    def _as_edge(self, text: str | None) -> Edge:
        if text is None:
            return None
        if _MOMENT.fullmatch(text):
            moment = datetime.fromisoformat(text).replace(tzinfo=zone(self.zone))
            return FixedTime(moment.astimezone(UTC))
        return Cron(text.upper(), zone(self.zone))

    def window(self) -> windows.Window:
        """As the lifecycle knows it."""
        return windows.Window(
            kind=WindowKind(self.kind),
            begins=self._as_edge(self.from_),
            ends=self._as_edge(self.until),
            zone=zone(self.zone),
            paths=tuple(self.paths or ("",)),
            reason=self.reason.strip().rstrip("."),
        )


def of(forms: Iterable[Window]) -> tuple[windows.Calendar, ...]:
    """Return the calendar of a configuration; none where it has no windows."""
    calendar = tuple(each.window() for each in forms)
    return (calendar,) if calendar else ()
