"""Removes kpt's own bookkeeping from a package, so that a diff shows what people changed.

Those are the comment `# kpt-merge: …` behind `metadata:` and the annotation
`internal.kpt.dev/upstream-identifier`, and of a package that is compared with its upstream
the Kptfile at its root, which says where it came from.
"""

from collections.abc import Mapping

from cadlib.errors import PackageError
from cadlib.package.files import KPTFILE, SUBMODULE, SYMLINK, Entry, Files, is_resource_file
from cadlib.package.merge_comment import ANNOTATION, parse
from cadlib.stream.places import with_annotations
from cadlib.yaml import Deleted, FieldPath, Value, edit, read

_MARKS = (ANNOTATION.encode(), b"kpt-merge:")
_METADATA: FieldPath = ("metadata",)


def without_notes(files: Files) -> dict[str, Entry]:
    """Return a package's files without merge comments and upstream identifiers."""
    return {path: _without(path, entry) for path, entry in files.items() if path != KPTFILE}


def _without(path: str, entry: Entry) -> Entry:
    if entry.mode in (SYMLINK, SUBMODULE) or not is_resource_file(path):
        return entry
    if not any(mark in entry.data for mark in _MARKS):
        return entry
    try:
        return Entry(_edited(entry.data, path), entry.mode)
    except PackageError:
        return entry


def _edited(data: bytes, path: str) -> bytes:
    stream = read(data, path=path)
    wanted: dict[int, Value | Deleted] = {}
    comments: dict[int, Mapping[FieldPath, str]] = {}
    for position, document in enumerate(stream.documents):
        if not isinstance(document.value, dict):
            continue
        wanted[position] = with_annotations(document.value, {ANNOTATION: None}, path)
        if parse(document.comments.get(_METADATA, "")) is not None:
            comments[position] = {
                field: text for field, text in document.comments.items() if field != _METADATA
            }
    return edit(stream, wanted, comments=comments)
