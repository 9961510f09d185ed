"""Packages that a command of `porchbot rpkg` is about, chosen by a selector."""

from collections.abc import Sequence
from typing import Any

import click

from bot.cli.rpkg.sources import SourceRepository
from lifecycle.selectors.grammar import SelectorError, parse
from lifecycle.selectors.marks import PackageMarks, PackageSelector


class _Selector(click.ParamType[PackageSelector]):
    name = "selector"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> PackageSelector:
        if isinstance(value, PackageSelector):
            return value
        try:
            return parse(str(value))
        except SelectorError as error:
            self.fail(str(error), param, ctx)


_HELP = (
    "such as 'team=net,!held' or 'upstream=net/base@v3'; keys are labels, purpose, path,"
    " repository, upstream, revision, held, annotation:KEY and context:KEY."
)

SELECTOR = click.option(
    "-l",
    "--selector",
    type=_Selector(),
    default="",
    metavar="SELECTOR",
    help=f"Only packages that match, {_HELP}",
)

MANY = click.option(
    "-l",
    "--selector",
    type=_Selector(),
    metavar="SELECTOR",
    help=f"All packages that match, in waves, {_HELP}",
)


def chosen(
    found: Sequence[SourceRepository], selector: PackageSelector
) -> tuple[PackageMarks, ...]:
    """Return the packages that are chosen, by repository as it was named, then by path."""
    return tuple(each for source in found for each in source.marks() if selector.matches(each))


def called(package: PackageMarks, home: str) -> str:
    """Name a package for people; its repository only where that is another one than `home`."""
    path = package.path or "."
    return path if package.repository == home else f"{package.repository}//{path}"


def path_of(argument: str) -> str:
    """Return the path of a package as somebody types it; "" for the package at the top."""
    return argument.strip("/").removeprefix("./").removesuffix(".")
