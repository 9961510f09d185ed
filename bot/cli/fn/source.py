"""`porchbot fn source`: the resources of a folder as a stream."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import click

from bot.cli import halves, terminal
from bot.cli.disk import parallel
from bot.cli.dropin import CommandFailure, DropIn, at_most
from bot.cli.fn import place
from cadlib.errors import PackageError
from cadlib.package.files import IGNORE_FILE, KPTFILE, Files, name

if TYPE_CHECKING:
    from cadlib.package.source import ParsedPackage

_MARKERS = (KPTFILE, IGNORE_FILE)


@click.command(
    cls=DropIn,
    examples="""
    # Write the resources of the current folder to standard output.
    $ porchbot fn source
    """,
)
@click.argument("args", metavar="[DIR | FILE]", nargs=-1)
@click.option(
    "-o",
    "--output",
    default=place.STDOUT,
    metavar="stdout|unwrap",
    help="As a ResourceList with the file of each resource (the default), or as documents.",
)
@click.option("--fn-config", default="", metavar="FILE", help="The list's functionConfig.")
def source(args: tuple[str, ...], output: str, fn_config: str) -> None:
    """Write the resources of DIR, by default the current folder, or of FILE to standard output."""
    at_most(args, 1)
    if output not in ("", place.STDOUT, place.UNWRAP):
        raise CommandFailure(
            f'invalid input for --output flag "{output}", must be "stdout" or "unwrap"'
        )
    path, files = place.found_or_file(args[0] if args else ".")
    try:
        _written(files, output, fn_config)
    except PackageError as error:
        theirs = place.no_yaml(path, files, error)
        if not theirs:
            raise
        raise CommandFailure(theirs) from error


def _written(files: Files, output: str, fn_config: str) -> None:
    from cadlib.stream import listing

    if output == place.UNWRAP:
        whole, warnings = _read(files)
        place.emit(listing.unwrapped(whole))
        _warn(warnings)
        return
    given = None
    if fn_config:
        from bot.cli.fn import config

        given = config.one(fn_config)
    first, second = _in_two(files)
    parts = halves.both(_items, first, second) if second[1] else (_items(first),)
    place.emit(listing.wrapped((items for items, _ in parts), given))
    # Either half has what all its parts have: the Kptfiles, and what they ignore.
    _warn(list(dict.fromkeys(each for _, warnings in parts for each in warnings)))


def _warn(warnings: Sequence[str]) -> None:
    for each in warnings:
        terminal.say(f"[WARN] {each}", err=True)


def _items(part: tuple[Files, Collection[str]]) -> tuple[bytes, list[str]]:
    """Return the resources of some of a package's files as items of a list, and warnings."""
    from cadlib.stream import listing

    files, listed = part
    found, warnings = _read(files)
    return listing.items(found, [path for path in found.streams if path in listed]), warnings


def _in_two(files: Files) -> tuple[tuple[Files, Collection[str]], tuple[Files, Collection[str]]]:
    """Return the halves of a package: files, and which of these to list.

    Either has all files that say where packages begin and what they ignore. A small package
    is not worth a process of its own.
    """
    ordered = sorted(files, key=lambda path: path.split("/"))
    if sum(len(entry.data) for entry in files.values()) < parallel.LEAST:
        return (files, files), ({}, ())
    half = len(ordered) // 2
    return _part(files, ordered[:half]), _part(files, ordered[half:])


def _part(files: Files, listed: Sequence[str]) -> tuple[Files, Collection[str]]:
    own = frozenset(listed)
    kept = {path: entry for path, entry in files.items() if path in own or name(path) in _MARKERS}
    return kept, own


def _read(files: Files) -> tuple["ParsedPackage", list[str]]:
    """Return a folder as it was read, and which of its files are not listed."""
    from cadlib.limits import DEFAULT
    from cadlib.package.source import ParsedPackage

    found = ParsedPackage(files, DEFAULT, plain=True)
    for finding in found.findings:
        if finding.severity == "error":
            raise PackageError(finding.place, finding.message, finding.fix)
    return found, [str(each) for each in found.findings if each.severity == "warning"]
