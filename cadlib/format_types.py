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
from cadlib.yaml import Stream, read
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
    """Say whether a text that stood without quotes were no string for YAML 1.1.

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
        value = document.value
        if not isinstance(value, dict):
            continue
        schema = definitions.of(str(value.get("apiVersion") or ""), str(value.get("kind") or ""))
        if schema is not None:
            for node, text in _quoted(document.root, schema, definitions):
                start = content_start(patch.text, node)
                patch.replace(start, node.end, text)
    if not patch.edits:
        return stream.data
    return (("\ufeff" if stream.source.bom else "") + patch.apply()).encode()


def _quoted(node: Node, schema: object, definitions: Definitions) -> Iterator[tuple[Scalar, str]]:
    """Yield the scalars whose quotes change, with their new text."""
    here = definitions.resolved(schema)
    if isinstance(node, Map):
        fields = here.get("properties") or {}
        every = here.get("additionalProperties")
        for key, value in zip(node.keys, node.values, strict=True):
            yield from _quoted(value, fields.get(key_text(key), every), definitions)
    elif isinstance(node, Seq):
        for item in node.items:
            yield from _quoted(item, here.get("items"), definitions)
    elif isinstance(node, Scalar):
        text = _text(node, here)
        if text is not None:
            yield node, text


def _text(node: Scalar, schema: Types) -> str | None:
    types = schema.get("type")
    names = {types} if isinstance(types, str) else set(types or ()) - {"null"}
    if len(names) != 1 or schema.get("format") == "int-or-string" or not non_string(node.raw):
        return None
    quoted = node.style in ("'", '"')
    match names.pop():
        case "string" if node.style == "" and node.value is not None:
            return double_quoted(node.raw)
        case "boolean" | "integer" | "number" if quoted and resolve(node.raw) is not None:
            return node.raw
    return None
