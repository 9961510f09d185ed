"""Which version of the builtin functions this is: another one may answer otherwise."""

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Final

import cadlib
import fnrunner

_DISTRIBUTION: Final = "porchbot"
_DIGITS: Final = 16  # of a digest; enough for as many versions as there will ever be


@cache
def version() -> str:
    """Return the version of the package with a digest of what its functions consist of.

    The digest is over the sources of cadlib and fnrunner and the versions of the libraries, so
    that whatever was kept of another version's answers is not taken for this one's.
    """
    digest = hashlib.sha256()
    for package in (cadlib, fnrunner):
        folder = Path(package.__path__[0])
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{path.relative_to(folder.parent)}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    digest.update("\0".join(_libraries()).encode())
    return f"{_installed(_DISTRIBUTION)}+{digest.hexdigest()[:_DIGITS]}"


def _libraries() -> list[str]:
    try:
        needed = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        needed = []
    names = {
        each.split(";")[0].strip().split("[")[0].rstrip("<>=!~0123456789., ") for each in needed
    }
    return sorted(f"{name}=={_installed(name)}" for name in names)


def _installed(name: str) -> str:
    """Return the version of a distribution; "0" for one that is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "0"
