"""Git: the objects of a mirror, read and written.

Package content is never checked out. Objects are written straight into the object database; how
refs move is for `bot.git.mirror`. Ref names are always spelled in full. A GitPython `Repo` keeps
one `git cat-file` process and is not safe between threads: each look opens its own and closes it.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from io import BytesIO
from pathlib import Path
from types import TracebackType

import git as gitpython
from git.exc import GitError
from gitdb import IStream
from gitdb.exc import BadName, BadObject, ODBError

from bot.git import alike
from bot.git import merge as git_merge
from bot.git import refs as git_refs
from bot.git.commit import parse
from bot.git.difference import TREE, differ, is_package
from bot.git.memory import BLOBS, ENTRIES, Kept
from bot.git.port import (
    HEADS,
    MOST_DEEP,
    MOST_ENTRIES,
    MOST_LISTED,
    MOST_TEXT,
    MOST_TREE,
    TAGS,
    Commit,
    Difference,
    GitBusyError,
    Merged,
    MissingObjectError,
    Refs,
    Signature,
    TooLargeError,
)
from bot.git.process import GitSlowError, reason, run
from cadlib.errors import PackageError, Place
from cadlib.limits import DEFAULT, Limits
from cadlib.package.files import Entry, Files, is_resource_file
from lifecycle.messages.checks import large_commit, large_folder
from lifecycle.names import Sha

_NEAR = 8
"""First parents that are looked at before git is started to find a merge base."""

_SUBMODULE = 0o160000


class DiskHistory:
    """The mirror, opened for one look.

    The one `git cat-file` process behind it is used under a lock: read from several threads at once
    it gives wrong bytes (docs/design.md, "Mirrors and pushes").

    Args:
        folder: The mirror.
        kept: What looks before this one have learnt of it.
        broken: Called when what a commit is made of cannot be read.
        known: Gives the refs at a place as they were fetched; None where only the disk knows.
        merge_seconds: For working out one merge.
    """

    def __init__(
        self,
        folder: Path,
        kept: Kept,
        broken: Callable[[], None],
        known: Callable[[str], Refs | None],
        merge_seconds: float = git_merge.SECONDS,
    ) -> None:
        self._folder = folder
        self._kept = kept
        self._broken = broken
        self._repo = gitpython.Repo(folder)
        self._lock = threading.Lock()
        self._known = known
        self._merge_seconds = merge_seconds
        self._refs: Mapping[str, Refs] = {}  # by place; replaced, never changed, for threads

    def __enter__(self) -> "DiskHistory":
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

    def refs(self, *places: str) -> Refs:
        """Branches and tags by full name: the object each names, and the commit behind that.

        As they were fetched last, and within one look always the same.

        Args:
            places: Refs or folders of refs, such as "refs/tags/net/core"; none for all.
        """
        found: dict[str, tuple[Sha, Sha]] = {}
        for place in places or (HEADS, TAGS):
            found |= self._refs.get(place) or self._listed(place)
        return found

    def _listed(self, place: str) -> Refs:
        around = next((refs for p, refs in self._refs.items() if git_refs.inside(place, p)), None)
        if around is not None:
            return git_refs.at(around, [place])
        found = self._known(place)
        if found is None:
            found = git_refs.listed(self._folder, [place])
        self._refs = {**self._refs, place: found}
        return found

    def ref(self, name: str) -> Sha | None:
        """The commit of a branch or tag; None when there is no such ref."""
        found = self.refs(name).get(name)
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

    def alike(self, commit: str, paths: Iterable[str]) -> dict[str, frozenset[str]]:
        """Packages of a commit, "" for nothing at all, whose paths look like one of these."""
        return alike.packages(self._entries, self.commit(commit).tree if commit else "", paths)

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

    def cut_within(self, base: str, head: str) -> bool:
        """Whether a commit of `head` that `base` lacks has more text than is read.

        So it is where there are more commits than anybody looks at.
        """
        asked = ["rev-list", f"--max-count={MOST_LISTED + 1}", head, f"^{base}"]
        done = run(self._folder, asked)
        if done.returncode:
            raise GitBusyError(f"git rev-list failed: {reason(done.stderr)}")
        listed = done.stdout.split()
        return len(listed) > MOST_LISTED or any(self.commit(sha).cut for sha in listed)

    def merged(self, base: str, head: str) -> Merged:
        """What merging a head into a base would give.

        One that took too long is not tried again, wherever the base moves, until the head moves or
        the base is merged into it: it would keep a core busy at each look.

        Raises:
            GitBusyError: Git failed.
            MissingObjectError: One of them is not in the mirror.
        """
        return self._kept.merges.get_or(f"{base} {head}", lambda: self._merge(base, head))

    def _merge(self, base: str, head: str) -> Merged:
        bases = (base,) if self._is_near(base, head) else self._merge_bases(base, head)
        if bases == (base,):
            return Merged(self.commit(head).tree, self.difference(base, head))
        tried = f"{head} {' '.join(bases)}"
        if tried in self._kept.too_slow:
            return Merged("", too_slow=True)
        ground = (base, self.commit(base).tree)
        try:
            return git_merge.work_out(
                self._folder, self._entries, ground, head, bases, self._merge_seconds
            )
        except GitSlowError:
            self._kept.too_slow.add(tried)
            return Merged("", too_slow=True)

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
            known = BLOBS.get(sha)
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
        if not self.has(tip):
            return False
        done = run(self._folder, ["merge-base", "--is-ancestor", sha, tip])
        return done.returncode == 0

    def tag_message(self, sha: str, target: str) -> str | None:
        """Text of an annotated tag of exactly this commit; None for any other object."""
        kind, data, _ = self._object(sha, MOST_TEXT)
        head, _, message = data.decode("utf-8", "replace").partition("\n\n")
        of_target = head.startswith(f"object {target}\ntype commit\n")
        return message if kind == "tag" and of_target else None

    def _read_commit(self, sha: str) -> Commit:
        kind, data, size = self._object(sha, MOST_TEXT)
        if kind != "commit":
            raise MissingObjectError(f"object {sha} is no commit")
        if b"\n\n" not in data and size > MOST_TEXT:
            raise TooLargeError(large_commit(sha, MOST_TEXT))
        return parse(Sha(sha), data, cut=size > MOST_TEXT)

    def _object(self, sha: str, most: int) -> tuple[str, bytes, int]:
        """Kind of an object, the first bytes of its data, and how many it has."""
        try:
            with self._lock:
                stream = self._repo.odb.stream(bytes.fromhex(sha))
                data = bytes(stream.read(min(stream.size, most)))
                left = stream.size - len(data)
                while left > 0:  # the process writes them all the same; nothing keeps them
                    left -= len(stream.read(min(left, 65_536))) or left
        except (ValueError, BadObject, BadName, ODBError, GitError) as error:
            raise MissingObjectError(f"object {sha} is not in the mirror") from error
        return stream.type.decode(), data, stream.size

    def _blob(self, sha: str) -> bytes:
        found = BLOBS.get(sha)
        if found is None:
            found = self._read(sha)
            BLOBS.keep(sha, found)
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
        return ENTRIES.get_or(tree, lambda: self._read_tree(tree))

    def _read_tree(self, sha: str) -> tuple[tuple[str, int, str], ...]:
        try:
            _, data, size = self._object(sha, MOST_TREE)
        except MissingObjectError:
            self._broken()  # part of a commit that is there
            raise
        found = git_merge.parse_tree(data) if size <= MOST_TREE else ()
        if size > MOST_TREE or len(found) > MOST_ENTRIES:
            raise TooLargeError(large_folder(sha, MOST_ENTRIES))
        return found

    def count(self, tree: str) -> int:
        """How many files a tree holds, up to as many as a package may have; 0 if it is too deep."""
        try:
            return len(self._walk(tree, "", DEFAULT.files))
        except PackageError:
            return 0

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


_Changes = dict[str, "bytes | _Changes | None"]


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
