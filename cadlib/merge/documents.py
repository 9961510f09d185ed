"""Three-way merge of one document: original, local and updated.

Rules: values as `cadlib.merge.fields`, comments as `cadlib.merge.comments` say. Which
lists are associative `cadlib.merge.schema` knows. Where it differs from kpt on purpose is
listed in docs/deviations.md, D20 to D39.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cadlib.merge.comments import CommentedValue, Merger, ThreeWayValue
from cadlib.merge.conflicts import ABSENT, Absent, Conflict, Side, veiled
from cadlib.merge.fields import At, Clash, Fields
from cadlib.merge.policy import ConflictPolicy
from cadlib.merge.schema import NOTES, MergeSchemas, Schema, of_comment
from cadlib.package.source import ref
from cadlib.yaml import DELETED, Deleted, Document, FieldPath, Value, field_text, same

_SCHEMAS = MergeSchemas()
# What kpt and its functions write into resources for themselves. Two resources that differ
# in nothing else are the same.
_NOISE = re.compile(
    r"config\.kubernetes\.io/(merge-source|path|index)"
    r"|internal\.config\.kubernetes\.io/(path|index|id|seqindent|annotations-migration-resource-id)"
    r"|internal\.kpt\.dev/upstream-identifier"
    r"|cnrm\.cloud\.google\.com/blueprint"
)


@dataclass(frozen=True, slots=True)
class MergedDocument:
    """The merged document and its conflicts.

    Attributes:
        value: The document's value, or DELETED.
        comments: All its line comments by field; None if each stays where it is.
        conflicts: What both sides changed.
    """

    value: Value | Deleted
    comments: Mapping[FieldPath, str] | None
    conflicts: tuple[Conflict, ...]


def merge_documents(
    origin: Document | None,
    local: Document,
    updated: Document | None,
    *,
    schemas: MergeSchemas = _SCHEMAS,
    policy: ConflictPolicy = ConflictPolicy.UPSTREAM,
    path: str = "",
    infer: bool = False,
) -> MergedDocument:
    """Merge one document.

    Args:
        origin: What both sides began with; None if both added the document.
        local: The local state.
        updated: The state upstream; None if it was removed there. A document that
            changed locally stays then, whatever the policy, and that is told.
        schemas: What is known of lists and mappings, by kind.
        policy: Who wins a conflict.
        path: The file, for the conflicts.
        infer: Take lists of which nothing is known as associative by `name`, as kpt
            does for Kptfiles.
    """
    if updated is None:
        return _removed_upstream(origin, local, path)
    noted = {
        key: each for side in (origin, local, updated) for key, each in schemas_in_comments(side)
    }
    fields = Fields(policy.side, noted, infer=infer)
    schema = schemas.of(local.value)
    base: Side = ABSENT if origin is None else origin.value
    value = fields.merge(base, local.value, updated.value, schema, At())
    conflicts = tuple(_conflict(clash, local, path) for clash in fields.conflicts)
    if isinstance(value, Absent):
        return MergedDocument(DELETED, None, conflicts)
    comments = None
    before = origin.comments if origin else {}
    if updated.comments != before or (conflicts and local.comments != before):
        sides = ThreeWayValue(
            CommentedValue(base, (), before),
            CommentedValue(local.value, (), local.comments),
            CommentedValue(updated.value, (), updated.comments),
        )
        merger = Merger(policy.side, noted, infer=infer)
        comments = merger.merge(value, sides, schema)
        conflicts += tuple(_conflict(clash, local, path) for clash in merger.conflicts)
    return MergedDocument(value, comments, conflicts)


def equal(left: Value, right: Value) -> bool:
    """Compare resources, bookkeeping annotations of kpt and of functions aside."""
    return same(_without_noise(left), _without_noise(right))


def _removed_upstream(origin: Document | None, local: Document, path: str) -> MergedDocument:
    if origin is not None and equal(origin.value, local.value):
        return MergedDocument(DELETED, None, ())
    if origin is None:
        return MergedDocument(local.value, None, ())
    clash = Clash(
        At(), origin.value, local.value, ABSENT, "local", "changed locally and removed upstream"
    )
    return MergedDocument(local.value, None, (_conflict(clash, local, path),))


def _conflict(clash: Clash, local: Document, path: str) -> Conflict:
    shown = (
        veiled(local.value, clash.at.field, each) for each in (clash.base, clash.ours, clash.theirs)
    )
    base, ours, theirs = shown
    return Conflict(
        path=path,
        line=local.line(clash.at.local),
        resource=str(ref(local.value)),
        field=field_text(clash.at.field) if clash.at.field else "",
        base=base,
        ours=ours,
        theirs=theirs,
        chosen=clash.chosen,
        reason=clash.reason,
        known=clash.at.known,
    )


def _without_noise(value: Value) -> Value:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(annotations, dict) or not any(map(_NOISE.fullmatch, annotations)):
        return value
    kept = {key: each for key, each in annotations.items() if not _NOISE.fullmatch(key)}
    assert isinstance(value, dict) and isinstance(metadata, dict)  # noqa: S101, PT018 - see above
    rest = {key: each for key, each in metadata.items() if key != "annotations"}
    return {**value, "metadata": {**rest, "annotations": kept} if kept else rest}


def schemas_in_comments(document: Document | None) -> Iterator[tuple[FieldPath, Schema]]:
    """Return the merge schemas that comments declare, behind a key or right above it."""
    if document is None or document.empty:
        return
    source = document.source
    start = source.line_start(document.start)
    start = source.line_start(max(start - 1, 0))  # the line above belongs to the first field
    if all(source.text.find(each, start, document.end) < 0 for each in NOTES):
        return
    lines = source.text[start : document.end].split("\n")
    first = source.line(start)
    for path in _collections(document.value, ()):
        line = document.line(path)
        above = lines[line - first - 1].strip() if line and line > first else ""
        for comment in (document.comments.get(path, ""), above):
            found = of_comment(comment) if comment.startswith("#") else None
            if found:
                yield path, found


def _collections(value: Value, at: FieldPath) -> Iterator[FieldPath]:
    if isinstance(value, dict):
        yield at
        for key, inner in value.items():
            yield from _collections(inner, (*at, key))
    elif isinstance(value, list):
        yield at
        for index, inner in enumerate(value):
            yield from _collections(inner, (*at, index))


__all__ = [
    "Conflict",
    "ConflictPolicy",
    "MergedDocument",
    "equal",
    "merge_documents",
    "schemas_in_comments",
]
