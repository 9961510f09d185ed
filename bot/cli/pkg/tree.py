"""`porchbot pkg tree`: the resources, files and packages of a folder as a tree."""

import os

import click

from bot.cli import terminal
from bot.cli.dropin import CommandFailure, DropIn, at_most


@click.command(
    cls=DropIn,
    examples="""
    # Show the resources in the current folder.
    $ porchbot pkg tree
    """,
)
@click.argument("args", metavar="[DIR]", nargs=-1)
def tree(args: tuple[str, ...]) -> None:
    """Show the resources in DIR, by default the current folder, as a tree.

    The exit status is 1 if a Kptfile cannot be read: a package may be missing from the tree then.
    """
    at_most(args, 1)
    from bot.cli.given import files_of
    from cadlib.package.files import KPTFILE
    from cadlib.package.tree import shown

    given = args[0] if args else "."
    text, findings = shown(files_of(given), os.path.basename(os.path.abspath(given)))
    terminal.say(text, nl=False)
    for finding in findings:
        if os.path.basename(finding.place.path) != KPTFILE:
            terminal.say(f"[Warn] {finding}", err=True)
    broken = [f"{each}" for each in findings if os.path.basename(each.place.path) == KPTFILE]
    if broken:
        raise CommandFailure("\nerror: ".join(broken))
