"""Git: one bare mirror per repository; objects are read and written, refs pushed with leases.

Package content is never checked out. Objects are written straight into the object database, and
refs move only in one `push --atomic --force-with-lease=<ref>:<sha>`, which is an exact compare-and-
swap on every forge (docs/design.md, "Mirrors and pushes"). Ref names are always spelled in full.
Tokens reach git through its environment alone: never an argument, never a URL. A GitPython `Repo`
keeps one `git cat-file` process and is not safe between threads: each look opens its own and closes
it.
"""

import fcntl
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Generic, TypeVar

import git as gitpython
from git.exc import GitError
from gitdb import IStream
from gitdb.exc import BadName, BadObject, ODBError

from bot import git_merge
from bot.difference import MOST_DEEP, TREE, Difference, differ, is_package
from bot.git_merge import Merged
from bot.git_process import (
    GitBusyError,
    MissingObjectError,
    authorised,
    reason,
    refusal,
    run,
)
from cadlib.errors import PackageError, Place
from cadlib.limits import Limits
from cadlib.package import Entry, Files, is_resource_file
from lifecycle.names import Ref, Sha

T = TypeVar("T")

NETWORK_TIMEOUT = 120
"""Seconds for one fetch or push: every network call has an end (docs/design.md, "Forge calls")."""

REBUILD = 3600.0
"""Seconds between two times that a mirror is fetched anew: if once did not help, more will not."""

_NONE = "0" * 40  # how git writes that a ref is not there
_NEAR = 8
"""First parents that are looked at before git is started to find a merge base."""

_SUBMODULE = 0o160000


class GitRefusedError(Exception):
    """The forge refused a push until somebody changes a rule."""


class Pushed(StrEnum):
    """How a push ended."""

    DONE = "done"
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class RefUpdate:
    """Move one ref, only while it is at `expected`.

    Attributes:
        ref: Full name.
        expected: Commit it must be at; "" when it must not exist.
        wanted: Where to move it; "" to delete it.
    """

    ref: Ref
    expected: str
    wanted: str


@dataclass(frozen=True, slots=True)
class Signature:
    """Who, for commits and tags that we write."""

    name: str
    email: str

    def at(self, when: datetime) -> str:
        """As it stands in an object."""
        return f"{self.name} <{self.email}> {int(when.timestamp())} +0000"


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit.

    Attributes:
        sha: Its id.
        tree: Id of its root tree.
        parents: In order.
        message: Whole text.
        author: Name, address and time, as they stand in the object.
    """

    sha: Sha
    tree: str
    parents: tuple[Sha, ...]
    message: str
    author: str = ""


class Mirror:
    """The bare mirror of one repository.

    Args:
        folder: Where it stands; made when missing.
        url: For git over HTTP, without a token.
    """

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self._lock = threading.Lock()
        self._begun = 0.0
        self._broken = False
        self._rebuilt = -REBUILD
        self._kept = _Kept()

    def fetch(self, token: str, since: float | None = None) -> None:
        """Bring branches and tags up to date.

        A fetch that began after this one was asked for serves it too. A mirror that git calls
        broken is deleted and fetched anew.

        Args:
            token: For the forge.
            since: `time.monotonic()` after which a fetch that began serves too; now when None.

        Raises:
            GitBusyError: The forge could not be reached.
        """
        asked = time.monotonic() if since is None else since
        with self._locked():
            if self._begun >= asked:
                return
            begun = time.monotonic()
            if self._broken and begun - self._rebuilt > REBUILD:
                shutil.rmtree(self.folder, ignore_errors=True)
                self._broken, self._rebuilt, self._kept = False, begun, _Kept()
            refs = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]
            try:
                self._fetch(token, ["--prune", "--", self.url, *refs])
            except GitBusyError:
                if self._healthy():
                    raise
                shutil.rmtree(self.folder, ignore_errors=True)
                self._kept = _Kept()
                self._fetch(token, ["--prune", "--", self.url, *refs])
            self._begun = begun
            self._kept.moves += 1
            os.utime(self.folder)  # last used now, for `Mirrors.trim`

    def fetch_proposal(self, token: str, number: int) -> None:
        """Fetch a pull request's head: of a fork, or of a branch that is gone.

        Raises:
            GitBusyError: The forge could not be reached, or has no such ref.
        """
        ref = f"refs/pull/{number}/head"
        with self._locked():
            self._fetch(token, ["--", self.url, f"+{ref}:{ref}"])

    def open(self) -> "Snapshot":
        """Open the mirror for reading; close it after use."""
        return Snapshot(self.folder, self._kept, self._found_broken)

    def _found_broken(self) -> None:
        """What a commit in the mirror is made of cannot be read: the next fetch begins anew."""
        self._broken = True
        self._kept = _Kept()

    def push(self, token: str, updates: Sequence[RefUpdate]) -> Pushed:
        """Move all these refs, or none.

        Raises:
            GitBusyError: The forge could not be reached, or failed.
            GitRefusedError: A rule of the forge forbids it.
        """
        leases = [f"--force-with-lease={u.ref}:{u.expected}" for u in updates]
        moves = [f"{u.wanted}:{u.ref}" for u in updates]
        done = run(
            self.folder,
            ["push", "--atomic", "--porcelain", "--no-verify", *leases, "--", self.url, *moves],
            env=authorised(self.url, token),
            timeout=NETWORK_TIMEOUT,
        )
        if done.returncode == 0:
            self._take_over(updates)
            return Pushed.DONE
        text = f"{done.stdout}\n{done.stderr}"
        if any(sign in text for sign in _MOVED):
            return Pushed.MOVED
        if "[remote rejected]" in text:
            raise GitRefusedError(refusal(text))
        raise GitBusyError(f"the push failed: {reason(text)}")

    def _take_over(self, updates: Sequence[RefUpdate]) -> None:
        """Move our own refs as the forge has moved its: what we pushed needs no fetch.

        A ref that is not at what was expected was fetched meanwhile; then the next look fetches.
        """
        moves = (f"update {u.ref} {u.wanted or _NONE} {u.expected or _NONE}\n" for u in updates)
        with self._locked():
            moved = run(self.folder, ["update-ref", "--no-deref", "--stdin"], text="".join(moves))
            if moved.returncode:
                self._begun = 0.0
            self._kept.moves += 1

    def _fetch(self, token: str, arguments: Sequence[str]) -> None:
        if not (self.folder / "HEAD").exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            made = run(self.folder, ["init", "--quiet", "--bare", "."])
            if made.returncode:
                raise GitBusyError(f"cannot make a mirror in {self.folder}: {made.stderr.strip()}")
        done = run(
            self.folder,
            ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--force", *arguments],
            env=authorised(self.url, token),
            timeout=NETWORK_TIMEOUT,
        )
        if done.returncode:
            raise GitBusyError(f"the fetch failed: {reason(done.stderr)}")

    def _healthy(self) -> bool:
        if not (self.folder / "HEAD").exists():
            return True
        looked = run(self.folder, ["rev-parse", "--is-bare-repository"])
        listed = run(self.folder, ["for-each-ref", "--format=%(objecttype)"])
        return looked.returncode == 0 and listed.returncode == 0

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One fetch at a time, in this process and among processes."""
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._lock, self.folder.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


_MOVED = (
    "stale info",
    "(fetch first)",
    "(non-fast-forward)",
    "already exists",
    "remote ref does not exist",
    "cannot lock ref",
    "reference already exists",
    "incorrect old value",
)
"""What git and its remote end say when a ref is not where the lease says."""


class Snapshot:
    """The mirror, opened for one look.

    The one `git cat-file` process behind it is used under a lock: read from several threads at once
    it gives wrong bytes (docs/design.md, "Mirrors and pushes").

    Args:
        folder: The mirror.
        kept: What looks before this one have learnt of it.
        broken: Called when what a commit is made of cannot be read.
    """

    def __init__(self, folder: Path, kept: "_Kept", broken: Callable[[], None]) -> None:
        self._folder = folder
        self._kept = kept
        self._broken = broken
        self._repo = gitpython.Repo(folder)
        self._lock = threading.Lock()
        self._refs: dict[str, tuple[Sha, Sha]] | None = None

    def __enter__(self) -> "Snapshot":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process behind it."""
        self._repo.close()

    def refs(self) -> Mapping[str, tuple[Sha, Sha]]:
        """Every branch and tag by full name: the object it names, and the commit behind that."""
        if self._refs is None:
            self._refs = self._kept.refs_now()
        if self._refs is None:
            moves = self._kept.moves
            fields = "%(refname)%00%(objectname)%00%(*objectname)"
            listed = run(
                self._folder, ["for-each-ref", f"--format={fields}", "refs/heads", "refs/tags"]
            )
            self._refs = {}
            # Not splitlines(): a ref may hold U+2028, which that takes for the end of a line.
            for line in filter(None, listed.stdout.split("\n")):
                ref, sha, peeled = line.split("\0")
                self._refs[ref] = (Sha(sha), Sha(peeled or sha))
            self._kept.refs = (moves, self._refs)
        return self._refs

    def ref(self, name: str) -> Sha | None:
        """The commit of a branch or tag; None when there is no such ref."""
        found = self.refs().get(name)
        return found[1] if found else None

    def has(self, sha: str) -> bool:
        """Whether a commit is in the mirror."""
        try:
            self.commit(sha)
        except MissingObjectError:
            return False
        return True

    def commit(self, sha: str) -> Commit:
        """One commit.

        Raises:
            MissingObjectError: It is not in the mirror.
        """
        return self._kept.commits.get_or(sha, lambda: self._read_commit(sha))

    def merge_base(self, one: str, other: str) -> Sha | None:
        """The best common ancestor; None when the histories have nothing in common.

        Where there are several it is the one that forges show a proposal's changes against.

        Raises:
            MissingObjectError: One of them is not in the mirror.
        """
        if self._is_near(other, one):
            return Sha(other)
        found = self._merge_bases(one, other)
        return Sha(found[0]) if found else None

    def _merge_bases(self, one: str, other: str) -> tuple[str, ...]:
        return self._kept.bases.get_or(
            f"{one} {other}", lambda: git_merge.merge_bases(self._folder, one, other)
        )

    def _is_near(self, ancestor: str, of: str) -> bool:
        """Whether a commit is the other or a few first parents before it, as bases mostly are."""
        sha = of
        for _ in range(_NEAR):
            if sha == ancestor:
                return True
            parents = self.commit(sha).parents
            if not parents:
                return False
            sha = parents[0]
        return sha == ancestor

    def is_ancestor(self, ancestor: str, of: str) -> bool:
        """Whether `of` contains `ancestor`."""
        done = run(self._folder, ["merge-base", "--is-ancestor", ancestor, of])
        return done.returncode == 0

    def first_parents(self, tip: str, after: str, limit: int = 1000) -> tuple[Commit, ...]:
        """Commits on the first-parent line from `after` (left out) to `tip`, oldest first."""
        line: list[Commit] = []
        sha = tip
        while sha != after and len(line) < limit:
            commit = self.commit(sha)
            line.append(commit)
            if not commit.parents:
                break
            sha = commit.parents[0]
        return tuple(reversed(line))

    def on_line(self, tip: str, sha: str, limit: int = 1000) -> bool:
        """Whether a commit is on the first-parent line of a tip, not too far back."""
        line = self.first_parents(tip, sha, limit)
        return not line or line[0].parents[:1] == (sha,)

    def tree(self, commit: str, path: str) -> str:
        """Id of the tree at a path of a commit; "" when there is no folder."""
        found = self.commit(commit).tree
        for part in path.split("/") if path else []:
            below = (s for s, mode, name in self._entries(found) if name == part and mode == TREE)
            found = next(below, "")
            if not found:
                return ""
        return found

    def package(self, commit: str, path: str) -> str:
        """Id of the tree of a package at a commit; "" where there is none, or only its folder."""
        found = self.tree(commit, path) if commit else ""
        return found if found and is_package(self._entries(found)) else ""

    def blob(self, commit: str, path: str) -> bytes | None:
        """A file at a commit; None when there is none, or it is no regular file."""
        folder, _, name = path.rpartition("/")
        tree = self.tree(commit, folder)
        for sha, mode, found in self._entries(tree) if tree else ():
            if found == name and mode & 0o170000 == 0o100000:
                return self._blob(sha)
        return None

    def difference(self, before: str, after: str) -> Difference:
        """What differs between two commits; kept, since it never changes.

        Args:
            before: A commit; "" for nothing at all.
            after: A commit.
        """
        one, other = self.commit(before).tree if before else "", self.commit(after).tree
        return self._kept.differences.get_or(
            f"{one} {other}", lambda: differ(self._entries, one, other)
        )

    def changed_within(self, base: str, head: str, paths: Sequence[str]) -> bool:
        """Whether a commit of `head` that `base` lacks changes one of these paths; no merges."""
        asked = ["rev-list", "--full-history", "--no-merges", "--max-count=1"]
        done = run(self._folder, [*asked, head, f"^{base}", "--", *paths])
        if done.returncode:
            raise GitBusyError(f"git rev-list failed: {reason(done.stderr)}")
        return bool(done.stdout.strip())

    def merged(self, base: str, head: str) -> Merged:
        """What merging a head into a base would give.

        Raises:
            GitBusyError: Git failed.
            MissingObjectError: One of them is not in the mirror.
        """
        return self._kept.merges.get_or(f"{base} {head}", lambda: self._merge(base, head))

    def _merge(self, base: str, head: str) -> Merged:
        if self._is_near(base, head):
            return Merged(self.commit(head).tree, self.difference(base, head))
        ground = (base, self.commit(base).tree)
        bases = self._merge_bases(base, head)
        return git_merge.work_out(self._folder, self._entries, ground, head, bases)

    def files(self, tree: str, limits: Limits) -> Files:
        """Every file under a tree, by path relative to it; sizes are looked at before data.

        Raises:
            PackageError: There is more than the limits allow; nothing of it was read.
        """
        listed = self._walk(tree, "", limits.files + 1)
        if len(listed) > limits.files:
            raise _too_much(Place(), f"the package holds more than {limits.files} files")
        total = 0
        for path, sha, mode in listed:
            if mode == _SUBMODULE:
                continue
            known = _BLOBS.get(sha)
            size = self._size(sha) if known is None else len(known)
            total += size
            if size > limits.file_bytes and is_resource_file(path):
                raise _too_much(Place(path), f"the file has {size} bytes")
            if total > limits.package_bytes:
                problem = f"the files of the package have more than {limits.package_bytes} bytes"
                raise _too_much(Place(), problem)
        return {
            path: Entry(sha.encode() if mode == _SUBMODULE else self._blob(sha), f"{mode:06o}")
            for path, sha, mode in sorted(listed)
        }

    def write_commit(
        self,
        parent: str,
        changes: Mapping[str, bytes | None],
        who: Signature,
        when: datetime,
        message: Callable[[str], str],
    ) -> Sha:
        """Write a commit on top of `parent` into the object database; no ref moves.

        Args:
            parent: The only parent.
            changes: Path to new bytes, None to delete; modes are kept.
            who: Author and committer.
            when: Time of both.
            message: Makes the text from the new tree's id.
        """
        tree = self._write_tree(self.commit(parent).tree, _nested(changes))
        tree = tree or self._store("tree", b"")
        text = (
            f"tree {tree}\nparent {parent}\nauthor {who.at(when)}\ncommitter {who.at(when)}\n\n"
        ) + message(tree)
        return Sha(self._store("commit", text.encode()))

    def write_tag(self, name: str, target: str, who: Signature, when: datetime, text: str) -> Sha:
        """Write an annotated tag into the object database; no ref moves."""
        body = f"object {target}\ntype commit\ntag {name}\ntagger {who.at(when)}\n\n{text}"
        return Sha(self._store("tag", body.encode()))

    def entry(self, commit: str, path: str) -> str:
        """Mode and id of what stands at a path of a commit; "" for nothing."""
        folder, _, name = path.rpartition("/")
        tree = self.tree(commit, folder)
        for sha, mode, found in self._entries(tree) if tree else ():
            if found == name:
                return f"{mode:o} {sha}"
        return ""

    def contains(self, tip: str, sha: str) -> bool:
        """Whether a commit is in the history of a tip; a tip that is gone holds nothing."""
        return self.has(tip) and self.is_ancestor(sha, tip)

    def tag_message(self, sha: str, target: str) -> str | None:
        """Text of an annotated tag of exactly this commit; None for any other object."""
        try:
            with self._lock:
                stream = self._repo.odb.stream(bytes.fromhex(sha))
                data = bytes(stream.read()) if stream.type == b"tag" else b""
        except (ValueError, BadObject, BadName, ODBError, GitError) as error:
            raise MissingObjectError(f"object {sha} is not in the mirror") from error
        head, _, message = data.decode("utf-8", "replace").partition("\n\n")
        return message if head.startswith(f"object {target}\ntype commit\n") else None

    def _read_commit(self, sha: str) -> Commit:
        try:
            with self._lock:
                stream = self._repo.odb.stream(bytes.fromhex(sha))
                data = bytes(stream.read())
        except (ValueError, BadObject, BadName, ODBError, GitError) as error:
            raise MissingObjectError(f"object {sha} is not in the mirror") from error
        if stream.type != b"commit":
            raise MissingObjectError(f"object {sha} is no commit")
        return _parse_commit(Sha(sha), data)

    def _blob(self, sha: str) -> bytes:
        found = _BLOBS.get(sha)
        if found is None:
            found = self._read(sha)
            _BLOBS.keep(sha, found)
        return found

    def _read(self, sha: str) -> bytes:
        """Part of a commit that is there, so that it must be there too."""
        try:
            with self._lock:
                return bytes(self._repo.odb.stream(bytes.fromhex(sha)).read())
        except (ValueError, BadObject, BadName, ODBError, GitError) as error:
            self._broken()
            raise MissingObjectError(f"object {sha} is not in the mirror") from error

    def _size(self, sha: str) -> int:
        try:
            with self._lock:
                return int(self._repo.odb.info(bytes.fromhex(sha)).size)
        except (ValueError, BadObject, BadName, ODBError, GitError) as error:
            self._broken()
            raise MissingObjectError(f"object {sha} is not in the mirror") from error

    def _entries(self, tree: str) -> tuple[tuple[str, int, str], ...]:
        return _ENTRIES.get_or(tree, lambda: git_merge.parse_tree(self._read(tree)))

    def _walk(self, tree: str, under: str, limit: int) -> list[tuple[str, str, int]]:
        if under.count("/") > MOST_DEEP:
            place = Place("/".join(under.split("/")[:3]))
            raise _too_much(place, f"folders are nested more than {MOST_DEEP} deep")
        found: list[tuple[str, str, int]] = []
        for sha, mode, name in self._entries(tree):
            path = f"{under}{name}"
            if mode == TREE:
                found += self._walk(sha, f"{path}/", limit - len(found))
            else:
                found.append((path, sha, mode))
            if len(found) >= limit:
                break
        return found

    def _write_tree(self, tree: str, changes: "_Changes") -> str:
        entries = {name: (sha, mode) for sha, mode, name in (self._entries(tree) if tree else ())}
        for name, change in changes.items():
            old_sha, old_mode = entries.get(name, ("", 0))
            if isinstance(change, dict):
                sub = self._write_tree(old_sha if old_mode == TREE else "", change)
                if sub:
                    entries[name] = (sub, TREE)
                else:
                    entries.pop(name, None)
            elif change is None:
                entries.pop(name, None)
            else:
                mode = old_mode if old_mode & 0o170000 == 0o100000 else 0o100644
                entries[name] = (self._store("blob", change), mode)
        if not entries:
            return ""
        # By bytes, folders as if their names ended in a slash; names need not be UTF-8.
        named = ((n.encode("utf-8", "surrogateescape"), s, m) for n, (s, m) in entries.items())
        ordered = sorted(named, key=lambda e: e[0] + (b"/" if e[2] == TREE else b""))
        lines = (b"%o %s\0%s" % (mode, name, bytes.fromhex(sha)) for name, sha, mode in ordered)
        return self._store("tree", b"".join(lines))

    def _store(self, kind: str, data: bytes) -> str:
        with self._lock:
            stored = self._repo.odb.store(IStream(kind.encode(), len(data), BytesIO(data)))
        return str(stored.hexsha.decode())


class _Known(Generic[T]):
    """What a git object says never changes: a small memory, shared by all looks."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[str, T] = {}

    def get_or(self, key: str, make: Callable[[], T]) -> T:
        """The value, made the first time."""
        found = self._values.get(key)
        if found is None:
            found = make()
            if len(self._values) >= self._most:
                self._values.clear()
            self._values[key] = found
        return found


class _Blobs:
    """Small files that were read: of a package that is looked at again, most have not changed."""

    def __init__(self, most_bytes: int, largest: int) -> None:
        self._most = most_bytes
        self._largest = largest
        self._bytes = 0
        self._values: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def get(self, sha: str) -> bytes | None:
        """The data, if it is kept."""
        return self._values.get(sha)

    def keep(self, sha: str, data: bytes) -> None:
        """Keep data that is not large."""
        if len(data) > self._largest:
            return
        with self._lock:
            if self._bytes + len(data) > self._most:
                self._values.clear()
                self._bytes = 0
            if sha not in self._values:
                self._values[sha] = data
                self._bytes += len(data)


class _Kept:
    """What was learnt of one mirror, for as long as it is not made anew.

    Attributes:
        moves: How often refs were fetched or pushed by this process; others may write to the mirror
            as well, so that refs are kept for no longer than until our own next fetch.
        refs: The refs, and `moves` when they were listed.
        commits: Commits that are in it.
        bases: Merge bases of two commits.
        differences: What differs between two trees.
        merges: What merging one commit into another would give.
    """

    def __init__(self) -> None:
        self.moves = 0
        self.refs: tuple[int, dict[str, tuple[Sha, Sha]]] = (0, {})
        self.commits: _Known[Commit] = _Known(10_000)
        self.bases: _Known[tuple[str, ...]] = _Known(4_000)
        self.differences: _Known[Difference] = _Known(64)
        self.merges: _Known[Merged] = _Known(256)

    def refs_now(self) -> dict[str, tuple[Sha, Sha]] | None:
        """The refs, if they were listed since they were last fetched or pushed."""
        moves, refs = self.refs
        return refs if moves and moves == self.moves else None


_BLOBS = _Blobs(32 * 1024**2, 256 * 1024)
_ENTRIES: _Known[tuple[tuple[str, int, str], ...]] = _Known(20_000)

_Changes = dict[str, "bytes | _Changes | None"]


class Mirrors:
    """All mirrors, in one folder with a size bound.

    Args:
        folder: Where they stand, one each by the forge's number of the repository.
        most_bytes: The least recently used ones are removed over this.
    """

    def __init__(self, folder: Path, most_bytes: int = 20 * 1024**3) -> None:
        self._folder = folder
        self._most = most_bytes
        self._mirrors: dict[int, Mirror] = {}

    def of(self, repository_id: int, url: str) -> Mirror:
        """The mirror of one repository."""
        mirror = self._mirrors.get(repository_id)
        if mirror is None or mirror.url != url:
            mirror = Mirror(self._folder / f"{repository_id}.git", url)
            self._mirrors[repository_id] = mirror
        return mirror

    def trim(self) -> list[int]:
        """Remove the least recently used mirrors over the bound; returns which."""
        sizes = []
        for folder in self._folder.glob("*.git"):
            size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
            sizes.append((folder.stat().st_mtime, size, folder))
        total = sum(size for _, size, _ in sizes)
        removed: list[int] = []
        for _, size, folder in sorted(sizes):
            if total <= self._most:
                break
            with folder.with_suffix(".lock").open("w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue  # being fetched: in use after all
                shutil.rmtree(folder, ignore_errors=True)
            removed.append(int(folder.stem))
            total -= size
        return removed


def _too_much(place: Place, problem: str) -> PackageError:
    fix = "Split it into smaller packages or files, or move what is not configuration elsewhere"
    return PackageError(place, problem, fix)


_NOT_NAMES = frozenset({"", ".", "..", ".git"})
"""What no part of a path may be; checked where packages are read, and here once more."""


def _nested(changes: Mapping[str, bytes | None]) -> _Changes:
    nested: _Changes = {}
    for path, data in changes.items():
        *folders, name = path.split("/")
        if any(part.lower() in _NOT_NAMES for part in (*folders, name)):
            raise ValueError(f"{path!r}: git holds no such path")
        here = nested
        for folder in folders:
            below = here.setdefault(folder, {})
            if not isinstance(below, dict):
                raise ValueError(f"{path}: {folder} is a file and a folder in one change")
            here = below
        here[name] = data
    return nested


def _parse_commit(sha: Sha, data: bytes) -> Commit:
    head, _, message = data.decode("utf-8", "replace").partition("\n\n")
    lines = head.split("\n")
    tree = next(line[5:] for line in lines if line.startswith("tree "))
    parents = tuple(Sha(line[7:]) for line in lines if line.startswith("parent "))
    author = next((line[7:] for line in lines if line.startswith("author ")), "")
    return Commit(sha, tree, parents, message, author)
