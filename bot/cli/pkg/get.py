"""`porchbot pkg get`: a package from a git repository, as a new folder.

The folder appears when it is complete: until then all lies in one with another name beside it.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from bot.cli.disk import folder
from bot.cli.disk.git_source import RemoteRepositories
from bot.cli.dropin import DropIn, at_least, at_most
from bot.cli.pkg.drive import drive
from bot.cli.pkg.git_address import parse, without_credentials
from cadlib.errors import PackageError, Place
from cadlib.kptfile.reader import GitRef
from cadlib.package.files import Entry
from cadlib.render import context
from cadlib.update.get import check, get
from cadlib.update.upstream import STRATEGIES


@click.command(
    "get",
    cls=DropIn,
    examples="""
    # Fetch version v1 of the package "shop" into a folder of that name.
    $ porchbot pkg get https://github.com/example/blueprints.git/shop@v1
    """,
)
@click.argument(
    "args", metavar="REPO_URI[.git]/PKG_PATH[@VERSION] [LOCAL_DEST_DIRECTORY]", nargs=-1
)
@click.option(
    "--strategy",
    default=STRATEGIES[0],
    show_default=True,
    help=f"How later updates of the package merge: {', '.join(STRATEGIES)}.",
)
@click.option(
    "--for-deployment", is_flag=True, help="The package will be deployed to a cluster as it is."
)
def command(args: tuple[str, ...], strategy: str, for_deployment: bool) -> None:
    """Fetch a package from a git repository into a new folder.

    VERSION is a tag, a branch or a commit, by default the default branch. The folder gets the name
    of the package unless you give another one. A user or password in the address is left out: git
    takes them from its own helpers.
    """
    at_least(args, 1)
    at_most(args, 2)
    address, destination = without_credentials(args[0]), args[1] if len(args) > 1 else "."
    if address != args[0]:
        click.echo(
            f"[Warn] The user or password in the address is not used, and not written to the"
            f" Kptfile: git takes them from its own helpers (`git help credentials`). Used:"
            f" {address}",
            err=True,
        )
    with RemoteRepositories() as repositories:
        check_strategy(strategy)
        upstream = parse(address, repositories.branches)
        target = _target(destination, upstream)
        if not upstream.ref:
            upstream = replace(upstream, ref=repositories.default_branch(upstream.repo))
        get_into(target, upstream, strategy, repositories, for_deployment=for_deployment)


def get_into(
    target: Path,
    upstream: GitRef,
    strategy: str,
    repositories: RemoteRepositories,
    *,
    for_deployment: bool = False,
) -> None:
    """Fetch a package into a folder that is not there, or empty.

    Raises:
        PackageError: The folder holds something, or the package cannot be fetched.
    """
    check(upstream, name=target.name)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise PackageError(
            Place(str(target)), "destination directory already exists", "Name another folder"
        )
    got = drive(get(upstream, name=target.name, strategy=strategy), repositories)
    files: Mapping[str, Entry] = got.files
    if for_deployment:
        click.echo("\nCustomizing package for deployment.", err=True)
        files = _applied(files, context.added(files))
        click.echo("\nCustomized package for deployment.", err=True)
    with _complete(target) as new:
        folder.write(new, files)


def check_strategy(strategy: str) -> None:
    """Refuse what is no strategy, in kpt's words."""
    if strategy not in STRATEGIES:
        raise PackageError(
            Place(),
            f'unknown update strategy "{strategy}"',
            f"Must be one of: {', '.join(STRATEGIES)}",
        )


def _applied(files: Mapping[str, Entry], changes: Mapping[str, Entry | None]) -> dict[str, Entry]:
    changed = {**files, **changes}
    return {path: entry for path, entry in changed.items() if entry is not None}


def _target(written: str, upstream: GitRef) -> Path:
    """Return the folder to make: the one that was named, or one in it named like the package."""
    path = Path(written)
    if not path.exists():
        if not path.parent.exists():
            raise PackageError(
                Place(written), f'parent directory "{path.parent}" does not exist', "Make it first"
            )
        return path.absolute()
    if not path.is_dir():
        raise PackageError(
            Place(written), "LOCAL_PKG_DEST must be a directory", "Name another folder"
        )
    name = f"{upstream.repo.rstrip('/')}{upstream.directory}".rstrip("/").rpartition("/")[2]
    inner = path.resolve() / name.rpartition(":")[2]
    if inner.exists():
        raise PackageError(
            Place(written),
            f'destination directory "{path / inner.name}" already exists',
            "Name another folder",
        )
    return inner


@contextmanager
def _complete(target: Path) -> Iterator[Path]:
    """Give a folder to fill, which takes the name `target` when that is done."""
    try:
        new = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        problem = f"cannot be made: {error.strerror}"
        raise PackageError(Place(str(target)), problem, "Name another folder") from error
    try:
        yield new
        new.chmod(0o777 & ~_umask())
        new.replace(target)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
