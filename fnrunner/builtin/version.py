"""The version of the builtin functions, part of the key of cached answers."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import cadlib
import fnrunner

_DISTRIBUTION: Final = "porchbot"
_NAME: Final = re.compile(r"[\w.-]+")  # of a distribution, before its versions
_DIGITS: Final = 16  # of a digest; enough for as many versions as there will ever be


_BEHAVIOUR: Final[Mapping[str, int]] = {}
"""Function to the version of its behaviour; 1 for those that never changed it."""


def behaviour(name: str) -> int:
    """Return the version of what a builtin function does; approvals bind to it.

    It rises with a change after which the function finds or writes something else than before, and
    with no other: an upgrade that leaves it alone drops no approval.
    """
    return _BEHAVIOUR.get(name, 1)


@cache
def version() -> str:
    """Return the version of the package with a digest of what its functions consist of.

    The digest is over the sources of cadlib and fnrunner and the versions of the libraries, so
    that whatever was kept of another version's answers is not taken for this one's.
    """
    folders = [Path(package.__path__[0]) for package in (cadlib, fnrunner)]
    return f"{_installed(_DISTRIBUTION)}+{digest(folders, _libraries())}"


def digest(folders: Iterable[Path], libraries: Iterable[str]) -> str:
    """Return a digest of the sources in some folders, and of the names of libraries."""
    found = hashlib.sha256("\0".join(libraries).encode())
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            found.update(f"\0{path.relative_to(folder)}\0".encode())
            found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:_DIGITS]


def _libraries() -> list[str]:
    from importlib import metadata  # takes a fifth of the time in which a runner starts

    try:
        needed = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        needed = []
    names = {name[0] for each in needed if (name := _NAME.match(each))}
    return sorted(f"{name}=={_installed(name)}" for name in names)


def _installed(name: str) -> str:
    """Return the version of a distribution; "0" for one that is not installed."""
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "0"
