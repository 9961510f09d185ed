"""`porchbot rpkg get`: packages of repositories, chosen by a selector."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from bot.cli import terminal
from bot.cli.dropin import StrictCommand
from bot.cli.rpkg import selecting, sources
from bot.cli.rpkg.sources import Source
from bot.cli.rpkg.tables import table
from lifecycle.selectors.marks import PackageMarks, PackageSelector

_HEAD = ("PACKAGE", "REVISION", "PURPOSE", "UPSTREAM", "LABELS")


@click.command(
    "get",
    cls=StrictCommand,
    examples="""
    # List the packages of this clone.
    $ porchbot rpkg get

    # List what was made from any revision of net/base and belongs to one team.
    $ porchbot rpkg get --repository acme/clusters --selector 'upstream=net/base,team=edge'
    """,
)
@sources.named
@selecting.SELECTOR
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Format.",
)
def command(
    folders: tuple[Path, ...],
    repositories: tuple[str, ...],
    selector: PackageSelector,
    output: str,
) -> None:
    """List packages with what selectors choose them by.

    Packages are read as the branch that is checked out has them, and the default branch at the
    forge.
    """

    def show(found: list[Source]) -> None:
        chosen = selecting.chosen(found, selector)
        if output == "json":
            click.echo(json.dumps([_value(each) for each in chosen], indent=2))
            return
        for line in _lines(found, chosen):
            terminal.say(line)

    sources.read(sources.chosen(folders, repositories), repositories, show)


def _lines(found: Sequence[Source], chosen: Sequence[PackageMarks]) -> Iterator[str]:
    if not chosen:
        yield "No package is chosen."
        return
    home = found[0].name
    yield from table(_HEAD, [_row(each, home) for each in chosen])


def _row(package: PackageMarks, home: str) -> tuple[str, ...]:
    revision = f"v{package.revision}" if package.revision else "-"
    made = f"{package.upstream}@{package.upstream_ref}" if package.upstream else "-"
    labels = ",".join(f"{key}={value}" for key, value in sorted(package.all_labels.items()))
    return (
        selecting.called(package, home),
        f"{revision} (held at v{package.held})" if package.held else revision,
        package.purpose,
        made,
        labels or "-",
    )


def _value(package: PackageMarks) -> dict[str, object]:
    said = asdict(package)
    return {**said, "purpose": package.purpose}
