"""Progress messages on a terminal: every few seconds, what a command is doing.

Lines of their own on standard error, so that nothing else that is said there gets into them. A
timer's signal brings them, not a thread: only a process of one thread may be forked
(`bot.cli.halves`), and a child does not inherit the timer.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

import click

from bot.cli import terminal

EVERY = 3.0
"""Seconds between two lines; what takes less is told by nothing but its result."""

_at = [""]


def at(what: str) -> None:
    """Note what is being done now, such as "reading 2500 files"."""
    _at[0] = what


@contextmanager
def reported() -> Iterator[None]:
    """Print what is being done, every few seconds, until the block ends."""
    at("")
    here = threading.current_thread() is threading.main_thread()
    if not here or not sys.stderr.isatty() or not hasattr(signal, "setitimer"):
        yield
        return
    began = monotonic()

    def tell(*_: object) -> None:
        what = f"{terminal.line(_at[0])}, " if _at[0] else ""
        click.echo(f"... {what}{monotonic() - began:.0f} s", err=True)

    before = signal.signal(signal.SIGALRM, tell)
    signal.setitimer(signal.ITIMER_REAL, EVERY, EVERY)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
