"""Quotes where the type of a field asks for them, as kpt's formatter writes them by schema.

Rules:
- A plain value that YAML 1.1 takes for something other than text (`on`, `1`, a word for
  true) is quoted where the field holds text; null is left.
- Such a value in quotes loses them where the field holds a number or is true or false.
- Fields that hold a number or text, and those of which nothing is known, keep their quotes.

Source: kyaml `yaml/compatibility.go` (kubernetes-sigs/kustomize).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cadlib.errors import PackageError
from cadlib.yaml import Document, FieldPath, Stream, read
from cadlib.yaml.patch import Patch
from cadlib.yaml.scalars import double_quoted, resolve
from cadlib.yaml.tree import Map, Node, Scalar, Seq, content_start, key_text

Types = Mapping[str, Any]
"""One schema as OpenAPI or JSON Schema writes it."""

# What YAML 1.1 has for true and false besides what every reader has; as in go-yaml 2.
_TRUTHS = frozenset(
    spelled
    for word in ("y", "n", "yes", "no", "on", "off")
    for spelled in (word, word.title(), word.upper())
)


def non_string(text: str) -> bool:
    """Tell whether a plain scalar is not a string in YAML 1.1.

    Text of several lines, none, and what cannot be read is taken for a string.
    """
    if not text or "\n" in text:
        return False
    try:
        documents = read(text.encode()).documents
    except PackageError:
        return False
    if not documents:
        return True  # a comment stands for null
    root = documents[0].root
    if not isinstance(root, Scalar):
        return True
    return root.style == "" and (root.raw in _TRUTHS or not isinstance(root.value, str))


class Definitions:
    """The schemas of one version of Kubernetes.

    Args:
        definitions: By name, with `x-kubernetes-group-version-kind`, and references to
            one another (`$ref`, ending in the name).
    """

    __slots__ = ("_definitions", "_names")

    def __init__(self, definitions: Mapping[str, Types]) -> None:
        self._definitions = definitions
        self._names = {
            (gvk["group"], gvk["version"], gvk["kind"]): name
            for name, schema in definitions.items()
            for gvk in schema.get("x-kubernetes-group-version-kind", ())
        }

    def of(self, api_version: str, kind: str) -> Types | None:
        """Return the schema of a kind; None if it is not known."""
        group, _, version = api_version.rpartition("/")
        name = self._names.get((group, version, kind))
        return None if name is None else self._definitions[name]

    def resolved(self, schema: object) -> Types:
        """Return a schema itself, references followed."""
        seen: set[str] = set()
        while isinstance(schema, Mapping) and "$ref" in schema:
            name = str(schema["$ref"]).rpartition("/")[2]
            if name in seen:
                return {}
            seen.add(name)
            schema = self._definitions.get(name, {})
        return schema if isinstance(schema, Mapping) else {}


def typed(stream: Stream, definitions: Definitions) -> bytes:
    """Return a file with quotes as the types of its fields ask for them."""
    patch = Patch(stream.source)
    for document in stream.documents:
        for _, node, schema in _scalars(document, definitions):
            text = _text(node, schema)
            if text is not None:
                patch.replace(content_start(patch.text, node), node.end, text)
    if not patch.edits:
        return stream.data
    return (("\ufeff" if stream.source.bom else "") + patch.apply()).encode()


def quoted(document: Document, definitions: Definitions) -> Iterator[FieldPath]:
    """Yield the fields that hold text which must stand in quotes, those that do already too."""
    for path, node, schema in _scalars(document, definitions):
        if _type(schema) == "string" and isinstance(node.value, str) and non_string(node.raw):
            yield path


def _scalars(
    document: Document, definitions: Definitions
) -> Iterator[tuple[FieldPath, Scalar, Types]]:
    """Yield the scalars of a resource of a known kind, each with its field and its schema."""
    value = document.value
    if not isinstance(value, dict):
        return
    schema = definitions.of(str(value.get("apiVersion") or ""), str(value.get("kind") or ""))
    if schema is not None:
        yield from _below(document.root, (), schema, definitions)


def _below(
    node: Node, path: FieldPath, schema: object, definitions: Definitions
) -> Iterator[tuple[FieldPath, Scalar, Types]]:
    here = definitions.resolved(schema)
    if isinstance(node, Map):
        fields = here.get("properties") or {}
        every = here.get("additionalProperties")
        for key, value in zip(map(key_text, node.keys), node.values, strict=True):
            yield from _below(value, (*path, key), fields.get(key, every), definitions)
    elif isinstance(node, Seq):
        for index, item in enumerate(node.items):
            yield from _below(item, (*path, index), here.get("items"), definitions)
    elif isinstance(node, Scalar):
        yield path, node, here


def _type(schema: Types) -> str | None:
    """Return the one type of a field but null; None where it has several, or none is known."""
    types = schema.get("type")
    names = {types} if isinstance(types, str) else set(types or ()) - {"null"}
    if len(names) != 1 or schema.get("format") == "int-or-string":
        return None
    return str(names.pop())


def _text(node: Scalar, schema: Types) -> str | None:
    kind = _type(schema)
    if kind is None or not non_string(node.raw):
        return None
    in_quotes = node.style in ("'", '"')
    match kind:
        case "string" if node.style == "" and node.value is not None:
            return double_quoted(node.raw)
        case "boolean" | "integer" | "number" if in_quotes and resolve(node.raw) is not None:
            return node.raw
    return None
