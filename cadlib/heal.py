"""Text that a tool lost, given back: comments, order, quotes and blank lines.

Rules:
- What comes out is the original text with the value changes applied, each within its own
  lines (`cadlib.yaml.edit`). Layout and order of the lossy text count for nothing.
- A resource is known by its path and index annotations, where the tool kept them; else by
  group, kind, namespace and name; else by its place in the file. A new one is put behind the
  others; one that came from another file brings its text along.
- A line comment of the lossy text wins over the original's; one that is missing there comes
  back. Comments on lines of their own come from the original, and with new nodes from the
  lossy text.
- A new node's keys come in the order of its neighbours'.
- Files that are no YAML, before or after, are taken as the tool left them.

Source: docs/design.md, "kpt: comments and layout"; unlike kpt's, comments follow their element when
a list changes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from cadlib.errors import PackageError
from cadlib.package import KPTFILE, SYMLINK, Entry, Files, name
from cadlib.resourcelist import Item, bare
from cadlib.yaml import (
    DELETED,
    Deleted,
    Document,
    FieldPath,
    Stream,
    Value,
    append,
    edit,
    read,
)
from cadlib.yaml.match import match
from cadlib.yaml.outdated import fitting

Identity = tuple[str, str, str, str]
"""Group, kind, namespace and name of a resource."""

Elsewhere = Callable[[Value], Sequence[Document]]


@dataclass(frozen=True, slots=True)
class _Found:
    """A resource of the lossy text.

    Attributes:
        item: Its value and line comments, without reader annotations.
        document: Where it stands there.
    """

    item: Item
    document: Document


def heal(original: bytes, lossy: bytes, *, path: str = "") -> bytes:
    """Return the original file with the values of the lossy one.

    Args:
        original: The file before a tool worked on it.
        lossy: The file as the tool wrote it, comments and order lost.
        path: The file's name, for messages.

    Raises:
        EditError: A value cannot be written into the original without loss.
        PackageError: One of the two is not YAML.
    """
    return _heal(read(original, path=path), read(lossy, path=path), lambda _: ())


def heal_package(original: Files, lossy: Files) -> dict[str, Entry]:
    """Return a package that a tool wrote anew, with the text it had.

    Args:
        original: The package before.
        lossy: The package as the tool wrote it; what it lacks stays away.

    Raises:
        EditError: A value cannot be written into its file without loss.
    """
    before = {path: stream for path in original if (stream := _stream(path, original))}
    known: dict[Identity, list[Document]] = {}
    for stream in before.values():
        for document in stream.documents:
            known.setdefault(identity(document.value), []).append(document)
    healed: dict[str, Entry] = {}
    for path, entry in lossy.items():
        after = _stream(path, lossy)
        data = entry.data
        if after and (path in before or path not in original):
            start = before.get(path) or read(b"", path=path)
            data = _heal(start, after, lambda value: known.get(identity(value), ()))
        healed[path] = Entry(data, entry.mode)
    return healed


def sync_order(source: bytes, target: bytes, *, path: str = "") -> bytes:
    """Return a file with the keys of its mappings in the order that another file has them.

    Args:
        source: The file with the order; its documents are matched by place.
        target: The file to put in order; keys that `source` lacks go last, lists stay.
        path: The file's name, for messages.

    Raises:
        EditError: Lines of `target` cannot be moved without loss.
        PackageError: One of the two is not YAML.
    """
    stream = read(target, path=path)
    pairs = zip(stream.documents, read(source, path=path).documents, strict=False)
    wanted: dict[int, Value | Deleted] = {
        position: ordered(document.value, model.value)
        for position, (document, model) in enumerate(pairs)
        if not document.template
    }
    return edit(stream, wanted, reorder=True)


def ordered(value: Value, model: Value) -> Value:
    """Return a value with its keys in the order in which another value has them.

    Args:
        value: Any value; its lists keep their order.
        model: The other one. An element of a list that it lacks is ordered as its first.
    """
    if isinstance(value, dict) and isinstance(model, dict):
        keys = [
            *(key for key in model if key in value),
            *(key for key in value if key not in model),
        ]
        return {key: ordered(value[key], model.get(key)) for key in keys}
    if isinstance(value, list) and isinstance(model, list) and model:
        found = match(model, value)
        return [ordered(item, model[index or 0]) for item, index in zip(value, found, strict=True)]
    return value


def identity(value: Value) -> Identity:
    """Return the group, kind, namespace and name of a resource, "" for what it lacks."""
    whole = value if isinstance(value, dict) else {}
    metadata = whole.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    group, slash, _ = _text(whole.get("apiVersion")).partition("/")
    return (
        group if slash else "",
        _text(whole.get("kind")),
        _text(metadata.get("namespace")),
        _text(metadata.get("name")),
    )


def _text(value: Value) -> str:
    return value if isinstance(value, str) else ""


def _stream(path: str, files: Files) -> Stream | None:
    """Read a file of resources; None if it is none, or no YAML."""
    entry = files[path]
    if entry.mode == SYMLINK or not (path.endswith((".yaml", ".yml")) or name(path) == KPTFILE):
        return None
    try:
        return read(entry.data, path=path)
    except PackageError:  # a template, or nothing that anyone can read: it has no text to heal
        return None


def _heal(before: Stream, after: Stream, elsewhere: Elsewhere) -> bytes:
    old = {n: each for n, each in enumerate(before.documents) if _full(each)}
    found = [_found(each) for each in after.documents if _full(each)]
    pairs = _pairs(old, found, before.source.path)
    wanted: dict[int, Value | Deleted] = dict.fromkeys(old, DELETED)
    likes: dict[int, list[Document]] = {}
    commented = "#" in after.source.text
    kept: list[_Found] = []
    for position, each in sorted(pairs.items()):
        was, item = old[position], each.item
        said = fitting(was.value, item.value, was.comments, item.comments)
        kept.append(replace(each, item=replace(item, comments=said)))
        wanted[position] = ordered(each.item.value, old[position].value)
        if commented:
            likes[position] = [each.document]
    paired = {id(each) for each in pairs.values()}
    new = [each for each in found if id(each) not in paired]
    data = edit(before, wanted, like=likes)
    if new:
        data = append(
            read(data, path=before.source.path),
            [each.item.value for each in new],
            like=[[*elsewhere(each.item.value), each.document] for each in new],
        )
    if not any(each.item.comments for each in found):
        return data
    return _with_comments(read(data, path=before.source.path), [*kept, *new])


def _full(document: Document) -> bool:
    return not document.empty and not document.template


def _found(document: Document) -> _Found:
    if isinstance(document.value, dict):
        return _Found(bare(document.value, document.comments), document)
    return _Found(Item(document.value, document.comments), document)


def _pairs(old: Mapping[int, Document], found: Sequence[_Found], path: str) -> dict[int, _Found]:
    """Return which resource each document of the original became."""
    pairs: dict[int, _Found] = {}
    left = list(found)

    def pair(position: int, each: _Found) -> None:
        pairs[position] = each
        left.remove(each)

    by_index = {old[n].index: n for n in old}
    for each in found:
        position = by_index.get(each.item.index) if each.item.path == path else None
        if position is not None and each.item.path and position not in pairs:
            pair(position, each)
    for position, document in old.items():
        same = (each for each in left if identity(each.item.value) == identity(document.value))
        if position not in pairs and (one := next(same, None)):
            pair(position, one)
    rest = [position for position in old if position not in pairs]
    if len(rest) == len(left):  # renamed, or nothing that has a name
        pairs |= dict(zip(rest, left, strict=True))
    return pairs


def _with_comments(stream: Stream, found: Sequence[_Found]) -> bytes:
    """Put the line comments of the lossy text above those that are there."""
    full = [n for n, each in enumerate(stream.documents) if _full(each)]
    comments: dict[int, dict[FieldPath, str]] = {
        position: {**stream.documents[position].comments, **each.item.comments}
        for position, each in zip(full, found, strict=True)
    }
    return edit(stream, {}, comments=comments)
