"""Packages from git repositories, for the command line: read from objects, never checked out.

Rules
- A repository on this disk is read where it is. Any other is fetched as the bot fetches it
  (`bot.upstream.remote`), within the same bounds, into a cache below the user's cache folder,
  which is trimmed; a commit that is there already is not fetched again. Two processes may use
  the cache at once.
- A ref is looked for as a tag of the package first ("net/core/v1", then "net/v1"), then as a
  tag, a branch, and a commit.
- An annotated tag counts as the commit it points to.
- Git runs with the user's own configuration, which has the way to private repositories, but
  without what would point it to another repository, and never asks anything. What stands in
  a Kptfile cannot become one of its options.

Source: kptdev/kpt, pkg/lib/util/fetch/fetch.go and internal/gitutil.
"""

import hashlib
import os
import re
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from bot.cli.disk.git_objects import RepositoryTrees
from bot.git.process import locked, users_environment
from bot.upstream import bounded, remote
from bot.upstream.bounded import Done, GitCallLimits, TooMuchError, TooSlowError
from bot.upstream.remote import MOST_FETCHED, MOST_KEPT, WITHOUT_FILES, FetchCommands, Way
from cadlib.errors import PackageError, Place
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.update.upstream import Fetch, Fetched, GoneError
from lifecycle import names
from lifecycle.messages import upstreams as texts
from lifecycle.upstreams.references import candidates

_SECONDS = 300.0
"""For all of one package: whoever waits for it can end it."""

_UNUSED = 3600.0
"""Seconds for which a repository in the cache stays after its last use: a command may read it."""

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_NAME = re.compile(r"(?!.*(?:\.\.|@\{))[^\x00-\x20\x7f~^:?*\[\\]+\Z")
"""What may be the name of a ref (git-check-ref-format): no expression, and no line feed."""
_SHORT = re.compile(r"[0-9a-f]{4,64}\Z")
_REMOTE = re.compile(r"[^/]+:")
"""An address with a scheme, or a host as ssh writes it."""


class RemoteRepositories:
    """The repositories that one command uses, each asked and opened once.

    Args:
        cache: Folder for what is fetched; made when it is needed.
        limits: How much a package may hold.
        seconds: For all of one package.
        most_fetched: Bytes of what comes for one package.
        most_kept: Bytes of the cache.
    """

    def __init__(
        self,
        cache: Path | None = None,
        limits: PackageLimits = DEFAULT,
        *,
        seconds: float = _SECONDS,
        most_fetched: int = MOST_FETCHED,
        most_kept: int = MOST_KEPT,
    ) -> None:
        self._cache = cache or cache_folder(os.environ)
        self._limits = limits
        self._seconds = seconds
        self._most_fetched = most_fetched
        self._most_kept = most_kept
        self._opened: dict[str, _Repository] = {}
        self._fetched: dict[Fetch, Fetched] = {}

    def __enter__(self) -> "RemoteRepositories":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for repository in self._opened.values():
            repository.close()
        if any(isinstance(each, _Remote) for each in self._opened.values()):
            for each in remote.over(self._cache, self._most_kept, _UNUSED):
                with locked(each.with_suffix(".lock")):
                    shutil.rmtree(each, ignore_errors=True)

    def fetch(self, wanted: Fetch) -> Fetched:
        """Return a package.

        Raises:
            PackageError: The repository cannot be reached, or has no such ref or folder.
        """
        if wanted not in self._fetched:
            self._fetched[wanted] = self._fetch(wanted)
        return self._fetched[wanted]

    def default_branch(self, repo: str) -> str:
        """Return the name of the branch that a repository shows first.

        Raises:
            PackageError: It cannot be reached, or has no commit yet.
        """
        _refuse_option("URI", repo)
        listed = _listed(repo, ["HEAD"], self._bounds())
        found = [text for text, name in listed if name == "HEAD"]
        if not found:
            raise PackageError(
                Place(repo), "the repository has no branch yet", "Commit something to it"
            )
        symbolic = (text for text in found if text.startswith("ref: "))
        return names.branch_name(next(symbolic, "HEAD").removeprefix("ref: "))

    def published(self, repo: str, paths: Sequence[str]) -> tuple[RepositoryTrees, str]:
        """Return what reads some files of a repository, and the commit of its default branch.

        Args:
            repo: The repository.
            paths: Of the files, which need not be there.

        Raises:
            PackageError: It cannot be reached, or has no commit yet.
        """
        repository = self._open(repo)
        _, commit = repository.resolve("", "HEAD")
        entries = [repository.objects.entry(commit, path) for path in paths]
        repository.complete([e.partition(" ")[2] for e in entries if e.startswith("100")], commit)
        return repository.objects, commit

    def branches(self, repo: str) -> Sequence[str]:
        """Return the names of all branches of a repository."""
        _refuse_option("URI", repo)
        listed = (ref for _, ref in _listed(repo, [names.branch_ref("*")], self._bounds()))
        return [names.branch_name(ref) for ref in listed if names.is_branch(ref)]

    def _open(self, repo: str) -> "_Repository":
        _refuse_option("URI", repo)
        if repo not in self._opened:
            local = local_repository(repo)
            self._opened[repo] = (
                _Local(repo, local) if local else _Remote(repo, self._cache, self._most_fetched)
            )
        self._opened[repo].ends = time.monotonic() + self._seconds
        return self._opened[repo]

    def _bounds(self) -> GitCallLimits:
        """Of a call that writes nothing."""
        return GitCallLimits(time.monotonic() + self._seconds, None)

    def _fetch(self, wanted: Fetch) -> Fetched:
        _refuse_option("ref", wanted.ref)
        if not _NAME.match(wanted.ref):
            raise _unknown(wanted.repo, wanted.ref)
        repository = self._open(wanted.repo)
        ref, commit = repository.resolve(wanted.directory.strip("/"), wanted.ref)
        tree = repository.objects.tree(commit, wanted.directory.strip("/"))
        if not tree:
            raise PackageError(
                Place(),
                f'path "{wanted.directory}" does not exist in repo "{wanted.repo}"',
                f"Name a folder that is there in {wanted.ref!r}",
            )
        repository.complete(repository.objects.blobs(tree, self._limits), commit)
        return Fetched(repository.objects.files(tree, self._limits), commit, ref)


class _Repository(ABC):
    """A repository whose objects can be read here.

    Attributes:
        ends: When what is asked of it has to be done, by `time.monotonic`.
    """

    ends: float = 0.0

    def __init__(self, repo: str, path: Path) -> None:
        self._repo = repo
        # What is missing is fetched from nowhere: a repository that a Kptfile names may be a folder
        # of the same clone, and its configuration names programs to fetch with.
        alone = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
        self.objects = RepositoryTrees(path, users_environment(named=True) | alone)

    def close(self) -> None:
        """End the process that reads objects."""
        self.objects.close()

    @abstractmethod
    def resolve(self, directory: str, ref: str) -> tuple[str, str]:
        """Return the ref that was found, and its commit."""

    @abstractmethod
    def complete(self, blobs: Sequence[str], commit: str) -> None:
        """See to it that files of a commit are here."""


class _Local(_Repository):
    """A repository on this disk."""

    def resolve(self, directory: str, ref: str) -> tuple[str, str]:
        for name, full in _candidates(directory, ref):
            commit = self.objects.commit(full)
            if commit:
                return name, commit
        raise _unknown(self._repo, ref)

    def complete(self, blobs: Sequence[str], commit: str) -> None:
        """All are here."""


class _Remote(_Repository):
    """A repository that is fetched, and its copy in the cache."""

    def __init__(self, repo: str, cache: Path, most_fetched: int) -> None:
        self._repo = repo
        self._most = most_fetched
        self._folder = cache / f"{hashlib.sha256(repo.encode()).hexdigest()[:32]}.git"
        self._lock = self._folder.with_suffix(".lock")
        cache.mkdir(parents=True, exist_ok=True)
        with locked(self._lock):
            if not (self._folder / "HEAD").exists():
                self._folder.mkdir(exist_ok=True)
                self.ends = time.monotonic() + _SECONDS
                self._run(lambda calls: calls.git("init", "--quiet", "--bare", "."), check=True)
            remote.used(self._folder)
        super().__init__(repo, self._folder)

    def resolve(self, directory: str, ref: str) -> tuple[str, str]:
        cached = self.objects.commit(ref) if _COMMIT.match(ref) else ""
        if cached:  # an id means the same for ever
            return ref, cached
        candidates = _candidates(directory, ref)
        listed = _listed(
            self._repo, [full for _, full in candidates], GitCallLimits(self.ends, None)
        )
        known = {name: sha for sha, name in listed}
        for name, full in candidates:
            if full in known:
                return name, self._get(known[full], ref)
        if not _SHORT.match(ref):
            raise _unknown(self._repo, ref)
        return ref, self._get(ref, ref)

    def complete(self, blobs: Sequence[str], commit: str) -> None:
        missing = remote.lacking(self.objects, blobs)
        if missing:
            self._changes(lambda calls: calls.complete(missing, commit), check=True)

    def _get(self, wanted: str, ref: str) -> str:
        """Return the commit of an object or an abbreviated id, fetched if it is not here."""
        found = self.objects.commit(wanted)
        if not found and _COMMIT.match(wanted):
            self._changes(lambda calls: calls.fetch(WITHOUT_FILES, "--depth=1", wanted))
            found = self.objects.commit(wanted)
        if not found:  # some servers give whole branches and tags only
            every = [f"+{refs}:{refs}" for refs in (names.branch_ref("*"), names.tag_ref("*"))]
            whole = ["--unshallow"] if (self._folder / "shallow").exists() else []
            self._changes(lambda calls: calls.fetch(WITHOUT_FILES, *whole, *every), check=True)
            found = self.objects.commit(wanted)
        if not found:
            raise _unknown(self._repo, ref)
        return found

    def _changes(
        self, work: Callable[[FetchCommands], Done | None], *, check: bool = False
    ) -> None:
        with locked(self._lock):
            self._run(work, check=check)
        self.objects.close()  # its process may not see a new pack

    def _run(self, work: Callable[[FetchCommands], Done | None], *, check: bool) -> None:
        bounds = GitCallLimits(self.ends, self._most + bounded.written(self._folder))
        way = Way(self._repo, users_environment(named=True), asks=True)
        _checked(
            self._repo,
            lambda: work(FetchCommands(way, self._folder, bounds)),
            self._most,
            check=check,
        )


def _candidates(directory: str, ref: str) -> list[tuple[str, str]]:
    """Return what a ref may mean, first choice first: as it is written, and in full."""
    if ref.startswith("refs/") or ref == "HEAD":
        return [(ref, ref)]
    named = [names.branch_name(names.tag_name(full)) for full in candidates(directory, ref)]
    commit = [(ref, ref)] if _SHORT.match(ref) else []
    return [*zip(named, candidates(directory, ref), strict=True), *commit]


def local_repository(repo: str) -> Path | None:
    """Return where a repository is on this disk; None if it is elsewhere.

    As git does, it is also looked for with ".git" behind its name.
    """
    if repo.startswith("file:///"):
        path = Path(repo.removeprefix("file://"))
    elif _REMOTE.match(repo):
        return None
    else:
        path = Path(repo)
    for each in (path, path.with_name(f"{path.name}.git") if path.name else path):
        if (each / ".git").exists() or (each / "objects").is_dir():
            return each
    return None


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return where fetched repositories are kept.

    Args:
        environ: `KPT_CACHE_DIR`, as for kpt; otherwise `XDG_CACHE_HOME` or ~/.cache.
    """
    chosen = environ.get("KPT_CACHE_DIR")
    if chosen:
        return Path(chosen) / "porchbot"
    base = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME", "."), ".cache")
    return Path(base) / "porchbot" / "git"


def _unknown(repo: str, ref: str) -> PackageError:
    return GoneError(
        Place(),
        f'Unknown ref "{ref}": unknown revision or path not in the working tree',
        f'Please verify that the reference exists in upstream repo "{repo}"',
    )


def _refuse_option(what: str, text: str) -> None:
    if text.startswith("-"):
        raise PackageError(
            Place(), f"invalid git {what} \"{text}\": must not begin with '-'", "Correct it"
        )


def _listed(repo: str, patterns: Sequence[str], bounds: GitCallLimits) -> list[tuple[str, str]]:
    """Return the refs of a repository that fit, as pairs of object and name.

    With them come the symbolic refs, with "ref: " and the name they stand for in front.
    """
    way = Way(os.fspath(local_repository(repo) or repo), users_environment(named=True), asks=True)
    found: list[tuple[str, str]] = []

    def work() -> Done:
        nonlocal found
        done, found = FetchCommands(way, Path.cwd(), bounds).list("--symref", *patterns)
        return done

    _checked(repo, work, MOST_FETCHED, check=True, command="git ls-remote")
    return found


def _checked(
    repo: str,
    work: Callable[[], Done | None],
    most: int,
    *,
    check: bool,
    command: str = "git fetch",
) -> None:
    """Do something with git; what went wrong is said in kpt's words."""
    try:
        done = work()
    except FileNotFoundError as error:
        raise PackageError(Place(), "git is not installed", "Install git") from error
    except TooSlowError as error:
        problem = f"{command} of {repo} took too long"
        raise PackageError(Place(), problem, "Try again") from error
    except TooMuchError as error:
        raise PackageError(Place(), *texts.too_much(repo, most)) from error
    if check and done is not None and done.status:
        raise PackageError(
            Place(),
            f'Failed to execute git command "{command}" against repo "{repo}"\n\nDetails:\n'
            f"{done.said.strip().removesuffix('.')}",
            "Check the address and whether you may read it",
        )
