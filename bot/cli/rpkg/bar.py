"""A progress bar on a terminal: one line on standard error, written over; nothing elsewhere."""

import sys

from bot.cli import terminal

_CELLS = 24


class Bar:
    """One bar, which `clear` takes away before anything else is printed."""

    def __init__(self) -> None:
        self._on = sys.stderr.isatty()
        self._width = 0

    def show(self, done: int, total: int, words: str) -> None:
        """Draw it.

        Args:
            done: How many are done.
            total: Of how many.
            words: What stands behind it.
        """
        if not self._on:
            return
        line = terminal.line(f"{bar(done, total)} {words}")
        sys.stderr.write(f"\r{line.ljust(self._width)}")
        sys.stderr.flush()
        self._width = len(line)

    def clear(self) -> None:
        """Take it away."""
        if self._on and self._width:
            sys.stderr.write(f"\r{' ' * self._width}\r")
            sys.stderr.flush()
            self._width = 0


def bar(done: int, total: int) -> str:
    """Return the bar alone, such as "[######..................] 10/40"."""
    full = _CELLS * done // total if total else _CELLS
    return f"[{'#' * full}{'.' * (_CELLS - full)}] {done}/{total}"
