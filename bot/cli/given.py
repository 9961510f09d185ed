"""Arguments of commands: `DIR` or one `FILE`, and `PKG_PATH@VERSION`."""

import os
from pathlib import Path

from bot.cli.disk import folder
from bot.cli.dropin import CommandFailure
from cadlib.errors import PackageError, Place
from cadlib.package.files import Entry


def files_of(given: str) -> dict[str, Entry]:
    """Return the files of a folder, or one file as if it were alone in its folder.

    Raises:
        Failure: It is not there (in kpt's words), or is neither.
        PackageError: A file cannot be read.
    """
    try:
        os.lstat(given)
    except OSError as error:
        raise CommandFailure(f"lstat {given}: {(error.strerror or '').lower()}") from error
    if os.path.isdir(given):
        return folder.read(Path(os.path.realpath(given)))
    if not os.path.isfile(given):
        raise CommandFailure(f"{given} is neither a folder nor a file")
    return alone(given)


def alone(given: str) -> dict[str, Entry]:
    """Return one file as if it were alone in its folder; a symlink is followed."""
    path = Path(os.path.realpath(given))
    return {path.name: Entry(path.read_bytes())}


def path_and_version(text: str) -> tuple[str, str]:
    """Read `PKG_PATH@VERSION`; either may be missing, and is "" then.

    Raises:
        PackageError: It names more than one version.
    """
    path, *versions = text.split("@")
    if len(versions) > 1:
        raise PackageError(Place(text), "at most 1 version permitted", "Write PKG_PATH@VERSION")
    return path, "".join(versions)
