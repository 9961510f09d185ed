"""Packages as streams of resources and back: what `source` writes and `sink` reads.

Rules
- Each resource keeps its text. Only the annotations that say where it lies are put in or taken
  out, as lines behind those it has; a resource that is laid out in another way is edited.
- What kpt reads as resources is listed, whether or not it is one, but for templates.
- A document that is a list, which has no place for annotations, goes below a key of its own and is
  taken out of it again, as in kpt.
- Resources of one file are written in the order of their index, those without one first; a
  `.json` file that holds one resource is written as JSON.

Source: kptdev/kpt, thirdparty/cmdconfig (cmdsource, cmdsink); kyaml `kio`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cadlib.errors import PackageError, Place
from cadlib.package import files as packages
from cadlib.package.files import Entry
from cadlib.package.source import ParsedPackage
from cadlib.stream import kio
from cadlib.stream import places as kio_places
from cadlib.stream.anchors import de_anchored
from cadlib.stream.text import as_item, closed, document_texts
from cadlib.yaml import Document, EditError, Stream
from cadlib.yaml.tree import Map, Node, Scalar, is_block

_HEAD = f"apiVersion: {kio.RESOURCE_LIST.api_version}\nkind: {kio.RESOURCE_LIST.kind}\n"
_LIST = "bareSeqNodeWrappingKey"
_OURS = (*kio_places.READER, *kio_places.PLACE)


def resource_list(source: ParsedPackage, config: Stream | None = None) -> bytes:
    """Return a package as a ResourceList, each resource with its path and index.

    Args:
        source: The package.
        config: The list's `functionConfig`, a file with one document.
    """
    return wrapped([items(source, source.streams)], config)


def items(source: ParsedPackage, paths: Iterable[str]) -> bytes:
    """Return the resources of some files of a package as items of a ResourceList.

    Args:
        source: The package.
        paths: Files of `source.streams`, in the order to list them in.
    """
    return "".join(as_item(_placed(*each)) for each in _documents(source, paths)).encode()


def wrapped(parts: Iterable[bytes], config: Stream | None = None) -> bytes:
    """Return a ResourceList of such items."""
    whole = b"".join(parts)
    head = f"{_HEAD}items:\n" if whole else f"{_HEAD}items: []\n"
    return head.encode() + whole + (b"" if config is None else _tail(config))


def unwrapped(source: ParsedPackage) -> bytes:
    """Return a package's resources as documents one after another."""
    return "---\n".join(_ended(text) for _, _, text in _documents(source, source.streams)).encode()


def files(resources: Sequence[Stream]) -> dict[str, Entry]:
    """Return the files that hold resources, each where its annotations say.

    Args:
        resources: Each a file with one document. One without a path gets one by its
            namespace, kind and name.

    Raises:
        PackageError: A path leads out of the package, or names a folder.
    """
    found: dict[str, list[Stream]] = {}
    for item in kio_places.with_paths(resources):
        found.setdefault(kio_places.place(item)[0], []).append(item)
    return {path: Entry(_file(path, each)) for path, each in sorted(found.items())}


def plain(resources: Sequence[Stream]) -> list[Stream]:
    """Return resources without path and index annotations."""
    return [kio_places.annotated(each, dict.fromkeys(_OURS)) for each in resources]


def _file(path: str, resources: Sequence[Stream]) -> bytes:
    problem = next(iter(packages.path_problems(path)), None)
    if problem or path.endswith("/"):
        raise PackageError(
            Place(path),
            f"resource must be written under package: {path}"
            if problem
            else f"config.kubernetes.io/path cannot be a directory: {path}",
            "Correct the path annotation of the resource",
        )
    ordered = kio_places.by_place(resources)
    bare = [_unwrapped(each) for each in plain(ordered)]
    if kio_places.is_json_file(ordered):
        return kio.to_json(kio_places.value_of(bare[0]))
    return kio.write(bare)


def _unwrapped(item: Stream) -> Stream:
    """Return the list that stands below kpt's key as a document of its own; all else as it is."""
    root = next(each.root for each in item.documents if not each.empty)
    found = root.at(_LIST) if isinstance(root, Map) else None
    if found is None or not isinstance(found[1].value, list):
        return item
    key, node = found
    source = item.source
    start = source.line_start(node.start)
    if start <= key.start:  # behind its key
        return kio.stream_of(f"{source.text[node.start : node.end]}\n")
    margin = source.text[start : node.start]
    text = source.text[_next_line(source.text, key) : _next_line(source.text, node)]
    lines = text.splitlines(keepends=True)
    return kio.stream_of(_ended("".join(each.removeprefix(margin) for each in lines)))


def _below_key(document: Document, text: str, annotations: Mapping[str, str]) -> str:
    """Return a list as a mapping, which has a place for annotations."""
    margin = "" if is_block(document.root) else "  "
    lines = "".join(margin + each for each in _ended(text).splitlines(keepends=True))
    added = "".join(f"{each}\n" for each in _quoted(annotations, 4))
    return f"{_LIST}:\n{lines}metadata:\n  annotations:\n{added}"


def _quoted(annotations: Mapping[str, str], margin: int) -> list[str]:
    """Return the lines of annotations, in kpt's quotes."""
    quoted = ((key, each.replace("'", "''")) for key, each in annotations.items())
    return [f"{' ' * margin}{key}: '{each}'" for key, each in quoted]


def _tail(config: Stream) -> bytes:
    whole = kio.write((), wrapper=kio.RESOURCE_LIST, config=config)
    return whole.removeprefix(f"{_HEAD}items: []\n".encode())


def _documents(source: ParsedPackage, paths: Iterable[str]) -> Iterator[tuple[str, Document, str]]:
    """Yield file, document and its text for all that is listed, file by file."""
    for path in paths:
        stream = source.streams[path]
        full = (each for each in stream.documents if not each.empty)
        for document, text in zip(full, document_texts(stream), strict=True):
            if not document.template:
                yield path, document, text


def _placed(path: str, document: Document, text: str) -> str:
    """Return a document's text with the annotations that say where it lies."""
    index = str(document.index)
    wanted = {
        kio_places.LEGACY_INDEX: index,
        kio_places.LEGACY_PATH: path,
        kio_places.INDEX: index,
        kio_places.PATH: path,
        kio_places.SEQINDENT: kio_places.seqindent(text),
    }
    if isinstance(document.value, list):
        return _below_key(document, text, wanted)
    if not text.endswith("\n"):
        text = _ended(text)
    found = _after(document)
    if found is not None:
        position, lines = found
        rest = document.source.text[position : document.end]
        before = text[: len(text) - len(rest)]
        if text.endswith(rest) and before.endswith("\n"):
            margin = len(lines[-1]) - len(lines[-1].lstrip(" "))
            added = [*lines[:-1], *_quoted(wanted, margin)]
            return _ended("".join([before, *(f"{each}\n" for each in added), rest]))
    item = kio.stream_of(_ended(text))
    try:
        item = kio_places.annotated(item, wanted)
    except EditError:  # an alias shares its metadata with something that must not change
        item = kio_places.annotated(de_anchored(item), wanted)
    return _ended(item.source.text)


def _after(document: Document) -> tuple[int, list[str]] | None:
    """Return where lines of annotations may be put in.

    Returns:
        The beginning of the line, and the lines before the first annotation with, last, one
        that shows its column; None where the document is laid out in another way.
    """
    text = document.source.text
    metadata = _block(document.root, "metadata")
    if metadata is None or "\r" in text:
        return None
    there = metadata.at("annotations")
    if there is None:
        start = document.source.text.rfind("\n", 0, metadata.keys[0].start) + 1
        margin = " " * (metadata.keys[0].start - start)
        return _next_line(text, metadata), [f"{margin}annotations:", f"{margin}  x"]
    annotations = _block(metadata, "annotations")
    if annotations is None or any(
        each.raw in _OURS for each in annotations.keys if isinstance(each, Scalar)
    ):
        return None
    start = annotations.keys[0].start
    return _next_line(text, annotations), [text[text.rfind("\n", 0, start) + 1 : start] + "x"]


def _next_line(text: str, node: Node) -> int:
    found = text.find("\n", node.end - 1 if text[node.end - 1] == "\n" else node.end)
    return len(text) if found < 0 else found + 1


def _block(node: Node, key: str) -> Map | None:
    """Return the mapping in block style of a key, its own lines below the key's."""
    found = node.at(key) if isinstance(node, Map) and not node.flow else None
    if found is None or not isinstance(found[1], Map) or found[1].flow or not found[1].keys:
        return None
    simple = found[1].anchor is None and all(isinstance(each, Scalar) for each in found[1].keys)
    return found[1] if simple and found[1].keys[0].start > found[0].end else None


def _ended(text: str) -> str:
    """Return a document's text ended by one line break, its value as it is."""
    if text.endswith("\n") and not text[:-1].rstrip(" ").endswith("\n"):
        return text
    if "|" not in text and ">" not in text:
        return text.rstrip() + "\n"
    return closed(next(each for each in kio.stream_of(text).documents if not each.empty))
