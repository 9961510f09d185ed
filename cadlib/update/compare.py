"""Tells which files of a package were changed since it was fetched.

Two files are the same when they say the same. What kpt writes on its own account does not
count: merge comments, upstream identifiers and attribution in resources; in a Kptfile the
upstream, its lock and what the last rendering left. Neither does layout; comments do.

Source: kptdev/kpt, pkg/lib/pkg/diff/pkgdiff.go and pkg/lib/update/fastforward.go.
"""

from collections.abc import Iterator, Mapping

from cadlib.errors import PackageError
from cadlib.kptfile import reader as kptfiles
from cadlib.kptfile.edit import without_render_status
from cadlib.merge.documents import equal
from cadlib.package.files import KPTFILE, SYMLINK, Entry, Files, name
from cadlib.yaml import Document, FieldPath, Value, same
from cadlib.yaml import read as read_yaml

_MERGE_COMMENT = "kpt-merge:"
_METADATA: FieldPath = ("metadata",)


def changed(origin: Files, local: Files) -> list[str]:
    """Return the paths whose files differ, or that only one of the trees has, sorted.

    A Kptfile at the root that was made because upstream has none is no change, unless
    somebody wrote something into it; nor is another name there.
    """
    return [
        path
        for path in sorted({*origin, *local})
        if not _is_same(path, origin.get(path), local.get(path))
    ]


def _is_same(path: str, before: Entry | None, after: Entry | None) -> bool:
    if path == KPTFILE and after is not None:
        return _is_same_kptfile(before, after)
    if before is None or after is None:
        return before is after
    if before.data == after.data:
        return True
    if SYMLINK in (before.mode, after.mode) or not path.endswith((".yaml", ".yml", KPTFILE)):
        return False
    try:
        if name(path) == KPTFILE:
            return same(_kptfile(before), _kptfile(after))
        old, new = _documents(before, path), _documents(after, path)
    except PackageError:
        return False  # it is no YAML, so only its bytes can tell
    return len(old) == len(new) and all(map(_is_same_document, old, new))


def _documents(entry: Entry, path: str) -> list[Document]:
    return [each for each in read_yaml(entry.data, path=path).documents if not each.empty]


def _is_same_document(before: Document, after: Document) -> bool:
    if before.template or after.template:
        return before.source.text == after.source.text
    old, new = before.comments, after.comments
    noisy = {field for field in (_METADATA,) if _is_noise(old, field) or _is_noise(new, field)}
    return (
        equal(before.value, after.value)
        and _without(old, noisy) == _without(new, noisy)
        and list(_standing(before)) == list(_standing(after))
    )


def _is_noise(comments: Mapping[FieldPath, str], field: FieldPath) -> bool:
    return comments.get(field, "").lstrip("# ").startswith(_MERGE_COMMENT)


def _without(comments: Mapping[FieldPath, str], fields: set[FieldPath]) -> dict[FieldPath, str]:
    return {field: text for field, text in comments.items() if field not in fields}


def _standing(document: Document) -> Iterator[str]:
    """Return the comments on lines of their own, in order."""
    for line in document.source.text[document.start : document.end].split("\n"):
        if line.lstrip().startswith("#"):
            yield line.strip()


def _is_same_kptfile(before: Entry | None, after: Entry) -> bool:
    """Compare the Kptfiles at the root; that of an upstream without one says nothing."""
    nothing: dict[str, Value] = {"apiVersion": kptfiles.API_VERSION, "kind": KPTFILE}
    old = _kptfile(before, named=False) if before else nothing
    return same(old, _kptfile(after, named=False))


def _kptfile(entry: Entry, *, named: bool = True) -> Value:
    """Return what people wrote into a Kptfile, with its name or without."""
    stream = read_yaml(entry.data, path=KPTFILE)
    kptfiles.of_stream(stream, KPTFILE)
    value = next(each.value for each in stream.documents if not each.empty)
    said: dict[str, Value] = dict(value) if isinstance(value, dict) else {}
    for key in ("upstream", "upstreamLock"):
        said.pop(key, None)
    said["status"] = without_render_status(said.get("status"))
    metadata = said.get("metadata")
    if isinstance(metadata, dict) and not named:
        said["metadata"] = {key: text for key, text in metadata.items() if key != "name"}
    return _pruned(said)


def _pruned(value: Value) -> Value:
    """Drop what kpt does not write: keys without a value."""
    if isinstance(value, list):
        return [_pruned(each) for each in value]
    if not isinstance(value, dict):
        return value
    inner = {key: _pruned(each) for key, each in value.items()}
    return {key: each for key, each in inner.items() if each not in (None, [], {}, "")}
