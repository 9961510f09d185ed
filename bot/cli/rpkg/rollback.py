"""`porchbot rpkg rollback`: one package, or all that a selector chooses, brought back."""

from typing import Any

import click

from bot.cli.dropin import CommandFailure, StrictCommand
from bot.cli.rpkg import asking, bulk, selecting
from bot.cli.rpkg.drafting import LAST_WITHOUT, Rollbacks
from lifecycle import names
from lifecycle.selectors.marks import PackageSelector


@click.command(
    "rollback",
    cls=StrictCommand,
    examples="""
    # Return a package to an older revision, and hold it there.
    $ porchbot rpkg rollback net/core@v2 v3 loses packets

    # Return every package made from a bad revision to its newest revision without it.
    $ porchbot rpkg rollback --selector upstream=net/base@v3 --to last-without v3 loses packets
    """,
)
@click.option(
    "--repository",
    "repositories",
    multiple=True,
    metavar="OWNER/NAME | URL",
    help="The repository. Default: that of the clone in the current folder. With"
    " --selector it may be repeated.",
)
@asking.where
@selecting.MANY
@click.option(
    "--to",
    default=LAST_WITHOUT,
    show_default=True,
    metavar="vN | last-without",
    help=(
        "With --selector, the revision to return to: last-without is the newest one that does "
        "not match the selector."
    ),
)
@bulk.options
@click.argument("args", nargs=-1, metavar="[PACKAGE@vN] [REASON ...]")
def command(
    args: tuple[str, ...],
    repositories: tuple[str, ...],
    number: int | None,
    timeout: int,
    selector: PackageSelector | None,
    to: str,
    **how: Any,
) -> None:
    """Open a pull request that returns a package to an older revision, and hold the package there.

    With --selector, each package that matches gets its own pull request.
    """
    if selector is None:
        bulk.refuse("to")
        if len(repositories) > 1:
            raise CommandFailure("name one --repository, or say --selector")
        asking.ask("rollback", args, "".join(repositories), number, timeout)
        return
    if number:
        raise CommandFailure("--selector goes with --repository alone. Leave --on out")
    job = Rollbacks(selector, _revision(to), " ".join(args))
    bulk.run(job, repositories, bulk.how(how, timeout))


def _revision(to: str) -> int:
    """The number that is written; 0 for the newest that the selector does not choose."""
    if to == LAST_WITHOUT:
        return 0
    number = to.removeprefix("v")
    if not names.looks_like_revision(f"v{number}"):
        raise CommandFailure(f"{to!r} is no revision. Write vN or {LAST_WITHOUT} behind --to")
    return int(number)
