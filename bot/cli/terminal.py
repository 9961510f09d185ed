"""Text of others on a terminal: nothing in it is obeyed there, or hides what stands beside it.

Repositories, forges and tags hold what anybody wrote: names, titles, reasons, what functions say.
Whatever a command prints for people goes through here; data, such as the files of `pkg cat`, does
not.
"""

import click

from lifecycle import spelling


def line(text: str) -> str:
    """Return text on one line, invisible characters and orders to a terminal written out."""
    return "".join(c for c in spelling.shown(" ".join(text.split())) if c.isprintable())


def lines(text: str) -> str:
    """Return text with its ends of lines and tabs, and otherwise like `line`."""
    return spelling.shown(text.replace("\r\n", "\n")).replace("\r", "<U+000D>")


def say(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text of others, on standard error if `err`."""
    click.echo(lines(text), err=err, nl=nl)
