"""Files that a proposal changes outside of its packages: they are merged and approved with them."""

import hashlib
import json
from collections.abc import Iterable, Mapping

from bot.git.port import History
from lifecycle.facts.packages import Touched
from lifecycle.names import Sha


def digest(git: History, origin: Sha, head: Sha, touched: Iterable[Touched]) -> str:
    """Digest of what is changed outside of the packages to publish; "" when nothing is.

    It is merged with them: rules, workflows, packages that are not released.
    """
    rest = files(git.difference(origin, head).files, whole(git, head, touched))
    return hashlib.sha256(json.dumps(list(rest.items())).encode()).hexdigest() if rest else ""


def whole(git: History, head: Sha, touched: Iterable[Touched]) -> list[str]:
    """Packages whose tree tells all that is below their folder: they are there, or it is gone.

    The files of a folder that is no package any more are merged like any others.
    """
    packages = (t.package for t in touched)
    return [p for p in packages if git.package(head, p) == git.tree(head, p)]


def files(changed: Mapping[str, str], packages: Iterable[str]) -> dict[str, str]:
    """Those of the files that lie in none of the packages."""
    inside = tuple(f"{package}/" if package else "" for package in packages)
    return {path: state for path, state in changed.items() if not path.startswith(inside)}
