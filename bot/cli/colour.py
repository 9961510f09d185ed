"""ANSI colours on a terminal; none in files and pipes, or where NO_COLOR is set.

Source: https://no-color.org
"""

import os
import sys
from typing import IO, Any

import click


def out(text: str, name: str) -> str:
    """Colour a text for standard output."""
    return on(sys.stdout, text, name)


def on(stream: IO[Any] | None, text: str, name: str) -> str:
    """Colour a text for a stream.

    Args:
        stream: Where it is going to be written.
        text: The text.
        name: A colour of `click.style`.
    """
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain or stream is None or not stream.isatty() else click.style(text, fg=name)
