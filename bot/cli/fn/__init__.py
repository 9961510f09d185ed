"""`porchbot fn`: functions on packages on disk, with kpt's arguments, output and exit codes."""

import click

from bot.cli.lazy import LazyGroup

_COMMANDS: dict[str, tuple[str, str]] = {}


@click.group(cls=LazyGroup, lazy=_COMMANDS)
def fn() -> None:
    """Run functions on packages on disk."""
