"""Writing a changed value back into a file, as edits of its own lines only.

Rules:
- The difference between the old and the wanted value decides; what is equal keeps every
  byte, and no document is ever written anew.
- A changed scalar keeps its quotes or its block style where the new value can have them.
  A new key goes after its last sibling, at its siblings' column; a mapping without
  lines of its own (`{}`, or no value) is opened for it. A removed key takes its lines
  and its comment lines along (`cadlib.yaml.blocks`).
- Elements of lists are known as `cadlib.yaml.match` says; one that moves takes its text
  along, byte for byte. A key that was renamed keeps its place, its comments and its value.
- What an alias or a merge key brings in is changed where it is defined, or by a key of
  its own beside the merge key. Otherwise the edit is refused.
- The edited text is read again and compared with what was wanted; no text comes out
  that does not agree.
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import partial
from types import MappingProxyType

from cadlib.errors import PackageError, Place
from cadlib.yaml.borrow import Like
from cadlib.yaml.comments import Comments, agree, make_room, set_comments
from cadlib.yaml.emit import Style, emit, entry
from cadlib.yaml.fields import FieldPath, field_text
from cadlib.yaml.fresh import Entry
from cadlib.yaml.layout import children, style_of
from cadlib.yaml.parse import Stream, read
from cadlib.yaml.patch import Patch, head
from cadlib.yaml.tree import Document, Map, Scalar, Seq, Value, content_start, same
from cadlib.yaml.walk import ROOT, EditError, Editor, Slot


class Deleted(Enum):
    """Marker for a document to delete."""

    DELETED = "deleted"


DELETED = Deleted.DELETED
Likes = Mapping[int, Sequence[Document]]
_HEADER = re.compile(r"[|>][0-9]*(?![0-9+-])")
_MARK = re.compile("^---", re.MULTILINE)
_NO_COMMENTS: Mapping[int, Comments] = MappingProxyType({})
_NO_LIKES: Likes = MappingProxyType({})


def edit(
    stream: Stream,
    wanted: Mapping[int, Value | Deleted],
    *,
    comments: Mapping[int, Comments] = _NO_COMMENTS,
    like: Likes = _NO_LIKES,
    write: Entry = entry,
    reorder: bool = False,
) -> bytes:
    """Return the file with the wanted values in it.

    Args:
        stream: The file as it was read.
        wanted: New whole values by position in `stream.documents`, DELETED to remove a
            document. Documents that are not named keep every byte, and so do those
            whose value is the same.
        comments: All line comments wanted in a document, with their "#", by position and
            by field of the wanted value. Without them comments stay with what they
            describe.
        like: Documents that new keys and elements are taken from where those have them,
            by position; the first that has one lends its text, with comments and style.
        write: Writes a new key or element that nothing lends.
        reorder: Put keys into the order of the wanted value too.

    Raises:
        EditError: A change would reach more than its own lines, or concerns a template or
            a document without a node; a comment has no place.
    """
    values = {n: wanted.get(n, each.value) for n, each in enumerate(stream.documents)}
    kept = {n: value for n, value in values.items() if not isinstance(value, Deleted)}
    gone = values.keys() - kept.keys()
    expected = list(kept.values())
    data = stream.data
    for lent in (like, _NO_LIKES) if like else (_NO_LIKES,):
        patch = Patch(stream.source)
        for position, value in kept.items():
            _edit_document(stream.documents[position], value, patch, lent.get(position, ()),
                           write, reorder=reorder)  # fmt: skip
        _delete_documents(patch, stream.documents, gone)
        if not patch.edits:
            break
        try:
            data = _checked(stream, patch, expected, _changed(stream, kept))
            break
        except EditError:
            if not lent:
                raise
    if not comments:
        return data
    edited = stream if data is stream.data else read(data, path=stream.source.path)
    return _commented(edited, [comments.get(position) for position in kept], expected)


def _edit_document(
    document: Document,
    value: Value,
    patch: Patch,
    like: Sequence[Document],
    write: Entry,
    *,
    reorder: bool,
) -> None:
    if value is document.value and not reorder:
        return
    if document.template or document.empty:
        if same(value, document.value):
            return
        kind = "a template" if document.template else "a document without a value"
        raise EditError(
            Place(document.source.path, document.start_line),
            f"{kind} cannot be changed field by field",
            "Change the file by hand",
        )
    slot = ROOT
    if like:
        slot = Slot(column=-1, likes=tuple(Like(each, each.root) for each in like))
    Editor(document, patch, write, reorder=reorder).node(document.root, value, (), slot)


def append(
    stream: Stream,
    values: Sequence[Value],
    *,
    comments: Sequence[Comments | None] = (),
    like: Sequence[Sequence[Document]] = (),
) -> bytes:
    """Return the file with new documents at its end, each behind a "---" if needed.

    Args:
        stream: The file as it was read.
        values: The values of the new documents.
        comments: All line comments wanted in each, None for those of its text.
        like: For each new document, documents to take its text from: the first that can
            be edited to its value.
    """
    text = stream.source.text
    newline = "\r\n" if text.endswith("\r\n") else "\n"
    parts = [text]
    if text and not text.endswith("\n"):
        place = _open_block(stream)
        parts = [text if place is None else text[:place] + "-" + text[place:], newline]
    open_end = not stream.documents or (
        stream.documents[-1].empty and stream.documents[-1].explicit
    )
    style = style_of(stream.documents[0]) if stream.documents else Style()
    for position, value in enumerate(values):
        if not open_end:
            parts.append("---" + newline)
        lent = _lent(like[position], value) if position < len(like) else None
        fresh = emit(value, style=style) if lent is None else lent
        parts.append(fresh.replace("\r\n", "\n").replace("\n", newline))
        open_end = False
    data = _encoded(stream, "".join(parts))
    if not any(comments):
        return data
    longer = read(data, path=stream.source.path)
    before = len(longer.documents) - len(values)
    return _commented(
        longer, [*[None] * before, *comments], [each.value for each in longer.documents]
    )


def _lent(documents: Sequence[Document], value: Value) -> str | None:
    """Return a document's text, edited to a value, without its marks."""
    for document in documents:
        if document.empty or document.template:
            continue
        patch = Patch(document.source)
        begin, end = _inside(document, patch)
        try:
            _edit_document(document, value, patch, (), entry, reorder=False)
            text = patch.span(begin, end)
            (found,) = read(text.encode()).documents
        except (PackageError, ValueError):  # another document lends, or it is written fresh
            continue
        if same(found.value, value):
            return text if text.endswith("\n") else text + "\n"
    return None


def _inside(document: Document, patch: Patch) -> tuple[int, int]:
    """Return the span of a document with its comments, between its marks."""
    text = patch.text
    begin = patch.line_start(document.start)
    if document.explicit:
        mark = _MARK.search(text, begin)
        assert mark is not None  # noqa: S101 - an explicit document has one
        begin = min(patch.after(mark.end()), document.root.start)
    else:  # the first of its file
        begin = 0
    after = patch.after(document.root.end)
    stop = text.find("\n...", after - 1, document.end)
    return begin, stop + 1 if stop >= 0 else max(after, document.end)


def _commented(stream: Stream, comments: Sequence[Comments | None], expected: list[Value]) -> bytes:
    """Bring line comments to the wanted ones, and compare them after reading again."""
    wanted = {n: each for n, each in enumerate(comments) if each is not None}
    patch = Patch(stream.source)
    while True:  # once more for what was in brackets in brackets
        for position, each in wanted.items():
            if not agree(stream.documents[position].comments, each):
                moved = make_room(stream.documents[position], each, patch)
                wanted[position] = {f: text for f, text in each.items() if f not in moved}
        if not patch.edits:
            break
        place = _wanted_comment(stream, wanted)
        stream = read(_checked(stream, patch, expected, place), path=stream.source.path)
        patch = Patch(stream.source)
    for position, each in wanted.items():
        if not agree(stream.documents[position].comments, each):
            set_comments(stream.documents[position], each, patch)
    if patch.edits:
        place = _wanted_comment(stream, wanted)
        stream = read(_checked(stream, patch, expected, place), path=stream.source.path)
    for position, each in wanted.items():
        document = stream.documents[position]
        if not agree(document.comments, each):
            place = _wanted_comment(stream, {position: each})
            raise EditError(place, "the edited text would not have the wanted comments", _BY_HAND)
    return stream.data


def _changed(stream: Stream, wanted: Mapping[int, Value]) -> Place:
    """Return the first field that changes."""
    for position, value in wanted.items():
        document = stream.documents[position]
        if not document.template and not same(document.value, value):
            field = _difference(document.value, value)
            return Place(stream.source.path, document.line(field), field_text(field))
    return Place(stream.source.path)


def _difference(old: Value, new: Value) -> FieldPath:
    """Return where two values begin to differ, as a field of the old one."""
    if isinstance(old, dict) and isinstance(new, dict):
        both = [key for key in old if key in new and not same(old[key], new[key])]
        if both and old.keys() == new.keys():
            return (both[0], *_difference(old[both[0]], new[both[0]]))
        return next(((key,) for key in old if key not in new), ())
    if isinstance(old, list) and isinstance(new, list):
        for index, (one, other) in enumerate(zip(old, new, strict=False)):
            if not same(one, other):
                return (index, *_difference(one, other))
    return ()


def _wanted_comment(stream: Stream, wanted: Mapping[int, Comments]) -> Place:
    """Return the first field that is to have another comment."""
    for position, each in wanted.items():
        document = stream.documents[position]
        there = document.comments
        for field in (*each, *there):
            if each.get(field, "").strip() != there.get(field, "").strip():
                return Place(stream.source.path, document.line(field), field_text(field))
    return Place(stream.source.path)


def _checked(stream: Stream, patch: Patch, expected: list[Value], place: Place) -> bytes:
    """Apply the edits, read the result, and compare it with what was wanted.

    Raises:
        EditError: It differs; at `place`, where the change was to be made.
    """
    from cadlib.yaml.holds import holds  # with the parser, as `cadlib.yaml.parse.read` does

    for ending in (
        patch.apply,
        partial(patch.apply, complete=True),
        partial(_closed, stream, patch),
    ):
        try:
            text = ending()
            data = _encoded(stream, text)
            if holds(text, expected):
                return data
            found = read(data, path=place.path)
        except (PackageError, ValueError) as error:
            reason = error.problem if isinstance(error, PackageError) else error
            problem = f"the change does not fit into the text ({reason})"
            raise EditError(place, problem, _BY_HAND) from error
        if len(found.documents) == len(expected) and all(
            same(document.value, value)
            for document, value in zip(found.documents, expected, strict=True)
        ):
            return data
    raise EditError(place, "the edited text would not have the wanted value", _BY_HAND)


def _closed(stream: Stream, patch: Patch) -> str:
    """Apply the edits to a file whose last block scalar says that it has no final newline."""
    place = _open_block(stream)
    if place is not None:
        patch.replace(place, place, "-")
    return patch.apply()


def _open_block(stream: Stream) -> int | None:
    """Return where the "-" belongs that a block scalar at the end needs once lines follow it.

    Without a final newline in the file the scalar has none either, whatever its header says.
    """
    text = stream.source.text
    node = stream.documents[-1].root if stream.documents else None
    while isinstance(node, Map | Seq) and (inner := children(node)):
        node = inner[-1]
    if not isinstance(node, Scalar) or node.style not in ("|", ">") or node.end < len(text):
        return None
    header = _HEADER.match(text, content_start(text, node))
    return header.end() if header and not text.endswith("\n") else None


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
