"""The resources of a package as one stream of YAML, as `kpt pkg cat` prints them.

Rules:
- Shown are the documents of `*.yaml` and `*.yml`, those of a package before those of its
  subpackages; a Kptfile is none of them, nor is a template.
- The text is that of the files: put in order, and without comments, only if asked for.

Source: kpt `thirdparty/cmdconfig/commands/cmdcat`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cadlib import kio, kio_places
from cadlib import package as packages
from cadlib.errors import PackageError
from cadlib.findings import Finding, Severity, from_error
from cadlib.format import formatted
from cadlib.ignore import Ignored
from cadlib.limits import DEFAULT, Limits
from cadlib.package import SUBMODULE, SYMLINK, Files
from cadlib.yaml import Stream, read
from cadlib.yaml.emit import flow
from cadlib.yaml.tree import Alias, Map, Node, Scalar, Seq

_COMMENT = re.compile(r"(?:^|(?<=[ \t\n]))#[^\r\n]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How resources shall be shown.

    Attributes:
        ordered: In the order that kpt's formatter gives them.
        places: With annotations that say which file they come from.
        comments: With their comments.
        flow: Each on one line, in braces.
        inside: Those of subpackages too.
    """

    ordered: bool = True
    places: bool = False
    comments: bool = True
    flow: bool = False
    inside: bool = True


def shown(files: Files, look: Look, limits: Limits = DEFAULT) -> tuple[bytes, tuple[Finding, ...]]:
    """Return the resources of a package as a stream, and what could not be read."""
    found = frozenset(packages.find(files)) | {""}
    ignored = Ignored(files, found)
    findings = list(ignored.findings)
    items: list[Stream] = []
    for path in _paths(files, found):
        owner = packages.owner_of(path, found) or ""
        if path in ignored or (owner and not look.inside):
            continue
        try:
            read_ = kio.read(files[path].data, path=path, unwrap=False, lists=True, limits=limits)
            items += (
                _looked_at(item, packages.relative(owner, path), number, look)
                for number, item in enumerate(read_.items)
            )
        except PackageError as error:
            findings.append(from_error(error, Severity.WARNING))
    return kio.write(items), tuple(findings)


def _paths(files: Files, found: frozenset[str]) -> Iterator[str]:
    """Yield what is read: package by package, in each by folder and name."""
    read_ = [
        path
        for path, entry in files.items()
        if path.endswith((".yaml", ".yml")) and entry.mode not in (SYMLINK, SUBMODULE)
    ]

    def key(path: str) -> tuple[list[str], list[str]]:
        owner = packages.owner_of(path, found) or ""
        return owner.split("/") if owner else [], path.split("/")

    yield from sorted(read_, key=key)


def _looked_at(item: Stream, path: str, number: int, look: Look) -> Stream:
    if look.ordered:
        item = read(formatted(item), path=item.source.path)
    if not look.comments:
        item = without_comments(item)
    if look.places:
        item = kio_places.annotated(item, _places(path, number))
    if look.flow:
        item = kio.stream_of(flow(kio_places.value_of(item)) + "\n", path=item.source.path)
    return item


def _places(path: str, number: int) -> Mapping[str, str]:
    return {
        kio_places.LEGACY_INDEX: str(number),
        kio_places.LEGACY_PATH: path,
        kio_places.INDEX: str(number),
        kio_places.PATH: path,
    }


def without_comments(item: Stream) -> Stream:
    """Return a file without its comments; lines that held nothing else go."""
    text = item.source.text
    spans = sorted(
        span
        for document in item.documents
        if not document.empty
        for span in _scalars(document.root, text)
    )
    kept: list[str] = []
    done = 0
    for match in _COMMENT.finditer(text):
        while spans and spans[0][1] <= match.start():
            spans.pop(0)
        if spans and spans[0][0] <= match.start():
            continue
        start, end = match.span()
        before = text[done:start].rstrip(" \t")
        if before.endswith("\n") or (not before and (not kept or kept[-1].endswith("\n"))):
            end += text.startswith("\r", end)
            end += text.startswith("\n", end)
        kept.append(before)
        done = end
    if not done:
        return item
    return kio.stream_of("".join([*kept, text[done:]]), path=item.source.path)


def _scalars(node: Node, text: str) -> Iterator[tuple[int, int]]:
    """Yield where scalars stand in which a "#" is text; of a block scalar, its lines."""
    match node:
        case Map():
            for key, value in zip(node.keys, node.values, strict=True):
                yield from _scalars(key, text)
                yield from _scalars(value, text)
        case Seq():
            for each in node.items:
                yield from _scalars(each, text)
        case Scalar():
            start = node.start
            if node.style in ("|", ">"):
                start = text.find("\n", start) % (node.end + 1)
            yield start, node.end
        case Alias():
            return
