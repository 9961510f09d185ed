"""`porchbot rpkg propose` and `approve`: pull requests, by their numbers or by a selector."""

from collections.abc import Collection
from typing import Any

import click

from bot.cli.dropin import CommandFailure, StrictCommand
from bot.cli.rpkg import bulk, selecting
from bot.cli.rpkg.jobs import Job
from bot.cli.rpkg.proposing import ApproveCommands, ProposeCommands
from lifecycle.selectors.marks import PackageSelector


def _command(
    name: str, job: type[ProposeCommands | ApproveCommands], text: str, examples: str
) -> click.Command:
    @click.option(
        "--repository",
        "repositories",
        multiple=True,
        metavar="OWNER/NAME | URL",
        help="The repository. Default: that of the clone in the current folder. With"
        " --selector it may be repeated.",
    )
    @click.option(
        "--timeout",
        default=120,
        show_default=True,
        type=click.IntRange(1),
        help="Seconds to wait for the bot's answer to each.",
    )
    @selecting.MANY
    @bulk.options
    @click.argument("numbers", nargs=-1, type=click.IntRange(1), metavar="[NUMBER ...]")
    def command(
        numbers: tuple[int, ...],
        repositories: tuple[str, ...],
        timeout: int,
        selector: PackageSelector | None,
        **how: Any,
    ) -> None:
        _run(job(selector, numbers), numbers, repositories, selector, bulk.how(how, timeout))

    return click.command(name, cls=StrictCommand, help=text, examples=examples)(command)


def _run(
    job: Job,
    numbers: Collection[int],
    repositories: tuple[str, ...],
    selector: PackageSelector | None,
    how: bulk.How,
) -> None:
    if selector is None and not numbers:
        raise CommandFailure("name pull requests by their numbers, or say --selector")
    if numbers and len(repositories) > 1:
        raise CommandFailure("numbers are of one repository. Name one --repository")
    bulk.run(job, repositories, how)


propose = _command(
    "propose",
    ProposeCommands,
    "Propose drafts on behalf of the token's owner. A selector includes a draft only if it "
    "matches all packages that the draft changes.",
    """
    # Propose two drafts.
    $ porchbot rpkg propose --repository acme/clusters 12 14

    # Propose every draft that changes packages of one team, and no other.
    $ porchbot rpkg propose --repository acme/clusters --selector team=net --yes
    """,
)
approve = _command(
    "approve",
    ApproveCommands,
    "Approve proposals on behalf of the token's owner, each at the commit that is shown: "
    "after another push it is not approved. A selector includes a proposal only if it "
    "matches all packages that the proposal changes.",
    """
    # Show every proposal that changes packages of one team, and no other.
    $ porchbot rpkg approve --repository acme/clusters --selector team=net --dry-run

    # Approve two proposals at their current commits.
    $ porchbot rpkg approve --repository acme/clusters 12 14
    """,
)
