"""Options that the commands which run functions have in common."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from bot.cli.dropin import Failure
from cadlib.images import CATALOG, is_prefix

F = TypeVar("F", bound=Callable[..., Any])

POLICIES = ("Always", "IfNotPresent", "Never")


def running(command: F) -> F:
    """Add the options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def prefix(given: str | None) -> str:
    """Return where images with a short name come from; fail if that can be no such place."""
    found = os.environ.get("KPT_IMAGE_PREFIX", CATALOG) if given is None else given
    if not is_prefix(found):
        raise Failure(
            f'invalid image prefix "{found}": give a registry and a path, as in {CATALOG}'
        )
    return found


_OPTIONS: list[Callable[[Any], Any]] = [
    click.option(
        "-o",
        "--output",
        default="",
        metavar="stdout|unwrap|DIR",
        help="Write the resources there, and change nothing: to standard output as a ResourceList"
        " or as documents, or to a new folder.",
    ),
    click.option(
        "--results-dir",
        default="",
        metavar="DIR",
        help="Write what functions report to results.yaml in this folder.",
    ),
    click.option(
        "--truncate-output/--no-truncate-output",
        default=True,
        help="Show four lines at most of what a function says. Default: yes.",
    ),
    click.option(
        "--image-prefix",
        default=None,
        metavar="PREFIX",
        help="Where images with a short name are. Default: $KPT_IMAGE_PREFIX, or the catalog.",
    ),
    click.option(
        "--image-pull-policy",
        type=click.Choice(POLICIES, case_sensitive=False),
        default="IfNotPresent",
        expose_value=False,
        help="Accepted; the functions that there are here need no image.",
    ),
]
