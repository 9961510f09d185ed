"""Amounts, times and versions, as functions of Rego read them from texts.

Each returns [value], or [] for a text that is none.

Source: Open Policy Agent, Policy Reference, `units.parse`, `units.parse_bytes`,
`time` and `semver`; Go, package time, ParseDuration; Semantic Versioning 2.0.0.
"""

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Final

_AMOUNT: Final = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?)(?P<unit>[a-z]*)", re.IGNORECASE
)
_POWERS: Final = {letter: power for power, letter in enumerate("kmgtpe", 1)}
_SEGMENT: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h|d|w|y)")
_DURATION: Final = re.compile(rf"(?P<sign>[-+]?)(?P<rest>(?:{_SEGMENT.pattern})+)")
_SECOND: Final = 10**9
_HOUR: Final = 3600 * _SECOND
_UNITS: Final = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": _SECOND,
    "m": 60 * _SECOND, "h": _HOUR, "d": 24 * _HOUR, "w": 168 * _HOUR, "y": 8760 * _HOUR,
}  # fmt: skip
_LONGEST: Final = 2**63 - 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT: Final = re.compile(
    r"(?P<seconds>\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:[.,](?P<rest>\d+))?"
    r"(?P<zone>Z|[+-]\d{2}:\d{2})",
    re.ASCII,
)
_NUMERIC: Final = r"(0|[1-9]\d*)"
_LABELS: Final = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION: Final = re.compile(
    rf"v?{_NUMERIC}\.{_NUMERIC}\.{_NUMERIC}(?:-(?P<before>{_LABELS}))?(?:\+{_LABELS})?", re.ASCII
)

_Version = tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]


def amount(text: str) -> list[int | float]:
    """Return an amount such as "100m" or "1.5Gi"."""
    match = _AMOUNT.fullmatch(text.replace('"', ""))
    if match is None:
        return []
    unit = match["unit"][:1] + match["unit"][1:].lower()
    factor = Fraction(1, 1000) if unit == "m" else _factor(unit.lower(), "i")
    if factor is None:
        return []
    value = Fraction(match["number"]) * factor
    return [int(value) if value.denominator == 1 else float(round(value, 10))]


def size(text: str) -> list[int]:
    """Return a number of bytes such as "10MB" or "1.5GiB", fractions of one left out."""
    match = _AMOUNT.fullmatch(text.lower().replace('"', ""))
    unit = match["unit"] if match else ""
    factor = _factor(unit.removesuffix("b") if len(unit) > 1 else unit, "i")
    return [int(Fraction(match["number"]) * factor)] if match and factor is not None else []


def _factor(unit: str, binary: str) -> Fraction | None:
    """Return what a unit stands for, such as "k" or "ki"; None for what is none."""
    base = 1024 if unit.endswith(binary) and len(unit) > 1 else 1000
    letter = unit.removesuffix(binary) if base == 1024 else unit
    if not letter:
        return Fraction(1)
    return Fraction(base) ** _POWERS[letter] if letter in _POWERS else None


def duration(text: str) -> list[int]:
    """Return a duration such as "1h30m" or "2d" in nanoseconds."""
    match = _DURATION.fullmatch(text)
    if text in ("0", "+0", "-0"):
        return [0]
    if match is None:
        return []
    found = sum(
        int(Fraction(number) * _UNITS[unit]) for number, unit in _SEGMENT.findall(match["rest"])
    )
    if found > _LONGEST + (match["sign"] == "-"):
        return []
    return [-found if match["sign"] == "-" else found]


def moment(text: str) -> list[int]:
    """Return a moment as RFC 3339 writes it, in nanoseconds since 1970."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        return []
    try:
        day = datetime.strptime(match["seconds"], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return []
    zone = match["zone"]
    hours, minutes = (0, 0) if zone == "Z" else (int(zone[1:3]), int(zone[4:]))
    if hours > 23 or minutes > 59:
        return []
    offset = (hours * 3600 + minutes * 60) * (-1 if zone.startswith("-") else 1)
    found = (_whole_seconds(day) - offset) * _SECOND + int((match["rest"] or "").ljust(9, "0")[:9])
    return [found] if -_LONGEST - 1 <= found <= _LONGEST else []


def add_date(begin: int, years: int, months: int, days: int) -> list[int]:
    """Return a moment some years, months and days later; what a month has not is the next's."""
    seconds, rest = divmod(begin, _SECOND)
    day = _EPOCH + timedelta(seconds=seconds)
    year, month = divmod(day.year * 12 + day.month - 1 + years * 12 + months, 12)
    try:
        later = day.replace(year=year, month=month + 1, day=1) + timedelta(days=days + day.day - 1)
    except (ValueError, OverflowError):
        return []
    found = _whole_seconds(later) * _SECOND + rest
    return [found] if -_LONGEST - 1 <= found <= _LONGEST else []


def _whole_seconds(day: datetime) -> int:
    return (day - _EPOCH) // timedelta(seconds=1)


def is_version(text: str) -> bool:
    """Tell whether a text is a version such as "1.2.3-rc.1"."""
    return _version(text) is not None


def compare_versions(one: str, other: str) -> list[int]:
    """Return -1, 0 or 1 for a version that comes before, is, or comes after another one."""
    first, second = _version(one), _version(other)
    if first is None or second is None:
        return []
    return [(first > second) - (first < second)]


def _version(text: str) -> _Version | None:
    """Return a version in a form that sorts; None for what is none."""
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    numbers = tuple(map(int, match.groups()[:3]))
    labels = match["before"].split(".") if match["before"] else []
    if max(numbers) > _LONGEST or any(re.fullmatch(r"0\d+", each) for each in labels):
        return None
    keys = tuple((False, int(each), "") if each.isdecimal() else (True, 0, each) for each in labels)
    return numbers, not labels, keys
