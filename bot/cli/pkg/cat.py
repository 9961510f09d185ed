"""`porchbot pkg cat`: the resources of a package as one stream of YAML."""

import os

import click

from bot.cli import terminal
from bot.cli.dropin import CommandFailure, DropIn, at_most

_STYLES = ("TaggedStyle", "DoubleQuotedStyle", "LiteralStyle", "FoldedStyle", "FlowStyle")


@click.command(
    cls=DropIn,
    examples="""
    # Print the resources of the package in the current folder.
    $ porchbot pkg cat
    """,
)
@click.argument("args", metavar="[FILE | DIR]", nargs=-1)
@click.option(
    "--format/--no-format", "ordered", default=True, help="Put keys in kpt's order. Default: yes."
)
@click.option("--annotate", is_flag=True, help="Add annotations with the file of each resource.")
@click.option(
    "--style",
    "styles",
    multiple=True,
    type=click.Choice(_STYLES),
    help="FlowStyle: each resource on one line. The others are accepted and change nothing.",
)
@click.option("--strip-comments", is_flag=True, help="Leave comments out.")
@click.option(
    "-R/-r",
    "--recurse-subpackages/--no-recurse-subpackages",
    "inside",
    default=True,
    help="Print the resources of subpackages too. Default: yes.",
)
def cat(
    args: tuple[str, ...],
    ordered: bool,
    annotate: bool,
    styles: tuple[str, ...],
    strip_comments: bool,
    inside: bool,
) -> None:
    """Print the resources of a FILE, or of the package DIR, by default the current folder."""
    at_most(args, 1)
    given = args[0] if args else "."
    _refuse_others(given)
    from bot.cli.given import files_of
    from cadlib.stream.cat import CatOptions, shown

    look = CatOptions(
        ordered=ordered,
        places=annotate,
        comments=not strip_comments,
        flow="FlowStyle" in styles,
        inside=inside,
    )
    data, findings = shown(files_of(given), look)
    click.echo(data, nl=False)
    for finding in findings:
        terminal.say(f"[Warn] {finding}", err=True)


def _refuse_others(given: str) -> None:
    """Refuse a file that holds no resources."""
    if not os.path.isfile(given) or given.lower().endswith((".yaml", ".yml", ".json")):
        return
    if os.path.basename(given) == "Kptfile":
        kind = "a Kptfile package metadata file, not a resource file"
    else:
        kind = "not a YAML/JSON file"
    raise CommandFailure(f'"{given}" is {kind}; no resources will be read')
