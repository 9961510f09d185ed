"""kpt's notes on where a resource comes from: a comment behind `metadata:`, and an annotation.

The comment is `# kpt-merge: namespace/name`, with the names the resource has upstream; the
namespace may be empty. Anything else is no such comment. porchbot reads it, passes over the
annotation, and writes neither (docs/deviations.md, D40). Source: docs/design.md, "kpt: get and the
merge comment".
"""

from cadlib.yaml import Document, FieldPath

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
