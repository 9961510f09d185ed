"""`porchbot rpkg get`: packages of repositories, chosen by a selector."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from bot.cli import terminal
from bot.cli.dropin import CommandFailure, StrictCommand
from bot.cli.rpkg import selecting, sources, waiting
from bot.cli.rpkg.sources import SourceRepository
from bot.cli.rpkg.tables import table
from lifecycle.selectors.marks import PackageMarks, PackageSelector
from lifecycle.upstreams.graph import Package

_HEAD = ("PACKAGE", "REVISION", "PURPOSE", "UPSTREAM", "LABELS")


@click.command(
    "get",
    cls=StrictCommand,
    examples="""
    # List the packages of this clone.
    $ porchbot rpkg get

    # List the packages of one team that were made from any revision of net/base.
    $ porchbot rpkg get --repository acme/clusters --selector 'upstream=net/base,team=edge'

    # Show two packages as JSON.
    $ porchbot rpkg get net/core net/edge -o json
    """,
)
@click.argument("packages", nargs=-1)
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
    packages: tuple[str, ...],
    folders: tuple[Path, ...],
    repositories: tuple[str, ...],
    selector: PackageSelector,
    output: str,
) -> None:
    """List packages with the properties that selectors match.

    PACKAGES are paths in any of the repositories; without any, all packages are listed. In a clone
    they are read from the branch that is checked out, at the forge from the default branch. Which
    packages of variants wait there and why comes last, as the dashboard issue tells it.
    """

    def show(found: list[SourceRepository]) -> None:
        waits = waiting.told(found, repositories)
        chosen = _named(selecting.chosen(found, selector), packages)
        places = {source.name: source.place for source in found}
        there = {Package(places[each.repository], each.path): each for each in chosen}
        if output == "json":
            values = [_value(each, waits.get(at, "")) for at, each in there.items()]
            click.echo(json.dumps(values, indent=2))
            return
        every = not packages and selector == PackageSelector()
        for line in _lines(found, chosen, every=every):
            terminal.say(line)
        for line in waiting.lines(waits, found[0], None if every else there):
            terminal.say(line)

    sources.read(sources.chosen(folders, repositories), repositories, show)


def _named(found: Sequence[PackageMarks], names: Sequence[str]) -> Sequence[PackageMarks]:
    """Packages of these paths; all where no path is given."""
    wanted = {selecting.path_of(each): each for each in names}
    missing = wanted.keys() - {each.path for each in found}
    if missing:
        given = wanted[min(missing)]
        raise CommandFailure(
            f"there is no package {given} among those that the selector chooses. Check the path;"
            " `porchbot rpkg get` lists all"
        )
    return [each for each in found if not wanted or each.path in wanted]


def _lines(
    found: Sequence[SourceRepository], chosen: Sequence[PackageMarks], *, every: bool
) -> Iterator[str]:
    if not chosen:
        yield (
            "There is no package: no folder has a committed Kptfile. `porchbot pkg init` makes one."
            if every
            else "No package matches the selector. `porchbot rpkg get` lists all."
        )
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


def _value(package: PackageMarks, waits: str) -> dict[str, object]:
    said = asdict(package)
    return {**said, "purpose": package.purpose, "waits": waits}
