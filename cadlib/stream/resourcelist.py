"""ResourceLists: the wire form of a function's input and output.

Rules:
- `config.kubernetes.io/v1`, kind ResourceList; read by its kind alone, as function libraries do:
  `apiVersion` may be an older one, or none.
- Numbers keep their digits: a function that goes by texts sees `1.10`, and not 1.1.
- Items carry their line comments, the quotes of text in front of these, and where they lie:
  path and index, in today's annotations (`internal.config.kubernetes.io/…`) and in the
  older ones, which both go when a list is read. `annotations` and `metadata` that are
  empty then go too, as in kpt.
- A function may have changed only one of the two; the changed one counts.
- No ids are sent: file and index tell resources apart.
- Same list, read from the same text, same bytes.

Source: the KRM functions specification (kubernetes-sigs/kustomize,
cmd/config/docs/api-conventions/functions-spec.md); kyaml `kioutil`.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from cadlib.errors import PackageError, Place
from cadlib.limits import STREAM
from cadlib.yaml import Document, FieldPath, Value, digits, emit, field_text, quick
from cadlib.yaml import read as read_yaml
from cadlib.yaml.emit import block

API_VERSION = "config.kubernetes.io/v1"
KIND = "ResourceList"

_INTERNAL = "internal.config.kubernetes.io/"
_LEGACY = "config.kubernetes.io/"
_LEGACY_ANNOTATIONS = frozenset((f"{_LEGACY}path", f"{_LEGACY}index", "config.k8s.io/id"))
_NO_COMMENTS: Mapping[FieldPath, str] = MappingProxyType({})
_QUOTED_AND_COMMENTED = re.compile(r"""["'][ \t]*,?[ \t]+#""")
_FIX = "Correct what the function writes"


@dataclass(frozen=True, slots=True)
class Item:
    """One resource of a list.

    Attributes:
        value: The resource, without the annotations that say where it lies.
        comments: Its line comments with their "#", by field.
        path: Its file, relative to the package; "" if none is given.
        index: Its position among the documents of that file that are not empty; None if
            none is given.
        document: The text it was read from, which functions before may have left behind;
            None where only the value came.
    """

    value: Value
    comments: Mapping[FieldPath, str] = field(default_factory=lambda: _NO_COMMENTS)
    path: str = ""
    index: int | None = None
    document: Document | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ResourceList:
    """A function's input or output.

    Attributes:
        items: The resources, in order.
        config: `functionConfig`; None if there is none.
        results: What it reported, as it wrote it.
    """

    items: tuple[Item, ...]
    config: Value = None
    results: tuple[Mapping[str, Value], ...] = ()


def encode(items: Sequence[Item], config: Value = None) -> bytes:
    """Return a ResourceList as YAML in block style, UTF-8, ended by a line break.

    Args:
        items: The resources. One that is no mapping, or whose metadata is none, goes
            without its path.
        config: The function's configuration; None leaves it out.
    """
    return framed(entries(items), config)


def entries(items: Iterable[Item]) -> bytes:
    """Return the lines of the items, as they stand in what `encode` returns; b"" for none."""
    return b"".join(map(entry, items))


def framed(lines: bytes, config: Value = None) -> bytes:
    """Return what `encode` does.

    Args:
        lines: The items, as `entries` writes them.
        config: As for `encode`.
    """
    head = emit({"apiVersion": API_VERSION, "kind": KIND}).encode()
    tail = b"" if config is None else emit({"functionConfig": config}).encode()
    return b"".join((head, b"items:\n" if lines else b"items: []\n", lines, tail))


def entry(item: Item) -> bytes:
    """Return the lines of one item, as they stand in what `encode` returns.

    Those of a resource that is as it was read are kept beside its text.
    """
    document = item.document
    if document is None or item.value is not document.value:
        return _entry(item)
    if not document.is_noted(item.comments):
        return _entry(item)
    place = item.path, item.index
    known = document.sent.get(place)
    if known is None:
        known = document.sent[place] = _entry(item)
    return known


def _entry(item: Item) -> bytes:
    comments = {(0, *path): text for path, text in item.comments.items() if path}
    quoted = {(0, *path) for path in _quoted(item)}
    return emit([_exact(item)], comments=comments, quoted=quoted).encode()


def _exact(item: Item) -> Value:
    """Return a resource as it is sent: with where it lies, and numbers with all their digits."""
    document = item.document
    if document is None or not digits.may_lose(document.source.text):
        return placed(item)
    return placed(replace(item, value=digits.written(item.value, document)))


def _quoted(item: Item) -> Iterator[FieldPath]:
    """Yield the fields with comments whose text stands in quotes.

    Functions that go by comments see from the quotes that what they put there is text.
    """
    document = item.document
    # To find the fields in the text takes longer than all the rest.
    if document is None or not item.comments or not has_quotes(document.source.text):
        return
    for path in item.comments:
        scalar = document.scalar(path)
        if scalar is not None and scalar.style in ("'", '"'):
            yield path


def has_quotes(text: str) -> bool:
    """Tell whether a quoted scalar is followed by a line comment anywhere in a text."""
    return _QUOTED_AND_COMMENTED.search(text) is not None


def lines(key: str, value: Value, comments: Mapping[FieldPath, str]) -> bytes:
    """Return the lines of one field of an item, as `encode` writes them, from its key on.

    Args:
        key: The field.
        value: What it holds.
        comments: Line comments of the item, none of them behind quotes.
    """
    inner = {path: text for path, text in comments.items() if path[:1] == (key,)}
    written = block({key: value}, 2, comments=inner)
    return ("\n".join([*written, ""])[2:]).encode()


def placed(item: Item) -> Value:
    """Return a resource with its path and index annotations."""
    if not isinstance(item.value, dict):
        return item.value
    places: dict[str, Value] = {}
    if item.path:
        places |= {f"{_INTERNAL}path": item.path, f"{_LEGACY}path": item.path}
    if item.index is not None:
        index = str(item.index)
        places |= {f"{_INTERNAL}index": index, f"{_LEGACY}index": index}
    metadata = item.value.get("metadata")
    metadata = {} if metadata is None else metadata
    if not places or not isinstance(metadata, dict):
        return item.value
    annotations = metadata.get("annotations")
    annotations = {} if annotations is None else annotations
    if not isinstance(annotations, dict):
        return item.value
    return {**item.value, "metadata": {**metadata, "annotations": {**annotations, **places}}}


def decode(data: bytes, sent: Collection[tuple[str, int | None]] = ()) -> ResourceList:
    """Read a ResourceList.

    Args:
        data: YAML or JSON, UTF-8.
        sent: Path and index of the resources that the function was given. They decide
            which annotation it changed where the two kinds differ; without them
            today's kind counts.

    Raises:
        PackageError: It is no ResourceList, an item is no mapping, an index is no number, or
            a resource was moved to two places at once.
    """
    whole, noted = _document(data)
    if not isinstance(whole, dict) or whole.get("kind") != KIND:
        kind = whole.get("kind") if isinstance(whole, dict) else None
        raise _refuse("kind", f"the kind is {kind!r}, not {KIND!r}")
    values = _list(whole, "items")
    comments = _by_item(noted)
    known = frozenset(sent)
    return ResourceList(
        items=tuple(
            _item(value, position, comments.get(position, _NO_COMMENTS), known)
            for position, value in enumerate(values)
        ),
        config=whole.get("functionConfig"),
        results=tuple(_result(each) for each in _list(whole, "results")),
    )


def bare(value: Value, comments: Mapping[FieldPath, str] = _NO_COMMENTS) -> Item:
    """Return a resource without its path and index annotations.

    Raises:
        PackageError: It is no mapping, or its index is no whole number.
    """
    kept = {path: text for path, text in comments.items() if not _is_place(path)}
    return _item(value, 0, kept, frozenset())


def added_results(data: bytes, given: bytes) -> tuple[Mapping[str, Value], ...] | None:
    """Return the results appended to a ResourceList that is otherwise unchanged.

    Args:
        data: What came back.
        given: What was sent, as `encode` makes it: in block style, ended by a line break,
            so that whatever follows at the beginning of a line is a key beside `items`.

    Returns:
        None where anything else may differ; then `decode` tells.
    """
    if not data.startswith(given) or not data.startswith(b"results:", len(given)):
        return None
    try:
        documents = read_yaml(data[len(given) :], limits=STREAM).documents
    except PackageError:
        return None
    whole = documents[0].value if len(documents) == 1 else None
    results = whole.get("results") if isinstance(whole, dict) and len(whole) == 1 else None
    results = digits.written(results, documents[0], ("results",)) if documents else None
    return tuple(map(_result, results)) if isinstance(results, list) else None


def _document(data: bytes) -> tuple[Value, Mapping[FieldPath, str]]:
    try:
        quickly = quick.read(data.decode())
    except UnicodeDecodeError:
        quickly = None  # the other reader says where
    if quickly:
        return quickly
    documents = [each for each in read_yaml(data, limits=STREAM).documents if not each.empty]
    if len(documents) != 1:
        raise _refuse("", f"there are {len(documents)} documents instead of one ResourceList")
    (document,) = documents
    exact = digits.may_lose(document.source.text)
    value = digits.written(document.value, document) if exact else document.value
    return value, document.comments


def _list(whole: dict[str, Value], key: str) -> list[Value]:
    found = whole.get(key)
    if key == "results" and isinstance(found, dict):  # as older functions write them
        found = found.get("items")
    if found is not None and not isinstance(found, list):
        raise _refuse(key, f"{key} is not a list")
    return found or []


def _by_item(comments: Mapping[FieldPath, str]) -> dict[int, dict[FieldPath, str]]:
    found: dict[int, dict[FieldPath, str]] = {}
    for path, text in comments.items():
        match path:
            case ("items", int(position), *rest) if rest and not _is_place(rest):
                found.setdefault(position, {})[tuple(rest)] = text
    return found


def _is_place(path: Sequence[str | int]) -> bool:
    inner = len(path) > 2 and tuple(path[:2]) == ("metadata", "annotations")
    return inner and _reserved(str(path[2]))


def _reserved(key: str) -> bool:
    return key in _LEGACY_ANNOTATIONS or key.startswith(_INTERNAL)


def _item(
    value: Value,
    position: int,
    comments: Mapping[FieldPath, str],
    sent: frozenset[tuple[str, int | None]],
) -> Item:
    if not isinstance(value, dict):
        raise _refuse(f"items[{position}]", "the item is not a mapping")
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict):
        return Item(value, comments)
    kept = {key: each for key, each in annotations.items() if not _reserved(key)}
    if len(kept) == len(annotations):
        return Item(value, comments)
    path, index = _place(annotations, position, sent)
    return Item(_without_places(value, metadata, kept), comments, path, index)


def _without_places(
    value: dict[str, Value], metadata: dict[str, Value], kept: dict[str, Value]
) -> Value:
    bare = {**metadata, "annotations": kept}
    if not kept:
        del bare["annotations"]
    if bare:
        return {**value, "metadata": bare}
    return {key: each for key, each in value.items() if key != "metadata"}


def _place(
    annotations: Mapping[str, Value], position: int, sent: frozenset[tuple[str, int | None]]
) -> tuple[str, int | None]:
    """Return path and index, from whichever kind of annotation the function changed."""
    now = _read_place(annotations, _INTERNAL, position)
    legacy = _read_place(annotations, _LEGACY, position)
    merged = (now[0] or legacy[0], legacy[1] if now[1] is None else now[1])
    older = (legacy[0] or now[0], now[1] if legacy[1] is None else legacy[1])
    if merged == older or not sent or older in sent:
        return merged
    if merged in sent:
        return older
    kind = "path" if merged[0] != older[0] else "index"
    raise _refuse(
        f"items[{position}]",
        f"resource input to function has mismatched legacy and internal {kind} annotations:"
        f" {_shown(older)} and {_shown(merged)}",
    )


def _shown(place: tuple[str, int | None]) -> str:
    path, index = place
    return f"{path!r}, index {'unset' if index is None else index}"


def _read_place(
    annotations: Mapping[str, Value], prefix: str, position: int
) -> tuple[str, int | None]:
    path = annotations.get(f"{prefix}path")
    index = annotations.get(f"{prefix}index")
    text = "" if index is None else str(index)
    if text and not (text.isascii() and text.isdigit() and len(text) < 10):
        name = field_text(("items", position, "metadata", "annotations", f"{prefix}index"))
        raise _refuse(name, f"the index {text!r} is not a whole number")
    return "" if path is None else str(path), int(text) if text else None


def _result(value: Value) -> Mapping[str, Value]:
    return value if isinstance(value, dict) else {"message": value, "severity": "error"}


def _refuse(field_: str, problem: str) -> PackageError:
    return PackageError(Place(field=field_), problem, _FIX)
