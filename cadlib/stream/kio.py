"""Streams of resources: taken apart into one text for each resource, and put together again.

Rules:
- A stream is documents one after another, or one `ResourceList` or `List` with its resources
  in `items`. Lists of one kind (`DeploymentList`) are resources, as in kpt.
- Each resource becomes a file of its own, its comments and layout as they were, so that
  what is changed in it is changed by edits of its text.
- Documents without a value are left out. What is no mapping is refused, except lists where
  they are asked for.
- Resources that use one another's anchors are written out when they are taken apart.

Source: kyaml `kio.ByteReader` and `kio.ByteWriter` (kubernetes-sigs/kustomize).
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cadlib.errors import PackageError, Place
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.stream.anchors import de_anchored, has_anchors
from cadlib.stream.resourcelist import API_VERSION, KIND
from cadlib.stream.text import as_item, closed, document_texts, indented, item_texts, value_text
from cadlib.yaml import Document, Stream, Value, same
from cadlib.yaml import read as read_yaml
from cadlib.yaml.tree import Alias, Map, Node, Seq, SourceText, is_merge

_SEPARATOR = re.compile(rb"\n---([ \t][^\n]*)(?=\n)")
_NODE_KINDS = {Map: "MappingNode", Seq: "SequenceNode"}


@dataclass(frozen=True, slots=True)
class Wrapper:
    """The apiVersion and kind of the list that wraps resources.

    Attributes:
        api_version: Its `apiVersion`; "" if it has none.
        kind: Its `kind`, such as "ResourceList".
    """

    api_version: str
    kind: str


RESOURCE_LIST = Wrapper(API_VERSION, KIND)


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A stream, taken apart.

    Attributes:
        items: The resources, each a file with one document (`stream.documents[0]`).
        config: `functionConfig` of the list, likewise; None if there was none.
        results: `results` of the list, likewise.
        wrapper: The list they came in; None for plain documents.
    """

    items: tuple[Stream, ...]
    config: Stream | None = None
    results: Stream | None = None
    wrapper: Wrapper | None = None


def read(
    data: bytes,
    *,
    path: str = "",
    unwrap: bool = True,
    lists: bool = False,
    limits: PackageLimits = DEFAULT,
) -> Wrapped:
    """Take a stream apart.

    Args:
        data: YAML or JSON, UTF-8; line ends of any kind. Byte order marks go: files that
            were put together have them in the middle.
        path: What it is called in messages.
        unwrap: Take the resources out of a list, if that is the only document.
        lists: Accept documents that are bare lists.
        limits: As for reading a file.

    Raises:
        PackageError: It cannot be read; something follows "---" on its line; or a
            document is neither a mapping nor an accepted list (kyaml's words:
            "wrong node kind: expected MappingNode but got …").
    """
    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    data = data.replace(b"\n\xef\xbb\xbf", b"\n")
    _check_separators(data, path)
    whole = read_yaml(data, path=path, limits=limits)
    texts = document_texts(whole)
    documents = [each for each in whole.documents if not each.empty]
    if unwrap and len(documents) == 1 and _is_list(documents[0].value):
        return _unwrapped(documents[0], whole, limits)
    items = []
    for document, text in zip(documents, texts, strict=True):
        if document.value is None and not document.template:
            continue
        _refuse_scalars(document, lists)
        items.append(stream_of(text, path=path, limits=limits))
    return Wrapped(tuple(items))


def _check_separators(data: bytes, path: str) -> None:
    """Refuse what kpt refuses behind "---", unless it is on the first line."""
    for match in _SEPARATOR.finditer(data):
        rest = match[1].strip()
        if rest and not rest.startswith(b"#"):
            text = f"---{match[1].decode(errors='replace')}".strip()
            raise PackageError(
                Place(path, data.count(b"\n", 0, match.start()) + 2),
                f"invalid document separator: {text}",
                'Write the value on the line after "---"',
            )


def stream_of(text: str, *, path: str = "", limits: PackageLimits = DEFAULT) -> Stream:
    """Return a text as a file that was read."""
    return read_yaml(text.encode(), path=path, limits=limits)


def parts(stream: Stream) -> Iterator[Stream]:
    """Yield the documents of a file that hold a value, each as a file of its own."""
    for text in document_texts(stream):
        yield stream_of(text, path=stream.source.path)


def _is_list(value: Value) -> bool:
    """Tell whether a document is a list of resources: by its kind, as its API may be any."""
    return (
        isinstance(value, dict)
        and value.get("kind") in (KIND, "List")
        and ("items" in value or "functionConfig" in value)
    )


def _unwrapped(document: Document, whole: Stream, limits: PackageLimits) -> Wrapped:
    """Take the parts of a list out of its text.

    A part keeps its anchors; one that uses those of others gets what they stand for.
    """
    value = document.value
    assert isinstance(value, dict)  # noqa: S101 - it has a kind
    taken = _parts(document, whole, limits)
    version = value.get("apiVersion")
    return Wrapped(
        items=tuple(each for key, each in taken.items() if isinstance(key, int)),
        config=taken.get("functionConfig"),
        results=taken.get("results"),
        wrapper=Wrapper("" if version is None else str(version), str(value["kind"])),
    )


def _parts(document: Document, whole: Stream, limits: PackageLimits) -> dict[str | int, Stream]:
    """Return the parts of a list, each as a file of its own, by what `_nodes` calls them."""
    root = document.root
    assert isinstance(root, Map)  # noqa: S101 - it has a kind
    if any(isinstance(each, Alias) for each in root.values) or any(map(is_merge, root.keys)):
        document = _plain(whole, limits)
    texts = _texts(document)
    taken: dict[str | int, Stream] = {}
    missed: list[str | int] = []
    for key, node in _nodes(document):
        try:
            taken[key] = _part(texts[key], node, document.source, limits)
        except PackageError:
            if not has_anchors(node):
                raise
            missed.append(key)  # its aliases stand for what is not in it
    if missed:
        plain = _plain(whole, limits)
        nodes, texts = dict(_nodes(plain)), _texts(plain)
        taken |= {key: _part(texts[key], nodes[key], plain.source, limits) for key in missed}
    return {key: taken[key] for key, _ in _nodes(document)}


def _plain(whole: Stream, limits: PackageLimits) -> Document:
    """Return the only document of a file, its anchors written out."""
    return next(each for each in de_anchored(whole, limits).documents if not each.empty)


def _nodes(document: Document) -> Iterator[tuple[str | int, Node]]:
    """Yield the parts of a list: `functionConfig` and `results`, and items by their position."""
    root, source = document.root, document.source
    assert isinstance(root, Map)  # noqa: S101 - it has a kind
    for field in ("functionConfig", "results"):
        found = root.at(field)
        if found and found[1].value is not None:
            yield field, found[1]
    listed = root.at("items")
    if listed and isinstance(listed[1], Seq):
        for position, item in enumerate(listed[1].items):
            if not isinstance(item, Map | Alias):
                raise _refuse(source, item)
            yield position, item
    elif listed and listed[1].value is not None:
        raise PackageError(
            Place(source.path, document.line(("items",)), "items"),
            "items is not a list",
            "Write a list of resources",
        )


def _texts(document: Document) -> dict[str | int, str]:
    """Return the texts of the parts of a list, by what `_nodes` calls them."""
    root, source = document.root, document.source
    assert isinstance(root, Map)  # noqa: S101 - it has a kind
    found: dict[str | int, str] = {}
    for field in ("functionConfig", "results"):
        named = root.at(field)
        if named and named[1].value is not None:
            found[field] = value_text(source, *named)
    listed = root.at("items")
    if listed and isinstance(listed[1], Seq):
        found |= enumerate(item_texts(source, listed[1]))
    return found


def _part(text: str, node: Node, source: SourceText, limits: PackageLimits) -> Stream:
    """Return a text that was taken out as a file, if it still says the same."""
    found = stream_of(text, path=source.path, limits=limits)
    values = [each.value for each in found.documents if not each.empty]
    if len(values) != 1 or not same(values[0], node.value):
        raise PackageError(
            Place(source.path, source.line(node.start)),
            "this part cannot be taken out of the list as it is written",
            "Write it in block style, without tags",
        )
    return found


def _refuse_scalars(document: Document, lists: bool) -> None:
    accepted = (Map, Seq) if lists else (Map,)
    if not document.template and not isinstance(document.root, accepted):
        raise _refuse(document.source, document.root)


def _refuse(source: SourceText, node: Node) -> PackageError:
    kind = _NODE_KINDS.get(type(node), "ScalarNode")
    return PackageError(
        Place(source.path, source.line(node.start)),
        f"wrong node kind: expected MappingNode but got {kind}",
        "Give one mapping in each document",
    )


def write(
    items: Iterable[Stream],
    *,
    wrapper: Wrapper | None = None,
    config: Stream | None = None,
    results: Stream | None = None,
) -> bytes:
    """Put resources together again, each with the text it has.

    Args:
        items: The resources, each a file with one document.
        wrapper: The list to put them in; None for documents one after another, where
            `config` and `results` have no place and are left out.
        config: `functionConfig` of the list.
        results: `results` of the list.
    """
    texts = [_text(each) for each in items]
    if wrapper is None:
        return "---\n".join(texts).encode()
    lines = [f"apiVersion: {wrapper.api_version}\n"] if wrapper.api_version else []
    lines.append(f"kind: {wrapper.kind}\n")
    lines.append("items:\n" if texts else "items: []\n")
    lines += [as_item(text) for text in texts]
    for field, value in (("functionConfig", config), ("results", results)):
        if value is not None:
            lines.append(_field(field, value))
    return "".join(lines).encode()


def _text(item: Stream) -> str:
    documents = [each for each in item.documents if not each.empty]
    if len(documents) != 1:
        raise ValueError(f"a resource's file holds {len(documents)} documents, not one")
    marked = documents[0].explicit or "\n..." in item.source.text
    return closed((next(parts(item)) if marked else item).documents[0])


def _field(name: str, value: Stream) -> str:
    text = _text(value)
    root = next(each for each in value.documents if not each.empty).root
    if isinstance(root, Map | Seq) and not root.flow:
        # A list may stand at the column of its key.
        return f"{name}:\n{text if isinstance(root, Seq) else indented(text, 2)}"
    comment, _, rest = text.rpartition("\n#") if text.startswith("#") else ("", "", text)
    return f"{name}: {rest}" if not comment else f"{name}:\n{indented(text, 2)}"


def to_json(value: Value) -> bytes:
    """Return a value as JSON in the form that kpt writes: two columns, sorted keys."""
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
