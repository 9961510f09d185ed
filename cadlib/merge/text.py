"""Writes a merge into one file: documents replaced, edited, removed and added.

Rules:
- A merged document is written by the lines that both sides changed, if what comes out is
  what was wanted; so upstream's comments on lines of their own arrive. If not, the wanted
  values are written into the local text, new ones as upstream wrote them.
- A document that cannot be written so stays local, and that is told.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cadlib.errors import PackageError
from cadlib.merge.conflicts import NOT_WRITTEN, Conflict
from cadlib.merge.lines import merged_lines
from cadlib.merge.pieces import Piece, joined, pieces
from cadlib.package.source import ref
from cadlib.yaml import Document, EditError, FieldPath, Stream, Value, edit, read, same


@dataclass(slots=True)
class FileEdits:
    """The pending changes of one file.

    Attributes:
        stream: The file that it is made from; None if there is none.
        replaced: Pieces to take the place of others, by position.
        dropped: Positions of the documents to go.
        added: Pieces to follow.
        values: New values of documents, by position.
        comments: New line comments of documents, by position.
        like: Documents upstream from which new nodes take their text, by position.
        conflicts: What could not be written.
    """

    stream: Stream | None
    replaced: dict[int, Piece] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    added: list[Piece] = field(default_factory=list)
    values: dict[int, Value] = field(default_factory=dict)
    comments: dict[int, Mapping[FieldPath, str]] = field(default_factory=dict)
    like: dict[int, tuple[Document, ...]] = field(default_factory=dict)
    conflicts: list[Conflict] = field(default_factory=list)

    def write(self) -> None:
        """Write the new values; afterwards they are pieces like others."""
        if self.stream is None or not self.values:
            return
        try:
            written = self._written(self.stream, self.values)
        except EditError:
            written = self._written_apart(self.stream)
        found = pieces(written)
        self.replaced |= {position: found[position] for position in self.values}
        self.values = {}

    def piece(self, position: int) -> Piece:
        """Return a document as it is now.

        Raises:
            ValueError: The file is not there.
        """
        if self.stream is None:
            raise ValueError("there is no such file")
        return self.replaced.get(position) or pieces(self.stream)[position]

    def data(self) -> bytes | None:
        """Return the file as it is after all; None if nothing is left of it."""
        if self.stream is None:
            return None
        left = [
            self.replaced.get(position, piece)
            for position, piece in enumerate(pieces(self.stream))
            if position not in self.dropped
        ]
        if self.dropped and all(each.empty for each in left) and not self.added:
            return None
        return joined(left, self.added, self.stream)

    def _written(self, stream: Stream, values: Mapping[int, Value]) -> Stream:
        comments = {each: text for each, text in self.comments.items() if each in values}
        data = edit(stream, values, comments=comments, like=self.like)
        return read(data, path=stream.source.path)

    def _written_apart(self, stream: Stream) -> Stream:
        """Write one document after the other, without those that cannot be written."""
        for position, value in self.values.items():
            try:
                stream = self._written(stream, {position: value})
            except EditError as error:
                document = stream.documents[position]
                told = Conflict(
                    path=stream.source.path,
                    line=error.place.line or document.start_line,
                    resource=str(ref(document.value)),
                    field=error.place.field,
                    chosen="local",
                    reason=f"{NOT_WRITTEN}: {error.problem}",
                )
                self.conflicts.append(told)
        return stream


def by_lines(
    origin: Piece,
    local: Piece,
    updated: Piece,
    value: Value,
    comments: Mapping[FieldPath, str] | None,
) -> Piece | None:
    """Merge a document line by line.

    Args:
        origin: Its text at first.
        local: Its local text; the result stands in its place.
        updated: Its text upstream.
        value: What the result must be.
        comments: All line comments it must have; None if none of them changed upstream.

    Returns:
        None if it comes out as something else.
    """
    place = Piece("", "")
    text = merged_lines(*(place.holding(each).unix() for each in (origin, local, updated)))
    if text is None:
        return None
    try:
        found = [each for each in read(text.encode()).documents if not each.empty]
    except PackageError:
        return None
    if len(found) != 1 or found[0].template or not same(found[0].value, value):
        return None
    if comments is not None and found[0].comments != comments:
        return None
    return local.holding(replace(place, body=text))
