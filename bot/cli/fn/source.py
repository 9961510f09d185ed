"""`porchbot fn source`: the resources of a folder as a stream."""

import click

from bot.cli import folder
from bot.cli.dropin import DropIn, Failure, at_most
from bot.cli.fn import place


@click.command(cls=DropIn)
@click.argument("args", metavar="[DIR]", nargs=-1)
@click.option(
    "-o",
    "--output",
    default=place.STDOUT,
    metavar="stdout|unwrap",
    help="As a ResourceList that says where each resource lies (the default), or as documents.",
)
@click.option("--fn-config", default="", metavar="FILE", help="The list's functionConfig.")
def source(args: tuple[str, ...], output: str, fn_config: str) -> None:
    """Write the resources of DIR, by default the current folder, to standard output."""
    at_most(args, 1)
    if output not in ("", place.STDOUT, place.UNWRAP):
        raise Failure(f'invalid input for --output flag "{output}", must be "stdout" or "unwrap"')
    from bot.cli.fn import config
    from cadlib import listing
    from cadlib.limits import DEFAULT
    from cadlib.source import Source

    found = Source(folder.read(place.found(args[0] if args else ".")), DEFAULT, plain=True)
    for finding in found.findings:
        if finding.severity == "error":
            raise Failure(str(finding))
    if output == place.UNWRAP:
        place.emit(listing.unwrapped(found))
        return
    given = config.one(fn_config) if fn_config else None
    place.emit(listing.resource_list(found, given))
