"""Texts about time: windows, and moments as people read them."""

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

from lifecycle.messages.markdown import name, quote, some
from lifecycle.windows import Window, WindowKind

OPEN = "the windows let it be published now"
WINDOW_WHO = "nobody: it goes on by itself then"


def moment(at: datetime, zone: tzinfo = UTC) -> str:
    """A moment on the clock of a zone, and in UTC where that is another."""
    there, utc = at.astimezone(zone), at.astimezone(UTC)
    if zone is UTC:
        return f"{utc:%a %Y-%m-%d %H:%M} UTC"
    return f"{there:%a %Y-%m-%d %H:%M} {zone} ({utc:%a %Y-%m-%d %H:%M} UTC)"


def closed(closing: Sequence[Window]) -> str:
    """Which windows keep it from being published, and why there are such windows."""
    return "; ".join(dict.fromkeys(map(_closing, closing)))


def _closing(window: Window) -> str:
    where = "everything" if "" in window.paths else some(map(name, window.paths))
    if window.kind is WindowKind.FREEZE:
        return f"a window freezes {where}: {quote(window.reason)}"
    return f"outside of the windows for {where}: {quote(window.reason)}"


def opens(closing: Sequence[Window], at: datetime | None) -> str:
    """What is waited for, by the clock of the first of the windows."""
    if at is None:
        return "another `publish.windows` in `.porchbot.yaml`: none ends this in sight"
    return f"that it is {moment(at, closing[0].zone)}"
