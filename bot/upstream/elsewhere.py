"""Packages from repositories that the bot does not serve: one ref fetched, read, and kept.

Rules:

1. What a ref means is asked each time; a commit's id means the same for ever, and what was fetched
   by it is not fetched again. A branch or tag must hold it.
2. One ref is fetched, one commit deep, without the files; then the files of the one folder. A
   server that cannot do that gives all files of the commit, within the same bounds.
3. Each fetch has a new repository, which becomes part of the cache once it is complete.
"""

import hashlib
import re
import shutil
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from bot.git.objects import ObjectReader
from bot.git.process import environment, reason
from bot.git.trees import StoredTrees
from bot.upstream import remote
from bot.upstream.bounded import Done, GitCallLimits, TooMuchError, TooSlowError
from bot.upstream.remote import MOST_FETCHED, MOST_KEPT, WITHOUT_FILES, FetchCommands, Way
from bot.upstream.routes import Allowed, GitRoute, GitRoutes
from cadlib.errors import PackageError
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.package.files import Files
from lifecycle import names
from lifecycle.messages import upstreams as texts
from lifecycle.upstreams.errors import UpstreamError, UpstreamFault
from lifecycle.upstreams.locations import Location, locate
from lifecycle.upstreams.references import LATEST, GitReference, candidates, is_commit

SECONDS = 120.0
"""For all of one fetch, as for a fetch of the bot's own (`bot.git.mirror`)."""

_WANTED = "refs/porchbot/wanted"
_HELD = "refs/porchbot/held"
_ALL_TAGS = f"+{names.TAGS}/*:{_HELD}/t/*"
_MISSING = re.compile(
    r"couldn't find remote ref|not our ref|no such remote ref|unadvertised object"
)
_UNSEEN = re.compile(r"not found|denied|authentication|could not read|error: 40[134]\b", re.I)
_QUOTED = re.compile(r"'[^'\n]*'")
# Addresses, whose ports, folders and names may hold any of these words.


@dataclass(frozen=True, slots=True)
class Came:
    """A package that came.

    Attributes:
        files: Its files, relative to its folder.
        ref: The ref that was found, such as "net/core/v3", or the commit.
        commit: What it was, in full.
        tree: Of its folder.
    """

    files: Files
    ref: str
    commit: str
    tree: str


class ExternalRepositories:
    """Repositories anywhere; all of it blocks, and is for threads.

    Args:
        folder: For the cache; made when missing.
        routes: The way to repositories.
        limits: How much a package may hold.
        seconds: For all of one fetch.
        most_fetched: Bytes of what one fetch brings.
        most_kept: Bytes of the cache.
    """

    def __init__(
        self,
        folder: Path,
        routes: GitRoutes,
        limits: PackageLimits = DEFAULT,
        *,
        seconds: float = SECONDS,
        most_fetched: int = MOST_FETCHED,
        most_kept: int = MOST_KEPT,
    ) -> None:
        self._folder = folder
        self._routes = routes
        self._limits = limits
        self._seconds = seconds
        self._most_fetched = most_fetched
        self._most_kept = most_kept

    def fetch(
        self, wanted: GitReference, reader: str, allowed: Allowed, spent: float = 0.0
    ) -> Came:
        """Fetch a package.

        Args:
            wanted: Which one.
            reader: Location of the repository that it is for.
            allowed: Judges each repository that its address leads to.
            spent: Seconds that this took so far: what an address led to was judged meanwhile.

        Raises:
            UpstreamError: It cannot be had.
        """
        kept = self._kept(wanted, wanted.ref, reader) if is_commit(wanted.ref) else None
        if kept is not None and kept.is_dir():
            location = locate(wanted.repo)
            if location is not None:
                allowed(location)
            return self._read(kept, wanted, wanted.ref)
        if spent >= self._seconds:
            raise self._too_slow(wanted)
        ends = time.monotonic() + self._seconds - spent
        route = self._routes.open(wanted.repo, reader, allowed, ends)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix="new-", dir=self._folder))
        try:
            return self._through(route, wanted, reader, new, ends)
        except TooSlowError:
            raise self._too_slow(wanted) from None
        except TooMuchError:
            much = texts.too_much(str(wanted), self._most_fetched)
            raise UpstreamError(UpstreamFault.TOO_LARGE, *much) from None
        finally:
            shutil.rmtree(new, ignore_errors=True)

    def _too_slow(self, wanted: GitReference) -> UpstreamError:
        slow = texts.too_slow(str(wanted), self._seconds)
        return UpstreamError(UpstreamFault.TOO_SLOW, *slow)

    def opens(self, at: Location, reader: str) -> bool:
        """Tell whether the operator's credentials are used for a repository."""
        return self._routes.opens(at, reader)

    def trim(self) -> list[str]:
        """Remove what was used least recently over the bound; returns which."""
        long_ago = time.time() - 10 * self._seconds
        gone = remote.over(self._folder, self._most_kept, 0.0)
        for each in self._folder.glob("new-*"):
            with suppress(OSError):  # it became part of the cache, or was removed, meanwhile
                gone += [each] if each.stat().st_mtime < long_ago else []
        for each in gone:
            shutil.rmtree(each, ignore_errors=True)
        return [each.name for each in gone]

    def _through(
        self, route: GitRoute, wanted: GitReference, reader: str, new: Path, ends: float
    ) -> Came:
        place = f"{route.url}//{wanted.directory}".rstrip("/")
        call = _Calls(route, new, GitCallLimits(ends, self._most_fetched), place)
        call.git("init", "--quiet", "--bare", ".")
        if is_commit(wanted.ref) and not call.holds(wanted.ref):
            raise UpstreamError(UpstreamFault.MISSING, *texts.no_commit(wanted.ref, call.place))
        name, sha = self._found(call, wanted)
        kept = self._kept(wanted, sha, reader)
        if not kept.is_dir():
            # A ref may have moved since it was listed: what came is kept by what it is.
            kept = self._kept(wanted, self._bring(call, new, wanted, name, sha), reader)
            try:
                new.rename(kept)
            except OSError:
                if not kept.is_dir():  # another thread was faster
                    raise
        return self._read(kept, wanted, name)

    def _found(self, call: "_Calls", wanted: GitReference) -> tuple[str, str]:
        """The ref that is meant, in full, and the object it names; of a commit itself twice."""
        if is_commit(wanted.ref):
            return wanted.ref, wanted.ref
        if wanted.ref == LATEST:
            scope = names.tag_ref(f"{wanted.directory}/v*".lstrip("/"))
            listed = {ref: sha for sha, ref in call.listed(scope)}
            numbers = names.revisions(wanted.directory, listed)
            if not numbers:
                raise UpstreamError(UpstreamFault.MISSING, *texts.no_revision(call.place))
            newest = names.tag(wanted.directory, numbers[-1])
            return newest, listed[newest]
        meant = candidates(wanted.directory, wanted.ref)
        there = {ref: sha for sha, ref in call.listed(*meant)}
        found = next((ref for ref in meant if ref in there), None)
        if found is None:
            raise UpstreamError(UpstreamFault.MISSING, *texts.no_version(wanted.ref, call.place))
        return found, there[found]

    def _bring(self, call: "_Calls", new: Path, wanted: GitReference, name: str, sha: str) -> str:
        """Fetch a commit, and the files of one folder of it; returns the object that came."""
        done = call.fetch(WITHOUT_FILES, "--depth=1", f"+{name}:{_WANTED}")
        if done.status and name == sha and not _MISSING.search(done.said):
            # Some give whole branches and tags only.
            done = call.fetch(WITHOUT_FILES, f"+{names.HEADS}/*:{_HELD}/h/*")
        if done.status:
            raise call.failed(done, wanted.ref)
        with closing(_Trees(new)) as trees:
            came = trees.id_of(_WANTED) or sha
            commit = trees.commit(came)
            if not commit:
                raise UpstreamError(UpstreamFault.MISSING, *texts.no_commit(sha, call.place))
            tree = trees.tree(commit, wanted.directory)
            missing = self._lacking(trees, tree, call.place) if tree else []
        filled = call.complete(missing, f"+{name}:{_WANTED}")
        if filled is not None and filled.status:
            raise call.failed(filled, wanted.ref)
        return came

    def _lacking(self, trees: "_Trees", tree: str, place: str) -> list[str]:
        try:
            blobs = trees.blobs(tree, self._limits)
        except PackageError as error:
            raise UpstreamError(
                UpstreamFault.TOO_LARGE, *texts.too_large(place, error.problem)
            ) from error
        return remote.lacking(trees, blobs)

    def _read(self, kept: Path, wanted: GitReference, name: str) -> Came:
        try:
            return self._read_whole(kept, wanted, name)
        except UpstreamError as error:
            if error.fault is UpstreamFault.UNREACHABLE:  # it lacks something: fetched anew then
                shutil.rmtree(kept, ignore_errors=True)
            raise

    def _read_whole(self, kept: Path, wanted: GitReference, name: str) -> Came:
        remote.used(kept)
        place = f"{wanted.repo}//{wanted.directory}".rstrip("/")
        with closing(_Trees(kept)) as trees:
            commit = trees.commit(wanted.ref if is_commit(wanted.ref) else _WANTED)
            if not commit:
                raise trees.unreadable(wanted.ref, None)
            tree = trees.tree(commit, wanted.directory)
            if not tree:
                problem = texts.no_folder(wanted.directory, wanted.repo, wanted.ref)
                raise UpstreamError(UpstreamFault.MISSING, *problem)
            try:
                files = trees.files(tree, self._limits)
            except PackageError as error:
                raise UpstreamError(
                    UpstreamFault.TOO_LARGE, *texts.too_large(place, error.problem)
                ) from error
        ref = names.branch_name(names.tag_name(name))
        return Came(files, ref, commit, tree)

    def _kept(self, wanted: GitReference, sha: str, reader: str) -> Path:
        """Where a package is kept: apart for those who get it by credentials of their own."""
        own = reader if self._routes.has_credentials else ""
        said = "\0".join((str(locate(wanted.repo)), sha, wanted.directory, own))
        return self._folder / f"{hashlib.sha256(said.encode()).hexdigest()}.git"


class _Calls(FetchCommands):
    """Calls of git for one fetch of the bot's, with what went wrong in its words."""

    def __init__(self, route: GitRoute, folder: Path, bounds: GitCallLimits, place: str) -> None:
        super().__init__(Way(route.url, route.environment(folder)), folder, bounds)
        self.place = place
        self._door = route

    def listed(self, *patterns: str) -> list[tuple[str, str]]:
        """The refs that fit, as pairs of object and name."""
        done, found = self.list("--refs", *patterns)
        if done.status:
            raise self.failed(done, "")
        return found

    def holds(self, commit: str) -> bool:
        """Whether a branch or tag holds a commit: forges give those of anybody's fork as well."""
        done, found = self.list("--heads", "--tags")
        if done.status:
            raise self.failed(done, "")
        if any(sha == commit for sha, _ in found):
            return True
        inner = self.folder / "history"  # apart: commits without trees are not fetched again
        inner.mkdir()
        history = _Calls(self._door, inner, self.bounds, self.place)
        history.git("init", "--quiet", "--bare", ".")
        done = history.fetch("--filter=tree:0", f"+{names.HEADS}/*:{_HELD}/h/*", _ALL_TAGS)
        if done.status:
            raise self.failed(done, "")
        remote.settle(inner)
        held = history.git("for-each-ref", "--count=1", f"--contains={commit}", _HELD)
        shutil.rmtree(inner, ignore_errors=True)
        return held.status == 0 and bool(held.output)

    def failed(self, done: Done, ref: str) -> UpstreamError:
        """Say in words why git could not fetch."""
        said = done.said
        if ref and _MISSING.search(said):
            problem = texts.no_commit if is_commit(ref) else texts.no_version
            return UpstreamError(UpstreamFault.MISSING, *problem(ref, self.place))
        if _UNSEEN.search(_QUOTED.sub("", said)):
            return UpstreamError(UpstreamFault.MISSING, *texts.no_repository(self.place))
        return UpstreamError(
            UpstreamFault.UNREACHABLE, *texts.unreachable(self.place, reason(said))
        )


class _Trees(StoredTrees):
    """What stands in a repository that was fetched; git asks nobody for what is missing."""

    def __init__(self, folder: Path) -> None:
        remote.settle(folder)
        super().__init__(ObjectReader(folder, environment(folder)))

    def id_of(self, name: str) -> str:
        """The object that a ref names; "" if there is none."""
        found = self.named(name, 0)
        return found.sha if found else ""

    def commit(self, name: str) -> str:
        """The commit of a ref or an id, tags followed; "" if there is none."""
        return self.id_of(f"{name}^{{commit}}")

    def root(self, commit: str) -> str:
        """Id of the tree of a commit."""
        return self.id_of(f"{commit}^{{tree}}")

    def unreadable(self, sha: str, error: Exception | None) -> Exception:
        """What was fetched is not whole: it is no repository, or damaged."""
        said = str(error) if error else f"object {sha} is missing"
        return UpstreamError(UpstreamFault.UNREACHABLE, *texts.not_whole(said))

    def too_wide(self, tree: str) -> Exception:
        """A folder that is not read."""
        problem = texts.too_large("the repository", f"a folder of it has too many entries ({tree})")
        return UpstreamError(UpstreamFault.TOO_LARGE, *problem)
