"""Writes rendered resources back into their files, changing only the lines that differ.

So comments that a function lost are still there: values are compared, and the file's own text is
edited. Only where a function returned some comments do those that it changed or left out count.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from cadlib.errors import PackageError, Place
from cadlib.package import files as packages
from cadlib.package.source import ParsedPackage, Resource
from cadlib.stream.format import Ordered
from cadlib.stream.kio import to_json
from cadlib.yaml import DELETED, Deleted, Document, FieldPath, Stream, Value, append, digits, same
from cadlib.yaml import read as read_yaml
from cadlib.yaml.bulk import Bulk, Edit, Serial
from cadlib.yaml.outdated import fitting

_FILE_AND_FOLDER: Final = (
    "a function put a resource where a file and a folder would have the same name",
    "Correct the path annotation that it sets",
)


def changes(
    source: ParsedPackage, resources: Sequence[Resource], bulk: Bulk | None = None
) -> Mapping[str, bytes | None]:
    """Return the changed files of a package that now has these resources.

    Args:
        source: The package as it was given.
        resources: All its resources, as the functions left them.
        bulk: Edits the files.

    Returns:
        New bytes by path, None for a file to delete; only what differs, by path.

    Raises:
        PackageError: A value cannot be written into its file without loss, or a
            resource lies where no file for it can be.
    """
    edits = dict(_edits(source, resources))
    found: dict[str, bytes | None] = dict.fromkeys(edits)
    kept = {path: each for path, each in edits.items() if each is not None}
    found.update(zip(kept, (bulk or Serial()).edit(list(kept.values())), strict=True))
    found |= _additions(source, resources, found)
    return {path: found[path] for path in sorted(found)}


def _edits(
    source: ParsedPackage, resources: Sequence[Resource]
) -> Iterator[tuple[str, Edit | None]]:
    """Yield what to make of each file that changes, None for one to delete."""
    as_read = {id(each) for path in source.streams for each in source.resources_of(path)}
    now = {id(each) for each in resources}
    if now == as_read:
        return  # nothing changed, as most often
    others = {each.origin[0] for each in resources if each.origin and id(each) not in as_read}
    touched = [
        path
        for path in source.streams
        if path in others or not all(id(each) in now for each in source.resources_of(path))
    ]
    stayed: dict[str, dict[int, Resource]] = {path: {} for path in touched}
    for each in resources:
        if each.origin and each.origin[0] == each.path and each.path in stayed:
            stayed[each.path][each.origin[1]] = each
    for path in touched:
        found = _edit(source.streams[path], source.handed_out(path), stayed[path])
        if found is None or found.wanted or found.comments:
            yield path, found


def _edit(stream: Stream, handed_out: Sequence[int], stayed: Mapping[int, Resource]) -> Edit | None:
    """Return what to make of a file; None to delete it."""
    wanted: dict[int, Value | Deleted] = {}
    comments: dict[int, Mapping[FieldPath, str]] = {}
    reorder = False
    for position in handed_out:
        document, now = stream.documents[position], stayed.get(position)
        if now is None:
            wanted[position] = DELETED
            continue
        ordered = isinstance(now.value, Ordered)
        changed = now.value is not document.value
        if changed and (ordered or _differ(now.value, document)):
            wanted[position] = now.value
            reorder = reorder or ordered
        if _comments_changed(now, document):
            kept = now.comments or {}
            comments[position] = fitting(document.value, now.value, document.comments, kept)
    full = [n for n, document in enumerate(stream.documents) if not document.empty]
    if wanted and all(wanted.get(position) is DELETED for position in full):
        return None
    return Edit(stream, wanted, comments, reorder)


def _differ(value: Value, document: Document) -> bool:
    return not same(value, document.value) or digits.differ(value, document)


def _comments_changed(now: Resource, document: Document) -> bool:
    """Tell whether a function set or removed comments.

    One that returned none at all has lost them on its way
    (docs/design.md, "Packages without loss"), and they stay.
    """
    if not now.comments:
        return False
    return dict(now.comments) != dict(document.comments)


def _additions(
    source: ParsedPackage, resources: Sequence[Resource], edits: Mapping[str, bytes | None]
) -> dict[str, bytes | None]:
    new: dict[str, list[Resource]] = {}
    for each in resources:
        if each.origin is None or each.origin[0] != each.path:
            new.setdefault(each.path, []).append(each)
    found: dict[str, bytes | None] = {}
    files = source.files.keys() | new.keys()
    folders = {each for path in files for each in packages.upwards(packages.folder(path))}
    for path, added in new.items():
        _check_path(source, path, len(added))
        # Of two that are both new, each is held against the other as well.
        if path in folders or not files.isdisjoint(packages.upwards(packages.folder(path))):
            raise PackageError(Place(path), *_FILE_AND_FOLDER)
        added.sort(key=lambda each: (each.index is None, each.index))
        if path.endswith(".json"):
            found[path] = to_json(added[0].value)
            continue
        found[path] = append(
            _stream(source, path, edits),
            [each.value for each in added],
            comments=[_new_comments(source, each) for each in added],
            like=[_lenders(source, each) for each in added],
        )
    return found


def _new_comments(source: ParsedPackage, resource: Resource) -> Mapping[FieldPath, str] | None:
    """Return the comments to write into a new text; None for those of the text it is taken from."""
    document = source.document(resource)
    if document is None:
        return resource.comments or None
    return resource.comments if _comments_changed(resource, document) else None


def _lenders(source: ParsedPackage, resource: Resource) -> Sequence[Document]:
    """Return the document that a moved resource was read from, whose text goes along."""
    document = source.document(resource)
    return (document,) if document else ()


def _stream(source: ParsedPackage, path: str, edits: Mapping[str, bytes | None]) -> Stream:
    """Return the file to add to, edits done; an empty one if there is none, or it was deleted."""
    if path in source.streams and path not in edits:
        return source.streams[path]
    return read_yaml(edits.get(path) or b"", path=path)


def _check_path(source: ParsedPackage, path: str, count: int) -> None:
    """Refuse a file for new resources that would not be read as resources the next time."""
    problem = next(iter(packages.path_problems(path)), None)
    if problem:
        raise PackageError(problem.place, problem.message, problem.fix)
    unread = path in source.files and path not in source.streams
    alone = path.endswith(".json") and path not in source.files and count == 1
    if unread or not (alone or path.endswith((".yaml", ".yml"))):
        raise PackageError(
            Place(path),
            "a function put a resource into a file that holds none",
            "Correct the path annotation that it sets: name a .yaml file, or a .json file for one",
        )
