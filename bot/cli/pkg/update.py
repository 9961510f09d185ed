"""`porchbot pkg update`: a package on disk brought up to a newer version of its upstream."""

import os
from pathlib import Path

import click

from bot.cli.disk import folder, swap
from bot.cli.disk.git_source import RemoteRepositories
from bot.cli.dropin import DropIn
from bot.cli.given import path_and_version
from bot.cli.pkg.conflicts import ON_CONFLICT, REPORT, ConflictReport
from bot.cli.pkg.drive import drive
from cadlib.errors import PackageError, Place
from cadlib.merge.policy import ConflictPolicy
from cadlib.update.packages import update
from cadlib.update.upstream import STRATEGIES


@click.command(
    "update",
    cls=DropIn,
    examples="""
    # Update the package "shop" to v2.
    $ porchbot pkg update shop@v2

    # Fail and change nothing if there is a conflict.
    $ porchbot pkg update shop@v2 --on-conflict fail
    """,
)
@click.argument("package", metavar="[PKG_PATH][@VERSION]", default=".")
@click.option(
    "--strategy",
    default="",
    help="How to merge, now and in later updates. Default: the strategy in the Kptfile. One of:"
    f" {', '.join(STRATEGIES)}.",
)
@REPORT
@ON_CONFLICT
def command(package: str, strategy: str, report: Path | None, on_conflict: str) -> None:
    """Merge changes of a package's upstream into the package.

    VERSION is a tag, a branch or a commit, which later updates follow too. A field that was changed
    both here and upstream is a conflict: it is reported, and gets the upstream's value unless
    --on-conflict says otherwise. An update that fails changes nothing.
    """
    with RemoteRepositories() as repositories:
        if strategy and strategy not in STRATEGIES:
            raise PackageError(
                Place(),
                f"unrecognized update strategy {strategy}",
                f"Must be one of: {', '.join(STRATEGIES)}",
            )
        path, ref = path_and_version(package)
        update_folder(
            Path(path or "."),
            ref,
            strategy,
            ConflictReport(ConflictPolicy(on_conflict), report),
            repositories,
        )


def update_folder(
    path: Path, ref: str, strategy: str, report: ConflictReport, repositories: RemoteRepositories
) -> None:
    """Bring the package in a folder up to its upstream.

    Args:
        path: The folder.
        ref: Branch, tag or commit; "" for the one that the Kptfile names.
        strategy: How to merge; "" for what the Kptfile says.
        report: What to do with conflicts.
        repositories: Where packages come from.

    Raises:
        PackageError: It cannot be updated; nothing was changed then.
    """
    if not path.is_dir():
        raise PackageError(
            Place(str(path)), "no such file or directory", "Name the folder of a package"
        )
    real = Path(os.path.realpath(path))
    local = folder.read(real)
    steps = update(local, name=real.name, ref=ref, strategy=strategy, policy=report.policy)
    updated = drive(steps, repositories)
    report.take(updated.conflicts)
    swap.write(real, updated.changes)
    click.echo(f"\nUpdated {updated.packages} package(s).", err=True)
