"""`porchbot pkg merge`: three folders made into one, without git."""

from pathlib import Path

import click

from bot.cli import progress, terminal
from bot.cli.disk import folder, swap
from bot.cli.dropin import DropIn
from bot.cli.pkg.conflicts import ON_CONFLICT, REPORT, ConflictReport
from bot.cli.pkg.get import check_strategy
from cadlib.errors import PackageError, Place
from cadlib.merge.policy import ConflictPolicy
from cadlib.package.files import Entry
from cadlib.update.merge import changes, merge_trees
from cadlib.update.strategies import ThreeWayFiles
from cadlib.update.upstream import STRATEGIES

_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command(
    "merge",
    cls=DropIn,
    examples="""
    # Merge the changes between v1 and v2 into the folder "shop".
    $ porchbot pkg merge --original v1 --updated v2 --local shop --output shop
    """,
)
@click.option(
    "--original",
    type=_FOLDER,
    required=True,
    help="The upstream version from which the local package was made.",
)
@click.option("--updated", type=_FOLDER, required=True, help="The new upstream version.")
@click.option("--local", type=_FOLDER, required=True, help="The local package.")
@click.option(
    "--output",
    type=_FOLDER,
    required=True,
    help="Where to write the result: a new or empty folder, or the local one.",
)
@click.option(
    "--strategy",
    default="",
    help="How to merge. Default: the strategy in the local Kptfile. One of:"
    f" {', '.join(STRATEGIES)}.",
)
@REPORT
@ON_CONFLICT
def command(
    original: Path,
    updated: Path,
    local: Path,
    output: Path,
    strategy: str,
    report: Path | None,
    on_conflict: str,
) -> None:
    """Merge two versions of an upstream package into a local one.

    A folder that does not exist counts as empty. Nothing is fetched, and upstream and lock in
    the Kptfiles stay as they are.
    """
    if strategy:
        check_strategy(strategy)
    merge_folders(
        (original, local, updated),
        output,
        strategy,
        ConflictReport(ConflictPolicy(on_conflict), report),
    )


def merge_folders(
    sides: tuple[Path, Path, Path], output: Path, strategy: str, report: ConflictReport
) -> None:
    """Merge the packages in three folders.

    Args:
        sides: The folders of the origin, the local and the updated package.
        output: Where to write to; empty, not there, or the local folder.
        strategy: How to merge; "" for what the local Kptfile says.
        report: What to do with conflicts.

    Raises:
        PackageError: They cannot be merged, or `output` holds something else.
    """
    _, local, _ = sides
    there = _read(output)
    if there and not (local.exists() and output.samefile(local)):
        raise PackageError(
            Place(str(output)), "the output folder holds files already", "Name another folder"
        )
    trees = ThreeWayFiles(*(_read(each) for each in sides))
    progress.at("bringing the two sides together")
    outcome = merge_trees(
        trees, name=local.absolute().name, strategy=strategy, policy=report.policy
    )
    for line in outcome.said:
        terminal.say(line, err=True)
    report.take(outcome.merged.conflicts)
    swap.write(output, changes(there, outcome.merged.files))


def _read(path: Path) -> dict[str, Entry]:
    return folder.read(path) if path.is_dir() else {}
