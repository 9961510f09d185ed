"""Repositories of cases: made with one call of git for each, and named by placeholders.

A repository begins as a copy of one with an empty commit. Then come the commits of the case, each
with a whole tree; where they shall come later, they are added by another call.
"""

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bot.git.process import users_environment
from cadlib.package.files import Files
from tests.cases.compare import entries, fill

_WHO = "Somebody <somebody@example.com> 1700000000 +0000"


class Made:
    """The repositories of one case, in a folder.

    Args:
        folder: Where they stand, each under its name.
        repos: The `repos` of the case.
    """

    def __init__(self, folder: Path, repos: Mapping[str, Any]) -> None:
        self._folder = folder
        self._repos = repos
        self._order = sorted(repos, key=lambda name: (self._depth(name, ()), name))
        self._done = dict.fromkeys(repos, 0)
        self._tips: dict[str, str] = {}
        self.names = {f"repo:{name}": str(folder / name) for name in repos}
        for name in repos:
            branch = repos[name]["initial_branch"]
            shutil.copytree(_begun(branch), folder / name)
            self._tips[name] = f"refs/heads/{branch}"

    def add(self, until: int | None = None) -> None:
        """Add the commits of every repository up to a number of them; all where None."""
        for name in self._order:
            commits = self._repos[name]["commits"][:until]
            self._add(name, commits, self._done[name])
            self._done[name] = max(self._done[name], len(commits))

    def fill(self, value: Any) -> Any:
        """Put the names of repositories and commits into a JSON value."""
        return fill(value, self.names)

    def _add(self, name: str, commits: list[Any], done: int) -> None:
        stream = b""
        tips = dict.fromkeys([self._tips[name]], f"{self._tips[name]}^0")
        for number, commit in enumerate(commits[done:], done):
            branch = f"refs/heads/{commit['branch']}"
            at = self._tips[name] if commit.get("create_branch") else branch
            mark = number + 2
            stream += _commit(
                branch, mark, tips.get(at, f"{at}^0"), entries(self.fill(commit["tree"]))
            )
            tips[branch] = f":{mark}"
            if commit.get("tag"):
                stream += f"reset refs/tags/{commit['tag']}\nfrom :{mark}\n\n".encode()
            self._tips[name] = branch
        if stream:
            marks = _import(self._folder / name, stream)
            self.names |= {f"commit:{name}:{mark - 2}": sha for mark, sha in marks.items()}

    def _depth(self, name: str, seen: tuple[str, ...]) -> int:
        """Return how many repositories stand in a row that this one names."""
        text = str(self._repos[name])
        named = [each for each in self._repos if f":{each}" in text and each not in (name, *seen)]
        return max((self._depth(each, (*seen, name)) + 1 for each in named), default=0)


@cache
def _begun(branch: str) -> Path:
    """A repository with the commit that each begins with."""
    folder = tempfile.mkdtemp(prefix="begun")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = Path(folder, "repo")
    _git(
        made.parent,
        "init",
        "--quiet",
        "--bare",
        "--template=",
        f"--initial-branch={branch}",
        "repo",
    )
    _import(made, _commit(f"refs/heads/{branch}", 1, "", {}))
    return made


def _commit(branch: str, mark: int, parent: str, files: Files) -> bytes:
    head = f"commit {branch}\nmark :{mark}\ncommitter {_WHO}\ndata 1\n.\n"
    parent = f"from {parent}\n" if parent else ""
    return f"{head}{parent}deleteall\n".encode() + b"".join(_files(files)) + b"\n"


def _files(files: Files) -> Iterator[bytes]:
    for path, entry in files.items():
        yield f"M {entry.mode} inline {path}\ndata {len(entry.data)}\n".encode()
        yield entry.data + b"\n"


def _import(repo: Path, stream: bytes) -> dict[int, str]:
    marks = repo / "marks"
    _git(repo, "fast-import", "--quiet", f"--export-marks={marks}", text=stream)
    pairs = (line.removeprefix(":").split() for line in marks.read_text().splitlines())
    return {int(mark): sha for mark, sha in pairs}


def _git(folder: Path, *arguments: str, text: bytes = b"") -> None:
    subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=users_environment(named=True),
        input=text,
        check=True,
        capture_output=True,
    )
