"""A git working tree, read as a commit of all that is in it would be.

Rules
- What git would take into a commit counts, staged or not, new files too; what `.gitignore` names
  does not.
- Nothing in the repository changes: git writes a copy of the index and new objects into a folder
  of ours that is removed afterwards.
- A merge that is under way counts as made: its other side is a parent.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from bot import config
from bot.cli.disk.git_objects import RepositoryTrees
from bot.cli.dropin import CommandFailure
from bot.git.port import Difference
from bot.git.process import execute, users_environment
from cadlib.errors import Place
from cadlib.limits import DEFAULT
from cadlib.package.files import Entry
from lifecycle import names
from lifecycle.messages import configuration as texts
from lifecycle.policy import BrokenPolicy, ConfigurationProblem

_USUAL = ("main", "master")
_BRANCH = re.compile(r"refs/(?:heads|remotes/[^/]+)/(.+)")


@dataclass(frozen=True, slots=True)
class Base:
    """What a working tree is compared with.

    Attributes:
        shown: As people know it, such as "origin/main".
        commit: Its commit.
        branch: Its name without a remote, such as "main".
        default: Commit of the default branch, "" for none; None where the base is that branch.
        default_branch: Its name.
    """

    shown: str
    commit: str
    branch: str
    default: str | None
    default_branch: str


_BARE = ("must be run in a work tree", "cannot use bare repository")


class WorkingTree:
    """The working tree around a folder; opened with `with`.

    Args:
        folder: Any folder in it.

    Raises:
        Failure: There is no git, or no working tree.
    """

    def __init__(self, folder: Path) -> None:
        self._env = users_environment()
        self.top = folder
        shown = self._git("rev-parse", "--show-toplevel", check=False)
        if shown.returncode:
            raise CommandFailure(
                f"{folder} is {no_clone(shown)}. Name a folder of a working tree, or make one with"
                " `git clone` or `git init`"
            )
        self.top = Path(shown.stdout.removesuffix("\n"))
        self._made = tempfile.TemporaryDirectory(prefix="porchbot-check-")
        self._objects = RepositoryTrees(self.top, self._apart())

    def __enter__(self) -> "WorkingTree":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._objects.close()
        self._made.cleanup()

    def tree(self) -> str:
        """Return the tree that a commit of everything would have.

        Raises:
            Failure: Git cannot read a file, for instance.
        """
        index = self._path("index")
        if index.exists():  # with what git knows of files that did not change
            shutil.copy2(index, self._index)  # by its time git knows what it has to read again
        env = self._apart()
        self._git("-c", "core.safecrlf=false", "add", "--all", "--", ".", env=env)
        return self._git("write-tree", env=env).stdout.strip()

    def base(self, wanted: str) -> Base:
        """Find what to compare with.

        Args:
            wanted: A branch, tag or commit; "" for the default branch of the remote that the
                current branch follows, else `main` or `master`.

        Raises:
            Failure: There is no such thing.
        """
        default = self._default()
        ref = self._full(wanted) if wanted else default
        if not ref:
            raise CommandFailure(
                "there is no branch to compare with: neither origin/HEAD nor main or master is"
                " here. Fetch it, or name one with --base REF"
            )
        commit = self._objects.commit(ref)
        if not commit:
            raise CommandFailure(
                f'there is no branch, tag or commit "{wanted or _short(ref)}" here. Fetch it, or'
                " name another one with --base REF"
            )
        named, usual = _BRANCH.fullmatch(ref), _BRANCH.fullmatch(default)
        usual_name = usual[1] if usual else ""
        branch = named[1] if named else usual_name
        same = branch == usual_name or not usual_name
        return Base(
            shown=wanted or _short(ref),
            commit=commit,
            branch=branch or "main",
            default=None if same else self._objects.commit(default),
            default_branch=usual_name or branch or "main",
        )

    def origin(self, base: Base) -> str:
        """Return the merge base of what is here and a base; "" where they share no history.

        Raises:
            Failure: The history that is here is too short to tell.
        """
        heads = [c for name in ("HEAD", "MERGE_HEAD") if (c := self._objects.commit(name))]
        if not heads:
            return ""  # nothing was committed yet
        found = self._git("merge-base", base.commit, *heads, check=False).stdout.strip()
        if not found and self._says("rev-parse", "--is-shallow-repository") == "true":
            raise CommandFailure(
                f"this clone is too shallow to tell what differs from {base.shown}."
                " Fetch its history: `git fetch --unshallow`, or fetch-depth: 0 in a workflow"
            )
        return found

    @property
    def trees(self) -> RepositoryTrees:
        """What is in the repository, and what `tree` has made beside it."""
        return self._objects

    def address(self) -> str:
        """Return where the repository was cloned from; "" where it was not."""
        return self._says("remote", "get-url", "origin")

    def current(self) -> str:
        """Return the name of the current branch; "" for none."""
        return self._says("symbolic-ref", "--quiet", "--short", "HEAD")

    def tags(self) -> list[str]:
        """Return the full names of all tags."""
        return self._says("for-each-ref", "--format=%(refname)", names.TAGS).split("\n")

    def difference(self, before: str, after: str) -> Difference:
        """Compare two commits or trees; "" for nothing at all."""
        return self._objects.difference(before, after)

    def alike(self, tree: str, packages: Iterable[str]) -> Mapping[str, frozenset[str]]:
        """Return the packages of a tree whose paths look like one of these."""
        return self._objects.alike(tree, packages)

    def files(self, tree: str) -> Mapping[str, Entry]:
        """Return the files of a tree.

        Raises:
            PackageError: There is more in it than a package may hold.
        """
        return self._objects.files(tree, DEFAULT)

    def blob(self, commit: str, path: str) -> bytes | BrokenPolicy | None:
        """Return a file with rules of a commit or tree; None where there is no regular one."""
        if "@" in commit:  # of another repository
            problem = texts.missing_defaults(f"{commit}:{path}", texts.NOT_FETCHED)
            return BrokenPolicy((ConfigurationProblem(Place(config.CONFIG), *problem),))
        return config.fetch(self._objects.blob, commit, path)

    def _default(self) -> str:
        """The full name of the branch that proposals go to; "" where nothing tells."""
        current = self.current()
        remote = self._says("config", "--get", f"branch.{current}.remote") if current else ""
        remote = remote if remote not in ("", ".") else "origin"
        head = self._says("symbolic-ref", "--quiet", f"refs/remotes/{remote}/HEAD")
        places = [f"refs/remotes/{remote}/{name}" for name in _USUAL]
        places += [names.branch_ref(name) for name in _USUAL]
        return next((ref for ref in (head, *places) if ref and self._objects.commit(ref)), "")

    def _full(self, wanted: str) -> str:
        """The full name of a ref; what is none stays as it is."""
        named = self._says("rev-parse", "--symbolic-full-name", "--end-of-options", wanted)
        named = named.split("\n")[-1]
        return named if named.startswith("refs/") else wanted

    @property
    def _index(self) -> Path:
        return Path(self._made.name) / "index"

    def _apart(self) -> dict[str, str]:
        """The environment in which git leaves the repository as it is."""
        objects = Path(self._made.name) / "objects"
        objects.mkdir(exist_ok=True)
        quoted = str(self._path("objects")).replace("\\", "\\\\").replace('"', '\\"')
        return self._env | {
            "GIT_INDEX_FILE": str(self._index),
            "GIT_OBJECT_DIRECTORY": str(objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{quoted}"',
        }

    def _path(self, name: str) -> Path:
        return self.top / self._says("rev-parse", "--git-path", name)

    def _says(self, *arguments: str) -> str:
        """What git says; "" where it refuses."""
        done = self._git(*arguments, check=False)
        return "" if done.returncode else done.stdout.strip()

    def _git(
        self, *arguments: str, check: bool = True, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return _ran(self.top, arguments, env or self._env, check=check)


def _ran(
    folder: Path, arguments: Sequence[str], env: Mapping[str, str], *, check: bool
) -> subprocess.CompletedProcess[str]:
    try:
        done = execute(arguments, folder, env, errors="surrogateescape")
    except FileNotFoundError as error:
        raise CommandFailure("git is not installed. Install git") from error
    if check and done.returncode:
        raise CommandFailure(f"git cannot read the working tree: {_why(done)}")
    return done


def _why(done: subprocess.CompletedProcess[str]) -> str:
    """What git complains of, on one line."""
    lines = [line for line in done.stderr.split("\n") if not line.startswith(("hint:", "warning"))]
    return " ".join(" ".join(lines).split()) or f"exit status {done.returncode}"


def no_clone(refused: subprocess.CompletedProcess[str]) -> str:
    """Say what a folder is in which git refused to work, such as "in no git repository"."""
    if any(each in refused.stderr for each in _BARE):
        return "in a bare repository"
    why = "" if "not a git repository" in refused.stderr else f" ({_why(refused)})"
    return f"in no git repository{why}"


def _short(ref: str) -> str:
    return re.sub(r"^refs/(?:heads|remotes|tags)/", "", ref)
