"""Reads files of rules for variants and of resources, as many as there is room for together.

They are read in the bot's own process, also for a pull request that a stranger opened.
"""

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final, Protocol

from bot.config import CONFIG
from bot.git.port import ObjectTooLargeError
from cadlib.errors import PackageError
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.package import files as packages
from cadlib.package.files import SYMLINK, Files
from cadlib.yaml import read as read_yaml
from lifecycle.messages import configuration
from lifecycle.messages import variants as texts
from lifecycle.names import Sha
from lifecycle.policy import ObjectFolder
from lifecycle.variants import reading
from lifecycle.variants.objects import KubeObject, of_value
from lifecycle.variants.problems import Problem
from lifecycle.variants.reading import VariantFile

MOST_MARKS: Final = 500_000
"""Characters that separate nodes of YAML in all files together: 10,000 resources have some 400,000.
Each takes some 400 bytes, 200 MB in all, and a few seconds."""


class FileTrees(Protocol):
    """Where rules are read from; `History` is one."""

    def tree(self, commit: str, path: str) -> str:
        """Id of the tree at a path of a commit; "" when there is no folder."""

    def files(self, tree: str, limits: PackageLimits) -> Files:
        """Every file under a tree, by path relative to it."""


MOST_BYTES: Final = 4 * DEFAULT.package_bytes
"""Bytes of the folders that are read for it, with all that is inside: some seconds."""


class ReadBudget:
    """How much more of one repository is read."""

    def __init__(self) -> None:
        self._marks, self._bytes = MOST_MARKS, MOST_BYTES

    def opened(self, files: Files) -> None:
        """Take the room for a folder that was read."""
        self._bytes -= sum(len(entry.data) for entry in files.values())

    @property
    def is_full(self) -> bool:
        """Too much was read: no other folder is."""
        return self._bytes < 0

    def read(self, data: bytes, path: str) -> VariantFile | None:
        """Take the room for a file; a broken file where there is none, else None."""
        self._marks -= packages.marks(data)
        if self._marks >= 0:
            return None
        return VariantFile(problems=(Problem(path, 0, 0, "", *texts.too_much_read(MOST_MARKS)),))


def rules(
    git: FileTrees, tip: Sha, patterns: Sequence[str], room: ReadBudget
) -> Iterator[VariantFile]:
    """Yield what files of rules ask for.

    Args:
        git: The mirror of their repository, opened.
        tip: The commit that they are read at.
        patterns: Which files, as configured.
        room: How much is read.
    """
    seen: set[str] = set()
    for pattern in patterns:
        there = named(git, tip, pattern, room)
        if isinstance(there, VariantFile):
            yield there
            continue
        for path, data in there:
            if path not in seen:
                seen.add(path)
                if full := room.read(data, path):
                    yield full
                    return
                yield reading.read(data, path)


def named(
    git: FileTrees, tip: Sha, pattern: str, room: ReadBudget
) -> list[tuple[str, bytes]] | VariantFile:
    """Return the files that a pattern names; a broken file where it names a folder."""
    folder, _, name = pattern.rpartition("/")
    if "*" not in name and git.tree(tip, pattern):
        problem = Problem(CONFIG, 0, 0, "variants", *configuration.files_are_folder(pattern))
        return VariantFile(problems=(problem,))
    there = blobs(git, tip, folder, room)
    if isinstance(there, VariantFile):
        return there
    return [each for each in there if fnmatchcase(packages.name(each[0]), name)]


def blobs(
    git: FileTrees, tip: Sha, folder: str, room: ReadBudget
) -> list[tuple[str, bytes]] | VariantFile:
    """Return the regular files directly in a folder; a broken file where they are too large."""
    tree = git.tree(tip, folder)
    if not tree:
        return []
    if room.is_full:
        problem = Problem(folder, 0, 0, "", *texts.too_large_folders(MOST_BYTES))
        return VariantFile(problems=(problem,))
    try:
        files = git.files(tree, DEFAULT)
    except PackageError as error:
        problem = Problem(folder, 0, 0, "", error.problem, error.fix)
        return VariantFile(problems=(problem,))
    except ObjectTooLargeError as error:
        return VariantFile(problems=(Problem(folder, 0, 0, "", str(error), ""),))
    room.opened(files)
    return [
        (f"{folder}/{path}", entry.data)
        for path, entry in sorted(files.items())
        if "/" not in path and entry.mode != SYMLINK
    ]


def objects(
    git: FileTrees, tip: Sha, repository: str, folders: Iterable[ObjectFolder], room: ReadBudget
) -> tuple[list[KubeObject], list[VariantFile]]:
    """Return the resources of some folders; files that cannot be read are told as broken ones.

    Args:
        git: The mirror of their repository, opened.
        tip: The commit that they are read at.
        repository: Its full name.
        folders: The folders.
        room: How much is read.
    """
    found: list[KubeObject] = []
    broken: list[VariantFile] = []
    for folder in folders:
        there = blobs(git, tip, folder.directory, room)
        if isinstance(there, VariantFile):
            broken.append(there)
            continue
        for path, data in there:
            if not packages.is_resource_file(path):
                continue
            if full := room.read(data, path):
                broken.append(full)
                break
            try:
                documents = read_yaml(data, path=path).documents
            except PackageError as error:
                problem = Problem(path, error.place.line or 0, 0, "", error.problem, error.fix)
                broken.append(VariantFile(problems=(problem,)))
                continue
            origin = f"{repository}/{path}"
            found += [
                of_value(each.value, namespace=folder.namespace, commit=tip, origin=origin)
                for each in documents
                if isinstance(each.value, dict) and each.value.get("kind") != "Secret"
            ]
    return found, broken
