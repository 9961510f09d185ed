"""Windows of time: when they are active, across changes of the clock, and what they keep closed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from lifecycle.windows import Closure, Cron, FixedTime, Window, WindowKind, closure, overlap

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
LORD_HOWE, CAIRO = ZoneInfo("Australia/Lord_Howe"), ZoneInfo("Africa/Cairo")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def freeze(begins: str, ends: str, zone: ZoneInfo = BERLIN, *paths: str) -> Window:
    return Window(
        kind=WindowKind.FREEZE,
        begins=Cron(begins, zone),
        ends=Cron(ends, zone),
        zone=zone,
        paths=paths or ("",),
        reason="a reason",
    )


def allow(begins: str, ends: str, zone: ZoneInfo = BERLIN, *paths: str) -> Window:
    return replace(freeze(begins, ends, zone, *paths), kind=WindowKind.ALLOW)


NIGHT = ("30 2 * * *", "45 3 * * *")
TICKS: dict[str, tuple[ZoneInfo, str, str, str]] = {
    # zone, expression, after this moment, comes at this one
    "in winter": (BERLIN, "30 2 * * *", "2026-01-10 12:00", "2026-01-11 01:30"),
    "in summer": (BERLIN, "30 2 * * *", "2026-07-10 12:00", "2026-07-11 00:30"),
    "the clock leaves it out: when it has jumped": (
        BERLIN, "30 2 * * *", "2026-03-28 12:00", "2026-03-29 01:00",
    ),
    "and the day after at its own time": (
        BERLIN, "30 2 * * *", "2026-03-29 01:00", "2026-03-30 00:30",
    ),
    "the clock shows it twice: the first time": (
        BERLIN, "30 2 * * *", "2026-10-24 12:00", "2026-10-25 00:30",
    ),
    "and not the second time": (BERLIN, "30 2 * * *", "2026-10-25 00:30", "2026-10-26 01:30"),
    "asked between the two": (BERLIN, "30 2 * * *", "2026-10-25 01:10", "2026-10-26 01:30"),
    "a Friday evening over the change": (
        BERLIN, "0 8 * * MON", "2026-03-27 17:00", "2026-03-30 06:00",
    ),
    "another day of the year, another change": (
        NEW_YORK, "30 2 * * *", "2026-03-07 12:00", "2026-03-08 07:00",
    ),
    "half an hour": (LORD_HOWE, "15 2 * * *", "2026-10-03 06:00", "2026-10-03 15:30"),
    "a midnight that there is not": (CAIRO, "0 0 * * *", "2026-04-23 12:00", "2026-04-23 22:00"),
}  # fmt: skip


@pytest.mark.parametrize(("zone", "expression", "after", "expected"), TICKS.values(), ids=TICKS)
def test_ticks_over_changes_of_the_clock(
    zone: ZoneInfo, expression: str, after: str, expected: str
) -> None:
    """Short-cut refused: cron in UTC with the offset of today, or a duration added up."""
    cron = Cron(expression, zone)

    found = cron.after(utc(after))

    assert found == utc(expected)
    assert cron.until(found) == found
    assert cron.until(found + timedelta(minutes=1)) == found
    earlier = cron.until(found - timedelta(seconds=1))
    assert earlier is not None
    assert earlier < found


def test_a_weekend_ends_on_monday_morning_by_the_clock_on_the_wall() -> None:
    """Short-cut refused: a window of 62 hours, which ends an hour late or early twice a year."""
    weekend = freeze("0 18 * * FRI", "0 8 * * MON")
    closed = {
        "2026-03-27 16:59": None,
        "2026-03-27 17:00": "2026-03-30 06:00",
        "2026-03-29 12:00": "2026-03-30 06:00",
        "2026-03-30 06:00": None,
        "2026-10-23 16:00": "2026-10-26 07:00",
    }

    found = {at: closure(((weekend,),), ("net/core",), utc(at)) for at in closed}

    assert {at: each.opens for at, each in found.items()} == {
        at: until and utc(until) for at, until in closed.items()
    }
    assert found["2026-03-27 16:59"].changes == utc("2026-03-27 17:00")
    assert found["2026-03-29 12:00"].closing == (weekend,)


def test_where_windows_allow_nothing_is_published_at_any_other_time() -> None:
    """Short-cut refused: a window that allows taken for a hint; or one for all packages."""
    work = allow("0 9 * * MON-FRI", "0 17 * * MON-FRI")
    late = allow("0 20 * * MON", "0 22 * * MON", BERLIN, "net")
    calendars = ((work, late),)
    saturday, monday = utc("2026-01-10 12:00"), utc("2026-01-12 19:30")

    assert closure(calendars, ("net/core",), saturday) == Closure(
        closing=(work, late),
        told=True,
        opens=utc("2026-01-12 08:00"),
        changes=utc("2026-01-12 08:00"),
    )
    assert closure(calendars, ("net/core",), monday).closing == ()
    assert closure(calendars, ("apps/shop",), monday).closing == (work,)
    assert closure(calendars, ("apps/shop", "net/core"), monday).closing == (work,)


def test_calendars_of_two_configurations_do_not_weaken_one_another() -> None:
    """Short-cut refused: one list, in which what a branch allows opens what the default closes."""
    work = allow("0 9 * * MON-FRI", "0 17 * * MON-FRI")
    always = Window(kind=WindowKind.ALLOW)
    night = utc("2026-01-12 23:00")

    assert closure(((work, always),), ("a",), night).closing == ()
    assert closure(((work,), (always,)), ("a",), night).closing == (work,)


def test_a_freeze_goes_before_what_is_allowed_and_both_are_told() -> None:
    work = allow("0 9 * * *", "0 17 * * *")
    lunch = freeze("0 12 * * *", "0 13 * * *")
    at = utc("2026-01-12 11:30")

    found = closure(((work, lunch),), ("a",), at)

    assert (found.closing, found.opens) == ((lunch,), utc("2026-01-12 12:00"))
    evening = closure(((work, lunch),), ("a",), utc("2026-01-12 18:00"))
    assert (evening.closing, evening.opens) == ((work,), utc("2026-01-13 08:00"))


LASTING: dict[str, tuple[Window, str, bool]] = {
    "without times, for ever": (Window(kind=WindowKind.FREEZE), "2026-01-01 00:00", True),
    "until a moment": (
        Window(kind=WindowKind.FREEZE, ends=FixedTime(utc("2026-01-03 00:00"))),
        "2026-01-02 23:59",
        True,
    ),
    "not at that moment": (
        Window(kind=WindowKind.FREEZE, ends=FixedTime(utc("2026-01-03 00:00"))),
        "2026-01-03 00:00", False,
    ),
    "not before it begins": (
        Window(kind=WindowKind.FREEZE, begins=FixedTime(utc("2026-01-03 00:00"))),
        "2026-01-02 23:59", False,
    ),
    "what begins again before it ended has not ended": (
        freeze("0 18 * * FRI,SAT", "0 8 * * MON"), "2026-01-09 20:00", True
    ),
    "what begins when it ends goes on": (
        freeze("0 8 * * *", "0 8 * * MON"), "2026-01-12 07:00", True
    ),
}  # fmt: skip


@pytest.mark.parametrize(("window", "at", "expected"), LASTING.values(), ids=LASTING)
def test_what_is_active(window: Window, at: str, expected: bool) -> None:
    """Short-cut refused: active when the next end comes before the next beginning."""
    assert window.active(utc(at)) is expected


OVERLAPS = [
    ("", "net/core", True),
    ("net", "net/core", True),
    ("net/core/sub", "net/core", True),
    ("net/co", "net/core", False),
    ("net", "network", False),
    ("apps", "", True),
]


@pytest.mark.parametrize(("path", "package", "expected"), OVERLAPS)
def test_a_path_is_about_what_holds_it_too(path: str, package: str, expected: bool) -> None:
    """Short-cut refused: the beginning of the text; and a freeze of a part that freezes nothing."""
    assert overlap(path, package) is overlap(package, path) is expected


HOURS = st.integers(0, 23)
EXPRESSIONS = st.one_of(
    st.builds("{} {} * * *".format, st.sampled_from([0, 15, 30]), HOURS),
    st.builds("0 {} * * {}".format, HOURS, st.sampled_from(["MON", "FRI-SAT", "SUN#1", "5L"])),
    st.builds("{} */{} * * *".format, st.sampled_from([0, 45]), st.integers(2, 7)),
    st.just("0 2 L * *"),
)
NEAR = [utc(day) for day in ("2026-03-29", "2026-10-25", "2026-03-08", "2026-04-24", "2026-10-04")]


@given(
    windows=st.lists(
        st.builds(
            lambda kind, begins, ends, zone, path: replace(
                freeze(begins, ends, zone, path), kind=kind
            ),
            st.sampled_from(WindowKind),
            EXPRESSIONS,
            EXPRESSIONS,
            st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, CAIRO, ZoneInfo("UTC")]),
            st.sampled_from(["", "net", "apps"]),
        ),
        min_size=1,
        max_size=3,
    ),
    day=st.sampled_from(NEAR),
    hours=st.floats(-40, 40),
    part=st.floats(0, 0.999),
)
@settings(max_examples=40, deadline=None, phases=[Phase.explicit, Phase.generate])
def test_nothing_changes_before_the_moment_that_is_told_and_something_then(
    windows: list[Window], day: datetime, hours: float, part: float
) -> None:
    """Short-cut refused: the next tick of any window, or an end that another window outlasts."""
    assume(all(w.begins != w.ends for w in windows))  # the configuration refuses those
    at = day + timedelta(hours=hours)
    calendars, packages = (tuple(windows),), ("net/core",)
    now = closure(calendars, packages, at)

    if now.changes is None:
        assert closure(calendars, packages, at + timedelta(days=9 * part)) == now
        return
    between = closure(calendars, packages, at + min(now.changes - at, timedelta(days=9)) * part)
    then = closure(calendars, packages, now.changes)
    assert now.changes > at
    assert (between.closing, between.opens) == (now.closing, now.opens)
    far = timedelta(days=30)  # one that never ends is looked at again some time
    assert then.closing != now.closing or now.changes - at > far
    if now.opens is not None:
        assert closure(calendars, packages, now.opens).closing == ()
        before = now.opens - timedelta(seconds=1)
        assert before < at or closure(calendars, packages, before).closing


def test_windows_are_worked_out_once_a_minute_whatever_the_packages() -> None:
    """The short-cut keeps what it worked out by second and packages: half a second for each."""
    begins, ends = Cron("* * * * *", UTC), Cron("*/2 * * * *", UTC)
    often = tuple(
        Window(kind=WindowKind.FREEZE, begins=begins, ends=ends, reason=f"{n}") for n in range(3)
    )
    at = utc("2026-01-12 18:00")
    found = closure((often,), ("net/core",), at)
    for second in (1, 59):
        assert closure((often,), (f"net/{second}",), at + timedelta(seconds=second)) is found
    once = Window(kind=WindowKind.FREEZE, begins=FixedTime(at + timedelta(seconds=30)))
    assert not closure(((once,),), ("a",), at + timedelta(seconds=29)).closing
    assert closure(((once,),), ("a",), at + timedelta(seconds=30)).closing


class Counted(tzinfo):
    """A clock that counts how often it is read."""

    reads = 0

    def utcoffset(self, _: datetime | None) -> timedelta:
        self.reads += 1
        return timedelta(hours=1)

    def dst(self, _: datetime | None) -> timedelta:
        return timedelta()

    def tzname(self, _: datetime | None) -> str:
        return "+01"


def test_the_last_tick_of_many_costs_few() -> None:
    """The short-cut walks all ticks of three hours, each day for the two nights of the year on
    which the clock changes: fifty such windows keep the bot busy for a quarter of a second."""
    zone = Counted()
    at = utc("2026-03-03 12:00")
    assert Cron("* * * * *", zone).until(at) == at
    assert Cron("*/2 * * * *", zone).until(at + timedelta(minutes=1)) == at
    assert zone.reads < 100


def test_whether_a_window_stays_is_worked_out_once_for_each_exception() -> None:
    """The short-cut walks the ticks at each look: fifty windows and twenty exceptions take a third
    of a second of every decision."""
    zone = Counted()
    since = utc("2026-03-03 12:00")
    begins, ends = Cron("*/2 * * * *", zone), Cron("1-59/2 * * * *", zone)
    window = Window(kind=WindowKind.FREEZE, begins=begins, ends=ends, zone=zone)
    assert window.stays(since, since + timedelta(seconds=59))
    walked = zone.reads

    for minute in range(1, 30):
        assert not window.stays(since, since + timedelta(minutes=minute))

    assert zone.reads == walked
