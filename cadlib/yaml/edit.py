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
from cadlib.yaml.layout import style_at
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
    for position, document in enumerate(stream.documents):
        value = wanted.get(position, document.value)
        if isinstance(value, Deleted):
            _delete_document(patch, stream.documents, position)
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
    return _checked(stream, patch, expected)


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
    style = style_at(stream.documents[0], stream.documents[0].root) if stream.documents else Style()
    for value in values:
        if not open_end:
            parts.append("---" + newline)
        parts.append(emit(value, style=style).replace("\n", newline))
        open_end = False
    return (("\ufeff" if stream.source.bom else "") + "".join(parts)).encode()


def _checked(stream: Stream, patch: Patch, expected: list[Value]) -> bytes:
    """Apply the edits, read the result, and compare it with what was wanted."""
    source = stream.source
    try:
        text = patch.apply()
        if text == source.text:
            return stream.data
        data = (("\ufeff" if source.bom else "") + text).encode()
        found = [document.value for document in read(data, path=source.path).documents]
    except (PackageError, ValueError) as error:
        raise EditError(
            Place(source.path), f"the change does not fit into the text ({error})", _BY_HAND
        ) from error
    if len(found) != len(expected) or not all(map(same, found, expected)):
        raise EditError(
            Place(source.path), "the edited text would not have the wanted value", _BY_HAND
        )
    return data


_BY_HAND = "Make this change by hand"


def _delete_document(patch: Patch, documents: tuple[Document, ...], position: int) -> None:
    document = documents[position]
    following = documents[position + 1] if position + 1 < len(documents) else None
    text = patch.text
    end = following.start if following else len(text)
    if document.explicit:
        start = patch.line_start(document.start)
    else:
        start = head(patch, patch.line_start(document.root.start))
        rest = text[end : patch.line_end(end)]
        if following and rest.rstrip() == "---" and not text[:start].strip():
            end = patch.after(end)
    patch.delete(start, end)
