"""Folders and files of a commit, found by walking its trees: for the bot and the command line."""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from stat import S_ISREG

from bot.git import alike
from bot.git.caches import BLOBS, ENTRIES
from bot.git.difference import TREE, differ, is_package
from bot.git.objects import Allow, Entries, GitEndedError, GitObject, ObjectReader, parse_tree
from bot.git.port import MOST_DEEP, MOST_ENTRIES, MOST_TREE, Difference
from cadlib.errors import PackageError, Place
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.package.files import Entry, Files, is_resource_file
from lifecycle.messages import sizes

_SUBMODULE = 0o160000
_GROUP_WRITABLE = 0o100664  # as git once wrote regular files
_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class TreeReader(ABC):
    """Reads what stands in trees, whatever holds their objects.

    Attributes:
        fix: What to do about a package that is too large.
    """

    fix = sizes.SPLIT

    @abstractmethod
    def root(self, commit: str) -> str:
        """Id of the tree of a commit."""

    @abstractmethod
    def entries(self, tree: str) -> Entries:
        """What a tree holds."""

    @abstractmethod
    def contents(self, blobs: Sequence[str], allow: Allow | None = None) -> Mapping[str, bytes]:
        """The data of blobs, by id; `allow` is called for each before it is read."""

    @abstractmethod
    def beginning(self, blob: str, most: int) -> bytes:
        """The first bytes of a blob; no more of it is kept in memory meanwhile."""

    def tree(self, commit: str, path: str) -> str:
        """Id of the tree at a path of a commit; "" when there is no folder."""
        found = self.root(commit)
        for part in path.split("/") if path else []:
            below = self.entries(found) if found else ()
            found = next((s for s, mode, name in below if name == part and mode == TREE), "")
        return found

    def package(self, commit: str, path: str) -> str:
        """Id of the tree of a package at a commit; "" where there is none, or only its folder."""
        found = self.tree(commit, path) if commit else ""
        return found if found and is_package(self.entries(found)) else ""

    def entry(self, commit: str, path: str) -> str:
        """Mode and id of what stands at a path of a commit; "" for nothing."""
        sha, mode = self._at(commit, path)
        return f"{mode:o} {sha}" if sha else ""

    def blob(self, commit: str, path: str, most: int) -> bytes | None:
        """The first bytes of a file at a commit; None for none, or where it is no regular file."""
        sha, mode = self._at(commit, path)
        return self.beginning(sha, most) if S_ISREG(mode) else None

    def _at(self, commit: str, path: str) -> tuple[str, int]:
        folder, _, wanted = path.rpartition("/")
        tree = self.tree(commit, folder)
        found = (
            ((s, mode) for s, mode, name in self.entries(tree) if name == wanted) if tree else ()
        )
        return next(iter(found), ("", 0))

    def alike(self, commit: str, paths: Iterable[str]) -> Mapping[str, frozenset[str]]:
        """Packages of a commit, "" for nothing at all, whose paths look like one of these."""
        return alike.packages(self.entries, self.root(commit) if commit else "", paths)

    def difference(self, before: str, after: str) -> Difference:
        """What differs between two commits; "" for nothing at all."""
        one, other = (self.root(each) if each else "" for each in (before, after))
        return differ(self.entries, one, other)

    def changed(self, before: str, after: str) -> Mapping[str, Entry | None]:
        """Files that differ between two trees: path to what is in the second, None for nothing."""
        found = dict(self._changed(before, after, ""))
        data = self.contents([sha for sha, mode in found.values() if sha and mode != _SUBMODULE])
        return {
            path: Entry(data.get(sha, sha.encode()), _mode(mode)) if sha else None
            for path, (sha, mode) in found.items()
        }

    def _changed(
        self, before: str, after: str, under: str
    ) -> Iterator[tuple[str, tuple[str, int]]]:
        """Path, and id with mode in the second tree; "" where it is gone."""
        one, other = (
            {name: (sha, mode) for sha, mode, name in (self.entries(tree) if tree else ())}
            for tree in (before, after)
        )
        for name in sorted(one.keys() | other.keys()):
            was, now = one.get(name, ("", 0)), other.get(name, ("", 0))
            if was == now:
                continue
            path = f"{under}{name}"
            if was[0] and was[1] != TREE and (not now[0] or now[1] == TREE):
                yield path, ("", 0)  # before what stands in its place as a folder
            if TREE in (was[1], now[1]):
                sides = [sha if mode == TREE else "" for sha, mode in (was, now)]
                yield from self._changed(sides[0], sides[1], f"{path}/")
            if now[0] and now[1] != TREE:
                yield path, now

    def files(self, tree: str, limits: PackageLimits) -> Files:
        """Every file under a tree, by path relative to it; sizes are looked at before data.

        Raises:
            PackageError: There is more than the limits allow.
        """
        listed = self._bounded(tree, limits)
        blobs = {path: sha for path, sha, mode in listed if mode != _SUBMODULE}
        times, total = Counter(blobs.values()), 0
        parsed = {sha: path for path, sha in blobs.items() if is_resource_file(path)}

        def allow(sha: str, size: int) -> None:
            nonlocal total
            if size > limits.file_bytes and sha in parsed:
                raise self._too_much(Place(parsed[sha]), sizes.large_file(size))
            total += size * times[sha]
            if total > limits.package_bytes:
                path = next(path for path, each in blobs.items() if each == sha)
                problem = sizes.many_bytes(limits.package_bytes, path, size)
                raise self._too_much(Place(), problem)

        data = self.contents(list(times), allow)
        return {
            path: Entry(sha.encode() if mode == _SUBMODULE else data[sha], _mode(mode))
            for path, sha, mode in listed
        }

    def blobs(self, tree: str, limits: PackageLimits) -> list[str]:
        """Ids of the files under a tree, without those of submodules.

        Raises:
            PackageError: There are more than the limits allow.
        """
        return [sha for _, sha, mode in self._bounded(tree, limits) if mode != _SUBMODULE]

    def _bounded(self, tree: str, limits: PackageLimits) -> list[tuple[str, str, int]]:
        listed = sorted(self._walk(tree, "", limits.files + 1))
        if len(listed) > limits.files:
            raise self._too_much(Place(), sizes.many_files(limits.files))
        return listed

    def count(self, tree: str) -> int:
        """How many files a tree holds, up to as many as a package may have; 0 if it is too deep."""
        try:
            return len(self._walk(tree, "", DEFAULT.files))
        except PackageError:
            return 0

    def _walk(self, tree: str, under: str, limit: int) -> list[tuple[str, str, int]]:
        """Path, id and mode of the files below a tree, up to a limit."""
        if under.count("/") > MOST_DEEP:
            place = Place("/".join(under.split("/")[:3]))
            raise self._too_much(place, sizes.deep(MOST_DEEP))
        found: list[tuple[str, str, int]] = []
        for sha, mode, name in self.entries(tree):
            path = f"{under}{name}"
            if mode == TREE:
                found += self._walk(sha, f"{path}/", limit - len(found))
            else:
                found.append((path, sha, mode))
            if len(found) >= limit:
                break
        return found

    def _too_much(self, place: Place, problem: str) -> PackageError:
        return PackageError(place, problem, self.fix)


class StoredTrees(TreeReader):
    """Trees of a repository on this disk; what was read is kept for whoever reads it again.

    Args:
        objects: Of the repository; closed with it.
    """

    def __init__(self, objects: ObjectReader) -> None:
        self.objects = objects

    def close(self) -> None:
        """End the process behind it."""
        self.objects.close()

    @abstractmethod
    def unreadable(self, sha: str, error: Exception | None) -> Exception:
        """What to raise when a part of a commit that is there cannot be read.

        Args:
            sha: The object.
            error: Why git ended, or was not started; None when the object is missing.
        """

    @abstractmethod
    def too_wide(self, tree: str) -> Exception:
        """What to raise for a tree of more than `MOST_ENTRIES` entries or `MOST_TREE` bytes."""

    def entries(self, tree: str) -> Entries:
        """What a tree holds."""
        return ENTRIES.get_or(tree, lambda: self._read_tree(tree))

    def _read_tree(self, sha: str) -> Entries:
        found = self.read(sha, MOST_TREE)
        if found is None or found.kind != "tree":
            raise self.unreadable(sha, None)
        entries = parse_tree(found.data, len(sha) // 2) if found.size <= MOST_TREE else ()
        if found.size > MOST_TREE or len(entries) > MOST_ENTRIES:
            raise self.too_wide(sha)
        return entries

    def contents(self, blobs: Sequence[str], allow: Allow | None = None) -> Mapping[str, bytes]:
        """The data of blobs, by id; `allow` is called for each before it is read."""
        found = {sha: data for sha in blobs if (data := BLOBS.get(sha)) is not None}
        for sha, data in found.items():
            if allow is not None:
                allow(sha, len(data))
        missing = [sha for sha in blobs if sha not in found]
        try:
            with closing(self.objects.stream(missing, allow=allow)) as stream:
                for sha, read in zip(missing, stream, strict=True):
                    if read is None:
                        raise self.unreadable(sha, None)
                    BLOBS.keep(sha, read.data)
                    found[sha] = read.data
        except (GitEndedError, OSError) as error:
            raise self.unreadable(missing[0], error) from error
        return found

    def beginning(self, blob: str, most: int) -> bytes:
        """The first bytes of a blob; no more of it is kept in memory meanwhile."""
        known = BLOBS.get(blob)
        if known is not None:
            return known[:most]
        found = self.read(blob, most)
        if found is None:
            raise self.unreadable(blob, None)
        if found.size <= most:
            BLOBS.keep(blob, found.data)
        return found.data

    def read(self, sha: str, most: int) -> GitObject | None:
        """An object by its id, or its first bytes; None for what is missing, or is no id."""
        return self.named(sha, most) if _ID.fullmatch(sha) else None

    def named(self, expression: str, most: int | None = None) -> GitObject | None:
        """An object by any expression of git's; None for what is missing."""
        try:
            return self.objects.read(expression, most)
        except (GitEndedError, OSError) as error:
            raise self.unreadable(expression, error) from error


def _mode(mode: int) -> str:
    return f"{0o100644 if mode == _GROUP_WRITABLE else mode:06o}"
