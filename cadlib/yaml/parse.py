"""From bytes to documents, within limits.

Rules: see `cadlib.yaml.tree`. What cannot be read is refused with file, line, problem
and fix; nothing is guessed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, cast

from cadlib.errors import PackageError, Place
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.yaml.tree import Document, SourceText

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stream:
    """One file.

    Attributes:
        data: The file, byte for byte as it was read.
        source: Its text.
        documents: Every document in order, those with nothing but comments too.
    """

    data: bytes
    source: SourceText
    documents: tuple[Document, ...]
    _made: dict[object, object] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, make: Callable[["Stream"], T]) -> T:
        """Return what `make` makes of it, made at the first call and kept as long as the stream.

        It is shared like the stream itself: nobody may change it.
        """
        if make not in self._made:
            self._made[make] = make(self)
        return cast(T, self._made[make])


def read(data: bytes, *, path: str = "", limits: PackageLimits = DEFAULT) -> Stream:
    """Read a file of YAML (or JSON, which is YAML).

    Args:
        data: The file, UTF-8 with or without byte order mark.
        path: Its name, for messages.
        limits: `file_bytes`, `file_nodes`, `depth` and `nodes` apply.

    Raises:
        TemplateError: It is no YAML and holds "{{".
        PackageError: It is not UTF-8, no YAML, or has a duplicate key or an alias of
            nothing; it is too large, has too many nodes, is too deep, or its aliases
            stand for too much.
    """
    if len(data) > limits.file_bytes:
        raise PackageError(
            Place(path),
            f"the file has {len(data)} bytes, more than the {limits.file_bytes} that are read",
            "Split it into smaller files",
        )
    try:
        source = SourceText.of(path, data)
    except UnicodeDecodeError as error:
        raise PackageError(
            Place(path, data.count(b"\n", 0, error.start) + 1),
            f"byte {error.start} (0x{data[error.start]:02x}) is not UTF-8",
            "Save the file as UTF-8",
        ) from error
    # Its parser takes 6 MB, which a process that only receives webhooks never needs.
    from cadlib.yaml.nodes import documents

    return Stream(data, source, documents(source, limits))
