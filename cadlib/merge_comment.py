"""kpt's notes on where a resource comes from: a comment behind `metadata:`, and an annotation.

Rules:
- The comment is `# kpt-merge: namespace/name`, with the names the resource has upstream; the
  namespace may be empty. Anything else is no such comment.
- The annotation `internal.kpt.dev/upstream-identifier` holds `group|kind|namespace|name`,
  with "default" for no namespace, and follows the comment.
- A comment that is there stays; a resource with neither name, namespace nor labels gets none.

porchbot reads both, and writes them only when it is asked to. Source:
docs/design.md, "kpt: get and the merge comment".
"""

from collections.abc import Mapping

from cadlib.heal import identity
from cadlib.yaml import Deleted, Document, FieldPath, Value, edit, read

ANNOTATION = "internal.kpt.dev/upstream-identifier"
_FIELD: FieldPath = ("metadata",)
_MARK = "kpt-merge:"


def parse(comment: str) -> tuple[str, str] | None:
    """Return the namespace and the name that a comment gives; None if it gives none.

    Args:
        comment: A line comment, with its "#" or without.
    """
    text = comment.lstrip("#").strip()
    namespace, slash, name = text.removeprefix(_MARK).strip().partition("/")
    return (namespace, name) if slash and text.startswith(_MARK) else None


def upstream_name(document: Document) -> tuple[str, str] | None:
    """Return the namespace and the name a resource has upstream, as its comment says."""
    comment = document.comments.get(_FIELD)
    return parse(comment) if comment else None


def with_merge_comments(data: bytes, *, path: str = "") -> bytes:
    """Return a file with the comment and the annotation on each of its resources.

    Args:
        data: The file.
        path: Its name, for messages.

    Raises:
        EditError: One of them has no place in the text.
        PackageError: The file is not YAML.
    """
    stream = read(data, path=path)
    wanted: dict[int, Value | Deleted] = {}
    comments: dict[int, Mapping[FieldPath, str]] = {}
    for position, document in enumerate(stream.documents):
        value = document.value
        metadata = value.get("metadata") if isinstance(value, dict) else None
        if not isinstance(value, dict) or not isinstance(metadata, dict):
            continue
        if not any(metadata.get(key) for key in ("name", "namespace", "labels")):
            continue
        group, kind, *own = identity(value)
        namespace, name = upstream_name(document) or own
        if _MARK not in document.comments.get(_FIELD, ""):
            mark = f"# {_MARK} {namespace}/{name}"
            comments[position] = {**document.comments, _FIELD: mark}
        annotations = metadata.get("annotations")
        annotations = annotations if isinstance(annotations, dict) else {}
        source = f"{group}|{kind}|{namespace or 'default'}|{name}"
        added: dict[str, Value] = {**annotations, ANNOTATION: source}
        wanted[position] = {**value, "metadata": {**metadata, "annotations": added}}
    return edit(stream, wanted, comments=comments)
