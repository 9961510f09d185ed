"""`porchbot fn list` and `porchbot fn doc`: what is built in, and how it is configured."""

import json

import click

from bot.cli.dropin import CommandFailure, DropIn, at_most
from fnrunner.builtin import lookup
from fnrunner.builtin.describe import one, page
from fnrunner.contract.errors import FunctionNotFoundError


@click.command(
    "list",
    cls=DropIn,
    examples="""
    # List the built-in functions.
    $ porchbot fn list
    """,
)
@click.argument("args", metavar="", nargs=-1)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    help="How to print it. Default: table.",
)
def names(args: tuple[str, ...], output: str) -> None:
    """List the built-in functions, which need no image and no network.

    Refer to a function by its short name, or by that name in one of the catalog's registries, with
    any of the tags listed; `porchbot fn doc NAME` describes it. The catalog's other functions are
    listed with the reason why they need their image.
    """
    at_most(args, 0)
    functions = [lookup.get(each) for each in lookup.names()]
    if output == "json":
        click.echo(json.dumps([_entry(each) for each in functions], indent=2))
        return
    _table(("NAME", "TAGS", "DOES"), [(f.name, _newest(f), f.about.summary) for f in functions])
    click.echo("\nImages only:")
    _table(None, [(f"  {name}", why) for name, why in sorted(lookup.IMAGE_ONLY.items())])


def _entry(function: lookup.CatalogFunction) -> dict[str, object]:
    about = function.about
    return {
        "name": function.name,
        "tags": list(about.tags),
        "summary": about.summary,
        "alone": about.alone,
        "example": about.example,
    }


def _newest(function: lookup.CatalogFunction) -> str:
    """Return the tags in short: minor versions and ranges."""
    tags = function.about.tags
    return ", ".join([each for each in tags if each.count(".") < 2] or tags)


def _table(heading: tuple[str, ...] | None, rows: list[tuple[str, ...]]) -> None:
    whole = [*([heading] if heading else []), *rows]
    widths = [max(len(row[column]) for row in whole) for column in range(len(whole[0]) - 1)]
    for row in whole:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        click.echo("  ".join((*cells, row[-1])))


@click.command(
    cls=DropIn,
    examples="""
    # Describe set-labels.
    $ porchbot fn doc set-labels

    # The same, with kpt's option.
    $ porchbot fn doc --image set-labels:v0.2
    """,
)
@click.argument("args", metavar="[NAME]", nargs=-1)
@click.option("-i", "--image", default="", help="The function's image, in place of NAME.")
def doc(args: tuple[str, ...], image: str) -> None:
    """Describe a built-in function and its configuration; without NAME, all of them.

    NAME is a short name or an image, such as set-labels or set-labels:v0.2. The output is Markdown.
    """
    at_most(args, 0 if image else 1)
    wanted = image or "".join(args)
    if not wanted:
        click.echo(page(), nl=False)
        return
    try:
        function = lookup.find(wanted)
    except FunctionNotFoundError:
        raise CommandFailure(_unknown(wanted)) from None
    click.echo(one(function.name), nl=False)


def _unknown(name: str) -> str:
    only = lookup.IMAGE_ONLY.get(name.rpartition("/")[2].partition(":")[0])
    if only:
        return f"{name} is not built in, it needs its image: it {only}"
    return f"{name} is not built in. Those that are: {', '.join(lookup.names())}"
