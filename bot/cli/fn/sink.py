"""`porchbot fn sink`: a stream of resources as files in a new folder."""

from pathlib import Path

import click

from bot.cli.disk import folder
from bot.cli.dropin import CommandFailure, DropIn, at_most
from bot.cli.fn import place


@click.command(
    cls=DropIn,
    examples="""
    # Write resources into the new folder "out".
    $ porchbot fn source shop | porchbot fn sink out
    """,
)
@click.argument("args", metavar="DIR", nargs=-1)
def sink(args: tuple[str, ...]) -> None:
    """Write resources from standard input to DIR, which must not exist yet."""
    at_most(args, 1)
    if not args:
        raise CommandFailure("requires at least 1 arg(s), only received 0")
    place.check_output(args[0])
    from cadlib.stream import listing

    folder.write(Path(args[0]), listing.files(place.received().items))
