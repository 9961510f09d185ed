"""Reads what stands below commits about packages: of which one, from which draft, which revision.

Porch writes such a line below its commits, and porchbot the same (`records.trailer`), so that each
goes on with a repository of the other's.

Rules
- What is not JSON, or says nothing about a package, is no such line: anybody can write one.
- A release whose commit says nothing was made from the draft that the forge says was merged; else
  its workspace is called like the revision, as in Porch.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lifecycle import names

_LINE: Final = re.compile(r"^kpt:(\{.*\})[ \t\r]*$", re.MULTILINE)
_MOST_LINES: Final = 1_000
_MERGED: Final = re.compile(
    r"\AMerge pull request #[0-9]{1,10} from [^/\s]+/(\S+)[ \t\r]*$"
    r"|\AMerge branch '([^'\s]+)' into ",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class CommitAnnotation:
    """What a line below a commit says.

    Attributes:
        package: Path of the package.
        workspace: Last part of the name of its draft; "" where it says none.
        revision: Its number; 0 where it is none yet, or says none.
        task: The kind of what Porch did, such as "clone"; "" in ours, which say none.
    """

    package: str
    workspace: str = ""
    revision: int = 0
    task: str = ""


def read(message: str) -> Iterator[CommitAnnotation]:
    """Yield what the lines below a commit say, in their order."""
    for index, each in enumerate(_LINE.finditer(message)):
        if index == _MOST_LINES:
            return
        try:
            said = json.loads(each[1])
        except (ValueError, RecursionError):
            continue
        package = said.get("package")
        if isinstance(package, str):
            task = said.get("task")
            kind = _text(task.get("type")) if isinstance(task, dict) else ""
            yield CommitAnnotation(package, _text(said.get("workspaceName")), _number(said), kind)


def workspace(message: str, package: str, revision: int) -> str:
    """Return the workspace that a release was made in.

    Args:
        message: Of the commit that its tag names.
        package: Path of the package.
        revision: Its number.
    """
    for each in read(message):
        if each.package == package and each.workspace and each.revision in (0, revision):
            return each.workspace
    merged = _MERGED.search(message)
    branch = (merged[1] or merged[2]) if merged else ""
    before = f"{names.DRAFTS}{package}/".replace("//", "/")
    last = branch.removeprefix(before)
    if branch.startswith(before) and last and "/" not in last:
        return last
    return f"v{revision}"


def by_porch(message: str, package: str) -> str:
    """Return the workspace that Porch made a commit of a package in; "" where it did not.

    Args:
        message: Of the commit.
        package: Path of the package.
    """
    found = (each.workspace for each in read(message) if each.package == package and each.task)
    return next(found, "")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(said: dict[str, object]) -> int:
    """The revision: Porch writes a number as text, and wrote "v3" once."""
    text = str(said.get("revision", "")).removeprefix("v")
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 10 else 0
