"""Writing a changed value back into a file, as edits of its own lines only.

Rules:
- The difference between the old and the wanted value decides; what is equal keeps every
  byte, and no document is ever written anew.
- A changed scalar keeps its quotes or its block style where the new value can have them.
  A new key goes after its last sibling, at its siblings' column; a mapping without
  lines of its own (`{}`, or no value) is opened for it. A removed key takes its lines
  and the comment lines right above it along.
- What an alias or a merge key brings in is changed where it is defined, or by a key of
  its own beside the merge key. Otherwise the edit is refused.
- The edited text is read again and compared with what was wanted; no text comes out
  that does not agree.
"""

from collections.abc import Mapping, Sequence
from enum import Enum

from cadlib.errors import PackageError, Place
from cadlib.yaml.emit import Style, emit, entry
from cadlib.yaml.layout import style_of
from cadlib.yaml.parse import Stream, read
from cadlib.yaml.patch import Patch, head
from cadlib.yaml.tree import Document, Value, same
from cadlib.yaml.walk import ROOT, EditError, Editor, Entry


class Deleted(Enum):
    """Stands for the value of a document that shall go."""

    DELETED = "deleted"


DELETED = Deleted.DELETED


def edit(stream: Stream, wanted: Mapping[int, Value | Deleted], *, write: Entry = entry) -> bytes:
    """Return the file with the wanted values in it.

    Args:
        stream: The file as it was read.
        wanted: New whole values by position in `stream.documents`, DELETED to remove a
            document. Documents that are not named keep every byte, and so do those
            whose value is the same.
        write: Writes a new key.

    Raises:
        EditError: A change would reach more than its own lines, concerns a template or
            a document without a node, or changes the length of a list otherwise than
            at its end (not supported yet).
    """
    patch = Patch(stream.source)
    expected: list[Value] = []
    gone: set[int] = set()
    for position, document in enumerate(stream.documents):
        value = wanted.get(position, document.value)
        if isinstance(value, Deleted):
            gone.add(position)
            continue
        expected.append(value)
        if same(value, document.value):
            continue
        if document.template or document.empty:
            kind = "a template" if document.template else "a document without a value"
            raise EditError(
                Place(stream.source.path, document.start_line),
                f"{kind} cannot be changed field by field",
                "Change the file by hand",
            )
        Editor(document, patch, write).node(document.root, value, (), ROOT)
    _delete_documents(patch, stream.documents, gone)
    return _checked(stream, patch, expected) if patch.edits else stream.data


def append(stream: Stream, values: Sequence[Value]) -> bytes:
    """Return the file with new documents at its end, each behind a "---" if needed."""
    text = stream.source.text
    newline = "\r\n" if text.endswith("\r\n") else "\n"
    parts = [text]
    if text and not text.endswith("\n"):
        parts.append(newline)
    open_end = not stream.documents or (
        stream.documents[-1].empty and stream.documents[-1].explicit
    )
    style = style_of(stream.documents[0]) if stream.documents else Style()
    for value in values:
        if not open_end:
            parts.append("---" + newline)
        parts.append(emit(value, style=style).replace("\n", newline))
        open_end = False
    return _encoded(stream, "".join(parts))


def _checked(stream: Stream, patch: Patch, expected: list[Value]) -> bytes:
    """Apply the edits, read the result, and compare it with what was wanted."""
    place = Place(stream.source.path)
    for complete in (False, True):
        try:
            data = _encoded(stream, patch.apply(complete=complete))
            found = read(data, path=place.path).documents
        except (PackageError, ValueError) as error:
            problem = f"the change does not fit into the text ({error})"
            raise EditError(place, problem, _BY_HAND) from error
        if len(found) == len(expected) and all(
            same(document.value, value) for document, value in zip(found, expected, strict=True)
        ):
            return data
    raise EditError(place, "the edited text would not have the wanted value", _BY_HAND)


def _encoded(stream: Stream, text: str) -> bytes:
    return (("\ufeff" if stream.source.bom else "") + text).encode()


_BY_HAND = "Make this change by hand"


def _delete_documents(patch: Patch, documents: tuple[Document, ...], gone: set[int]) -> None:
    """Take documents out, each from its mark to the next one's."""
    starts = [*(document.start for document in documents), len(patch.text)]
    for position in sorted(gone):
        document = documents[position]
        start = patch.line_start(document.start)
        if not document.explicit:  # the first of the file, without a mark
            start = head(patch, patch.line_start(document.root.start))
            kept = next((each for n, each in enumerate(documents) if n not in gone), None)
            if kept and not kept.empty and not patch.text[:start].strip():
                _drop_mark(patch, kept.start)
        patch.delete(start, starts[position + 1])


def _drop_mark(patch: Patch, start: int) -> None:
    """Take out the mark that separated a document from those before, which are gone."""
    end = patch.line_end(start)
    if patch.text[start:end].rstrip() == "---":
        patch.delete(start, patch.after(end))
