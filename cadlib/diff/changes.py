"""What differs between two states of a package, by resource and field, for people.

Files are compared byte for byte first, and only those that differ are parsed. Values
of Secrets never appear: that they differ does.
"""

from collections.abc import Iterator, Mapping, Sequence

from cadlib.diff.fields import differences
from cadlib.diff.pairs import FoundResource, pair
from cadlib.diff.values import Change, ChangeKind
from cadlib.errors import PackageError
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.package.files import SUBMODULE, SYMLINK, Entry, Files, is_resource_file
from cadlib.package.source import ref
from cadlib.package.unseen import missing
from cadlib.stream.text import document_texts
from cadlib.yaml import Stream, field_text, same
from cadlib.yaml import read as read_yaml
from cadlib.yaml.bulk import Bulk, Serial
from cadlib.yaml.comment_spans import spans, without_comments


def changes(
    old: Files, new: Files, limits: PackageLimits = DEFAULT, bulk: Bulk | None = None
) -> tuple[Change, ...]:
    """Return what differs, by file, then in the order of the resources and fields.

    Args:
        old: The package before; empty if there was none.
        new: The package after; empty if it was removed.
        limits: Files beyond these are compared as a whole.
        bulk: Reads the files that differ; one after another if not given.

    Returns:
        Nothing for what is equal as resources; but a file whose bytes differ is always
        among the changes, if need be as a whole.
    """
    paths = sorted(path for path in {*old, *new} if _differ(old.get(path), new.get(path)))
    (was_read, was_left), (now_read, now_left) = (
        _read(paths, files, limits, bulk or Serial()) for files in (old, new)
    )
    both = [path for path in paths if path in was_read and path in now_read]
    before = [each for path in both for each in was_read[path]]
    after = [each for path in both for each in now_read[path]]
    pairs, removed = pair(before, after)
    found = [Change(path=was.path, kind=ChangeKind.REMOVED, resource=was.ref) for was in removed]
    for was, now in pairs:
        if was is None:
            found.append(Change(path=now.path, kind=ChangeKind.ADDED, resource=now.ref))
        else:
            found += _compared(was, now)
    told = {change.path for change in found}
    told |= {was.path for was, now in pairs if was and was.path != now.path}
    moved = _moved([path for path in paths if path not in told], old, new)
    for path, was_at in moved.items():
        found.append(Change(path=path, kind=ChangeKind.CHANGED, field="file", old=was_at, new=path))
    told |= moved.keys() | set(moved.values())
    # What is no resource has no name to be told by: then the file is, beside its resources.
    told -= {path for path in both if was_left.get(path, ()) != now_left.get(path, ())}
    for path in paths:
        found += _whole_file(path, old.get(path), new.get(path), told=path in told)
    return tuple(sorted(found, key=lambda change: change.path))


def _differ(old: Entry | None, new: Entry | None) -> bool:
    if old is None or new is None:
        return old is not new
    return old.data != new.data or old.mode != new.mode  # quicker than two tuples of these


def _read(
    paths: Sequence[str], files: Files, limits: PackageLimits, bulk: Bulk
) -> tuple[Mapping[str, Sequence[FoundResource]], Mapping[str, Sequence[str]]]:
    """Return the resources of each file, none for one that is not there or holds none.

    And of each the texts of the documents that are none: templates, and what lacks a kind or a
    name. A file that cannot be read as YAML is left out: rendering says what is wrong with it.
    """
    data = {
        path: files[path].data
        for path in paths
        if path in files and is_resource_file(path) and files[path].mode not in (SYMLINK, SUBMODULE)
    }
    found: dict[str, Sequence[FoundResource]] = {path: () for path in paths if path not in data}
    left: dict[str, Sequence[str]] = {}
    for path, stream in zip(data, bulk.read(data, limits), strict=True):
        if not isinstance(stream, PackageError):
            found[path] = stream.once(_found)
            left[path] = stream.once(_left)
    return found, left


def _found(stream: Stream) -> tuple[FoundResource, ...]:
    documents = [each for each in stream.documents if not each.empty]
    return tuple(
        FoundResource(stream.source.path, document.value, ref(document.value), text)
        for document, text in zip(documents, document_texts(stream), strict=True)
        if not (document.template or missing(document.value))
    )


def _left(stream: Stream) -> tuple[str, ...]:
    documents = [each for each in stream.documents if not each.empty]
    return tuple(
        text.strip()
        for document, text in zip(documents, document_texts(stream), strict=True)
        if document.template or missing(document.value)
    )


def _compared(was: FoundResource, now: FoundResource) -> Iterator[Change]:
    if was.path != now.path:
        yield Change(
            path=now.path,
            kind=ChangeKind.CHANGED,
            resource=now.ref,
            field="file",
            old=was.path,
            new=now.path,
        )
    if same(was.value, now.value):
        yield from _written_otherwise(was, now)
        return
    for path, old, new in differences(was.value, now.value):
        yield Change(
            path=now.path,
            kind=_kind(old, new),
            resource=now.ref,
            field=field_text(path),
            old=old,
            new=new,
        )
    if "#" in was.text or "#" in now.text:
        before, after = (_comments(read_yaml(each.text.rstrip().encode())) for each in (was, now))
        if before != after:
            yield Change(path=now.path, kind=ChangeKind.COMMENTS, resource=now.ref)


def _comments(stream: Stream) -> list[str]:
    """Texts of the comments, sorted: setters read some of them, as in `# kpt-set: ${image}`."""
    return sorted(stream.source.text[start:end].rstrip() for start, end in spans(stream))


def _written_otherwise(was: FoundResource, now: FoundResource) -> Iterator[Change]:
    """Tell a resource of the same value apart by its comments, and by its layout."""
    old, new = was.text.rstrip(), now.text.rstrip()
    if old == new:
        return
    before, after = (read_yaml(text.encode()) for text in (old, new))
    comments = [_comments(stream) for stream in (before, after)]
    if comments[0] != comments[1]:
        yield Change(path=now.path, kind=ChangeKind.COMMENTS, resource=now.ref)
    if without_comments(before).split() != without_comments(after).split() or (
        comments[0] == comments[1]
    ):
        yield Change(path=now.path, kind=ChangeKind.LAYOUT, resource=now.ref)


def _moved(paths: Sequence[str], old: Files, new: Files) -> dict[str, str]:
    """Return which files that are gone stand elsewhere now, byte for byte, by the new path."""
    gone = {(old[path].data, old[path].mode): path for path in paths if path not in new}
    found: dict[str, str] = {}
    for path in paths:
        if path not in old and new[path].data:
            was = gone.pop((new[path].data, new[path].mode), None)
            if was is not None:
                found[path] = was
    return found


def _whole_file(path: str, old: Entry | None, new: Entry | None, *, told: bool) -> Iterator[Change]:
    if old and new and old.mode != new.mode:
        yield Change(path=path, kind=ChangeKind.CHANGED, field="mode", old=old.mode, new=new.mode)
        told = told or old.data == new.data
    if not told:
        kind = ChangeKind.ADDED if not old else ChangeKind.CHANGED if new else ChangeKind.REMOVED
        yield Change(path=path, kind=kind)


def _kind(old: str | None, new: str | None) -> ChangeKind:
    match old, new:
        case None, None:
            return ChangeKind.ORDER
        case None, _:
            return ChangeKind.ADDED
        case _, None:
            return ChangeKind.REMOVED
    return ChangeKind.CHANGED
