"""Reading and editing many files: here one after another; a caller may spread them out.

Both are pure and each file is for itself, so a command line may use every core
(`bot.cli.parallel`) and a process that lives on may keep what it did before (`bot.render.kept`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cadlib.errors import PackageError
from cadlib.limits import PackageLimits
from cadlib.yaml import Deleted, FieldPath, Stream, Value, edit, read


@dataclass(frozen=True, slots=True, eq=False)
class Edit:
    """What to make of one file.

    Attributes:
        stream: The file as it was read.
        wanted: New whole values by position among its documents, as for `yaml.edit`.
        comments: New line comments by position, where they change too.
        reorder: Put keys into the order of the wanted values.
    """

    stream: Stream
    wanted: Mapping[int, Value | Deleted]
    comments: Mapping[int, Mapping[FieldPath, str]] = field(default_factory=dict)
    reorder: bool = False


class Bulk(Protocol):
    """Reads and edits many files."""

    def read(
        self, files: Mapping[str, bytes], limits: PackageLimits
    ) -> Sequence[Stream | PackageError]:
        """Read each file; what is wrong with one stands in its place.

        Args:
            files: Their bytes, by path.
            limits: As for `yaml.read`.
        """

    def edit(self, edits: Sequence[Edit]) -> Sequence[bytes]:
        """Return the new text of each file, or raise the PackageError of one."""


class Serial:
    """One file after another, in this process."""

    def read(
        self, files: Mapping[str, bytes], limits: PackageLimits
    ) -> Sequence[Stream | PackageError]:
        """Read each file; what is wrong with one stands in its place."""
        return [read_one(path, data, limits) for path, data in files.items()]

    def edit(self, edits: Sequence[Edit]) -> Sequence[bytes]:
        """Return the new text of each file, or raise the PackageError of the first."""
        return [edit_one(each) for each in edits]


def read_one(path: str, data: bytes, limits: PackageLimits) -> Stream | PackageError:
    """Read one file, or return what is wrong with it."""
    try:
        return read(data, path=path, limits=limits)
    except PackageError as error:
        return error


def edit_one(each: Edit) -> bytes:
    """Return the new text of one file, or raise a PackageError."""
    return edit(each.stream, each.wanted, comments=each.comments, reorder=each.reorder)
