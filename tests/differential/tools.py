"""Running a command line with either tool, and what is compared of it.

`kpt` runs as a process, porchbot inside this one. Both get folders of the same names, so their
messages can be compared; times in them are not.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from click.testing import CliRunner

KPT = shutil.which("kpt")

_FRUGAL = {"GOGC": "off", "GOMEMLIMIT": "1GiB"}
"""It collects nothing below a gigabyte: that is a third of the time of so short a life."""

_TIME = re.compile(r" in [0-9.]+[mµn]?s\b")


@dataclass(frozen=True, slots=True)
class Done:
    """What a command did.

    Attributes:
        code: Its exit code.
        out: Its standard output.
        err: Its standard error, without times.
    """

    code: int
    out: str
    err: str


class Tool(Protocol):
    """Runs a command in a folder."""

    def __call__(self, cwd: Path, *arguments: str, stdin: str = "") -> Done:
        """Run `pkg …` or `fn …`."""


def kpt(cwd: Path, *arguments: str, stdin: str = "") -> Done:
    """Run the kpt binary; what it fetches is kept beside the folder, not in the user's home."""
    assert KPT is not None
    done = subprocess.run(
        [KPT, *arguments],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "KPT_CACHE_DIR": str(cwd.parent / "kpt-cache"), **_FRUGAL},
    )
    return Done(done.returncode, done.stdout, _timeless(done.stderr))


def porchbot(cwd: Path, *arguments: str, stdin: str = "") -> Done:
    """Run the porchbot command in this process; an exception that it does not catch comes out."""
    from bot.cli.root import main

    before = Path.cwd()
    os.chdir(cwd)
    try:
        done = CliRunner().invoke(main, list(arguments), input=stdin)
    finally:
        os.chdir(before)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Done(done.exit_code, done.stdout, _timeless(done.stderr))


def _timeless(text: str) -> str:
    return _TIME.sub(" in 0s", text)


def git(folder: Path, *arguments: str) -> str:
    """Run git with a name of its own, whatever the user's settings are."""
    settings = ("user.name=Tests", "user.email=tests@example.com", "commit.gpgsign=false")
    options = [part for setting in settings for part in ("-c", setting)]
    done = subprocess.run(
        ["git", *options, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


def commit(folder: Path, message: str, *, tag: str = "") -> None:
    """Commit everything in a folder."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)
    if tag:
        git(folder, "tag", tag)


def both() -> Sequence[tuple[str, Tool]]:
    """Return the tools with the names of their folders, kpt first."""
    return (("kpt", kpt), ("porchbot", porchbot))
