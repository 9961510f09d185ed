"""What people write to name a package in a repository: `REPO_URI[.git]/PKG_PATH[@VERSION]`.

Rules
- ".git" ends the address of the repository. Addresses at GitHub do without it, as copied from
  a browser, and so does the path of a folder of a repository on this disk.
- What a web address says of a user is no part of it: everybody who reads a Kptfile would read it.
- The folder is written with "/" in front, as kpt stores it; "/" is the whole repository.

Source: kptdev/kpt, pkg/lib/util/parse/parse.go.
"""

import posixpath
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from cadlib.errors import PackageError, Place
from cadlib.kptfile.reader import GitRef

_END = re.compile(r"\.git(?:/|$|(?=@))")
_GITHUB = "github.com"
_CREDENTIALS = re.compile(r"(https?://)[^/]*@", re.IGNORECASE)
_PASSWORD = re.compile(r"([a-z][a-z0-9+.-]*://[^/:@]*):[^/]*(@)", re.IGNORECASE)
"""Of any other address with a scheme, where the user may be needed, as "git" is of ssh."""

Branches = Callable[[str], Sequence[str]]
"""Gives the branches of a repository."""


def parse(text: str, branches: Branches) -> GitRef:
    """Read the address of a package; `ref` is "" where it names no version.

    Args:
        text: As it was written.
        branches: Asked only where a branch might have a slash in its name.

    Raises:
        PackageError: It cannot be told where the repository ends and the folder begins.
    """
    if _GITHUB in text and not _END.search(text):
        text = github_address(text, branches)
    end = _END.search(text)
    if end:
        directory, _, ref = text[end.end() :].partition("@")
        return _ref(text[: end.start()], directory, ref.removesuffix("/"))
    place, _, ref = text.partition("@")
    folder = Path(place)
    root = _repository_of(folder) if "://" not in place and folder.is_dir() else None
    if root is None:
        raise _ambiguous(text)
    return _ref(str(root), folder.resolve().relative_to(root).as_posix(), ref)


def without_credentials(text: str) -> str:
    """Return an address without the user and password that it has before its host.

    Args:
        text: As it was written; of ssh and the like the user alone stays.
    """
    found = _CREDENTIALS.match(text)
    if found:
        return found[1] + text[found.end() :]
    return _PASSWORD.sub(r"\1\2", text, count=1) if _PASSWORD.match(text) else text


def github_address(text: str, branches: Branches) -> str:
    """Return an address at GitHub with ".git" where its repository ends.

    Args:
        text: "https://github.com/OWNER/REPO", with "/tree/REF/PATH" or "/PATH" behind it.
        branches: As for `parse`.

    Raises:
        PackageError: It is no address of a repository there, or REF may have a slash in it.
    """
    text = text.removesuffix("/")
    scheme, _, rest = text.partition("://")
    if not rest.startswith(_GITHUB):
        raise _error(f"invalid GitHub url: {text}")
    host, *parts = rest.split("/")
    if len(parts) < 2:
        raise _error(f"invalid GitHub pkg url: {text}")
    owner, (name, _, version), inner = parts[0], parts[1].partition("@"), parts[2:]
    repo = f"{scheme}://{host}/{owner}/{name}"
    if len(inner) > 1 and inner[0] == "tree":
        version, inner = inner[1], inner[2:]
        if any(f"{version}/" in branch for branch in branches(repo)):
            raise _ambiguous(text)
    folder = "".join(f"/{part}" for part in inner)
    return f"{repo}.git{folder}" + (f"@{version}" if version else "")


def _ref(repo: str, directory: str, ref: str) -> GitRef:
    return GitRef(repo=repo, directory=posixpath.normpath(f"/{directory.strip('/')}"), ref=ref)


def _repository_of(folder: Path) -> Path | None:
    above = folder.resolve()
    return next((each for each in (above, *above.parents) if (each / ".git").exists()), None)


def _ambiguous(text: str) -> PackageError:
    return _error(f"ambiguous repo/dir@version specify '.git' in argument: {text}")


def _error(problem: str) -> PackageError:
    return PackageError(
        Place(), problem, "Write REPO_URI.git/PKG_PATH@VERSION, the last two if they are needed"
    )
