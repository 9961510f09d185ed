"""`porchbot pkg init`: begin a package in a folder, keeping what is there."""

import csv
import os
from pathlib import Path

import click

from bot.cli.dropin import CommandFailure, DropIn, at_most
from cadlib.update import init as packages


@click.command(
    cls=DropIn,
    examples="""
    # Make the folder "shop" a package.
    $ porchbot pkg init shop --description "Everything a shop needs"
    """,
)
@click.argument("args", metavar="[DIR]", nargs=-1)
@click.option(
    "--description",
    default=packages.DESCRIPTION,
    show_default=True,
    metavar="TEXT",
    help="Short description of the package.",
)
@click.option(
    "--keywords",
    multiple=True,
    metavar="WORDS",
    help="Keywords of the package, separated by commas. May be given several times.",
)
@click.option("--site", default="", metavar="URL", help="Page with information about the package.")
def init(args: tuple[str, ...], description: str, keywords: tuple[str, ...], site: str) -> None:
    """Make DIR, by default the current folder, a package.

    Writes Kptfile, README.md and package-context.yaml unless they exist.
    """
    at_most(args, 1)
    given = os.path.normpath(args[0] if args else ".")
    name = os.path.basename(os.path.abspath(given))
    words = [word for row in csv.reader(keywords) for word in row]
    from bot.cli.disk import folder

    _make(given)
    files = packages.files(name, description=description, keywords=words, site=site)
    for path, entry in files.items():
        place = os.path.normpath(os.path.join(given, path))
        if not os.path.exists(place):
            click.echo(f"writing {place}", err=True)
            folder.write(Path(given), {path: entry})


def _make(given: str) -> None:
    if not os.path.exists(given):
        click.echo(f"creating package directory {given}", err=True)
    try:
        os.makedirs(given, exist_ok=True)
    except OSError as error:
        problem = "not a directory" if isinstance(error, FileExistsError) else error.strerror or ""
        raise CommandFailure(f"open {os.path.abspath(given)}: {problem.lower()}") from error
