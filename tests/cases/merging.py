"""Packages in three states made into one by `porchbot pkg merge`, as a user would type it."""

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from click.testing import CliRunner

from bot.cli.disk import folder as disk
from bot.cli.pkg.group import pkg
from cadlib.errors import PackageError, Place
from cadlib.package.files import KPTFILE, Entry, Files, join
from tests.cases.compare import on_disk

HEAD: Mapping[str, Entry] = {
    KPTFILE: Entry(b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n")
}
"""The files of a package that holds nothing else."""
_INNER = "inner"


def merge(states: Iterable[Files | None], strategy: str = "resource-merge") -> Files:
    """Merge three folders.

    Args:
        states: The origin, the local one and the updated one; None is one that does not exist.
        strategy: How.

    Raises:
        PackageError: It was refused.
    """
    with tempfile.TemporaryDirectory(prefix="case") as name:
        folder, sides = Path(name), list[str]()
        for option, files in zip(("original", "local", "updated"), states, strict=True):
            sides += [f"--{option}", str(folder / option)]
            if files is not None:
                (folder / option).mkdir()
                disk.write(folder / option, files)
        output = folder / "output"
        to = ["--output", str(output), "--strategy", strategy]
        ran = CliRunner().invoke(pkg, ["merge", *sides, *to])
        if ran.exception and not isinstance(ran.exception, SystemExit):
            raise ran.exception
        if ran.exit_code:
            raise PackageError(Place(), ran.stderr.strip(), "")
        return on_disk(output) if output.exists() else {}


def merge_inside(states: Iterable[Files | None], strategy: str = "resource-merge") -> Files:
    """Merge three packages that came along in another one; arguments as for `merge`.

    Raises:
        PackageError: It was refused.
    """
    around = (
        {**HEAD, **{join(_INNER, path): entry for path, entry in (files or {}).items()}}
        for files in states
    )
    return {
        path.removeprefix(f"{_INNER}/"): entry
        for path, entry in merge(around, strategy).items()
        if path not in HEAD
    }
