"""Input and output of `fn` commands: folders, standard streams, `results.yaml`."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from bot.cli.disk import folder
from bot.cli.dropin import CommandFailure
from bot.cli.given import alone
from cadlib.errors import PackageError
from cadlib.limits import DEFAULT, STREAM
from cadlib.package.files import EXECUTABLE, REGULAR, Entry, Files

if TYPE_CHECKING:
    from cadlib.render.calls import Step
    from cadlib.stream import kio

STDOUT: Final = "stdout"
UNWRAP: Final = "unwrap"
_SEPARATOR: Final = re.compile(r"\n---.*\n")


def found(given: str) -> Path:
    """Return a folder that was given on the command line; one that a symlink names is resolved.

    Raises:
        Failure: There is none.
    """
    real = Path(os.path.realpath(given))
    if real.is_file():
        raise CommandFailure(f"{given} is a file. Name the folder of a package")
    if not real.is_dir():
        raise CommandFailure(f"lstat {given}: no such file or directory")
    if os.path.islink(given.rstrip("/") or "/"):
        shown = os.fspath(real) if os.path.isabs(given) else os.path.relpath(real)
        click.echo(
            f'[WARN] resolved symlink "{given}" to "{shown}", please note that the symlinks'
            " within the package are ignored",
            err=True,
        )
    return real


def found_or_file(given: str) -> tuple[Path, dict[str, Entry]]:
    """Return a folder that was given, and its files; a file is alone in its folder, as in kpt.

    Raises:
        Failure: There is neither.
        PackageError: A file cannot be read.
    """
    if os.path.isfile(given):
        return Path(os.path.realpath(given)).parent, alone(given)
    path = found(given)
    return path, folder.read(path)


def no_yaml(path: Path, files: Files, error: PackageError) -> str:
    """Return what is said of a file that is not YAML: kpt's sentence, then the line and the remedy.

    kpt parses each document by itself and counts lines in it alone; what follows names the line of
    the file.

    Args:
        path: The folder.
        files: What is in it.
        error: What is wrong with one of them.

    Returns:
        "" if it is anything else.
    """
    from cadlib.yaml import read
    from cadlib.yaml.nodes import in_words_of_kpt

    where = error.place
    entry = files.get(where.path)
    text = entry.data.decode(errors="replace") if entry else ""
    for document in _SEPARATOR.split(text.replace("\r\n", "\n")):
        try:
            read(document.encode(), path=where.path)
        except PackageError as found:
            theirs = in_words_of_kpt(found)
            said = f"{path / where.path}: MalformedYAMLError: yaml: {theirs}"
            return f"{said}\n{where}: {error.fix}." if theirs else ""
    return ""


def check_output(output: str) -> None:
    """Refuse a folder to write to that is there already, before anything is run."""
    if output not in ("", STDOUT, UNWRAP) and os.path.lexists(output):
        raise CommandFailure(
            f'directory "{output}" already exists, please delete the directory and retry'
        )


def write_output(output: str, files: Files) -> None:
    """Write a package's resources where `--output` says: all files of theirs, as they are.

    Args:
        output: "stdout", "unwrap" or a new folder.
        files: The whole package.
    """
    from cadlib.package.source import ParsedPackage
    from cadlib.stream import listing

    source = ParsedPackage(files, DEFAULT, plain=True)
    match output:
        case "stdout":
            emit(listing.resource_list(source))
        case "unwrap":
            emit(listing.unwrapped(source))
        case _:
            folder.write(Path(output), {path: files[path] for path in source.streams})


def emit(data: bytes) -> None:
    """Write to standard output."""
    click.echo(data, nl=False)


def received() -> "kio.Wrapped":
    """Return the resources on standard input."""
    from cadlib.stream import kio

    return kio.read(sys.stdin.buffer.read(), limits=STREAM)


def changed(files: Files, changes: Mapping[str, bytes | None]) -> dict[str, Entry]:
    """Return a package with changes in it."""
    after = {path: entry for path, entry in files.items() if changes.get(path, b"") is not None}
    for path, data in changes.items():
        if data is not None:
            old = after.get(path)
            executable = old is not None and old.mode == EXECUTABLE
            after[path] = Entry(data, EXECUTABLE if executable else REGULAR)
    return after


def save_results(results_dir: str, steps: "Sequence[Step]") -> None:
    """Write results.yaml into a folder, which is made; "" for none."""
    if not results_dir:
        return
    from cadlib.render import status

    folder.write(Path(results_dir), {"results.yaml": status.results(steps)})
    click.echo(f"For complete results, see {os.path.join(results_dir, 'results.yaml')}", err=True)
